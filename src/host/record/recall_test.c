/*
 * Transcripts and the conversations they make, row by row: what a provider would get, and how the
 * last turn was left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/recall.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "llm/history.h"
#include "llm/message.h"
#include "store/transcript/load.h"
#include "unit.h"

static char path[] = "/tmp/recall_test_XXXXXX";

#define LINE(type, uuid, parent, rest)                                                             \
    "{\"type\":\"" type "\",\"uuid\":\"" uuid "\",\"parentUuid\":" parent                          \
    ",\"isSidechain\":false,\"timestamp\":\"2026-11-14T10:00:00.000Z\"," rest "}\n"
#define USER(uuid, parent, text)                                                                   \
    LINE("user", uuid, parent, "\"message\":{\"role\":\"user\",\"content\":\"" text "\"}")
#define META(uuid, parent, text)                                                                   \
    LINE("user", uuid, parent,                                                                     \
         "\"isMeta\":true,\"message\":{\"role\":\"user\",\"content\":\"" text "\"}")
#define RESULT(uuid, parent, id, text)                                                             \
    LINE("user", uuid, parent,                                                                     \
         "\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"  \
         "\"" id "\",\"content\":\"" text "\"}]}")
#define SAYS(uuid, parent, id, block) SAYS_TO(uuid, parent, "r-" id, id, block)
#define SAYS_TO(uuid, parent, request, id, block)                                                  \
    LINE("assistant", uuid, parent,                                                                \
         "\"requestId\":\"" request "\","                                                          \
         "\"message\":{\"id\":\"" id "\",\"type\":\"message\",\"role\":\"assistant\","             \
         "\"model\":\"m\",\"content\":[" block "],\"usage\":{\"input_tokens\":10,"                 \
         "\"output_tokens\":2}}")
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define THINK "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}"
#define CALLS(id, name)                                                                            \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}"
#define CALL(id) CALLS(id, "Bash")
#define ATTACHED(uuid, parent, what) LINE("attachment", uuid, parent, "\"attachment\":{" what "}")

#define TURN(uuid, parent, reason)                                                                 \
    LINE("system", uuid, parent, "\"subtype\":\"turn_duration\",\"reason\":\"" reason "\"")

static const struct {
    const char *name;
    const char *lines;
    const char *wire;
    enum recall_state state;
    const char *lost;
} rows[] = {
    {"nothing", "", "", RECALL_COMPLETE, ""},
    {"a turn", USER("u1", "null", "hi") SAYS("a1", "\"u1\"", "m1", TEXT("hello")), "U hi | A hello",
     RECALL_COMPLETE, ""},
    {"a prompt nobody answered",
     USER("u1", "null", "hi") SAYS("a1", "\"u1\"", "m1", TEXT("hello"))
         USER("u2", "\"a1\"", "more"),
     "U hi | A hello | U more", RECALL_INTERRUPTED_PROMPT, ""},
    {"results nobody looked at",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("look"))
         SAYS("a2", "\"a1\"", "m1", CALL("t1")) RESULT("u2", "\"a2\"", "t1", "out"),
     "U go | A look +t1 | U =t1(out)", RECALL_INTERRUPTED_TURN, ""},
    {"a call that was running",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("look"))
         SAYS("a2", "\"a1\"", "m1", CALL("t1")),
     "U go | A look", RECALL_INTERRUPTED_TURN, "\n- Bash {}"},
    {"only a call, and it was running",
     USER("u1", "null", "go") SAYS("a2", "\"u1\"", "m1", CALL("t1")), "U go",
     RECALL_INTERRUPTED_TURN, "\n- Bash {}"},
    {"of two calls one has ended",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         SAYS("a2", "\"a1\"", "m1", CALL("t2")) RESULT("u2", "\"a1\"", "t1", "one"),
     "U go | A +t1 | U =t1(one)", RECALL_INTERRUPTED_TURN, "\n- Bash {}"},
    {"parallel calls, each with its result behind it",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         RESULT("u2", "\"a1\"", "t1", "one") SAYS("a2", "\"a1\"", "m1", CALL("t2"))
             RESULT("u3", "\"a2\"", "t2", "two") SAYS("a3", "\"u3\"", "m2", TEXT("done")),
     "U go | A +t1 +t2 | U =t1(one) =t2(two) | A done", RECALL_COMPLETE, ""},
    {"results in the wrong order",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         SAYS("a2", "\"a1\"", "m1", CALL("t2")) RESULT("u3", "\"a2\"", "t2", "two")
             RESULT("u2", "\"a1\"", "t1", "one") SAYS("a3", "\"u2\"", "m2", TEXT("done")),
     "U go | A +t1 +t2 | U =t1(one) =t2(two) | A done", RECALL_COMPLETE, ""},
    {"a result without a call",
     USER("u1", "null", "go") RESULT("u2", "\"u1\"", "t9", "x")
         SAYS("a1", "\"u2\"", "m1", TEXT("ok")),
     "U go | A ok", RECALL_COMPLETE, ""},
    {"nothing but thought", USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", THINK), "U go",
     RECALL_INTERRUPTED_PROMPT, ""},
    {"thought before words",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", THINK)
         SAYS("a2", "\"a1\"", "m1", TEXT("ok")),
     "U go | A (hm) ok", RECALL_COMPLETE, ""},
    {"a server that calls all its answers the same",
     USER("u1", "null", "one") SAYS_TO("a1", "\"u1\"", "r1", "m1", TEXT("first"))
         SAYS_TO("a2", "\"a1\"", "r1", "m1", TEXT("half")) USER("u2", "\"a2\"", "two")
             SAYS_TO("a3", "\"u2\"", "r2", "m1", TEXT("second")),
     "U one | A first half | U two | A second", RECALL_COMPLETE, ""},
    {"white space", USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT(" \\n")), "U go",
     RECALL_INTERRUPTED_PROMPT, ""},
    {"an error of the provider is no answer",
     USER("u1", "null", "go")
         LINE("assistant", "a1", "\"u1\"",
              "\"isApiErrorMessage\":true,\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":"
              "\"assistant\",\"model\":\"<synthetic>\",\"content\":[" TEXT("500") "]}"),
     "U go", RECALL_INTERRUPTED_PROMPT, ""},
    {"interrupted by the user",
     USER("u1", "null", "go") USER("u2", "\"u1\"", "[Request interrupted by user]"),
     "U go [Request interrupted by user]", RECALL_COMPLETE, ""},
    {"what tenax added asks for nothing",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("ok")) META("u2", "\"a1\"", "note"),
     "U go | A ok | U note", RECALL_COMPLETE, ""},
    {"a system line behind",
     USER("u1", "null", "go") LINE("system", "s1", "\"u1\"", "\"subtype\":\"informational\""),
     "U go", RECALL_INTERRUPTED_PROMPT, ""},
    {"going on was begun, and cut off again",
     USER("u1", "null", "go") META("u2", "\"u1\"", RECALL_GO_ON), "U go " RECALL_GO_ON,
     RECALL_INTERRUPTED_TURN, ""},
    {"a goal that was met",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("ok"))
         ATTACHED("x1", "\"a1\"", "\"type\":\"goal_status\",\"met\":true"),
     "U go | A ok", RECALL_COMPLETE, ""},
    {"something added for a later turn",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("ok"))
         LINE("user", "u2", "\"a1\"",
              "\"shouldQuery\":false,\"message\":{\"role\":\"user\",\"content\":\"by the way\"}"),
     "U go | A ok | U by the way", RECALL_COMPLETE, ""},
    {"the same behind a prompt that nobody answered",
     USER("u1", "null", "go")
         LINE("user", "u2", "\"u1\"",
              "\"shouldQuery\":false,\"message\":{\"role\":\"user\",\"content\":\"by the way\"}"),
     "U go by the way", RECALL_INTERRUPTED_PROMPT, ""},
    {"an attachment",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("ok")) LINE(
         "attachment", "x1", "\"a1\"", "\"attachment\":{\"type\":\"file\",\"content\":\"a file\"}"),
     "U go | A ok | U <system-reminder>\na file\n</system-reminder>\n", RECALL_INTERRUPTED_TURN,
     ""},
    {"an attachment that lists what others offer",
     USER("u1", "null", "go")
         LINE("attachment", "x1", "\"u1\"",
              "\"attachment\":{\"type\":\"skill_listing\",\"content\":\"- a skill\"}"),
     "U go", RECALL_INTERRUPTED_TURN, ""},
    {"an attachment in parts",
     USER("u1", "null", "go") LINE("attachment", "x1", "\"u1\"",
                                   "\"attachment\":{\"type\":\"hook_additional_context\","
                                   "\"content\":[\"one\",{\"type\":\"text\",\"text\":\"two\"},7]}"),
     "U go <system-reminder>\none\ntwo\n</system-reminder>\n", RECALL_INTERRUPTED_TURN, ""},
    {"what a hook printed, that the model has read",
     USER("u1", "null", "go") ATTACHED("x1", "\"u1\"",
                                       "\"type\":\"hook_success\",\"hookEvent\":\"SessionStart\","
                                       "\"content\":\"welcome\",\"stdout\":\"welcome\\n\""),
     "U go <system-reminder>\nwelcome\n</system-reminder>\n", RECALL_INTERRUPTED_TURN, ""},
    {"what a hook printed, that it has not",
     USER("u1", "null", "go") ATTACHED("x1", "\"u1\"",
                                       "\"type\":\"hook_success\",\"hookEvent\":\"PostToolUse\","
                                       "\"content\":\"posted\",\"stdout\":\"posted\\n\""),
     "U go", RECALL_INTERRUPTED_PROMPT, ""},
    {"what a hook of ours printed",
     USER("u1", "null", "go")
         ATTACHED("x1", "\"u1\"",
                  "\"type\":\"hook_success\",\"hookEvent\":\"UserPromptSubmit\","
                  "\"content\":\"\",\"stdout\":\"more\\n\""),
     "U go", RECALL_INTERRUPTED_PROMPT, ""},
    {"a file attached, as others have it",
     USER("u1", "null", "go")
         ATTACHED("x1", "\"u1\"",
                  "\"type\":\"file\",\"filename\":\"/a\",\"content\":{\"type\":\"text\",\"file\":{"
                  "\"filePath\":\"/a\",\"content\":\"its text\"}}"),
     "U go <system-reminder>\nits text\n</system-reminder>\n", RECALL_INTERRUPTED_TURN, ""},
    {"a message heard in the middle of a turn",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         RESULT("u2", "\"a1\"", "t1", "out")
             ATTACHED("x1", "\"u2\"", "\"type\":\"queued_command\",\"prompt\":\"and that\"")
                 SAYS("a2", "\"x1\"", "m2", TEXT("ok")),
     "U go | A +t1 | U =t1(out) and that | A ok", RECALL_COMPLETE, ""},
    {"nothing in it",
     USER("u1", "null", "go") ATTACHED("x1", "\"u1\"", "\"type\":\"todo\",\"content\":[]"), "U go",
     RECALL_INTERRUPTED_TURN, ""},
    {"a call whose job is the answer",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALLS("t1", "SendUserMessage"))
         RESULT("u2", "\"a1\"", "t1", "sent"),
     "U go | A +t1 | U =t1(sent)", RECALL_COMPLETE, ""},
    {"the same beside another one",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALLS("t1", "SendUserFile"))
         SAYS("a2", "\"a1\"", "m1", CALL("t2")) RESULT("u2", "\"a1\"", "t1", "sent")
             RESULT("u3", "\"a2\"", "t2", "out"),
     "U go | A +t1 +t2 | U =t1(sent) =t2(out)", RECALL_INTERRUPTED_TURN, ""},
    {"two answers in a row",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("one"))
         SAYS("a2", "\"a1\"", "m2", TEXT("two")),
     "U go | A one | U <system-reminder>\nContinue.\n</system-reminder> | A two", RECALL_COMPLETE,
     ""},
    {"an answer first", SAYS("a1", "null", "m1", TEXT("one")),
     "U <system-reminder>\nThe conversation began before this.\n</system-reminder> | A one",
     RECALL_COMPLETE, ""},
    {"an id used twice",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         RESULT("u2", "\"a1\"", "t1", "one") SAYS("a2", "\"u2\"", "m2", CALL("t1"))
             RESULT("u3", "\"a2\"", "t1", "two") SAYS("a3", "\"u3\"", "m3", TEXT("ok")),
     "U go | A +t1 | U =t1(one) | A ok", RECALL_COMPLETE, ""},
    {"a boundary",
     USER("u1", "null", "old") SAYS("a1", "\"u1\"", "m1", TEXT("older"))
         LINE("system", "b1", "null",
              "\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"a1\","
              "\"compactMetadata\":{\"trigger\":\"auto\",\"preTokens\":5}")
             LINE("user", "s1", "\"b1\"",
                  "\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"so "
                  "far\"}"),
     "U so far", RECALL_COMPLETE, ""},
    {"a result that became a stub",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1")) RESULT("u2", "\"a1\"", "t1",
                                                                            "long")
         SAYS("a2", "\"u2\"", "m2", TEXT("ok")) "{\"type\":\"content-replacement\",\"sessionId\":"
                                                "\"s\",\"replacements\":[{\"messageUuid\":"
                                                "\"u2\",\"toolUseId\":\"t1\",\"blockIndex\":0,"
                                                "\"kind\":\"persisted\",\"replacement\":"
                                                "\"[stub]\"}]}\n",
     "U go | A +t1 | U =t1([stub]) | A ok", RECALL_COMPLETE, ""},
    {"a call that a hook has put off",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", TEXT("look"))
         SAYS("a2", "\"a1\"", "m1", CALL("t1")) TURN("s1", "\"a2\"", "tool_deferred"),
     "U go | later look +t1", RECALL_INTERRUPTED_TURN, ""},
    {"a call that was put off, and something was said since",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         TURN("s1", "\"a1\"", "tool_deferred") USER("u2", "\"s1\"", "never mind"),
     "U go never mind", RECALL_INTERRUPTED_TURN, "\n- Bash {}"},
    {"a call that was put off and has run",
     USER("u1", "null", "go") SAYS("a1", "\"u1\"", "m1", CALL("t1"))
         TURN("s1", "\"a1\"", "tool_deferred") RESULT("u2", "\"a1\"", "t1", "one"),
     "U go | A +t1 | U =t1(one)", RECALL_INTERRUPTED_TURN, ""},
    {"a message that is none",
     USER("u1", "null", "go") LINE("assistant", "a1", "\"u1\"", "\"message\":17")
         SAYS("a2", "\"a1\"", "m2", TEXT("ok")),
     "U go | A ok", RECALL_COMPLETE, ""},
};

static void show_block(struct buf *out, const struct block *b)
{
    if (b->kind == BLOCK_TEXT)
        buf_addf(out, " %.*s", STR_ARG(b->text));
    else if (b->kind == BLOCK_THINKING)
        buf_addf(out, " (%.*s)", STR_ARG(b->text));
    else if (b->kind == BLOCK_TOOL_USE)
        buf_addf(out, " +%.*s", STR_ARG(b->id));
    else if (b->kind == BLOCK_TOOL_RESULT)
        buf_addf(out, " =%.*s(%.*s)", STR_ARG(b->id), STR_ARG(b->content[0].text));
}

static void show(struct buf *out, const struct recall *r)
{
    VEC_EACH(&r->messages, it) {
        const struct message *m = *it;

        buf_addf(out, "%s%s", out->len ? " | " : "", m->role == ROLE_USER ? "U" : "A");
        for (size_t i = 0; i < m->len; i++)
            show_block(out, &m->blocks[i]);
    }
    for (size_t i = 0; r->deferred && i < r->deferred->len; i++) {
        buf_adds(out, i ? "" : " | later");
        show_block(out, &r->deferred->blocks[i]);
    }
}

static void read_back(const char *lines, struct recall *ret)
{
    struct load_spec spec = {0};
    struct load *load = NULL;
    struct err err = {0};

    assert_int_equal(file_replace(path, str_of(lines), 0600, &err), 0);
    if (load_open(path, &spec, /*cancel=*/NULL, &load, &err) < 0 ||
        recall_read(load, /*cancel=*/NULL, ret, &err) < 0)
        fail_msg("%s", err.text);
    load_free(load);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(recall_release) struct recall r = RECALL_INIT;
        CLEANUP(buf_release) struct buf wire = BUF_INIT(1 << 16);
        struct err err = {0};

        read_back(rows[i].lines, &r);
        show(&wire, &r);
        if (strcmp(buf_cstr(&wire), rows[i].wire) != 0 || r.state != rows[i].state ||
            strcmp(buf_cstr(&r.lost), rows[i].lost) != 0)
            fail_msg("%s: %s, state %d, lost \"%s\"", rows[i].name, buf_cstr(&wire), (int)r.state,
                     buf_cstr(&r.lost));
        if (history_check(r.messages.ptr, r.messages.len, &err) < 0)
            fail_msg("%s: %s", rows[i].name, err.text);
        VEC_EACH(&r.messages, m) { /* the kept lines decide which */
            for (size_t b = 0; b < (*m)->len; b++)
                assert_true((*m)->blocks[b].entry.len ||
                            str_has((*m)->blocks[b].text, STR("system-reminder")));
        }
    }
}

