/*
 * The asks of a session: who waits for an answer, and who may give one.
 *
 * The asking thread (an agent, one of its tools) calls put() of the asker and waits. Front ends
 * join; each is mailed every ask, including those that wait already. The first answer wins, and all
 * others are mailed a withdrawal; the same happens when the asker's cancel is set. Without a front
 * end an ask fails at once with ERR_UNSUPPORTED, and when the last one leaves, waiting asks fail
 * too.
 *
 * Any thread. A front belongs to one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/ask.h"
#include "sync/mailbox.h"

struct ask_front;
struct asks;

/* on_waiting is called when the first ask begins to wait (true) and when the last one has ended
 * (false), in that order, on some thread, with no lock held. */
struct asks *asks_new(void (*on_waiting)(bool waiting, void *arg), void *arg);
void asks_free(struct asks *a); /* no thread waits any more */
struct asker *asks_asker(struct asks *a);

enum ask_mail_what {
    ASK_PUT,
    ASK_WITHDRAWN, /* answered elsewhere, or no longer wanted */
};

extern const struct mail_kind ask_mail_kind;
struct ask_mail {
    struct mail mail;
    enum ask_mail_what what;
    uint64_t id;           /* from 1, within the session */
    const struct ask *ask; /* PUT; lives as long as the mail */
    uint64_t front;        /* ask_front_number() of whom it is for: it may have left since */
    void *shared;
};

struct ask_front *asks_join(struct asks *a, struct mailbox *to);
/* One that is asked forms of MCP servers (ASK_ELICITATION) alone. */
struct ask_front *asks_join_forms(struct asks *a, struct mailbox *to);
void ask_front_leave(struct ask_front *f);            /* NULL is fine */
uint64_t ask_front_number(const struct ask_front *f); /* no two of a process have one; NULL: 0 */

/* Takes the content of *answer. False when the ask is gone: another answer was faster. The front
 * that answers gets no withdrawal. */
bool asks_answer(struct asks *a, struct ask_front *by, uint64_t id, struct ask_answer *answer);
/* False: it is over, or will be as soon as its asker, whose cancel is set, has woken up. */
bool asks_is_waiting(struct asks *a, uint64_t id);
/* The front end could not say: the ask fails with ERR_DENIED and this text. */
bool asks_fail(struct asks *a, struct ask_front *by, uint64_t id, struct str text);
