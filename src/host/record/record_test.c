/*
 * A session as it stands in its file: which line hangs on which, and what other programs read of
 * them.
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

#include "agent/agent.h"
#include "agent/ask.h"
#include "agent/journal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "host/record/record.h"
#include "json/json.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/model.h"
#include "store/transcript/load.h"
#include "unit.h"

#define SESSION "11111111-1111-4111-8111-111111111111"

static char *dir;

struct session_test {
    char *path;
    struct workspace *workspace;
    struct record *record;
    struct journal *journal;
    struct arena arena;
    struct buf text; /* of the file */
};

static void begin(struct session_test *t, struct asker *asker, struct str leaf)
{
    struct record_spec spec = {.session = SESSION,
                               .entrypoint = "sdk-cli",
                               .sync = SYNC_NEVER,
                               .asker = asker,
                               .leaf = leaf};

    *t = (struct session_test){.text = BUF_INIT(1 << 20), .arena = ARENA_INIT};
    t->path = path_join(dir, SESSION ".jsonl");
    (void)unlink(t->path);
    t->workspace = workspace_new(dir, dir, NULL);
    spec.path = t->path;
    spec.folder = dir;
    spec.workspace = t->workspace;
    t->record = record_new(&spec);
    t->journal = record_journal(t->record);
}

static void end(struct session_test *t)
{
    record_free(t->record);
    workspace_unref(t->workspace);
    (void)unlink(t->path);
    mem_freep(&t->path);
    arena_release(&t->arena);
    buf_release(&t->text);
}

/* The n-th line of the file, parsed. */
static const struct json *line_at(struct session_test *t, size_t n)
{
    const struct json *v = NULL;
    struct str rest, line = STR("");
    struct err err = {0};

    buf_clear(&t->text);
    assert_int_equal(file_slurp(t->path, 1 << 20, &t->text, &err), 0);
    rest = arena_str(&t->arena, buf_str(&t->text));
    for (size_t i = 0; i <= n; i++)
        assert_true(str_cut(&rest, '\n', &line));
    if (json_parse(&t->arena, line, &v, NULL, &err) < 0)
        fail_msg("line %zu: %s", n, err.text);
    return v;
}

static void assert_line(struct session_test *t, size_t n, const char *type, const char *uuid,
                        const char *parent)
{
    const struct json *v = line_at(t, n);
    struct str is_parent = json_get_str(v, "parentUuid");

    if (!str_is(json_get_str(v, "type"), type) || !str_is(json_get_str(v, "uuid"), uuid) ||
        !str_is(is_parent, parent ? parent : ""))
        fail_msg("line %zu: %.*s", n, STR_ARG(buf_str(&t->text)));
    if (!parent)
        assert_true(json_is(json_get(v, "parentUuid"), JSON_NULL));
    /* What viewers insist on. */
    assert_true(str_is(json_get_str(v, "sessionId"), SESSION));
    assert_true(str_is(json_get_str(v, "userType"), "external"));
    assert_true(str_is(json_get_str(v, "version"), TENAX_VERSION));
    assert_true(str_is(json_get_str(v, "cwd"), dir));
    assert_int_equal(json_get_str(v, "timestamp").len, 24);
    assert_false(json_get_bool(v, "isSidechain", true));
}

static int say(struct session_test *t, const char *uuid, const char *text, enum event_user user,
               struct err *err)
{
    struct block b = {.kind = BLOCK_TEXT, .text = str_of(text)};

    return t->journal->user(t->journal, &b, 1, uuid, user, err);
}

static int answer(struct session_test *t, const char *text_entry, const char *call_entry,
                  struct err *err)
{
    static const struct model model = {.name = STR_INIT("m"), .provider = STR_INIT("p")};
    struct block text = {.kind = BLOCK_TEXT, .text = STR("I look."), .entry = str_of(text_entry)};
    struct block call = {.kind = BLOCK_TOOL_USE,
                         .id = STR("toolu_1"),
                         .name = STR("Bash"),
                         .input = STR("{\"command\":\"ls\"}"),
                         .entry = str_of(call_entry)};
    struct llm_call_result reply = {
        .message = message_new(ROLE_ASSISTANT, 2),
        .stop = STOP_TOOL_USE,
        .usage = {.input = 7, .output = 3, .known = true},
        .model = &model,
        .request_id = "req_1",
    };
    int r;

