/*
 * Comparing actual with expected data. Each prints the difference on standard output and returns
 * false.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* To the letter. */
bool match_exact(const char *what, struct str want, struct str got);

/* Line by line: contained in this order, "!" not contained, "~" a regular expression. */
bool match_lines(const char *what, struct str want, struct str got);

/* One expected JSON value per line against one recorded request per line. */
bool match_requests(struct str want, struct str got);
