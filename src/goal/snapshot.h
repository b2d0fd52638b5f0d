/*
 * What the workspace looks like, cheap enough to look at every round: has anything really changed?
 *
 * The state is one hash over (path, content, mode) of everything that differs from where the goal
 * began (origin/origin.h), HEAD of git, and the files that tools wrote elsewhere. So touching
 * files, or writing the same again, is no change; a state that comes back has the same hash, after
 * a restart, too. Files that git ignores and caches do not count unless a tool wrote them. A file
 * that is too long for the origin to know its content counts as changed once it looks different.
 *
 * A walk collects the look of every file for at most SNAPSHOT_MAX_MS; only what looks different is
 * read. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/sha256.h"

struct cancel;
struct err;
struct origin;
struct snapshot;
struct strv;

#define SNAPSHOT_MAX_MS 2000

/* dir: absolute, no links. env is kept, not copied. */
struct snapshot *snapshot_new(const char *dir, char *const *env);
void snapshot_free(struct snapshot *s); /* NULL is fine */

/* walk: something ran that may have changed any file; else only those of `wrote` (absolute paths,
 * tools wrote them, also outside of dir) are looked at. o: where the goal began; NULL: unknown, and
 * the first look takes its place. *ret_whole (may be NULL) false: time or number ran out, and the
 * part that was not walked counts as it was. ERR_CANCELLED, ERR_IO (the folder is gone): nothing is
 * lost, the next look sees it. */
int snapshot_look(struct snapshot *s, const struct origin *o, bool walk, const struct strv *wrote,
                  struct cancel *cancel, char ret[SHA256_HEX + 1], bool *ret_whole,
                  struct err *err);
/* Changes up to here are not the agent's, but left by checks. The state of the last look stays the
 * same. */
int snapshot_forgive(struct snapshot *s, const struct origin *o, struct cancel *cancel,
                     struct err *err);
