/*
 * An errand: runs a handler that blocks (a question to a model, an HTTP request, a function) on its
 * own thread.
 *
 * That thread and the waiter share it. The waiter may leave at any time; then the errand is
 * cancelled and freed when its thread is done. The end is reported by mail.
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
    VERDICT_IMPOSSIBLE, /* not met and never will be: there is no point in continuing */
};

/* The result; owned by the caller after the mail has arrived. */
struct errand_result {
    int rc; /* -1: it failed, see err */
    enum verdict verdict;
    struct buf reason;
    struct buf answer; /* http: the response body */
    struct err err;
};

/* Fills *ret. Watches cancel. */
typedef void (*errand_fn)(void *arg, struct hook_handler *h, const struct hook_input *in,
                          struct cancel *cancel, struct errand_result *ret);

extern const struct mail_kind errand_mail_kind;

struct errand_mail {
    struct mail mail;
    const struct errand *errand; /* for comparison */
};

/* Copies the input, except the call. NULL if no thread can be started, with the reason. */
struct errand *errand_start(struct crew *crew, errand_fn fn, void *arg, struct hook_handler *h,
                            const struct hook_input *in, struct cancel *cancel, struct mailbox *to,
                            struct err *err);
void errand_cancel(struct errand *e);
struct errand_result *errand_result(struct errand *e); /* lent; valid after its mail */
/* cancels it if it is running; NULL is fine */
void errand_leave(struct errand *e);
