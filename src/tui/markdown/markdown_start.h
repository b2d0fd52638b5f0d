/*
 * How blocks of markdown begin: what a line looks like, seen by itself.
 *
 * All of these take a line from its first character that is no white space. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

static inline bool char_is_of(char c, const char *chars)
{
    return c && strchr(chars, c);
}

/* A place in a line, by bytes and by columns: tabs reach to the next multiple of 4. */
struct cursor {
    struct str line;
    size_t at;
    int column;
    int owed; /* columns of the tab before `at` that were not used */
};
int cursor_indent(const struct cursor *c); /* columns of white space from here on */
void cursor_skip(struct cursor *c, int columns);
/* What follows that white space. */
struct str cursor_text(const struct cursor *c);

/* "## text ##": the level and the text, else 0. */
int markdown_start_heading(struct str s, struct str *ret_text);
/* "===" is 1, "---" 2, else 0. */
int markdown_start_underline(struct str s);
bool markdown_start_rule(struct str s);
/* "```c": length of the fence, else 0; the language. */
size_t markdown_start_fence(struct str s, struct str *ret_language);
bool markdown_start_fence_end(struct str s, char fence, size_t len);

struct list_marker {
    size_t len;  /* of "-" or "12." */
    int number;  /* -1: a bullet */
    char marker; /* the sign itself or what follows the number */
};
bool markdown_start_item(struct str s, struct list_marker *ret);

/* Whether HTML begins, and what ends it (NULL: an empty line). Some tags do not end a paragraph. */
bool markdown_start_html(struct str s, bool in_paragraph, const char **ret_end);
/* "|---|:-:|" for so many cells. */
bool markdown_start_delimiter(struct str s, size_t cells);
/* "[label]: target" and nothing else but a title. Slices of s. */
bool markdown_start_link(struct str s, struct str *ret_label, struct str *ret_target);

#define MARKDOWN_MAX_CELLS 64 /* a table of more columns is text */
/* The cells of a row, trimmed; at most max are given, all are counted. The last one includes the
 * excess. Unlike GitHub's, a "|" in code does not divide: it is meant literally. */
size_t markdown_cells(struct str row, struct str *ret, size_t max);
