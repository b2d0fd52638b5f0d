/*
 * app_view: the conversation of another agent in the place of the main one's. It is a conversation
 * like that one (chat.h), fed by a separate observer that sees all agents and picks the one that is
 * shown. What it said before comes from the events that are still kept or, where those do not reach
 * back to its beginning, from its file. The main conversation continues unseen, and what it
 * adds is shown when it is back. UI thread, except the chores' run().
 */
#include <string.h>

#include "agent/event.h"
#include "agent/spawn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/identity.h"
#include "host/chore.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "sync/mailbox.h"
#include "tasks/agents.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/chat/transcript_view.h"
#include "tui/screen/screen.h"

#define VIEW_TURNS 50

struct chat *app_shown(const struct app *a)
{
    return app_is_viewing(a) ? a->viewed.chat : a->chat;
}

bool app_is_viewing(const struct app *a)
{
    return *a->viewed.id;
}

static void view_path(const struct app *a, struct buf *ret)
{
    buf_addf(ret, "%s/subagents/agent-%s.jsonl", host_folder(app_host(a)), a->viewed.id);
}

/* ---- its events ---- */

static bool view_is_of(const struct app *a, const struct event *e)
{
    return e->by.agent && strcmp(e->by.agent, a->viewed.id) == 0;
}

static void view_event(struct app *a, const struct event *e)
{
    struct app_viewed *w = &a->viewed;

    if (!view_is_of(a, e))
        return;
    w->has_begun |= e->kind == EVENT_TURN_STARTED;
    if (e->kind == EVENT_STEP_STARTED)
        w->step_seq = e->seq;
    else if (e->kind == EVENT_STEP_DONE || e->kind == EVENT_STEP_CUT || e->kind == EVENT_TURN_DONE)
        w->step_seq = 0;
    chat_event(w->chat, e, clock_mono_ms());
    a->is_dirty = true;
}

static void view_observe(struct app *a, uint64_t from)
{
    a->viewed.observer = feed_observe(host_feed(app_host(a)), from, OBSERVER_CHILDREN, a->mailbox);
}

static void view_unobserve(struct app *a)
{
    observer_free(a->viewed.observer);
    a->viewed.observer = NULL;
    event_unref(a->viewed.held);
    a->viewed.held = NULL;
}

/* ---- what it said before, from its file ---- */

struct load_chore {
    struct chore chore;
    struct chat *chat;
    char id[SPAWN_ID_LEN + 1];
    struct buf path;
    bool runs;
    uint64_t from; /* where its events go on */
    struct cancel *cancel;
    struct err err;
    int result;
};

static void load_run(struct chore *e)
{
    struct load_chore *l = (struct load_chore *)e;

    l->result = chat_history(l->chat, buf_cstr(&l->path), VIEW_TURNS, l->runs, l->cancel, &l->err);
}

static void load_free(struct chore *e)
{
    struct load_chore *l = (struct load_chore *)e;

    chat_free(l->chat);
    buf_release(&l->path);
    mem_freep(&l);
}

static void load_done(struct chore *e, void *arg)
{
    struct load_chore *l = (struct load_chore *)e;
    struct app *a = arg;
    struct app_viewed *w = &a->viewed;

    if (strcmp(l->id, w->id) != 0 || !w->is_loading)
        return; /* another one is shown already */
    w->is_loading = w->is_coming = false;
    a->is_dirty = true;
    if (l->result == 0) {
        struct chat *old = w->chat;

        w->chat = TAKE_PTR(l->chat);
        chat_free(old);
    } else {
        chat_note(w->chat, ROLE_FAINT, str_of(l->err.text));
    }
    view_observe(a, l->from);
}

/* New ones wait in the feed. */
static void view_load(struct app *a, uint64_t from)
{
    const struct app_agent *it = app_agents_find(a, a->viewed.id);
    struct load_chore *l = chore_new(sizeof(*l), load_run, load_done, load_free);

    l->chat = app_chat_new(a, /*is_agent=*/true);
    memcpy(l->id, a->viewed.id, sizeof(l->id));
    buf_init(&l->path, BUF_NO_LIMIT);
    view_path(a, &l->path);
    l->runs = it && !it->is_over;
    l->from = from;
    l->cancel = a->spec->host->cancel;
    a->viewed.is_loading = true;
    view_unobserve(a);
    chores_give(a->chores, l);
}

/* All that is kept has come. */
static void view_came(struct app *a, uint64_t seq)
{
    struct app_viewed *w = &a->viewed;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    view_path(a, &path);
    if (!w->has_begun && file_exists(buf_cstr(&path))) {
        view_load(a, w->step_seq ? w->step_seq : seq);
        return;
    }
    w->is_coming = false;
    a->is_dirty = true;
}

