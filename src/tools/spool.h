/*
 * The output of one command: plain text (plain.h) without keys (base/secret.h), its beginning and
 * end for the model (clip.h), all of it in a file when that is not the whole, while the command
 * runs. Memory stays the same however much comes. At most 256 MB go to the file; the rest is
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
    struct buf open; /* the end of what came, while it may be the beginning of a key */
    struct clip clip;
    struct workspace *workspace; /* lent */
    char *name;                  /* of the file, without its ending */
    struct buf path;             /* empty while there is none */
    int fd;                      /* -1: none */
    size_t written;
    size_t lost;       /* bytes over SPOOL_MAX_FILE, or that could not be written */
    bool has_failed;   /* there is no file, or it cannot grow */
    struct buf reason; /* why */
};

void spool_init(struct spool *s, struct workspace *w, struct str name);
void spool_release(struct spool *s);              /* the file stays */
int spool_open(struct spool *s, struct err *err); /* makes the file now, with what came so far */
void spool_move(struct spool *dst, struct spool *src); /* src has nothing left to release */
void spool_feed(struct spool *s, struct str bytes);
void spool_end(struct spool *s);
void spool_write(const struct spool *s, struct buf *ret); /* what the model is shown */
