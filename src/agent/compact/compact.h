/*
 * Compaction: replaces the older part of a conversation by a summary to make room; for src/agent
 * only.
 *
 *   PreCompact hooks (may block) → the model writes a summary (summary.h) → boundary, summary,
 *   repeated state (attach.h) and the newest messages (at most a quarter, history_tail()) → written
 *   to disk → put into the history, old messages freed → PostCompact hooks
 *
 * A failure at any point leaves the conversation unchanged. After three failures in a row there is
 * no more automatic compaction in this session; one that makes no room counts as a failure.
 * Observers see COMPACTING, then COMPACTED. Agent thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct agent;
struct agent_input;
struct buf;
struct err;
struct turn;

/* Call it before each request: applies the limit for results (budget.h) and compacts when the
 * conversation no longer fits the window (room.h). -1 with ERR_CONTEXT_FULL if it is at its maximum
 * and must not be compacted, ERR_CANCELLED, or an error of storing it. */
int compact_when_due(struct agent *a, struct turn *t, struct err *err);

/* Call it when the provider has rejected a request as too long. True if there is more room now.
 * Works once per turn. */
bool compact_for_room(struct agent *a, struct turn *t);

/* "/compact". *ret gets the message for the user, also if there is too little to summarize. */
int compact_asked(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                  struct err *err);

/* True if the input is "/compact", optionally followed by what the summary should keep. */
bool compact_is_wanted(const struct agent_input *in, struct str *ret_instructions);