void app_view_take(struct app *a)
{
    struct app_viewed *w = &a->viewed;
    uint64_t seq = 0;

    while (w->observer && !a->is_over) {
        if (!w->held) {
            enum observed what = observer_take(w->observer, &w->held, &seq);

            w->held_at = 0;
            if (what == OBSERVED_GAP)
                continue;
            if (what != OBSERVED_EVENT) {
                if (w->is_coming)
                    view_came(a, feed_next(host_feed(app_host(a))));
                return;
            }
        }
        if (a->taken >= a->frame_bytes && !a->is_away) {
            a->more_events = true;
            return;
        }
        app_take_piece(a, &w->held, &w->held_at, view_event);
    }
}

/* ---- shown, and left ---- */

static void view_names(struct app *a, const char *id)
{
    struct app_viewed *w = &a->viewed;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct app_agent *it = app_agents_find(a, id);
    struct task_view v = {0};
    struct str what = {0};

    buf_clear(&w->name);
    buf_clear(&w->hint);
    if (task_look(host_tasks(app_host(a)), str_of(id), &arena, &v)) {
        buf_adds(&w->name, v.name ? v.name : v.type ? v.type : "agent");
        what = str_clip(str_first(v.description, str_chr(v.description, '\n')), 200);
    } else if (it) {
        buf_add(&w->name, it->name);
    }
    buf_addf(&w->hint, "message %s, Esc to go back", buf_cstr(&w->name));
    buf_add(&w->rule, buf_str(&w->name));
    if (what.len)
        buf_addf(&w->rule, ": %.*s", STR_ARG(what));
}

static void view_leave(struct app *a)
{
    struct app_viewed *w = &a->viewed;

    view_unobserve(a);
    chat_free(w->chat);
    w->chat = NULL;
    w->id[0] = '\0';
    w->is_coming = w->is_loading = w->is_first = false;
    a->agents.looked_ms = clock_mono_ms();
}

void app_view_drop(struct app *a)
{
    buf_clear(&a->viewed.rule);
    if (app_is_viewing(a))
        view_leave(a);
}

void app_view_agent(struct app *a, const char *id)
{
    struct app_viewed *w = &a->viewed;
    bool was_viewing = app_is_viewing(a);
    size_t lost;

    if ((!id && !was_viewing) || (id && strcmp(id, w->id) == 0) || (id && !app_host(a)))
        return;
    lost = screen_lost(a->screen);
    if (lost)
        chat_lost(app_shown(a), lost);
    a->is_dirty = true;
    buf_clear(&w->rule);
    if (was_viewing)
        view_leave(a);
    if (!id) {
        buf_adds(&w->rule, "main");
        return;
    }
    memcpy(w->id, id, strlen(id) + 1);
    view_names(a, id);
    w->chat = app_chat_new(a, /*is_agent=*/true);
    w->step_seq = 0;
    w->has_begun = false;
    w->is_coming = w->is_first = true;
    view_observe(a, /*from=*/1);
}

/* ---- a message to it ---- */

struct say_chore {
    struct chore chore;
    struct host *host;
    char id[SPAWN_ID_LEN + 1];
    struct buf text;
    bool is_member, resumed;
    struct err err;
    int result;
};

static void say_run(struct chore *e)
{
    struct say_chore *s = (struct say_chore *)e;
    struct spawner *spawner = host_spawner(s->host);
    struct agents_note note = {
        .permit = host_permit(s->host),
        .workspace = host_workspace(s->host),
        .to = str_of(s->id),
        .text = buf_str(&s->text),
    };
    char id[SPAWN_ID_LEN + 1];

    if (s->is_member)
        s->result = spawner->send(spawner, s->id, buf_str(&s->text), INPUT_NEXT, &s->err);
    else
        s->result = agents_message(host_agents(s->host), &note, &s->resumed, id, &s->err);
}

static void say_done(struct chore *e, void *arg)
{
    struct say_chore *s = (struct say_chore *)e;
    struct app *a = arg;

    a->agents.is_stale = true;
    a->is_dirty = true;
    if (s->result < 0)
        chat_note(app_shown(a), ROLE_BAD, str_of(s->err.text));
    else if (s->resumed)
        app_hint(a, "Resumed with your message, in the background");
    else
        app_hint(a, "Sent; it reads the message at its next step");
}

static void say_free(struct chore *e)
{
    buf_release(&((struct say_chore *)e)->text);
    mem_freep(&e);
}

void app_view_say(struct app *a, struct str text)
{
    const struct app_agent *it = app_agents_find(a, a->viewed.id);
    struct say_chore *s = chore_new(sizeof(*s), say_run, say_done, say_free);

    s->host = app_host(a);
    memcpy(s->id, a->viewed.id, sizeof(s->id));
    s->is_member = it && it->is_member;
    buf_init(&s->text, BUF_NO_LIMIT);
    buf_add(&s->text, text);
    chores_give(a->chores, s);
}

/* ---- all that it has said ---- */

void app_view_transcript(struct app *a)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct app_panel p = {0};
    struct err err = {0};

    view_path(a, &path);
    p.panel = transcript_view_new(buf_cstr(&path), chat_last_item(a->viewed.chat), &err);
    if (p.panel)
        app_show_first(a, &p);
    else
        app_hint(a, "%s", err.text);
}
