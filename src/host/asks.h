/*
 * The open questions of a session, and the front ends that may answer them.
 *
 * The asking thread (an agent or one of its tools) calls put() of the asker and waits. Front ends
 * join; each gets a mail for every ask, including those already waiting. The first answer wins, and
 * all others get a withdrawal; the same happens when the asker's cancel is set. Without a front end
 * an ask fails at once with ERR_UNSUPPORTED, and when the last one leaves, waiting asks fail too.
 *
 * Any thread. A front belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/ask.h"
#include "sync/mailbox.h"

struct ask_front;
struct asks;

/* on_waiting(true) is called when a first ask begins to wait, and on_waiting(false) when the last
 * one has ended, in that order, on any thread, with no lock held. */
struct asks *asks_new(void (*on_waiting)(bool waiting, void *arg), void *arg);
void asks_free(struct asks *a); /* no thread may be waiting */
struct asker *asks_asker(struct asks *a);

enum ask_mail_what {
    ASK_PUT,
    ASK_WITHDRAWN, /* answered elsewhere, or not needed any more */
};

extern const struct mail_kind ask_mail_kind;
struct ask_mail {
    struct mail mail;
    enum ask_mail_what what;
    uint64_t id;           /* from 1, within the session */
    const struct ask *ask; /* PUT; valid as long as the mail */
    uint64_t front;        /* ask_front_number() of its receiver, which may have left */
    void *shared;
};

struct ask_front *asks_join(struct asks *a, struct mailbox *to);
/* One that is asked forms of MCP servers (ASK_ELICITATION) alone. */
struct ask_front *asks_join_forms(struct asks *a, struct mailbox *to);
void ask_front_leave(struct ask_front *f);            /* NULL is fine */
uint64_t ask_front_number(const struct ask_front *f); /* unique within the process; NULL: 0 */

/* Takes the content of *answer. False if another answer was faster. The front that answers gets no
 * withdrawal. */
bool asks_answer(struct asks *a, struct ask_front *by, uint64_t id, struct ask_answer *answer);
/* False if it has ended, or its asker's cancel is set. */
bool asks_is_waiting(struct asks *a, uint64_t id);
/* The front end failed: the ask fails with ERR_DENIED and this text. */
bool asks_fail(struct asks *a, struct ask_front *by, uint64_t id, struct str text);
