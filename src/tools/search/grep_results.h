/*
 * Collects the results of a search from all its threads, sorts them and writes them for the model.
 *
 * Lines and counts are sorted by path, component by component; files newest first. Memory is
 * limited: the answer shows at most `want` lines, so once many more have arrived, lines that cannot
 * be among them are dropped, and later files need not be searched (grep_results_wants()). The
 * answer does not depend on the order in which threads deliver.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tools/search/grep_file.h"

struct buf;
struct grep_results;

/* want: lines (or files) that may be shown, skipped ones included. max_bytes: of text, kept. */
#define GREP_KEEP_BYTES ((size_t)16 << 20)
struct grep_results *grep_results_new(enum grep_mode mode, size_t want, size_t max_bytes);
void grep_results_free(struct grep_results *r);

/* Any thread. */
bool grep_results_wants(struct grep_results *r, const char *path);
void grep_results_add(struct grep_results *r, struct grep_found *found); /* takes ownership */
void grep_results_fault(struct grep_results *r, const char *path, const char *why);

/* After all threads are done. `prefix` is put before each path. */
struct grep_page {
    size_t skip;
    size_t limit;
    size_t max_bytes; /* limit of the page */
    struct str prefix;
    bool gaps; /* CONTENT with context: "--" also between files */
};
struct grep_summary {
    size_t files;   /* that match */
    size_t matches; /* of all files: GREP_COUNT */
    size_t shown;   /* lines, or files */
    size_t left;    /* for the next pages; a lower bound if `more` */
    bool more;      /* there were more than could be kept */
    size_t faults;  /* files that could not be searched */
};
void grep_results_write(struct grep_results *r, const struct grep_page *page, struct buf *ret,
                        struct grep_summary *ret_summary);
struct str grep_results_first_fault(const struct grep_results *r);     /* "path: why" */
const char *grep_results_path(const struct grep_results *r, size_t i); /* sorted once written */
