/*
 * Transcripts read: small files, one per rule, each gone through in several ways (whole, in tiny
 * parts and windows, by threads) with one outcome.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "store/transcript/load_tune.h"
#include "store/transcript/scan.h"
#include "store/transcript/source.h"
#include "sync/cancel.h"
#include "unit.h"

/* ---- lines ---- */

#define Q(text) "\"" text "\""
#define LINE(type, id, parent, rest)                                                               \
    "{\"parentUuid\":" parent ",\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\","   \
    "\"sessionId\":\"S\",\"version\":\"0.1.0\",\"gitBranch\":\"main\",\"type\":\"" type "\"" rest  \
    ",\"uuid\":\"" id "\",\"timestamp\":\"2026-11-14T10:00:00.000Z\"}\n"
#define SAID(id, parent, more)                                                                     \
    LINE("user", id, parent, ",\"message\":{\"role\":\"user\",\"content\":\"x\"}" more)
#define U(id, parent) SAID(id, Q(parent), "")
#define ROOT(id) SAID(id, "null", "")
#define BLOCK(id, parent, answer, block)                                                           \
    LINE("assistant", id, Q(parent),                                                               \
         ",\"message\":{\"id\":\"" answer "\",\"role\":\"assistant\",\"content\":[" block "]}")
#define A(id, parent, answer) BLOCK(id, parent, answer, "{\"type\":\"text\",\"text\":\"hi\"}")
#define CALL(id, parent, answer)                                                                   \
    BLOCK(id, parent, answer,                                                                      \
          "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"X\",\"input\":{\"uuid\":\"zz\","         \
          "\"parentUuid\":\"yy\",\"type\":\"progress\",\"s\":\"\\\"uuid\\\":\\\"ww\\\"\"}}")
#define RESULT(id, parent)                                                                         \
    LINE("user", id, Q(parent),                                                                    \
         ",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","                 \
         "\"tool_use_id\":\"t\",\"content\":\"{}\"}]},\"toolUseResult\":{\"uuid\":\"vv\"}")
#define SYSTEM(id, parent, subtype, more)                                                          \
    LINE("system", id, parent, ",\"subtype\":\"" subtype "\",\"isMeta\":true" more)
#define BOUNDARY(id, logical, meta)                                                                \
    LINE("system", id, "null",                                                                     \
         ",\"logicalParentUuid\":" logical                                                         \
         ",\"subtype\":\"compact_boundary\",\"compactMetadata\":{\"trigger\":\"auto\"" meta "}")
#define SUMMARY(id, parent) SAID(id, Q(parent), ",\"isCompactSummary\":true")
#define SEGMENT(head, anchor, tail)                                                                \
    ",\"preservedSegment\":{\"headUuid\":\"" head "\",\"anchorUuid\":\"" anchor                    \
    "\",\"tailUuid\":\"" tail "\"}"
#define KEPT(anchor, ids)                                                                          \
    ",\"preservedMessages\":{\"anchorUuid\":\"" anchor "\",\"uuids\":[" ids "]}"
#define PROGRESS(id, parent) LINE("progress", id, Q(parent), ",\"data\":{}")
#define FACT(type, rest) "{\"type\":\"" type "\"," rest ",\"sessionId\":\"S\"}\n"

/* ---- files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/tenax-load-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static char *put_file(const char *name, struct str text)
{
    char *path = path_join(folder, name);

    assert_int_equal(file_replace(path, text, 0600, NULL), 0);
    return path;
}

static const struct load_tune tunes[] = {
    {0},
    {.part_bytes = 64, .window_bytes = 64, .threads = 1},
    {.part_bytes = 200, .window_bytes = 100, .threads = 3},
    {.part_bytes = 1000, .window_bytes = 4096, .threads = 2},
    {.part_bytes = 1 << 20, .window_bytes = 1, .threads = 1},
};

/* "b s+ u1": the chain's uuids, those that were preserved with a plus. */
static void describe(struct load *l, struct buf *out)
{
    for (size_t i = 0; i < load_count(l); i++) {
        const struct load_entry *e = load_at(l, i);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *root;
        struct err err;
        struct str line;

        if (load_read(l, e->offset, e->len, &line, &err) < 0 ||
            json_parse(&arena, line, &root, NULL, &err) < 0)
            fail_msg("entry %zu: %s", i, err.text);
        buf_addf(out, "%s%.*s%s", i ? " " : "", STR_ARG(json_get_str(root, "uuid")),
                 e->flags & LOAD_PRESERVED ? "+" : "");
    }
}

struct chain_case {
    const char *name;
    const char *text;
    const char *want;
    const char *warning; /* part of one; NULL: there is none */
    const char *leaf;    /* spec */
    bool is_before, whole;
};

static void check_chain(const struct chain_case *row, const struct load_tune *tune, size_t way)
{
    struct load_spec spec = {str_of(row->leaf), row->is_before, row->whole};
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    CLEANUP(mem_freep) char *path = put_file("s.jsonl", str_of(row->text));
    struct load *l;
    struct err err;
    const struct strv *warnings;

    if (load_open_tuned(path, &spec, NULL, tune, &l, &err) < 0) {
        buf_addf(&got, "%s", err_code_name(err.code));
        if (strcmp(buf_cstr(&got), row->want) != 0)
            fail_msg("%s, way %zu: %s", row->name, way, err.text);
        unlink(path);
        return;
    }
    describe(l, &got);
    if (strcmp(buf_cstr(&got), row->want) != 0)
        fail_msg("%s, way %zu: '%s' instead of '%s'", row->name, way, buf_cstr(&got), row->want);
    warnings = load_warnings(l);
    if (row->warning ? warnings->len != 1 || !strstr(warnings->ptr[0], row->warning)
                     : warnings->len != 0)
        fail_msg("%s, way %zu: %zu warnings, first '%s'", row->name, way, warnings->len,
                 warnings->len ? warnings->ptr[0] : "");
    load_free(l);
    unlink(path);
}

