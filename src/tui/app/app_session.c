/*
 * app_session: the session in front of the user. One replaces another in a single chore: the old
 * agent is waited for and freed, then the new one is made; if that fails, the old session is
 * resumed, or another empty one if it was empty. Keys work throughout. UI thread, except for the
 * chore's run().
 */
#include <string.h>

#include "agent/event.h"
#include "agent/input.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "host/asks.h"
#include "host/chore.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/hub.h"
#include "host/project.h"
#include "host/session.h"
#include "slash/slash.h"
#include "store/store.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "sync/mailbox.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"
#include "tui/status/statusline.h"

#define SESSION_PAST_PROMPTS 1000

/* ---- a session ---- */

void app_session_free(struct app_session *s)
{
    if (!s)
        return;
    if (s->listener)
        s->unlisten(s->listener);
    crew_free(s->crew); /* all who could have answered them are gone */
    slash_free(s->slash);
    host_free(s->host);
    session_free(s->found);
    mem_freep(&s->resume);
    mem_freep(&s);
}

/* Another session takes over: unread messages are for that one. */
static void session_leave(struct app_session *s)
{
    if (s->listener)
        s->unlisten(TAKE_PTR(s->listener));
    crew_free(TAKE_PTR(s->crew));
    slash_leave(TAKE_PTR(s->slash));
    app_session_free(s);
}

struct app_session *app_session_new(const struct session_spec *which)
{
    struct app_session *s = mem_zalloc(sizeof(*s));

    s->crew = crew_new();
    s->which = *which;
    return s;
}

void app_session_go(struct app_session *s, enum front_switch how, struct str id)
{
    s->which = (struct session_spec){.is_unkept = s->which.is_unkept};
    if (how == SWITCH_NEW)
        return;
    mem_freep(&s->resume);
    s->resume = mem_dup(id.ptr, id.len);
    s->which.resume = s->resume;
    s->which.forks = how == SWITCH_FORK;
}

/* ---- the chore ---- */

struct open_chore {
    struct chore chore;
    struct app_session *old, *next; /* its host is still to be made */
    struct app_session *made;
    struct statusline *line; /* the old one's: its thread may be waited for */
    struct host_spec spec;
    enum front_switch how;
    bool is_first;
    bool has_past;     /* prompts were read before */
    struct strv notes; /* for the person */
    struct strv past;
    struct strv waiting, waiting_texts; /* host_left_waiting() */
    struct arena arena;                 /* of the commands */
    slash_item_vec commands;
    bool asks_goal; /* goal_asks() */
    struct buf goal;
    struct err err; /* why it could not be made; with `made`: it is the old one */
};

/* Takes it. */
static struct app_session *open_make(struct open_chore *o, struct app_session *s, struct err *err)
{
    struct host_spec spec = o->spec;

    if (!o->is_first && !session_resumes(&s->which))
        spec.source = "clear";
    spec.session = s->which;
    spec.found = TAKE_PTR(s->found);
    if (host_new(&spec, &o->notes, &s->host, err) < 0) {
        app_session_free(s);
        return NULL;
    }
    s->slash = slash_new(s->host, spec.cancel);
    return s;
}

/* In the place of the one that could not be made. */
static void open_instead(struct open_chore *o, enum front_switch how, struct str id)
{
    struct app_session *s = app_session_new(&o->spec.session);
    struct err err = {0};

    app_session_go(s, how, id);
    o->made = open_make(o, s, &err);
}

static void open_read_past(struct open_chore *o)
{
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf project = BUF_INIT(BUF_NO_LIMIT);
    store_prompt_vec prompts = VEC_INIT;
    struct err err = {0};

    project_key(str_of(conf_dir(o->spec.conf)), &project);
    if (hub_store(host_hub(o->made->host), conf_home(o->spec.conf), o->spec.cancel, &store, &err) <
            0 ||
        store_prompts(store, buf_str(&project), SESSION_PAST_PROMPTS, &arena, &prompts,
                      o->spec.cancel, &err) < 0)
        log_debug("tui", "no earlier prompts: %s", err.text);
    VEC_EACH(&prompts, p) {
        strv_add(&o->past, p->text);
    }
    vec_release(&prompts);
}

static void open_run(struct chore *e)
{
    struct open_chore *o = (struct open_chore *)e;
    CLEANUP(buf_release) struct buf old_id = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(host_choices_freep) struct host_choices *choices = NULL;
    bool has_own_mode;

    if (o->old) {
        buf_adds(&old_id, host_session(o->old->host));
        choices = host_choices(o->old->host);
        statusline_free(TAKE_PTR(o->line));
        host_end_as(o->old->host, o->how == SWITCH_NEW ? "clear" : "resume");
        session_leave(TAKE_PTR(o->old));
    }
    o->made = open_make(o, TAKE_PTR(o->next), &o->err);
    has_own_mode = o->made && o->how == SWITCH_RESUME;
    if (!o->made && old_id.len)
        open_instead(o, SWITCH_RESUME, buf_str(&old_id));
    if (!o->made && old_id.len) /* it has no messages, so there is nothing to resume */
        open_instead(o, SWITCH_NEW, STR(""));
    if (o->made) {
        host_choose(o->made->host, choices, has_own_mode);
        slash_list(o->made->slash, &o->arena, &o->commands);
        host_left_waiting(o->made->host, &o->waiting, &o->waiting_texts);
        o->asks_goal = goal_asks(host_goal(o->made->host), &o->goal);
    }
    if (o->made && !o->has_past)
        open_read_past(o);
}

