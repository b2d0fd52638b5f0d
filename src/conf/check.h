/*
 * Checks settings documents against the known keys.
 *
 * What does not fit is left out singly (a key, one element of a list) and said in a warning that
 * starts with file:line:column; the rest of the file counts. Unknown keys are reported in our own
 * files and only logged for Claude's, which have keys that tenax has no use for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"

struct json;
struct source;

#define CHECK_MAX_WARNINGS 50 /* more are counted, not listed */

struct check {
    bool trusted;     /* false: KEY_TRUST rows of project files are left out */
    bool lacks_trust; /* something was left out because the folder is not trusted */
    struct strv warnings;
    size_t unlisted;
    struct map left_out; /* by the value's address */
    struct map said;     /* rows not used yet that were reported */
};

void check_release(struct check *c);
void check_source(struct check *c, const struct source *s);
/* For checks that look by themselves: the value is left out; a warning, one line. */
void check_deny(struct check *c, const struct json *v);
void check_warn(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool check_is_left_out(const struct check *c, const struct json *v);

/* Appends "and N more" to the list and hands it over, safe to print on a terminal. */
void check_take_warnings(struct check *c, struct strv *ret);
