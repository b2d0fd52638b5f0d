/*
 * Checks a value against the part of JSON Schema that tool definitions use.
 *
 * Known: type (name or list), properties, required, additionalProperties (false or a schema), enum,
 * const, items, minItems, maxItems, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength,
 * maxLength, pattern (PCRE2, unanchored, UTF), anyOf. Annotations (description, title, default,
 * format, $schema, examples, …) are passed over; any other keyword makes schema_check() pass over
 * it too, and schema_unknown() names it, for whoever loads the schema to report.
 *
 * Every problem found (up to 8) goes into one text that a model can act on:
 *   "'file_path' is required; 'limit' must be an integer, not the string \"10\""
 */
#pragma once

struct buf;
struct err;
struct json;

/* 0, or -1 with ERR_BAD_INPUT and the problems joined by "; ". */
int schema_check(const struct json *schema, const struct json *value, struct err *err);

/* Appends the unsupported keywords of a schema, as "path: keyword", one a line. */
void schema_unknown(const struct json *schema, struct buf *ret_lines);
