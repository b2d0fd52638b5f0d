/*
 * The parts of a schema that schema_check() will skip, for its loader. Any thread.
 */
#include "json/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/schema_keyword.h"
#include "json/schema_pattern.h"

/* Keywords that say something to a reader and nothing about validity. */
static const char *const annotations[] = {
    "$comment", "$id",        "$schema",     "contentEncoding", "contentMediaType",
    "default",  "deprecated", "description", "example",         "examples",
    "format",   "readOnly",   "title",       "writeOnly",
};

struct unknown_walk {
    const struct json *root;
    struct buf path; /* "edits[].old_string" */
    struct buf *out;
    unsigned depth;
};

static void look_at(struct unknown_walk *w, const struct json *schema);

static bool is_annotation(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
        if (str_is(name, annotations[i]))
            return true;
    }
    return str_starts(name, STR("x-"));
}

static void add_line(struct unknown_walk *w, struct str keyword, const char *why)
{
    buf_addf(w->out, "%s: %.*s%s\n", w->path.len ? buf_cstr(&w->path) : "(top)",
             STR_ARG(str_clip(keyword, 80)), why);
}

/* Continues with a schema one step further down. */
static void look_below(struct unknown_walk *w, const char *joint, struct str step,
                       const struct json *schema)
{
    size_t len = w->path.len;

    buf_adds(&w->path, len || joint[0] != '.' ? joint : joint + 1);
    buf_add(&w->path, str_clip(step, 60));
    look_at(w, schema);
    buf_cut(&w->path, len, w->path.len - len);
}

static void look_at_type(struct unknown_walk *w, const struct json *type)
{
    bool known = !json_is(type, JSON_STRING) || schema_is_type_name(json_str(type));

    JSON_EACH(type, it)
        known = known && schema_is_type_name(json_str(it));
    if (!known)
        add_line(w, STR("type"), " (no such type)");
}

static void look_at_pattern(struct unknown_walk *w, struct str keyword, struct str pattern)
{
    char reason[200];
    char why[220];

    if (schema_pattern_check(pattern, reason, sizeof(reason)) == 0)
        return;
    snprintf(why, sizeof(why), " (%s)", reason);
    add_line(w, keyword, why);
}

static bool is_definitions(struct str name)
{
    return str_is(name, "$defs") || str_is(name, "definitions");
}

/* Keywords with schemas in them, and where the values are that these are for. */
static const struct {
    const char *name;
    bool each; /* a schema for each of its members or items, not one */
    const char *below;
} inner[] = {
    {"properties", true, "."},
    {"patternProperties", true, "."},
    {"additionalProperties", false, ".*"},
    {"propertyNames", false, ""},
    {"dependentSchemas", true, ""},
    {"prefixItems", true, "[]"},
    {"items", false, "[]"},
    {"contains", false, "[]"},
    {"anyOf", true, ""},
    {"oneOf", true, ""},
    {"allOf", true, ""},
    {"not", false, ""},
    {"if", false, ""},
    {"then", false, ""},
    {"else", false, ""},
};

static void look_inside(struct unknown_walk *w, struct str name, const struct json *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(inner); i++) {
        const char *below = inner[i].below;

        if (!str_is(name, inner[i].name))
            continue;
        if (!inner[i].each) {
            look_below(w, below, STR(""), arg);
            return;
        }
        JSON_EACH(arg, it)
            look_below(w, below, strcmp(below, ".") == 0 ? json_key(it) : STR(""), it);
    }
}

static void look_at_keyword(struct unknown_walk *w, struct str name, const struct json *arg)
{
    unsigned shapes = schema_keyword_shapes(name);

    if (is_definitions(name)) {
        JSON_EACH(arg, it)
            look_below(w, ".", json_key(it), it);
        return;
    }
    if (!shapes) {
        if (!is_annotation(name))
            add_line(w, name, "");
        return;
    }
    if (!(shapes >> json_type(arg) & 1)) {
        add_line(w, name, " (its value has the wrong type)");
        return;
    }
    if (str_is(name, "type"))
        look_at_type(w, arg);
    if (str_is(name, "pattern"))
        look_at_pattern(w, name, json_str(arg));
    if (str_is(name, "patternProperties")) {
        JSON_EACH(arg, it)
            look_at_pattern(w, name, json_key(it));
    }
    if (str_is(name, "$ref") && !schema_ref(w->root, json_str(arg)))
        add_line(w, name, " (points to nothing in this schema)");
    look_inside(w, name, arg);
}

static void look_at(struct unknown_walk *w, const struct json *schema)
{
    if (json_is(schema, JSON_BOOL))
        return;
    if (!json_is(schema, JSON_OBJECT)) {
        add_line(w, STR(""), "(not a schema)");
        return;
    }
    if (w->depth == SCHEMA_MAX_DEPTH) {
        add_line(w, STR(""), "(nested too deep to check)");
        return;
    }
    w->depth++;
    JSON_EACH(schema, it)
        look_at_keyword(w, json_key(it), it);
    w->depth--;
}

void schema_unknown(const struct json *schema, struct buf *ret_lines)
{
    struct unknown_walk w = {.root = schema, .path = BUF_INIT(8192), .out = ret_lines};

    look_at(&w, schema);
    buf_release(&w.path);
}