/* clang-format off */
static const struct chain_case chain_cases[] = {
    {"a fact with a message's id", ROOT("a") U("b", "a") FACT("queue-operation", "\"operation\":\"dequeue\",\"uuid\":\"b\"") A("c", "b", "m"), "a b c", NULL, NULL, false, false},
    {"empty", "", "", NULL},
    {"a turn", ROOT("u1") A("a1", "u1", "m1"), "u1 a1", NULL},
    {"order means nothing", A("a1", "u1", "m1") U("u2", "a1") ROOT("u1"), "u1 a1 u2", NULL},
    {"newest leaf", ROOT("u1") A("a1", "u1", "m1") U("u2", "u1"), "u1 u2", NULL},
    {"uuid in a tool's input", ROOT("u1") CALL("a1", "u1", "m1") RESULT("r1", "a1"), "u1 a1 r1", NULL},
    {"ids of any kind", ROOT("1") U("x y", "1") U("\\u00e9\\n", "x y") U("z", "\u00e9\\u000a"),
     "1 x y \u00e9\n z", NULL},
    {"a boundary", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), "") SUMMARY("s", "b") U("u2", "s"),
     "b s u2", NULL},
    {"a boundary with a parent",
     ROOT("u1") LINE("system", "b", Q("u1"), ",\"subtype\":\"compact_boundary\"") SUMMARY("s", "b"), "b s", NULL},
    {"two boundaries", ROOT("u1") BOUNDARY("b", Q("u1"), "") SUMMARY("s", "b") U("u2", "s")
     BOUNDARY("c", Q("u2"), "") SUMMARY("t", "c"), "c t", NULL},
    {"whole", ROOT("u1") BOUNDARY("b", Q("u1"), "") SUMMARY("s", "b") U("u2", "s")
     BOUNDARY("c", Q("u2"), "") SUMMARY("t", "c"), "u1 b s u2 c t", NULL, .whole = true},
    {"a boundary that was never finished", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), ""),
     "u1 a1", NULL},
    {"the same, with a torn summary", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), "")
     "{\"parentUuid\":\"b\",\"type\":\"user\",\"uuid\":\"s\",\"message\":{\"content\":\"Sum", "u1 a1", "1 line "},
    {"rewound to before a boundary", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), "") SUMMARY("s", "b")
     U("u2", "u1"), "u1 u2", NULL},

    {"preserved segment", ROOT("u1") A("a1", "u1", "m1") U("h", "a1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), SEGMENT("h", "s", "t")) SUMMARY("s", "b") U("n", "t"), "b s h+ t+ n", NULL},
    {"the anchor's other children go behind the tail", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), SEGMENT("h", "s", "t")) SUMMARY("s", "b") U("n", "s"), "b s h+ t+ n", NULL},
    {"anchored at the boundary", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), SEGMENT("h", "b", "t")) SUMMARY("s", "b"), "b h+ t+ s", NULL},
    {"preserved messages", ROOT("u1") U("h", "u1") A("i", "h", "m2") A("t", "i", "m3")
     BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b") U("n", "t"), "b s h+ t+ n", NULL},
    {"preserved, nothing said since", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b"), "b s h+ t+", NULL},
    {"a broken segment", ROOT("u1") U("h", "u1") A("t", "u1", "m2")
     BOUNDARY("b", Q("t"), SEGMENT("h", "s", "t")) SUMMARY("s", "b") U("n", "s"), "b s n", "compaction kept"},
    {"preserved, not all there", ROOT("u1") U("h", "u1")
     BOUNDARY("b", Q("h"), KEPT("s", "\"h\",\"gone\"")) SUMMARY("s", "b") U("n", "s"), "b s n", "compaction kept"},
    {"kept, in a copy of the conversation", BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b")
     U("h", "gone") A("t", "h", "m2") U("n", "s"), "b s h+ t+ n", NULL},
    {"kept, then compacted again", ROOT("u1") U("h", "u1") BOUNDARY("b", Q("h"), KEPT("s", "\"h\""))
     SUMMARY("s", "b") U("n", "h") BOUNDARY("c", Q("n"), "") SUMMARY("t", "c") U("o", "t"), "c t o", NULL},
    {"kept twice", ROOT("u1") U("h", "u1") BOUNDARY("b", Q("h"), KEPT("s", "\"h\"")) SUMMARY("s", "b") U("n", "h")
     BOUNDARY("c", Q("n"), KEPT("t", "\"h\",\"n\"")) SUMMARY("t", "c") U("o", "n"), "c t h+ n+ o", NULL},
    {"kept, for people", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b") U("n", "t"), "u1 h t b s n", NULL, .whole = true},
    {"a compaction that was cut off", ROOT("u1") A("a1", "u1", "m1") U("h", "a1") A("t", "h", "m2")
     SYSTEM("e", Q("t"), "turn_duration", "") BOUNDARY("b", Q("e"), KEPT("r2", "\"h\",\"t\"")) SUMMARY("s", "b")
     SAID("r1", "\"s\"", ",\"isMeta\":true") "{\"parentUuid\":\"r1\",\"isSi", "u1 a1 h t e", "no entry"},
    {"and gone on behind", ROOT("u1") A("a1", "u1", "m1") U("h", "a1")
     BOUNDARY("b", Q("h"), KEPT("r2", "\"h\"")) SUMMARY("s", "b") U("n", "s"), "u1 a1 h n", NULL},
    {"whole, the end of a turn before the boundary", ROOT("u1") A("a1", "u1", "m1") U("h", "a1") A("t", "h", "m2")
     SYSTEM("e", Q("t"), "turn_duration", "") BOUNDARY("b", Q("e"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b")
     U("n", "s"), "u1 a1 h t e b s n", NULL, .whole = true},
    {"rewound to before what was kept", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b") U("n", "u1"), "u1 n", NULL},
    {"a kept one taken out", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), SEGMENT("h", "s", "t")) SUMMARY("s", "b") U("n", "t")
     SYSTEM("x", Q("n"), "snip", ",\"removedUuids\":[\"h\"]"), "b s t+ n x", NULL},
    {"parallel calls kept", ROOT("u1") CALL("h", "u1", "m2") CALL("i", "h", "m2") RESULT("q", "h") RESULT("t", "i")
     BOUNDARY("b", Q("t"), SEGMENT("h", "s", "t")) SUMMARY("s", "b") U("n", "t"), "b s h+ i+ q+ t+ n", NULL},

    {"snip", ROOT("u1") A("a1", "u1", "m1") U("u2", "a1") A("a2", "u2", "m2")
     SYSTEM("x", Q("a2"), "snip", ",\"removedUuids\":[\"a1\",\"u2\",\"none\"]"), "u1 a2 x", NULL},
    {"snip is not for people", ROOT("u1") A("a1", "u1", "m1")
     SYSTEM("x", Q("a1"), "snip", ",\"removedUuids\":[\"a1\"]"), "u1 a1 x", NULL, .whole = true},
    {"removedUuids on any line", ROOT("u1") A("a1", "u1", "m1") SAID("u2", Q("a1"), ",\"removedUuids\":[\"a1\"]"),
     "u1 u2", NULL},
    {"removedUuids inside something else", ROOT("u1") A("a1", "u1", "m1")
     SAID("u2", Q("a1"), ",\"data\":{\"removedUuids\":[\"a1\"]}"), "u1 a1 u2", NULL},
    {"tombstone", ROOT("u1") A("a1", "u1", "m1") SYSTEM("x", Q("a1"), "tombstone", ",\"targetUuid\":\"a1\"")
     A("a2", "x", "m2"), "u1 x a2", NULL},
    {"tombstone, for people too", ROOT("u1") A("a1", "u1", "m1")
     SYSTEM("x", Q("u1"), "tombstone", ",\"targetUuid\":\"a1\""), "u1 x", NULL, .whole = true},
    {"a tombstone of the leaf", ROOT("u1") A("a1", "u1", "m1")
     FACT("tag", "\"tag\":\"x\"") "{\"type\":\"system\",\"subtype\":\"tombstone\",\"uuid\":\"x\",\"parentUuid\":null,"
     "\"targetUuid\":\"a1\"}\n", "u1", NULL},
    {"a tombstone of a boundary", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), "") SUMMARY("s", "b")
     SYSTEM("x", Q("s"), "tombstone", ",\"targetUuid\":\"b\""), "u1 a1 s x", NULL},

    {"progress in the chain", ROOT("u1") PROGRESS("p", "u1") PROGRESS("q", "p") A("a1", "q", "m1"), "u1 a1", NULL},
    {"progress at the end", ROOT("u1") A("a1", "u1", "m1") PROGRESS("p", "a1"), "u1 a1", NULL},
    {"an unknown kind", ROOT("u1") LINE("novelty", "p", Q("u1"), "") A("a1", "p", "m1"), "u1 a1", NULL},
    {"a circle", U("u1", "u3") U("u2", "u1") U("u3", "u2") A("a1", "u3", "m1"), "u1 u2 u3 a1", "in a circle"},
    {"nothing but a circle", U("u1", "u2") U("u2", "u1"), "u1 u2", "in a circle"},
    {"its own parent", U("u1", "u1"), "u1", "in a circle"},
    {"a circle of what is gone", PROGRESS("p", "q") PROGRESS("q", "p") U("u1", "p"), "u1", NULL},
    {"a parent that is nowhere", U("u1", "zz") U("u2", "u1"), "u1 u2", "beginning"},
    {"an id twice", ROOT("u1") A("a1", "u1", "m1") ROOT("u2") A("a1", "u2", "m2"), "u2 a1", NULL},
    {"system lines alone are no leaf", ROOT("u1") SYSTEM("x", "null", "goal_status", "") SYSTEM("y", Q("x"), "z", ""),
     "u1", NULL},
    {"system lines alone", SYSTEM("x", "null", "z", "") SYSTEM("y", Q("x"), "z", ""), "x y", NULL},
    {"attachments are links", ROOT("u1") LINE("attachment", "t", Q("u1"), ",\"attachment\":{\"type\":\"file\"}"),
     "u1 t", NULL},

    {"a result beside the way", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "a1", "m1") RESULT("r1", "a1")
     RESULT("r2", "a2") A("a3", "r2", "m2"), "u1 a1 a2 r1 r2 a3", NULL},
    {"a call and its result beside the way", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "a1", "m1")
     RESULT("r2", "a2") RESULT("r1", "a1") A("a3", "r1", "m2"), "u1 a1 a2 r2 r1 a3", NULL},
    {"siblings on one parent", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "u1", "m1") RESULT("r1", "a1")
     RESULT("r2", "a2"), "u1 a1 a2 r1 r2", NULL},
    {"a dead branch stays dead", ROOT("u1") CALL("a1", "u1", "m1") RESULT("r1", "a1") CALL("d1", "u1", "m9")
     RESULT("e1", "d1") A("a2", "r1", "m2"), "u1 a1 r1 a2", NULL},
    {"four at once", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "a1", "m1") CALL("a3", "a2", "m1")
     CALL("a4", "a3", "m1") RESULT("r3", "a3") RESULT("r1", "a1") RESULT("r4", "a4") RESULT("r2", "a2") U("u2", "r2"),
     "u1 a1 a2 a3 a4 r3 r1 r4 r2 u2", NULL},
    {"a tombstoned sibling", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "u1", "m1") RESULT("r1", "a1")
     SYSTEM("x", Q("r1"), "tombstone", ",\"targetUuid\":\"a2\""), "u1 a1 r1 x", NULL},

    {"asked for", ROOT("u1") A("a1", "u1", "m1") U("u2", "a1"), "u1 a1", NULL, .leaf = "a1"},
    {"asked for, before", ROOT("u1") A("a1", "u1", "m1") U("u2", "a1"), "u1 a1", NULL, .leaf = "u2", .is_before = true},
    {"by answer", ROOT("u1") A("a1", "u1", "m1") A("a2", "a1", "m1") U("u2", "a2"), "u1 a1 a2", NULL, .leaf = "m1"},
    {"by answer, before", ROOT("u1") A("a1", "u1", "m1") A("a2", "a1", "m1") U("u2", "a2"), "u1", NULL, .leaf = "m1",
     .is_before = true},
    {"before the first", ROOT("u1") A("a1", "u1", "m1"), "", NULL, .leaf = "u1", .is_before = true},
    {"asked for what is not there", ROOT("u1"), "NOT_FOUND", NULL, .leaf = "zz"},
    {"an answer's results come behind it", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "a1", "m1") RESULT("r1", "a1")
     RESULT("r2", "a2"), "u1 a1 a2", NULL, .leaf = "m1"},
    {"asked for a result", ROOT("u1") CALL("a1", "u1", "m1") CALL("a2", "a1", "m1") RESULT("r1", "a1")
     RESULT("r2", "a2") U("u2", "r2"), "u1 a1 a2 r2 r1", NULL, .leaf = "r1"},
    {"asked for what lies before the boundary", ROOT("u1") A("a1", "u1", "m1") BOUNDARY("b", Q("a1"), "")
     SUMMARY("s", "b"), "u1 a1", NULL, .leaf = "a1"},
    {"asked for a snipped one", ROOT("u1") A("a1", "u1", "m1") SYSTEM("x", Q("a1"), "snip", ",\"removedUuids\":[\"a1\"]"),
     "u1", NULL, .leaf = "a1"},

    {"a torn tail", ROOT("u1") "{\"parentUuid\":\"u1\",\"type\":\"user\",\"uuid\":\"u2", "u1", "1 line "},
    {"a last line without its end", ROOT("u1") "{\"type\":\"user\",\"parentUuid\":\"u1\",\"uuid\":\"u2\"}", "u1 u2", NULL},
    {"a last line that is broken inside", ROOT("u1") "{\"type\":\"user\",\"parentUuid\":\"u1\",\"uuid\":\"u2\",\"x\":\"\\q\"}\n",
     "u1", "1 line "},
    {"torn in the middle", ROOT("u1") "{\"parentUuid\":\"u1\",\"type\":\"user\",\"uuid\":\"u2\",\"message\":{\"c\n"
     U("u3", "u1"), "u1 u3", "1 line "},
    {"garbage", "garbage\n[1]\n\"{}\"\nnull\n{}\n" ROOT("u1") "}{\n{\"type\":\"user\"}\n", "u1", "7 lines "},
    {"more than an object", ROOT("u1") "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\"} x\n"
     "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\"}{}\n"
     "{\"type\":\"user\" \"uuid\":\"u2\",\"parentUuid\":\"u1\"}\n"
     "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",}\n"
     "{,\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\"}\n"
     "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",\"m\":[[}\n"
     "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",\"m\":\"\t\"}\n", "u1", "7 lines "},
    {"blank lines", "\n\n  \n\r\n" ROOT("u1") "\n \n", "u1", NULL},
    {"carriage returns", "{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null}\r\n"
     "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\"}\r\n", "u1 u2", NULL},
    {"a byte order mark", "\xef\xbb\xbf" ROOT("u1"), "u1", NULL},
    {"spaces and another order", "{ \"uuid\" : \"u1\" , \"message\" : { \"content\" : [ ] } ,\t\"type\" : \"user\" , "
     "\"parentUuid\" : null }\n" "{\"message\":{\"content\":\"\\\\\",\"id\":\"m\"},\"type\":\"assistant\","
     "\"uuid\":\"a1\",\"parentUuid\":\"u1\"}\n", "u1 a1", NULL},
    {"escapes in keys and kinds", "{\"\\u0075uid\":\"u1\",\"t\\u0079pe\":\"us\\u0065r\",\"parent\\u0055uid\":null}\n"
     "{\"uuid\":\"u\\u0032\",\"type\":\"user\",\"parentUuid\":\"\\u00751\"}\n", "u1 u2", NULL},
    {"a key twice", "{\"uuid\":\"zz\",\"type\":\"tag\",\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":\"q\",\"parentUuid\":null}\n",
     "u1", NULL},
    {"ids that are no text", "{\"uuid\":5,\"type\":\"user\"}\n{\"uuid\":\"u1\",\"type\":\"user\",\"parentUuid\":{\"a\":1}}\n",
     "u1", "1 line "},

    {"a sidechain within", ROOT("u1") "{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null,\"isSidechain\":true}\n"
     A("a1", "u1", "m1") "{\"type\":\"user\",\"uuid\":\"y\",\"parentUuid\":\"a1\",\"isSidechain\":true}\n", "u1 a1", NULL},
    {"a sidechain's file", "{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null,\"isSidechain\":true,\"agentId\":\"g\"}\n"
     "{\"type\":\"assistant\",\"uuid\":\"y\",\"parentUuid\":\"x\",\"isSidechain\":true,\"agentId\":\"g\"}\n", "x y", NULL},
};
/* clang-format on */

