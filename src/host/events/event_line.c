/*
 * event_line: one function per kind of event that has more than ids. Pure except for the start of
 * the running step. Runs on the log's thread.
 */
#include "host/events/event_line.h"

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/fault.h"

#define LINE_MAX_ID 128 /* bytes of an id or name chosen by others */

static void put_id(struct jw *w, const char *key, struct str id)
{
    if (id.len)
        jw_kstr(w, key, str_clip(id, LINE_MAX_ID));
}

static void put_usage(struct jw *w, const struct llm_usage *u)
{
    jw_key(w, "tokens");
    jw_object(w);
    jw_ki64(w, "input", u->input);
    jw_ki64(w, "cache_read", u->cache_read);
    jw_ki64(w, "cache_write", u->cache_write);
    jw_ki64(w, "output", u->output);
    jw_object_end(w);
}

static void put_turn_started(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "message", e->id);
    put_id(w, "model", e->model);
    jw_kcstr(w, "mode", e->mode);
}

static void put_step_started(struct event_line *l, const struct event *e, struct jw *w)
{
    l->step_ms = e->time_ms;
    put_id(w, "response", e->message_id);
    put_id(w, "model", e->model);
}

static int64_t step_duration(const struct event_line *l, const struct event *e)
{
    return l->step_ms && e->time_ms > l->step_ms ? e->time_ms - l->step_ms : 0;
}

static void put_step_done(struct event_line *l, const struct event *e, struct jw *w)
{
    put_id(w, "response", e->message_id);
    put_id(w, "request", e->request_id);
    put_id(w, "model", e->model);
    jw_kcstr(w, "stop", llm_stop_name(e->stop));
    jw_ki64(w, "ms", step_duration(l, e));
    jw_ki64(w, "first_ms", e->ttft_ms);
    put_usage(w, &e->usage);
}

/* An answer without an end. */
static void put_step_cut(struct event_line *l, const struct event *e, struct jw *w)
{
    put_id(w, "response", e->message_id);
    put_id(w, "request", e->request_id);
    put_id(w, "model", e->model);
    jw_ki64(w, "ms", step_duration(l, e));
}

static void put_step_void(struct event_line *l, const struct event *e, struct jw *w)
{
    jw_ki64(w, "ms", step_duration(l, e));
}

static void put_block_done(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    jw_ki64(w, "index", (int64_t)e->index);
    put_id(w, "tool", e->id);
    put_id(w, "name", e->name);
    jw_ki64(w, "bytes", (int64_t)e->json.len);
}

static void put_tool_started(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "tool", e->id);
    put_id(w, "name", e->name);
    jw_ki64(w, "bytes", (int64_t)e->json.len);
}

static void put_tool_done(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "tool", e->id);
    put_id(w, "name", e->name);
    jw_ki64(w, "ms", e->duration_ms);
    jw_ki64(w, "bytes", (int64_t)e->text.len);
    jw_kbool(w, "error", e->is_error);
}

static void put_user(struct event_line *l, const struct event *e, struct jw *w)
{
    static const char *const names[] = {
        [USER_INPUT] = "input", [USER_APPENDED] = "input", [USER_MARKER] = "marker",
        [USER_ADDED] = "added", [USER_NOTICE] = "notice",  [USER_NOTICE_BETWEEN] = "notice",
    };

    (void)l;
    put_id(w, "message", e->id);
    jw_kcstr(w, "kind", names[e->user]);
    jw_ki64(w, "bytes", (int64_t)e->json.len);
}

static void put_retry(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    jw_ki64(w, "attempt", e->attempt);
    jw_ki64(w, "of", e->max_tries);
    jw_ki64(w, "wait_ms", e->delay_ms);
    jw_ki64(w, "status", e->status);
    jw_kcstr(w, "error", fault_name(e->error, e->is_overloaded));
}

static void put_state(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    jw_kcstr(w, "state", event_state_name(e->state));
}

