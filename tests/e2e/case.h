/*
 * A case file: sections of text, as tests/e2e/README.md describes them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct err;

struct section {
    struct str head; /* "requests anthropic" */
    struct str text; /* with its last newline */
    size_t line;
};

struct test_case {
    const char *file;
    struct buf source; /* the sections point into it */
    VEC(struct section) sections;
};

int case_load(const char *file, struct test_case *ret, struct err *err);
void case_release(struct test_case *c);

/* The section with this head, or NULL. */
const struct section *case_find(const struct test_case *c, const char *head);
/* The words after `name` in the head of the first section called so; false when there is none. */
bool case_words(const struct test_case *c, const char *name, struct str *ret);
