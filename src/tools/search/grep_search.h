/*
 * Searches a folder or a file with one of two engines that give the same results: `rg -P` if it is
 * installed, otherwise, or by the setting grepEngine, the built-in one, which starts no process and
 * is no slower (tests/bench, grep).
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
    struct str type_globs;       /* separated by spaces; empty = all files */
    bool all;                    /* include ignored and hidden files; built-in engine only */
    bool hidden;                 /* the globs name hidden files */
    const struct denied *denied; /* files that must not be read; may be NULL */
    bool git;                    /* skip what git ignores */
    int64_t timeout_ms;
    char *const *environ; /* for ripgrep */
    struct cancel *cancel;
};

/* ERR_CANCELLED, ERR_TOO_BIG (the pattern takes too long), ERR_IO (the root). Single files that
 * cannot be searched are in the results. */
int grep_search_built_in(const struct grep_search *s, struct grep_results *results,
                         struct walk_report *ret, struct err *err);

/* The same with `rg -P`. 1: it is not available or not able to (no -P, too much output): use the
 * built-in engine. */
int grep_search_ripgrep(const struct grep_search *s, struct grep_results *results, struct err *err);
