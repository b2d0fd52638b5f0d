/*
 * What a search has found, from all its threads, put in order and written for the model.
 *
 * Lines and counts are sorted by path, part by part; files newest first. Memory is bounded: the
 * answer shows at most `want` lines, so when much more than that has come in, lines that can no
 * longer be among them are dropped, and later files need not be searched (grep_results_wants()).
 * The answer is the same whatever order threads deliver in.
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
void grep_results_add(struct grep_results *r, struct grep_found *found); /* takes it over */
void grep_results_fault(struct grep_results *r, const char *path, const char *why);

/* When all threads are done. `prefix` goes before each path. */
struct grep_page {
    size_t skip;
    size_t limit;
    size_t max_bytes; /* the page ends before this */
    struct str prefix;
    bool gaps; /* CONTENT with context: "--" stands between files too */
};
struct grep_summary {
    size_t files;   /* that match */
    size_t matches; /* in all of them: GREP_COUNT */
    size_t shown;   /* lines, or files */
    size_t left;    /* that could follow on the next page; a lower bound when `more` */
    bool more;      /* there are more than were kept */
    size_t faults;  /* files that could not be searched */
};
void grep_results_write(struct grep_results *r, const struct grep_page *page, struct buf *ret,
                        struct grep_summary *ret_summary);
struct str grep_results_first_fault(const struct grep_results *r);     /* "path: why" */
const char *grep_results_path(const struct grep_results *r, size_t i); /* sorted once written */
