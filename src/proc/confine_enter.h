/*
 * Enters a sandbox, using plain system calls only. For this folder only.
 *
 * The warden itself enters the namespaces before it has a child, so that it still shares its
 * working directory with the leader (launch_plan.tell_dir). What would restrict the warden itself
 * (capabilities, Landlock and the filter) is applied only in the leader.
 */
#pragma once

#include "proc/child.h"
#include "proc/confine_rules.h"

struct confine_image;

/* What a warden has prepared before it knew its job. */
struct confine_ahead {
    int namespaces; /* entered, as flags of unshare(2) */
    bool is_bound;  /* the leader cannot get other capabilities than those it keeps */
    struct confine_rules rules;
};

#define CONFINE_AHEAD_INIT                                                                         \
    {                                                                                              \
        .rules = CONFINE_RULES_INIT                                                                \
    }

/* Enters new ones, as flags of unshare(2). In a user namespace each id stands for itself. False:
 * see errno. */
bool confine_enter_namespaces(int flags);

/* In the warden, before it has children. Some of the work can be done ahead, given the namespaces
 * that the job will need, as flags of unshare(2); CLONE_NEWNS, which is not entered here, stands
 * for a job sandboxed by us. What could not be done then is done, or fails, in confine_enter().
 * False: see errno, and *ret_stage. */
void confine_prepare(int namespaces, struct confine_ahead *ret);
bool confine_enter(struct confine_image *image, struct confine_ahead *ahead,
                   enum child_stage *ret_stage);

/* In the leader: drops rights first, then, right before exec, system calls. */
bool confine_drop_rights(const struct confine_image *image);
bool confine_drop_calls(const struct confine_image *image);

/* In the warden, after the leader has started: gets the descriptor for the kernel's questions
 * (broker.h). */
void confine_take_asks(struct confine_image *image);

/* In the warden: passes on connections to the proxy's port. */
void confine_forward(const struct confine_image *image);
