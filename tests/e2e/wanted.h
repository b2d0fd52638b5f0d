/*
 * A scenario author's expected results of its calls, in comments after them:
 *
 *     call Bash {"command": "exit 3"}
 *     # error: Exit code 3
 *     # not: Segmentation
 *
 * "# ok:" or "# error:" first, then any number of "# has:" and "# not:".
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct err;
struct said;

/* Holds the calls of a run against the scenario's text; every call must be judged by it. */
int wanted_check(struct str scenario, const struct said *said, size_t *ret_calls, struct err *err);
