/*
 * What a job on trial must not reach (confinement.readable): its first call that would ends it.
 *
 * The kernel asks the warden about each call that opens, executes, connects or sends (broker.h).
 * What stays inside of the job goes on; for the rest a record says what it was, the call never
 * returns, and the warden ends the job. A program that changes a path while it is looked at
 * deceives the record, never Landlock and the namespaces, which refuse on their own. Private to
 * this folder; plain system calls only.
 */
#pragma once

#include <stdbool.h>

struct confine_image;
struct seccomp_notif;

/* Answers one question; with image->is_stopped afterwards the job is to be ended. Always true:
 * there may be more. */
bool fence_answer(struct confine_image *image, const struct seccomp_notif *asked);

/* Connections to a proxy that is none, when there is one, and when it has been sent something: the
 * host that is asked for ends the job. Returns the connection to be watched; -1: none. */
int fence_take_connection(struct confine_image *image);
void fence_take_request(struct confine_image *image);
