/*
 * Writes a transcript: appends whole lines, and reports success only when they are in the file.
 *
 * Each call is one write(2) under an advisory lock, so that processes never interleave; nothing is
 * buffered. An incomplete last line is first completed with a newline. The file is created with the
 * first message; earlier facts wait in memory and are written right before it, in the same write.
 * If a write fails, an error is returned and existing lines are never changed: a partly written
 * line counts as incomplete. A failed message is written again before the next one, so that the
 * chain never has a gap; it may then be in the file twice. Secrets are masked (base/secret.h).
 *
 * Safe from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct cancel;
struct err;
struct transcript;

#define TRANSCRIPT_COPY ".new" /* suffix of a file that is being copied */

enum transcript_sync {
    SYNC_NEVER,
    SYNC_TURN,   /* after a prompt and at the end of a turn */
    SYNC_ALWAYS, /* after each entry */
};

/* Creates and opens nothing yet. The path's folders are created together with the file, mode 0700.
 */
struct transcript *transcript_new(const char *path, enum transcript_sync sync);
/* Appends one line to the file at path, creating it if missing; durable: it is on disk on return.
 * For lines other than messages that cannot wait for one. Any thread. */
int transcript_add_line(const char *path, struct str line, bool durable, struct err *err);
void transcript_free(struct transcript *t);
const char *transcript_path(const struct transcript *t);
bool transcript_exists(struct transcript *t);

/* The lines below are whole lines, each with its newline. */
/* Keeps lines in memory until the next write, for lines that mean nothing without the following
 * one. */
void transcript_hold(struct transcript *t, struct str lines);
/* Sets the beginning of the file, copied from another one. It is written with the first message and
 * only as a whole, because a part of a conversation would be mistaken for all of it. */
void transcript_copy(struct transcript *t, struct str lines);
/* A fact: written at once if the file exists, otherwise kept. */
int transcript_fact(struct transcript *t, struct str lines, struct err *err);
/* A message: creates the file. is_durable: a prompt, or the end of a turn. */
int transcript_message(struct transcript *t, struct str lines, bool is_durable, struct err *err);
/* A message that the conversation can do without: a failed write is not retried. */
int transcript_attempt(struct transcript *t, struct str lines, struct err *err);

/* How long to wait for another process that writes to the file (-1 = a few seconds), and what ends
 * the wait early (lent; may be NULL). Then the write fails, and the error names the process. */
void transcript_patience(struct transcript *t, int64_t max_wait_ms, struct cancel *cancel);

/* A second consumer of all written lines, such as a mirror; called after each write, in order. NULL
 * = none. */
void transcript_mirror(struct transcript *t, void (*fn)(void *arg, struct str lines), void *arg);
