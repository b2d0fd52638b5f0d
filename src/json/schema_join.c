/*
 * The keywords that join schemas: anyOf, oneOf, allOf, not, if, $ref. Any thread; see
 * schema_check.h.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/schema_check.h"
#include "json/schema_keyword.h"

/* No alternative has the value's type: names those there are. */
static void add_alternative_types(struct buf *out, const struct json *alternatives,
                                  const struct json *value)
{
    size_t i = 0;

    buf_adds(out, " must be ");
    JSON_EACH(alternatives, it) {
        const struct json *type = json_get(it, "type");
        const char *word = schema_type_word(json_str(type));

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
void schema_any_of(struct schema_run *c, const struct schema_rule *r)
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
        unsigned problems = schema_try_value(c, it, r->value);

        if (!problems && !only_one)
            return;
        if (!problems) {
            fitting++;
            continue;
        }
        if (!schema_type_allows(json_get(it, "type"), r->value))
            continue;
        candidates++;
        if (!nearest || problems < fewest) {
            nearest = it;
            fewest = problems;
        }
    }
    if (fitting == 1 || schema_is_out_of_steps(c))
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
        schema_check_value(c, nearest, r->value);
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
    schema_check_value(c, nearest, r->value);
}

void schema_all_of(struct schema_run *c, const struct schema_rule *r)
{
    JSON_EACH(r->arg, it)
        schema_check_value(c, it, r->value);
}

void schema_not(struct schema_run *c, const struct schema_rule *r)
{
    struct buf *out;

    if (schema_try_value(c, r->arg, r->value) || schema_is_out_of_steps(c))
        return;
    out = report_problem(&c->report);
    if (!out)
        return;
    buf_adds(out, " must not fit ");
    report_add_literal(out, r->arg);
}

void schema_if(struct schema_run *c, const struct schema_rule *r)
{
    bool fits = schema_try_value(c, r->arg, r->value) == 0;
    const struct json *then = json_get(r->schema, fits ? "then" : "else");

    if (then && !schema_is_out_of_steps(c))
        schema_check_value(c, then, r->value);
}

void schema_refers(struct schema_run *c, const struct schema_rule *r)
{
    const struct json *schema = schema_ref(c->root, json_str(r->arg));

    if (schema)
        schema_check_value(c, schema, r->value);
}
