/*
 * acp_update: events in, session/update notifications out. The loop's thread.
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "goal/goal.h"
#include "goal/report/told.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/acp/acp_state.h"

struct jw *acp_begin(struct acp_update *u, struct acp_view *v, const char *kind)
{
    u->view = v;
    u->text = (struct buf)BUF_INIT(RPC_MAX_OUT);
    jw_init(&u->w, &u->text, JW_CLEAN);
    jw_object(&u->w);
    jw_kcstr(&u->w, "sessionId", v->view->live->id);
    jw_key(&u->w, "update");
    jw_object(&u->w);
    jw_kcstr(&u->w, "sessionUpdate", kind);
    return &u->w;
}

void acp_end(struct acp_update *u)
{
    jw_object_end(&u->w);
    jw_object_end(&u->w);
    rpc_notify(u->view->acp->client->rpc, "session/update", buf_str(&u->text));
    buf_release(&u->text);
}

static void say_chunk(struct acp_view *v, const char *kind, struct str id, struct str text)
{
    struct acp_update u;
    struct jw *w;

    if (!text.len)
        return;
    w = acp_begin(&u, v, kind);
    jw_key(w, "content");
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_object_end(w);
    if (id.len)
        jw_kstr(w, "messageId", id);
    acp_end(&u);
}

void acp_say_notice(struct acp_view *v, const char *severity, struct str text)
{
    struct acp_update u;
    struct jw *w;

    if (!v->acp->notices)
        return;
    w = acp_begin(&u, v, "notice");
    jw_kcstr(w, "severity", severity);
    jw_kstr(w, "title", text);
    acp_end(&u);
}

void acp_say_state(struct acp_view *v, bool is_running)
{
    struct acp_update u;
    struct jw *w;

    if (v->is_running == is_running)
        return;
    v->is_running = is_running;
    w = acp_begin(&u, v, "session_info_update");
    jw_key(w, "_meta");
    jw_object(w);
    jw_key(w, "tenax");
    jw_object(w);
    jw_kcstr(w, "state", is_running ? "running" : "idle");
    jw_object_end(w);
    jw_object_end(w);
    acp_end(&u);
}

void acp_say_title(struct acp_view *v)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    struct acp_update u;
    char when[25];
    struct jw *w;

    host_title(v->view->live->host, &title);
    if (!title.len || str_eq(buf_str(&title), buf_str(&v->title)))
        return;
    buf_clear(&v->title);
    buf_add(&v->title, buf_str(&title));
    clock_iso(clock_wall_ms(), when);
    w = acp_begin(&u, v, "session_info_update");
    jw_kstr(w, "title", buf_str(&title));
    jw_kcstr(w, "updatedAt", when);
    acp_end(&u);
}

void acp_say_goal(struct acp_view *v, struct str json)
{
    struct acp_update u;
    struct jw *w;

    if (str_eq(json, buf_str(&v->goal)) || (!v->goal.len && str_is(json, "null")))
        return;
    buf_clear(&v->goal);
    buf_add(&v->goal, json);
    w = acp_begin(&u, v, "session_info_update");
    jw_key(w, "_meta");
    jw_object(w);
    jw_key(w, "tenax");
    jw_object(w);
    jw_kraw(w, "goal", json);
    jw_object_end(w);
    jw_object_end(w);
    acp_end(&u);
}

static void say_goal_of(struct acp_view *v, const struct event *e)
{
    if (e->seq >= v->goal_from)
        acp_say_goal(v, e->data);
}

/* What becomes of it, in a line: a notice, or a short message where the client has none. */
static void say_goal_event(struct acp_view *v, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);
    const struct json *data = NULL;
    enum told_tone tone;

    (void)json_parse(&arena, e->json, &data, /*ret_info=*/NULL, /*err=*/NULL);
    say_goal_of(v, e);
    if (!goal_told(e->name, data, &text, &tone))
        return;
    if (v->acp->notices) {
        acp_say_notice(v, tone == TOLD_WARNING || tone == TOLD_BAD ? "warning" : "info",
                       buf_str(&text));
    } else {
        buf_addc(&text, '\n');
        say_chunk(v, "agent_message_chunk", str_of(e->uuid), buf_str(&text));
    }
}

