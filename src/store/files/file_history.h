/*
 * The history of a session's files: how each one was before tools changed it.
 *
 * Before the first change after a user's message the file's bytes go into <session
 * dir>/file-history/ and a line that records it into the transcript; both are stored before the
 * tool may write. After the edit a second line records the new state. A change by others in between
 * is saved as well, as a separate version. When the bytes cannot be saved, the edit must not
 * happen; a file above FILE_HISTORY_MAX_FILE is an exception, and recorded as such.
 *
 * Together the bytes take at most FILE_HISTORY_MAX_TOTAL; beyond it the least recently used go, and
 * the user is notified.
 *
 * Safe from any thread. Edits of several tools take turns here for the time it takes to keep one
 * file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;
struct file_changes;
struct file_history;

#define FILE_HISTORY_MAX_FILE ((size_t)32 << 20)
#define FILE_HISTORY_MAX_TOTAL ((uint64_t)512 << 20)
#define FILE_HISTORY_DIR "file-history" /* in the session's folder */

/* Writes whole lines to the transcript: transcript_fact(). */
typedef int (*file_history_write_fn)(void *arg, struct str lines, struct err *err);

/* Nothing is made or opened yet. */
struct file_history *file_history_new(const char *session_dir, file_history_write_fn write,
                                      void *arg);
void file_history_free(struct file_history *h); /* NULL is fine */

/* What a resumed session has done already, given away. Before the first edit. */
void file_history_recall(struct file_history *h, struct file_changes *all);

/* A new user message: later changes belong to it. */
void file_history_begin(struct file_history *h, struct str message_uuid);

struct file_kept {
    bool is_kept;     /* false: there is no way back from what comes now */
    const char *note; /* for the user, the first time only; NULL: none. Static */
    size_t dropped;   /* older ones that had to go for it */
};

/* A tool is about to change this file. -1: it must not. If it is not a file and none can be made
 * there, the tool will report it. ret may be NULL. */
int file_history_before(struct file_history *h, const char *path, struct str tool_use_id,
                        struct file_kept *ret, struct err *err);
/* The tool is done with it, changed or not. A failure only means that the file will count as
 * changed by others. */
int file_history_after(struct file_history *h, const char *path, struct err *err);

/* For a fork of the session: the bytes of one under the folder of the other. */
int file_history_copy(const char *from_session_dir, const char *to_session_dir, struct err *err);
