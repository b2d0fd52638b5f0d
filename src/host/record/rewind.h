/*
 * Going back to a message of the user: the files, the conversation, or both, as they were before
 * it.
 *
 * All of it is read from the transcript and recorded after it; existing lines are never touched. A
 * system line "rewound" records what was done and where the conversation continues; going back to
 * it undoes the rewind. Only files that tools have changed are restored
 * (store/files/file_restore.h), not those changed by commands.
 *
 * The caller holds the session. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"
#include "store/files/file_restore.h"

struct buf;
struct cancel;
struct entry_head;
struct err;
struct file_history;
struct load;
struct rewind;
struct transcript;

struct rewind_point {
    struct str uuid;
    struct str text; /* its first line, cut */
    int64_t time_ms;
    size_t files;    /* that tools have changed since */
    bool is_undo;    /* no message: the conversation was rewound here, and this undoes it */
    uint64_t offset; /* of its line */
    uint32_t len;
    size_t first;    /* number of the first change after it */
    struct str leaf; /* of an undo: where the conversation was */
};

/* path: of the transcript; folder: of the session. ERR_NOT_FOUND, ERR_IO, ERR_CANCELLED. */
int rewind_open(const char *path, const char *folder, struct cancel *cancel, struct rewind **ret,
                struct err *err);
void rewind_free(struct rewind *r);
void rewind_freep(struct rewind **r); /* for CLEANUP() */

/* Oldest first. */
size_t rewind_count(const struct rewind *r);
const struct rewind_point *rewind_at(const struct rewind *r, size_t i);
/* By number (from 1), uuid, or the start of one. ERR_NOT_FOUND, ERR_BAD_INPUT: several start so. */
int rewind_find(const struct rewind *r, struct str which, const struct rewind_point **ret,
                struct err *err);

/* Appends the whole text of the message as it was typed; nothing for an undo, or when there are no
 * words or they cannot be read any more. */
void rewind_said(struct rewind *r, const struct rewind_point *p, struct buf *ret);

/* What would happen to files, with lines counted; the rewind's, until the next call. And the plan
 * made last, which after rewind_do() says what has happened. */
const struct restore_plan *rewind_plan(struct rewind *r, const struct rewind_point *to, bool force);
const struct restore_plan *rewind_planned(const struct rewind *r);

/* The conversation as it was there: what it goes on from when it is set back. */
int rewind_load(struct rewind *r, const struct rewind_point *to, struct load **ret,
                struct err *err);

/* Where it is recorded, and what is done. */
struct rewind_order {
    bool files, conversation, force;
    struct transcript *transcript;
    struct file_history *history;  /* with the session's changes; only for files */
    const struct entry_head *head; /* of the line */
};

/* A description of the result, for the user. */
void rewind_text(const struct rewind_point *to, const struct rewind_order *order, struct buf *ret);

/* Writes the line, then does what the plan says: its rows then say what came of it. The line's uuid
 * is what the next message hangs on when the conversation went back. -1: nothing was done. */
int rewind_do(struct rewind *r, const struct rewind_point *to, const struct rewind_order *order,
              char ret_uuid[static ID_UUID_LEN + 1], struct err *err);

/* The session's own: for a line written by a caller that has none. */
void rewind_head(const struct rewind *r, struct entry_head *ret);
/* All changes of files, once more: for a history of one's own. */
int rewind_changes(struct rewind *r, struct file_changes *ret, struct err *err);
