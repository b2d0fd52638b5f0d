/*
 * Checks a value against a JSON Schema (draft 2020-12), except its rarest keywords.
 *
 * Known: type (name or list), properties, required, additionalProperties (false or a schema),
 * patternProperties, propertyNames, dependentRequired, dependentSchemas, enum, const, items,
 * prefixItems, contains with minContains and maxContains, minItems, maxItems, minimum, maximum,
 * exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern (PCRE2, unanchored,
 * UTF), minProperties, maxProperties, uniqueItems (up to 2000), anyOf, oneOf, allOf, not, if with
 * then and else, and $ref within the schema ("#/$defs/name"). Annotations (description, title,
 * default, format, $schema, examples, …) are skipped. Any other keyword (unevaluatedProperties, …)
 * is skipped too, and so is one with an invalid value or nested deeper than 64; schema_unknown()
 * lists these, so that the loader of the schema can report them. A schema comes from outside like
 * any text: a pattern that does not compile, or needs too many steps on a string, is skipped and
 * never blocks the value.
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

/* Appends the keywords that schema_check() skips, as "path: keyword", one a line, with the reason
 * in brackets when the keyword is known: "edits[].old_string: pattern (missing closing parenthesis
 * at offset 3)". The path is that of the value; "(top)" for the whole. */
void schema_unknown(const struct json *schema, struct buf *ret_lines);
