/*
 * Mailboxes: the one thing a thread waits on.
 *
 * Mail is given away: after mailbox_send() the sender does not touch it again; the receiver frees
 * it with mail_free(). A mail is a struct with a struct mail first and a kind that names it:
 *
 *     struct net_mail { struct mail mail; struct net_stream *stream; ... };
 *     if (m->kind == &net_mail_kind) { struct net_mail *n = (struct net_mail *)m; ... }
 *
 * Order is kept per mailbox. Senders never block; those that can send much check mailbox_bytes()
 * and hold back (net pauses a stream at 1 MB and resumes at half of that). Many senders, one
 * receiver.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct err;
struct mailbox;
struct mail;

struct mail_kind {
    const char *name;
    void (*free)(struct mail *m);
};

struct mail {
    struct mail *next; /* the mailbox's while it is queued */
    const struct mail_kind *kind;
    size_t bytes; /* what it counts for in mailbox_bytes() */
};

void mail_free(struct mail *m);

/* Reference counted, because senders may outlive the receiver: mail sent to a closed mailbox is
 * freed at once. */
struct mailbox *mailbox_new(void);
struct mailbox *mailbox_ref(struct mailbox *mb);
void mailbox_unref(struct mailbox *mb);
void mailbox_close(struct mailbox *mb); /* the receiver is gone; frees queued mail */

void mailbox_send(struct mailbox *mb, struct mail *m);

/* Waits for the next mail. deadline_ms is clock_mono_ms() time, or -1 for none; one that has passed
 * gives the mail that is there. A set token wins over waiting mail, waiting mail over the deadline.
 * Fails with ERR_CANCELLED or ERR_TIMEOUT. cancel may be NULL.
 *
 * Under a virtual clock (clock.h) nothing else moves time: an empty mailbox with a deadline ahead
 * advances the clock to it and gives ERR_TIMEOUT without waiting. That is what makes a run with
 * agents one at a time repeatable; mail from threads that do real I/O is then waited for with
 * -1. */
int mailbox_take(struct mailbox *mb, struct cancel *cancel, int64_t deadline_ms, struct mail **ret,
                 struct err *err);

/* A receiver that needs no thread while there is nothing to do: it goes, and the next mail has
 * fn(arg) called, once, on the thread that sends it and with no lock held. False: mail is there, so
 * it stays; anyway: it goes then, too. */
bool mailbox_leave(struct mailbox *mb, void (*fn)(void *arg), void *arg, bool anyway);
/* fn does not run, and will not be called any more. Not from fn itself. */
void mailbox_return(struct mailbox *mb);

struct mail *mailbox_try(struct mailbox *mb); /* NULL when empty; never waits */
size_t mailbox_bytes(const struct mailbox *mb);
/* Readable while mail waits: for event loops. Lent; -1 when the process has run out of
 * descriptors. */
int mailbox_fd(struct mailbox *mb);
