/*
 * How much of a model's window a conversation may fill.
 *
 * All counts are tokens of a request. What the model may answer (its default output, a quarter of
 * the window at most) is kept free, and something for what an estimate gets wrong:
 *
 *   compact_at = window - answer - window/16, at most 13,000 of the last
 *   limit      = window - answer - window/64, at most  3,000 of the last
 *
 * At compact_at the conversation is compacted before the next call; at the limit, where that is
 * switched off, the call is not made, so that a summary can still be asked for. With 200,000 tokens
 * and answers of 32,000: 155,500 and 165,000.
 *
 * Settings: autoCompactEnabled (or DISABLE_AUTO_COMPACT=1), autoCompactWindow (or
 * CLAUDE_CODE_AUTO_COMPACT_WINDOW: a window to count with that is smaller than the model's),
 * CLAUDE_AUTOCOMPACT_PCT_OVERRIDE (compact_at as a percentage of the window, where that is
 * earlier). Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct model;

#define ROOM_TOKEN_BYTES 4 /* of text, about */

struct room {
    bool automatic; /* compact when it is due */
    int64_t compact_at;
    int64_t limit;
    size_t tail_bytes;    /* of the newest messages that stay as they are */
    size_t file_bytes;    /* of one file that is shown again */
    size_t files_bytes;   /* of all of them */
    size_t results_bytes; /* of the results in one message */
};

void room_of(const struct conf *conf, const struct model *model, struct room *ret);
