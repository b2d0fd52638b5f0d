/*
 * Keys that every run of the whole program finds in its environment, and that must not appear in
 * its output or files. All end alike, so that cases can plant more of them.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Keys of others, as found everywhere: NAME=value. */
#define PLANTED_TOKEN "GITHUB_TOKEN=gh-e2e-0123456789"

bool planted_is_in(struct str text);

/* Whether a file may hold them: the one that keys are kept in, and the user's own as they were. */
bool planted_may_be_in(const char *path);

/* The first file below a folder that holds one and may not; NULL: none. The caller's. */
char *planted_find(const char *folder);
