/*
 * Extracts what the reader needs from one line without parsing all of it.
 *
 * Only keys at their proper level count: those of the line itself, of its message, of its content
 * blocks, of compactMetadata. A "uuid" inside a tool's input is part of a skipped value. Keys may
 * come in any order, repeated (the last one counts), and with escapes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/transcript/entry.h"
#include "store/transcript/load.h"
#include "store/uid.h"

struct window;

#define LINE_MAX_BYTES ((uint64_t)1 << 30) /* longest line that can be parsed */
#define LINE_TEXTS 4                       /* texts of a message that may be the prompt */

/* Additional bits for the field of enum load_flags. */
enum line_flags {
    LINE_SNIP = 1 << 8,
    LINE_TOMBSTONE = 1 << 9,
    LINE_KEEPS = 1 << 10,     /* a boundary that lists preserved messages */
    LINE_GOAL = 1 << 11,      /* goal_status */
    LINE_TURN = 1 << 12,      /* turn_duration */
    LINE_HAS_AGENT = 1 << 13, /* agentId */
};

/* How much of a line is examined. */
enum line_depth {
    LINE_ALL,
    LINE_BEGINNING, /* enough to tell facts from messages: see line.c */
};

/* Where a string stands in the file, with its quotes; len 0: nowhere. */
struct entry_span {
    uint64_t offset;
    uint32_t len;
};

struct entry_line {
    enum entry_kind kind;
    bool has_kind;
    bool is_blank;  /* only white space */
    unsigned flags; /* enum load_flags and line_flags */
    struct uid id, parent;
    uint64_t answer;  /* message.id, hashed; 0: none */
    uint64_t session; /* sessionId, hashed; 0: none */
    struct entry_span at_session, at_cwd, at_branch, at_time;
    struct entry_span texts[LINE_TEXTS]; /* content, or its text blocks */
    unsigned text_count;
};

/* False: it is not an object, or incomplete; the part before the fault is filled in. */
bool line_scan(struct window *w, enum line_depth depth, struct entry_line *ret);
