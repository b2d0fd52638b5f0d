/*
 * What an observed job executes and opens, recorded as confine.h says.
 *
 * The kernel stops the job's calls that open and execute, and asks the warden (broker.h), which
 * reads the path from the job's memory and lets the call go on. Everything that is needed for it
 * lies in memory that is mapped before the job starts. Private to this folder; plain system calls
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct confine_image;
struct observer;
struct seccomp_notif;

/* In the warden, before there is a leader. False: errno says why. */
bool observe_init(struct confine_image *image);

/* In the warden, once the leader has exec'ed. */
void observe_started(struct confine_image *image);
bool observe_has_started(const struct confine_image *image);

/* Reads the request while the asking process waits; keeps it once it is known that this process was
 * still there. */
void observe_look(const struct confine_image *image, const struct seccomp_notif *asked);
void observe_keep(const struct confine_image *image);

/* Writes the kept records. */
void observe_flush(const struct confine_image *image);

/* For code that judges calls instead of recording them all (fence.h). The path of a call that opens
 * or executes, absolute and without "." and ".."; NULL: it is none of these, or cannot be read.
 * Lent until the next call. */
const char *observe_find(const struct confine_image *image, const struct seccomp_notif *asked,
                         bool *ret_executes);
/* Adds a record and writes everything down. */
void observe_note(const struct confine_image *image, char kind, pid_t pid, const char *text,
                  size_t len);
