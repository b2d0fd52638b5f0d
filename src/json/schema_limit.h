/*
 * Limits: minimum and its like for numbers, minLength, minItems and theirs for sizes; for src/json
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct json;

enum limit_op {
    AT_LEAST,
    AT_MOST,
    ABOVE,
    BELOW,
    MULTIPLE, /* of a number above 0 */
};

/* Of a value that is no number, its size is compared. */
bool schema_limit_holds(enum limit_op op, const struct json *value, size_t size,
                        const struct json *limit);

size_t schema_characters(struct str s); /* UTF-8 */