static void say_usage(struct acp_view *v, const struct event *e)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    struct acp_update u;
    int64_t window;
    struct jw *w = acp_begin(&u, v, "usage_update");

    host_model(v->view->live->host, &provider, &name, &window);
    jw_ki64(w, "used",
            e->usage.input + e->usage.cache_read + e->usage.cache_write + e->usage.output);
    jw_ki64(w, "size", window);
    if (e->usd == e->usd) { /* no NAN */
        jw_key(w, "cost");
        jw_object(w);
        jw_key(w, "amount");
        jw_double(w, e->usd);
        jw_kcstr(w, "currency", "USD");
        jw_object_end(w);
    }
    acp_end(&u);
}

static void say_mode(struct acp_view *v, const char *mode)
{
    struct acp_update u;
    struct jw *w;

    if (str_is(buf_str(&v->mode), mode))
        return;
    buf_clear(&v->mode);
    buf_adds(&v->mode, mode);
    w = acp_begin(&u, v, "current_mode_update");
    jw_kcstr(w, "currentModeId", mode);
    acp_end(&u);
}

static void say_compaction(struct acp_view *v, const struct event *e)
{
    struct acp_update u;
    struct jw *w;

    if (!v->acp->compactions)
        return;
    w = acp_begin(&u, v, "compaction_update");
    jw_kcstr(w, "compactionId", v->view->live->id);
    jw_kcstr(w, "status",
             e->kind == EVENT_COMPACTING ? "in_progress"
             : e->is_error               ? "failed"
                                         : "completed");
    if (e->is_error)
        jw_kstr(w, "error", e->text);
    acp_end(&u);
}

static void on_block(struct acp_view *v, const struct event *e)
{
    bool is_main = identity_is_main(&e->by);

    if (is_main && v->skips_step)
        return;
    if (e->kind == EVENT_BLOCK_DONE && e->block == BLOCK_TOOL_USE) {
        acp_tool_said(v, e);
        return;
    }
    if (e->kind != EVENT_BLOCK_DELTA || !is_main) /* what a subagent says stays inside */
        return;
    if (e->block == BLOCK_TEXT)
        say_chunk(v, "agent_message_chunk", buf_str(&v->message), e->text);
    else if (e->block == BLOCK_THINKING)
        say_chunk(v, "agent_thought_chunk", buf_str(&v->message), e->text);
}

static void on_step_started(struct acp_view *v, const struct event *e)
{
    if (!identity_is_main(&e->by))
        return;
    buf_clear(&v->message);
    buf_add(&v->message, e->message_id.len ? e->message_id : str_of(e->uuid));
    v->skips_step = map_has(&v->seen, e->message_id);
    acp_say_options(v);
}

static void on_user(struct acp_view *v, const struct event *e)
{
    if (e->user != USER_INPUT || !identity_is_main(&e->by))
        return;
    if (acp_prompt_heard(v, e->id) || map_has(&v->seen, e->id))
        return;
    say_chunk(v, "user_message_chunk", e->id, e->text);
}

static void on_command(struct acp_view *v, const struct event *e)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);

    buf_add(&text, str_trim(e->text));
    if (text.len)
        buf_addc(&text, '\n');
    say_chunk(v, "agent_message_chunk", str_of(e->uuid), buf_str(&text));
    acp_say_options(v);
    acp_prompt_command(v, e);
}

static const char *severity_of(enum event_level level)
{
    return level == LEVEL_ERROR ? "error" : level == LEVEL_WARNING ? "warning" : "info";
}

static void say_retry(struct acp_view *v, const struct event *e)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);

    buf_addf(&text, "%.*s; trying again (%d of %d)", STR_ARG(e->text), e->attempt, e->max_tries);
    acp_say_notice(v, "warning", buf_str(&text));
}

