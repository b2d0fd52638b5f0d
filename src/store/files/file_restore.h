/*
 * Files set back to how they were before a certain change.
 *
 * A plan says what would happen to each file, and why not; making one touches nothing. A file goes
 * back only when it still is as the session left it, and was so between the session's own changes:
 * what others did to it (people, commands, formatters) is not undone unless that is asked for.
 *
 * Before a file is set back its present state goes into the history like before any other edit: so
 * setting back can be undone.
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

/* X(id, name, whether something is to be done) */
#define RESTORE_WHATS(X)                                                                           \
    X(UNCHANGED, "unchanged", false) /* is as it was then */                                       \
    X(WRITE, "restore", true)        /* gets its old content */                                    \
    X(DELETE, "delete", true)        /* was not there */                                           \
    X(CONFLICT, "conflict", false)   /* others changed it */                                       \
    X(LOST, "lost", false)           /* its old content is not there any more */                   \
    X(BLOCKED, "blocked", false)     /* something else is in its place */                          \
    X(FAILED, "failed", false)       /* it was tried */

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
    struct str why;                /* for the user, when nothing is done; or empty */
    bool is_link;                  /* BLOCKED by a link */
    const struct file_change *to;  /* how it was before this one */
    const struct file_change *end; /* the session's last change of it */
    struct file_look now;          /* when the plan was made */
    size_t added, removed;         /* lines; set by callers that can compare texts */
};

struct restore_plan {
    struct arena arena;
    VEC(struct restore_row) rows; /* in the order in which files were first changed */
    char *backups;                /* folder */
};

/* Back to before the changes from number `first` of the list on. all must outlive the plan; force:
 * ignore conflicts. Never fails: a file that cannot be checked has a row that reports it. */
void restore_plan_make(struct restore_plan *plan, const struct file_changes *all, size_t first,
                       const char *session_dir, bool force);
void restore_plan_release(struct restore_plan *plan);

/* Carries out the plan. Rows become FAILED, or CONFLICT when a file was changed since, each by
 * itself. history: of the session, with all its changes recalled and a message begun. */
void restore_plan_apply(struct restore_plan *plan, struct file_history *history, bool force);

/* What there is and what there would be, for showing a difference; empty for no file. */
int restore_row_texts(const struct restore_plan *plan, const struct restore_row *row,
                      struct buf *ret_now, struct buf *ret_then, struct err *err);

/* The edit had no effect: the file was the same after it. */
bool file_change_is_empty(const struct file_change *c);
