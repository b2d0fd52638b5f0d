/*
 * Mailboxes: a linked list under a gate, and an eventfd for those who poll.
 *
 * The list is the truth; the gate wakes a thread in mailbox_take(), the eventfd (made when first
 * asked for) is kept readable exactly while the list is not empty. A cancel token reaches a waiting
 * receiver through a hook that wakes the gate; the hook exists only during an actual wait, so
 * taking available mail costs one lock.
 */
#include "sync/mailbox.h"

#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/wait.h"

struct mailbox {
    atomic_int refs;
    atomic_size_t bytes; /* changed under the gate, read without */

    struct gate gate; /* guards what follows */
    struct mail *first;
    struct mail *last;
    bool closed;
    void (*on_mail)(void *arg); /* NULL: a receiver is there */
    void *on_mail_arg;
    int calling; /* it, at this moment */
    int fd;      /* -1 until requested */
};

void mail_free(struct mail *m)
{
    if (m)
        m->kind->free(m);
}

struct mailbox *mailbox_new(void)
{
    struct mailbox *mb = mem_zalloc(sizeof(*mb));

    atomic_init(&mb->refs, 1);
    atomic_init(&mb->bytes, 0);
    gate_init(&mb->gate);
    mb->fd = -1;
    return mb;
}

struct mailbox *mailbox_ref(struct mailbox *mb)
{
    atomic_fetch_add(&mb->refs, 1);
    return mb;
}

static void mail_free_all(struct mail *m)
{
    while (m) {
        struct mail *next = m->next;

        mail_free(m);
        m = next;
    }
}

void mailbox_unref(struct mailbox *mb)
{
    if (!mb || atomic_fetch_sub(&mb->refs, 1) > 1)
        return;
    mail_free_all(mb->first);
    fd_closep(&mb->fd);
    gate_release(&mb->gate);
    free(mb);
}

/* The counter of an eventfd only says "not zero"; reading it makes it zero again. */
static void mailbox_mark(struct mailbox *mb, bool waiting)
{
    eventfd_t ignored;

    if (mb->fd < 0)
        return;
    if (waiting)
        eventfd_write(mb->fd, 1);
    else
        eventfd_read(mb->fd, &ignored);
}

void mailbox_close(struct mailbox *mb)
{
    struct mail *left;

    gate_take(&mb->gate);
    left = mb->first;
    if (left)
        mailbox_mark(mb, false);
    mb->first = NULL;
    mb->last = NULL;
    mb->closed = true;
    mb->on_mail = NULL;
    atomic_store_explicit(&mb->bytes, 0, memory_order_relaxed);
    gate_give(&mb->gate);
    mail_free_all(left); /* calls out, so not under the gate */
}

/* The receiver has gone, and there is mail for it. */
static void mailbox_call(struct mailbox *mb, void (*fn)(void *arg), void *arg)
{
    fn(arg);
    gate_take(&mb->gate);
    mb->calling--;
    gate_wake(&mb->gate);
    gate_give(&mb->gate);
}

bool mailbox_leave(struct mailbox *mb, void (*fn)(void *arg), void *arg, bool anyway)
{
    bool leaves;

    gate_take(&mb->gate);
    leaves = anyway || !mb->first;
    if (leaves) {
        mb->on_mail = fn;
        mb->on_mail_arg = arg;
    }
    gate_give(&mb->gate);
    return leaves;
}

void mailbox_return(struct mailbox *mb)
{
    gate_take(&mb->gate);
    mb->on_mail = NULL;
    while (mb->calling)
        gate_wait(&mb->gate, /*deadline_ms=*/-1);
    gate_give(&mb->gate);
}

void mailbox_send(struct mailbox *mb, struct mail *m)
{
    void (*fn)(void *arg);
    void *arg;
    bool is_first;

    gate_take(&mb->gate);
    if (mb->closed) {
        gate_give(&mb->gate);
        mail_free(m);
        return;
    }
    m->next = NULL;
    is_first = !mb->last;
    if (is_first) {
        mb->first = m;
        mailbox_mark(mb, true);
    } else {
        mb->last->next = m;
    }
    mb->last = m;
    atomic_fetch_add_explicit(&mb->bytes, m->bytes, memory_order_relaxed);
    fn = mb->on_mail;
    arg = mb->on_mail_arg;
    mb->on_mail = NULL;
    mb->calling += fn != NULL;
    if (is_first || fn)
        mailbox_ref(mb); /* the receiver may let go of the box before it is woken here */
    gate_give(&mb->gate);
    if (is_first)
        gate_wake(&mb->gate); /* after the gate, which the receiver would have to wait for */
    if (fn)
        mailbox_call(mb, fn, arg);
    if (is_first || fn)
        mailbox_unref(mb);
}

/* Gate held. */
static struct mail *mailbox_pop(struct mailbox *mb)
{
    struct mail *m = mb->first;

    if (!m)
        return NULL;
    mb->first = m->next;
    if (!mb->first) {
        mb->last = NULL;
        mailbox_mark(mb, false);
    }
    m->next = NULL;
    atomic_fetch_sub_explicit(&mb->bytes, m->bytes, memory_order_relaxed);
    return m;
}

struct mail *mailbox_try(struct mailbox *mb)
{
    struct mail *m;

    gate_take(&mb->gate);
    m = mailbox_pop(mb);
    gate_give(&mb->gate);
    return m;
}

/* Runs on the thread that sets the token. */
static void mailbox_poke(void *arg)
{
    struct mailbox *mb = arg;

    gate_take(&mb->gate);
    gate_wake(&mb->gate);
    gate_give(&mb->gate);
}

static struct mail *mailbox_wait(struct mailbox *mb, struct cancel *cancel, int64_t deadline_ms)
{
    struct cancel_hook *hook = cancel ? cancel_on(cancel, mailbox_poke, mb) : NULL;
    struct mail *m = NULL;
    bool in_time = true;

    gate_take(&mb->gate);
    while (in_time && !mb->first && !cancel_is_set(cancel))
        in_time = gate_wait(&mb->gate, deadline_ms);
    if (!cancel_is_set(cancel))
        m = mailbox_pop(mb);
    gate_give(&mb->gate);
    cancel_off(hook);
    return m;
}

int mailbox_take(struct mailbox *mb, struct cancel *cancel, int64_t deadline_ms, struct mail **ret,
                 struct err *err)
{
    struct mail *m;

    wait_point(WAIT_MAIL, cancel);
    if (cancel_check(cancel, err) < 0)
        return -1;
    m = mailbox_try(mb);
    if (!m)
        m = mailbox_wait(mb, cancel, deadline_ms);
    if (!m) {
        if (cancel_check(cancel, err) < 0)
            return -1;
        return err_set(err, ERR_TIMEOUT, "no mail in time");
    }
    *ret = m;
    return 0;
}

size_t mailbox_bytes(const struct mailbox *mb)
{
    return atomic_load_explicit(&mb->bytes, memory_order_relaxed);
}

int mailbox_fd(struct mailbox *mb)
{
    int fd;

    gate_take(&mb->gate);
    if (mb->fd < 0)
        mb->fd = eventfd(mb->first ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd = mb->fd;
    gate_give(&mb->gate);
    return fd;
}
