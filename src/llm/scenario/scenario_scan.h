/*
 * Splits a scenario's text into lines of words, quoted strings, numbers and names, with their
 * places.
 *
 * One scanner reads one text; the cursor `at` moves behind what was read. A function that finds
 * something unexpected fails with "file:line:column: …" in the scanner's err. Blanks are spaces and
 * tabs; `#` at the start of a word begins a comment, except in the free text of scan_rest(),
 * scan_text() and scan_document(). Slices of the line are lent; decoded text is in the arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

struct arena;
struct err;

struct scenario_scan {
    struct arena *arena;
    const char *file;
    struct err *err;
    struct str rest; /* lines not yet read */
    struct str line;
    size_t number; /* of the line, from 1 */
    size_t at;     /* cursor in the line */
};

int scan_fail(struct scenario_scan *s, size_t at, const char *fmt, ...)
    PRINTF_LIKE(3, 4); /* always -1 */

bool scan_next_line(struct scenario_scan *s); /* false when there is none */
void scan_blanks(struct scenario_scan *s);    /* over them */
bool scan_at_end(
    struct scenario_scan *s); /* nothing left but blanks and a comment; moves over blanks */
bool scan_at_quote(struct scenario_scan *s);
int scan_end(struct scenario_scan *s); /* fails unless at the end */

struct str scan_word(struct scenario_scan *s); /* up to the next blank; may be empty */
struct str scan_rest(struct scenario_scan *s); /* all of it, without blanks around */
struct str
scan_key(struct scenario_scan *s); /* of "key=", which is passed over; empty when there is none */
int scan_quoted(struct scenario_scan *s, struct str *ret);   /* \n \r \t \0 \" \\ \xNN inside */
int scan_document(struct scenario_scan *s, struct str *ret); /* "<<END" and the lines up to END */
int scan_text(struct scenario_scan *s, struct str *ret);     /* the rest, quoted, or a document */

/* `what` names the thing in complaints. */
int scan_value(struct scenario_scan *s, const char *what, struct str *ret); /* a word or quoted */
int scan_number(struct scenario_scan *s, const char *what, int64_t min, int64_t max, int64_t *ret);
int scan_duration(struct scenario_scan *s, int64_t max_ms, int64_t *ret); /* 20ms, 2s; bare: ms */

struct scan_name {
    const char *name; /* NULL ends a table */
    int value;
};

/* The value of a word of the table; the error for an unknown one names the nearest. */
int scan_choose(struct scenario_scan *s, const char *what, const struct scan_name *names,
                struct str word, size_t at, int *ret);
int scan_choice(struct scenario_scan *s, const char *what, const struct scan_name *names, int *ret);
