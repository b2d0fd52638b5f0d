/*
 * The text of one instruction file, made ready for the model.
 *
 * What comes out is valid UTF-8 with plain line ends, without byte order mark and without HTML
 * comments that stand on lines of their own (notes for people). `@path` words outside of code
 * are collected as imports; they also stay in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"

#define INSTRUCTION_MAX_IMPORTS 100 /* of one file; more are left alone */
#define INSTRUCTION_MAX_PATHS 100   /* of one rule, when braces are expanded */

struct instruction_text {
    struct buf text;
    struct strv imports; /* as written, in order, each once; "\ " read as a space */
    bool has_paths;      /* a rule for certain files: its frontmatter has `paths` */
    struct strv paths;   /* the globs of it, braces expanded */
    size_t bad_bytes;    /* bytes that were no UTF-8 and became U+FFFD */
};

/* is_rule: frontmatter at the top is read and left out. */
void instruction_text_read(struct instruction_text *ret, struct str raw, bool is_rule);
void instruction_text_release(struct instruction_text *t);
