/*
 * Events of the session on their way to the feed, and what is remembered of them. Any thread;
 * nothing here waits except host_emit(), which is for the agent.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/clock.h"
#include "goal/goal.h"
#include "host/answer.h"
#include "host/events/feed.h"
#include "host/host_state.h"
#include "host/mcp.h"
#include "host/session.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/agents.h"
#include "tasks/definition.h"

#define HOST_MAX_DENIED ((size_t)1 << 20)

static void keep_event(struct event **place, struct event *e)
{
    struct event *old = *place;

    *place = event_ref(e);
    event_unref(old);
}

/* Counts lines changed by a tool: its result has a structuredPatch; for a new file its whole
 * content counts. */
static void count_lines(const struct event *e, struct host_lines *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *data;

    if (e->kind != EVENT_TOOL_DONE || e->is_error ||
        !str_has(e->data, STR("\"structuredPatch\"")) ||
        json_parse(&arena, e->data, &data, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(json_get(data, "structuredPatch"), hunk) {
        JSON_EACH(json_get(hunk, "lines"), line) {
            ret->added += str_starts(json_str(line), STR("+"));
            ret->removed += str_starts(json_str(line), STR("-"));
        }
    }
    if (str_is(json_get_str(data, "type"), "create")) {
        struct str rest = json_get_str(data, "content");
        struct str line;

        while (rest.len && str_cut(&rest, '\n', &line))
            ret->added++;
    }
}

/* Updates the session's state from turns of its main agent. The gate must be held. */
static void note_turn(struct host *h, struct event *e)
{
    h->turn = e->turn;
    h->step = e->step;
    if (e->kind == EVENT_TURN_STARTED || e->kind == EVENT_TURN_DONE)
        h->in_turn = e->kind == EVENT_TURN_STARTED;
    if (e->kind == EVENT_TURN_DONE)
        keep_event(&h->last_turn, e);
    if (e->kind == EVENT_STEP_DONE || e->kind == EVENT_REWOUND ||
        (e->kind == EVENT_COMPACTED && !e->is_error))
        keep_event(&h->last_step, e);
}

int64_t host_count_result(struct host *h)
{
    int64_t index;

    gate_take(&h->gate);
    index = h->results++;
    gate_give(&h->gate);
    return index;
}

/* Adds the state of the session's MCP servers. */
static void say_servers(struct host *h, struct event *e)
{
    CLEANUP(buf_release) struct buf servers = BUF_INIT((size_t)1 << 20);

    host_write_mcp(h, /*tools=*/false, &servers);
    e->show = arena_str(&e->arena, buf_str(&servers));
}

static void say_agents(struct host *h, struct event *e)
{
    CLEANUP(definitions_unrefp) struct definitions *l = agents_types(h->agents);
    CLEANUP(buf_release) struct buf names = BUF_INIT((size_t)1 << 20);
    struct jw w;

    jw_init(&w, &names, JW_CLEAN);
    jw_array(&w);
    VEC_EACH(&l->list, it) {
        if (!(*it)->shadowed_by)
            jw_cstr(&w, (*it)->name);
    }
    jw_array_end(&w);
    e->agents = arena_str(&e->arena, buf_str(&names));
}

void host_add_offers(struct host *h, struct event *e)
{
    say_servers(h, e);
    say_agents(h, e);
}

/* ---- Denied calls of other agents ---- */

static void write_denied(const struct json *call, const char *agent, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    JSON_EACH(call, member) {
        jw_key_str(&w, json_key(member));
        jw_raw(&w, json_raw(member));
    }
    jw_kcstr(&w, "agent_id", agent);
    jw_object_end(&w);
    buf_addc(ret, ',');
}

/* The turn of another agent has ended: its denied calls are for the session's next result. */
static void note_denied(struct host *h, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf calls = BUF_INIT(BUF_NO_LIMIT);
    const struct json *list;

    if (json_parse(&arena, e->report->denials, &list, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(list, call) {
        write_denied(call, e->by.agent, &calls);
    }
    gate_take(&h->gate);
    if (h->denied.len + calls.len <= HOST_MAX_DENIED)
        buf_add(&h->denied, buf_str(&calls));
    gate_give(&h->gate);
}

/* Adds them to the end of the main agent's turn, before others see the event. */
static void add_denied(struct host *h, struct event *e)
{
    struct turn_report *r = arena_new(&e->arena, struct turn_report);
    CLEANUP(buf_release) struct buf others = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    struct str own = str_first(e->report->denials, e->report->denials.len - 1);

    gate_take(&h->gate);
    buf_move(&others, &h->denied);
    gate_give(&h->gate);
    if (!others.len)
        return;
    buf_addf(&all, "%.*s%s%.*s]", STR_ARG(own), own.len > 1 ? "," : "", (int)others.len - 1,
             others.ptr);
    *r = *e->report;
    r->denials = arena_str(&e->arena, buf_str(&all));
    e->report = r;
}

/* Called on the threads of agents and their tools. */
void host_emit(void *arg, struct event *e, struct cancel *cancel)
{
    struct host *h = arg;
    struct host_lines lines = {0};
    bool is_main = identity_is_main(&e->by);

    if (e->kind == EVENT_TURN_DONE && is_main)
        answer_end_turn(host_goal(h), h->of_run, host_count_result(h), e);
    if (e->kind == EVENT_TURN_DONE && is_main)
        add_denied(h, e);
    if (e->kind == EVENT_TURN_DONE && !is_main)
        note_denied(h, e);
    if (e->kind == EVENT_TURN_STARTED && is_main)
        host_add_offers(h, e);
    count_lines(e, &lines);
    gate_take(&h->gate);
    h->lines.added += lines.added;
    h->lines.removed += lines.removed;
    if (is_main)
        note_turn(h, e);
    gate_give(&h->gate);
    feed_emit(h->feed, e, cancel);
}

/* An event by the host itself. Never waits, because an observer's own thread may call it. */
struct event *host_event(struct host *h, int kind)
{
    struct event *e = event_new((enum event_kind)kind);

    gate_take(&h->gate);
    e->by.session = arena_cstr(&e->arena, str_of(session_id(h->session)));
    e->by.agent = IDENTITY_MAIN;
    e->turn = h->turn;
    e->step = h->step;
    gate_give(&h->gate);
    return e;
}

void host_lines(struct host *h, struct host_lines *ret)
{
    gate_take(&h->gate);
    *ret = h->lines;
    gate_give(&h->gate);
}

void host_times(struct host *h, struct host_times *ret)
{
    *ret = (struct host_times){
        .total_ms = h->past.worked_ms + clock_mono_ms() - h->opened_ms,
        .api_ms = spending_api_ms(h->spending),
    };
}

bool host_in_turn(struct host *h)
{
    bool in_turn;

    gate_take(&h->gate);
    in_turn = h->in_turn;
    gate_give(&h->gate);
    return in_turn;
}

void host_tools(struct host *h, struct buf *ret)
{
    gate_take(&h->gate);
    buf_add(ret, toolbox_names(h->toolbox));
    gate_give(&h->gate);
}

void host_emit_goal(void *arg, struct event *e)
{
    struct host *h = arg;

    gate_take(&h->gate);
    e->turn = h->turn;
    e->step = h->step;
    gate_give(&h->gate);
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

void host_on_waiting(bool waiting, void *arg)
{
    struct host *h = arg;
    struct event *e = host_event(h, EVENT_STATE);
    struct agent *a = host_running(h);

    if (a)
        agent_asks(a, waiting);
    if (waiting)
        e->state = STATE_REQUIRES_ACTION;
    else /* the trust question is asked outside of turns, too */
        e->state = host_in_turn(h) ? STATE_RUNNING : STATE_IDLE;
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

void host_on_mode(enum permit_mode mode, void *arg)
{
    struct host *h = arg;
    struct event *e = host_event(h, EVENT_MODE);

    e->mode = permit_mode_name(mode);
    feed_emit(h->feed, e, /*cancel=*/NULL);
    session_mode(h->session, str_of(permit_mode_name(mode)));
}

void host_model_changed(struct host *h)
{
    feed_emit(h->feed, host_event(h, EVENT_MODEL), /*cancel=*/NULL);
}

void host_notice(struct host *h, int level, struct str text)
{
    struct event *e = host_event(h, EVENT_NOTICE);

    e->level = (enum event_level)level;
    e->text = arena_str(&e->arena, text);
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

void host_on_trouble(void *arg, struct str text)
{
    host_notice(arg, LEVEL_WARNING, text);
}

static struct event *host_last(struct host *h, struct event *const *place)
{
    struct event *e;

    gate_take(&h->gate);
    e = *place ? event_ref(*place) : NULL;
    gate_give(&h->gate);
    return e;
}

struct event *host_last_turn(struct host *h)
{
    return host_last(h, &h->last_turn);
}

struct event *host_last_step(struct host *h)
{
    return host_last(h, &h->last_step);
}
