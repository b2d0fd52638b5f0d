/*
 * Transcripts read: small files, one per rule, each gone through in several ways (whole, in tiny
 * parts and windows, by threads) with one outcome.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "store/load_tune.h"
#include "sync/cancel.h"

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
    {"kept, then compacted again", ROOT("u1") U("h", "u1") BOUNDARY("b", Q("h"), KEPT("s", "\"h\""))
     SUMMARY("s", "b") U("n", "h") BOUNDARY("c", Q("n"), "") SUMMARY("t", "c") U("o", "t"), "c t o", NULL},
    {"kept twice", ROOT("u1") U("h", "u1") BOUNDARY("b", Q("h"), KEPT("s", "\"h\"")) SUMMARY("s", "b") U("n", "h")
     BOUNDARY("c", Q("n"), KEPT("t", "\"h\",\"n\"")) SUMMARY("t", "c") U("o", "n"), "c t h+ n+ o", NULL},
    {"kept, for people", ROOT("u1") U("h", "u1") A("t", "h", "m2")
     BOUNDARY("b", Q("t"), KEPT("s", "\"h\",\"t\"")) SUMMARY("s", "b") U("n", "t"), "u1 h t b s n", NULL, .whole = true},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
