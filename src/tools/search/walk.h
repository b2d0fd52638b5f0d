/*
 * Walks a folder tree and passes on its files, several at a time.
 *
 * Omits what ripgrep omits: ignored files (ignore.h), hidden ones unless requested, links (they are
 * not followed), everything but regular files. Globs and types take precedence over ignore files.
 * Files come in no particular order, on the walk's own threads; the caller's thread waits.
 *
 * With `all`, everything is passed on except the contents of .git below the root: ignored and
 * hidden files, and links, which are still not followed. Omissions are counted.
 *
 * Limited by entries, depth and time; the report says if a limit ended it. A cancel ends it between
 * two files.
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

/* path is relative to the root, root_fd is the root. worker counts from 0, for per-thread data.
 * False ends the walk. */
typedef bool (*walk_fn)(int root_fd, const char *path, unsigned worker, void *arg);

struct walk {
    const char *root;                 /* a folder, absolute, without links */
    bool all;                         /* ignored and hidden files and links too, but not .git */
    bool hidden;                      /* hidden files too, but not .git */
    bool git;                         /* skip what git ignores */
    const struct ignore_rules *globs; /* "*.c", "!x": only matching files; NULL = all */
    const struct ignore_rules *types; /* only matching names; NULL = all */
    const struct denied *denied;      /* files that must not be read are omitted; may be NULL */
    int64_t timeout_ms;               /* 0 = none */
    struct cancel *cancel;            /* may be NULL */
    walk_fn fn;
    void *arg;
};

struct walk_report {
    bool cut_entries, cut_depth, cut_time;
    size_t git, denied,
        special;            /* with `all`, omitted: .git, denied by a rule, devices and similar */
    size_t unreadable;      /* folders */
    struct buf unreadable1; /* the first of them */
};
void walk_report_release(struct walk_report *r);

/* ERR_NOT_FOUND or ERR_IO: the root cannot be opened; ERR_CANCELLED. */
int walk_run(const struct walk *w, struct walk_report *ret, struct err *err);
