/*
 * The schema check: one table row per keyword, applied in the table's order.
 *
 * A check descends schema and value together. Below 64 levels of schema nothing is checked, which
 * keeps the recursion fit for an agent's small stack; a $ref may lead back up, so the steps are
 * counted, too. A keyword whose own value makes no sense is passed over, like an unknown
 * one, and schema_unknown() says so: a wrong schema is its author's fault and must not block the
 * model. Any thread; nothing outlives a call.
 */
#include "json/schema.h"

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/schema_keyword.h"
#include "json/schema_limit.h"
#include "json/schema_pattern.h"
#include "json/schema_report.h"

#define SCHEMA_MAX_STEPS 100000 /* a schema that refers to itself several times would take 2^64 */
#define SCHEMA_MAX_UNIQUE                                                                          \
    2000                    /* items are compared pair by pair; longer arrays are passed over      \
                             */
#define SCHEMA_MAX_NAMED 20 /* values of an enum, properties */

struct check {
    const struct json *root; /* what a $ref begins at */
    struct report report;
    unsigned depth;
    unsigned steps;
    struct schema_patterns patterns;
};

struct keyword;

/* One keyword at work: {"minimum": arg} in schema, applied to value. */
struct rule {
    const struct keyword *keyword;
    const struct json *schema;
    const struct json *arg;
    const struct json *value;
};

typedef void (*keyword_fn)(struct check *c, const struct rule *r);

struct keyword {
    const char *name;
    unsigned applies; /* the types of value it looks at, as bits */
    unsigned shapes;  /* the types its own value may have */
    keyword_fn check;
    const char *words;   /* of a limit: "at least" */
    enum limit_op holds; /* of a limit */
};

static void check_value(struct check *c, const struct json *schema, const struct json *value);

static bool is_out_of_steps(const struct check *c)
{
    return c->steps >= SCHEMA_MAX_STEPS;
}

static const char *const type_words[][2] = {
    {"string", "a string"}, {"integer", "an integer"},
    {"number", "a number"}, {"boolean", "true or false"},
    {"array", "an array"},  {"object", "an object"},
    {"null", "null"},
};

static const char *type_word(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(type_words); i++) {
        if (str_is(name, type_words[i][0]))
            return type_words[i][1];
    }
    return NULL;
}

bool schema_is_type_name(struct str name)
{
    return type_word(name) != NULL;
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
    return !type_word(name) || str_is(name, json_type_name(json_type(value)));
}

static bool type_allows(const struct json *type, const struct json *value)
{
    if (!json_is(type, JSON_ARRAY))
        return !json_is(type, JSON_STRING) || has_type(value, json_str(type));
    JSON_EACH(type, it) {
        if (has_type(value, json_str(it)))
            return true;
    }
    return json_len(type) == 0;
}

static void check_type(struct check *c, const struct rule *r)
{
    struct buf *out;
    size_t i = 0;

    if (type_allows(r->arg, r->value))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must be ");
    if (json_is(r->arg, JSON_STRING))
        buf_adds(out, type_word(json_str(r->arg)));
    JSON_EACH(r->arg, it)
        buf_addf(out, "%s%s", report_joint(i++, json_len(r->arg)), type_word(json_str(it)));
    report_add_not(out, r->value);
}

static void check_enum(struct check *c, const struct rule *r)
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

static void check_const(struct check *c, const struct rule *r)
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

static void check_required(struct check *c, const struct rule *r)
{
    JSON_EACH(r->arg, it) {
        struct buf *out;
        size_t len;

        if (!json_is(it, JSON_STRING) || json_get_key(r->value, json_str(it)))
            continue;
        len = report_enter_key(&c->report, json_str(it));
        out = report_problem(&c->report);
        if (out)
            buf_adds(out, " is required");
        report_leave(&c->report, len);
    }
}

static void check_properties(struct check *c, const struct rule *r)
{
    JSON_EACH(r->value, member) {
        const struct json *sub = json_get_key(r->arg, json_key(member));
        size_t len;

        if (!sub)
            continue;
        len = report_enter_key(&c->report, json_key(member));
        check_value(c, sub, member);
        report_leave(&c->report, len);
    }
}

