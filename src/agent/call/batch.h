/*
 * The tool calls of one step; for src/agent only.
 *
 * Calls are added as their blocks complete. A call starts while the answer is still streaming if it
 * is safe to repeat, needs no permission, and all calls before it have started that way too.
 * batch_settle() runs the others when the answer is complete: adjacent calls that may run in
 * parallel do so, up to BATCH_WIDTH; all others run alone and in order. Results and their events
 * are delivered in the order of the calls, each as early as that order allows. Agent thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

struct agent;
struct block;
struct call;
struct err;
struct mail;
struct turn;

#define BATCH_WIDTH 10

struct batch {
    struct agent *agent;
    struct turn *turn;
    VEC(struct call *) calls;
    size_t early;   /* length of the prefix of calls that run already or need not run */
    size_t settled; /* calls whose result is in the history */
};

void batch_init(struct batch *b, struct agent *a, struct turn *t);
void batch_release(struct batch *b); /* running calls become stragglers of the agent */

void batch_add(struct batch *b, const struct block *block);
/* Discards the calls of an answer that was discarded. */
void batch_void(struct batch *b);
/* True if the mail reported the end of one of the calls. */
bool batch_mail(struct batch *b, const struct mail *m);

/* Runs the calls until each has its result in the history. -1 if the turn is interrupted (the calls
 * still have results) or a result could not be stored (ERR_IO). */
int batch_settle(struct batch *b, struct err *err);
/* Gives every call the result `because` without running any. */
void batch_refuse(struct batch *b, struct str because);
