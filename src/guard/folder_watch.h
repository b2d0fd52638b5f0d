/*
 * Which of many folders have changed, for the price of one system call.
 *
 * The kernel reports once that an entry of a watched folder has come or gone or that the folder
 * itself was moved or removed; then it is not watched any more until the caller has read it and
 * adds it again. Not reported: that a folder above it was moved, or that its path leads to another
 * one. File systems that change without the kernel's knowledge (network, FUSE) are not watched, and
 * only a small part of the watches that the kernel allows a user is taken. One thread at a time.
 */
#pragma once

#include <stdbool.h>

struct folder_watch;

struct folder_watch *folder_watch_new(void);    /* where the kernel refuses, nothing is watched */
void folder_watch_free(struct folder_watch *w); /* NULL is fine */

/* Before it is read, so that nothing is missed in between. A handle, or -1: look yourself. */
int folder_watch_add(struct folder_watch *w, int folder_fd, void *who);
void folder_watch_remove(struct folder_watch *w, int handle); /* -1 is fine */

/* Calls fn for each that has changed, or may have; its handle is gone. False: something was
 * mounted, and any path may lead elsewhere now. */
typedef void (*folder_watch_fn)(void *who);
bool folder_watch_take(struct folder_watch *w, folder_watch_fn fn);
