/*
 * The compiled pattern of a search, and finding the lines that match it.
 *
 * One dialect, PCRE2, with ripgrep's settings: UTF-8 and Unicode properties, `^` and `$` at lines.
 * A pattern is compiled once and shared by threads; each has its own struct grep_matcher. Text must
 * be valid UTF-8; plain ASCII is matched by a second, faster program with the same meaning.
 *
 * Backtracking is limited per line: a pattern that exceeds the limit fails with ERR_TOO_BIG instead
 * of running for years.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct err;
struct grep_matcher;
struct grep_pattern;

/* multiline: `.` matches newlines, and matches may span lines. ERR_BAD_INPUT names the place:
 * "missing closing parenthesis at offset 4, after \"foo(\"". */
int grep_pattern_new(struct str pattern, bool caseless, bool multiline, struct grep_pattern **ret,
                     struct err *err);
void grep_pattern_free(struct grep_pattern *p);
void grep_pattern_freep(struct grep_pattern **p);            /* for CLEANUP() */
bool grep_pattern_has_newline(const struct grep_pattern *p); /* it matches \n explicitly */

struct grep_matcher *grep_matcher_new(const struct grep_pattern *p);
void grep_matcher_free(struct grep_matcher *m);

/* False if no part of these bytes can match, in any encoding where ASCII is ASCII. Fast. */
bool grep_matcher_may_match(struct grep_matcher *m, struct str bytes);

/* Sets a new text, which must stay valid until the next one. */
void grep_matcher_text(struct grep_matcher *m, struct str text, bool is_ascii);

struct grep_span {
    size_t start, end;
};

/* The next matching line at or after `from` (the start of a line), without its newline. 1, 0 if
 * there is none, or -1. */
int grep_matcher_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err);

/* The next match at or after `from`, wherever it ends. */
int grep_matcher_match(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err);
