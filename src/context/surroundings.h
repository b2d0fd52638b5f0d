/*
 * Where the session takes place: folder, machine, day, and how the git repository stands.
 *
 * git is started first and its results collected last, so that other things are read in between.
 * All of it together takes SURROUNDINGS_GIT_MS at most: a status that takes longer is requested
 * again without untracked files, and then given up, and the text reports that. Without git, outside
 * of a repository, or in one that git refuses, the text is simply shorter.
 *
 * git is kept from doing what a repository's own configuration could make it do here: no file
 * system monitor, no signature checks, no locks, no look into submodules' work trees. It is asked
 * for a status of the very repository whose settings were read, and only where they name no
 * filters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct cancel;
struct err;
struct surroundings;

#define SURROUNDINGS_GIT_MS 500
#define SURROUNDINGS_MAX_CHANGES 40 /* lines of status that are shown */
#define SURROUNDINGS_COMMITS 5

struct surroundings_spec {
    const char *dir;
    char *const *environ; /* of git, and for $SHELL */
    int64_t git_ms;       /* 0: SURROUNDINGS_GIT_MS */
    bool is_later;        /* the session has begun before */
    const char *commits;  /* file that remembers commits (commits.h); NULL: git is asked */
};

/* Never fails: the text reports whatever cannot be started. Data that *spec points to is lent until
 * it is freed. */
struct surroundings *surroundings_start(const struct surroundings_spec *spec);
void surroundings_free(struct surroundings *s); /* git that still runs is ended in the background */

/* Waits for git. ERR_CANCELLED. */
int surroundings_write(struct surroundings *s, struct cancel *cancel, struct buf *ret,
                       struct err *err);

/* Today, where the user is: "2026-01-31". */
void surroundings_today(char out[static 11]);