/* Names what was probably meant, or what there is. */
static void add_known_names(struct buf *out, const struct json *properties, struct str name)
{
    size_t n = 0;

    JSON_EACH(properties, it) {
        if (str_distance(json_key(it), name, 2) <= 2) {
            buf_addf(out, " (did you mean '%.*s'?)", STR_ARG(json_key(it)));
            return;
        }
    }
    JSON_EACH(properties, it) {
        if (n == SCHEMA_MAX_NAMED) {
            buf_adds(out, ", \xe2\x80\xa6");
            break;
        }
        buf_addf(out, "%s'%.*s'",
                 n++ ? ", " : " (known: ", STR_ARG(str_clip(json_key(it), REPORT_PREVIEW)));
    }
    buf_adds(out, n ? ")" : "");
}

static void check_additional(struct check *c, const struct rule *r)
{
    const struct json *properties = json_get(r->schema, "properties");

    JSON_EACH(r->value, member) {
        size_t len;

        if (json_get_key(properties, json_key(member)))
            continue;
        len = report_enter_key(&c->report, json_key(member));
        if (json_is(r->arg, JSON_OBJECT)) {
            check_value(c, r->arg, member);
        } else if (!json_bool(r->arg, true)) {
            struct buf *out = report_problem(&c->report);

            if (out) {
                buf_adds(out, " is not a known property");
                add_known_names(out, properties, json_key(member));
            }
        }
        report_leave(&c->report, len);
    }
}

static void check_items(struct check *c, const struct rule *r)
{
    size_t i = 0;

    JSON_EACH(r->value, item) {
        size_t len = report_enter_item(&c->report, i++);

        check_value(c, r->arg, item);
        report_leave(&c->report, len);
    }
}

/* minimum and its like for numbers; minLength, minItems and theirs for sizes. */
static void check_limit(struct check *c, const struct rule *r)
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

static void check_pattern(struct check *c, const struct rule *r)
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

/* The number of problems, none of them written. */
static unsigned try_value(struct check *c, const struct json *schema, const struct json *value)
{
    unsigned before = c->report.found;
    unsigned problems;

    c->report.quiet++;
    check_value(c, schema, value);
    c->report.quiet--;
    problems = c->report.found - before;
    c->report.found = before;
    return problems;
}

/* No alternative has the value's type: names those there are. */
static void add_alternative_types(struct buf *out, const struct json *alternatives,
                                  const struct json *value)
{
    size_t i = 0;

    buf_adds(out, " must be ");
    JSON_EACH(alternatives, it) {
        const struct json *type = json_get(it, "type");
        const char *word = type_word(json_str(type));

        buf_adds(out, report_joint(i++, json_len(alternatives)));
        if (word)
            buf_adds(out, word);
        else
            report_add_literal(out, type);
    }
    report_add_not(out, value);
}

/* anyOf and oneOf. When nothing fits, the alternative of the right type with the fewest problems
 * was probably meant: those problems are what the model can act on. While quiet nothing is gone
 * through twice, so nested alternatives do not multiply. */
static void check_any_of(struct check *c, const struct rule *r)
{
    const struct json *nearest = NULL;
    unsigned fewest = 0;
    bool only_one = str_is(str_of(r->keyword->name), "oneOf");
    size_t candidates = 0;
    size_t fitting = 0;
    struct buf *out;

    if (!json_len(r->arg))
        return;
    JSON_EACH(r->arg, it) {
        unsigned problems = try_value(c, it, r->value);

        if (!problems && !only_one)
            return;
        if (!problems) {
            fitting++;
            continue;
        }
        if (!type_allows(json_get(it, "type"), r->value))
            continue;
        candidates++;
        if (!nearest || problems < fewest) {
            nearest = it;
            fewest = problems;
        }
    }
    if (fitting == 1 || is_out_of_steps(c))
        return;
    if (fitting) {
        out = report_problem(&c->report);
        if (out)
            buf_addf(out, " fits %zu of its forms, where it must fit one", fitting);
        return;
    }
    if (c->report.quiet) {
        c->report.found += nearest ? fewest : 1;
        return;
    }
    if (candidates == 1) {
        check_value(c, nearest, r->value);
        return;
    }
    out = report_problem(&c->report);
    if (!out)
        return;
    if (!nearest) {
        add_alternative_types(out, r->arg, r->value);
        return;
    }
    buf_addf(out, " fits none of its %zu forms, here is the nearest", json_len(r->arg));
    check_value(c, nearest, r->value);
}

