/*
 * The schema check: one table row per keyword, applied in the table's order.
 *
 * A check descends schema and value together. Below 64 levels of schema nothing is checked, which
 * keeps the recursion fit for an agent's small stack; a $ref may lead back up, so the steps are
 * counted, too. A keyword with an invalid value is skipped, like an unknown one, and
 * schema_unknown() reports it: a wrong schema is its author's fault and must not block the model.
 * Any thread; nothing outlives a call.
 */
#include "json/schema.h"

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/schema_check.h"
#include "json/schema_keyword.h"

#define SCHEMA_MAX_STEPS 100000 /* a schema that refers to itself several times would take 2^64 */

bool schema_is_out_of_steps(const struct schema_run *c)
{
    return c->steps >= SCHEMA_MAX_STEPS;
}

static const char *const type_words[][2] = {
    {"string", "a string"}, {"integer", "an integer"},
    {"number", "a number"}, {"boolean", "true or false"},
    {"array", "an array"},  {"object", "an object"},
    {"null", "null"},
};

const char *schema_type_word(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(type_words); i++) {
        if (str_is(name, type_words[i][0]))
            return type_words[i][1];
    }
    return NULL;
}

bool schema_is_type_name(struct str name)
{
    return schema_type_word(name) != NULL;
}

static bool is_integer(const struct json *v)
{
    struct str text = json_number(v);
    int64_t n;

    if (json_i64(v, &n))
        return true;
    return text.len && str_chr(text, '.') == text.len && str_chr(text, 'e') == text.len &&
           str_chr(text, 'E') == text.len;
}

/* Whether the value is of the named type; a name that is no type allows everything. */
static bool has_type(const struct json *value, struct str name)
{
    if (str_is(name, "integer"))
        return is_integer(value);
    return !schema_type_word(name) || str_is(name, json_type_name(json_type(value)));
}

bool schema_type_allows(const struct json *type, const struct json *value)
{
    if (!json_is(type, JSON_ARRAY))
        return !json_is(type, JSON_STRING) || has_type(value, json_str(type));
    JSON_EACH(type, it) {
        if (has_type(value, json_str(it)))
            return true;
    }
    return json_len(type) == 0;
}

static void check_type(struct schema_run *c, const struct schema_rule *r)
{
    struct buf *out;
    size_t i = 0;

    if (schema_type_allows(r->arg, r->value))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must be ");
    if (json_is(r->arg, JSON_STRING))
        buf_adds(out, schema_type_word(json_str(r->arg)));
    JSON_EACH(r->arg, it)
        buf_addf(out, "%s%s", report_joint(i++, json_len(r->arg)), schema_type_word(json_str(it)));
    report_add_not(out, r->value);
}

static void check_enum(struct schema_run *c, const struct schema_rule *r)
{
    struct buf *out;
    size_t i = 0;

    JSON_EACH(r->arg, it) {
        if (json_equal(it, r->value))
            return;
    }
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must be one of ");
    JSON_EACH(r->arg, it) {
        if (i == SCHEMA_MAX_NAMED) {
            buf_adds(out, ", \xe2\x80\xa6");
            break;
        }
        buf_adds(out, i++ ? ", " : "");
        report_add_literal(out, it);
    }
    report_add_not(out, r->value);
}

static void check_const(struct schema_run *c, const struct schema_rule *r)
{
    struct buf *out;

    if (json_equal(r->arg, r->value))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must be ");
    report_add_literal(out, r->arg);
    report_add_not(out, r->value);
}

/* minimum and its like for numbers; minLength, minItems and theirs for sizes. */
static void check_limit(struct schema_run *c, const struct schema_rule *r)
{
    bool text = json_is(r->value, JSON_STRING);
    size_t size = text ? schema_characters(json_str(r->value)) : json_len(r->value);
    struct buf *out;

    if (schema_limit_holds(r->keyword->holds, r->value, size, r->arg))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    if (json_is(r->value, JSON_NUMBER)) {
        buf_addf(out, " must be %s ", r->keyword->words);
        report_add_literal(out, r->arg);
        buf_adds(out, ", not ");
        report_add_literal(out, r->value);
    } else {
        buf_addf(out, " must have %s ", r->keyword->words);
        report_add_literal(out, r->arg);
        buf_addf(out, " %s%s, not %zu", text ? "character" : "item",
                 str_is(json_number(r->arg), "1") ? "" : "s", size);
    }
}

