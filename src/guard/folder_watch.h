/*
 * Detects which of many folders have changed, with one system call.
 *
 * The kernel reports once that an entry of a watched folder was added or removed, or that the
 * folder itself was moved or removed; then it is not watched until the caller has read it and adds
 * it again. Not reported: that a folder above it was moved, or that its path leads elsewhere. File
 * systems that change without the kernel's knowledge (network, FUSE) are not watched, and only a
 * small part of the watches that the kernel allows a user is used. One thread at a time.
 */
#pragma once

#include <stdbool.h>

struct folder_watch;

struct folder_watch *folder_watch_new(void);    /* if the kernel refuses, nothing is watched */
void folder_watch_free(struct folder_watch *w); /* NULL is fine */

/* Call it before reading the folder, so that no change is missed. A handle, or -1: always read the
 * folder. */
int folder_watch_add(struct folder_watch *w, int folder_fd, void *who);
void folder_watch_remove(struct folder_watch *w, int handle); /* -1 is fine */

/* Calls fn for each that has changed, or may have; its handle is gone. False: something was
 * mounted, and any path may lead elsewhere now. */
typedef void (*folder_watch_fn)(void *who);
bool folder_watch_take(struct folder_watch *w, folder_watch_fn fn);
