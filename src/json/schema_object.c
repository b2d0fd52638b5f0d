/*
 * The keywords of objects. Any thread; see schema_check.h.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/node.h"
#include "json/schema_check.h"

void schema_required(struct schema_run *c, const struct schema_rule *r)
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

void schema_properties(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->value, member) {
        const struct json *sub = json_get_key(r->arg, json_key(member));
        size_t len;

        if (!sub)
            continue;
        len = report_enter_key(&c->report, json_key(member));
        schema_check_value(c, sub, member);
        report_leave(&c->report, len);
    }
}

/* Whether a pattern of patternProperties is for this name. Each look counts as a step. */
static bool is_for(struct schema_run *c, const struct json *pattern, struct str name)
{
    c->steps++;
    return schema_pattern_matches_key(&c->patterns, pattern, name);
}

void schema_pattern_properties(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->value, member) {
        size_t len = report_enter_key(&c->report, json_key(member));

        JSON_EACH(r->arg, pattern) {
            if (!schema_is_out_of_steps(c) && is_for(c, pattern, json_key(member)))
                schema_check_value(c, pattern, member);
        }
        report_leave(&c->report, len);
    }
}

static bool has_pattern(struct schema_run *c, const struct json *patterns, struct str name)
{
    if (!json_is(patterns, JSON_OBJECT))
        return false;
    JSON_EACH(patterns, pattern) {
        if (schema_is_out_of_steps(c) || is_for(c, pattern, name))
            return true;
    }
    return false;
}

/* Suggests the nearest name, or lists all. */
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

void schema_additional(struct schema_run *c, const struct schema_rule *r)
{
    const struct json *properties = json_get(r->schema, "properties");
    const struct json *patterns = json_get(r->schema, "patternProperties");

    JSON_EACH(r->value, member) {
        size_t len;

        if (json_get_key(properties, json_key(member)) ||
            has_pattern(c, patterns, json_key(member)))
            continue;
        len = report_enter_key(&c->report, json_key(member));
        if (json_is(r->arg, JSON_OBJECT)) {
            schema_check_value(c, r->arg, member);
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

/* A name is checked as if it were a value. */
void schema_property_names(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->value, member) {
        struct str key = json_key(member);
        struct json name = {.type = JSON_STRING, .text = key.ptr, .len = (uint32_t)key.len};
        struct buf *out;

        if (!schema_try_value(c, r->arg, &name))
            continue;
        out = report_problem(&c->report);
        if (!out)
            continue;
        buf_adds(out, " has the name ");
        report_add_literal(out, &name);
        buf_adds(out, ", which does not fit ");
        report_add_literal(out, r->arg);
    }
}

void schema_dependent_required(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->arg, names) {
        struct schema_rule required = *r;

        required.arg = names;
        if (json_is(names, JSON_ARRAY) && json_get_key(r->value, json_key(names)))
            schema_required(c, &required);
    }
}

void schema_dependent_schemas(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->arg, schema) {
        if (json_get_key(r->value, json_key(schema)))
            schema_check_value(c, schema, r->value);
    }
}
