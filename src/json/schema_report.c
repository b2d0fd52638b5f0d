/*
 * Sentences about what does not fit a schema, for a model to read and act on. One thread at a time.
 */
#include "json/schema_report.h"

#include "json/json.h"
#include "json/jw.h"

void report_release(struct report *r)
{
    buf_release(&r->path);
    buf_release(&r->problems);
}

size_t report_enter_key(struct report *r, struct str key)
{
    size_t len = r->path.len;

    if (len)
        buf_addc(&r->path, '.');
    buf_add(&r->path, str_clip(key, REPORT_PREVIEW));
    return len;
}

size_t report_enter_item(struct report *r, size_t i)
{
    size_t len = r->path.len;

    buf_addf(&r->path, "[%zu]", i);
    return len;
}

void report_leave(struct report *r, size_t len)
{
    buf_cut(&r->path, len, r->path.len - len);
}

bool report_is_full(const struct report *r)
{
    return r->written == REPORT_MAX_PROBLEMS;
}

struct buf *report_problem(struct report *r)
{
    r->found++;
    if (r->quiet || report_is_full(r))
        return NULL;
    if (r->written++)
        buf_adds(&r->problems, "; ");
    if (r->path.len)
        buf_addf(&r->problems, "'%s'", buf_cstr(&r->path));
    else
        buf_adds(&r->problems, "the input");
    return &r->problems;
}

void report_add_literal(struct buf *out, const struct json *v)
{
    struct str all = json_is(v, JSON_STRING) ? json_str(v) : v ? json_raw(v) : STR("null");
    struct str shown = str_clip(all, REPORT_PREVIEW);
    struct jw w;

    jw_init(&w, out, JW_CLEAN);
    if (json_is(v, JSON_STRING))
        jw_str(&w, shown);
    else
        jw_raw(&w, shown);
    if (shown.len < all.len)
        buf_adds(out, "\xe2\x80\xa6");
}

void report_add_not(struct buf *out, const struct json *v)
{
    static const char *const kinds[] = {
        [JSON_NULL] = "",
        [JSON_BOOL] = "",
        [JSON_NUMBER] = "the number ",
        [JSON_STRING] = "the string ",
        [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    enum json_type type = json_type(v);

    buf_addf(out, ", not %s", kinds[type]);
    if (type != JSON_ARRAY && type != JSON_OBJECT)
        report_add_literal(out, v);
}

const char *report_joint(size_t i, size_t n)
{
    if (i == 0)
        return "";
    return i + 1 == n ? " or " : ", ";
}
