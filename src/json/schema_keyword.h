/*
 * What schema_check() and schema_unknown() both know of keywords; for src/json only.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "json/json.h"

#define SCHEMA_MAX_DEPTH 64 /* of schemas inside schemas; deeper ones are not looked at */

/* Sets of types. */
enum {
    NUL = 1 << JSON_NULL,
    BOOL = 1 << JSON_BOOL,
    NUMBER = 1 << JSON_NUMBER,
    STRING = 1 << JSON_STRING,
    ARRAY = 1 << JSON_ARRAY,
    OBJECT = 1 << JSON_OBJECT,
    ANY = NUL | BOOL | NUMBER | STRING | ARRAY | OBJECT,
};

/* The types that a keyword's own value may have; 0 for an unknown keyword. */
unsigned schema_keyword_shapes(struct str name);

/* What "#/$defs/name" points to, with "~0" and "~1" in names; NULL: nothing in this document. */
const struct json *schema_ref(const struct json *root, struct str ref);

bool schema_is_type_name(struct str name);
