/*
 * chore: work that a loop passes to another thread, and its return. The thread of a queue waits on
 * one mailbox and costs nothing while idle.
 */
#include "host/chore.h"

#include "base/mem.h"
#include "sync/crew.h"
#include "sync/thread.h"

struct chores {
    struct mailbox *in, *back;
    struct thread *thread;
};

static void chore_free(struct mail *m)
{
    struct chore *e = (struct chore *)m;

    if (e->back)
        mailbox_unref(e->back);
    e->free(e);
}

const struct mail_kind chore_mail_kind = {"chore", chore_free};

void *chore_new(size_t size, void (*run)(struct chore *e), void (*done)(struct chore *e, void *arg),
                void (*free)(struct chore *e))
{
    struct chore *e = mem_zalloc(size);

    e->mail.kind = &chore_mail_kind;
    e->run = run;
    e->done = done;
    e->free = free;
    return e;
}

static void chore_do(struct chore *e)
{
    struct mailbox *back = TAKE_PTR(e->back);

    if (e->run)
        e->run(e);
    mailbox_send(back, &e->mail);
    mailbox_unref(back);
}

/* A chore without run() and done() ends the queue. */
static void chores_main(void *arg)
{
    struct chores *d = arg;
    struct mail *m = NULL;

    while (mailbox_take(d->in, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, /*err=*/NULL) == 0) {
        struct chore *e = (struct chore *)m;

        if (!e->run) {
            mail_free(m);
            return;
        }
        chore_do(e);
    }
}

struct chores *chores_new(struct mailbox *back, struct err *err)
{
    struct chores *d = mem_zalloc(sizeof(*d));

    d->in = mailbox_new();
    d->back = mailbox_ref(back);
    d->thread = thread_start("chores", chores_main, d, err);
    if (d->thread)
        return d;
    chores_free(d);
    return NULL;
}

static void last_free(struct chore *e)
{
    mem_freep(&e);
}

void chores_free(struct chores *d)
{
    if (!d)
        return;
    if (d->thread) {
        struct chore *last = chore_new(sizeof(*last), /*run=*/NULL, /*done=*/NULL, last_free);

        mailbox_send(d->in, &last->mail);
        thread_join(d->thread);
    }
    mailbox_close(d->in);
    mailbox_unref(d->in);
    mailbox_unref(d->back);
    mem_freep(&d);
}

void chores_give(struct chores *d, void *chore)
{
    struct chore *e = chore;

    e->back = mailbox_ref(d->back);
    mailbox_send(d->in, &e->mail);
}

static void chore_beside(void *arg)
{
    chore_do(arg);
}

int chore_run_beside(struct crew *crew, struct mailbox *back, void *chore, struct err *err)
{
    struct chore *e = chore;

    e->back = mailbox_ref(back);
    if (crew_start(crew, "chore", chore_beside, e, err) == 0)
        return 0;
    mail_free(&e->mail);
    return -1;
}
