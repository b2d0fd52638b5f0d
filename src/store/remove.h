/*
 * Deletes sessions: a named one, or those unused for long.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cancel;
struct err;
struct sweep;

/*
 * Deletes the transcript at path and the folder beside it, with long outputs and saved files.
 * ERR_BUSY: it is in use; ERR_DENIED: it is not below home; ERR_NOT_FOUND. Also deletes its stored
 * goals, and the project's folder if it becomes empty. The index notices by itself.
 */
int remove_session(const char *home, const char *path, struct err *err);

/*
 * Deletes sessions that had not changed for `days` days when the newest one did: the oldest first
 * and at most a day's share of all, so that a temporarily wrong clock does little damage. Also
 * deletes folders of deleted sessions and stale lock files. Runs at most once a day, in the first
 * process, and never deletes an open session. days 0: does nothing. Returns the number of deleted
 * sessions, or -1 on cancel.
 */
int remove_old(const char *home, int64_t days, int64_t now_ms, struct cancel *cancel,
               struct err *err);

/* The same on a separate thread if it is due, else NULL; costs one stat(). sweep_end() gives it a
 * moment to finish, then stops it: the next process continues. */
struct sweep *sweep_begin(const char *home, int64_t days, int64_t now_ms);
void sweep_end(struct sweep *s); /* NULL is fine */
