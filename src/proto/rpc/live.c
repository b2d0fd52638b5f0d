/*
 * live: a session from the request that opens it to the chore that frees it.
 */
#include "proto/rpc/live.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/chore.h"
#include "host/events/feed.h"
#include "host/hub.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/listen.h"
#include "proto/thread_goal.h"
#include "slash/slash.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/transcript/find.h"
#include "sync/mailbox.h"

/* A caller that wants a session that is being opened. */
struct live_waiter {
    live_opened_fn fn;
    void *arg;
};

struct live_table {
    struct live_table_spec spec;
    struct hub *hub;
    struct listen *listen;
    VEC(struct live *) all;
    VEC(struct opening *) opening;
    size_t away; /* chores that have not come back */
};

/* The chore that opens one. */
struct opening {
    struct chore chore;
    struct live_table *table;
    struct live *live;
    char *dir, *resume; /* NULL: a new one */
    bool forks, is_unkept, trusts;
    struct strv folders;
    struct buf servers, settings, system, append;
    struct buf holder;
    struct err err;
    VEC(struct live_waiter) waiters;
};

struct hub *live_table_hub(struct live_table *t)
{
    return t->hub;
}

struct live_table *live_table_new(const struct live_table_spec *spec)
{
    struct live_table *t = mem_zalloc(sizeof(*t));

    t->spec = *spec;
    t->hub = hub_new();
    return t;
}

struct live *live_find(struct live_table *t, struct str id)
{
    VEC_EACH(&t->all, it) {
        if (str_is(id, (*it)->id) && !(*it)->is_closing)
            return *it;
    }
    return NULL;
}

size_t live_count(const struct live_table *t)
{
    return t->all.len;
}

struct live *live_at(const struct live_table *t, size_t i)
{
    return t->all.ptr[i];
}

/* ---- Chores ---- */

void live_do(struct live *l, void *chore)
{
    l->table->away++;
    chores_give(l->chores, chore);
}

void live_do_beside(struct live_table *t, void *chore)
{
    t->away++;
    /* Without a thread for it the chore is freed, which is its answer. */
    if (chore_run_beside(hub_crew(t->hub), t->spec.back, chore, /*err=*/NULL) < 0)
        t->away--;
}

void live_chore(struct live_table *t, struct mail *m)
{
    struct chore *e = (struct chore *)m;

    t->away--;
    if (e->done)
        e->done(e, t);
    mail_free(m);
}

/* ---- Opening ---- */

static void opening_free(struct chore *e)
{
    struct opening *o = (struct opening *)e;

    mem_freep(&o->dir);
    mem_freep(&o->resume);
    strv_release(&o->folders);
    buf_release(&o->holder);
    buf_release(&o->servers);
    buf_release(&o->settings);
    buf_release(&o->system);
    buf_release(&o->append);
    vec_release(&o->waiters);
    mem_freep(&o);
}

/* What the client has said of the session, before its first input. */
static int opening_apply(struct opening *o, struct host *h, struct err *err)
{
    struct str system = buf_str(&o->system);
    struct str append = buf_str(&o->append);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *settings = NULL;

    for (size_t i = 0; i < o->folders.len; i++) {
        if (host_add_folder(h, str_of(o->folders.ptr[i]), /*save=*/false, "register_repo_root",
                            &o->live->notes, err) < 0)
            return -1;
    }
    if (o->settings.len &&
        (json_parse(&arena, buf_str(&o->settings), &settings, /*ret_info=*/NULL, err) < 0 ||
         host_lay_over(h, settings, err) < 0))
        return -1;
    if (!system.len && !append.len)
        return 0;
    return host_set_prompt(h, system.len ? &system : NULL, append.len ? &append : NULL, err);
}

/* Who has it. */
static void opening_look(struct opening *o)
{
    CLEANUP(holder_release) struct holder holder = {0};
    struct jw w;

    if (hold_look(conf_home(o->live->conf), o->resume, &holder, /*err=*/NULL) <= 0)
        return;
    jw_init(&w, &o->holder, JW_CLEAN);
    jw_object(&w);
    jw_ki64(&w, "pid", holder.pid);
    jw_kstr(&w, "host", buf_str(&holder.host));
    jw_object_end(&w);
}

/* The folder that a session was in. */
static void opening_find_dir(struct opening *o)
{
    const struct live_table_spec *spec = &o->table->spec;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct find_scope scope = {0};
    struct store_session row;

    if (spec->settings(spec->arg, /*dir=*/NULL, o->trusts, &conf, /*err=*/NULL) < 0)
        return;
    scope.home = conf_home(conf);
    scope.dir = conf_dir(conf);
    if (find_session(&scope, str_of(o->resume), spec->host->cancel, &path, /*err=*/NULL) == 0 &&
        index_read(buf_cstr(&path), spec->host->cancel, &arena, &row, /*err=*/NULL) == 0 &&
        row.cwd.len)
        o->dir = mem_dup(row.cwd.ptr, row.cwd.len);
}

