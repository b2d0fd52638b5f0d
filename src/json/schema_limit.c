/*
 * Limits of a schema. Pure; any thread.
 */
#include "json/schema_limit.h"

#include <math.h>

#include "json/json.h"

static double double_of(const struct json *v)
{
    struct str text = json_number(v);
    double n;

    if (json_double(v, &n))
        return n;
    return text.len && text.ptr[0] == '-' ? -HUGE_VAL : HUGE_VAL;
}

size_t schema_characters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* Below 0, 0 or above 0: a number, or the size of anything else, against a limit. Exact where both
 * are integers. */
static int compare(const struct json *value, size_t size, const struct json *limit)
{
    bool number = json_is(value, JSON_NUMBER);
    int64_t x = (int64_t)size;
    int64_t y;
    double a = (double)size;
    double b = double_of(limit);

    if ((!number || json_i64(value, &x)) && json_i64(limit, &y))
        return (x > y) - (x < y);
    if (number)
        a = double_of(value);
    return (a > b) - (a < b);
}

/* Exact where both are integers; else as near as decimal fractions are in binary. */
static bool is_multiple(const struct json *value, const struct json *of)
{
    int64_t x;
    int64_t y;
    double q;

    if (json_i64(value, &x) && json_i64(of, &y))
        return y <= 0 || x % y == 0;
    if (!(double_of(of) > 0))
        return true; /* makes no sense */
    q = fabs(double_of(value) / double_of(of));
    if (!(q < 1e15))
        return true; /* no fraction is left to look at */
    return fabs(q - (double)(int64_t)(q + 0.5)) <= 1e-9 * (q > 1 ? q : 1);
}

bool schema_limit_holds(enum limit_op op, const struct json *value, size_t size,
                        const struct json *limit)
{
    int order = op == MULTIPLE ? 0 : compare(value, size, limit);

    switch (op) {
    case AT_LEAST:
        return order >= 0;
    case AT_MOST:
        return order <= 0;
    case ABOVE:
        return order > 0;
    case BELOW:
        return order < 0;
    case MULTIPLE:
        return is_multiple(value, limit);
    }
    return true;
}
