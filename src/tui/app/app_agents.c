/*
 * app_agents: who is at work: the rows below the status, a row for the main agent, one for each
 * agent that it or another one has started, and one for each member of the team. They are made anew
 * from the tables of the session when something has happened, and once a second while one of them
 * works. With an empty prompt, Down gives them the keys. UI thread.
 */
#include <string.h>

#include "agent/ask.h"
#include "base/clock.h"
#include "base/test_switch.h"
#include "host/asks.h"
#include "host/chore.h"
#include "host/host.h"
#include "tasks/agents.h"
#include "tasks/team/team.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/term.h"
#include "tui/status/agent_rows.h"

#define AGENTS_KEPT_MS 30000 /* an ended one is shown so long after it was looked at last */
#define AGENTS_TICK_MS 1000
#define AGENTS_MOST 1000 /* rows that are made; more only count */
#define AGENTS_WHAT 300  /* bytes of what one does */

/* ---- who there is ---- */

struct collect {
    struct app *a;
    int64_t now_ms;
};

static bool agent_is_asking(const struct app *a, const char *id)
{
    VEC_EACH(&a->panels, p) {
        if (p->ask && p->ask->ask->by.agent && strcmp(p->ask->ask->by.agent, id) == 0)
            return true;
    }
    return false;
}

static bool agent_is_listed(const struct app *a, const struct task_view *v, int64_t now_ms)
{
    int64_t since_ms = v->ended_ms > a->agents.looked_ms ? v->ended_ms : a->agents.looked_ms;

    if (v->kind != TASK_AGENT) /* members of a team come from its own list */
        return false;
    if (strcmp(v->id, a->viewed.id) == 0 || !task_is_over(v->state))
        return true;
    if (v->ended_ms < a->agents.since_ms || strv_has(&a->agents.cleared, str_of(v->run)))
        return false; /* it is of an earlier process, or was cleared */
    return a->agents.has_focus || now_ms - since_ms < AGENTS_KEPT_MS ||
           test_switch("TENAX_TEST_AGENTS_STAY"); /* a test may be slower than that */
}

static struct str agent_state(const struct app_agent *it, enum task_state s)
{
    switch (s) {
    case TASK_PENDING:
        return STR("queued");
    case TASK_RUNNING:
        return it->asks ? STR("asks") : STR("");
    case TASK_WAITING:
        return it->asks ? STR("asks") : STR("waiting");
    case TASK_COMPLETED:
        return STR("done");
    case TASK_FAILED:
        return STR("failed");
    case TASK_KILLED:
    case TASK_STOPPED:
        return STR("stopped");
    }
    return STR("");
}

static bool collect_task(void *arg, const struct task_view *v)
{
    struct collect *c = arg;
    struct app_agents *all = &c->a->agents;
    struct app_agent *it;

    if (!agent_is_listed(c->a, v, c->now_ms))
        return true;
    it = vec_add(&all->list);
    *it = (struct app_agent){
        .name = arena_str(&all->arena, str_of(v->name   ? v->name
                                              : v->type ? v->type
                                                        : "agent")),
        .is_over = task_is_over(v->state),
        .has_failed = v->state == TASK_FAILED,
        .asks = agent_is_asking(c->a, v->id),
        .began_ms = v->began_ms,
        .ended_ms = v->ended_ms,
        .tokens = v->usage.tokens,
    };
    memcpy(it->id, v->id, strlen(v->id) + 1);
    it->state = agent_state(it, v->state);
    it->what = arena_str(&all->arena, str_clip(v->description, AGENTS_WHAT));
    if (!it->is_over)
        it->doing = arena_str(&all->arena, str_clip(v->activity, AGENTS_WHAT));
    return all->list.len < AGENTS_MOST;
}

/* What it does just now is in its task. */
static void collect_member(void *arg, const struct mate_row *row)
{
    struct collect *c = arg;
    struct app_agents *all = &c->a->agents;
    CLEANUP(buf_release) struct buf name = BUF_INIT(200);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct app_agent *it;
    struct task_view v;

    if (row->state == MATE_GONE || !row->agent)
        return;
    all->members++;
    all->busy_members += row->state == MATE_RUNNING || row->state == MATE_STOPPING;
    if (app_agents_find(c->a, row->agent) || all->list.len >= AGENTS_MOST)
        return;
    buf_addf(&name, "@%s", row->name);
    it = vec_add(&all->list);
    *it = (struct app_agent){
        .name = arena_str(&all->arena, buf_str(&name)),
        .what = arena_str(&all->arena, str_of(row->type ? row->type : "")),
        .color = arena_cstr(&all->arena, str_of(row->color ? row->color : "")),
        .is_member = true,
        .is_over = row->state == MATE_IDLE || row->state == MATE_FAILED,
        .has_failed = row->state == MATE_FAILED,
        .asks = agent_is_asking(c->a, row->agent),
    };
    memcpy(it->id, row->agent, strlen(row->agent) + 1);
    if (it->asks)
        it->state = STR("asks");
    else if (row->state != MATE_RUNNING)
        it->state = arena_str(&all->arena, str_of(mate_state_name(row->state)));
    if (!task_look(host_tasks(app_host(c->a)), str_of(row->task), &arena, &v))
        return;
    it->began_ms = v.began_ms;
    it->tokens = v.usage.tokens;
    if (v.description.len)
        it->what = arena_str(&all->arena, str_clip(v.description, AGENTS_WHAT));
    if (row->state == MATE_RUNNING)
        it->doing = arena_str(&all->arena, str_clip(v.activity, AGENTS_WHAT));
}

