/*
 * A handler that blocks (a question to a model, a request, a function), called on a separate
 * thread.
 *
 * It is shared by that thread and the waiter. The waiter may leave at any time: the call is then
 * cancelled and goes away when its thread is done. The end is reported by mail.
 */
#pragma once

#include <stdbool.h>

#include "agent/hook.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "sync/mailbox.h"

struct cancel;
struct crew;
struct handler_call;
struct hook_handler;

enum verdict {
    VERDICT_FINE,
    VERDICT_OBJECTS,    /* for the reason given */
    VERDICT_IMPOSSIBLE, /* not met, and never will be: no use in going on */
};

/* What came of it; yours when the mail has come. */
struct handler_call_result {
    int rc; /* -1: it failed, err says why */
    enum verdict verdict;
    struct buf reason;
    struct buf answer; /* http: what the server said */
    struct err err;
};

/* Fills *ret. Watches cancel. */
typedef void (*handler_call_fn)(void *arg, struct hook_handler *h, const struct hook_input *in,
                                struct cancel *cancel, struct handler_call_result *ret);

extern const struct mail_kind handler_call_mail_kind;

struct handler_call_mail {
    struct mail mail;
    const struct handler_call *call; /* for comparing */
};

/* The input is copied, except the call. NULL with the reason: no thread. */
struct handler_call *handler_call_start(struct crew *crew, handler_call_fn fn, void *arg,
                                        struct hook_handler *h, const struct hook_input *in,
                                        struct cancel *cancel, struct mailbox *to, struct err *err);
void handler_call_cancel(struct handler_call *e);
struct handler_call_result *
handler_call_result(struct handler_call *e);     /* lent; only after its mail */
void handler_call_leave(struct handler_call *e); /* cancels what still runs; NULL is fine */
