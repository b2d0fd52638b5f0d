/*
 * Walks a folder tree and hands out its files, several at a time.
 *
 * The omissions are those of ripgrep: files that ignore rules drop (ignore.h), hidden ones unless
 * asked for, links (they are not followed), everything that is not a regular file. The globs and
 * types of a search weigh more than ignore files, as they do there. Files come in no particular
 * order, on the walk's own threads; the caller's thread waits.
 *
 * With `all`, everything is handed out except the contents of .git below the root: ignored and
 * hidden files, and links, which are still not followed. Omissions are counted.
 *
 * Bounded by entries looked at, by depth and by time; the report says when a limit ended it.
 * A cancel ends it between two files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct cancel;
struct denied;
struct err;
struct ignore_rules;

#define WALK_MAX_ENTRIES 4000000
#define WALK_MAX_DEPTH 128
#define WALK_MAX_THREADS 8

/* One file: path is relative to the root, root_fd is the root. worker counts from 0, so that a
 * caller can keep something for each thread. False ends the walk. */
typedef bool (*walk_fn)(int root_fd, const char *path, unsigned worker, void *arg);

struct walk {
    const char *root;                 /* a folder, absolute, without links */
    bool all;                         /* ignored and hidden files and links too, but not .git */
    bool hidden;                      /* hidden files too, but not .git */
    bool git;                         /* what git ignores is left out */
    const struct ignore_rules *globs; /* "*.c", "!x": only files that fit; NULL: all */
    const struct ignore_rules *types; /* only names that fit one of them; NULL: all */
    const struct denied *denied;      /* what may not be read is left out; NULL: nothing */
    int64_t timeout_ms;               /* 0: none */
    struct cancel *cancel;            /* may be NULL */
    walk_fn fn;
    void *arg;
};

struct walk_report {
    bool cut_entries, cut_depth, cut_time;
    size_t git, denied, special; /* with `all`: left out; .git, by a rule, devices and such */
    size_t unreadable;           /* folders */
    struct buf unreadable1;      /* the first of them */
};
void walk_report_release(struct walk_report *r);

/* ERR_NOT_FOUND or ERR_IO: the root cannot be opened; ERR_CANCELLED. */
int walk_run(const struct walk *w, struct walk_report *ret, struct err *err);
