/*
 * Chores: blocking work that an event loop passes to another thread.
 *
 * A chore is a mail. It is sent to a queue (struct chores), whose thread runs them in their order,
 * or to a separate thread (chore_run_beside()), and comes back to the sender's mailbox when it is
 * done. The receiver calls its done(). If the mailbox is closed, the chore is freed.
 */
#pragma once

#include "sync/mailbox.h"

struct crew;
struct chores;
struct err;

extern const struct mail_kind chore_mail_kind;

/* First member of every chore. */
struct chore {
    struct mail mail;
    void (*run)(struct chore *e);             /* elsewhere */
    void (*done)(struct chore *e, void *arg); /* called by the receiver; may be NULL */
    void (*free)(struct chore *e);
    struct mailbox *back; /* the sender's mailbox */
};

/* Returns it zeroed except for its functions; size: of the struct whose first member it is. */
void *chore_new(size_t size, void (*run)(struct chore *e), void (*done)(struct chore *e, void *arg),
                void (*free)(struct chore *e));

struct chores *chores_new(struct mailbox *back, struct err *err);
void chores_free(struct chores *d); /* runs the pending chores, then ends; NULL is fine */
void chores_give(struct chores *d, void *chore);
/* For chores that may wait for the user: beside all others. */
int chore_run_beside(struct crew *crew, struct mailbox *back, void *chore, struct err *err);
