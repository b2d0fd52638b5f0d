/*
 * The workspace's states as git knows them: where a goal began, each verified step, and the way
 * back.
 *
 * Everything is done with an index of our own (at first a copy of the user's, for its cached
 * stats), so that branch, index and work tree of the user are never touched, except by
 * baseline_undo(), which changes the work tree alone: HEAD stays where it is. States are commits
 * under refs/tenax/<session>/: "base", "step-1", …, "undo-1", …, each the parent of the next;
 * "last" is the newest. They belong to tenax, are unsigned, and run no hooks.
 *
 * The repository is the unit, also where the workspace is a folder of it. Trees hold tracked and
 * untracked files as git would store them (line ends and the user's filters as configured), not
 * ignored ones, nor files that cannot be read. Where the repository's own settings have filters,
 * git runs with them as commands of the agent do, in the sandbox; where there is none, all this is
 * ERR_UNSUPPORTED. A submodule is the commit it stands at; changes inside it are neither seen nor
 * undone.
 *
 * Outside of git, or without it, all this is ERR_UNSUPPORTED and goals do without. Each call has a
 * time limit of BASELINE_TIMEOUT_MS (ERR_TIMEOUT); git's own words are in ERR_IO, such as for a
 * repository that cannot be written. Any thread; waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "goal/git/git.h"

struct cancel;
struct err;
struct sandbox;

#define BASELINE_TIMEOUT_MS 60000
#define BASELINE_REF 128

struct baseline {
    const char *dir;         /* of the workspace */
    const char *session;     /* uuid */
    const char *folder;      /* the session's, for the private index */
    char *const *environ;    /* the environment in which tenax was started; GIT_DIR and similar
                                variables in it count */
    const char *spare;       /* a file that states do not see, relative to dir; NULL: none */
    struct sandbox *sandbox; /* for filters of the repository's own; NULL: none */
};

/* Keeps the present state as refs/tenax/<session>/<name>. ret_tree may be NULL. ERR_BAD_INPUT: no
 * name for a ref. */
int baseline_keep(const struct baseline *b, const char *name, struct str message,
                  struct cancel *cancel, char ret_commit[GIT_ID], char ret_tree[GIT_ID],
                  struct err *err);
/* The same as <kind>-<n>, with a number that no other goal of the session has taken. */
int baseline_keep_next(const struct baseline *b, const char *kind, struct str message,
                       struct cancel *cancel, char ret_commit[GIT_ID], char ret_ref[BASELINE_REF],
                       struct err *err);
/* From one state to another, by a git of the caller's: one line per file with a sum below (git diff
 * --stat, rename detection), and the hunks, each at most about so many bytes: files are cut first,
 * each in fair shares, then omitted with a note. Cuts are marked. Either may be NULL; old contents
 * are replaced. */
int baseline_diff_trees(const struct git *git, const char *from, const char *to,
                        struct buf *ret_stat, size_t max_stat, struct buf *ret_hunks,
                        size_t max_hunks, struct err *err);
int baseline_check_commit(const char *commit, struct err *err); /* ERR_BAD_INPUT: it is no hash */

struct baseline_undone {
    char kept[GIT_ID]; /* the state before, as refs/tenax/<session>/undo-<n> */
    char ref[BASELINE_REF];
    size_t restored, removed; /* files as they were; files that were not there then */
};
/* Files that would change, one a line (200 at most), for the question before. ret_list is
 * replaced. */
int baseline_undo_plan(const struct baseline *b, const char *commit, struct cancel *cancel,
                       struct buf *ret_list, size_t *ret_count, struct err *err);
/* The work tree as it was at this commit. The state before is kept first, so that nothing is lost;
 * ignored files stay. Fails when an ignored file is in the way, and when some files could not be
 * put back. */
int baseline_undo(const struct baseline *b, const char *commit, struct cancel *cancel,
                  struct baseline_undone *ret, struct err *err);
