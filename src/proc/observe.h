/*
 * Records what an observed job executes and opens, as described in confine.h.
 *
 * The kernel stops the job's open and exec calls and asks the warden (broker.h), which reads the
 * path from the job's memory and lets the call continue. All memory for this is mapped before the
 * job starts. For this folder only; plain system calls only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct confine_image;
struct observer;
struct seccomp_notif;

/* In the warden, before there is a leader. False: see errno. */
bool observe_init(struct confine_image *image);

/* In the warden, after the leader's exec. */
void observe_started(struct confine_image *image);
bool observe_has_started(const struct confine_image *image);

/* Reads the request while the calling process waits; keeps it if that process still existed
 * afterwards. */
void observe_look(const struct confine_image *image, const struct seccomp_notif *asked);
void observe_keep(const struct confine_image *image);

/* Writes the kept records. */
void observe_flush(const struct confine_image *image);

/* For code that judges calls instead of recording all (fence.h). The path of an open or exec call,
 * absolute and without "." and ".."; NULL for other calls or if it cannot be read. Valid until the
 * next call. */
const char *observe_find(const struct confine_image *image, const struct seccomp_notif *asked,
                         bool *ret_executes);
/* Adds a record and writes all of them. */
void observe_note(const struct confine_image *image, char kind, pid_t pid, const char *text,
                  size_t len);