const struct app_agent *app_agents_find(const struct app *a, const char *id)
{
    VEC_EACH(&a->agents.list, it) {
        if (strcmp(it->id, id) == 0)
            return it;
    }
    return NULL;
}

/* The same row stays under the cursor, whatever has come and gone above it. */
static void keep_focus(struct app_agents *all, const char *id)
{
    if (!all->has_focus)
        return;
    if (all->focus > all->list.len)
        all->focus = all->list.len;
    for (size_t i = 0; *id && i < all->list.len; i++) {
        if (strcmp(all->list.ptr[i].id, id) == 0)
            all->focus = i + 1;
    }
}

void app_agents_look(struct app *a)
{
    struct app_agents *all = &a->agents;
    struct collect c = {a, clock_mono_ms()};
    char focused[SPAWN_ID_LEN + 1] = "";

    all->is_stale = false;
    all->made_ms = c.now_ms;
    if (all->has_focus && all->focus && all->focus <= all->list.len)
        memcpy(focused, all->list.ptr[all->focus - 1].id, sizeof(focused));
    all->list.len = 0;
    all->members = all->busy_members = 0;
    all->team = STR("");
    arena_reset(&all->arena);
    if (app_host(a)) {
        task_each(host_tasks(app_host(a)), collect_task, &c);
        all->team = team_name(host_team(app_host(a)), &all->arena);
        if (all->team.len)
            team_each(host_team(app_host(a)), collect_member, &c);
    }
    keep_focus(all, focused);
    if (!all->list.len)
        all->has_focus = false;
}

void app_agents_refresh(struct app *a)
{
    if (a->agents.is_stale || clock_mono_ms() - a->agents.made_ms >= AGENTS_TICK_MS)
        app_agents_look(a);
}

/* While one of them works its time moves; one that has ended goes by itself. */
int64_t app_agents_due(const struct app *a, int64_t now_ms)
{
    if (term_able(a->term)->is_plain) /* it has no rows */
        return -1;
    if (a->agents.is_stale)
        return now_ms;
    return a->agents.list.len ? a->agents.made_ms + AGENTS_TICK_MS : -1;
}

void app_agents_forget(struct app *a)
{
    app_view_drop(a);
    a->agents.list.len = 0;
    a->agents.has_focus = false;
    a->agents.is_stale = true;
    strv_clear(&a->agents.cleared);
}

void app_agents_release(struct app *a)
{
    vec_release(&a->agents.list);
    strv_release(&a->agents.cleared);
    arena_release(&a->agents.arena);
    buf_release(&a->agents.pill);
}

/* ---- as rows ---- */

static struct agent_row row_of(const struct app *a, const struct app_agent *it, int64_t now_ms)
{
    int64_t until_ms = it->is_over ? it->ended_ms : now_ms;

    return (struct agent_row){
        .name = it->name,
        .what = it->what,
        .doing = it->doing,
        .state = it->state,
        .role = it->has_failed ? ROLE_BAD
                : it->asks     ? ROLE_WARNING
                               : ROLE_FAINT,
        .color = it->color,
        .elapsed_ms = it->began_ms ? until_ms - it->began_ms : -1,
        .tokens = it->tokens,
        .is_shown = strcmp(it->id, a->viewed.id) == 0,
        .is_running = !it->is_over,
    };
}

void app_agents_draw(struct app *a, const struct view *v, struct lines *ret)
{
    struct app_agents *all = &a->agents;
    VEC(struct agent_row) rows = VEC_INIT;
    int64_t now_ms = clock_mono_ms();
    struct agent_row main_row = {
        .name = STR("main"),
        .elapsed_ms = -1,
        .is_shown = !app_is_viewing(a),
        .is_running = chat_is_busy(a->chat),
    };

    if (!all->list.len)
        return;
    vec_push(&rows, main_row);
    VEC_EACH(&all->list, it) {
        vec_push(&rows, row_of(a, it, now_ms));
    }
    agent_rows_draw(rows.ptr, rows.len, all->has_focus ? all->focus : AGENT_ROWS_NONE, v, ret);
    vec_release(&rows);
}

/* ---- their keys ---- */