static void put_mode(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    jw_kcstr(w, "mode", e->mode);
}

static void put_hook(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "hook", e->id);
    put_id(w, "name", e->name);
    if (e->kind != EVENT_HOOK_DONE)
        return;
    jw_ki64(w, "ms", e->duration_ms);
    jw_kbool(w, "error", e->is_error);
}

static void put_task(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "task", e->id);
    put_id(w, "tool", e->tool_id);
    if (e->kind == EVENT_TASK_DONE)
        put_id(w, "end", e->name);
}

static void put_tasks(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    jw_ki64(w, "bytes", (int64_t)e->json.len);
}

static void put_compacted(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "trigger", e->name);
    jw_ki64(w, "ms", e->duration_ms);
    jw_ki64(w, "before", e->pre_tokens);
    if (!e->is_error)
        jw_ki64(w, "after", e->post_tokens);
    jw_kbool(w, "error", e->is_error);
}

static void put_rewound(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "message", e->id);
    put_id(w, "what", e->name);
    jw_ki64(w, "after", e->post_tokens);
}

static void put_pace(struct jw *w, const struct turn_pace *p)
{
    jw_ki64(w, "calls", p->calls);
    jw_ki64(w, "first_ms", p->first_ms);
    jw_ki64(w, "tokens_per_s", (int64_t)p->tokens_per_s);
    jw_ki64(w, "tool_ms", p->tool_ms);
    jw_ki64(w, "hook_ms", p->hook_ms);
}

/* Numbers and our own keywords unchanged; of everything else only the size. */
static void put_goal_member(struct jw *w, const struct json *member)
{
    static const char ours[] = "goal_id status from to by via who phase on code which action "
                               "kind referee model";
    CLEANUP(buf_release) struct buf key = BUF_INIT(2 * LINE_MAX_ID);

    buf_add(&key, str_clip(json_key(member), LINE_MAX_ID));
    switch (json_type(member)) {
    case JSON_STRING:
        if (str_is_word_of(buf_str(&key), ours)) {
            jw_kstr(w, buf_cstr(&key), str_clip(json_str(member), LINE_MAX_ID));
            return;
        }
        buf_adds(&key, "_bytes");
        jw_ki64(w, buf_cstr(&key), (int64_t)json_str(member).len);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        buf_adds(&key, "_count");
        jw_ki64(w, buf_cstr(&key), (int64_t)json_len(member));
        break;
    default:
        jw_key(w, buf_cstr(&key));
        jw_json(w, member);
    }
}

static void put_goal(struct event_line *l, const struct event *e, struct jw *w)
{
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    (void)l;
    if (json_parse(&arena, e->json, &v, NULL, NULL) == 0 && json_is(v, JSON_OBJECT)) {
        JSON_EACH(v, member) {
            put_goal_member(w, member);
        }
    }
    arena_release(&arena);
}

static void put_command(struct event_line *l, const struct event *e, struct jw *w)
{
    (void)l;
    put_id(w, "name", e->name);
    jw_ki64(w, "bytes", (int64_t)e->text.len);
    jw_kbool(w, "error", e->is_error);
}

static void put_notice(struct event_line *l, const struct event *e, struct jw *w)
{
    static const char *const names[] = {"info", "warning", "error"};

    (void)l;
    jw_kcstr(w, "level", names[e->level]);
    jw_ki64(w, "bytes", (int64_t)e->text.len);
}

static void put_turn_done(struct event_line *l, const struct event *e, struct jw *w)
{
    const struct turn_report *r = e->report;

    (void)l;
    jw_kcstr(w, "end", turn_end_name(r->end));
    jw_kbool(w, "error", r->is_error);
    if (r->api_status)
        jw_ki64(w, "status", r->api_status);
    jw_ki64(w, "ms", r->duration_ms);
    jw_ki64(w, "model_ms", r->duration_api_ms);
    put_pace(w, &r->pace);
    jw_ki64(w, "steps", r->steps);
    put_usage(w, &r->usage);
    jw_key(w, "session_usd");
    jw_double(w, r->total_usd);
    jw_ki64(w, "queued", (int64_t)r->queued);
}

