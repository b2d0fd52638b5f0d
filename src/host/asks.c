/*
 * asks: questions that wait for the user. Any thread.
 *
 * One gate guards the list; an asker waits on it until its entry is answered. The entry is on the
 * asker's stack and used only with the gate held; front ends get a reference-counted copy, which
 * may still be in a mailbox when the asker is gone.
 */
#include "host/asks.h"

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "json/json.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/wait.h"

/* An ask as passed to front ends. */
struct ask_copy {
    atomic_int refs;
    struct ask ask;
    struct arena arena;
};

struct ask_entry {
    uint64_t id;
    struct ask_copy *copy;
    struct ask_answer *answer; /* the asker's */
    struct err *err;           /* the asker's */
    struct cancel *cancel;     /* the asker's; or NULL */
    bool shown;                /* to the current front ends */
    bool done;
    int result;
};

struct ask_front {
    uint64_t number;
    struct asks *asks;
    struct mailbox *to;
    bool only_forms;
};

struct asks {
    struct asker asker; /* must be first: askers have a pointer to it */
    struct gate gate;   /* guards all fields below */
    VEC(struct ask_entry *) waiting;
    VEC(struct ask_front *) fronts;
    uint64_t last_id;
    bool told; /* the last value passed to on_waiting */
    bool telling;
    void (*on_waiting)(bool waiting, void *arg);
    void *arg;
};

static struct ask_copy *copy_new(const struct ask *from)
{
    struct ask_copy *c = mem_zalloc(sizeof(*c));
    struct ask *to = &c->ask;

    atomic_init(&c->refs, 1);
    *to = *from;
    to->by = identity_copy(&c->arena, &from->by);
    to->tool_name = arena_str(&c->arena, from->tool_name);
    to->tool_use_id = arena_str(&c->arena, from->tool_use_id);
    to->input = arena_str(&c->arena, from->input);
    to->suggestions = arena_str(&c->arena, from->suggestions);
    to->effects = arena_str(&c->arena, from->effects);
    to->reason = arena_str(&c->arena, from->reason);
    to->blocked_path = arena_str(&c->arena, from->blocked_path);
    if (from->reason_type)
        to->reason_type = arena_cstr(&c->arena, str_of(from->reason_type));
    return c;
}

static void copy_unref(struct ask_copy *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    arena_release(&c->arena);
    mem_freep(&c);
}

static void ask_mail_free(struct mail *m)
{
    struct ask_mail *am = (struct ask_mail *)m;

    copy_unref(am->shared);
    mem_freep(&am);
}

const struct mail_kind ask_mail_kind = {"ask", ask_mail_free};

/* The gate is held: mailboxes never wait and call nothing. */
static void front_mail(struct ask_front *f, enum ask_mail_what what, const struct ask_entry *e)
{
    struct ask_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &ask_mail_kind;
    m->what = what;
    m->id = e->id;
    m->front = f->number;
    if (what == ASK_PUT) {
        atomic_fetch_add_explicit(&e->copy->refs, 1, memory_order_relaxed);
        m->shared = e->copy;
        m->ask = &e->copy->ask;
        m->mail.bytes = e->copy->arena.total;
    }
    mailbox_send(f->to, &m->mail);
}

static bool front_takes(const struct ask_front *f, const struct ask *ask)
{
    return !f->only_forms || ask->kind == ASK_ELICITATION;
}

/* The gate must be held. */
static bool asks_has_front(const struct asks *a, const struct ask *ask)
{
    VEC_EACH(&a->fronts, it) {
        if (front_takes(*it, ask))
            return true;
    }
    return false;
}

