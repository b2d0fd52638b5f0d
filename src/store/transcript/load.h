/*
 * A transcript read for going on: the active chain, and the facts beside it.
 *
 * The file is never read into memory as a whole. Its bytes are scanned once, through a window of
 * fixed size, for the few keys that make the chain; a line is parsed only on request, and may turn
 * out to be broken inside then. Lines before the last compact boundary are searched for facts only,
 * unless a line after it names them. A file that shrinks meanwhile is ERR_IO, not a crash; one that
 * grows is read as it was at the beginning.
 *
 * The chain: newest leaf, parentUuid by parentUuid, reversed; order in the file means nothing but
 * "newest". Then: parallel calls and their results put back beside each other (by message.id, and
 * the results' parents), preserved messages spliced after their boundary, snips and tombstones
 * removed, children of progress hung on its parent, cycles cut with a warning. Lines that are no
 * entry (a torn tail, garbage) are skipped and counted. One thread; several may load one file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "base/vec.h"
#include "store/transcript/entry.h"

#define LOAD_MAX_ID 512 /* bytes of a uuid; a longer one is none */

struct cancel;
struct err;

enum load_flags {
    LOAD_META = 1,         /* isMeta */
    LOAD_SUMMARY = 2,      /* isCompactSummary */
    LOAD_BOUNDARY = 4,     /* system, compact_boundary */
    LOAD_API_ERROR = 8,    /* isApiErrorMessage */
    LOAD_TOOL_RESULT = 16, /* user: content has a tool_result */
    LOAD_TOOL_USE = 32,    /* assistant: content has a tool_use */
    LOAD_PRESERVED = 64,   /* kept over a boundary: its usage counts nothing */
    LOAD_SIDECHAIN = 128,
};

struct load_entry {
    uint64_t offset;
    uint32_t len; /* of the line, without its newline */
    uint16_t flags;
    uint8_t kind; /* enum entry_kind */
    /* uuid: read the line */
};

/* A line somewhere in the file; len 0: there is none. */
struct load_line {
    uint64_t offset;
    uint32_t len;
};

/* Facts, last wins unless noted. Strings are "" when absent. */
struct load_facts {
    struct buf session;         /* the file's own: of its newest message, else of its name */
    struct buf cwd, branch;     /* of the newest message that has one */
    struct buf first_prompt;    /* the first real one: not meta, no command's output; clipped */
    struct buf title, ai_title; /* the user's; made by a model, or an old summary of the leaf */
    struct buf tag, mode, permission_mode, agent_setting, agent_name;
    struct load_line worktree, pr_link;
    struct load_line goal_status; /* attachments of that type, or system lines of that subtype */
    struct load_line goal_terms, goal_used; /* tenax's own: the agreed terms, and the costs */
    struct load_line last_turn;             /* turn_duration */
    VEC(struct load_line) replacements;     /* content-replacement of the main chain, in order */
    VEC(struct load_line) queue;            /* enqueued and not taken out again, in order */
    VEC(struct load_line) file_history;     /* in order */
    VEC(struct load_line) collapses;        /* commits in order; empty after a boundary */
    struct load_line collapse_snapshot;     /* the same */
    int64_t first_ms, last_ms;              /* timestamps of messages; 0: none */
    uint64_t messages;                      /* user and assistant lines of the main chain's file */
    uint64_t skipped;                       /* lines that are no entry */
    uint64_t size;                          /* bytes that were read */
    bool is_torn;                           /* the last line has no end; the writer completes it */
};

struct load_spec {
    /* The chain ends here: uuid of an entry, or message.id of an answer (its last block and, with
     * is_before, the entry before it). Empty: the newest leaf. ERR_NOT_FOUND. */
    struct str leaf;
    bool is_before; /* end with the parent of that entry */
    bool whole; /* what lies before the boundary belongs to it too: for people, not for models */
};

struct load;

/* ERR_NOT_FOUND, ERR_IO, ERR_CANCELLED. An empty chain is no failure. */
int load_open(const char *path, const struct load_spec *spec, struct cancel *cancel,
              struct load **ret, struct err *err);
void load_free(struct load *l);

const struct load_facts *load_facts(const struct load *l);
const struct strv *load_warnings(const struct load *l); /* for the user, each once */

size_t load_count(const struct load *l);
const struct load_entry *load_at(const struct load *l, size_t i);
/* The uuid of the chain's last entry, which the next one hangs on; empty: none. */
struct str load_leaf(const struct load *l);

/* The line's bytes, good until the next call. */
int load_read(struct load *l, uint64_t offset, uint32_t len, struct str *ret, struct err *err);

/* Only what a list of sessions shows, from head and tail of the file (64 KB each): facts without
 * lines. */
int load_peek(const char *path, struct load_facts *ret, struct err *err);
/* Whether any line at its ends is an entry: a file that only has the name of a transcript is none.
 */
bool load_is_transcript(const char *path);
void load_facts_release(struct load_facts *f);
