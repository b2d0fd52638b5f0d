/*
 * items: one event after the other becomes part of a turn.
 */
#include "proto/codex/items.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"

static void item_free(struct codex_item *it)
{
    buf_release(&it->id);
    buf_release(&it->name);
    buf_release(&it->input);
    buf_release(&it->text);
    buf_release(&it->data);
    mem_freep(&it);
}

static void turn_free(struct codex_turn *t)
{
    VEC_EACH(&t->items, it) {
        item_free(*it);
    }
    vec_release(&t->items);
    buf_release(&t->id);
    buf_release(&t->error);
    buf_release(&t->category);
    mem_freep(&t);
}

void items_release(struct items *s)
{
    VEC_EACH(&s->turns, t) {
        turn_free(*t);
    }
    vec_release(&s->turns);
    buf_release(&s->message);
    buf_release(&s->answer);
}

struct codex_turn *items_running(const struct items *s)
{
    struct codex_turn *t = s->turns.len ? s->turns.ptr[s->turns.len - 1] : NULL;

    return t && t->status == TURN_RUNNING ? t : NULL;
}

/* ---- Items ---- */

static enum item_kind kind_of(struct str tool)
{
    if (str_is(tool, "Bash"))
        return ITEM_COMMAND;
    if (str_is_word_of(tool, "Edit MultiEdit Write NotebookEdit"))
        return ITEM_FILES;
    if (str_starts(tool, STR("mcp__")))
        return ITEM_MCP;
    return str_is(tool, "WebSearch") ? ITEM_SEARCH : ITEM_TOOL;
}

static struct codex_item *find_item(const struct codex_turn *t, struct str id)
{
    for (size_t i = t ? t->items.len : 0; i > 0; i--) {
        if (id.len && str_eq(id, buf_str(&t->items.ptr[i - 1]->id)))
            return t->items.ptr[i - 1];
    }
    return NULL;
}

static struct codex_item *begin_item(struct items *s, struct codex_turn *t, enum item_kind kind,
                                     struct str id, int64_t now_ms)
{
    struct codex_item *it = mem_zalloc(sizeof(*it));

    it->kind = kind;
    it->started_ms = now_ms;
    buf_init(&it->id, 4096);
    buf_init(&it->name, 4096);
    buf_init(&it->input, ITEM_MAX_TEXT);
    buf_init(&it->text, ITEM_MAX_TEXT);
    buf_init(&it->data, ITEM_MAX_TEXT);
    buf_add(&it->id, id);
    vec_push(&t->items, it);
    (void)s;
    return it;
}

static void say_started(struct items *s, struct codex_turn *t, struct codex_item *it)
{
    if (s->item_started)
        s->item_started(s->arg, t, it);
}

static void end_item(struct items *s, struct codex_turn *t, struct codex_item *it,
                     enum item_status status, int64_t now_ms)
{
    if (it->status != ITEM_RUNNING)
        return;
    it->status = status;
    it->completed_ms = now_ms;
    if (!it->duration_ms)
        it->duration_ms = now_ms - it->started_ms;
    if (s->item_completed)
        s->item_completed(s->arg, t, it);
}

/* One that is whole at once. */
static void whole_item(struct items *s, struct codex_turn *t, enum item_kind kind,
                       const struct event *e, struct str text)
{
    struct codex_item *it = begin_item(s, t, kind, e->id.len ? e->id : str_of(e->uuid), e->time_ms);

    buf_add(&it->text, text);
    buf_add(&it->input, e->json);
    say_started(s, t, it);
    end_item(s, t, it, ITEM_COMPLETED, e->time_ms);
}

/* ---- Turns ---- */

static struct codex_turn *begin_turn(struct items *s, struct str id, int64_t now_ms)
{
    struct codex_turn *t = items_running(s);

    if (t) /* the next round of the same */
        return t;
    t = mem_zalloc(sizeof(*t));
    buf_init(&t->id, 4096);
    buf_init(&t->error, ITEM_MAX_TEXT);
    buf_init(&t->category, 4096);
    buf_add(&t->id, id);
    t->started_ms = now_ms;
    vec_push(&s->turns, t);
    if (s->turn_started)
        s->turn_started(s->arg, t);
    return t;
}

