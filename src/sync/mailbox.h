/*
 * Mailboxes: the one thing a thread waits on.
 *
 * Mail is given away: after mailbox_send() the sender does not touch it again; the receiver frees
 * it with mail_free(). A mail is a struct with a struct mail first and a kind that names it:
 *
 *     struct net_mail { struct mail mail; struct net_stream *stream; ... };
 *     if (m->kind == &net_mail_kind) { struct net_mail *n = (struct net_mail *)m; ... }
 *
 * Order is kept per mailbox. Senders never block; whoever can send much asks mailbox_bytes() and
 * holds back (net pauses a stream at 1 MB and goes on at half of that). Many senders, one receiver.
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
void mailbox_close(struct mailbox *mb); /* the receiver is gone; frees what is queued */

void mailbox_send(struct mailbox *mb, struct mail *m);

/* Waits for the next mail. deadline_ms is clock_mono_ms() time, or -1 for none. Errors, in this
 * order of precedence: ERR_CANCELLED, ERR_TIMEOUT. cancel may be NULL. */
int mailbox_take(struct mailbox *mb, struct cancel *cancel, int64_t deadline_ms, struct mail **ret,
                 struct err *err);

struct mail *mailbox_try(struct mailbox *mb); /* NULL when empty; never waits */
size_t mailbox_bytes(const struct mailbox *mb);
int mailbox_fd(struct mailbox *mb); /* readable while mail waits: for event loops. Lent. */
