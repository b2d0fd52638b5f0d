/*
 * What a conversation comes down to, in the model's own words; for src/agent only.
 *
 * The request is that of any step (system prompt, tools, history), with the question at its end, so
 * that the provider's cache of the prompt serves it. The answer counts in turn and ledger, but is
 * not shown as one. One that calls a tool or says nothing is asked for once more; where the request
 * is too long, the oldest part is left out, in three steps at most. Agent thread.
 */
#pragma once

#include "base/str.h"

struct agent;
struct buf;
struct err;
struct turn;

extern const char summary_md[]; /* the question: summary.md */

/* instructions: what the user wants kept; or empty. ERR_CONTEXT_FULL: not even a part of it fits;
 * ERR_PROTOCOL: the model gives no summary; and whatever fails a call. */
int summary_ask(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                struct err *err);
