/*
 * The event log: the contents of its lines, and what they never contain; growing, torn and broken
 * files; falling back.
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

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "host/events/event_line.h"
#include "host/events/event_log.h"
#include "host/events/feed.h"
#include "json/json.h"
#include "unit.h"

#define PRIVATE "the-users-own-words"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/tenax-events-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = {"events.jsonl", "events.1.jsonl", ""};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names[i]);

        remove(path);
    }
}

static void read_log(const char *name, struct buf *ret)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);

    if (file_slurp(path, (size_t)64 << 20, ret, /*err=*/NULL) < 0)
        buf_clear(ret);
}

/* An event with all its text fields set. */
static struct event *make(enum event_kind kind)
{
    static const struct turn_report report = {
        .end = END_COMPLETED,
        .result = STR_INIT(PRIVATE),
        .error = STR_INIT(PRIVATE),
        .denials = STR_INIT(PRIVATE),
        .structured = STR_INIT(PRIVATE),
        .duration_ms = 1234,
        .pace = {.calls = 2, .first_ms = 7, .tokens_per_s = 50.9, .tool_ms = 8, .hook_ms = 9},
        .steps = 2,
        .usage = {.input = 10, .output = 20},
        .total_usd = 0.25,
    };
    struct event *e = event_new(kind);

    e->by.session = "11111111-0000-4000-8000-000000000000";
    e->by.agent = "main";
    e->turn = 3;
    e->step = 4;
    e->message_id = STR("msg_1");
    e->request_id = STR("req_1");
    e->model = STR("scripted/model");
    e->id = STR("toolu_1");
    e->tool_id = STR("toolu_2");
    e->name = STR("Edit");
    e->text = e->json = e->data = STR(PRIVATE);
    e->mode = "default";
    e->duration_ms = 14;
    e->pre_tokens = 9000;
    e->post_tokens = 800;
    e->report = &report;
    return e;
}

static void lines_of_all_kinds(void **state)
{
    static const struct {
        enum event_kind kind;
        const char *want; /* after "step":4, NULL: no line */
    } rows[] = {
        {EVENT_TURN_STARTED, ",\"message\":\"toolu_1\",\"model\":\"scripted/model\","
                             "\"mode\":\"default\"}"},
        {EVENT_STEP_STARTED, ",\"response\":\"msg_1\",\"model\":\"scripted/model\"}"},
        {EVENT_BLOCK_STARTED, NULL},
        {EVENT_BLOCK_DELTA, NULL},
        {EVENT_BLOCK_DONE, ",\"index\":0,\"tool\":\"toolu_1\",\"name\":\"Edit\",\"bytes\":19}"},
        {EVENT_STEP_DONE, ",\"response\":\"msg_1\",\"request\":\"req_1\","
                          "\"model\":\"scripted/model\",\"stop\":\"none\",\"ms\":0,\"first_ms\":0,"
                          "\"tokens\":{\"input\":0,\"cache_read\":0,\"cache_write\":0,"
                          "\"output\":0}}"},
        {EVENT_STEP_VOID, ",\"ms\":0}"},
        {EVENT_TOOL_STARTED, ",\"tool\":\"toolu_1\",\"name\":\"Edit\",\"bytes\":19}"},
        {EVENT_TOOL_PROGRESS, NULL},
        {EVENT_TOOL_DONE, ",\"tool\":\"toolu_1\",\"name\":\"Edit\",\"ms\":14,\"bytes\":19,"
                          "\"error\":false}"},
        {EVENT_USER, ",\"message\":\"toolu_1\",\"kind\":\"input\",\"bytes\":19}"},
        {EVENT_WAITING, NULL},
        {EVENT_RETRY, ",\"attempt\":0,\"of\":0,\"wait_ms\":0,\"status\":0,\"error\":\"unknown\"}"},
        {EVENT_STATE, ",\"state\":\"idle\"}"},
        {EVENT_MODE, ",\"mode\":\"default\"}"},
        {EVENT_MODEL, NULL},
        {EVENT_HOOK_STARTED, ",\"hook\":\"toolu_1\",\"name\":\"Edit\"}"},
        {EVENT_HOOK_DONE, ",\"hook\":\"toolu_1\",\"name\":\"Edit\",\"ms\":14,\"error\":false}"},
        {EVENT_TASK_STARTED, ",\"task\":\"toolu_1\",\"tool\":\"toolu_2\"}"},
        {EVENT_TASK_DONE, ",\"task\":\"toolu_1\",\"tool\":\"toolu_2\",\"end\":\"Edit\"}"},
        {EVENT_COMPACTED, ",\"trigger\":\"Edit\",\"ms\":14,\"before\":9000,\"after\":800,"
                          "\"error\":false}"},
        {EVENT_ACTIVE_GOAL, "}"}, /* invalid JSON is dropped */
        {EVENT_COMMAND, ",\"name\":\"Edit\",\"bytes\":19,\"error\":false}"},
        {EVENT_COMMAND_PROGRESS, NULL},
        {EVENT_NOTICE, ",\"level\":\"info\",\"bytes\":19}"},
        {EVENT_TURN_DONE, ",\"end\":\"completed\",\"error\":false,\"ms\":1234,\"model_ms\":0,"
                          "\"calls\":2,\"first_ms\":7,\"tokens_per_s\":50,\"tool_ms\":8,"
                          "\"hook_ms\":9,\"steps\":2,\"tokens\":{\"input\":10,\"cache_read\":0,"
                          "\"cache_write\":0,\"output\":20},\"session_usd\":0.25,\"queued\":0}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
        CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 16);
        struct event_line l = {0};
        struct event *e = make(rows[i].kind);

        event_line_write(&l, e, &line);
        if (rows[i].want)
            buf_addf(&want, "\"agent\":\"main\",\"turn\":3,\"step\":4%s\n", rows[i].want);
        if (rows[i].want ? !str_ends(buf_str(&line), buf_str(&want)) : line.len > 0)
            fail_msg("kind %d: %s", (int)rows[i].kind, buf_cstr(&line));
        if (strstr(buf_cstr(&line), PRIVATE))
            fail_msg("kind %d says what was said: %s", (int)rows[i].kind, buf_cstr(&line));
        event_unref(e);
    }
}

