/*
 * Mailboxes: where threads wait.
 *
 * Sending gives the mail away: the sender must not touch it after mailbox_send(), and the receiver
 * frees it with mail_free(). A mail is a struct whose first member is a struct mail, with a kind
 * that identifies it:
 *
 *     struct net_mail { struct mail mail; struct net_stream *stream; ... };
 *     if (m->kind == &net_mail_kind) { struct net_mail *n = (struct net_mail *)m; ... }
 *
 * Mail stays in order. Senders never block; those that may send much check mailbox_bytes() and
 * pause (net pauses a stream at 1 MB and resumes at half of that). Many senders, one receiver.
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
    size_t bytes; /* its share of mailbox_bytes() */
};

void mail_free(struct mail *m);

/* Reference counted, because senders may outlive the receiver: mail sent to a closed mailbox is
 * freed at once. */
struct mailbox *mailbox_new(void);
struct mailbox *mailbox_ref(struct mailbox *mb);
void mailbox_unref(struct mailbox *mb);
void mailbox_close(struct mailbox *mb); /* the receiver is gone; frees queued mail */

void mailbox_send(struct mailbox *mb, struct mail *m);

/* Waits for the next mail. deadline_ms: in clock_mono_ms(), or -1; a deadline in the past returns
 * mail that is already there. A set token takes precedence over waiting mail, waiting mail over the
 * deadline. Fails with ERR_CANCELLED or ERR_TIMEOUT. cancel may be NULL.
 *
 * Under a virtual clock (clock.h) only this advances time: an empty mailbox with a future deadline
 * sets the clock to it and returns ERR_TIMEOUT without waiting. That makes runs with one agent at a
 * time reproducible; mail from threads that do real I/O must then be awaited with -1. */
int mailbox_take(struct mailbox *mb, struct cancel *cancel, int64_t deadline_ms, struct mail **ret,
                 struct err *err);

/* For a receiver that needs no thread while idle: the caller's thread leaves, and the next mail
 * calls fn(arg), once, on the sender's thread with no lock held. False if there is mail, so that
 * the thread must stay; with `anyway` it leaves nevertheless. */
bool mailbox_leave(struct mailbox *mb, void (*fn)(void *arg), void *arg, bool anyway);
/* After this fn is not running and will not be called. Not to be called from fn itself. */
void mailbox_return(struct mailbox *mb);

struct mail *mailbox_try(struct mailbox *mb); /* NULL when empty; never waits */
size_t mailbox_bytes(const struct mailbox *mb);
/* Readable while mail waits, for event loops. Lent; -1 if there are no descriptors left. */
int mailbox_fd(struct mailbox *mb);