static const struct {
    const char *name; /* NULL: has no line */
    void (*put)(struct event_line *l, const struct event *e, struct jw *w);
} rows[] = {
    [EVENT_TURN_STARTED] = {"turn_started", put_turn_started},
    [EVENT_STEP_STARTED] = {"step_started", put_step_started},
    [EVENT_BLOCK_DONE] = {"block_done", put_block_done},
    [EVENT_STEP_DONE] = {"step_done", put_step_done},
    [EVENT_STEP_VOID] = {"step_void", put_step_void},
    [EVENT_STEP_CUT] = {"step_cut", put_step_cut},
    [EVENT_TOOL_STARTED] = {"tool_started", put_tool_started},
    [EVENT_TOOL_DONE] = {"tool_done", put_tool_done},
    [EVENT_USER] = {"user", put_user},
    [EVENT_RETRY] = {"retry", put_retry},
    [EVENT_STATE] = {"state", put_state},
    [EVENT_MODE] = {"mode", put_mode},
    [EVENT_HOOK_STARTED] = {"hook_started", put_hook},
    [EVENT_HOOK_DONE] = {"hook_done", put_hook},
    [EVENT_TASK_STARTED] = {"task_started", put_task},
    [EVENT_TASK_PROGRESS] = {"task_progress", put_task},
    [EVENT_TASK_UPDATED] = {"task_updated", put_task},
    [EVENT_TASK_DONE] = {"task_done", put_task},
    [EVENT_TASKS] = {"tasks", put_tasks},
    [EVENT_COMPACTED] = {"compacted", put_compacted},
    [EVENT_REWOUND] = {"rewound", put_rewound},
    [EVENT_GOAL] = {"goal_*", put_goal}, /* each has a separate name */
    [EVENT_ACTIVE_GOAL] = {"active_goal", put_goal},
    [EVENT_COMMAND] = {"command", put_command},
    [EVENT_NOTICE] = {"notice", put_notice},
    [EVENT_TURN_DONE] = {"turn_done", put_turn_done},
};

static void begin(struct jw *w, const char *session, int64_t time_ms)
{
    char time[25];

    clock_iso(time_ms, time);
    jw_object(w);
    jw_kcstr(w, "time", time);
    jw_kcstr(w, "session", session);
}

bool event_line_write(struct event_line *l, const struct event *e, struct buf *out)
{
    struct jw w;

    if (e->kind >= ARRAY_LEN(rows) || !rows[e->kind].name)
        return false;
    jw_init(&w, out, 0);
    begin(&w, e->by.session, e->time_ms);
    jw_ki64(&w, "seq", (int64_t)e->seq);
    jw_kstr(&w, "event",
            e->kind == EVENT_GOAL ? str_clip(e->name, LINE_MAX_ID) : str_of(rows[e->kind].name));
    jw_kcstr(&w, "agent", e->by.agent);
    if (e->by.type)
        jw_kcstr(&w, "agent_type", e->by.type);
    if (e->by.parent)
        jw_kcstr(&w, "parent_tool_use_id", e->by.parent);
    jw_ki64(&w, "turn", e->turn);
    jw_ki64(&w, "step", e->step);
    rows[e->kind].put(l, e, &w);
    jw_object_end(&w);
    buf_addc(out, '\n');
    return true;
}

void event_line_gap(const char *session, uint64_t from, uint64_t to, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    begin(&w, session, clock_wall_ms());
    jw_ki64(&w, "seq", (int64_t)from);
    jw_kcstr(&w, "event", "missing");
    jw_ki64(&w, "to", (int64_t)to);
    jw_object_end(&w);
    buf_addc(out, '\n');
}