/* Of a goal the figures and states are written, never a condition, reason or command. */
static void goals_without_words(void **state)
{
    static const struct {
        const char *json;
        const char *want; /* after "step":4 */
    } rows[] = {
        {"{\"goal_id\":\"g\",\"condition_length\":12,\"iterations\":2,\"met\":false,\"by\":"
         "\"check\","
         "\"reason\":\"" PRIVATE "\",\"checks\":[{\"command\":\"" PRIVATE "\"}],\"error\":null}",
         ",\"goal_id\":\"g\",\"condition_length\":12,\"iterations\":2,\"met\":false,"
         "\"by\":\"check\",\"reason_bytes\":19,\"checks_count\":1,\"error\":null}"},
        {"{\"set\":{\"objective\":\"" PRIVATE "\"},\"condition\":\"" PRIVATE "\"}",
         ",\"set_count\":1,\"condition_bytes\":19}"},
        {"[\"" PRIVATE "\"]", "}"},
        {"{", "}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
        CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 16);
        struct event_line l = {0};
        struct event *e = make(EVENT_GOAL);

        e->name = STR("goal_verdict");
        e->json = str_of(rows[i].json);
        event_line_write(&l, e, &line);
        buf_addf(&want, "\"event\":\"goal_verdict\",\"agent\":\"main\",\"turn\":3,\"step\":4%s\n",
                 rows[i].want);
        if (!str_ends(buf_str(&line), buf_str(&want)))
            fail_msg("row %zu: %s", i, buf_cstr(&line));
        if (strstr(buf_cstr(&line), PRIVATE))
            fail_msg("row %zu says what was said: %s", i, buf_cstr(&line));
        event_unref(e);
    }
}

static void steps_have_a_length(void **state)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
    struct event_line l = {0};
    struct event *begun = make(EVENT_STEP_STARTED);
    struct event *done = make(EVENT_STEP_DONE);

    (void)state;
    done->time_ms = begun->time_ms + 250;
    event_line_write(&l, begun, &line);
    buf_clear(&line);
    event_line_write(&l, done, &line);
    assert_non_null(strstr(buf_cstr(&line), "\"ms\":250,"));
    event_unref(begun);
    event_unref(done);
}

/* Every line is JSON with these keys; gives their number. */
static size_t assert_lines(const char *name)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 20);
    struct str rest;
    struct str line;
    size_t count = 0;

    read_log(name, &text);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *root;

        if (json_parse(&arena, line, &root, NULL, NULL) < 0) {
            /* torn by the test itself */
            if (!str_is(line, "{\"time\":\"2026"))
                fail_msg("%.*s", STR_ARG(line));
            continue;
        }
        assert_true(json_get_i64(root, "seq", -1) > 0);
        assert_true(json_get_str(root, "event").len > 0);
        assert_int_equal(json_get_str(root, "time").len, 24);
        assert_true(str_is(json_get_str(root, "session"), "11111111-0000-4000-8000-000000000000"));
        count++;
    }
    return count;
}

static struct event_log *start(struct feed *feed, size_t max_bytes)
{
    struct event_log *l = event_log_start(feed, "11111111-0000-4000-8000-000000000000", folder,
                                          max_bytes, /*err=*/NULL);

