/*
 * A goal before it is set: everything is determined and stored first, so that a failure leaves
 * nothing half-set. The texts are the row's columns (store/goals/goals.h).
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/strv.h"
#include "goal/goal.h"
#include "goal/goal_state.h"

#define DRAFT_MAX_OBJECTIVE ((size_t)1 << 20) /* bytes, of one that is kept as a file */

struct draft {
    char goal_id[ID_UUID_LEN + 1];
    struct buf text;      /* the objective, whole */
    struct buf objective; /* the row's */
    struct buf checks, protect, baseline, options;
    struct buf file;     /* where a long text is kept; empty: nowhere */
    int64_t deadline_ms; /* of the goal; 0: none */
    struct ladder first; /* what the checks say before any work */
    size_t weak, protected_files;
    struct strv weak_checks, notes;
    struct buf doubt; /* checks that cannot run as they are; empty: there are none */
    struct origin *origin;
    bool says_weaker; /* a note tells that there is no clean room */
};
void draft_init(struct draft *d);
void draft_release(struct draft *d);

/* A text over the limit is kept as a file, and the objective is one line that refers to it; where
 * that may not be it is ERR_TOO_BIG, with the code of the gate. */
int draft_text(struct goal *g, struct draft *d, struct str text, bool may_keep,
               const char **ret_code, struct err *err);
/* An objective that is such a line, written by others: the options name the file, which is searched
 * in this session's folder. False: it is not. */
bool draft_refer(struct goal *g, struct draft *d, struct str objective);
/* The workspace as it is now; before the checks. */
int draft_origin(struct goal *g, struct draft *d, const struct goal_options *o,
                 struct cancel *cancel, struct err *err);
/* Each check once, before any work, in a clean room: one that passes already says little. */
int draft_checks(struct goal *g, struct draft *d, const struct goal_options *o,
                 struct cancel *cancel, struct err *err);
/* The column that refers to the origin, which is written. */
int draft_protect(struct draft *d, struct err *err);
int draft_baseline(struct goal *g, struct draft *d, struct cancel *cancel, struct err *err);
/* via: who sets it, a word. */
void draft_options(struct goal *g, struct draft *d, const struct goal_options *o, const char *via);
