/*
 * Prepares the text of one instruction file for the model.
 *
 * The result is valid UTF-8 with plain line ends, without byte order mark and without HTML comments
 * on lines of their own (notes for people). `@path` words outside of code are collected as imports;
 * they also stay in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"

#define INSTRUCTION_MAX_IMPORTS 100 /* in one file; more are ignored */
#define INSTRUCTION_MAX_PATHS 100   /* of one rule, when braces are expanded */

struct instruction_text {
    struct buf text;
    struct strv imports; /* as written, in order, without duplicates; "\ " becomes a space */
    bool has_paths;      /* a rule for certain files: its frontmatter has `paths` */
    struct strv paths;   /* its globs, braces expanded */
    size_t bad_bytes;    /* invalid UTF-8, replaced by U+FFFD */
};

/* is_rule: parse and remove frontmatter. */
void instruction_text_read(struct instruction_text *ret, struct str raw, bool is_rule);
void instruction_text_release(struct instruction_text *t);