    assert_non_null(l);
    return l;
}

static void emit(struct feed *feed, enum event_kind kind)
{
    feed_emit(feed, make(kind), /*cancel=*/NULL);
}

static void nothing_before_a_turn(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct feed *feed = feed_new(NULL);
    struct event_log *l;
    struct stat st;

    (void)state;
    make_folder();
    path = path_join(folder, "events.jsonl");
    l = start(feed, EVENT_LOG_MAX);
    emit(feed, EVENT_NOTICE);
    event_log_stop(l);
    assert_false(file_exists(path));
    l = start(feed, EVENT_LOG_MAX);
    emit(feed, EVENT_TURN_STARTED);
    event_log_stop(l);
    assert_int_equal(assert_lines("events.jsonl"), 2);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    feed_unref(feed);
    remove_folder();
}

static void old_lines_go(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 20);
    const size_t max = 20000;

    (void)state;
    make_folder();
    for (int i = 0; i < 40; i++) {
        struct feed *other = feed_new(NULL);
        struct event_log *l = start(other, max);

        for (int k = 0; k < 20; k++)
            emit(other, k ? EVENT_TOOL_DONE : EVENT_TURN_STARTED);
        event_log_stop(l);
        feed_unref(other);
    }
    read_log("events.1.jsonl", &text);
    assert_true(text.len >= max && text.len < 2 * max);
    read_log("events.jsonl", &text);
    assert_true(text.len < 2 * max);
    assert_true(assert_lines("events.jsonl") + assert_lines("events.1.jsonl") < 800);
    remove_folder();
}

static void torn_tail(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct feed *feed = feed_new(NULL);
    struct event_log *l;

    (void)state;
    make_folder();
    path = path_join(folder, "events.jsonl");
    assert_int_equal(file_replace(path, STR("{\"time\":\"2026"), 0600, NULL), 0);
    l = start(feed, EVENT_LOG_MAX);
    emit(feed, EVENT_TURN_STARTED);
    emit(feed, EVENT_TURN_DONE);
    event_log_stop(l);
    assert_int_equal(assert_lines("events.jsonl"), 2);
    feed_unref(feed);
    remove_folder();
}

/* Something is in the way of the file; later it is not. */
static void cannot_be_written(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct feed *feed = feed_new(NULL);
    struct event_log *l;

    (void)state;
    make_folder();
    path = path_join(folder, "events.jsonl");
    assert_int_equal(mkdir(path, 0700), 0);
    l = start(feed, EVENT_LOG_MAX);
    emit(feed, EVENT_TURN_STARTED);
    event_log_stop(l);
    l = start(feed, EVENT_LOG_MAX);
    assert_int_equal(rmdir(path), 0);
    emit(feed, EVENT_TURN_DONE);
    event_log_stop(l);
    assert_true(assert_lines("events.jsonl") >= 1);
    feed_unref(feed);
    remove_folder();
}

/* Events that the ring no longer has are reported missing. */
static void late_start(void **state)
{
    static const struct feed_limits few = {
        .ring_bytes = 1 << 20, .ring_events = 8, .lag_bytes = 1 << 20, .lag_events = 8};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct feed *feed = feed_new(&few);
    struct event_log *l;

    (void)state;
    make_folder();
    for (int i = 0; i < 20; i++)
        emit(feed, EVENT_TURN_STARTED);
    l = start(feed, EVENT_LOG_MAX);
    event_log_stop(l);
    read_log("events.jsonl", &text);
    assert_non_null(strstr(buf_cstr(&text), "\"seq\":1,\"event\":\"missing\",\"to\":12}\n"));
    assert_int_equal(assert_lines("events.jsonl"), 9);
    feed_unref(feed);
    remove_folder();
}

static void no_secrets(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct feed *feed = feed_new(NULL);
    struct event_log *l;
    struct event *e;

    (void)state;
    secret_add(STR("sk-very-secret-key"));
    make_folder();
    l = start(feed, EVENT_LOG_MAX);
    e = make(EVENT_TURN_STARTED);
    e->model = STR("sk-very-secret-key");
    feed_emit(feed, e, NULL);
    event_log_stop(l);
    read_log("events.jsonl", &text);
    assert_true(text.len > 0);
    assert_null(strstr(buf_cstr(&text), "secret-key"));
    feed_unref(feed);
    remove_folder();
}

UNIT_TEST(event_log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_all_kinds),  cmocka_unit_test(goals_without_words),
        cmocka_unit_test(steps_have_a_length), cmocka_unit_test(nothing_before_a_turn),
        cmocka_unit_test(old_lines_go),        cmocka_unit_test(torn_tail),
        cmocka_unit_test(cannot_be_written),   cmocka_unit_test(late_start),
        cmocka_unit_test(no_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
