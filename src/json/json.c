/*
 * Reading a parsed tree: types, values, members, comparison. Pure functions over immutable nodes,
 * so any thread may call them on a tree that no longer changes hands.
 */
#include "json/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/node.h"

static const struct str no_str = {"", 0};

enum json_type json_type(const struct json *v)
{
    return v ? (enum json_type)v->type : JSON_NULL;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object",
    };

    return names[type];
}

bool json_is(const struct json *v, enum json_type type)
{
    return v && v->type == type;
}

bool json_bool(const struct json *v, bool otherwise)
{
    return json_is(v, JSON_BOOL) ? v->flags & NODE_TRUE : otherwise;
}

struct str json_str(const struct json *v)
{
    return json_is(v, JSON_STRING) ? str_make(v->text, v->len) : no_str;
}

struct str json_number(const struct json *v)
{
    return json_is(v, JSON_NUMBER) ? json_raw(v) : no_str;
}

struct str json_raw(const struct json *v)
{
    return v ? str_make(v->raw, v->raw_len) : no_str;
}

struct str json_unfenced(struct str text)
{
    struct str s = str_trim(text);
    struct str rest = s;
    struct str line;

    if (!str_starts(s, STR("```")) || !str_ends(s, STR("```")) || !str_cut(&rest, '\n', &line) ||
        rest.len < 3)
        return s;
    line = str_trim(str_from(line, 3));
    if (line.len && !str_is(line, "json"))
        return s;
    return str_trim(str_first(rest, rest.len - 3));
}

struct str json_text(const struct json *root)
{
    return root && root->flags & NODE_ROOT ? node_key(root) : no_str;
}

/* The digits after the 'e'. An absurd exponent stops growing where no text has the digits to make
 * up for it. */
static int64_t exponent_of(struct str text)
{
    const int64_t most = (int64_t)1 << 40;
    bool negative = text.len && text.ptr[0] == '-';
    int64_t value = 0;

    for (size_t i = 0; i < text.len && value < most; i++) {
        if (text.ptr[i] >= '0' && text.ptr[i] <= '9')
            value = value * 10 + (text.ptr[i] - '0');
    }
    return negative ? -value : value;
}

static bool push_digit(uint64_t *value, char digit)
{
    return !__builtin_mul_overflow(*value, 10u, value) &&
           !__builtin_add_overflow(*value, (uint64_t)(digit - '0'), value);
}

/* Exact, without a detour over double: the exponent says how many of the digits stand before the
 * point; missing ones are zeros, and those after it must be. */
bool json_i64(const struct json *v, int64_t *ret)
{
    struct str text = json_number(v);
    bool negative = text.len && text.ptr[0] == '-';
    size_t e = 0;
    size_t point;
    int64_t before; /* how many digits stand before the point */
    int64_t digits = 0;
    uint64_t value = 0;

    if (!text.len)
        return false;
    text = str_from(text, negative);
    while (e < text.len && text.ptr[e] != 'e' && text.ptr[e] != 'E')
        e++;
    point = str_chr(str_first(text, e), '.');
    before = (int64_t)point + exponent_of(str_from(text, e + 1));

    for (size_t i = 0; i < e; i++) {
        if (i == point)
            continue;
        if (digits >= before && text.ptr[i] != '0')
            return false;
        if (digits < before && !push_digit(&value, text.ptr[i]))
            return false;
        digits++;
    }
    for (; value && digits < before; digits++) {
        if (!push_digit(&value, '0'))
            return false;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = (int64_t)(negative ? 0 - value : value);
    return true;
}

bool json_double(const struct json *v, double *ret)
{
    struct str text = json_number(v);
    CLEANUP(mem_freep) char *copy = NULL;
    double value;
    char small[64];

    if (!text.len)
        return false;
    if (text.len < sizeof(small)) {
        memcpy(small, text.ptr, text.len);
        small[text.len] = '\0';
    } else {
        copy = mem_dup(text.ptr, text.len);
    }
    /* The process never leaves the C locale, so the decimal point is a point. */
    value = strtod(copy ? copy : small, NULL);
    if (isinf(value))
        return false;
    *ret = value;
    return true;
}

size_t json_len(const struct json *v)
{
    return json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) ? v->len : 0;
}

const struct json *json_first(const struct json *v)
{
    if (!json_len(v))
        return NULL;
    return v->flags & NODE_HASHED ? v->table->first : v->first;
}

const struct json *json_next(const struct json *child)
{
    return child ? child->next : NULL;
}

struct str json_key(const struct json *child)
{
    return child && child->key && !(child->flags & NODE_ROOT) ? node_key(child) : no_str;
}

const struct json *json_at(const struct json *array, size_t i)
{
    if (!json_is(array, JSON_ARRAY))
        return NULL;
    JSON_EACH(array, v) {
        if (i-- == 0)
            return v;
    }
    return NULL;
}

const struct json *json_get_key(const struct json *object, struct str key)
{
    if (!json_is(object, JSON_OBJECT))
        return NULL;
    if (object->flags & NODE_HASHED)
        return json_table_find(object->table, key);
    JSON_EACH(object, v) {
        if (str_eq(node_key(v), key))
            return v;
    }
    return NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
    return json_get_key(object, str_of(key));
}

struct str json_get_str(const struct json *object, const char *key)
{
    return json_str(json_get(object, key));
}

bool json_get_bool(const struct json *object, const char *key, bool otherwise)
{
    return json_bool(json_get(object, key), otherwise);
}

int64_t json_get_i64(const struct json *object, const char *key, int64_t otherwise)
{
    int64_t n = otherwise;

    json_i64(json_get(object, key), &n);
    return n;
}

const struct json *json_path(const struct json *v, const char *dotted)
{
    struct str rest = str_of(dotted);
    struct str part;

    while (v && str_cut(&rest, '.', &part)) {
        int64_t i;

        if (v->type != JSON_ARRAY)
            v = json_get_key(v, part);
        else if (str_to_i64(part, &i, /*err=*/NULL) == 0 && i >= 0)
            v = json_at(v, (size_t)i);
        else
            v = NULL;
    }
    return v;
}

static bool numbers_equal(const struct json *a, const struct json *b)
{
    int64_t x;
    int64_t y;

    if (json_i64(a, &x) && json_i64(b, &y))
        return x == y;
    return str_eq(json_raw(a), json_raw(b));
}

/* Recursion goes as deep as the shallower tree, which the parser has limited. */
bool json_equal(const struct json *a, const struct json *b)
{
    const struct json *other;

    if (!a || !b || a->type != b->type)
        return a == b;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return json_bool(a, false) == json_bool(b, false);
    case JSON_NUMBER:
        return numbers_equal(a, b);
    case JSON_STRING:
        return str_eq(json_str(a), json_str(b));
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }

    if (a->len != b->len)
        return false;
    other = json_first(b);
    JSON_EACH(a, child) {
        if (a->type == JSON_OBJECT)
            other = json_get_key(b, node_key(child));
        if (!json_equal(child, other))
            return false;
        if (a->type == JSON_ARRAY)
            other = other->next;
    }
    return true;
}
