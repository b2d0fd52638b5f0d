/*
 * Reads a PCRE2 pattern, to search faster with it: which text every match must contain, and how to
 * say the same so that a match never leaves its line.
 *
 * grep looks at lines one by one, and a line holds no newline. So `[^x]` may as well be `[^x\n]`
 * and `\A` may as well be `^`: with all such places rewritten, matching a whole text at once finds
 * exactly the lines that matching each alone would. Syntax not understood here with certainty
 * (recursion, conditions, inline options, …) is not rewritten, and the lines are matched one by
 * one; nothing is ever guessed.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "tools/search/literal.h"

#define REGEX_MAX_BYTES ((size_t)32 << 10)

struct regex_scan {
    struct literals literals; /* a line without any of them cannot match; none: nothing known */
    bool is_literal;          /* the pattern is its one literal and nothing else */
    struct buf bound;         /* the pattern that stays in its line; empty: not known */
    bool has_newline;         /* \n is asked for, which no single line has */
};

void regex_scan(struct str pattern, bool caseless, struct regex_scan *ret);
void regex_scan_release(struct regex_scan *s);
