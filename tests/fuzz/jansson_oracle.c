/*
 * jansson under other names; see the header.
 */
#include "jansson_oracle.h"

#include <jansson.h>

static const json_t *value(const struct oracle *v)
{
    return (const json_t *)v;
}

struct oracle *oracle_parse(struct str text, bool *ret_known)
{
    json_error_t error = {0};
    json_t *root = json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    enum json_error_code code;

    if (root)
        return (struct oracle *)root;
    code = json_error_code(&error);
    *ret_known = code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
                 code == json_error_stack_overflow;
    return NULL;
}

void oracle_free(struct oracle *root)
{
    json_decref((json_t *)root);
}

enum oracle_kind oracle_kind(const struct oracle *v)
{
    static const enum oracle_kind kinds[] = {
        [JSON_NULL] = ORACLE_NULL,   [JSON_TRUE] = ORACLE_TRUE,
        [JSON_FALSE] = ORACLE_FALSE, [JSON_INTEGER] = ORACLE_INTEGER,
        [JSON_REAL] = ORACLE_REAL,   [JSON_STRING] = ORACLE_STRING,
        [JSON_ARRAY] = ORACLE_ARRAY, [JSON_OBJECT] = ORACLE_OBJECT,
    };

    return kinds[json_typeof(value(v))];
}

int64_t oracle_integer(const struct oracle *v)
{
    return json_integer_value(value(v));
}

double oracle_real(const struct oracle *v)
{
    return json_real_value(value(v));
}

struct str oracle_str(const struct oracle *v)
{
    return str_make(json_string_value(value(v)), json_string_length(value(v)));
}

size_t oracle_len(const struct oracle *v)
{
    return json_is_array(value(v)) ? json_array_size(value(v)) : json_object_size(value(v));
}

const struct oracle *oracle_at(const struct oracle *v, size_t i)
{
    return (const struct oracle *)json_array_get(value(v), i);
}

const struct oracle *oracle_get(const struct oracle *v, struct str key)
{
    return (const struct oracle *)json_object_getn(value(v), key.ptr, key.len);
}
