/*
 * Unsaved texts of files in the editor of a session.
 *
 * An editor may lend its files (struct buffer_lender): Read, Edit, Write and mentions then use its
 * text of a file in the workspace if it is newer than the one on disk, and write through it.
 * Commands and searches see the disk. For each file the last text common to buffer and disk is
 * known: the side that differs from it has changed since, and is used. If both have changed, an
 * edit would lose one of them and is refused. One per session, shared by its agents. Any thread.
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

/* read and write may be NULL if the editor does not support them. They wait for the editor. A call
 * may still be running after buffers_lend() has replaced its lender, so `arg` is reference counted.
 */
struct buffer_lender {
    int (*read)(void *arg, const char *path, struct cancel *cancel, struct buf *ret_text,
                struct err *err);
    int (*write)(void *arg, const char *path, struct str text, struct cancel *cancel,
                 struct err *err);
    /* Called once, when a file could not be read from the editor and the one on disk was used. */
    void (*complain)(void *arg, const char *path, const char *why);
    void (*ref)(void *arg);
    void (*unref)(void *arg);
    void *arg;
};

struct buffers *buffers_new(void);
void buffers_free(struct buffers *b); /* NULL is fine */

void buffers_lend(struct buffers *b, const struct buffer_lender *lender);
/* does nothing if it is not the lender */
void buffers_withdraw(struct buffers *b, const void *arg);

/* A command of the agent starts or ends: changes on disk in between are attributed to it. */
void buffers_command_began(struct buffers *b);
void buffers_command_ended(struct buffers *b);

/* Whether the editor provides this path: it is in the workspace, with its links resolved. */
bool buffers_serve(struct workspace *w, const char *real);
bool buffers_serve_writes(struct workspace *w, const char *real);

enum buffer_truth {
    BUFFER_NONE,     /* use the disk's text: the editor has none, or an older one */
    BUFFER_NEWER,    /* use the editor's text */
    BUFFER_CONFLICT, /* both have changed; ret_text has the editor's */
};
/* disk: the text on disk; st NULL: there is no such file. */
enum buffer_truth buffers_read(struct workspace *w, const char *real, const struct stat *st,
                               struct str disk, struct cancel *cancel, struct buf *ret_text);

int buffers_write(struct workspace *w, const char *real, struct str text, struct cancel *cancel,
                  struct err *err);
/* Call it after writing, with the text that is on disk now. False if it is a different one. */
bool buffers_wrote(struct workspace *w, const char *real, struct str text, struct str disk);