static void opening_run(struct chore *e)
{
    struct opening *o = (struct opening *)e;
    const struct live_table_spec *spec = &o->table->spec;
    struct host_spec host = *spec->host;
    struct live *l = o->live;
    struct stream_json_options show = {0};

    if (!o->dir && o->resume)
        opening_find_dir(o);
    if (spec->settings(spec->arg, o->dir, o->trusts, &l->conf, &o->err) < 0)
        return;
    host.hub = o->table->hub;
    host.conf = l->conf;
    host.inputs =
        NULL; /* a separate queue: with one for all, prompts would end up in any session */
    host.mcp_servers = buf_str(&o->servers);
    host.session =
        (struct session_spec){.resume = o->resume, .forks = o->forks, .is_unkept = o->is_unkept};
    if (host_new(&host, &l->notes, &l->host, &o->err) < 0) {
        if (o->err.code == ERR_BUSY && o->resume)
            opening_look(o);
        return;
    }
    if (opening_apply(o, l->host, &o->err) < 0) {
        host_free(TAKE_PTR(l->host));
        return;
    }
    memcpy(l->id, host_session(l->host), ID_UUID_LEN + 1);
    l->slash = slash_new(l->host, host.cancel);
    peer_session_init(&l->control, l->host, l->slash, &show);
}

static void live_free(struct live *l)
{
    chores_free(l->chores);
    conf_unref(l->conf);
    strv_release(&l->notes);
    observer_free(l->observer);
    vec_release(&l->reopen);
    mem_freep(&l);
}

/* Not worth failing for. */
static void live_publish(struct live *l)
{
    struct live_table *t = l->table;
    struct err err = {0};

    if (t->listen) {
        listen_add(t->listen, &l->control);
    } else if (listen_start(&l->control, &t->listen, &err) < 0) {
        log_debug("rpc", "no control socket: %s", err.text);
        return;
    }
    l->is_public = true;
}

static void opening_done(struct chore *e, void *arg)
{
    struct opening *o = (struct opening *)e;
    struct live_table *t = arg;
    struct live *l = o->live;
    bool is_wanted = false;

    for (size_t i = 0; i < t->opening.len; i++) {
        if (t->opening.ptr[i] == o)
            t->opening.ptr[i] = t->opening.ptr[--t->opening.len];
    }
    if (l->host) {
        vec_push(&t->all, l);
        live_publish(l);
    } else {
        live_free(l);
        l = NULL;
    }
    VEC_EACH(&o->waiters, w) {
        is_wanted |= w->fn(w->arg, l, buf_str(&o->holder), l ? NULL : &o->err);
    }
    if (l && !is_wanted)
        live_close_unused(l, /*begins=*/false);
}

/* One of this id that is closing. */
static struct live *find_closing(struct live_table *t, const char *id)
{
    VEC_EACH(&t->all, it) {
        if ((*it)->is_closing && strcmp((*it)->id, id) == 0)
            return *it;
    }
    return NULL;
}

void live_open(struct live_table *t, const struct live_spec *spec, live_opened_fn fn, void *arg)
{
    struct live_waiter waiter = {fn, arg};
    struct live *there = spec->resume && !spec->forks ? live_find(t, str_of(spec->resume)) : NULL;
    struct err err = {0};
    struct opening *o;

    if (there) {
        if (!fn(arg, there, STR(""), /*err=*/NULL))
            live_close_unused(there, /*begins=*/false);
        return;
    }
    for (size_t i = 0; i < t->opening.len && spec->resume && !spec->forks; i++) {
        struct opening *other = t->opening.ptr[i];

        if (!other->resume || other->forks || strcmp(other->resume, spec->resume) != 0)
            continue;
        vec_push(&other->waiters, waiter);
        return;
    }
    o = chore_new(sizeof(*o), opening_run, opening_done, opening_free);
    o->table = t;
    o->live = mem_zalloc(sizeof(*o->live));
    o->live->table = t;
    o->live->chores = chores_new(t->spec.back, &err);
    o->dir = spec->dir ? mem_dup(spec->dir, strlen(spec->dir)) : NULL;
    o->resume = spec->resume ? mem_dup(spec->resume, strlen(spec->resume)) : NULL;
    o->forks = spec->forks;
    o->is_unkept = spec->is_unkept;
    o->trusts = spec->trusts;
    if (spec->folders)
        strv_add_all(&o->folders, spec->folders);
    buf_init(&o->holder, 4096);
    buf_init(&o->servers, BUF_NO_LIMIT);
    buf_add(&o->servers, spec->servers);
    buf_init(&o->settings, BUF_NO_LIMIT);
    buf_init(&o->system, BUF_NO_LIMIT);
    buf_init(&o->append, BUF_NO_LIMIT);
    buf_add(&o->settings, spec->settings);
    buf_add(&o->system, spec->system);
    buf_add(&o->append, spec->append);
    if (!o->live->chores) {
        live_free(o->live);
        opening_free(&o->chore);
        (void)fn(arg, /*live=*/NULL, STR(""), &err);
        return;
    }
    vec_push(&o->waiters, waiter);
    vec_push(&t->opening, o);
    there = o->resume ? find_closing(t, o->resume) : NULL;
    if (there)
        vec_push(&there->reopen, o);
    else
        live_do(o->live, o);
}

