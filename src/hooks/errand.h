/*
 * An errand: a handler that blocks (a question to a model, a request, a function) on a separate
 * thread.
 *
 * It is shared by that thread and the waiter. The waiter may leave at any time: the errand is then
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
struct errand;
struct hook_handler;

enum verdict {
    VERDICT_FINE,
    VERDICT_OBJECTS,    /* for the reason given */
    VERDICT_IMPOSSIBLE, /* not met, and never will be: no use in going on */
};

/* What came of it; yours when the mail has come. */
struct errand_result {
    int rc; /* -1: it failed, err says why */
    enum verdict verdict;
    struct buf reason;
    struct buf answer; /* http: what the server said */
    struct err err;
};

/* Fills *ret. Watches cancel. */
typedef void (*errand_fn)(void *arg, struct hook_handler *h, const struct hook_input *in,
                          struct cancel *cancel, struct errand_result *ret);

extern const struct mail_kind errand_mail_kind;

struct errand_mail {
    struct mail mail;
    const struct errand *errand; /* for comparing */
};

/* The input is copied, except the call. NULL with the reason: no thread. */
struct errand *errand_start(struct crew *crew, errand_fn fn, void *arg, struct hook_handler *h,
                            const struct hook_input *in, struct cancel *cancel, struct mailbox *to,
                            struct err *err);
void errand_cancel(struct errand *e);
struct errand_result *errand_result(struct errand *e); /* lent; only after its mail */
void errand_leave(struct errand *e);                   /* cancels what still runs; NULL is fine */
