/*
 * The work tree, put into an index of our own, and what that needs of git.
 *
 * The private index is a file in the session's folder. The first time it is a copy of the user's;
 * later it is our own of the time before, so that marks an agent sets in the user's index ("assume
 * unchanged") hide nothing. Each call works on a copy of it and puts that in its place when all
 * went well, so a kill leaves the old one. Private to this folder. Any thread; waits for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "goal/git/baseline.h"
#include "goal/git/git.h"

struct buf;
struct cancel;
struct err;

#define STAGING_SMALL ((size_t)64 << 10)     /* of an answer of git that is a line or two */
#define STAGING_MAX_LIST ((size_t)256 << 20) /* of one that is a list of files */

struct staging {
    struct git git; /* perhaps confined */
    char *kept;     /* the private index */
    char *room;     /* a folder of this call's own */
    char *work;     /* in it: the copy this call works on */
    bool ours;      /* it began as a copy of the private one */
};

struct git staging_git(const struct baseline *b, int64_t deadline_ms, struct cancel *cancel);

/* The present work tree as a tree. */
int staging_tree(const struct baseline *b, int64_t deadline_ms, struct cancel *cancel,
                 char ret_tree[GIT_ID], struct err *err);

/* For callers that change it otherwise. fresh: not from our stored index. ERR_UNSUPPORTED: git
 * would run programs of the repository's own settings, and there is no sandbox for them. */
int staging_open(struct staging *s, const struct baseline *b, bool fresh, struct err *err);
int staging_keep(const struct staging *s, struct err *err);
void staging_release(struct staging *s);

/* A path as `git rev-parse` answers it, such as with "--show-toplevel" (more: a further argument,
 * or NULL). */
int staging_ask_path(const struct git *g, const char *what, const char *more, struct buf *ret,
                     struct err *err);