static void open_free(struct chore *e)
{
    struct open_chore *o = (struct open_chore *)e;

    statusline_free(o->line);
    app_session_free(o->old);
    app_session_free(o->next);
    app_session_free(o->made);
    strv_release(&o->notes);
    strv_release(&o->past);
    strv_release(&o->waiting);
    strv_release(&o->waiting_texts);
    vec_release(&o->commands);
    buf_release(&o->goal);
    arena_release(&o->arena);
    mem_freep(&o);
}

/* ---- it is there ---- */

/* The thread that frees the session waits for it: chores run one after the other. */
struct start_chore {
    struct chore chore;
    struct host *host;
};

static void start_run(struct chore *e)
{
    host_ask_start(((struct start_chore *)e)->host);
}

static void start_free(struct chore *e)
{
    mem_freep(&e);
}

/* SessionStart hooks run when the session is there and its settings count. */
static void session_ask_start(struct app *a)
{
    struct start_chore *s = chore_new(sizeof(*s), start_run, /*done=*/NULL, start_free);

    s->host = app_host(a);
    chores_give(a->chores, s);
}

/* Waits for the user. */
struct trust_chore {
    struct chore chore;
    struct host *host;
    struct err err;
    int result;
};

static void trust_run(struct chore *e)
{
    struct trust_chore *t = (struct trust_chore *)e;

    t->result = host_ask_trust(t->host, /*again=*/false, &t->err);
}

static void trust_done(struct chore *e, void *arg)
{
    struct trust_chore *t = (struct trust_chore *)e;
    struct app *a = arg;

    if (t->result < 0 && t->err.code != ERR_CANCELLED && t->err.code != ERR_UNSUPPORTED)
        chat_note(a->chat, ROLE_WARNING, str_of(t->err.text));
    if (a->tells_untrusted)
        app_tell_untrusted(a);
    a->tells_untrusted = false;
    if (t->host == app_host(a)) {
        a->asks_trust = false;
        if (a->statusline)
            app_status_happened(a, STATUS_SETTINGS);
        session_ask_start(a);
        app_say_waiting(a);
    }
    app_look(a);
}

static void trust_free(struct chore *e)
{
    mem_freep(&e);
}

static void session_ask_trust(struct app *a)
{
    struct trust_chore *t;
    struct err err = {0};

    a->asks_trust = false;
    if (conf_is_trusted(a->conf))
        return;
    t = chore_new(sizeof(*t), trust_run, trust_done, trust_free);
    t->host = app_host(a);
    a->asks_trust = true;
    if (chore_run_beside(a->session->crew, a->mailbox, t, &err) < 0) {
        a->asks_trust = false;
        chat_note(a->chat, ROLE_WARNING, str_of(err.text));
    }
}

/* Chores run one after the other: whatever frees the session comes after this one. */
struct listen_chore {
    struct chore chore;
    struct app_session *session;
    void *(*listen)(struct host *h, struct slash *slash);
};

static void listen_run(struct chore *e)
{
    struct listen_chore *l = (struct listen_chore *)e;

    l->session->listener = l->listen(l->session->host, l->session->slash);
}

static void listen_free(struct chore *e)
{
    mem_freep(&e);
}

static void session_listen(struct app *a)
{
    struct listen_chore *l;

    if (!a->spec->listen)
        return;
    a->session->unlisten = a->spec->unlisten;
    l = chore_new(sizeof(*l), listen_run, /*done=*/NULL, listen_free);
    l->session = a->session;
    l->listen = a->spec->listen;
    chores_give(a->chores, l);
}

/* Reads unread messages; failures become notices. */
static void attend_run(struct chore *e)
{
    struct listen_chore *l = (struct listen_chore *)e;

    (void)slash_attend(l->session->slash, /*uuid=*/STR(""), /*err=*/NULL);
}

void app_attend(struct app *a)
{
    struct listen_chore *l = chore_new(sizeof(*l), attend_run, /*done=*/NULL, listen_free);

    l->session = a->session;
    chores_give(a->chores, l);
}

