/*
 * The keywords of arrays. Any thread; see schema_check.h.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/schema_check.h"

#define SCHEMA_MAX_UNIQUE 2000 /* compared pair by pair; longer arrays are passed over */

static void check_item(struct schema_run *c, const struct json *schema, const struct json *item,
                       size_t i)
{
    size_t len = report_enter_item(&c->report, i);

    schema_check_value(c, schema, item);
    report_leave(&c->report, len);
}

/* After those that prefixItems has a schema for. */
void schema_items(struct schema_run *c, const struct schema_rule *r)
{
    const struct json *prefix = json_get(r->schema, "prefixItems");
    size_t first = json_is(prefix, JSON_ARRAY) ? json_len(prefix) : 0;
    size_t i = 0;

    JSON_EACH(r->value, item) {
        if (i >= first)
            check_item(c, r->arg, item, i);
        i++;
    }
}

void schema_prefix_items(struct schema_run *c, const struct schema_rule *r)
{
    const struct json *item = json_first(r->value);
    size_t i = 0;

    JSON_EACH(r->arg, schema) {
        if (!item)
            return;
        check_item(c, schema, item, i++);
        item = json_next(item);
    }
}

/* With minContains (1 where it is not said) and maxContains. */
void schema_contains(struct schema_run *c, const struct schema_rule *r)
{
    const struct json *least = json_get(r->schema, "minContains");
    const struct json *most = json_get(r->schema, "maxContains");
    bool has_most = json_is(most, JSON_NUMBER);
    size_t fitting = 0;
    bool few;
    struct buf *out;

    JSON_EACH(r->value, item)
        fitting += schema_try_value(c, r->arg, item) == 0;
    few = json_is(least, JSON_NUMBER)
              ? !schema_limit_holds(AT_LEAST, /*value=*/NULL, fitting, least)
              : fitting < 1;
    if (schema_is_out_of_steps(c) ||
        (!few && (!has_most || schema_limit_holds(AT_MOST, /*value=*/NULL, fitting, most))))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_addf(out, " must have at %s ", few ? "least" : "most");
    if (few && !json_is(least, JSON_NUMBER))
        buf_adds(out, "1");
    else
        report_add_literal(out, few ? least : most);
    buf_adds(out, " that fit ");
    report_add_literal(out, r->arg);
    buf_addf(out, ", not %zu", fitting);
}

void schema_unique(struct schema_run *c, const struct schema_rule *r)
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
