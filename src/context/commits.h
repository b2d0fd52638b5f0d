/*
 * The last commits of a few repositories, as git has told them, kept between sessions.
 *
 * The history of a commit never changes, so git is asked once for each that sessions begin at. One
 * file has the newest of them; it may be missing, damaged or replaced at any time. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* The lines after `commit`, which is a full name. False: they are not stored. */
bool commits_recall(const char *path, const char *commit, struct buf *ret);
/* log: of "git log --format='%h …'". Skipped when it does not begin with that commit: there was a
 * new commit since. Write errors are ignored. */
void commits_keep(const char *path, const char *commit, struct str log);
