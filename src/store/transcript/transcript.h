/*
 * A transcript as it is written: whole lines, appended, each acknowledged only when it is in the
 * file.
 *
 * One write(2) per call under an advisory lock, so that processes never interleave; nothing of ours
 * buffers. A torn last line is completed with a newline first. The file appears with the first
 * message; what came before waits in memory and is written right before it, in the same write. What
 * cannot be written is an error, and nothing that stands in the file is touched: a line that went
 * in only partly counts as torn. A message that failed is written again with the next one, before
 * it, so that the chain never has a gap; it may then stand in the file twice. Keys are taken out on
 * the way (base/secret.h).
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

#define TRANSCRIPT_COPY ".new" /* appended to the name of a file while it is copied */

enum transcript_sync {
    SYNC_NEVER,
    SYNC_TURN,   /* after a prompt and at the end of a turn */
    SYNC_ALWAYS, /* after each entry */
};

/* Nothing is made or opened yet. The path's folders are made with the file, 0700. */
struct transcript *transcript_new(const char *path, enum transcript_sync sync);
/* One line for the file at path, which is made if missing; durable: on the disk when this returns.
 * For lines other than messages that cannot wait for one. Any thread. */
int transcript_add_line(const char *path, struct str line, bool durable, struct err *err);
void transcript_free(struct transcript *t);
const char *transcript_path(const struct transcript *t);
bool transcript_exists(struct transcript *t);

/* Whole lines, each with its newline. */
/* Waits in memory until the next write: for lines that mean nothing without the line after them. */
void transcript_hold(struct transcript *t, struct str lines);
/* What the file begins with, copied from another one: it appears with the first message, and only
 * as a whole. Half of a conversation would be taken for one. */
void transcript_copy(struct transcript *t, struct str lines);
/* A fact: written at once when the file exists, else it waits. */
int transcript_fact(struct transcript *t, struct str lines, struct err *err);
/* A message: makes the file. is_durable: a prompt, or the end of a turn. */
int transcript_message(struct transcript *t, struct str lines, bool is_durable, struct err *err);
/* A message that the conversation does without when it cannot be written: it is not tried again. */
int transcript_attempt(struct transcript *t, struct str lines, struct err *err);

/* How long a process is waited for that writes into the same file (-1: a few seconds), and what
 * ends the wait sooner (lent, NULL: nothing). Then it cannot be written; the error names the
 * process. */
void transcript_patience(struct transcript *t, int64_t max_wait_ms, struct cancel *cancel);

/* A second reader of all written lines, such as a mirror; called after each write, in order. NULL:
 * none. */
void transcript_mirror(struct transcript *t, void (*fn)(void *arg, struct str lines), void *arg);
