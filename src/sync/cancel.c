/*
 * Cancel tokens: a flag, a list of hooks to run when it is set, and a descriptor made on demand.
 *
 * The setter takes the hooks off the list one by one and runs each with the lock given up, so that
 * a hook may use the token. A hook is WAITING on the list, RUNNING, or DONE; cancel_off() waits out
 * RUNNING unless it is called from inside that very hook, in which case the setter frees it.
 *
 * A child token is nothing but a hook on its parent that sets the child. A hook holds a reference
 * on its token, which is what keeps the parent alive.
 */
#include "sync/cancel.h"

#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/thread.h"
#include "sync/wait.h"

enum hook_state {
    HOOK_WAITING,
    HOOK_RUNNING,
    HOOK_DONE,
};

struct cancel_hook {
    struct cancel *token;
    struct cancel_hook *prev;
    struct cancel_hook *next;
    cancel_fn fn;
    void *arg;
    enum hook_state state;
    bool off; /* cancel_off() was called from inside fn: the setter frees the hook */
};

struct cancel {
    atomic_int refs;
    atomic_bool set;
    atomic_bool end;
    struct cancel *parent; /* only to be looked at when it is set: on_parent keeps it alive */
    struct cancel_hook *on_parent;

    struct gate gate; /* guards what follows */
    struct cancel_hook *first;
    struct cancel_hook *last;
    pthread_t setter; /* valid once set */
    int fd;           /* -1 until requested */
};

/* True unless the last reference is gone and another thread is busy freeing it. */
static bool cancel_try_ref(struct cancel *c)
{
    int refs = atomic_load(&c->refs);

    while (refs > 0) {
        if (atomic_compare_exchange_weak(&c->refs, &refs, refs + 1))
            return true;
    }
    return false;
}

static void cancel_follow_parent(void *arg)
{
    struct cancel *child = arg;

    if (!cancel_try_ref(child))
        return;
    if (cancel_is_end(child->parent))
        cancel_end(child);
    else
        cancel_set(child);
    cancel_unref(child); /* NOLINT(clang-analyzer-unix.Malloc): it does not follow the count */
}

struct cancel *cancel_new(struct cancel *parent)
{
    struct cancel *c = mem_zalloc(sizeof(*c));

    atomic_init(&c->refs, 1);
    atomic_init(&c->set, false);
    atomic_init(&c->end, false);
    gate_init(&c->gate);
    c->fd = -1;
    c->parent = parent;
    if (parent)
        c->on_parent = cancel_on(parent, cancel_follow_parent, c); /* NOLINT: as above */
    return c;
}

struct cancel *cancel_ref(struct cancel *c)
{
    if (c)
        atomic_fetch_add(&c->refs, 1);
    return c;
}

void cancel_unref(struct cancel *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    /* No hook is left: each holds a reference. Only the parent may still be calling us. */
    cancel_off(c->on_parent);
    fd_closep(&c->fd);
    gate_release(&c->gate);
    free(c);
}

void cancel_unrefp(struct cancel **c)
{
    cancel_unref(*c);
}

static void hook_unlink(struct cancel_hook *hook)
{
    struct cancel *c = hook->token;

    if (hook->prev)
        hook->prev->next = hook->next;
    else
        c->first = hook->next;
    if (hook->next)
        hook->next->prev = hook->prev;
    else
        c->last = hook->prev;
}

static void hook_link(struct cancel_hook *hook)
{
    struct cancel *c = hook->token;

    hook->prev = c->last;
    if (c->last)
        c->last->next = hook;
    else
        c->first = hook;
    c->last = hook;
}

static void hook_free(struct cancel_hook *hook)
{
    struct cancel *c = hook->token;

    free(hook);
    cancel_unref(c);
}

/* Runs the first hook with the gate given up, and settles what became of it. */
static void cancel_run_first(struct cancel *c)
{
    struct cancel_hook *hook = c->first;
    bool off;

    hook_unlink(hook);
    hook->state = HOOK_RUNNING;
    gate_give(&c->gate);
    hook->fn(hook->arg);
    gate_take(&c->gate);
    off = hook->off;
    hook->state = HOOK_DONE;
    gate_wake(&c->gate); /* a cancel_off() on another thread may wait for it, and then frees it */
    if (off)
        hook_free(hook); /* never the last reference: the setter holds one */
}

