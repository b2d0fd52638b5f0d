/*
 * The history of a session's files: their states before tools changed them.
 *
 * Before the first change after a user's message, the file's bytes are saved in <session
 * dir>/file-history/ and a line in the transcript records that; both are stored before the tool may
 * write. After the edit a second line records the new state. A change by others in between is saved
 * as well, as a separate version. If the bytes cannot be saved, the edit must not happen; a file
 * larger than FILE_HISTORY_MAX_FILE is an exception, and recorded as such.
 *
 * All saved bytes together are limited to FILE_HISTORY_MAX_TOTAL; then the least recently used are
 * dropped, and the user is notified.
 *
 * Safe from any thread. Parallel edits wait here while one file is saved.
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

/* Writes whole lines to the transcript; usually transcript_fact(). */
typedef int (*file_history_write_fn)(void *arg, struct str lines, struct err *err);

/* Creates and opens nothing yet. */
struct file_history *file_history_new(const char *session_dir, file_history_write_fn write,
                                      void *arg);
void file_history_free(struct file_history *h); /* NULL is fine */

/* Sets the changes of a resumed session, which are taken over. Call it before the first edit. */
void file_history_recall(struct file_history *h, struct file_changes *all);

/* A new user message: later changes belong to it. */
void file_history_begin(struct file_history *h, struct str message_uuid);

struct file_kept {
    bool is_kept;     /* false = the next change cannot be undone */
    const char *note; /* message for the user, set only the first time; or NULL. Static */
    size_t dropped;   /* older versions that were dropped to make room */
};

/* Call it before a tool changes this file. -1: the tool must not change it. Does nothing if it is
 * not a file and none can be created there, which the tool will report. ret may be NULL. */
int file_history_before(struct file_history *h, const char *path, struct str tool_use_id,
                        struct file_kept *ret, struct err *err);
/* Call it when the tool has finished, whether it changed the file or not. After a failure the file
 * will count as changed by others. */
int file_history_after(struct file_history *h, const char *path, struct err *err);

/* For a fork of a session: copies the saved bytes to the other session's folder. */
int file_history_copy(const char *from_session_dir, const char *to_session_dir, struct err *err);