    message_add(reply.message, &text);
    message_add(reply.message, &call);
    reply.message->id = STR("msg_1");
    reply.message->model = STR("m");
    r = t->journal->reply(t->journal, &reply, err);
    message_unref(reply.message);
    return r;
}

static void test_chain(void **state)
{
    struct block words = {
        .kind = BLOCK_TEXT, .text = STR("<system-reminder>x"), .entry = STR("r1")};
    struct block out = {.kind = BLOCK_TEXT, .text = STR("a b")};
    struct block result = {.kind = BLOCK_TOOL_RESULT,
                           .id = STR("toolu_1"),
                           .name = STR("Bash"),
                           .content = &out,
                           .content_len = 1,
                           .entry = STR("u2")};
    struct turn_report report = {.duration_ms = 12, .total_usd = 0.5};
    struct turn_report failed = {.category = STR("overloaded"), .result = STR("try later")};
    struct session_test t;
    const struct json *v;

    (void)state;
    begin(&t, NULL, STR(""));
    t.journal->remind(t.journal, &words);
    assert_false(file_exists(t.path));
    assert_int_equal(say(&t, "u1", "list it", USER_INPUT, NULL), 0);
    assert_int_equal(answer(&t, "a1", "a2", NULL), 0);
    assert_int_equal(t.journal->result(t.journal, &result, STR("{\"stdout\":\"a b\"}"),
                                       /*is_denied=*/true, STR("a2"), NULL),
                     0);
    assert_int_equal(say(&t, "u3", "feedback", USER_ADDED, NULL), 0);
    assert_int_equal(t.journal->turn_done(t.journal, &report, NULL), 0);
    assert_int_equal(say(&t, "u4", "next", USER_INPUT, NULL), 0);

    assert_line(&t, 0, "user", "r1", NULL);
    assert_true(json_get_bool(line_at(&t, 0), "isMeta", false));
    assert_line(&t, 1, "user", "u1", "r1");
    assert_true(str_is(json_str(json_path(line_at(&t, 1), "message.content")), "list it"));
    assert_line(&t, 2, "assistant", "a1", "u1");
    assert_line(&t, 3, "assistant", "a2", "a1");
    v = line_at(&t, 3);
    assert_true(str_is(json_str(json_path(v, "message.id")), "msg_1"));
    assert_true(str_is(json_str(json_path(v, "message.type")), "message"));
    assert_true(str_is(json_str(json_path(v, "message.stop_reason")), "tool_use"));
    assert_true(str_is(json_get_str(v, "requestId"), "req_1"));
    assert_true(str_has(buf_str(&t.text), STR("\"usage\":{\"input_tokens\":7,")));
    assert_line(&t, 4, "user", "u2", "a2");
    v = line_at(&t, 4);
    assert_true(str_is(json_str(json_path(v, "toolUseResult.stdout")), "a b"));
    assert_true(str_is(json_get_str(v, "sourceToolAssistantUUID"), "a2"));
    assert_true(json_get_bool(v, "isDenied", false));
    JSON_EACH(json_path(v, "message.content"), block) { /* no key that a provider would refuse */
        assert_true(str_is(json_get_str(block, "tool_use_id"), "toolu_1"));
        assert_null(json_get(block, "name"));
    }
    assert_line(&t, 5, "user", "u3", "u2");
    assert_true(json_get_bool(line_at(&t, 5), "isMeta", false));
    v = line_at(&t, 6);
    assert_true(str_is(json_get_str(v, "subtype"), "turn_duration"));
    assert_line(&t, 7, "user", "u4", arena_cstr(&t.arena, json_get_str(v, "uuid")));
    /* The provider's error stands in place of an answer, marked as an error. */
    assert_int_equal(t.journal->turn_done(t.journal, &failed, NULL), 0);
    v = line_at(&t, 8);
    assert_true(json_get_bool(v, "isApiErrorMessage", false));
    assert_true(str_is(json_get_str(v, "parentUuid"), "u4"));
    assert_true(str_is(json_str(json_path(v, "message.model")), "<synthetic>"));
    assert_true(str_is(json_get_str(line_at(&t, 9), "parentUuid"),
                       arena_cstr(&t.arena, json_get_str(v, "uuid"))));
    end(&t);
}

