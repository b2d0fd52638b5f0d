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
 * (room.h). -1: ERR_CONTEXT_FULL, it may not be compacted and is as long as it may be;
 * ERR_CANCELLED; or what had to be written down could not be. */
int compact_when_due(struct agent *a, struct turn *t, struct err *err);

/* The provider has said that it is too long: true when there is more room now. Once a turn. */
bool compact_for_room(struct agent *a, struct turn *t);

/* Asked for by a person. ret gets what to tell them, also when there is too little to sum up. */
int compact_asked(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                  struct err *err);

/* The input is "/compact", with what to keep behind it. */
bool compact_is_wanted(const struct agent_input *in, struct str *ret_instructions);
