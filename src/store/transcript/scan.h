/*
 * Scans a transcript's bytes once: makes a node for each line with an id and a note for each fact.
 *
 * A few threads scan the file in parts, from its end backwards. As soon as a part has a compact
 * boundary, earlier lines are examined only for facts, by their beginnings. If a line after the
 * boundary refers to a line that was not scanned, scan_widen() scans more of the file in full.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/transcript/line.h"
#include "store/transcript/source.h"

struct cancel;
struct err;

#define SCAN_PART ((uint64_t)4 << 20) /* bytes; a multiple of the page size */

#define NODE_NONE UINT32_MAX

/* A line with an id. Its parent is resolved in chain.c. */
struct node {
    struct uid id, parent;
    uint64_t offset;
    uint64_t answer; /* hash of message.id; 0 = none */
    uint32_t len;
    uint32_t up;    /* number of the parent, or NODE_NONE */
    uint16_t flags; /* enum load_flags and line_flags */
    uint8_t kind;
    uint8_t marks; /* chain.c */
};

/* A line outside the chain, or a system line that is also a fact. */
struct fact {
    uint64_t offset;
    uint64_t session; /* hash; 0 = the line has none */
    uint32_t len;
    uint16_t flags;
    uint8_t kind;
};

/* From the newest message that has them. */
struct newest {
    struct entry_span session, cwd, branch, time;
    uint64_t session_hash;
};

struct scan_part {
    uint64_t begin, end;
    bool is_full; /* scanned in full: its nodes exist */
    bool has_boundary;
    bool has_main;
    VEC(struct node) nodes;
    VEC(struct fact) facts;
    struct newest newest[2]; /* of the main chain; of sidechains */
    uint64_t messages[2];
    uint64_t skipped;
};

struct scan {
    const struct line_source *source;
    struct cancel *cancel;
    bool is_agent;        /* the file of a sidechain, by its first message */
    unsigned max_threads; /* 0: as many as pay */
    size_t window_bytes;  /* 0: WINDOW_BYTES */
    struct scan_part *parts;
    size_t part_count;
    size_t full_from; /* parts from here on are scanned in full */
};

/* part_bytes: SCAN_PART but in tests. */
void scan_init(struct scan *s, const struct line_source *source, bool is_agent,
               struct cancel *cancel, uint64_t part_bytes);
void scan_release(struct scan *s);

/* is_whole: scan everything in full. */
int scan_run(struct scan *s, bool is_whole, struct err *err);

/* Whether everything is scanned in full; scan_widen() scans about as much again as before. */
bool scan_is_whole(const struct scan *s);
int scan_widen(struct scan *s, struct err *err);

/* Scans one section in full. */
struct window;
int scan_part(const struct scan *s, struct window *w, enum line_depth depth, struct scan_part *p,
              struct err *err);
void part_release(struct scan_part *p);