static void test_compaction(void **state)
{
    struct block summary = {.kind = BLOCK_TEXT, .text = STR("So far: …"), .entry = STR("s1")};
    struct block again[] = {{.kind = BLOCK_TEXT, .text = STR("todos"), .entry = STR("m1")},
                            {.kind = BLOCK_TEXT, .text = STR("files"), .entry = STR("m2")}};
    struct str kept[] = {STR("a1"), STR("a2")};
    struct journal_compact c = {
        .trigger = STR("auto"),
        .boundary = STR("b1"),
        .summary = &summary,
        .attached = again,
        .attached_count = 2,
        .kept = kept,
        .kept_count = 2,
        .pre_tokens = 9000,
        .post_tokens = 100,
        .todos = STR("[{\"content\":\"x\"}]"),
    };
    struct session_test t;
    const struct json *v;

    (void)state;
    begin(&t, NULL, STR("before"));
    assert_int_equal(t.journal->compacted(t.journal, &c, NULL), 0);
    assert_int_equal(say(&t, "u9", "next", USER_INPUT, NULL), 0);
    assert_line(&t, 0, "system", "b1", NULL);
    v = line_at(&t, 0);
    assert_true(str_is(json_get_str(v, "subtype"), "compact_boundary"));
    assert_true(str_is(json_get_str(v, "logicalParentUuid"), "before"));
    assert_true(
        str_is(json_str(json_path(v, "compactMetadata.preservedMessages.anchorUuid")), "m2"));
    assert_true(json_is(json_path(v, "compactMetadata.todos"), JSON_ARRAY));
    assert_line(&t, 1, "user", "s1", "b1");
    assert_true(json_get_bool(line_at(&t, 1), "isCompactSummary", false));
    assert_line(&t, 2, "user", "m1", "s1");
    assert_line(&t, 3, "user", "m2", "m1");
    assert_line(&t, 4, "user", "u9", "m2");
    assert_int_equal(t.journal->snipped(t.journal, kept, 2, NULL), 0);
    v = line_at(&t, 5);
    assert_line(&t, 5, "system", arena_cstr(&t.arena, json_get_str(v, "uuid")), "u9");
    assert_true(str_is(json_get_str(v, "subtype"), "snip"));
    assert_true(json_get_bool(v, "isMeta", false));
    assert_true(json_get_str(v, "content").len && str_is(json_get_str(v, "level"), "info"));
    assert_int_equal(json_len(json_get(v, "removedUuids")), 2);
    end(&t);
}

static void test_facts(void **state)
{
    struct agent_input in = {.uuid = "q1", .message = message_user_text(STR("later"))};
    struct journal_replacement gone = {
        .entry = STR("u2"), .tool_use_id = STR("toolu_1"), .stub = STR("[stub]")};
    struct session_test t;

    (void)state;
    begin(&t, NULL, STR(""));
    assert_int_equal(record_title(t.record, STR("A title"), NULL), 0);
    assert_false(file_exists(t.path));
    assert_int_equal(say(&t, "u1", "go", USER_INPUT, NULL), 0);
    assert_int_equal(t.journal->queue(t.journal, QUEUE_ENQUEUE, &in, NULL), 0);
    assert_int_equal(t.journal->queue(t.journal, QUEUE_DEQUEUE, &in, NULL), 0);
    assert_int_equal(t.journal->replaced(t.journal, &gone, 1, NULL), 0);
    assert_int_equal(record_mode(t.record, STR("plan"), NULL), 0);
    (void)line_at(&t, 0);
    assert_true(str_starts(buf_str(&t.text), STR("{\"type\":\"custom-title\",\"customTitle\":\"A "
                                                 "title\",\"sessionId\":\"" SESSION "\"}\n")));
    assert_true(str_is(json_get_str(line_at(&t, 2), "operation"), "enqueue"));
    assert_true(str_is(json_get_str(line_at(&t, 2), "content"), "later"));
    assert_true(str_is(json_get_str(line_at(&t, 3), "operation"), "dequeue"));
    assert_true(str_is(json_get_str(line_at(&t, 4), "type"), "content-replacement"));
    assert_true(str_is(json_get_str(line_at(&t, 5), "permissionMode"), "plan"));
    message_unref(in.message);
    end(&t);
}

