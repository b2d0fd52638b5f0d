/*
 * A cache of the last commits of a few repositories, as reported by git, kept between sessions.
 *
 * The history of a commit never changes, so git runs once for each commit at which sessions start.
 * One file has the most recent ones; it may be missing, damaged or replaced at any time. Any
 * thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Gets the lines for `commit`, a full name. False if they are not stored. */
bool commits_recall(const char *path, const char *commit, struct buf *ret);
/* log: output of "git log --format='%h …'". Ignored if it does not begin with that commit, because
 * there is a newer one. Write errors are ignored. */
void commits_keep(const char *path, const char *commit, struct str log);