static void asks_wake(void *arg)
{
    struct asks *a = arg;

    gate_take(&a->gate);
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

/* The gate must be held; it is released for the calls. Only one thread at a time makes them and
 * checks again at the end, so that they are in the order of the changes. */
static void asks_tell(struct asks *a)
{
    if (a->telling)
        return;
    a->telling = true;
    while (a->told != (a->waiting.len > 0)) {
        bool now = a->waiting.len > 0;

        a->told = now;
        gate_give(&a->gate);
        a->on_waiting(now, a->arg);
        gate_take(&a->gate);
    }
    a->telling = false;
}

static void asks_remove(struct asks *a, const struct ask_entry *e)
{
    for (size_t i = 0; i < a->waiting.len; i++) {
        if (a->waiting.ptr[i] == e) {
            for (; i + 1 < a->waiting.len; i++)
                a->waiting.ptr[i] = a->waiting.ptr[i + 1];
            a->waiting.len--;
            return;
        }
    }
}

/* The gate must be held. by: the front that answered; all others are notified. */
static void asks_end(struct asks *a, struct ask_entry *e, int result, const struct ask_front *by)
{
    e->result = result;
    e->done = true;
    asks_remove(a, e);
    VEC_EACH(&a->fronts, it) {
        if (*it != by && front_takes(*it, &e->copy->ask))
            front_mail(*it, ASK_WITHDRAWN, e);
    }
    gate_wake(&a->gate);
}

static int asks_put(struct asker *self, const struct ask *ask, struct cancel *cancel,
                    struct ask_answer *ret, struct err *err)
{
    struct asks *a = (struct asks *)self;
    struct ask_entry e = {.answer = ret, .err = err, .cancel = cancel};
    struct cancel_hook *hook;

    if (cancel_check(cancel, err) < 0)
        return -1;
    gate_take(&a->gate);
    if (!asks_has_front(a, ask)) {
        gate_give(&a->gate);
        return err_set(err, ERR_UNSUPPORTED, "there is no one to ask");
    }
    e.id = ++a->last_id;
    e.copy = copy_new(ask);
    vec_push(&a->waiting, &e);
    asks_tell(a); /* the state first, then the question */
    if (!e.done) {
        e.shown = true;
        VEC_EACH(&a->fronts, it) {
            if (front_takes(*it, ask))
                front_mail(*it, ASK_PUT, &e);
        }
    }
    gate_give(&a->gate);

    wait_point(WAIT_MAIL, cancel);
    hook = cancel ? cancel_on(cancel, asks_wake, a) : NULL;
    gate_take(&a->gate);
    while (!e.done && !cancel_is_set(cancel))
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    if (!e.done)
        asks_end(a, &e, err_set(err, ERR_CANCELLED, "the question was withdrawn"), /*by=*/NULL);
    asks_tell(a);
    gate_give(&a->gate);
    cancel_off(hook);
    copy_unref(e.copy);
    return e.result;
}

static bool asks_is_there(struct asker *self)
{
    struct asks *a = (struct asks *)self;
    struct ask any = {.kind = ASK_PERMISSION};
    bool there;

    gate_take(&a->gate);
    there = asks_has_front(a, &any);
    gate_give(&a->gate);
    return there;
}

struct asks *asks_new(void (*on_waiting)(bool waiting, void *arg), void *arg)
{
    struct asks *a = mem_zalloc(sizeof(*a));

    a->asker.put = asks_put;
    a->asker.is_there = asks_is_there;
    a->on_waiting = on_waiting;
    a->arg = arg;
    gate_init(&a->gate);
    return a;
}

void asks_free(struct asks *a)
{
    if (!a)
        return;
    vec_release(&a->waiting);
    vec_release(&a->fronts);
    gate_release(&a->gate);
    mem_freep(&a);
}

struct asker *asks_asker(struct asks *a)
{
    return &a->asker;
}

static struct ask_front *join(struct asks *a, struct mailbox *to, bool only_forms)
{
    static atomic_uint_fast64_t count;
    struct ask_front *f = mem_zalloc(sizeof(*f));

    f->number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
    f->asks = a;
    f->to = mailbox_ref(to);
    f->only_forms = only_forms;
    gate_take(&a->gate);
    vec_push(&a->fronts, f);
    VEC_EACH(&a->waiting, it) {
        if ((*it)->shown && front_takes(f, &(*it)->copy->ask))
            front_mail(f, ASK_PUT, *it);
    }
    gate_give(&a->gate);
    return f;
}

struct ask_front *asks_join(struct asks *a, struct mailbox *to)
{
    return join(a, to, /*only_forms=*/false);
}

struct ask_front *asks_join_forms(struct asks *a, struct mailbox *to)
{
    return join(a, to, /*only_forms=*/true);
}

uint64_t ask_front_number(const struct ask_front *f)
{
    return f ? f->number : 0;
}

void ask_front_leave(struct ask_front *f)
{
    struct asks *a;

    if (!f)
        return;
    a = f->asks;
    gate_take(&a->gate);
    for (size_t i = 0; i < a->fronts.len; i++) {
        if (a->fronts.ptr[i] == f) {
            a->fronts.ptr[i] = a->fronts.ptr[--a->fronts.len];
            break;
        }
    }
    for (size_t i = 0; i < a->waiting.len;) {
        struct ask_entry *e = a->waiting.ptr[i];

        if (asks_has_front(a, &e->copy->ask))
            i++;
        else
            asks_end(a, e, err_set(e->err, ERR_UNSUPPORTED, "no one is left to ask"), /*by=*/NULL);
    }
    gate_give(&a->gate);
    mailbox_unref(f->to);
    mem_freep(&f);
}

/* The gate must be held. */
static struct ask_entry *asks_find(struct asks *a, uint64_t id)
{
    VEC_EACH(&a->waiting, it) {
        if ((*it)->id == id)
            return *it;
    }
    return NULL;
}

bool asks_is_waiting(struct asks *a, uint64_t id)
{
    const struct ask_entry *e;
    bool waits;

    gate_take(&a->gate);
    e = asks_find(a, id);
    waits = e && !cancel_is_set(e->cancel);
    gate_give(&a->gate);
    return waits;
}

bool asks_answer(struct asks *a, struct ask_front *by, uint64_t id, struct ask_answer *answer)
{
    struct ask_entry *e;

    gate_take(&a->gate);
    e = asks_find(a, id);
    if (e) {
        e->answer->allowed = answer->allowed;
        e->answer->interrupt = answer->interrupt;
        buf_move(&e->answer->message, &answer->message);
        buf_move(&e->answer->input, &answer->input);
        buf_move(&e->answer->permissions, &answer->permissions);
        asks_end(a, e, 0, by);
    }
    gate_give(&a->gate);
    ask_answer_release(answer);
    return e;
}

void ask_answer_release(struct ask_answer *a)
{
    buf_release(&a->message);
    buf_release(&a->input);
    buf_release(&a->permissions);
}

int ask_answer_read(const struct json *from, struct ask_answer *ret, struct err *err)
{
    struct str behavior = json_get_str(from, "behavior");
    const struct json *input = json_get(from, "updatedInput");
    const struct json *permissions = json_get(from, "updatedPermissions");

    if (!str_is(behavior, "allow") && !str_is(behavior, "deny"))
        return err_set(err, ERR_BAD_INPUT, "the answer has no behavior \"allow\" or \"deny\"");
    ret->allowed = str_is(behavior, "allow");
    ret->interrupt = json_get_bool(from, "interrupt", false);
    buf_add(&ret->message, json_get_str(from, "message"));
    if (json_is(input, JSON_OBJECT))
        buf_add(&ret->input, json_raw(input));
    if (json_is(permissions, JSON_ARRAY))
        buf_add(&ret->permissions, json_raw(permissions));
    if (ret->input.over || ret->permissions.over || ret->message.over)
        return err_set(err, ERR_TOO_BIG, "the answer is too long");
    return 0;
}

bool asks_fail(struct asks *a, struct ask_front *by, uint64_t id, struct str text)
{
    struct ask_entry *e;

    gate_take(&a->gate);
    e = asks_find(a, id);
    if (e)
        asks_end(a, e,
                 err_set(e->err, ERR_DENIED, "Tool permission request failed: Error: %.*s",
                         STR_ARG(str_clip(text, 400))),
                 by);
    gate_give(&a->gate);
    return e;
}
