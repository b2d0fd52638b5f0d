/*
 * What the workspace looks like, cheap enough to look at every round: has anything really changed?
 *
 * A walk collects size, mode, mtime, ctime and inode of every file below the folder, for at most
 * SNAPSHOT_MAX_MS and SNAPSHOT_MAX_FILES; it leaves out .git, folders that git ignored when the
 * chain began, and some that nobody looks at (node_modules, __pycache__, .venv, …). Files that look
 * other than before are read (content.h: above 1 MB in places only), and those that git ignores do
 * not count unless a tool wrote them. The state is one hash over (path, content) of everything that
 * differs from the first look of the chain, HEAD of git, and the files that tools wrote elsewhere.
 * So touching files, or writing the same again, is no change; and a state that comes back has the
 * same hash.
 *
 * The first look reads every file it can within the time, to know later what is the same; a file
 * that was left out then counts as changed the first time it looks other. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/strv.h"

struct cancel;
struct err;
struct snapshot;

#define SNAPSHOT_MAX_MS 2000
#define SNAPSHOT_MAX_FILES 500000

/* dir: absolute, no links. env is kept, not copied. */
struct snapshot *snapshot_new(const char *dir, char *const *env);
void snapshot_free(struct snapshot *s); /* NULL is fine */

/* walk: something ran that may have changed any file; else only those of `wrote` (absolute paths,
 * tools wrote them, also outside of dir) are looked at. The first look is the beginning of the
 * chain. ret: the state. *ret_whole (may be NULL) false: time or number ran out, and the part that
 * was not walked counts as it was. ERR_CANCELLED, ERR_IO (the folder is gone): nothing is lost, the
 * next look sees it. */
int snapshot_look(struct snapshot *s, bool walk, const struct strv *wrote, struct cancel *cancel,
                  char ret[SHA256_HEX + 1], bool *ret_whole, struct err *err);
/* Changes up to here are not the agent's: what checks left behind. The state that is told next
 * does not count them. */
int snapshot_forgive(struct snapshot *s, struct cancel *cancel, struct err *err);