static void end_turn(struct items *s, const struct event *e)
{
    const struct turn_report *r = e->report;
    struct codex_turn *t = items_running(s);

    if (!t || (s->is_over && !s->is_over(s->arg, e)))
        return;
    for (size_t i = 0; i < t->items.len; i++)
        end_item(s, t, t->items.ptr[i], ITEM_FAILED, e->time_ms);
    t->status = TURN_COMPLETED;
    t->completed_ms = e->time_ms;
    t->duration_ms = r && r->duration_ms ? r->duration_ms : e->time_ms - t->started_ms;
    if (r && (r->end == END_ABORTED_STREAMING || r->end == END_ABORTED_TOOLS)) {
        t->status = TURN_INTERRUPTED;
    } else if (r && r->is_error && !r->goal.subtype) {
        t->status = TURN_FAILED;
        buf_add(&t->error, r->error.len ? r->error : r->result);
        buf_add(&t->category, r->category.len ? r->category : str_of(turn_end_name(r->end)));
        t->http = r->api_status;
    }
    if (s->turn_completed)
        s->turn_completed(s->arg, t);
    if (!s->keeps) {
        turn_free(t);
        s->turns.len--;
    }
}

/* ---- Events ---- */

static void on_block(struct items *s, struct codex_turn *t, const struct event *e)
{
    CLEANUP(buf_release) struct buf id = BUF_INIT(4096);
    bool is_text = e->block == BLOCK_TEXT;
    struct codex_item *it;

    if (!is_text && e->block != BLOCK_THINKING)
        return;
    /* An answer with one text has its id; further parts have a number appended. */
    buf_addf(&id, "%s%.*s", is_text ? "" : "rs_", STR_ARG(buf_str(&s->message)));
    if (s->blocks && is_text)
        buf_addf(&id, "-%zu", s->blocks);
    it = find_item(t, buf_str(&id));
    if (e->kind == EVENT_BLOCK_STARTED && !it) {
        it = begin_item(s, t, is_text ? ITEM_AGENT : ITEM_REASONING, buf_str(&id), e->time_ms);
        say_started(s, t, it);
    } else if (e->kind == EVENT_BLOCK_DELTA && it) {
        buf_add(&it->text, e->text);
        if (s->item_delta)
            s->item_delta(s->arg, t, it, e->text);
    } else if (e->kind == EVENT_BLOCK_DONE && it) {
        end_item(s, t, it, ITEM_COMPLETED, e->time_ms);
        s->blocks += is_text;
    }
}

/* An answer in the form that the client wants is a call here, and a message there. */
static bool is_answer(const struct event *e)
{
    return str_is(e->name, "StructuredOutput");
}

static void say_answer(struct items *s, struct codex_turn *t, const struct event *e)
{
    struct codex_item *it = begin_item(s, t, ITEM_AGENT, e->id, e->time_ms);

    say_started(s, t, it);
    buf_add(&it->text, buf_str(&s->answer));
    if (s->item_delta)
        s->item_delta(s->arg, t, it, buf_str(&s->answer));
    end_item(s, t, it, ITEM_COMPLETED, e->time_ms);
}

static void on_tool_started(struct items *s, struct codex_turn *t, const struct event *e)
{
    struct codex_item *it = find_item(t, e->id);

    if (is_answer(e)) {
        if (!s->answer.max)
            buf_init(&s->answer, ITEM_MAX_TEXT);
        buf_clear(&s->answer);
        buf_add(&s->answer, e->json);
        return;
    }
    if (it)
        return;
    it = begin_item(s, t, kind_of(e->name), e->id, e->time_ms);
    buf_add(&it->name, e->name);
    buf_add(&it->input, e->json);
    say_started(s, t, it);
}

static void on_tool_progress(struct items *s, struct codex_turn *t, const struct event *e)
{
    struct codex_item *it = find_item(t, e->id);
    struct str had;
    struct str delta = e->text;

    if (!it || it->kind != ITEM_COMMAND || it->status != ITEM_RUNNING || e->ended)
        return;
    /* New text replaces the old: usually the same, and more. */
    had = buf_str(&it->text);
    if (str_starts(delta, had))
        delta = str_from(delta, had.len);
    else if (str_eq(delta, had))
        return;
    buf_clear(&it->text);
    buf_add(&it->text, e->text);
    if (delta.len && s->item_delta)
        s->item_delta(s->arg, t, it, delta);
}

