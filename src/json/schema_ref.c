/*
 * References within a schema. Pure; any thread.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/schema_keyword.h"

#define SCHEMA_REF_MAX 1000

/* The value of a hexadecimal digit, or -1. */
static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A reference is the end of a URI, in which "%5E" is "^". */
static void add_decoded(struct buf *out, struct str ref)
{
    for (size_t i = 0; i < ref.len; i++) {
        int high = ref.ptr[i] == '%' && i + 2 < ref.len ? hex_of(ref.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_of(ref.ptr[i + 2]) : -1;

        buf_addc(out, low < 0 ? ref.ptr[i] : (char)(high * 16 + low));
        i += low < 0 ? 0 : 2;
    }
}

/* One step of a JSON pointer, unescaped. */
static void add_step(struct buf *out, struct str step)
{
    for (size_t i = 0; i < step.len; i++) {
        bool escaped = step.ptr[i] == '~' && i + 1 < step.len;

        if (escaped)
            i++;
        buf_addc(out, !escaped ? step.ptr[i] : step.ptr[i] == '1' ? '/' : '~');
    }
}

/* Into a list by number, as programs that write schemas refer to the first place of a type:
 * "#/properties/a/anyOf/1". */
static const struct json *go_to(const struct json *at, struct str name)
{
    int64_t i;

    if (!json_is(at, JSON_ARRAY))
        return json_get_key(at, name);
    if (str_to_i64(name, &i, /*err=*/NULL) < 0 || i < 0)
        return NULL;
    return json_at(at, (size_t)i);
}

const struct json *schema_ref(const struct json *root, struct str ref)
{
    CLEANUP(buf_release) struct buf decoded = BUF_INIT(SCHEMA_REF_MAX);
    CLEANUP(buf_release) struct buf name = BUF_INIT(SCHEMA_REF_MAX);
    const struct json *at = root;
    struct str step;

    if (ref.len > SCHEMA_REF_MAX)
        return NULL;
    add_decoded(&decoded, ref);
    ref = buf_str(&decoded);
    if (str_is(ref, "#"))
        return root;
    if (!str_starts(ref, STR("#/")))
        return NULL;
    ref = str_from(ref, 2);
    while (at && ref.len) {
        str_cut(&ref, '/', &step);
        buf_clear(&name);
        add_step(&name, step);
        at = go_to(at, buf_str(&name));
    }
    return at;
}