static void session_watch(struct app *a)
{
    struct statusline_spec line = {.host = app_host(a), .to = a->mailbox};
    struct host *host = app_host(a);
    struct host_past past;
    CLEANUP(buf_release) struct buf provider = BUF_INIT(BUF_NO_LIMIT);

    slash_set_front(a->session->slash, &a->front);
    a->observer = feed_observe(host_feed(host), /*from=*/1, /*flags=*/0, a->mailbox);
    a->asks = asks_join(host_asks(host), a->mailbox);
    a->statusline = statusline_new(&line);
    buf_clear(&a->figures.model);
    host_model(host, &provider, &a->figures.model, &a->figures.window);
    buf_clear(&a->figures.title);
    host_title(host, &a->figures.title);
    host_past(host, &past);
    a->figures.context_tokens = past.tokens;
    a->figures.usd = past.usd;
    a->figures.has_usd = past.usd > 0 && !past.cost_unknown;
    a->answered_ms = past.last_ms;
    a->agents.since_ms = clock_mono_ms();
    a->has_turned = false;
    a->warned_usd = 0;
    buf_clear(&a->tail);
}

void app_unask(struct app *a)
{
    app_agents_forget(a);
    ask_front_leave(a->asks);
    a->asks = NULL;
    app_asks_withdraw(a);
    app_goal_release(&a->goal);
}

static void session_unobserve(struct app *a)
{
    observer_free(a->observer);
    a->observer = NULL;
    event_unref(a->held);
    a->held = NULL;
}

void app_catch_up(struct app *a)
{
    do {
        a->taken = 0;
        a->is_dirty = false; /* no frame in between */
        app_take_events(a);
    } while (a->more_events);
    a->is_dirty = true;
}

/* The old session again, or a new one where that cannot be read either. */
static void open_says_stays(struct app *a, const struct open_chore *o)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "That failed, so %s: %s",
             o->made->which.resume ? "you are still in this session" : "a new session begins",
             o->err.text);
    chat_note(a->chat, ROLE_BAD, buf_str(&text));
}

static void open_failed(struct app *a, struct open_chore *o)
{
    if (o->is_first && o->err.code == ERR_AUTH) {
        app_no_key(a, o->err.text);
    } else if (o->is_first || !o->made) {
        a->end->failed = o->err;
        if (a->has_spoken) /* all of it is on disk */
            memcpy(a->end->session, buf_cstr(&a->resumes), sizeof(a->end->session));
        app_quit(a, /*code=*/2);
    } else {
        open_says_stays(a, o);
    }
}

static void open_done(struct chore *e, void *arg)
{
    struct open_chore *o = (struct open_chore *)e;
    struct app *a = arg;

    app_catch_up(a);
    session_unobserve(a);
    a->is_changing = false;
    if (!o->has_past) {
        strv_release(&a->past);
        a->past = o->past;
        o->past = (struct strv)STRV_INIT;
    }
    if (o->err.code)
        open_failed(a, o);
    if (!o->made)
        return;
    a->session = TAKE_PTR(o->made);
    buf_clear(&a->resumes);
    buf_adds(&a->resumes, host_session(app_host(a)));
    a->has_spoken = session_resumes(&a->session->which);
    session_watch(a);
    app_watch_session(a);
    app_commands_take(a, &o->commands);
    app_greet(a, &o->notes);
    app_sent_kept(a, &o->waiting, &o->waiting_texts);
    session_ask_trust(a);
    if (o->asks_goal)
        app_ask_goal(a, buf_str(&o->goal));
    app_goal_changed(a);
    session_listen(a);
    if (!a->asks_trust) {
        session_ask_start(a);
        app_say_waiting(a);
    }
}

void app_open(struct app *a, struct app_session *next, enum front_switch how, struct strv *notes)
{
    struct open_chore *o = chore_new(sizeof(*o), open_run, open_done, open_free);

    o->spec = *a->spec->host;
    o->next = next;
    buf_init(&o->goal, BUF_NO_LIMIT);
    o->how = how;
    o->is_first = !a->resumes.len;
    o->has_past = a->past.len;
    o->notes = *notes;
    *notes = (struct strv)STRV_INIT;
    o->old = TAKE_PTR(a->session);
    o->line = TAKE_PTR(a->statusline);
    app_sent_anew(a);
    inputs_hold(o->spec.inputs, true);
    a->is_changing = true;
    chores_give(a->chores, o);
}

void app_open_first(struct app *a)
{
    struct strv notes = STRV_INIT;

    app_open(a, app_session_new(&a->spec->host->session), SWITCH_NEW, &notes);
}

/* ---- the end ---- */

static void close_run(struct chore *e)
{
    (void)e; /* what it holds is freed with it */
}

void app_unwatch(struct app *a)
{
    app_unask(a);
    session_unobserve(a);
}

void app_close(struct app *a)
{
    struct open_chore *o;

    if (a->session && a->has_spoken)
        memcpy(a->end->session, host_session(app_host(a)), sizeof(a->end->session));
    if (!a->session || !a->chores)
        return;
    o = chore_new(sizeof(*o), close_run, /*done=*/NULL, open_free);
    o->old = TAKE_PTR(a->session);
    if (!a->end->code) /* ended by the user, not by a signal */
        host_end_as(o->old->host, "prompt_input_exit");
    o->line = TAKE_PTR(a->statusline);
    chores_give(a->chores, o); /* the mailbox is closed: it is freed after all other chores */
}
