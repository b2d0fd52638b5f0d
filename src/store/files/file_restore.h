/*
 * Restores files to their state before a certain change.
 *
 * A plan says what would happen to each file, or why nothing would; making a plan changes nothing.
 * A file is restored only if it is still as the session left it, and was so between the session's
 * own changes: changes by others (people, commands, formatters) are undone only on request.
 *
 * Before a file is restored, its current state is saved in the history like before any other edit,
 * so that the restore can be undone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"
#include "store/files/file_change.h"

struct buf;
struct err;
struct file_history;

/* X(id, name, whether the file is changed) */
#define RESTORE_WHATS(X)                                                                           \
    X(UNCHANGED, "unchanged", false) /* already in that state */                                   \
    X(WRITE, "restore", true)        /* gets its old content */                                    \
    X(DELETE, "delete", true)        /* did not exist */                                           \
    X(CONFLICT, "conflict", false)   /* changed by others */                                       \
    X(LOST, "lost", false)           /* the old content is missing */                              \
    X(BLOCKED, "blocked", false)     /* something else is in its place */                          \
    X(FAILED, "failed", false)       /* the attempt failed */

enum restore_what {
#define X(id, name, does) RESTORE_##id,
    RESTORE_WHATS(X)
#undef X
};
const char *restore_what_name(enum restore_what what);
bool restore_does(enum restore_what what); /* WRITE, DELETE */

struct restore_row {
    struct str path;
    enum restore_what what;
    struct str why;                /* reason if nothing is done, for the user; or empty */
    bool is_link;                  /* blocked by a link */
    const struct file_change *to;  /* restore to the state before this one */
    const struct file_change *end; /* the session's last change of it */
    struct file_look now;          /* as of the plan */
    size_t added, removed;         /* lines; set by callers that can compare texts */
};

struct restore_plan {
    struct arena arena;
    VEC(struct restore_row) rows; /* in the order of the files' first changes */
    char *backups;                /* folder */
};

/* Plans to undo the changes of the list from number `first` on. all must outlive the plan; force:
 * ignore conflicts. Never fails: a file that cannot be checked has a row that says so. */
void restore_plan_make(struct restore_plan *plan, const struct file_changes *all, size_t first,
                       const char *session_dir, bool force);
void restore_plan_release(struct restore_plan *plan);

/* Carries out the plan. A row that fails becomes FAILED, or CONFLICT if the file has changed since;
 * the others continue. history: the session's, with all its changes recalled and a message begun.
 */
void restore_plan_apply(struct restore_plan *plan, struct file_history *history, bool force);

/* The current and the planned content, for showing a diff; empty if there is no file. */
int restore_row_texts(const struct restore_plan *plan, const struct restore_row *row,
                      struct buf *ret_now, struct buf *ret_then, struct err *err);

/* True if the file was the same after the edit. */
bool file_change_is_empty(const struct file_change *c);
