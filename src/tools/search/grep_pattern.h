/*
 * The pattern of a search, compiled, and how lines that match it are found.
 *
 * One dialect, PCRE2, with ripgrep's settings: UTF-8 and Unicode properties, `^` and `$` at lines.
 * A pattern is compiled once and shared by threads; each has its own struct grep_matcher. Text is
 * valid UTF-8; plain ASCII is matched by a second, faster program of the same meaning.
 *
 * Matching one line has a limit on backtracking: a pattern that passes it fails with ERR_TOO_BIG
 * instead of running for years.
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
bool grep_pattern_has_newline(const struct grep_pattern *p); /* it asks for \n */

struct grep_matcher *grep_matcher_new(const struct grep_pattern *p);
void grep_matcher_free(struct grep_matcher *m);

/* Any bytes: false when no part of them can match, whatever their encoding, as long as ASCII is
 * itself in it. Fast. */
bool grep_matcher_may_match(struct grep_matcher *m, struct str bytes);

/* A new text. It stays where it is until the next one. */
void grep_matcher_text(struct grep_matcher *m, struct str text, bool is_ascii);

struct grep_span {
    size_t start, end;
};

/* The next line, at or after `from` (the start of a line), that matches; without its newline. 1, 0
 * when there is none, or -1. */
int grep_matcher_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err);

/* The next match at or after `from`, wherever it ends. */
int grep_matcher_match(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err);
