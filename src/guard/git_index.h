/*
 * The index of git, compared without what git knows about files on the disk.
 *
 * Commands such as `git describe --dirty` and `git update-index --refresh` note times and inodes of
 * files again; that changes the index, but nothing that anybody has staged.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether both have the same entries and extensions. False also for what is not understood. */
bool git_index_is_same(struct str one, struct str other);
