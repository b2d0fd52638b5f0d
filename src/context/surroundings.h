/*
 * The environment of a session: folder, machine, date, and the state of the git repository.
 *
 * git is started first and its results are collected last, so that other things can be read in
 * between. All of it is limited to SURROUNDINGS_GIT_MS: a status that takes longer is requested
 * again without untracked files, and then given up, which the text mentions. Without git, outside
 * of a repository, or in one that git refuses, the text is shorter.
 *
 * git is prevented from doing what a repository's configuration could make it do: no file system
 * monitor, no signature checks, no locks, no access to submodules' work trees. A status is
 * requested only for the repository whose settings were read, and only if they name no filters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct cancel;
struct err;
struct surroundings;

#define SURROUNDINGS_GIT_MS 500
#define SURROUNDINGS_MAX_CHANGES 40 /* lines of status in the text */
#define SURROUNDINGS_COMMITS 5

struct surroundings_spec {
    const char *dir;
    char *const *environ; /* for git, and for $SHELL */
    int64_t git_ms;       /* 0 = SURROUNDINGS_GIT_MS */
    bool is_later;        /* the session is resumed */
};

/* Never fails: the text mentions what could not be started. What *spec points to must stay valid
 * until it is freed. */
struct surroundings *surroundings_start(const struct surroundings_spec *spec);
void surroundings_free(struct surroundings *s); /* a running git is ended in the background */

/* Waits for git. ERR_CANCELLED. */
int surroundings_write(struct surroundings *s, struct cancel *cancel, struct buf *ret,
                       struct err *err);

/* The local date: "2026-01-31". */
void surroundings_today(char out[static 11]);