static int64_t exit_code(const struct event *e)
{
    static const struct str head = STR_INIT("Exit code ");
    struct str rest = str_from(e->text, head.len);
    int64_t code;

    if (str_starts(e->text, head) &&
        str_to_i64(str_first(rest, str_chr(rest, '\n')), &code, /*err=*/NULL) == 0)
        return code;
    return e->is_error ? 1 : 0;
}

static void on_tool_done(struct items *s, struct codex_turn *t, const struct event *e)
{
    struct codex_item *it;

    if (is_answer(e)) {
        if (!e->is_error)
            say_answer(s, t, e);
        return;
    }
    on_tool_started(s, t, e); /* of a call that was refused before it began */
    it = find_item(t, e->id);
    if (!it || it->status != ITEM_RUNNING) /* NULL: an id that no item can have */
        return;
    buf_clear(&it->text);
    buf_add(&it->text, e->text);
    buf_add(&it->data, e->data);
    it->duration_ms = e->duration_ms;
    it->exit_code = exit_code(e);
    end_item(s, t, it,
             e->error == ERR_DENIED ? ITEM_DECLINED
             : e->is_error          ? ITEM_FAILED
                                    : ITEM_COMPLETED,
             e->time_ms);
}

/* False: its beginning was not seen. */
static bool end_compaction(struct items *s, struct codex_turn *t, const struct event *e)
{
    VEC_EACH(&t->items, it) {
        if ((*it)->kind != ITEM_COMPACTION || (*it)->status != ITEM_RUNNING)
            continue;
        end_item(s, t, *it, e->is_error ? ITEM_FAILED : ITEM_COMPLETED, e->time_ms);
        return true;
    }
    return false;
}

void items_event(struct items *s, const struct event *e)
{
    struct codex_turn *t = items_running(s);

    if (!identity_is_main(&e->by))
        return;
    if (e->kind == EVENT_TURN_STARTED) {
        (void)begin_turn(s, e->id.len ? e->id : str_of(e->uuid), e->time_ms);
        return;
    }
    if (!t)
        return;
    switch (e->kind) {
    case EVENT_USER:
        if (e->user == USER_INPUT && !str_is(e->text, "/compact")) /* it has an item below */
            whole_item(s, t, ITEM_USER, e, e->text);
        else if (e->user == USER_ADDED && str_starts(e->text, STR("Stop hook feedback")))
            whole_item(s, t, ITEM_HOOK, e, e->text);
        break;
    case EVENT_STEP_STARTED:
        if (!s->message.max)
            buf_init(&s->message, 4096);
        buf_clear(&s->message);
        buf_add(&s->message, e->message_id.len ? e->message_id : str_of(e->uuid));
        s->blocks = 0;
        break;
    case EVENT_BLOCK_STARTED:
    case EVENT_BLOCK_DELTA:
    case EVENT_BLOCK_DONE:
        on_block(s, t, e);
        break;
    case EVENT_STEP_VOID:
    case EVENT_STEP_CUT:
        for (size_t i = 0; i < t->items.len; i++) {
            if (t->items.ptr[i]->kind == ITEM_AGENT || t->items.ptr[i]->kind == ITEM_REASONING)
                end_item(s, t, t->items.ptr[i], ITEM_COMPLETED, e->time_ms);
        }
        break;
    case EVENT_TOOL_STARTED:
        on_tool_started(s, t, e);
        break;
    case EVENT_TOOL_PROGRESS:
        on_tool_progress(s, t, e);
        break;
    case EVENT_TOOL_DONE:
        on_tool_done(s, t, e);
        break;
    case EVENT_COMMAND:
        whole_item(s, t, ITEM_AGENT, e, str_trim(e->text));
        break;
    case EVENT_COMPACTING:
        say_started(s, t, begin_item(s, t, ITEM_COMPACTION, str_of(e->uuid), e->time_ms));
        break;
    case EVENT_COMPACTED:
        if (!end_compaction(s, t, e) && !e->is_error)
            whole_item(s, t, ITEM_COMPACTION, e, e->text);
        break;
    case EVENT_TURN_DONE:
        end_turn(s, e);
        break;
    default:
        break;
    }
}

