/*
 * Removes sessions: by name, and those unused for long.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cancel;
struct err;
struct sweep;

/*
 * The transcript at path and the folder beside it, with long outputs and kept files. ERR_BUSY: it
 * is in use; ERR_DENIED: it is not below home, so not ours to remove; ERR_NOT_FOUND. Its stored
 * goals go with it; the project's folder, when it is empty then. The index notices by itself.
 */
int remove_session(const char *home, const char *path, struct err *err);

/*
 * Sessions that have not changed for so many days before the newest one did, the oldest first and
 * at most a day's share of all, so that a clock that is wrong for a while costs little; folders of
 * sessions that are gone; stale lock files. At most once a day, by the first process; never one
 * that is open. days 0: nothing is ever swept. Returns how many sessions went, or -1 on cancel.
 */
int remove_old(const char *home, int64_t days, int64_t now_ms, struct cancel *cancel,
               struct err *err);

/* The same on a separate thread, if it is due; else NULL, for the price of a stat(). sweep_end()
 * gives it a moment to end, then stops it: the next process continues it. */
struct sweep *sweep_begin(const char *home, int64_t days, int64_t now_ms);
void sweep_end(struct sweep *s); /* NULL is fine */
