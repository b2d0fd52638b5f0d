/*
 * Which of many folders have changed, for the price of one system call.
 *
 * The kernel says of a watched folder, once, that an entry of it has come or gone or that it was
 * itself moved or removed; then the folder is not watched any more, and whoever wants to hear of it
 * again reads it and adds it again. Not said: that a folder above it was moved, or that what its
 * path leads to is another one. File systems that others change behind the kernel's back (network,
 * FUSE) are not watched, and not more folders than are a small part of what the kernel lets a user
 * watch. One thread at a time.
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