static void test_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(chain_cases); i++) {
        for (size_t way = 0; way < ARRAY_LEN(tunes); way++)
            check_chain(&chain_cases[i], &tunes[way], way);
    }
}

/* ---- flags ---- */

static void test_flags(void **state)
{
    static const struct {
        const char *name, *line;
        unsigned flags;
        enum entry_kind kind;
    } rows[] = {
        {"plain", ROOT("x"), 0, ENTRY_USER},
        {"meta", SAID("x", "null", ",\"isMeta\":true"), LOAD_META, ENTRY_USER},
        {"not meta", SAID("x", "null", ",\"isMeta\":false"), 0, ENTRY_USER},
        {"summary", SUMMARY("x", "x0"), LOAD_SUMMARY, ENTRY_USER},
        {"result", RESULT("x", "x0"), LOAD_TOOL_RESULT, ENTRY_USER},
        {"call", CALL("x", "x0", "m"), LOAD_TOOL_USE, ENTRY_ASSISTANT},
        {"words", A("x", "x0", "m"), 0, ENTRY_ASSISTANT},
        {"a call in words", BLOCK("x", "x0", "m", "{\"text\":\"\\\"type\\\":\\\"tool_use\\\"\"}"),
         0, ENTRY_ASSISTANT},
        {"a result within a result",
         LINE(
             "user", "x", "null",
             ",\"message\":{\"content\":[{\"type\":\"text\",\"x\":[{\"type\":\"tool_result\"}]}]}"),
         0, ENTRY_USER},
        {"API error",
         LINE("assistant", "x", "null", ",\"isApiErrorMessage\":true,\"message\":{\"content\":[]}"),
         LOAD_API_ERROR, ENTRY_ASSISTANT},
        {"attachment", LINE("attachment", "x", "null", ",\"attachment\":{}"), 0, ENTRY_ATTACHMENT},
        {"boundary", BOUNDARY("x", "null", "") SUMMARY("y", "x"), LOAD_BOUNDARY, ENTRY_SYSTEM},
        {"boundary, subtype first",
         "{\"subtype\":\"compact_boundary\",\"uuid\":\"x\",\"type\":\"system\"}\n" SUMMARY("y",
                                                                                           "x"),
         LOAD_BOUNDARY, ENTRY_SYSTEM},
        {"a user is no boundary",
         "{\"subtype\":\"compact_boundary\",\"uuid\":\"x\",\"type\":\"user\"}\n", 0, ENTRY_USER},
        {"sidechain", "{\"type\":\"user\",\"uuid\":\"x\",\"isSidechain\":true}\n", LOAD_SIDECHAIN,
         ENTRY_USER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = put_file("s.jsonl", str_of(rows[i].line));
        struct load *l;

        assert_int_equal(load_open(path, NULL, NULL, &l, NULL), 0);
        if (load_count(l) < 1 || load_at(l, 0)->flags != rows[i].flags ||
            load_at(l, 0)->kind != rows[i].kind)
            fail_msg("%s: %zu entries, flags %x, kind %d", rows[i].name, load_count(l),
                     load_count(l) ? load_at(l, 0)->flags : 0,
                     load_count(l) ? load_at(l, 0)->kind : 0);
        load_free(l);
        unlink(path);
    }
}

/* ---- facts ---- */

#define QUEUE(op, more) FACT("queue-operation", "\"operation\":\"" op "\"" more)
#define WORDS(text) ",\"content\":\"" text "\""
#define FAR BOUNDARY("b", "null", "") SUMMARY("s", "b") /* earlier lines are skipped */

struct fact_case {
    const char *name;
    const char *text;
    const char *want;
};

/* What of the facts is there, in the words of the rows. */
static void describe_facts(struct load *l, const struct load_facts *f, struct buf *out)
{
    const struct {
        const char *name;
        const struct buf *text;
    } texts[] = {
        {"title", &f->title},         {"ai", &f->ai_title},
        {"prompt", &f->first_prompt}, {"tag", &f->tag},
        {"mode", &f->mode},           {"permission", &f->permission_mode},
        {"agent", &f->agent_setting}, {"name", &f->agent_name},
    };
    const struct {
        const char *name;
        const struct load_line *lines;
        size_t len;
        const char *key;
    } lists[] = {
        {"queue", f->queue.ptr, f->queue.len, "content"},
        {"replaced", f->replacements.ptr, f->replacements.len, "n"},
        {"history", f->file_history.ptr, f->file_history.len, "messageId"},
        {"collapses", f->collapses.ptr, f->collapses.len, "collapseId"},
        {"snapshot", &f->collapse_snapshot, f->collapse_snapshot.len > 0, "n"},
        {"worktree", &f->worktree, f->worktree.len > 0, "n"},
        {"pr", &f->pr_link, f->pr_link.len > 0, "prNumber"},
        {"goal", &f->goal_status, f->goal_status.len > 0, "uuid"},
        {"turn", &f->last_turn, f->last_turn.len > 0, "uuid"},
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].text->len)
            buf_addf(out, "%s=%s ", texts[i].name, buf_cstr(texts[i].text));
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (size_t j = 0; j < lists[i].len; j++) {
            CLEANUP(arena_release) struct arena arena = ARENA_INIT;
            const struct json *root;
            const struct json *value;
            struct str line;

            assert_int_equal(
                load_read(l, lists[i].lines[j].offset, lists[i].lines[j].len, &line, NULL), 0);
            assert_int_equal(json_parse(&arena, line, &root, NULL, NULL), 0);
            value = json_get(root, lists[i].key);
            buf_addf(out, "%s=%.*s ", lists[i].name,
                     STR_ARG(json_is(value, JSON_STRING) ? json_str(value) : json_raw(value)));
        }
    }
}

