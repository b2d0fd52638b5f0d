/*
 * Text from outside in GitHub's Markdown: shown as it is, never understood as Markdown or HTML.
 * Control characters become blanks, invalid UTF-8 becomes U+FFFD. Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;

/* On one line, also in a cell of a table; longer than max bytes: cut, with "…". */
void markdown_text(struct str text, size_t max, struct buf *ret);
/* As code on one line, also in a cell of a table. */
void markdown_code(struct str text, size_t max, struct buf *ret);
/* Lines quoted with "> ", each escaped. */
void markdown_quote(struct str text, size_t max, struct buf *ret);
/* Lines in a fence that they cannot close. */
void markdown_fence(struct str text, size_t max, struct buf *ret);