/* An agent that works for another one has a separate file, and every line is marked. */
static void test_sidechain(void **state)
{
    struct journal_replacement gone = {
        .entry = STR("u2"), .tool_use_id = STR("toolu_1"), .stub = STR("[stub]")};
    struct record_spec spec = {.session = SESSION,
                               .entrypoint = "sdk-cli",
                               .agent_id = "a7",
                               .sync = SYNC_NEVER,
                               .folder = dir};
    CLEANUP(buf_release) struct buf path = BUF_INIT(1 << 12);
    CLEANUP(mem_freep) char *folder = NULL;
    struct session_test t;
    const struct json *v;

    (void)state;
    begin(&t, NULL, STR(""));
    record_free(t.record);
    record_agent_path(dir, "a7", &path);
    mem_freep(&t.path);
    t.path = mem_dup(path.ptr, path.len);
    spec.path = t.path;
    spec.workspace = t.workspace;
    t.record = record_new(&spec);
    t.journal = record_journal(t.record);
    assert_int_equal(say(&t, "u1", "go", USER_INPUT, NULL), 0);
    assert_int_equal(answer(&t, "a1", "a2", NULL), 0);
    assert_int_equal(t.journal->replaced(t.journal, &gone, 1, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        v = line_at(&t, i);
        assert_true(json_get_bool(v, "isSidechain", false));
        assert_true(str_is(json_get_str(v, "sessionId"), SESSION));
        assert_true(str_is(json_get_str(v, "agentId"), "a7"));
    }
    assert_true(str_is(json_get_str(line_at(&t, 3), "agentId"), "a7"));
    folder = path_dirname(t.path);
    end(&t);
    (void)rmdir(folder);
}

struct yes_sayer {
    struct asker asker;
    int asked;
    bool yes;
};

static int put(struct asker *self, const struct ask *ask, struct cancel *cancel,
               struct ask_answer *ret, struct err *err)
{
    struct yes_sayer *y = (struct yes_sayer *)self;

    (void)cancel;
    (void)err;
    y->asked++;
    assert_true(str_has(ask->reason, STR("No space left")));
    ret->allowed = y->yes;
    return 0;
}

/* The disk is full: the turn ends, unless the user wants to continue without saving. */
static void test_full_disk(void **state)
{
    (void)state;
    for (int yes = 0; yes < 2; yes++) {
        struct yes_sayer asker = {.asker = {.put = put}, .yes = yes};
        struct session_test t;
        struct err err = {0};
        int r;

        begin(&t, &asker.asker, STR(""));
        assert_int_equal(say(&t, "u1", "go", USER_INPUT, &err), 0);
        disk_test_mode("full:1");
        r = answer(&t, "a1", "a2", &err);
        assert_int_equal(r, yes ? 0 : -1);
        assert_int_equal(asker.asked, 1);
        if (!yes)
            assert_true(strstr(err.text, "No space left") &&
                        strstr(err.text, "could not be saved"));
        r = say(&t, "u2", "more", USER_INPUT, &err);
        assert_int_equal(r, yes ? 0 : -1);
        assert_int_equal(asker.asked, yes ? 1 : 2);
        disk_test_mode(NULL);
        assert_line(&t, 0, "user", "u1", NULL);
        if (!yes) { /* there is room again: the failed line goes before it, after the torn a2 */
            assert_int_equal(say(&t, "u3", "again", USER_INPUT, &err), 0);
            assert_line(&t, 3, "assistant", "a1", "u1");
            assert_line(&t, 4, "assistant", "a2", "a1");
            assert_line(&t, 5, "user", "u2", "a2");
            assert_line(&t, 6, "user", "u3", "u2");
        }
        end(&t);
    }
}

static int make_dir(void **state)
{
    char name[] = "/tmp/record_test_XXXXXX";

    (void)state;
    if (!mkdtemp(name))
        return -1;
    dir = mem_dup(name, strlen(name));
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)rmdir(dir);
    mem_freep(&dir);
    return 0;
}

/* Others name their lines as they like: the next line hangs on the full name. */
static void test_long_leaf(void **state)
{
    struct session_test t;
    struct err err = {0};
    char leaf[LOAD_MAX_ID + 1];

    (void)state;
    memset(leaf, 'z', LOAD_MAX_ID);
    leaf[LOAD_MAX_ID] = '\0';
    begin(&t, NULL, str_of(leaf));
    assert_int_equal(say(&t, "u1", "go on", USER_INPUT, &err), 0);
    assert_true(str_is(json_get_str(line_at(&t, 0), "parentUuid"), leaf));
    end(&t);
}

UNIT_TEST(record)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_facts),     cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_sidechain), cmocka_unit_test(test_long_leaf),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