/* clang-format off */
static const struct fact_case fact_cases[] = {
    {"titles", FACT("custom-title", "\"customTitle\":\"one\"") FACT("ai-title", "\"aiTitle\":\"made\"")
     FACT("custom-title", "\"customTitle\":\"two\""), "title=two ai=made "},
    {"an emptied title", FACT("custom-title", "\"customTitle\":\"one\"") FACT("custom-title", "\"customTitle\":\"\""), ""},
    {"before a boundary", FACT("custom-title", "\"customTitle\":\"one\"") FACT("tag", "\"tag\":\"t\"")
     SYSTEM("g", "null", "goal_status", "") SYSTEM("h", "null", "goal_status", "") SYSTEM("d", "null", "turn_duration", "")
     FAR, "title=one tag=t goal=h turn=d "},
    {"before a boundary, keys in another order", "{\"sessionId\":\"S\",\"customTitle\":\"one\",\"type\":\"custom-title\"}\n"
     "{\"message\":{\"type\":\"x\"},\"subtype\":\"goal_status\",\"uuid\":\"g\",\"type\":\"system\"}\n" FAR, "title=one goal=g "},
    {"what only looks like one", SAID("u", "null", ",\"x\":{\"type\":\"custom-title\",\"customTitle\":\"no\"}")
     ",{\"type\":\"custom-title\",\"customTitle\":\"no\"}\n" FACT("custom-title", "\"x\":{\"customTitle\":\"no\"}"), "prompt=x "},
    {"another session's", ROOT("u") FACT("custom-title", "\"customTitle\":\"ours\"")
     "{\"type\":\"custom-title\",\"customTitle\":\"theirs\",\"sessionId\":\"T\"}\n", "title=ours prompt=x "},
    {"without a session", ROOT("u") "{\"type\":\"tag\",\"tag\":\"t\"}\n", "prompt=x tag=t "},
    {"modes and names", FACT("mode", "\"mode\":\"coordinator\"") FACT("permission-mode", "\"permissionMode\":\"plan\"")
     FACT("agent-setting", "\"agentSetting\":\"r\"") FACT("agent-name", "\"agentName\":\"n\""),
     "mode=coordinator permission=plan agent=r name=n "},
    {"lines", FACT("worktree-state", "\"n\":1") FACT("worktree-state", "\"n\":2") FACT("pr-link", "\"prNumber\":7"),
     "worktree=2 pr=7 "},
    {"replacements, in order, the main chain's", FACT("content-replacement", "\"n\":1") FAR
     FACT("content-replacement", "\"n\":2,\"agentId\":\"g\"") FACT("content-replacement", "\"n\":3"), "replaced=1 replaced=3 "},
    {"an agent's own", "{\"type\":\"user\",\"uuid\":\"u\",\"isSidechain\":true,\"sessionId\":\"S\",\"message\":{\"content\":\"go\"}}\n"
     FACT("content-replacement", "\"n\":2,\"agentId\":\"g\""), "prompt=go replaced=2 "},
    {"file history", "{\"type\":\"file-history-snapshot\",\"messageId\":\"m1\",\"snapshot\":{}}\n" FAR
     "{\"type\":\"file-history-snapshot\",\"messageId\":\"m2\",\"snapshot\":{}}\n", "history=m1 history=m2 "},
    {"collapses", FACT("marble-origami-commit", "\"collapseId\":\"c1\"") FACT("marble-origami-snapshot", "\"n\":1") FAR
     FACT("marble-origami-commit", "\"collapseId\":\"c2\"") FACT("marble-origami-commit", "\"collapseId\":\"c3\""),
     "collapses=c2 collapses=c3 "},
    {"a collapse's snapshot", FACT("marble-origami-snapshot", "\"n\":1") FACT("marble-origami-snapshot", "\"n\":2"), "snapshot=2 "},
    {"an old summary", ROOT("u") "{\"type\":\"summary\",\"summary\":\"of ours\",\"leafUuid\":\"u\"}\n"
     "{\"type\":\"summary\",\"summary\":\"of theirs\",\"leafUuid\":\"v\"}\n", "ai=of ours prompt=x "},

    {"queue: first in, first out", QUEUE("enqueue", WORDS("a")) QUEUE("enqueue", WORDS("b")) QUEUE("dequeue", ""), "queue=b "},
    {"queue: by words", QUEUE("enqueue", WORDS("a")) QUEUE("enqueue", WORDS("b")) QUEUE("remove", WORDS("b")), "queue=a "},
    {"queue: by words, escaped", QUEUE("enqueue", WORDS("a")) QUEUE("enqueue", WORDS("b")) QUEUE("dequeue", WORDS("\\u0062")),
     "queue=a "},
    {"queue: by id", QUEUE("enqueue", WORDS("a") ",\"uuid\":\"1\"") QUEUE("enqueue", WORDS("a2") ",\"uuid\":\"2\"")
     QUEUE("dequeue", ",\"uuid\":\"2\"") QUEUE("remove", ",\"uuid\":\"9\""), "queue=a "},
    {"queue: unknown words", QUEUE("enqueue", WORDS("a")) QUEUE("remove", WORDS("z")), "queue=a "},
    {"queue: all", QUEUE("enqueue", WORDS("a")) QUEUE("enqueue", WORDS("b")) QUEUE("popAll", "") QUEUE("enqueue", WORDS("c")),
     "queue=c "},
    {"queue: an id that came later", QUEUE("enqueue", ",\"uuid\":\"1\"" WORDS("a")) QUEUE("enqueue", WORDS("b")) QUEUE("enqueue", WORDS("c"))
     QUEUE("dequeue", ",\"uuid\":\"9\""), "queue=a queue=c "},
    {"queue: nothing there", QUEUE("dequeue", "") QUEUE("popAll", "") QUEUE("jump", ""), ""},
    {"queue: over a boundary", QUEUE("enqueue", WORDS("a")) QUEUE("enqueue", WORDS("b")) FAR QUEUE("dequeue", ""), "queue=b "},
    {"queue: blocks", QUEUE("enqueue", ",\"content\":[{\"type\":\"text\"}]") QUEUE("enqueue", ",\"content\":[1]")
     QUEUE("remove", ",\"content\":[1]"), "queue=[{\"type\":\"text\"}] "},

    {"the first prompt", ROOT("a") SAID("b", "null", ""), "prompt=x "},
    {"a prompt in blocks", LINE("user", "u", "null", ",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
     "\"<system-reminder>no</system-reminder>\"},{\"type\":\"image\"},{\"text\":\"  caf\\u00e9\\n\",\"type\":\"text\"}]}"),
     "prompt=caf\u00e9 "},
    {"no prompts", SAID("a", "null", ",\"isMeta\":true") SUMMARY("b", "a") RESULT("c", "b")
     LINE("user", "d", "null", ",\"message\":{\"content\":\"<command-name>/x</command-name>\"}")
     LINE("user", "e", "null", ",\"message\":{\"content\":\"<local-command-stdout>x</local-command-stdout>\"}")
     LINE("user", "f", "null", ",\"message\":{\"content\":\"[Request interrupted by user]\"}")
     LINE("user", "g", "null", ",\"message\":{\"content\":\"\\u003cbash-input>ls</bash-input>\"}"), ""},
};
/* clang-format on */

