/*
 * Loads a transcript for resuming: the active chain and the facts.
 *
 * The file is never in memory as a whole. Its bytes are scanned once, through a window of fixed
 * size, for the few keys that form the chain; a line is parsed only on request, and may turn out to
 * be invalid then. Lines before the last compact boundary are searched only for facts, unless a
 * line after it refers to them. If the file shrinks while it is read, the result is ERR_IO, not a
 * crash; if it grows, the new part is ignored.
 *
 * The chain: from the newest leaf, parentUuid by parentUuid, reversed; the order in the file only
 * determines which leaf is the newest. Then: parallel calls and their results are put together
 * again (by message.id and the parents of results), preserved messages are inserted after their
 * boundary, snips and tombstones removed, children of progress lines attached to its parent, cycles
 * cut with a warning. Invalid lines (an incomplete tail, garbage) are skipped and counted. One
 * thread; several may load one file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "base/vec.h"
#include "store/transcript/entry.h"

#define LOAD_MAX_ID 512 /* longer uuids are invalid */

struct cancel;
struct err;

enum load_flags {
    LOAD_META = 1,         /* isMeta */
    LOAD_SUMMARY = 2,      /* isCompactSummary */
    LOAD_BOUNDARY = 4,     /* system, compact_boundary */
    LOAD_API_ERROR = 8,    /* isApiErrorMessage */
    LOAD_TOOL_RESULT = 16, /* user: content has a tool_result */
    LOAD_TOOL_USE = 32,    /* assistant: content has a tool_use */
    LOAD_PRESERVED = 64,   /* preserved by a boundary: its usage is not counted */
    LOAD_SIDECHAIN = 128,
};

struct load_entry {
    uint64_t offset;
    uint32_t len; /* of the line without the newline */
    uint16_t flags;
    uint8_t kind; /* enum entry_kind */
    /* for the uuid, read the line */
};

/* A line in the file; len 0 = none. */
struct load_line {
    uint64_t offset;
    uint32_t len;
};

/* Facts; the last one wins unless noted. Missing strings are "". */
struct load_facts {
    struct buf session;     /* of the newest message, else the file's name */
    struct buf cwd, branch; /* of the newest message that has them */
    struct buf
        first_prompt; /* the first prompt that is not meta or a command's output; truncated */
    struct buf title,
        ai_title; /* set by the user; made by a model, or an old summary of the leaf */
    struct buf tag, mode, permission_mode, agent_setting, agent_name;
    struct load_line worktree, pr_link;
    struct load_line goal_status; /* attachments of that type, or system lines of that subtype */
    struct load_line goal_terms, goal_used; /* tenax only: the agreed terms, and the costs */
    struct load_line last_turn;             /* turn_duration */
    VEC(struct load_line) replacements;     /* content-replacement of the main chain, in order */
    VEC(struct load_line) queue;            /* enqueued and not removed, in order */
    VEC(struct load_line) file_history;     /* in order */
    VEC(struct load_line) collapses;        /* commits in order; empty after a boundary */
    struct load_line collapse_snapshot;     /* the same */
    int64_t first_ms, last_ms;              /* timestamps of messages; 0 = none */
    uint64_t messages;                      /* user and assistant lines of the main chain's file */
    uint64_t skipped;                       /* invalid lines */
    uint64_t size;                          /* bytes read */
    bool is_torn; /* the last line is incomplete; the writer completes it */
};

struct load_spec {
    /* End of the chain: uuid of an entry, or message.id of an answer (its last block; with
     * is_before, the entry before it). Empty = the newest leaf. ERR_NOT_FOUND. */
    struct str leaf;
    bool is_before; /* end with the parent of that entry */
    bool whole;     /* also include what is before the boundary, for display, not for models */
};

struct load;

/* ERR_NOT_FOUND, ERR_IO, ERR_CANCELLED. An empty chain is not an error. */
int load_open(const char *path, const struct load_spec *spec, struct cancel *cancel,
              struct load **ret, struct err *err);
void load_free(struct load *l);

const struct load_facts *load_facts(const struct load *l);
const struct strv *load_warnings(const struct load *l); /* for the user, each once */

size_t load_count(const struct load *l);
const struct load_entry *load_at(const struct load *l, size_t i);
/* The uuid of the chain's last entry, the parent of the next one; empty if there is none. */
struct str load_leaf(const struct load *l);

/* Reads a line's bytes; valid until the next call. */
int load_read(struct load *l, uint64_t offset, uint32_t len, struct str *ret, struct err *err);

/* Reads only what a list of sessions shows, from head and tail of the file (64 KB each): facts
 * without lines. */
int load_peek(const char *path, struct load_facts *ret, struct err *err);
/* Whether any line at the ends of the file is an entry; otherwise the file only has the name of a
 * transcript. */
bool load_is_transcript(const char *path);
void load_facts_release(struct load_facts *f);
