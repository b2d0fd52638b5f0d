/*
 * Compaction: the older part of a conversation becomes a summary, so that it can go on; for
 * src/agent only.
 *
 *   PreCompact hooks (may block) → a summary by the model (summary.h) → boundary, summary, state
 *   said again (attach.h) and the newest messages (at most a quarter of all, history_tail()) →
 *   onto the disk → into the history, the old messages freed → PostCompact hooks
 *
 * A failure at any point leaves the conversation as it was. After three in a row nothing is
 * compacted unasked for the rest of the session; one that makes no room counts as failed. Observers
 * see COMPACTING, then COMPACTED. Agent thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct agent;
struct agent_input;
struct buf;
struct err;
struct turn;

/* Before each call: results within their budget (budget.h), and the whole within the window
 * (room.h). -1: ERR_CONTEXT_FULL, it must not be compacted and has its maximum size; ERR_CANCELLED;
 * or storing failed. */
int compact_when_due(struct agent *a, struct turn *t, struct err *err);

/* The provider has said that it is too long: true when there is more room now. Once a turn. */
bool compact_for_room(struct agent *a, struct turn *t);

/* Requested by the user. ret gets the message for them, also when there is too little to
 * summarize. */
int compact_asked(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                  struct err *err);

/* The input is "/compact", optionally followed by the topics to keep. */
bool compact_is_wanted(const struct agent_input *in, struct str *ret_instructions);
