/*
 * keys: the rows of keys.def, looked up by walking down from a parent, and the check of one value
 * against its row. Constant data; any thread.
 */
#include "conf/keys.h"

#include "base/buf.h"
#include "base/mem.h"
#include "conf/nearest.h"
#include "json/json.h"

static const struct key keys[] = {
#define KEY(path, types, values, flags, env, help) {path, types, values, flags, env, help},
#include "conf/keys.def"
#undef KEY
};

const struct key *key_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(keys);
    return keys;
}

/* The last part of a row's path when the row is a direct child of parent, else empty. */
static struct str key_child_name(const struct key *parent, const struct key *k)
{
    struct str path = str_of(k->path);

    if (parent) {
        struct str above = str_of(parent->path);

        if (!str_starts(path, above) || path.len == above.len || path.ptr[above.len] != '.')
            return str_make(NULL, 0);
        path = str_from(path, above.len + 1);
    }
    return str_chr(path, '.') == path.len ? path : str_make(NULL, 0);
}

const struct key *key_child(const struct key *parent, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str child = key_child_name(parent, &keys[i]);

        if (child.len && (str_eq(child, name) || str_is(child, "*")))
            return &keys[i];
    }
    return NULL;
}

const struct key *key_find(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_is(path, keys[i].path))
            return &keys[i];
    return NULL;
}

bool key_has_children(const struct key *k)
{
    /* Members follow their parent directly. */
    return k + 1 < keys + ARRAY_LEN(keys) && key_child_name(k, k + 1).len;
}

struct str key_suggest(const struct key *parent, struct str name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        nearest_offer(&near, key_child_name(parent, &keys[i]));
    return near.best;
}

static const struct {
    enum key_types type;
    const char *name;
} type_names[] = {
    {KEY_BOOL, "a boolean"},
    {KEY_INT, "an integer"},
    {KEY_NUMBER, "a number"},
    {KEY_STRING, "a string"},
    {KEY_STRINGS, "a list of strings"},
    {KEY_LIST, "a list"},
    {KEY_OBJECT, "an object"},
};

/* Which of a row's types a value has; 0 when none. */
static unsigned key_type_of(const struct json *v)
{
    int64_t n;

    switch (json_type(v)) {
    case JSON_BOOL:
        return KEY_BOOL;
    case JSON_NUMBER:
        return json_i64(v, &n) ? KEY_INT | KEY_NUMBER : KEY_NUMBER;
    case JSON_STRING:
        return KEY_STRING;
    case JSON_ARRAY:
        return KEY_STRINGS | KEY_LIST;
    case JSON_OBJECT:
        return KEY_OBJECT;
    case JSON_NULL:
        break;
    }
    return 0;
}

static void key_say_types(const struct key *k, const struct json *v, struct buf *out)
{
    const char *before = "must be ";

    for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
        if (!(k->types & type_names[i].type))
            continue;
        buf_addf(out, "%s%s", before, type_names[i].name);
        before = " or ";
    }
    if (json_is(v, JSON_NUMBER) && (k->types & KEY_INT))
        buf_addf(out, ", not %.*s", STR_ARG(str_clip(json_number(v), 30)));
    else if (json_type(v) == JSON_NULL)
        buf_adds(out, ", not null");
    else
        buf_addf(out, ", not %s",
                 json_is(v, JSON_BOOL)     ? "a boolean"
                 : json_is(v, JSON_NUMBER) ? "a number"
                 : json_is(v, JSON_STRING) ? "a string"
                 : json_is(v, JSON_ARRAY)  ? "a list"
                                           : "an object");
}

static bool key_in_words(const char *words, struct str value)
{
    struct str rest = str_of(words);
    struct str word;

    while (str_cut(&rest, ' ', &word))
        if (str_eq(word, value))
            return true;
    return false;
}

/* values is "0..3600". */
static bool key_in_range(const char *values, int64_t n, struct buf *ret_reason)
{
    struct str range = str_of(values);
    size_t dots = str_find(range, STR(".."));
    int64_t low;
    int64_t high;

    if (str_to_i64(str_first(range, dots), &low, NULL) < 0 ||
        str_to_i64(str_from(range, dots + 2), &high, NULL) < 0)
        BUG("bad range '%s' in keys.def", values);
    if (n >= low && n <= high)
        return true;
    buf_addf(ret_reason, "must be between %lld and %lld", (long long)low, (long long)high);
    return false;
}

bool key_accepts(const struct key *k, const struct json *v, struct buf *ret_reason)
{
    unsigned type = key_type_of(v) & k->types;
    int64_t n;

    if (!type) {
        key_say_types(k, v, ret_reason);
        return false;
    }
    if (type == KEY_STRING && str_chr(json_str(v), '\0') != json_str(v).len) {
        buf_adds(ret_reason, "must not contain a NUL character"); /* it would cut the text short */
        return false;
    }
    if (!k->values)
        return true;
    if (type == KEY_STRING && !key_in_words(k->values, json_str(v))) {
        struct nearest near;

        nearest_init(&near, json_str(v));
        nearest_offer_words(&near, k->values);
        buf_addf(ret_reason, "must be one of: %s", k->values);
        if (near.best.len)
            buf_addf(ret_reason, "; did you mean %.*s?", STR_ARG(near.best));
        return false;
    }
    if ((type & KEY_INT) && json_i64(v, &n))
        return key_in_range(k->values, n, ret_reason);
    return true;
}
