/*
 * Analyzes a PCRE2 pattern to speed up the search: which text every match must contain, and an
 * equivalent pattern whose matches stay within a line.
 *
 * grep examines lines one by one, and a line has no newline. So `[^x]` is equivalent to `[^x\n]`
 * and `\A` to `^`: with all such places rewritten, matching a whole text at once finds exactly the
 * lines that matching each alone would. Syntax that is not certainly understood (recursion,
 * conditions, inline options, …) is not rewritten, and lines are matched one by one.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "tools/search/literal.h"

#define REGEX_MAX_BYTES ((size_t)32 << 10)

struct regex_scan {
    struct literals literals; /* a matching line has at least one of these; empty = unknown */
    bool is_literal;          /* the pattern is just its one literal */
    struct buf bound;         /* the rewritten pattern; empty = not available */
    bool has_newline;         /* it needs \n, which no single line has */
};

void regex_scan(struct str pattern, bool caseless, struct regex_scan *ret);
void regex_scan_release(struct regex_scan *s);