/* ---- Closing ---- */

struct closing {
    struct chore chore;
    struct live *live;
    live_closed_fn fn;
    void *arg;
};

static void closing_free(struct chore *e)
{
    mem_freep(&e);
}

static void closing_run(struct chore *e)
{
    struct live *l = ((struct closing *)e)->live;

    slash_free(TAKE_PTR(l->slash));
    host_free(TAKE_PTR(l->host));
    peer_session_release(&l->control);
}

static void closing_done(struct chore *e, void *arg)
{
    struct closing *c = (struct closing *)e;
    struct live_table *t = arg;

    for (size_t i = 0; i < t->all.len; i++) {
        if (t->all.ptr[i] == c->live) {
            memmove(&t->all.ptr[i], &t->all.ptr[i + 1],
                    (t->all.len - i - 1) * sizeof(struct live *));
            t->all.len--;
        }
    }
    if (c->fn)
        c->fn(c->arg);
    if (t->spec.closed)
        t->spec.closed(t->spec.closed_arg, c->live->id);
    VEC_EACH(&c->live->reopen, o) {
        live_do((*o)->live, *o);
    }
    live_free(c->live);
}

void live_close(struct live *l, live_closed_fn fn, void *arg)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;
    struct closing *c;

    if (l->is_closing)
        return;
    c = chore_new(sizeof(*c), closing_run, closing_done, closing_free);
    l->is_closing = true;
    observer_free(TAKE_PTR(l->observer));
    slash_interrupt(l->slash);
    host_interrupt(l->host, /*drop_queued=*/false, &queued);
    if (l->is_public)
        listen_remove(l->table->listen, &l->control);
    c->live = l;
    c->fn = fn;
    c->arg = arg;
    live_do(l, c);
}

void live_close_unused(struct live *l, bool begins)
{
    if (l->users || l->is_closing || l->observer)
        return;
    /* It observes before it looks, so that it misses no end. */
    l->observer = feed_observe(host_feed(l->host), FEED_NOW, /*flags=*/0, l->table->spec.back);
    observer_wake_on(l->observer, EVENT_BIT(EVENT_TURN_DONE));
    if (!begins && !host_in_turn(l->host))
        live_close(l, /*fn=*/NULL, /*arg=*/NULL);
}

/* True: its last turn is over, and no other begins by itself. */
static bool live_has_rested(struct live *l)
{
    bool has_rested = false;

    for (;;) {
        struct event *e = NULL;
        uint64_t seq;

        if (observer_take(l->observer, &e, &seq) != OBSERVED_EVENT)
            return has_rested;
        if (e->kind == EVENT_TURN_STARTED)
            has_rested = false;
        else if (e->kind == EVENT_TURN_DONE)
            has_rested = !e->report->queued && !thread_goal_goes_on(l->host, e->report);
        event_unref(e);
    }
}

void live_observed(struct live_table *t, const struct observer *observer)
{
    VEC_EACH(&t->all, it) {
        struct live *l = *it;

        if (l->observer != observer || l->is_closing)
            continue;
        if (live_has_rested(l) && !l->users)
            live_close(l, /*fn=*/NULL, /*arg=*/NULL);
        else if (l->users)
            observer_free(TAKE_PTR(l->observer));
        return;
    }
}

void live_table_free(struct live_table *t)
{
    struct mail *m = NULL;

    if (!t)
        return;
    VEC_EACH(&t->all, l) {
        live_close(*l, /*fn=*/NULL, /*arg=*/NULL);
    }
    while (t->away &&
           mailbox_take(t->spec.back, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, /*err=*/NULL) == 0) {
        if (m->kind != &chore_mail_kind) {
            mail_free(m);
            continue;
        }
        live_chore(t, m);
        /* One that was still being opened is here now. */
        VEC_EACH(&t->all, l) {
            live_close(*l, /*fn=*/NULL, /*arg=*/NULL);
        }
    }
    listen_stop(t->listen);
    vec_release(&t->all);
    vec_release(&t->opening);
    hub_free(t->hub);
    mem_freep(&t);
}
