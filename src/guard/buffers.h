/*
 * Files as the editor of a session has them: texts that may not be saved yet.
 *
 * An editor may lend its files (struct buffer_lender): Read, Edit, Write and mentions then use its
 * text of a file in the workspace where that is newer than the one on disk, and write through it.
 * Commands and searches see the disk. For each file the last text is known that buffer and disk had
 * in common: a side that differs from it has changed since, and its text counts; when both have
 * changed, an edit would lose one of them and must not happen. One per session, shared by its
 * agents. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct buffers;
struct cancel;
struct err;
struct stat;
struct workspace;

/* read and write may be NULL: the editor does not do that. They wait for the editor. A call may
 * still run after buffers_lend() has replaced its lender, so `arg` is counted. */
struct buffer_lender {
    int (*read)(void *arg, const char *path, struct cancel *cancel, struct buf *ret_text,
                struct err *err);
    int (*write)(void *arg, const char *path, struct str text, struct cancel *cancel,
                 struct err *err);
    /* Once, when a file could not be read from the editor and the one on disk was used. */
    void (*complain)(void *arg, const char *path, const char *why);
    void (*ref)(void *arg);
    void (*unref)(void *arg);
    void *arg;
};

struct buffers *buffers_new(void);
void buffers_free(struct buffers *b); /* NULL is fine */

void buffers_lend(struct buffers *b, const struct buffer_lender *lender);
void buffers_withdraw(struct buffers *b, const void *arg); /* nothing when it is not the lender */

/* A command of the agent begins or ends: what changes on disk in between is its doing. */
void buffers_command_began(struct buffers *b);
void buffers_command_ended(struct buffers *b);

/* Whether the editor serves this path: it lies in the workspace, with its links followed. */
bool buffers_serve(struct workspace *w, const char *real);
bool buffers_serve_writes(struct workspace *w, const char *real);

enum buffer_truth {
    BUFFER_NONE,     /* the disk's text counts: the editor has no text of it, or a stale one */
    BUFFER_NEWER,    /* the editor's text counts */
    BUFFER_CONFLICT, /* both have changed; ret_text has the editor's */
};
/* disk: the text on disk; st NULL: there is no such file there. */
enum buffer_truth buffers_read(struct workspace *w, const char *real, const struct stat *st,
                               struct str disk, struct cancel *cancel, struct buf *ret_text);

int buffers_write(struct workspace *w, const char *real, struct str text, struct cancel *cancel,
                  struct err *err);
/* After it, with the text that is on disk now. False: that is another one. */
bool buffers_wrote(struct workspace *w, const char *real, struct str text, struct str disk);
