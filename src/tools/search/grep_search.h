/*
 * A search in a folder or a file, by one of two engines with the same results.
 *
 * `rg -P` where it is installed, the built-in one elsewhere and for who prefers it (setting
 * grepEngine): it starts no process and is no slower (tests/bench, grep).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "tools/search/grep_file.h"
#include "tools/search/walk.h"

struct cancel;
struct denied;
struct err;
struct grep_results;
struct strv;

struct grep_search {
    struct grep_job job;
    struct str pattern; /* of job.pattern */
    bool caseless;
    const char *root; /* absolute, without links; a folder or a file */
    bool root_is_file;
    const struct strv *globs;    /* "*.c", "!x"; may be empty */
    struct str type_globs;       /* separated by spaces; empty: all files */
    bool all;                    /* ignored and hidden files too; the built-in engine only */
    bool hidden;                 /* the globs name hidden files */
    const struct denied *denied; /* what may not be read; NULL: nothing */
    bool git;                    /* what git ignores is left out */
    int64_t timeout_ms;
    char *const *environ; /* of ripgrep */
    struct cancel *cancel;
};

/* Fails with ERR_CANCELLED, ERR_TOO_BIG (the pattern takes too long), ERR_IO (the root). Single
 * files that cannot be searched are in the results. */
int grep_search_built_in(const struct grep_search *s, struct grep_results *results,
                         struct walk_report *ret, struct err *err);

/* The same by `rg -P`. 1: it is not there, or cannot do this (no -P in it, too much output): ask
 * the built-in engine. */
int grep_search_ripgrep(const struct grep_search *s, struct grep_results *results, struct err *err);
