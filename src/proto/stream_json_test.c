/*
 * Events and the lines they make, row by row. What every line ends with (session and uuid) is
 * checked once and left out of the rows.
 */
#include "llm/rate.h"
#include "proto/stream_json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/secret.h"
#include "json/json.h"
#include "proto/stream_line.h"
#include "unit.h"

#define UUID "00000000-1111-4222-8333-444444444444"
#define USAGE0                                                                                     \
    "{\"input_tokens\":7,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"         \
    "\"output_tokens\":0,\"server_tool_use\":{\"web_search_requests\":0},\"service_tier\":"        \
    "\"standard\",\"cache_creation\":{\"ephemeral_1h_input_tokens\":0,"                            \
    "\"ephemeral_5m_input_tokens\":0}}"
#define MESSAGE(content)                                                                           \
    "\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","   \
    "\"content\":[" content "],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":" USAGE0 "}"
#define PARENT ",\"parent_tool_use_id\":null"
#define WHEN ",\"timestamp\":\"1970-01-01T00:00:01.000Z\""
#define END ",\"session_id\":\"s\",\"uuid\":\"*\"}\n"
#define BEGUN(event) "{\"type\":\"stream_event\",\"event\":" event PARENT END
#define SAID(event)                                                                                \
    "{\"type\":\"stream_event\",\"event\":" event PARENT ",\"api_message_id\":\"msg_1\"" END

static const char *const commands[] = {"compact", "goal", NULL};
static const struct stream_json_session session = {
    .key_source = "none",
    .commands = commands,
};

struct told {
    struct stream_json r;
    struct buf out;
};

static void told_init(struct told *t, struct stream_json_options options)
{
    stream_json_init(&t->r, &options, &session);
    t->out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
}

static void told_release(struct told *t)
{
    stream_json_release(&t->r);
    buf_release(&t->out);
}

static struct event *make(enum event_kind kind)
{
    struct event *e = event_new(kind);

    e->by.session = "s";
    e->by.agent = "main";
    e->time_ms = 1000;
    memcpy(e->uuid, UUID, sizeof(e->uuid));
    return e;
}

static void tell(struct told *t, struct event *e)
{
    stream_json_event(&t->r, e, &t->out);
    event_unref(e);
}

/* Each line is JSON and has a unique uuid, which the comparison leaves out. */
static void strip_uuids(struct buf *lines)
{
    struct str rest = buf_str(lines);
    CLEANUP(buf_release) struct buf plain = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf seen = BUF_INIT(BUF_NO_LIMIT);
    struct str line;

    while (str_cut(&rest, '\n', &line) && line.len) {
        struct arena arena = ARENA_INIT;
        const struct json *v = NULL;
        size_t at = str_find(line, STR("\"uuid\":\""));
        struct str uuid;

        assert_int_equal(json_parse(&arena, line, &v, NULL, NULL), 0);
        uuid = json_get_str(v, "uuid");
        assert_int_equal(uuid.len, ID_UUID_LEN);
        assert_true(str_is(json_get_str(v, "session_id"), "s"));
        assert_false(str_has(buf_str(&seen), uuid));
        buf_add(&seen, uuid);
        buf_add(&plain, str_first(line, at));
        buf_adds(&plain, "\"uuid\":\"*\"}\n");
        arena_release(&arena);
    }
    buf_move(lines, &plain);
    buf_init(&plain, 0);
}

static void assert_told(struct told *t, const char *want)
{
    strip_uuids(&t->out);
    assert_string_equal(buf_cstr(&t->out), want);
    buf_clear(&t->out);
}

static void begin_step(struct told *t)
{
    struct event *e = make(EVENT_STEP_STARTED);

    e->message_id = STR("msg_1");
    e->model = STR("m");
    e->usage.input = 7;
    tell(t, e);
}

/* Gives the block, which lives while it is held. */
static struct event *block(struct told *t, enum block_kind kind, const char *deltas[],
                           const char *json)
{
    struct event *e = make(EVENT_BLOCK_STARTED);

    e->block = kind;
    e->id = STR("toolu_1");
    e->name = STR("Bash");
    tell(t, e);
    for (; deltas && *deltas; deltas++) {
        e = make(EVENT_BLOCK_DELTA);
        e->uuid[30] = 'd';
        e->text = str_of(*deltas);
        e->uuid[31] = (*deltas)[0];
        tell(t, e);
    }
    e = make(EVENT_BLOCK_DONE);
    e->uuid[30] = 'b';
    e->block = kind;
    e->json = str_of(json);
    tell(t, e);
    return e;
}

