/*
 * File types by name ("py", "ts", "make"): the common ones of ripgrep, with the same globs.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct err;

/* Globs about names, separated by spaces. ERR_BAD_INPUT, with the nearest that there is. */
int grep_type_globs(struct str name, struct str *ret, struct err *err);

/* Row by row; NULL after the last. The first of its names is ripgrep's. */
const char *grep_type_at(size_t i, const char **ret_globs);
