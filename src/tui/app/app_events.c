/*
 * app_events: what the agent tells, beside the conversation itself (chat.c): figures of the status,
 * the goal's pill, the terminal's title, the cost threshold. UI thread.
 */
#include <stddef.h>
#include <string.h>

#include "agent/event.h"
#include "base/clock.h"
#include "conf/conf.h"
#include "context/branch.h"
#include "goal/goal.h"
#include "goal/report/display.h"
#include "host/chore.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "sync/mailbox.h"
#include "tools/background.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/screen/term.h"
#include "tui/status/statusline.h"

#define EVENTS_PIECE ((size_t)4 << 10)
#define EVENTS_EACH 100 /* what an event without text counts */
#define EVENTS_LONG_TURN_MS 10000
#define EVENTS_COST_USD 5 /* cost at which the user is asked whether to continue */

/* ---- the title ---- */

/* Read-only views keep no one waiting. */
static bool somebody_waits(const struct app *a)
{
    VEC_EACH(&a->panels, p) {
        if (p->ask || p->request || p->chosen)
            return true;
    }
    return false;
}

static const char *title_state(const struct app *a)
{
    if (somebody_waits(a))
        return "waiting for you";
    if (app_is_working(a))
        return "working";
    return a->has_turned ? "done" : "";
}

void app_title(struct app *a)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(1000);
    const char *state = title_state(a);

    if (a->figures.title.len)
        buf_add(&title, str_clip(buf_str(&a->figures.title), 200));
    else
        buf_addf(&title, "tenax · %s", strrchr(conf_dir(a->conf), '/') + 1);
    if (*state)
        buf_addf(&title, " · %s", state);
    if (str_eq(buf_str(&title), buf_str(&a->titled)))
        return;
    term_title(a->term, buf_str(&title));
    buf_clear(&a->titled);
    buf_add(&a->titled, buf_str(&title));
}

/* ---- the goal, the branch, what runs in the background ---- */

struct goal_chore {
    struct chore chore;
    struct host *host;
    const char *dir;
    char *branch; /* NULL: none */
    size_t tasks;
    bool is_there;
    struct arena arena;
    struct store_goal row;
};

static void goal_run(struct chore *e)
{
    struct goal_chore *g = (struct goal_chore *)e;
    struct err err = {0};
    int64_t last_ms;

    g->branch = branch_current(g->dir);
    g->tasks = background_running(host_workspace(g->host), /*names=*/NULL, &last_ms);
    g->is_there = goal_get(host_goal(g->host), &g->arena, &g->row, &err) > 0;
}

static void goal_done(struct chore *e, void *arg)
{
    struct goal_chore *g = (struct goal_chore *)e;
    struct app *a = arg;

    app_goal_release(&a->goal);
    a->goal.is_asked = false;
    if (g->host == app_host(a)) {
        a->goal.is_there = g->is_there;
        a->goal.arena = g->arena;
        g->arena = (struct arena)ARENA_INIT;
        a->goal.row = g->row;
        a->goal.read_ms = clock_mono_ms();
        a->figures.tasks = g->tasks;
        buf_clear(&a->figures.branch);
        buf_adds(&a->figures.branch, g->branch ? g->branch : "");
    }
    if (a->goal.is_stale)
        app_goal_changed(a);
    a->is_dirty = true;
}

static void goal_free_chore(struct chore *e)
{
    struct goal_chore *g = (struct goal_chore *)e;

    arena_release(&g->arena);
    mem_freep(&g->branch);
    mem_freep(&g);
}

void app_goal_release(struct app_goal *g)
{
    arena_release(&g->arena);
    g->arena = (struct arena)ARENA_INIT;
    g->is_there = false;
}

/* The row is the store's, and the branch is in a file: read by a chore, at most one chore at a
 * time. */
void app_goal_changed(struct app *a)
{
    struct goal_chore *g;

    a->goal.is_stale = a->goal.is_asked;
    if (a->goal.is_asked || !app_host(a))
        return;
    a->goal.is_asked = true;
    g = chore_new(sizeof(*g), goal_run, goal_done, goal_free_chore);
    g->host = app_host(a);
    g->dir = conf_dir(a->conf);
    chores_give(a->chores, g);
}

/* ---- figures ---- */

static void event_model(struct app *a)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(BUF_NO_LIMIT);

    if (!app_host(a))
        return;
    buf_clear(&a->figures.model);
    host_model(app_host(a), &provider, &a->figures.model, &a->figures.window);
}

static void event_usage(struct app *a, const struct llm_usage *u)
{
    int64_t tokens = u->input + u->output + u->cache_read + u->cache_write;

    if (tokens > 0)
        a->figures.context_tokens = tokens;
}

/* ---- the cost ---- */

static void event_cost_chosen(struct app *a, size_t i)
{
    if (i == 1)
        app_interrupt(a, /*take_back=*/true);
}

/* At the threshold, and each time it has doubled. */
static void event_cost(struct app *a, double usd)
{
    static const char *const options[] = {"Go on", "Stop what runs"};
    double threshold = EVENTS_COST_USD;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    (void)json_double(conf_get(a->conf, "costThresholdUsd"), &threshold);
    a->figures.usd = usd;
    a->figures.has_usd = true;
    if (!(threshold > 0) || usd < threshold || usd < 2 * a->warned_usd)
        return;
    a->warned_usd = usd;
    buf_adds(&text, "This session has cost ");
    goal_show_usd(usd, &text);
    buf_adds(&text, " so far. (costThresholdUsd in the settings says when this is asked.)");
    app_confirm(a, "Cost", buf_str(&text), options, ARRAY_LEN(options), event_cost_chosen);
}

/* ---- events ---- */

