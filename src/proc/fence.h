/*
 * Enforces the limits of a trial run (confinement.readable): the first call that would exceed them
 * ends the job.
 *
 * The kernel asks the warden about each call that opens, executes, connects or sends (broker.h).
 * Calls within the limits continue; for others a record is written, the call never returns, and the
 * warden ends the job. A program that changes a path while it is being checked can fool the record,
 * but not Landlock and the namespaces, which enforce the limits on their own. For this folder only;
 * plain system calls only.
 */
#pragma once

#include <stdbool.h>

struct confine_image;
struct seccomp_notif;

/* Answers one question. If image->is_stopped is set afterwards, the job must be ended. Always true:
 * there may be more. */
bool fence_answer(struct confine_image *image, const struct seccomp_notif *asked);

/* Accepts connections to the pretended proxy and reads the host that is requested, which ends the
 * job. Returns the connection to watch, or -1. */
int fence_take_connection(struct confine_image *image);
void fence_take_request(struct confine_image *image);
