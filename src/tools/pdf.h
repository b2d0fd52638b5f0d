/*
 * The text of a PDF, by `pdftotext` where it is installed.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;
struct err;
struct tool_call;

#define PDF_MAX_PAGES 20     /* in one call */
#define PDF_MAX_UNASKED 10   /* a longer one needs a range */
#define PDF_TIMEOUT_MS 60000 /* for pdftotext */

struct pdf_range {
    size_t first, last; /* both 0: not given */
};

/* "3", "1-5", "10-" (PDF_MAX_PAGES from there); empty gives {0, 0}. */
int pdf_range_parse(struct str text, struct pdf_range *ret, struct err *err);

/* Appends the text with a line "--- page N ---" before each page. fd: the file, open; path: what it
 * is called. */
int pdf_read(struct tool_call *call, const char *path, int fd, struct pdf_range range,
             struct buf *ret_text, struct err *err);