static void event_turn_done(struct app *a, const struct event *e)
{
    const struct turn_report *r = e->report;
    int64_t now_ms = clock_mono_ms();

    a->has_turned = true;
    a->answered_ms = clock_wall_ms();
    app_watch_session(a); /* new folders may have come to count */
    if (app_host(a)) {
        buf_clear(&a->figures.title);
        host_title(app_host(a), &a->figures.title);
    }
    if (r && !r->cost_unknown && r->total_usd > 0)
        event_cost(a, r->total_usd);
    a->agents.is_stale = true;
    if (a->turn_ms && now_ms - a->turn_ms >= EVENTS_LONG_TURN_MS)
        app_notify(a, r && r->is_error ? "The turn has failed" : "Done");
    a->turn_ms = 0;
    app_goal_changed(a);
}

static void event_goal(struct app *a, const struct event *e)
{
    app_goal_changed(a);
    if (str_is(e->name, "goal_achieved") && a->spec->is_demo)
        chat_note(a->chat, ROLE_TEXT,
                  STR("This was the demo. /goal report shows the evidence; Ctrl-D leaves. To use a "
                      "real model: tenax auth login."));
    if (str_is(e->name, "goal_achieved"))
        app_notify(a, "The goal is reached");
    else if (str_is(e->name, "goal_blocked") || str_is(e->name, "goal_limited"))
        app_notify(a, "The goal needs you");
}

/* What "!" has found out enters the conversation as well; it was shown as the command's answer. */
static bool event_is_shown_already(const struct event *e)
{
    return e->kind == EVENT_USER && str_starts(e->text, STR("<bash-input>"));
}

static void app_event(struct app *a, const struct event *e)
{
    if (!event_is_shown_already(e))
        chat_event(a->chat, e, clock_mono_ms());
    switch (e->kind) {
    case EVENT_TURN_STARTED:
        a->turn_ms = clock_mono_ms();
        a->has_spoken = true; /* by any sender */
        app_sent_begins(a, e->id);
        event_model(a);
        break;
    case EVENT_USER:
    case EVENT_NOTICE: /* it will not be heard */
        app_sent_gone(a, e->id);
        break;
    case EVENT_COMMAND_PROGRESS:
        buf_clear(&a->tail);
        buf_add(&a->tail, e->text);
        break;
    case EVENT_COMMAND:
        buf_clear(&a->tail);
        app_sent_answered(a, e->name);
        app_status_happened(a, STATUS_CHANGED);
        event_model(a);
        break;
    case EVENT_STEP_DONE:
        event_usage(a, &e->usage);
        if (e->usd > 0)
            event_cost(a, e->usd);
        app_status_happened(a, STATUS_MESSAGE);
        break;
    case EVENT_COMPACTED:
    case EVENT_REWOUND:
        if (!e->is_error)
            event_usage(a, &e->usage);
        app_status_happened(a, STATUS_CHANGED);
        break;
    case EVENT_TASK_STARTED:
    case EVENT_TASK_DONE:
        a->agents.is_stale = true;
        app_goal_changed(a);
        break;
    case EVENT_TASK_PROGRESS:
    case EVENT_TASK_UPDATED:
    case EVENT_TASKS:
    case EVENT_TOOL_DONE: /* a team may have been made, or a member written to */
        a->agents.is_stale = true;
        break;
    case EVENT_MODE:
    case EVENT_MODEL:
        app_status_happened(a, STATUS_CHANGED);
        break;
    case EVENT_GOAL:
    case EVENT_ACTIVE_GOAL:
        event_goal(a, e);
        break;
    case EVENT_TURN_DONE:
        event_turn_done(a, e);
        break;
    case EVENT_HOOK_DONE: /* between two frames, so it is in the middle of nothing */
        if (e->show.len && !a->is_away && !term_able(a->term)->is_plain)
            term_write(a->term, e->show);
        break;
    default:
        break;
    }
}

/* One event, or a piece of it: deltas that piled up arrive merged, megabytes at once. */
void app_take_piece(struct app *a, struct event **held, size_t *held_at,
                    void (*fn)(struct app *a, const struct event *e))
{
    struct event *e = *held;
    struct event piece = {0};
    struct str rest;

    if (e->kind != EVENT_BLOCK_DELTA || e->text.len <= EVENTS_PIECE) {
        fn(a, e);
        a->taken += e->text.len + EVENTS_EACH;
        event_unref(TAKE_PTR(*held));
        return;
    }
    rest = str_from(e->text, *held_at);
    memcpy(&piece, e, offsetof(struct event, refs)); /* other values share the bits after that */
    piece.text = str_clip(rest, EVENTS_PIECE);
    fn(a, &piece);
    a->taken += piece.text.len;
    *held_at += piece.text.len;
    if (*held_at >= e->text.len || !piece.text.len)
        event_unref(TAKE_PTR(*held));
}

static void take_main(struct app *a)
{
    uint64_t seq;

    while (a->observer && !a->is_over) {
        if (!a->held) {
            a->held_at = 0;
            if (observer_take(a->observer, &a->held, &seq) != OBSERVED_EVENT)
                return;
        }
        if (a->taken >= a->frame_bytes && !a->is_away) {
            a->more_events = true;
            return;
        }
        app_take_piece(a, &a->held, &a->held_at, app_event);
        a->is_dirty = true;
    }
}

/* As much as a frame can show in its time: a stream of megabytes must not keep keys waiting. The
 * rest waits for the next frame; a slow terminal slows the agent down in the end. */
void app_take_events(struct app *a)
{
    a->more_events = false;
    /* What comes while a frame is due anyway waits for it: no wake-up for every word. */
    if (a->is_dirty && !a->is_away && !app_frame_is_due(a))
        return;
    take_main(a);
    app_view_take(a);
}
