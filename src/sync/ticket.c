/*
 * Giving back a ticket hands it to the first thread that waits, so that a thread that takes it
 * again at once does not overtake the others. Any thread.
 */
#include "sync/ticket.h"

#include <stddef.h>

#include "base/mem.h"
#include "sync/cancel.h"

struct ticket_wait {
    struct ticket_wait *next;
    struct ticket *ticket;
    bool is_called, is_cancelled;
};

void ticket_init(struct ticket *t)
{
    *t = (struct ticket){.last = &t->first};
    gate_init(&t->gate);
}

void ticket_release(struct ticket *t)
{
    gate_release(&t->gate);
}

static void ticket_cancelled(void *arg)
{
    struct ticket_wait *w = arg;

    gate_take(&w->ticket->gate);
    w->is_cancelled = true;
    gate_wake(&w->ticket->gate);
    gate_give(&w->ticket->gate);
}

static void ticket_drop(struct ticket *t, struct ticket_wait *w)
{
    struct ticket_wait **at = &t->first;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if (!*at)
        t->last = at;
}

/* The gate is held. True: the ticket is ours. */
static bool ticket_queue(struct ticket *t, struct ticket_wait *w)
{
    if (!t->is_held) {
        t->is_held = true;
        return true;
    }
    *t->last = w;
    t->last = &w->next;
    while (!w->is_called && !w->is_cancelled)
        gate_wait(&t->gate, /*deadline_ms=*/-1);
    if (!w->is_called)
        ticket_drop(t, w);
    return w->is_called;
}

int ticket_take(struct ticket *t, struct cancel *cancel, struct err *err)
{
    struct ticket_wait w = {.ticket = t};
    struct cancel_hook *hook;
    bool is_ours;

    if (cancel_check(cancel, err) < 0)
        return -1;
    hook = cancel ? cancel_on(cancel, ticket_cancelled, &w) : NULL;
    gate_take(&t->gate);
    is_ours = ticket_queue(t, &w);
    gate_give(&t->gate);
    cancel_off(hook);
    return is_ours ? 0 : cancel_check(cancel, err);
}

void ticket_give(struct ticket *t)
{
    gate_take(&t->gate);
    if (t->first) {
        t->first->is_called = true;
        t->first = t->first->next;
        if (!t->first)
            t->last = &t->first;
        gate_wake(&t->gate);
    } else {
        t->is_held = false;
    }
    gate_give(&t->gate);
}
