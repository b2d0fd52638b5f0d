/*
 * Asks the model to summarize the conversation; for src/agent only.
 *
 * The request is that of an ordinary step (system prompt, tools, history) with the question at its
 * end, so that the provider's prompt cache is used. The answer is booked to the turn and the ledger
 * but not shown. If the answer has a tool call or no text, the question is repeated once. If the
 * request is too long, the oldest part is left out, in at most three steps. Agent thread.
 */
#pragma once

#include "base/str.h"

struct agent;
struct buf;
struct err;
struct turn;

extern const char summary_md[]; /* the question, from summary.md */

/* instructions: what the user wants kept; may be empty. ERR_CONTEXT_FULL: not even a part fits;
 * ERR_PROTOCOL: the model gave no summary; or an error of the call. */
int summary_ask(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                struct err *err);