/* Of any agent of the session. */
static void on_tool(struct acp_view *v, const struct event *e)
{
    acp_files_complain(v);
    if (e->kind == EVENT_TOOL_STARTED)
        acp_tool_started(v, e);
    else if (e->kind == EVENT_TOOL_PROGRESS)
        acp_tool_progress(v, e);
    else
        acp_tool_done(v, e);
}

void acp_event(struct client_view *view, const struct event *e)
{
    struct acp_view *v = acp_view_of(view);
    bool is_main = identity_is_main(&e->by);

    switch (e->kind) {
    case EVENT_TURN_STARTED:
        if (is_main)
            acp_prompt_turn_started(v, e);
        break;
    case EVENT_STEP_STARTED:
        on_step_started(v, e);
        break;
    case EVENT_BLOCK_STARTED:
    case EVENT_BLOCK_DELTA:
    case EVENT_BLOCK_DONE:
        on_block(v, e);
        break;
    case EVENT_STEP_DONE:
        acp_tools_settle(v, e->by.agent, /*is_void=*/false);
        if (is_main)
            say_usage(v, e);
        break;
    case EVENT_STEP_VOID:
    case EVENT_STEP_CUT:
        acp_tools_settle(v, e->by.agent, /*is_void=*/true);
        break;
    case EVENT_TOOL_STARTED:
    case EVENT_TOOL_PROGRESS:
    case EVENT_TOOL_DONE:
        on_tool(v, e);
        break;
    case EVENT_USER:
        on_user(v, e);
        break;
    case EVENT_STATE:
        if (is_main)
            acp_say_state(v, e->state != STATE_IDLE);
        break;
    case EVENT_MODE:
        say_mode(v, e->mode);
        acp_say_options(v);
        break;
    case EVENT_MODEL:
        acp_say_options(v);
        break;
    case EVENT_COMPACTING:
    case EVENT_COMPACTED:
        if (is_main)
            say_compaction(v, e);
        break;
    case EVENT_GOAL:
        say_goal_event(v, e);
        break;
    case EVENT_ACTIVE_GOAL:
    case EVENT_GOAL_ROW:
        say_goal_of(v, e);
        break;
    case EVENT_COMMAND:
        on_command(v, e);
        break;
    case EVENT_NOTICE:
        acp_say_notice(v, severity_of(e->level), e->text);
        break;
    case EVENT_RETRY:
        if (is_main)
            say_retry(v, e);
        break;
    case EVENT_TURN_DONE:
        if (is_main)
            acp_prompt_turn_done(v, e);
        break;
    default:
        break; /* nothing that this protocol has a place for */
    }
}

static void replay_event(struct acp_view *v, const struct event *e)
{
    static char mark;

    switch (e->kind) {
    case EVENT_USER:
        say_chunk(v, "user_message_chunk", e->id, e->text);
        map_set(&v->seen, e->id, &mark);
        break;
    case EVENT_STEP_STARTED:
        buf_clear(&v->message);
        buf_add(&v->message, e->message_id);
        map_set(&v->seen, e->message_id, &mark);
        break;
    case EVENT_BLOCK_DELTA:
        on_block(v, e);
        break;
    case EVENT_BLOCK_DONE:
        if (e->block == BLOCK_TOOL_USE)
            acp_forget_call(v, e->id);
        on_block(v, e);
        break;
    case EVENT_TOOL_DONE:
        acp_tool_done(v, e);
        break;
    default:
        break;
    }
}

void acp_replay(struct acp_view *v, struct event *const *events, size_t count)
{
    CLEANUP(buf_release) struct buf message = v->message;
    bool skips_step = v->skips_step;

    buf_init(&v->message, 4096);
    v->skips_step = false;
    for (size_t i = 0; i < count; i++)
        replay_event(v, events[i]);
    /* A turn that runs goes on where it was. */
    buf_move(&v->message, &message);
    v->skips_step = skips_step;
}