static void check_all_of(struct check *c, const struct rule *r)
{
    JSON_EACH(r->arg, it)
        check_value(c, it, r->value);
}

static void check_not(struct check *c, const struct rule *r)
{
    struct buf *out;

    if (try_value(c, r->arg, r->value) || is_out_of_steps(c))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must not fit ");
    report_add_literal(out, r->arg);
}

static void check_ref(struct check *c, const struct rule *r)
{
    const struct json *schema = schema_ref(c->root, json_str(r->arg));

    if (schema)
        check_value(c, schema, r->value);
}

static void check_unique(struct check *c, const struct rule *r)
{
    struct buf *out;
    size_t i = 0;

    if (!json_bool(r->arg, false) || json_len(r->value) > SCHEMA_MAX_UNIQUE)
        return;
    JSON_EACH(r->value, it) {
        size_t k = 0;

        JSON_EACH(r->value, other) {
            if (k++ >= i || !json_equal(it, other))
                continue;
            out = report_problem(&c->report);
            if (!out)
                return;
            buf_adds(out, " must not have ");
            report_add_literal(out, it);
            buf_adds(out, " twice");
            return;
        }
        i++;
    }
}

static const struct keyword keywords[] = {
    {"type", ANY, STRING | ARRAY, check_type}, /* first: when it fails, the rest says nothing new */
    {"enum", ANY, ARRAY, check_enum},
    {"const", ANY, ANY, check_const},
    {"required", OBJECT, ARRAY, check_required},
    {"properties", OBJECT, OBJECT, check_properties},
    {"additionalProperties", OBJECT, OBJECT | BOOL, check_additional},
    {"items", ARRAY, OBJECT | BOOL, check_items},
    {"minItems", ARRAY, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxItems", ARRAY, NUMBER, check_limit, "at most", AT_MOST},
    {"minLength", STRING, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxLength", STRING, NUMBER, check_limit, "at most", AT_MOST},
    {"minimum", NUMBER, NUMBER, check_limit, "at least", AT_LEAST},
    {"maximum", NUMBER, NUMBER, check_limit, "at most", AT_MOST},
    {"exclusiveMinimum", NUMBER, NUMBER, check_limit, "more than", ABOVE},
    {"exclusiveMaximum", NUMBER, NUMBER, check_limit, "less than", BELOW},
    {"pattern", STRING, STRING, check_pattern},
    {"minProperties", OBJECT, NUMBER, check_limit, "at least", AT_LEAST},
    {"maxProperties", OBJECT, NUMBER, check_limit, "at most", AT_MOST},
    {"uniqueItems", ARRAY, BOOL, check_unique},
    {"anyOf", ANY, ARRAY, check_any_of},
    {"oneOf", ANY, ARRAY, check_any_of},
    {"allOf", ANY, ARRAY, check_all_of},
    {"not", ANY, OBJECT | BOOL, check_not},
    {"$ref", ANY, STRING, check_ref},
};

unsigned schema_keyword_shapes(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (str_is(name, keywords[i].name))
            return keywords[i].shapes;
    }
    return 0;
}

static void check_value(struct check *c, const struct json *schema, const struct json *value)
{
    unsigned before = c->report.found;

    if (c->depth == SCHEMA_MAX_DEPTH || is_out_of_steps(c) || report_is_full(&c->report))
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
        struct rule r = {k, schema, json_get(schema, k->name), value};

        if (!r.arg || !(k->shapes >> json_type(r.arg) & 1) || !(k->applies >> json_type(value) & 1))
            continue;
        k->check(c, &r);
        if (k->check == check_type && c->report.found > before)
            break;
    }
    c->depth--;
}

int schema_check(const struct json *schema, const struct json *value, struct err *err)
{
    struct check c = {.root = schema, .report = REPORT_INIT};
    int r = 0;

    check_value(&c, schema, value);
    if (c.report.found)
        r = err_set(err, ERR_BAD_INPUT, "%s", buf_cstr(&c.report.problems));
    report_release(&c.report);
    schema_patterns_release(&c.patterns);
    return r;
}