static void end_step(struct told *t)
{
    struct event *e = make(EVENT_STEP_DONE);

    e->uuid[30] = 'e';
    e->stop = STOP_END_TURN;
    e->usage.input = 7;
    e->request_id = STR("req_1");
    tell(t, e);
}

#define TEXT_JSON "{\"type\":\"text\",\"text\":\"hi\"}"
#define CALL_JSON                                                                                  \
    "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}"
#define CALL_OURS                                                                                  \
    "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"},"  \
    "\"provider_data\":{\"provider\":\"p\"},\"input_text\":\" {}\"}"

/* Without partial messages: nothing until the step holds, then a line per block, without the keys
 * that are only ours. */
static void test_blocks_are_held(void **state)
{
    struct event *second_block;
    struct told t;

    (void)state;
    told_init(&t, (struct stream_json_options){0});
    begin_step(&t);
    block(&t, BLOCK_TEXT, (const char *[]){"hi", NULL}, TEXT_JSON);
    second_block = block(&t, BLOCK_TOOL_USE, NULL, CALL_OURS);
    assert_told(&t, "");
    second_block->uuid[31] = '2';
    end_step(&t);
    assert_told(&t, "{\"type\":\"assistant\"," MESSAGE(TEXT_JSON) PARENT
                ",\"request_id\":\"req_1\"" WHEN END "{\"type\":\"assistant\"," MESSAGE(CALL_JSON)
                    PARENT ",\"request_id\":\"req_1\"" WHEN END);

    begin_step(&t);
    block(&t, BLOCK_TEXT, NULL, TEXT_JSON);
    tell(&t, make(EVENT_STEP_VOID));
    end_step(&t);
    assert_told(&t, ""); /* a void step leaves no trace */

    begin_step(&t);
    block(&t, BLOCK_TOOL_USE, NULL, CALL_OURS);
    second_block = block(&t, BLOCK_TEXT, NULL, TEXT_JSON);
    second_block->aborted = true;
    tell(&t, make(EVENT_STEP_CUT));
    assert_told(&t, "{\"type\":\"assistant\"," MESSAGE(TEXT_JSON) PARENT
                ",\"aborted\":true" WHEN END); /* of one that was cut the text stays */
    told_release(&t);
}

static void tell_child(struct told *t, struct event *e)
{
    e->by.agent = "a1";
    e->by.type = "Explore";
    e->by.parent = "toolu_9";
    tell(t, e);
}

/* The lines of a child say whose they are, and never begin or end a turn of the session. */
static void test_children_have_a_parent(void **state)
{
    struct turn_report report = {.end = END_COMPLETED};
    struct event *e;
    struct told t;

    (void)state;
    told_init(&t, (struct stream_json_options){0});
    begin_step(&t);
    tell_child(&t, make(EVENT_TURN_STARTED));
    e = make(EVENT_STEP_STARTED);
    e->message_id = STR("msg_child");
    tell_child(&t, e);
    block(&t, BLOCK_TEXT, NULL, TEXT_JSON);
    e = make(EVENT_BLOCK_DONE);
    e->uuid[30] = 'c';
    e->block = BLOCK_TEXT;
    e->json = STR(TEXT_JSON);
    tell_child(&t, e);
    assert_told(&t, "");
    tell_child(&t, make(EVENT_STEP_DONE));
    assert_non_null(strstr(buf_cstr(&t.out), "\"id\":\"msg_child\""));
    assert_non_null(strstr(buf_cstr(&t.out), "\"parent_tool_use_id\":\"toolu_9\""));
    buf_clear(&t.out);
    e = make(EVENT_TURN_DONE);
    e->report = &report;
    tell_child(&t, e);
    assert_told(&t, "");
    end_step(&t); /* of the main agent: its blocks were kept apart */
    assert_told(&t, "{\"type\":\"assistant\"," MESSAGE(TEXT_JSON) PARENT
                ",\"request_id\":\"req_1\"" WHEN END);
    told_release(&t);
}