static void test_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fact_cases) * ARRAY_LEN(tunes); i++) {
        const struct fact_case *row = &fact_cases[i / ARRAY_LEN(tunes)];
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
        CLEANUP(mem_freep) char *path = put_file("S.jsonl", str_of(row->text));
        struct load *l;
        struct err err;

        if (load_open_tuned(path, NULL, NULL, &tunes[i % ARRAY_LEN(tunes)], &l, &err) < 0)
            fail_msg("%s: %s", row->name, err.text);
        describe_facts(l, load_facts(l), &got);
        if (strcmp(buf_cstr(&got), row->want) != 0)
            fail_msg("%s, way %zu: '%s' instead of '%s'", row->name, i % ARRAY_LEN(tunes),
                     buf_cstr(&got), row->want);
        load_free(l);
        unlink(path);
    }
}

/* ---- a file as Claude Code writes it ---- */

#define CC(n) "000000" n "-1111-4222-8333-444455556666"

static void check_claude_code(const struct load_facts *f)
{
    assert_string_equal(buf_cstr(&f->session), "5f0c2f0e-6d7a-4d2b-9a51-0c1e6a2b7c10");
    assert_string_equal(buf_cstr(&f->cwd), "/home/u/my.app");
    assert_string_equal(buf_cstr(&f->branch), "main");
    assert_string_equal(buf_cstr(&f->title), "Parser work");
    assert_string_equal(buf_cstr(&f->ai_title), "Bug in the parser");
    assert_string_equal(buf_cstr(&f->first_prompt), "fix the bug in \u201cparser.c\u201d");
    assert_string_equal(buf_cstr(&f->permission_mode), "acceptEdits");
    assert_int_equal(f->first_ms, 1794650401000);
    assert_int_equal(f->last_ms, 1794650424000);
    assert_int_equal(f->messages, 19);
    assert_int_equal(f->skipped, 0);
    assert_false(f->is_torn);
}

