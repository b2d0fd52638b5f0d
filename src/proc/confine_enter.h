/*
 * A confinement put into force, by plain system calls alone. Private to this folder.
 *
 * The warden itself enters the namespaces, before it has a child, so that it goes on sharing its
 * working folder with the leader (launch_plan.tell_dir); what would bind the warden itself,
 * capabilities, Landlock and the filter, is for the leader only.
 */
#pragma once

#include "proc/child.h"
#include "proc/confine_rules.h"

struct confine_image;

/* What a warden has done before it knew its job. */
struct confine_ahead {
    int namespaces; /* entered, as flags of unshare(2) */
    bool is_bound;  /* the leader can get no capabilities but those it keeps */
    struct confine_rules rules;
};

#define CONFINE_AHEAD_INIT                                                                         \
    {                                                                                              \
        .rules = CONFINE_RULES_INIT                                                                \
    }

/* In the warden, without children yet. Some of it can be done ahead, by what namespaces the job
 * will need, as flags of unshare(2); with CLONE_NEWNS, which itself is not entered, for one that is
 * confined by ourselves. What could not be done then is done, or fails, by confine_enter(). False:
 * errno says why, *ret_stage what failed. */
void confine_prepare(int namespaces, struct confine_ahead *ret);
bool confine_enter(struct confine_image *image, struct confine_ahead *ahead,
                   enum child_stage *ret_stage);

/* In the leader. First it gives up rights, then, as the last thing before exec, system calls. */
bool confine_drop_rights(const struct confine_image *image);
bool confine_drop_calls(const struct confine_image *image);

/* In the warden, once the leader runs: takes what its questions come by (broker.h). */
void confine_take_asks(struct confine_image *image);

/* In the warden: passes on what has come to the proxy's port. */
void confine_forward(const struct confine_image *image);