/* ---- Written ---- */

static const char *const statuses[] = {
    [ITEM_RUNNING] = "inProgress",
    [ITEM_COMPLETED] = "completed",
    [ITEM_FAILED] = "failed",
    [ITEM_DECLINED] = "declined",
};

static void write_null(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_null(w);
}

static void write_text_list(struct jw *w, const char *key, struct str text)
{
    jw_key(w, key);
    jw_array(w);
    if (text.len)
        jw_str(w, text);
    jw_array_end(w);
}

static void write_user(const struct codex_item *it, struct jw *w)
{
    jw_kcstr(w, "clientId", NULL);
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", buf_str(&it->text));
    jw_key(w, "text_elements");
    jw_array(w);
    jw_array_end(w);
    jw_object_end(w);
    jw_array_end(w);
}

static void write_agent(const struct codex_item *it, struct jw *w)
{
    jw_kstr(w, "text", it->status == ITEM_RUNNING ? STR("") : buf_str(&it->text));
    write_null(w, "moderation");
    write_null(w, "phase");
    write_null(w, "memoryCitation");
    write_null(w, "delivery");
    write_null(w, "questions");
}

static void write_command(const struct codex_item *it, const char *dir, const struct json *input,
                          struct jw *w)
{
    struct str command = json_get_str(input, "command");
    bool is_done = it->status == ITEM_COMPLETED || it->status == ITEM_FAILED;

    jw_kstr(w, "command", command);
    jw_kcstr(w, "cwd", dir);
    write_null(w, "processId");
    write_null(w, "pluginId");
    write_null(w, "scriptPath");
    jw_kcstr(w, "source", "agent");
    jw_kcstr(w, "status", statuses[it->status]);
    jw_key(w, "commandActions");
    jw_array(w);
    jw_object(w);
    jw_kcstr(w, "type", "unknown");
    jw_kstr(w, "command", command);
    jw_object_end(w);
    jw_array_end(w);
    jw_key(w, "aggregatedOutput");
    if (is_done)
        jw_str(w, buf_str(&it->text));
    else
        jw_null(w);
    jw_key(w, "exitCode");
    if (is_done)
        jw_i64(w, it->exit_code);
    else
        jw_null(w);
    jw_key(w, "durationMs");
    if (is_done)
        jw_i64(w, it->duration_ms);
    else
        jw_null(w);
}

void items_add_hunks(const struct json *hunks, struct buf *ret)
{
    JSON_EACH(hunks, hunk) {
        buf_addf(ret, "@@ -%d,%d +%d,%d @@\n", (int)json_get_i64(hunk, "oldStart", 1),
                 (int)json_get_i64(hunk, "oldLines", 0), (int)json_get_i64(hunk, "newStart", 1),
                 (int)json_get_i64(hunk, "newLines", 0));
        JSON_EACH(json_get(hunk, "lines"), line) {
            buf_add(ret, json_str(line));
            buf_addc(ret, '\n');
        }
    }
}

/* The planned changes, and at the end the actual ones. */
static void write_files(const struct codex_item *it, const char *dir, const struct json *input,
                        struct jw *w)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf diff = BUF_INIT(ITEM_MAX_TEXT);
    CLEANUP(buf_release) struct buf full = BUF_INIT(ITEM_MAX_TEXT);
    const struct json *data = NULL;
    struct str path = json_get_str(input, "file_path");
    bool adds = str_is(buf_str(&it->name), "Write");

    if (!path.len)
        path = json_get_str(input, "notebook_path");
    if (path.len && path.ptr[0] != '/')
        buf_addf(&full, "%s/", dir);
    buf_add(&full, path);
    (void)json_parse(&arena, buf_str(&it->data), &data, /*ret_info=*/NULL, /*err=*/NULL);
    if (data)
        adds = str_is(json_get_str(data, "type"), "create");
    if (json_len(json_get(data, "structuredPatch")))
        items_add_hunks(json_get(data, "structuredPatch"), &diff);
    else if (str_is(buf_str(&it->name), "Write"))
        buf_add(&diff, json_get_str(input, "content"));
    else
        buf_addf(&diff, "@@ @@\n-%.*s\n+%.*s\n", STR_ARG(json_get_str(input, "old_string")),
                 STR_ARG(json_get_str(input, "new_string")));
    jw_key(w, "changes");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "path", buf_str(&full));
    jw_key(w, "kind");
    jw_object(w);
    jw_kcstr(w, "type", adds ? "add" : "update");
    if (!adds)
        write_null(w, "move_path");
    jw_object_end(w);
    jw_kstr(w, "diff", buf_str(&diff));
    jw_object_end(w);
    jw_array_end(w);
    jw_kcstr(w, "status", statuses[it->status]);
}