static void test_partial_messages(void **state)
{
    struct told t;

    (void)state;
    told_init(&t, (struct stream_json_options){.partial = true});
    begin_step(&t);
    assert_told(&t, BEGUN("{\"type\":\"message_start\"," MESSAGE("") "}"));
    block(&t, BLOCK_TEXT, (const char *[]){"h", "i", NULL}, TEXT_JSON);
    assert_told(
        &t,
        SAID("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
             "\"text\":\"\"}}")
            SAID("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                 "\"text_delta\",\"text\":\"h\"}}")
                SAID(
                    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                    "\"text_delta\",\"text\":\"i\"}}") "{\"type\":\"assistant\"," MESSAGE(TEXT_JSON)
                    PARENT WHEN END SAID("{\"type\":\"content_block_stop\",\"index\":0}"));
    block(&t, BLOCK_THINKING, (const char *[]){"hm", NULL},
          "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"}");
    assert_told(
        &t, SAID("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
                 "\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}")
                SAID("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                     "\"thinking_delta\",\"thinking\":\"hm\"}}")
                    SAID("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                         "\"signature_delta\",\"signature\":\"sig\"}}") "{\"type\":"
                                                                        "\"assistant\""
                                                                        "," MESSAGE("{\"type\":"
                                                                                    "\"thinking"
                                                                                    "\","
                                                                                    "\"thinking"
                                                                                    "\":\"hm\","
                                                                                    "\"signatur"
                                                                                    "e\":"
                                                                                    "\"sig\"}")
                                                                            PARENT WHEN END SAID(
                                                                                "{\"type\""
                                                                                ":\"conten"
                                                                                "t_block_"
                                                                                "stop\","
                                                                                "\"index\""
                                                                                ":0}"));
    block(&t, BLOCK_TOOL_USE, (const char *[]){"{}", NULL}, CALL_JSON);
    assert_told(&t,
                SAID("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
                     "\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}")
                    SAID("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                         "\"input_json_delta\",\"partial_json\":\"{}\"}}") "{\"type\":"
                                                                           "\"assistant\""
                                                                           "," MESSAGE(CALL_JSON)
                                                                               PARENT WHEN END SAID(
                                                                                   "{\"type"
                                                                                   "\":"
                                                                                   "\"conten"
                                                                                   "t_block_"
                                                                                   "stop\","
                                                                                   "\"index"
                                                                                   "\":0}"));
    block(&t, BLOCK_REDACTED_THINKING, NULL, "{\"type\":\"redacted_thinking\",\"data\":\"x\"}");
    assert_told(
        &t,
        SAID(
            "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
            "\"redacted_thinking\",\"data\":\"x\"}}") "{\"type\":\"assistant\"," MESSAGE("{\"type\""
                                                                                         ":\"redact"
                                                                                         "ed_"
                                                                                         "thinking"
                                                                                         "\","
                                                                                         "\"data\":"
                                                                                         "\"x\"}")
            PARENT WHEN END SAID("{\"type\":\"content_block_stop\",\"index\":0}"));
    end_step(&t);
    assert_told(&t, SAID("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
                         "\"stop_sequence\":null},\"usage\":" USAGE0 "}")
                        SAID("{\"type\":\"message_stop\"}"));
    told_release(&t);
}