void cancel_set(struct cancel *c)
{
    if (!c)
        return;
    gate_take(&c->gate);
    if (atomic_load(&c->set)) {
        gate_give(&c->gate);
        return;
    }
    c->setter = pthread_self();
    atomic_store(&c->set, true);
    if (c->fd >= 0)
        eventfd_write(c->fd, 1);

    cancel_ref(c); /* a hook may drop the caller's reference */
    while (c->first)
        cancel_run_first(c);
    gate_give(&c->gate);
    cancel_unref(c);
}

void cancel_end(struct cancel *c)
{
    if (c && !cancel_is_set(c)) /* a reason that came first holds */
        atomic_store(&c->end, true);
    cancel_set(c);
}

bool cancel_is_end(const struct cancel *c)
{
    return c && atomic_load(&c->end) && cancel_is_set(c);
}

bool cancel_is_set(const struct cancel *c)
{
    return c && atomic_load_explicit(&c->set, memory_order_acquire);
}

int cancel_check(const struct cancel *c, struct err *err)
{
    if (!cancel_is_set(c))
        return 0;
    return err_set(err, ERR_CANCELLED, "cancelled");
}

int cancel_fd(struct cancel *c)
{
    int fd;

    gate_take(&c->gate);
    if (c->fd < 0)
        c->fd = eventfd(atomic_load(&c->set) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd = c->fd;
    gate_give(&c->gate);
    return fd;
}

int cancel_wait(struct cancel *c, int64_t ms, struct err *err)
{
    struct pollfd set = {.fd = c ? cancel_fd(c) : -1, .events = POLLIN};

    wait_point(WAIT_POLL, c);
    ms = clock_real_ms(ms);
    (void)poll(&set, 1, ms > INT_MAX ? INT_MAX : (int)ms); /* signals are blocked: no EINTR */
    return cancel_check(c, err);
}

int cancel_wait_fd(struct cancel *c, int fd, int64_t ms, struct err *err)
{
    struct pollfd set[] = {
        {.fd = c ? cancel_fd(c) : -1, .events = POLLIN},
        {.fd = fd, .events = POLLIN},
    };
    bool jumps = ms > 0 && clock_is_virtual();
    int64_t real_ms;
    int ready;

    wait_point(WAIT_POLL, c);
    real_ms = clock_real_ms(ms);
    ready = poll(set, ARRAY_LEN(set), jumps ? 0 : real_ms > INT_MAX ? INT_MAX : (int)real_ms);
    if (cancel_check(c, err) < 0)
        return -1;
    if (!ready && jumps)
        clock_advance_ms(ms);
    return set[1].revents != 0;
}

struct cancel_hook *cancel_on(struct cancel *c, cancel_fn fn, void *arg)
{
    struct cancel_hook *hook;

    gate_take(&c->gate);
    if (atomic_load(&c->set)) {
        gate_give(&c->gate);
        fn(arg);
        return NULL;
    }
    hook = mem_zalloc(sizeof(*hook));
    hook->token = cancel_ref(c);
    hook->fn = fn;
    hook->arg = arg;
    hook_link(hook);
    gate_give(&c->gate);
    return hook;
}

void cancel_off(struct cancel_hook *hook)
{
    struct cancel *c;

    if (!hook)
        return;
    c = hook->token;
    gate_take(&c->gate);
    if (hook->state == HOOK_WAITING)
        hook_unlink(hook);
    if (hook->state == HOOK_RUNNING && pthread_equal(c->setter, pthread_self())) {
        hook->off = true;
        gate_give(&c->gate);
        return;
    }
    while (hook->state == HOOK_RUNNING)
        gate_wait(&c->gate, /*deadline_ms=*/-1);
    gate_give(&c->gate);
    hook_free(hook);
}
