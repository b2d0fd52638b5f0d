/*
 * jansson under other names: its header and ours both claim json_type and JSON_OBJECT.
 *
 * A value is lent by the document it belongs to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct oracle; /* one value */

enum oracle_kind {
    ORACLE_NULL,
    ORACLE_TRUE,
    ORACLE_FALSE,
    ORACLE_INTEGER,
    ORACLE_REAL,
    ORACLE_STRING,
    ORACLE_ARRAY,
    ORACLE_OBJECT,
};

/* NULL when it is refused. *ret_known tells whether for one of the things that jansson is known to
 * refuse although they are JSON: numbers out of range, NUL in a key, nesting. */
struct oracle *oracle_parse(struct str text, bool *ret_known);
void oracle_free(struct oracle *root);

enum oracle_kind oracle_kind(const struct oracle *v);
int64_t oracle_integer(const struct oracle *v);
double oracle_real(const struct oracle *v);
struct str oracle_str(const struct oracle *v);
size_t oracle_len(const struct oracle *v);
const struct oracle *oracle_at(const struct oracle *v, size_t i);
const struct oracle *oracle_get(const struct oracle *v, struct str key);