static void test_claude_code(void **state)
{
    CLEANUP(mem_freep)
    char *path = path_join(getenv("TENAX_SOURCE") ? getenv("TENAX_SOURCE") : ".",
                           "tests/data/transcripts/claude-code.jsonl");
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    CLEANUP(buf_release) struct buf facts = BUF_INIT(1 << 16);
    struct load_spec people = {.whole = true};
    struct load_facts peeked;
    struct load *l;
    struct err err;

    (void)state;
    if (load_open(path, NULL, NULL, &l, &err) < 0)
        fail_msg("%s", err.text);
    describe(l, &got);
    assert_string_equal(buf_cstr(&got), CC("15") " " CC("16") " " CC("11") "+ " CC("14") "+ " CC(
                                            "17") " " CC("18"));
    assert_true(str_is(load_leaf(l), CC("18")));
    assert_int_equal(load_warnings(l)->len, 0);
    check_claude_code(load_facts(l));
    describe_facts(l, load_facts(l), &facts);
    assert_non_null(strstr(buf_cstr(&facts), "tag=todo mode=normal permission=acceptEdits "
                                             "agent=reviewer name=scribe queue=then release "));
    assert_int_equal(load_facts(l)->file_history.len, 2);
    assert_int_equal(load_facts(l)->replacements.len, 1);
    assert_int_equal(load_facts(l)->collapses.len, 1);
    load_free(l);

    buf_clear(&got);
    assert_int_equal(load_open(path, &people, NULL, &l, NULL), 0);
    describe(l, &got);
    assert_int_equal(load_count(l), 21); /* all but progress, the dead branches and the sidechain */
    assert_non_null(strstr(buf_cstr(&got), CC("07") " " CC("08") " " CC("0a") " " CC("0b")));
    load_free(l);

    assert_int_equal(load_peek(path, &peeked, NULL), 0);
    check_claude_code(&peeked);
    assert_int_equal(peeked.queue.len, 0);
    load_facts_release(&peeked);
}

