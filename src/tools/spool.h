/*
 * The output of one command: plain text (plain.h) with secrets masked (base/secret.h), its head and
 * tail for the model (clip.h), and all of it in a file if that is not everything, written while the
 * command runs. Memory use is constant. At most 256 MB are written to the file; the rest is
 * counted. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/plain.h"
#include "base/str.h"
#include "tools/clip.h"

struct err;
struct workspace;

#define SPOOL_HEAD ((size_t)10 * 1000) /* bytes the model is shown */
#define SPOOL_TAIL ((size_t)19 * 1000)
#define SPOOL_MAX_FILE ((size_t)256 << 20)

struct spool {
    struct plain plain;
    struct buf open; /* the end of the text so far, which may be the start of a secret */
    struct clip clip;
    struct workspace *workspace; /* lent */
    char *name;                  /* of the file, without extension */
    struct buf path;             /* empty if there is no file */
    int fd;                      /* -1: none */
    size_t written;
    size_t lost;       /* bytes beyond SPOOL_MAX_FILE, or that could not be written */
    bool has_failed;   /* the file cannot be created or cannot grow */
    struct buf reason; /* why */
};

void spool_init(struct spool *s, struct workspace *w, struct str name);
void spool_release(struct spool *s);              /* the file stays */
int spool_open(struct spool *s, struct err *err); /* creates the file now, with the text so far */
void spool_move(struct spool *dst, struct spool *src); /* src need not be released afterwards */
void spool_feed(struct spool *s, struct str bytes);
void spool_end(struct spool *s);
void spool_write(const struct spool *s, struct buf *ret); /* the text for the model */