struct stop_chore {
    struct chore chore;
    struct host *host;
    char id[SPAWN_ID_LEN + 1]; /* "": all in the background */
    char *member;              /* of the team; or NULL */
    size_t count;
    struct err err;
    int result;
};

static void stop_run(struct chore *e)
{
    struct stop_chore *s = (struct stop_chore *)e;

    if (s->member)
        s->result = team_kill(host_team(s->host), str_of(s->member), "user", &s->err);
    else if (*s->id)
        s->result = task_stop(host_tasks(s->host), /*by=*/NULL, str_of(s->id), &s->err);
    else
        s->count = agents_stop_background(host_agents(s->host));
}

static void stop_done(struct chore *e, void *arg)
{
    struct stop_chore *s = (struct stop_chore *)e;
    struct app *a = arg;

    if (s->result < 0)
        app_hint(a, "%s", s->err.text);
    else if (!*s->id && !s->member && !s->count)
        app_hint(a, "No agent runs in the background");
    else if (!*s->id && !s->member)
        app_hint(a, "Stopped %zu agent%s in the background", s->count, s->count == 1 ? "" : "s");
    a->agents.is_stale = true;
    a->is_dirty = true;
}

static void stop_free(struct chore *e)
{
    mem_freep(&((struct stop_chore *)e)->member);
    mem_freep(&e);
}

static void agent_stop(struct app *a, const struct app_agent *it)
{
    struct stop_chore *s = chore_new(sizeof(*s), stop_run, stop_done, stop_free);

    s->host = app_host(a);
    if (it && it->is_member)
        s->member = mem_dup(it->name.ptr + 1, it->name.len - 1);
    else if (it)
        memcpy(s->id, it->id, sizeof(s->id));
    if (it)
        app_hint(a, "Stopping %.*s", STR_ARG(it->name));
    chores_give(a->chores, s);
}

void app_agents_stop_all(struct app *a)
{
    if (app_host(a))
        agent_stop(a, NULL);
}

static void agent_clear(struct app *a, const struct app_agent *it)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;

    if (task_look(host_tasks(app_host(a)), str_of(it->id), &arena, &v))
        strv_add(&a->agents.cleared, str_of(v.run));
    if (strcmp(it->id, a->viewed.id) == 0)
        app_view_agent(a, NULL);
    a->agents.focus = 0; /* another x is not for the row that comes to stand here */
    app_agents_look(a);
}

struct str app_agents_hint(const struct app *a)
{
    const struct app_agent *it = a->agents.focus ? &a->agents.list.ptr[a->agents.focus - 1] : NULL;

    if (!it)
        return STR("Enter view · Esc back");
    return it->is_over && !it->is_member ? STR("Enter view · x clear · Esc back")
                                         : STR("Enter view · x stop · Esc back");
}

static void focus_leave(struct app *a)
{
    a->agents.has_focus = false;
    a->agents.looked_ms = clock_mono_ms();
}

static void focus_move(struct app *a, int by)
{
    struct app_agents *all = &a->agents;

    if (by < 0 && !all->focus)
        focus_leave(a);
    else if (by < 0)
        all->focus--;
    else if (all->focus < all->list.len)
        all->focus++;
}

static void focus_stop(struct app *a)
{
    const struct app_agent *it = a->agents.focus ? &a->agents.list.ptr[a->agents.focus - 1] : NULL;

    if (!it)
        app_hint(a, "Esc interrupts the main agent");
    else if (it->is_over && !it->is_member)
        agent_clear(a, it);
    else
        agent_stop(a, it);
}

/* Down in an empty prompt. */
static bool focus_enter(struct app *a, const struct keypress *k)
{
    if (!keypress_is(k, "down") || !editor_is_empty(a->editor) || !a->agents.list.len ||
        term_able(a->term)->is_plain)
        return false;
    a->agents.has_focus = true;
    a->agents.focus = 0;
    return true;
}

bool app_agents_key(struct app *a, const struct keypress *k)
{
    struct app_agents *all = &a->agents;
    const char *id;

    if (!app_host(a))
        return false;
    if (!all->has_focus)
        return focus_enter(a, k);
    all->looked_ms = clock_mono_ms();
    if (keypress_is(k, "up") || keypress_is(k, "ctrl+p")) {
        focus_move(a, -1);
    } else if (keypress_is(k, "down") || keypress_is(k, "ctrl+n")) {
        focus_move(a, 1);
    } else if (keypress_is(k, "enter")) {
        id = all->focus ? all->list.ptr[all->focus - 1].id : NULL;
        app_view_agent(a, id);
    } else if (keypress_is(k, "esc")) {
        focus_leave(a);
    } else if (k->code == KEY_TEXT && str_is(k->text, "x")) {
        focus_stop(a);
    } else {
        focus_leave(a);
        return false; /* it is for the editor */
    }
    return true;
}