/* ---- looks at the ends ---- */

static void test_peek(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(mem_freep) char *path = path_join(folder, "abc.jsonl");
    struct load_facts f;
    struct err err;

    (void)state;
    assert_int_equal(load_peek(path, &f, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);

    /* The first prompt alone is longer than the part read, and so is the line in the middle. */
    buf_adds(&text, "{\"type\":\"user\",\"uuid\":\"u\",\"cwd\":\"/w\",\"timestamp\":"
                    "\"2026-11-14T10:00:00.000Z\",\"message\":{\"content\":\"do it ");
    while (text.len < 200000)
        buf_adds(&text, "again \\ud83d\\ude00 ");
    buf_adds(&text, "\"}}\n" FACT("custom-title", "\"customTitle\":\"unseen\""));
    while (text.len < 900000)
        buf_adds(&text, U("v", "u"));
    buf_adds(&text, FACT("tag", "\"tag\":\"seen\"") "{\"torn");
    mem_freep(&path);
    path = put_file("abc.jsonl", buf_str(&text));
    assert_int_equal(load_peek(path, &f, &err), 0);
    assert_true(str_starts(buf_str(&f.first_prompt), STR("do it again \U0001f600 ")));
    assert_in_range(f.first_prompt.len, 400, 500);
    assert_string_equal(buf_cstr(&f.session), "S");
    assert_string_equal(buf_cstr(&f.cwd), "/w");
    assert_string_equal(buf_cstr(&f.tag), "seen");
    assert_string_equal(buf_cstr(&f.title), "");
    assert_int_equal(f.size, text.len);
    assert_true(f.is_torn);
    assert_int_equal(f.last_ms, 1794650400000);
    load_facts_release(&f);
    unlink(path);
    mem_freep(&path);

    path = put_file("abc.jsonl", STR(""));
    assert_int_equal(load_peek(path, &f, &err), 0);
    assert_string_equal(buf_cstr(&f.session), "abc");
    assert_false(f.is_torn);
    load_facts_release(&f);
    unlink(path);
}

/* ---- files that are not what they were ---- */

static void make_long(struct buf *text, size_t lines)
{
    buf_adds(text, ROOT("n0"));
    for (size_t i = 1; i <= lines; i++)
        buf_addf(text,
                 "{\"type\":\"user\",\"uuid\":\"n%zu\",\"parentUuid\":\"n%zu\",\"message\":{}}\n",
                 i, i - 1);
}

static void test_shrunk(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(mem_freep) char *path = NULL;
    const struct load_entry *last;
    struct load *l;
    struct str line;
    struct err err;

    (void)state;
    make_long(&text, 20000);
    path = put_file("s.jsonl", buf_str(&text));
    assert_int_equal(load_open(path, NULL, NULL, &l, NULL), 0);
    assert_int_equal(load_count(l), 20001);
    last = load_at(l, 20000);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(load_read(l, 0, load_at(l, 0)->len, &line, &err), 0);
    assert_int_equal(load_read(l, last->offset, last->len, &line, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    /* A position without a line. */
    assert_int_equal(load_read(l, UINT64_MAX - 1, 10, &line, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    load_free(l);
    unlink(path);
}

/* The size is taken when the file is opened; the bytes are not there any more when it is read. */
static void test_shrunk_before_the_scan(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(mem_freep) char *path = NULL;
    struct line_source source;
    struct scan scan;
    struct err err;

    (void)state;
    make_long(&text, 20000);
    path = put_file("s.jsonl", buf_str(&text));
    assert_int_equal(source_open(&source, path, NULL), 0);
    assert_int_equal(truncate(path, 300000), 0);
    for (uint64_t part = 1 << 16; part <= 1 << 22; part *= 4) {
        scan_init(&scan, &source, /*is_agent=*/false, /*cancel=*/NULL, part);
        assert_int_equal(scan_run(&scan, /*is_whole=*/false, &err), -1);
        assert_int_equal(err.code, ERR_IO);
        assert_non_null(strstr(err.text, "cut short"));
        scan_release(&scan);
    }
    source_release(&source);
    unlink(path);
}

/* Another process truncates and restores the file again and again while it is read: the result is a
 * chain or ERR_IO, never a signal. */
static void test_shrinking(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(mem_freep) char *path = NULL;
    unsigned failed = 0;
    pid_t child;

    (void)state;
    make_long(&text, 20000);
    path = put_file("s.jsonl", buf_str(&text));
    child = fork();
    if (child == 0) {
        for (;;) {
            if (truncate(path, 0) < 0 || truncate(path, (off_t)text.len) < 0)
                _exit(1);
        }
    }
    for (unsigned i = 0; i < 50; i++) {
        struct load_tune tune = {.part_bytes = 1 << 16, .window_bytes = 4096, .threads = 2};
        struct load *l;
        struct err err;

        if (load_open_tuned(path, NULL, NULL, &tune, &l, &err) == 0) {
            load_free(l);
            continue;
        }
        failed++;
        if (err.code != ERR_IO)
            fail_msg("%s: %s", err_code_name(err.code), err.text);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    print_message("[          ] %u of 50 were cut short\n", failed);
    unlink(path);
}

static void test_refusals(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(folder, "s.jsonl");
    struct cancel *cancel = cancel_new(NULL);
    struct load *l;
    struct err err;

    (void)state;
    assert_int_equal(load_open(path, NULL, NULL, &l, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(load_open(folder, NULL, NULL, &l, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load_open(path, NULL, NULL, &l, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    unlink(path);
    mem_freep(&path);
    path = put_file("s.jsonl", STR(ROOT("u1")));
    cancel_set(cancel);
    assert_int_equal(load_open(path, NULL, cancel, &l, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    cancel_unref(cancel);
    unlink(path);
}

/* Bytes that no JSON has, and a line longer than any window. */
static void test_bytes(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 12);
    CLEANUP(mem_freep) char *path = NULL;
    struct load *l;

    (void)state;
    buf_add(&text, STR("\0\0\0\n"));
    buf_add(&text, STR(ROOT("u1")));
    buf_add(&text, STR("{\"type\":\"user\",\"uuid\":\"u2\",\"x\":\"a\0b\"}\n"));
    buf_add(&text,
            STR("{\"type\":\"user\",\"uuid\":\"u3\",\"parentUuid\":\"u1\",\"x\":\"\xff\xfe\"}\n"));
    buf_adds(&text, "{\"message\":{\"content\":\"");
    while (text.len < 3000000)
        buf_adds(&text, "\\\\\\\" [{\\\\");
    buf_adds(&text, "\"},\"uuid\":\"u4\",\"parentUuid\":\"u3\",\"type\":\"user\"}\n");
    buf_add(&text, STR("\0"));
    path = put_file("s.jsonl", buf_str(&text));
    assert_int_equal(load_open(path, NULL, NULL, &l, NULL), 0);
    describe(l, &got);
    assert_string_equal(buf_cstr(&got), "u1 u3 u4");
    assert_int_equal(load_facts(l)->skipped, 3);
    assert_true(load_facts(l)->is_torn);
    load_free(l);
    unlink(path);
}

/* A line that is longer than anything can be parsed, but has its links; and one of more than 4 GB
 * of nothing. */
static void test_endless_lines(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 12);
    CLEANUP(mem_freep) char *path = NULL;
    FILE *f;
    struct load *l;

    (void)state;
    if (!getenv("TENAX_HEAVY"))
        skip();
    path = put_file("s.jsonl", STR(ROOT("u1") "{\"type\":\"user\",\"uuid\":\"long\","
                                              "\"parentUuid\":\"u1\",\"x\":\""));
    while (text.len < 1 << 20)
        buf_adds(&text, "0123456789abcdef");
    f = fopen(path, "a");
    assert_non_null(f);
    for (unsigned i = 0; i < 1025; i++)
        assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_true(fputs("\"}\n" U("u2", "long"), f) >= 0);
    assert_int_equal(fclose(f), 0);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseeko(f, ((off_t)1 << 32) + ((off_t)2 << 30), SEEK_SET), 0);
    assert_true(fputs("\n" U("u3", "u2"), f) >= 0);
    assert_int_equal(fclose(f), 0);

    assert_int_equal(load_open(path, NULL, NULL, &l, NULL), 0);
    describe(l, &got);
    assert_string_equal(buf_cstr(&got), "u1 u2 u3");
    assert_int_equal(load_facts(l)->skipped, 2);
    load_free(l);
    unlink(path);
}

UNIT_TEST(load)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_claude_code),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_shrunk),
        cmocka_unit_test(test_shrunk_before_the_scan),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_endless_lines),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