static void write_arguments(const struct json *input, struct jw *w)
{
    jw_key(w, "arguments");
    if (input)
        jw_json(w, input);
    else
        jw_raw(w, STR("{}"));
}

/* "mcp__server__tool" */
static void write_mcp(const struct codex_item *it, const struct json *input, struct jw *w)
{
    struct str rest = str_from(buf_str(&it->name), strlen("mcp__"));
    size_t at = str_find(rest, STR("__"));
    bool is_done = it->status != ITEM_RUNNING;

    jw_kstr(w, "server", str_first(rest, at));
    jw_kstr(w, "tool", str_from(rest, at + 2));
    jw_kcstr(w, "status", statuses[it->status == ITEM_DECLINED ? ITEM_FAILED : it->status]);
    write_arguments(input, w);
    jw_key(w, "result");
    if (it->status == ITEM_COMPLETED) {
        jw_object(w);
        jw_key(w, "content");
        jw_array(w);
        jw_object(w);
        jw_kcstr(w, "type", "text");
        jw_kstr(w, "text", buf_str(&it->text));
        jw_object_end(w);
        jw_array_end(w);
        write_null(w, "structuredContent");
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    jw_key(w, "error");
    if (is_done && it->status != ITEM_COMPLETED) {
        jw_object(w);
        jw_kstr(w, "message", buf_str(&it->text));
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    jw_key(w, "durationMs");
    if (is_done)
        jw_i64(w, it->duration_ms);
    else
        jw_null(w);
}

static void write_tool(const struct codex_item *it, const struct json *input, struct jw *w)
{
    bool is_done = it->status != ITEM_RUNNING;

    jw_kcstr(w, "namespace", "tenax");
    jw_kstr(w, "tool", buf_str(&it->name));
    write_arguments(input, w);
    jw_kcstr(w, "status", statuses[it->status == ITEM_DECLINED ? ITEM_FAILED : it->status]);
    jw_key(w, "contentItems");
    if (is_done) {
        jw_array(w);
        jw_object(w);
        jw_kcstr(w, "type", "inputText");
        jw_kstr(w, "text", buf_str(&it->text));
        jw_object_end(w);
        jw_array_end(w);
    } else {
        jw_null(w);
    }
    jw_key(w, "success");
    if (is_done)
        jw_bool(w, it->status == ITEM_COMPLETED);
    else
        jw_null(w);
    jw_key(w, "durationMs");
    if (is_done)
        jw_i64(w, it->duration_ms);
    else
        jw_null(w);
}

static void write_hook(const struct codex_item *it, struct jw *w)
{
    jw_key(w, "fragments");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "text", buf_str(&it->text));
    jw_kstr(w, "hookRunId", buf_str(&it->id));
    jw_object_end(w);
    jw_array_end(w);
}

void item_write(const struct codex_item *it, const char *dir, struct jw *w)
{
    static const char *const types[] = {
        [ITEM_USER] = "userMessage",
        [ITEM_AGENT] = "agentMessage",
        [ITEM_REASONING] = "reasoning",
        [ITEM_COMMAND] = "commandExecution",
        [ITEM_FILES] = "fileChange",
        [ITEM_MCP] = "mcpToolCall",
        [ITEM_SEARCH] = "webSearch",
        [ITEM_HOOK] = "hookPrompt",
        [ITEM_COMPACTION] = "contextCompaction",
        [ITEM_TOOL] = "dynamicToolCall",
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *input = NULL;

    (void)json_parse(&arena, buf_str(&it->input), &input, /*ret_info=*/NULL, /*err=*/NULL);
    jw_object(w);
    jw_kcstr(w, "type", types[it->kind]);
    jw_kstr(w, "id", buf_str(&it->id));
    switch (it->kind) {
    case ITEM_USER:
        write_user(it, w);
        break;
    case ITEM_AGENT:
        write_agent(it, w);
        break;
    case ITEM_REASONING:
        write_text_list(w, "summary", it->status == ITEM_RUNNING ? STR("") : buf_str(&it->text));
        write_text_list(w, "content", STR(""));
        break;
    case ITEM_COMMAND:
        write_command(it, dir, input, w);
        break;
    case ITEM_FILES:
        write_files(it, dir, input, w);
        break;
    case ITEM_MCP:
        write_mcp(it, input, w);
        break;
    case ITEM_SEARCH:
        jw_kstr(w, "query", json_get_str(input, "query"));
        write_null(w, "action");
        break;
    case ITEM_HOOK:
        write_hook(it, w);
        break;
    case ITEM_COMPACTION:
        break;
    case ITEM_TOOL:
        write_tool(it, input, w);
        break;
    }
    jw_ki64(w, "startedAtMs", it->started_ms);
    jw_key(w, "completedAtMs");
    if (it->status == ITEM_RUNNING)
        jw_null(w);
    else
        jw_i64(w, it->completed_ms);
    jw_object_end(w);
}

void turn_write_error(const struct codex_turn *t, struct jw *w)
{
    static const struct {
        const char *category, *info;
        int http; /* where there is no category: the transcript does not have it */
    } infos[] = {
        {"authentication_failed", "unauthorized", 401},
        {"billing_error", "usageLimitExceeded", 402},
        {"quota", "usageLimitExceeded", 0},
        {"rate_limit", "rateLimitExceeded", 429},
        {"overloaded", "serverOverloaded", 529},
        {"prompt_too_long", "contextWindowExceeded", 413},
        {"model_not_found", "modelNotFound", 404},
        {"invalid_request", "badRequest", 400},
        {"max_budget_usd", "sessionBudgetExceeded", 0},
    };
    const char *info = "other";

    for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
        if (t->http && t->http == infos[i].http)
            info = infos[i].info;
    }
    for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
        if (str_is(buf_str(&t->category), infos[i].category))
            info = infos[i].info;
    }
    jw_object(w);
    jw_kstr(w, "message", buf_str(&t->error));
    jw_kcstr(w, "codexErrorInfo", info);
    write_null(w, "additionalDetails");
    write_null(w, "misalignment");
    jw_object_end(w);
}

