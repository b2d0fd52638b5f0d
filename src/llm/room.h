/*
 * How much of a model's context window a conversation may fill.
 *
 * All counts are tokens of a request. Space for the answer (the model's default output, at most a
 * quarter of the window) stays free, and some for estimation errors:
 *
 *   compact_at = window - answer - window/16, where the last term is at most 13,000
 *   limit      = window - answer - window/64, where the last term is at most  3,000
 *
 * At compact_at the conversation is compacted before the next call. If automatic compaction is off,
 * no call is made at the limit, so that there is still room to ask for a summary. With a window of
 * 200,000 and answers of 32,000 tokens: 155,500 and 165,000.
 *
 * Settings: autoCompactEnabled (or DISABLE_AUTO_COMPACT=1), autoCompactWindow (or
 * CLAUDE_CODE_AUTO_COMPACT_WINDOW: use this window if it is smaller than the model's),
 * CLAUDE_AUTOCOMPACT_PCT_OVERRIDE (compact_at as a percentage of the window, if that is lower).
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct model;

#define ROOM_TOKEN_BYTES 4 /* approximate bytes of text per token */

struct window_room {
    bool automatic; /* compact at compact_at */
    int64_t compact_at;
    int64_t limit;
    size_t tail_bytes;    /* of the newest messages that survive a compaction */
    size_t file_bytes;    /* of one file that is shown again after it */
    size_t files_bytes;   /* of all these files together */
    size_t results_bytes; /* of all results in one message */
};

void room_of(const struct conf *conf, const struct model *model, struct window_room *ret);
