/*
 * crew: one gate, at most one idle thread that waits on it. Threads that have left are joined by
 * the next caller.
 */
#include "sync/crew.h"

#include "base/err.h"
#include "base/mem.h"

struct worker {
    struct crew *crew;
    struct thread *thread;
    struct worker *next; /* of those that have left */
    const char *name;
    thread_fn fn; /* NULL: nothing to do */
    void *arg;
};

struct crew {
    struct gate gate; /* of all fields below, and of the workers' orders */
    struct worker *idle;
    struct worker *left; /* about to end, or ended */
    size_t count;        /* that have not left */
    bool stopping;
};

struct crew *crew_new(void)
{
    struct crew *c = mem_zalloc(sizeof(*c));

    gate_init(&c->gate);
    return c;
}

/* Waits for the next piece of work; false: there is none for this one. Gate held. */
static bool worker_wait(struct worker *w)
{
    struct crew *c = w->crew;

    if (!c->idle && !c->stopping) {
        c->idle = w;
        while (!w->fn && !c->stopping)
            gate_wait(&c->gate, /*deadline_ms=*/-1);
        if (c->idle == w)
            c->idle = NULL;
    }
    return w->fn;
}

static void worker_main(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;

    gate_take(&c->gate);
    while (w->fn || worker_wait(w)) {
        thread_fn fn = w->fn;

        w->fn = NULL;
        gate_give(&c->gate);
        thread_rename(w->name);
        fn(w->arg);
        gate_take(&c->gate);
    }
    w->next = c->left;
    c->left = w;
    c->count--;
    gate_wake(&c->gate);
    gate_give(&c->gate);
}

static void crew_join(struct worker *left)
{
    while (left) {
        struct worker *w = left;

        left = w->next;
        thread_join(w->thread);
        mem_freep(&w);
    }
}

void crew_free(struct crew *c)
{
    if (!c)
        return;
    gate_take(&c->gate);
    c->stopping = true;
    gate_wake(&c->gate);
    while (c->count)
        gate_wait(&c->gate, /*deadline_ms=*/-1);
    gate_give(&c->gate);
    crew_join(c->left);
    gate_release(&c->gate);
    mem_freep(&c);
}

/* With the gate held, so that a thread is not joined before it is known. */
static int crew_hire(struct crew *c, const struct worker *work, struct err *err)
{
    struct worker *w = mem_zalloc(sizeof(*w));

    *w = *work;
    w->thread = thread_start(w->name, worker_main, w, err);
    if (!w->thread) {
        mem_freep(&w);
        return -1;
    }
    c->count++;
    return 0;
}

int crew_start(struct crew *c, const char *name, thread_fn fn, void *arg, struct err *err)
{
    const struct worker work = {.crew = c, .name = name, .fn = fn, .arg = arg};
    struct worker *left;
    struct worker *w;
    int rc = 0;

    gate_take(&c->gate);
    left = TAKE_PTR(c->left);
    w = TAKE_PTR(c->idle);
    if (w) {
        w->name = name;
        w->fn = fn;
        w->arg = arg;
    } else {
        rc = crew_hire(c, &work, err);
    }
    gate_give(&c->gate);
    if (w)
        gate_wake(&c->gate); /* after releasing the gate, which the thread would have to wait for */
    crew_join(left);
    return rc;
}