static void write_seconds(struct jw *w, const char *key, int64_t ms)
{
    jw_key(w, key);
    if (ms)
        jw_i64(w, ms / 1000);
    else
        jw_null(w);
}

void turn_write(const struct codex_turn *t, const char *dir, enum turn_view view, struct jw *w)
{
    static const char *const names[] = {
        [TURN_RUNNING] = "inProgress",
        [TURN_COMPLETED] = "completed",
        [TURN_INTERRUPTED] = "interrupted",
        [TURN_FAILED] = "failed",
    };
    const struct codex_item *last = NULL;

    jw_object(w);
    jw_kstr(w, "id", buf_str(&t->id));
    jw_kstr(w, "rootTurnId", buf_str(&t->id));
    jw_key(w, "items");
    jw_array(w);
    VEC_EACH(&t->items, it) {
        if (view == TURN_FULL)
            item_write(*it, dir, w);
        else if ((*it)->kind == ITEM_AGENT)
            last = *it;
    }
    if (view == TURN_SUMMARY && last)
        item_write(last, dir, w);
    jw_array_end(w);
    jw_kcstr(w, "itemsView", view == TURN_FULL ? "full" : last ? "summary" : "notLoaded");
    jw_kcstr(w, "status", names[t->status]);
    jw_key(w, "error");
    if (t->status == TURN_FAILED)
        turn_write_error(t, w);
    else
        jw_null(w);
    write_seconds(w, "startedAt", t->started_ms);
    write_seconds(w, "completedAt", t->completed_ms);
    jw_key(w, "durationMs");
    if (t->completed_ms)
        jw_i64(w, t->duration_ms);
    else
        jw_null(w);
    jw_object_end(w);
}
