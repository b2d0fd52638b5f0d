/*
 * The calls of one step; for src/agent only.
 *
 * Calls are added as their blocks complete. A call that is harmless to run again and needs no
 * permission starts at once, while the stream continues, as long as everything before it in the
 * message did so too; batch_settle() runs the rest when the answer is complete. Neighbours that may
 * run beside each other do, up to BATCH_WIDTH; others run alone and in order. Results and their
 * events come in the order of the calls, each as soon as it can. Agent thread.
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
    size_t early;   /* calls from the start that run already, or never need to */
    size_t settled; /* calls whose result is in the history */
};

void batch_init(struct batch *b, struct agent *a, struct turn *t);
void batch_release(struct batch *b); /* what still runs is left to the agent's stragglers */

void batch_add(struct batch *b, const struct block *block);
/* The answer is void: so are its calls. */
void batch_void(struct batch *b);
/* True when the mail was the end of one of the calls. */
bool batch_mail(struct batch *b, const struct mail *m);

/* Every call has its result in the history. -1: the turn is interrupted (they still have results),
 * or a result could not be stored (ERR_IO). */
int batch_settle(struct batch *b, struct err *err);
/* The same without running anything more: the reason is every result. */
void batch_refuse(struct batch *b, struct str because);
