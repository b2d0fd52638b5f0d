/*
 * A schema check at work; for src/json only. schema.c goes through the table of keywords; those of
 * objects, of arrays and those that join schemas have files of their own.
 */
#pragma once

#include <stdbool.h>

#include "json/json.h"
#include "json/schema_limit.h"
#include "json/schema_pattern.h"
#include "json/schema_report.h"

#define SCHEMA_MAX_NAMED 20 /* values of an enum, properties */

struct schema_run {
    const struct json *root; /* what a $ref begins at */
    struct report report;
    unsigned depth;
    unsigned steps;
    struct schema_patterns patterns;
};

struct keyword;

/* One keyword at work: {"minimum": arg} in schema, applied to value. */
struct schema_rule {
    const struct keyword *keyword;
    const struct json *schema;
    const struct json *arg;
    const struct json *value;
};

typedef void (*keyword_fn)(struct schema_run *c, const struct schema_rule *r);

struct keyword {
    const char *name;
    unsigned applies;    /* the types of value it looks at, as bits */
    unsigned shapes;     /* the types its own value may have */
    keyword_fn check;    /* NULL: another one looks at it */
    const char *words;   /* of a limit: "at least" */
    enum limit_op holds; /* of a limit */
};

void schema_check_value(struct schema_run *c, const struct json *schema, const struct json *value);

/* The number of problems, none of them written. */
unsigned schema_try_value(struct schema_run *c, const struct json *schema,
                          const struct json *value);

/* So many that nothing more is looked at. */
bool schema_is_out_of_steps(const struct schema_run *c);

/* Whether a "type" (NULL: none) allows the value. */
bool schema_type_allows(const struct json *type, const struct json *value);
const char *schema_type_word(struct str name); /* "an integer"; NULL: no such type */

/* schema_object.c */
void schema_required(struct schema_run *c, const struct schema_rule *r);
void schema_properties(struct schema_run *c, const struct schema_rule *r);
void schema_pattern_properties(struct schema_run *c, const struct schema_rule *r);
void schema_additional(struct schema_run *c, const struct schema_rule *r);
void schema_property_names(struct schema_run *c, const struct schema_rule *r);
void schema_dependent_required(struct schema_run *c, const struct schema_rule *r);
void schema_dependent_schemas(struct schema_run *c, const struct schema_rule *r);

/* schema_array.c */
void schema_items(struct schema_run *c, const struct schema_rule *r);
void schema_prefix_items(struct schema_run *c, const struct schema_rule *r);
void schema_contains(struct schema_run *c, const struct schema_rule *r);
void schema_unique(struct schema_run *c, const struct schema_rule *r);

/* schema_join.c */
void schema_any_of(struct schema_run *c, const struct schema_rule *r); /* and oneOf */
void schema_all_of(struct schema_run *c, const struct schema_rule *r);
void schema_not(struct schema_run *c, const struct schema_rule *r);
void schema_if(struct schema_run *c, const struct schema_rule *r); /* with then and else */
void schema_refers(struct schema_run *c, const struct schema_rule *r);
