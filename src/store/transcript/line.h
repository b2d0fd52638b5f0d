/*
 * What the reader needs to know of one line, found without parsing it.
 *
 * Only keys where they belong count: those of the line itself, of its message, of the blocks of its
 * content, of compactMetadata. A "uuid" in a tool's input is inside a value that is passed over.
 * Keys may come in any order, twice (the last one counts), and with escapes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/transcript/entry.h"
#include "store/transcript/load.h"
#include "store/uid.h"

struct window;

#define LINE_MAX_BYTES ((uint64_t)1 << 30) /* of a line that can be parsed */
#define LINE_TEXTS 4                       /* texts of a message that may be a prompt */

/* Beside enum load_flags, in the same field. */
enum line_flags {
    LINE_SNIP = 1 << 8,
    LINE_TOMBSTONE = 1 << 9,
    LINE_KEEPS = 1 << 10,     /* a boundary that names preserved messages */
    LINE_GOAL = 1 << 11,      /* goal_status */
    LINE_TURN = 1 << 12,      /* turn_duration */
    LINE_HAS_AGENT = 1 << 13, /* agentId */
};

/* How much of a line is looked at. */
enum line_depth {
    LINE_ALL,
    LINE_BEGINNING, /* as far as it takes to tell a fact from a message: see line.c */
};

/* Where a string stands in the file, with its quotes; len 0: nowhere. */
struct entry_span {
    uint64_t offset;
    uint32_t len;
};

struct entry_line {
    enum entry_kind kind;
    bool has_kind;
    bool is_blank;  /* nothing but white space */
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
