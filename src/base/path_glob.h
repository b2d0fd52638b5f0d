/*
 * Globs of whole paths.
 *
 * '?' and '*' stay within a name; a name of `**` stands for any number of folders, also none.
 * Everything else stands for itself. A glob that does not start with '/' matches at any depth; the
 * empty one matches nothing. The time is bounded by the product of the lengths, whatever the glob.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool path_glob_match(struct str glob, struct str path); /* path: absolute */