static void check_pattern(struct schema_run *c, const struct schema_rule *r)
{
    struct buf *out;

    if (schema_pattern_matches(&c->patterns, r->arg, json_str(r->value)))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_addf(out, " must match the pattern %.*s",
             STR_ARG(str_clip(json_str(r->arg), 2 * REPORT_PREVIEW)));
    report_add_not(out, r->value);
}

static const struct keyword keywords[] = {
    {"type", ANY, STRING | ARRAY, check_type}, /* first: when it fails, the rest says nothing new */
    {"enum", ANY, ARRAY, check_enum},
    {"const", ANY, ANY, check_const},
    {"required", OBJECT, ARRAY, schema_required},
    {"properties", OBJECT, OBJECT, schema_properties},
    {"patternProperties", OBJECT, OBJECT, schema_pattern_properties},
    {"additionalProperties", OBJECT, OBJECT | BOOL, schema_additional},
    {"propertyNames", OBJECT, OBJECT | BOOL, schema_property_names},
    {"dependentRequired", OBJECT, OBJECT, schema_dependent_required},
    {"dependentSchemas", OBJECT, OBJECT, schema_dependent_schemas},
    {"prefixItems", ARRAY, ARRAY, schema_prefix_items},
    {"items", ARRAY, OBJECT | BOOL, schema_items},
    {"minItems", ARRAY, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxItems", ARRAY, NUMBER, check_limit, "at most", AT_MOST},
    {"contains", ARRAY, OBJECT | BOOL, schema_contains},
    {"minContains", ARRAY, NUMBER, NULL},
    {"maxContains", ARRAY, NUMBER, NULL},
    {"minLength", STRING, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxLength", STRING, NUMBER, check_limit, "at most", AT_MOST},
    {"minimum", NUMBER, NUMBER, check_limit, "at least", AT_LEAST},
    {"maximum", NUMBER, NUMBER, check_limit, "at most", AT_MOST},
    {"exclusiveMinimum", NUMBER, NUMBER, check_limit, "more than", ABOVE},
    {"exclusiveMaximum", NUMBER, NUMBER, check_limit, "less than", BELOW},
    {"multipleOf", NUMBER, NUMBER, check_limit, "a multiple of", MULTIPLE},
    {"pattern", STRING, STRING, check_pattern},
    {"minProperties", OBJECT, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxProperties", OBJECT, NUMBER, check_limit, "at most", AT_MOST},
    {"uniqueItems", ARRAY, BOOL, schema_unique},
    {"anyOf", ANY, ARRAY, schema_any_of},
    {"oneOf", ANY, ARRAY, schema_any_of},
    {"allOf", ANY, ARRAY, schema_all_of},
    {"not", ANY, OBJECT | BOOL, schema_not},
    {"if", ANY, OBJECT | BOOL, schema_if},
    {"then", ANY, OBJECT | BOOL, NULL},
    {"else", ANY, OBJECT | BOOL, NULL},
    {"$ref", ANY, STRING, schema_refers},
};

unsigned schema_keyword_shapes(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (str_is(name, keywords[i].name))
            return keywords[i].shapes;
    }
    return 0;
}

void schema_check_value(struct schema_run *c, const struct json *schema, const struct json *value)
{
    unsigned before = c->report.found;

    if (c->depth == SCHEMA_MAX_DEPTH || schema_is_out_of_steps(c) || report_is_full(&c->report))
        return;
    c->steps++;
    if (!json_bool(schema, true)) {
        struct buf *out = report_problem(&c->report);

        if (out)
            buf_adds(out, " is not allowed");
        return;
    }

    c->depth++;
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        const struct keyword *k = &keywords[i];
        struct schema_rule r = {k, schema, json_get(schema, k->name), value};

        if (!k->check || !r.arg || !(k->shapes >> json_type(r.arg) & 1) ||
            !(k->applies >> json_type(value) & 1))
            continue;
        k->check(c, &r);
        if (k->check == check_type && c->report.found > before)
            break;
    }
    c->depth--;
}

unsigned schema_try_value(struct schema_run *c, const struct json *schema, const struct json *value)
{
    unsigned before = c->report.found;
    unsigned problems;

    c->report.quiet++;
    schema_check_value(c, schema, value);
    c->report.quiet--;
    problems = c->report.found - before;
    c->report.found = before;
    return problems;
}

int schema_check(const struct json *schema, const struct json *value, struct err *err)
{
    struct schema_run c = {.root = schema, .report = REPORT_INIT};
    int r = 0;

    schema_check_value(&c, schema, value);
    if (c.report.found)
        r = err_set(err, ERR_BAD_INPUT, "%s", buf_cstr(&c.report.problems));
    report_release(&c.report);
    schema_patterns_release(&c.patterns);
    return r;
}
