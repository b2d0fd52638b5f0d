/*
 * Wildcards of rules other than paths: "*" matches any text, including none; a backslash escapes a
 * star, a parenthesis or a backslash.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool rule_wild_match(struct str pattern, struct str text);
/* boundary: the text may continue after a blank. */
bool rule_wild_match_to(struct str pattern, struct str text, bool boundary);
bool rule_wild_has_star(struct str pattern);
