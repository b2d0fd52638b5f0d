/*
 * A confinement put into force, by plain system calls alone. Private to this folder.
 *
 * The warden itself enters the namespaces, before it has a child, so that it goes on sharing its
 * working folder with the leader (launch_plan.tell_dir); what cannot be undone, capabilities,
 * Landlock and the filter, is for the leader only.
 */
#pragma once

#include "proc/child.h"

struct confine_image;

/* In the warden, without children yet. Some namespaces may be entered ahead, as flags of
 * unshare(2); the rest then follows. False: errno says why, *ret_stage what failed. */
bool confine_enter_namespaces(int flags);
bool confine_enter(struct confine_image *image, int entered, enum child_stage *ret_stage);

/* In the leader. First it gives up rights, then, as the last thing before exec, system calls. */
bool confine_drop_rights(const struct confine_image *image);
bool confine_drop_calls(const struct confine_image *image);

/* In the warden, once the leader runs: takes what its questions come by (broker.h). */
void confine_take_asks(struct confine_image *image);

/* In the warden: passes on what has come to the proxy's port. */
void confine_forward(const struct confine_image *image);
