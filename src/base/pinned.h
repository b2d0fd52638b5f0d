/*
 * Files at paths that a decision was made about.
 *
 * A decision about a path follows its links first (path_real()), and the file is opened later. In
 * between another program may replace a folder on the way by a link, and the decision would apply
 * to another file. So the folder is opened part by part, no link is followed, and all the rest is
 * done relative to it.
 */
#pragma once

#include <stdbool.h>

/* The folder that a file is in, for openat() and its relatives with path_base(path). The path is
 * absolute and has no links. makes: folders that are missing are made. -1: errno says why; ELOOP: a
 * link is there now. */
int pinned_folder(const char *path, bool makes);

/* Opens the file itself; flags as for open(2), none that creates. -1: as above. */
int pinned_open(const char *path, int flags);

/* The same below an open folder, by a relative path that leads out of it nowhere. */
int pinned_open_at(int folder, const char *path, int flags);
