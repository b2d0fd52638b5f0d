/*
 * The last commits of a few repositories, as git has told them, kept between sessions.
 *
 * What led to a commit does not change, so git is asked once for each that sessions begin at. One
 * file has the newest of them; it may be gone, damaged or somebody else's at any time. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* The lines behind `commit`, which is a whole name. False: they are not known. */
bool commits_recall(const char *path, const char *commit, struct buf *ret);
/* log: of "git log --format='%h …'". Left out when it does not begin with that commit: somebody has
 * committed meanwhile. That it cannot be written is nothing worth words. */
void commits_keep(const char *path, const char *commit, struct str log);