static void test_what_goes_with_it(void **state)
{
    CLEANUP(recall_release) struct recall r = RECALL_INIT;

    (void)state;
    read_back(
        META("r1", "null", "<system-reminder>ctx</system-reminder>") USER("u1", "\"r1\"", "go")
            SAYS("a1", "\"u1\"", "m1",
                 "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"TodoWrite\",\"input\":{\"todos\":"
                 "[{\"content\":\"x\",\"status\":\"pending\"}]}}")
                RESULT("u2", "\"a1\"", "t1", "ok") SAYS("a2", "\"u2\"", "m2", TEXT("done"))
                    LINE("system", "s1", "\"a2\"",
                         "\"subtype\":\"turn_duration\",\"cost\":{\"usd\":0.5,\"durationMs\":"
                         "1200,\"apiDurationMs\":-5,\"models\":[{"
                         "\"model\":\"m\",\"usd\":0.5,\"usage\":{\"input_tokens\":100}}]}")
                        USER("u3", "\"s1\"", "more")
                            LINE("assistant", "a3", "\"u3\"",
                                 "\"costUSD\":0.25,\"message\":{\"id\":\"m3\",\"role\":"
                                 "\"assistant\",\"model\":\"m\",\"content\":[" TEXT(
                                     "ok") "],\"usage\":{\"input_tokens\":50,\"output_tokens\":"
                                           "4}}") "{\"type\":\"queue-operation\",\"operation\":"
                                                  "\"enqueue\",\"sessionId\":\"s\",\"uuid\":"
                                                  "\"00000000-0000-4000-8000-000000000001\","
                                                  "\"content\":\"waits\"}\n",
        &r);
    assert_string_equal(buf_cstr(&r.todos), "[{\"content\":\"x\",\"status\":\"pending\"}]");
    assert_string_equal(buf_cstr(&r.context), "<system-reminder>ctx</system-reminder>");
    assert_true(r.ledger.usd > 0.7499 && r.ledger.usd < 0.7501);
    assert_int_equal(r.ledger.time_ms, 1200);
    assert_int_equal(r.ledger.api_ms, 0);
    assert_int_equal(r.ledger.rows.len, 1);
    assert_int_equal(r.ledger.rows.ptr[0].usage.input, 150);
    assert_int_equal(r.tokens, 54);
    assert_int_equal(r.tokens_at, r.messages.len);
    assert_int_equal(r.queued.len, 1);
    assert_string_equal(r.queued.ptr[0].uuid, "00000000-0000-4000-8000-000000000001");
}

/* Killed between the line of a queued input and the one that takes it out of the queue. */
static void test_queued_and_said(void **state)
{
    CLEANUP(recall_release) struct recall r = RECALL_INIT;

    (void)state;
    read_back("{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"s\","
              "\"uuid\":\"00000000-0000-4000-8000-000000000001\",\"content\":\"go\"}\n" USER(
                  "00000000-0000-4000-8000-000000000001", "null", "go"),
              &r);
    assert_int_equal(r.queued.len, 0);
    assert_int_equal(r.messages.len, 1);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

UNIT_TEST(recall)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_what_goes_with_it),
        cmocka_unit_test(test_queued_and_said),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