/* One event, one line. */
static const struct row {
    const char *name;
    struct stream_json_options options;
    struct event event;
    const char *want;
} rows[] = {
    {"init",
     {0},
     {.kind = EVENT_TURN_STARTED,
      .model = STR_INIT("m"),
      .mode = "plan",
      .text = STR_INIT("/w"),
      .json = STR_INIT("[\"Bash\"]")},
     "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/w\",\"tools\":[\"Bash\"],"
     "\"additional_directories\":[],\"mcp_servers\":[],\"model\":\"m\",\"permissionMode\":\"plan\","
     "\"slash_commands\":["
     "\"compact\",\"goal\"],"
     "\"apiKeySource\":\"none\",\"claude_code_version\":\"" TENAX_VERSION
     "\",\"output_style\":\"default\",\"view_mode\":\"default\",\"agents\":[],\"skills\":[],"
     "\"plugins\":[],"
     "\"capabilities\":[\"interrupt_receipt_v1\",\"interrupt_cancel_queued_v1\"]" END},
    {"result of a tool",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .text = STR_INIT("out"),
      .data = STR_INIT("{\"stdout\":\"out\"}"),
      .json = STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"name\":\"Bash\","
                       "\"content\":\"out\"}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"content\":\"out\",\"is_error\":false}]}" PARENT
     ",\"tool_use_result\":{\"stdout\":\"out\"}" WHEN END},
    {"a command's output has no line break at its end",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .text = STR_INIT("out\n"),
      .json =
          STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"a\\nout\\n\"}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"content\":\"a\\nout\",\"is_error\":false}]}" PARENT
     ",\"tool_use_result\":\"out\\n\"" WHEN END},
    {"a call that nobody was asked about",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .id = STR_INIT("t"),
      .name = STR_INIT("Bash"),
      .text = STR_INIT("no"),
      .show = STR_INIT("a rule"),
      .denied_by = "rule",
      .is_error = true,
      .json = STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"is_error\":true}")},
     "{\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Bash\",\"tool_use_"
     "id\":"
     "\"t\",\"decision_reason_type\":\"rule\",\"decision_reason\":\"a rule\",\"message\":\"no\"" END
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"is_error\":true}]}" PARENT
     ",\"tool_use_result\":\"Error: no\"" WHEN END},
    {"a call that the user refused",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .id = STR_INIT("t"),
      .text = STR_INIT("no"),
      .decider = "user_reject",
      .error = ERR_DENIED,
      .is_error = true,
      .json = STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"is_error\":true}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"is_error\":true}]}" PARENT ",\"tool_use_result\":\"Error: no\"" WHEN
     ",\"tool_result_meta\":[{\"id\":\"t\",\"non_execution_kind\":\"user-rejected\","
     "\"permission_decision\":{\"decision\":\"reject\",\"source\":\"user_reject\"}}]" END},
    {"a call that a rule allowed",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .id = STR_INIT("t"),
      .decider = "config",
      .decided_by = "rule",
      .json = STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"is_error\":false}]}" PARENT ",\"tool_use_result\":\"\"" WHEN
     ",\"tool_result_meta\":[{\"id\":\"t\",\"permission_decision\":{\"decision\":\"accept\","
     "\"source\":\"config\",\"reason_type\":\"rule\"}}]" END},
    {"a request goes out",
     {.partial = true},
     {.kind = EVENT_REQUESTING},
     "{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"requesting\"" END},
    {"a request goes out, not asked for", {0}, {.kind = EVENT_REQUESTING}, ""},
    {"another model answers",
     {0},
     {.kind = EVENT_NOTICE,
      .level = LEVEL_WARNING,
      .name = STR_INIT("model_fallback"),
      .text = STR_INIT("a is overloaded; continuing with b"),
      .data = STR_INIT("a"),
      .model = STR_INIT("b")},
     "{\"type\":\"system\",\"subtype\":\"model_fallback\",\"trigger\":\"overloaded\",\"original_"
     "model\":"
     "\"a\",\"fallback_model\":\"b\",\"content\":\"a is overloaded; continuing with b\"" END},
    {"a message begins, for a host that follows states",
     {.states = true},
     {.kind = EVENT_USER,
      .user = USER_INPUT,
      .is_named = true,
      .id = STR_INIT("u"),
      .json = STR_INIT("{}")},
     "{\"type\":\"command_lifecycle\",\"command_uuid\":\"u\",\"state\":\"started\"" END},
    {"progress of a call that just began",
     {0},
     {.kind = EVENT_TOOL_PROGRESS,
      .id = STR_INIT("t"),
      .name = STR_INIT("Bash"),
      .duration_ms = 999},
     ""},
    {"failure of a tool",
     {0},
     {.kind = EVENT_TOOL_DONE,
      .text = STR_INIT("no"),
      .is_error = true,
      .json = STR_INIT("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"is_error\":true}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"is_error\":true}]}" PARENT
     ",\"tool_use_result\":\"Error: no\"" WHEN END},
    {"input, not asked for", {0}, {.kind = EVENT_USER, .json = STR_INIT("{}")}, ""},
    {"input, replayed",
     {.replay = true},
     {.kind = EVENT_USER,
      .json = STR_INIT("{\"role\":\"user\",\"content\":\"x\"}"),
      .id = STR_INIT("99999999-1111-4222-8333-444444444444")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"}" PARENT
     ",\"isReplay\":true" WHEN END},
    {"marker",
     {0},
     {.kind = EVENT_USER, .user = USER_MARKER, .json = STR_INIT("{\"role\":\"user\"}")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\"}" PARENT WHEN END},
    {"feedback",
     {0},
     {.kind = EVENT_USER,
      .user = USER_ADDED,
      .json = STR_INIT("{\"role\":\"user\"}"),
      .text = STR_INIT("go on")},
     "{\"type\":\"user\",\"message\":{\"role\":\"user\"}" PARENT ",\"isSynthetic\":true" WHEN END},
    {"reminder",
     {0},
     {.kind = EVENT_USER,
      .user = USER_ADDED,
      .json = STR_INIT("{}"),
      .text = STR_INIT("\n<system-reminder>x")},
     ""},
    {"retry",
     {0},
     {.kind = EVENT_RETRY,
      .attempt = 2,
      .max_tries = 11,
      .delay_ms = 500,
      .status = 529,
      .error = ERR_RETRY_LATER,
      .is_overloaded = true,
      .text = STR_INIT("busy")},
     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,"
     "\"retry_delay_ms\":500,\"error_status\":529,\"error\":\"overloaded\",\"message\":"
     "\"busy\"" END},
    {"retry without an answer",
     {0},
     {.kind = EVENT_RETRY, .attempt = 3, .max_tries = 11, .error = ERR_NETWORK},
     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":2,\"max_retries\":10,"
     "\"retry_delay_ms\":0,\"error_status\":null,\"error\":\"server_error\",\"message\":\"\"" END},
    {"state, not asked for", {0}, {.kind = EVENT_STATE, .state = STATE_RUNNING}, ""},
    {"state",
     {.states = true},
     {.kind = EVENT_STATE, .state = STATE_REQUIRES_ACTION},
     "{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"requires_action\","
     "\"sdk_host_only\":true" END},
    {"mode",
     {0},
     {.kind = EVENT_MODE, .mode = "acceptEdits"},
     "{\"type\":\"system\",\"subtype\":\"status\",\"status\":null,\"permissionMode\":"
     "\"acceptEdits\"" END},
    {"hook, not asked for",
     {0},
     {.kind = EVENT_HANDLER_STARTED, .text = STR_INIT("PreToolUse")},
     ""},
    {"hook",
     {.hooks = true},
     {.kind = EVENT_HANDLER_STARTED,
      .id = STR_INIT("h"),
      .name = STR_INIT("PreToolUse:Bash"),
      .text = STR_INIT("PreToolUse")},
     "{\"type\":\"system\",\"subtype\":\"hook_started\",\"hook_id\":\"h\",\"hook_name\":"
     "\"PreToolUse:Bash\",\"hook_event\":\"PreToolUse\"" END},
    {"hook that takes long",
     {.hooks = true},
     {.kind = EVENT_HANDLER_PROGRESS,
      .id = STR_INIT("h"),
      .name = STR_INIT("Stop"),
      .text = STR_INIT("Stop"),
      .json = STR_INIT("1 of 3\n")},
     "{\"type\":\"system\",\"subtype\":\"hook_progress\",\"hook_id\":\"h\",\"hook_name\":"
     "\"Stop\",\"hook_event\":\"Stop\",\"output\":\"1 of 3\\n\",\"stdout\":\"1 of 3\\n\","
     "\"stderr\":\"\"" END},
    {"all handlers of an event",
     {.hooks = true},
     {.kind = EVENT_HOOK_DONE, .text = STR_INIT("SessionStart")},
     ""},
    {"hook of the session's start, always",
     {0},
     {.kind = EVENT_HANDLER_DONE,
      .id = STR_INIT("h"),
      .name = STR_INIT("SessionStart:startup"),
      .text = STR_INIT("SessionStart"),
      .is_error = true,
      .data = STR_INIT("late")},
     "{\"type\":\"system\",\"subtype\":\"hook_response\",\"hook_id\":\"h\",\"hook_name\":"
     "\"SessionStart:startup\",\"hook_event\":\"SessionStart\",\"output\":\"late\",\"stdout\":"
     "\"\",\"stderr\":\"late\",\"outcome\":\"error\"" END},
    {"hook that an interrupt ended",
     {.hooks = true},
     {.kind = EVENT_HANDLER_DONE,
      .id = STR_INIT("h"),
      .name = STR_INIT("Stop"),
      .text = STR_INIT("Stop"),
      .is_error = true,
      .error = ERR_CANCELLED,
      .data = STR_INIT("interrupted")},
     "{\"type\":\"system\",\"subtype\":\"hook_response\",\"hook_id\":\"h\",\"hook_name\":"
     "\"Stop\",\"hook_event\":\"Stop\",\"output\":\"interrupted\",\"stdout\":\"\",\"stderr\":"
     "\"interrupted\",\"outcome\":\"cancelled\"" END},
    {"background command",
     {0},
     {.kind = EVENT_TASK_DONE,
      .id = STR_INIT("b1"),
      .tool_id = STR_INIT("t"),
      .name = STR_INIT("killed"),
      .data = STR_INIT("/o"),
      .text = STR_INIT("make")},
     "{\"type\":\"system\",\"subtype\":\"task_notification\",\"task_id\":\"b1\",\"tool_use_id\":"
     "\"t\",\"status\":\"stopped\",\"output_file\":\"/o\",\"summary\":\"make\"" END},
    {"notice",
     {0},
     {.kind = EVENT_NOTICE, .level = LEVEL_WARNING, .text = STR_INIT("key hush-hush-hush")},
     "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"key [hidden]\",\"level\":"
     "\"warning\"" END},
    {"goal",
     {0},
     {.kind = EVENT_GOAL,
      .name = STR_INIT("goal_verdict"),
      .json = STR_INIT("{\"met\":false,\"type\":\"x\",\"reason\":\"2 \\\"fail\\\"\","
                       "\"uuid\":1,\"checks\":[{\"passed\":false}]}")},
     "{\"type\":\"system\",\"subtype\":\"goal_verdict\",\"met\":false,\"reason\":\"2 "
     "\\\"fail\\\"\",\"checks\":[{\"passed\":false}]" END},
    {"goal without more",
     {0},
     {.kind = EVENT_GOAL, .name = STR_INIT("goal_cleared"), .json = STR_INIT("no json")},
     "{\"type\":\"system\",\"subtype\":\"goal_cleared\"" END},
    {"active goal",
     {0},
     {.kind = EVENT_ACTIVE_GOAL,
      .json =
          STR_INIT("{\"condition\":\"c\",\"iterations\":2,\"set_at\":1,\"tokens_at_start\":0}")},
     "{\"type\":\"active_goal\",\"value\":{\"condition\":\"c\",\"iterations\":2,\"set_at\":1,"
     "\"tokens_at_start\":0}" END},
    {"no active goal",
     {0},
     {.kind = EVENT_ACTIVE_GOAL, .json = STR_INIT("null")},
     "{\"type\":\"active_goal\",\"value\":null" END},
    {"command",
     {0},
     {.kind = EVENT_COMMAND, .name = STR_INIT("goal"), .text = STR_INIT("No goal.\n<b>")},
     "{\"type\":\"system\",\"subtype\":\"local_command_output\",\"content\":\"No "
     "goal.\\n<b>\"" END},
    {"compacting",
     {0},
     {.kind = EVENT_COMPACTING, .name = STR_INIT("auto"), .pre_tokens = 9},
     "{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"compacting\"" END},
    {"compacted",
     {0},
     {.kind = EVENT_COMPACTED,
      .name = STR_INIT("manual"),
      .text = STR_INIT("Compacted."),
      .pre_tokens = 90,
      .post_tokens = 9,
      .duration_ms = 5},
     "{\"type\":\"system\",\"subtype\":\"status\",\"status\":null,\"compact_result\":"
     "\"success\"" END
     "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"compact_metadata\":{\"trigger\":"
     "\"manual\",\"pre_tokens\":90,\"post_tokens\":9,\"duration_ms\":5}" END},
    {"not compacted",
     {0},
     {.kind = EVENT_COMPACTED,
      .name = STR_INIT("auto"),
      .text = STR_INIT("no room"),
      .is_error = true},
     "{\"type\":\"system\",\"subtype\":\"status\",\"status\":null,\"compact_result\":"
     "\"failed\",\"compact_error\":\"no room\"" END},
    {"progress",
     {0},
     {.kind = EVENT_TOOL_PROGRESS,
      .id = STR_INIT("t"),
      .name = STR_INIT("Bash"),
      .duration_ms = 1500},
     "{\"type\":\"tool_progress\",\"tool_use_id\":\"t\",\"tool_name\":\"Bash\"" PARENT
     ",\"elapsed_time_seconds\":1.5" END},
    {"the end of a call whose result comes later",
     {0},
     {.kind = EVENT_TOOL_PROGRESS,
      .id = STR_INIT("t"),
      .name = STR_INIT("Read"),
      .duration_ms = 1500,
      .ended = true},
     ""},
};

static void test_rows(void **state)
{
    (void)state;
    secret_add(STR("hush-hush-hush"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct event *e = make(rows[i].event.kind);
        struct event made = rows[i].event;
        struct told t;

        made.by = e->by;
        made.time_ms = e->time_ms;
        memcpy(made.uuid, e->uuid, sizeof(made.uuid));
        told_init(&t, rows[i].options);
        stream_json_event(&t.r, &made, &t.out);
        strip_uuids(&t.out);
        if (!str_is(buf_str(&t.out), rows[i].want))
            fail_msg("%s:\n%s\ninstead of\n%s", rows[i].name, buf_cstr(&t.out), rows[i].want);
        if (made.kind == EVENT_TOOL_PROGRESS) { /* once a second */
            buf_clear(&t.out);
            stream_json_event(&t.r, &made, &t.out);
            assert_int_equal(t.out.len, 0);
        }
        told_release(&t);
        event_unref(e);
    }
}

#define NO_USAGE                                                                                   \
    "{\"input_tokens\":0,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"         \
    "\"output_tokens\":0,\"server_tool_use\":{\"web_search_requests\":0},\"service_tier\":"        \
    "\"standard\",\"cache_creation\":{\"ephemeral_1h_input_tokens\":0,"                            \
    "\"ephemeral_5m_input_tokens\":0}}"
#define FIGURES(stop, end)                                                                         \
    "\"stop_reason\":" stop ",\"total_cost_usd\":0.5,\"usage\":" NO_USAGE                          \
    ",\"modelUsage\":{\"m\":"                                                                      \
    "{\"inputTokens\":3,\"outputTokens\":0,\"cacheReadInputTokens\":0,"                            \
    "\"cacheCreationInputTokens\":0,\"webSearchRequests\":0,\"costUSD\":0,\"costUnknown\":true,"   \
    "\"contextWindow\":100,\"maxOutputTokens\":10,\"canonicalModel\":\"m\"}},\"permission_"        \
    "denials\":[]" end
#define NO_STATUS "\"api_error_status\":null,"
#define LAST(queued) ",\"queued_turn_count\":" queued ",\"result_index\":0"
#define TIMES "\"duration_ms\":5,\"duration_api_ms\":4,\"num_turns\":2,"

static const struct result_row {
    struct turn_report report;
    const char *want;
} results[] = {
    {{.end = END_COMPLETED, .result = STR_INIT("ok"), .stop = STOP_END_TURN},
     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false," NO_STATUS TIMES
     "\"result\":\"ok\"," FIGURES("\"end_turn\"", ",\"terminal_reason\":\"completed\"" LAST("0"))
         END},
    {{.end = END_COMPLETED, .structured = STR_INIT("{\"n\":1}"), .queued = 2},
     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false," NO_STATUS TIMES
     "\"result\":\"{\\\"n\\\":1}\"," FIGURES("null",
                                             ",\"structured_output\":{\"n\":1},\"terminal_reason\":"
                                             "\"completed\"" LAST("2")) END},
    {{.end = END_MAX_TURNS, .is_error = true, .error = STR_INIT("too many"), .stop = STOP_TOOL_USE},
     "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true," NO_STATUS TIMES
         FIGURES("\"tool_use\"",
                 ",\"terminal_reason\":\"max_turns\"" LAST("0") ",\"errors\":[\"too many\"]") END},
    /* A hook's reason is not lost because the end is no error. */
    {{.end = END_HOOK_STOPPED, .error = STR_INIT("enough")},
     "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"enough\",\"level\":"
     "\"warning\"" END
     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false," NO_STATUS TIMES
     "\"result\":\"\"," FIGURES("null", ",\"terminal_reason\":\"hook_stopped\"" LAST("0")) END},
    {{.end = END_ABORTED_TOOLS, .is_error = true},
     "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true," NO_STATUS
         TIMES FIGURES("null", ",\"terminal_reason\":\"aborted_tools\"" LAST("0") ",\"errors\":[]")
             END},
    {{.end = END_API_ERROR,
      .is_error = true,
      .result = STR_INIT("no key"),
      .error = STR_INIT("no key"),
      .category = STR_INIT("authentication_failed"),
      .api_status = 401},
     "{\"type\":\"assistant\",\"message\":{\"id\":\"" UUID "\",\"type\":\"message\",\"role\":"
     "\"assistant\",\"model\":\"<synthetic>\",\"content\":[{\"type\":\"text\",\"text\":\"API "
     "Error: 401 no "
     "key\"}],\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"\",\"usage\":" NO_USAGE
     "}" PARENT ",\"error\":\"authentication_failed\"" END
     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":"
     "401," TIMES "\"result\":\"API Error: 401 no key\"," FIGURES(
         "null", ",\"terminal_reason\":\"api_error\"" LAST("0")) END},
};

#define THOUGHT(all, more)                                                                         \
    "{\"type\":\"system\",\"subtype\":\"thinking_tokens\",\"estimated_tokens\":" all               \
    ",\"estimated_tokens_delta\":" more END

/* What a server says of limits, once a step is done; and how far thinking has come. */
static void test_limits_and_thoughts(void **state)
{
    static const struct llm_rate rate = {.known = true,
                                         .five_hour = {true, 0.5, 1700000000},
                                         .status = "allowed_warning",
                                         .claim = "five_hour"};
    static char thought[300];
    struct event *e;
    struct told t;

    (void)state;
    told_init(&t, (struct stream_json_options){0});
    e = make(EVENT_STEP_DONE);
    e->rate = &rate;
    tell(&t, e);
    assert_told(
        &t, "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed_warning\","
            "\"resetsAt\":1700000000,\"rateLimitType\":\"five_hour\",\"utilization\":0.5}" END);
    begin_step(&t);
    e = make(EVENT_BLOCK_STARTED);
    e->block = BLOCK_THINKING;
    tell(&t, e);
    memset(thought, 'x', sizeof(thought) - 1);
    for (int i = 0; i < 2; i++) {
        e = make(EVENT_BLOCK_DELTA);
        e->block = BLOCK_THINKING;
        e->text = str_of(thought);
        tell(&t, e);
        assert_told(&t, i ? THOUGHT("149", "75") : THOUGHT("74", "74"));
    }
    told_release(&t);
}

static void test_results(void **state)
{
    static const struct model_spent spent = {
        .model = STR_INIT("m"), .usage = {.input = 3}, .usd = NAN, .window = 100, .max_output = 10};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        struct event *e = make(EVENT_TURN_DONE);
        struct turn_report report = results[i].report;
        struct told t;

        report.duration_ms = 5;
        report.duration_api_ms = 4;
        report.steps = 2;
        report.total_usd = 0.5;
        report.models = &spent;
        report.model_count = 1;
        e->report = &report;
        told_init(&t, (struct stream_json_options){0});
        tell(&t, e);
        strip_uuids(&t.out);
        if (!str_is(buf_str(&t.out), results[i].want))
            fail_msg("row %zu:\n%s\ninstead of\n%s", i, buf_cstr(&t.out), results[i].want);
        told_release(&t);
    }
}

/* NULL: nothing is to be done. */
static const char *const break_rows[][2] = {
    {"", NULL},
    {"\xe2\x80", NULL},
    {"\xe2\x80\x9cquoted\xe2\x80\x9d \xe2\x82\xac", NULL},
    {"\xe2\x80\xa8", "\\u2028"},
    {"a\xe2\x80\xa8\xe2\x80\xa9z", "a\\u2028\\u2029z"},
    {"\xe2\x80\x9c\xe2\x80\xa9\n\xe2\x80\xa8\n", "\xe2\x80\x9c\\u2029\n\\u2028\n"},
};

static void test_breaks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(break_rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        bool any = line_escape_breaks(str_of(break_rows[i][0]), &got);

        if (any != !!break_rows[i][1] || (any && strcmp(buf_cstr(&got), break_rows[i][1]) != 0))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
}

UNIT_TEST(stream_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_blocks_are_held),
        cmocka_unit_test(test_children_have_a_parent),
        cmocka_unit_test(test_partial_messages),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_limits_and_thoughts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
