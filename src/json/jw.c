/*
 * The writer. Each call appends at once; the only state is the nesting, one bit per level for "is
 * an object" and one for "has items". One writer, one thread.
 */
#include "json/jw.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "json/json.h"
#include "json/scan.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define PLAIN_ROOM 64              /* nearly all keys and most values are shorter */

static bool bit_get(const uint64_t *bits, unsigned i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, unsigned i, bool on)
{
    uint64_t bit = (uint64_t)1 << i % 64;

    bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
}

/* The innermost open container; ask only when there is one. */
static bool top_is_object(const struct jw *w)
{
    return bit_get(w->in_object, w->depth - 1);
}

static bool top_has_items(const struct jw *w)
{
    return bit_get(w->has_items, w->depth - 1);
}

void jw_init(struct jw *w, struct buf *out, unsigned flags)
{
    *w = (struct jw){.out = out, .flags = flags};
}

static void new_line(struct jw *w)
{
    if (!(w->flags & JW_PRETTY))
        return;
    buf_addc(w->out, '\n');
    for (unsigned i = 0; i < w->depth; i++)
        buf_add(w->out, STR("  "));
}

/* Before a key or an element. */
static void begin_item(struct jw *w)
{
    if (top_has_items(w))
        buf_addc(w->out, ',');
    bit_set(w->has_items, w->depth - 1, true);
    new_line(w);
}

static void begin_value(struct jw *w)
{
    if (w->in_string)
        BUG("a value inside a string");
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (!w->depth)
        return;
    if (top_is_object(w))
        BUG("a value without a key inside an object");
    begin_item(w);
}

static void open_container(struct jw *w, bool object)
{
    begin_value(w);
    if (w->depth == JSON_MAX_DEPTH)
        BUG("nested deeper than %d", JSON_MAX_DEPTH);
    buf_addc(w->out, object ? '{' : '[');
    w->depth++;
    bit_set(w->in_object, w->depth - 1, object);
    bit_set(w->has_items, w->depth - 1, false);
}

static void close_container(struct jw *w, bool object)
{
    bool items;

    if (!w->depth || top_is_object(w) != object || w->after_key || w->in_string)
        BUG("the end of an %s that is not open", object ? "object" : "array");
    items = top_has_items(w);
    w->depth--;
    if (items)
        new_line(w);
    buf_addc(w->out, object ? '}' : ']');
}

void jw_object(struct jw *w)
{
    open_container(w, true);
}

void jw_object_end(struct jw *w)
{
    close_container(w, true);
}

void jw_array(struct jw *w)
{
    open_container(w, false);
}

void jw_array_end(struct jw *w)
{
    close_container(w, false);
}

static void add_escape(struct buf *out, unsigned char c)
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
        ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
    };

    if (c < sizeof(letters) && letters[c]) {
        char text[2] = {'\\', letters[c]};

        buf_add(out, str_make(text, 2));
    } else {
        buf_addf(out, "\\u%04x", c);
    }
}

/* The surrogate that starts s as three bytes, or 0. */
static uint32_t surrogate_at(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;

    if (s.len < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf || (p[2] & 0xc0) != 0x80)
        return 0;
    return 0xd000u | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
}

/* Handles an invalid character at the start of s; returns how many bytes that was. */
static size_t add_invalid(struct jw *w, struct str s)
{
    uint32_t code = surrogate_at(s);
    uint32_t low = surrogate_at(str_from(s, 3));

    if (code && !(w->flags & JW_CLEAN)) {
        buf_addf(w->out, "\\u%04x", (unsigned)code);
        return 3;
    }
    if (code && code < 0xdc00 && low >= 0xdc00) {
        char utf8[4];

        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        buf_add(w->out, str_make(utf8, utf8_encode(code, utf8)));
        return 6;
    }
    buf_add(w->out, STR(REPLACEMENT));
    return code ? 3 : 1;
}

static void add_text(struct jw *w, struct str s)
{
    const char *at = s.ptr;
    const char *end = s.len ? s.ptr + s.len : at;

    while (at < end) {
        const char *stop = scan_valid(at, end);

        buf_add(w->out, str_make(at, (size_t)(stop - at)));
        at = stop;
        if (at == end)
            break;
        if ((unsigned char)*at < 0x80) {
            add_escape(w->out, (unsigned char)*at);
            at++;
        } else {
            at += add_invalid(w, str_make(at, (size_t)(end - at)));
        }
    }
}

/* A short text without anything to escape, in one piece with what stands around it; false: it is
 * another. */
static bool add_plain(struct jw *w, bool comma, struct str s, bool colon)
{
    size_t len = comma + 1 + s.len + 1 + colon;
    char *at;

    if (!s.len || s.len > PLAIN_ROOM || scan_valid(s.ptr, s.ptr + s.len) != s.ptr + s.len)
        return false;
    at = buf_room(w->out, len);
    if (!at)
        return true; /* left out, as buf_check() will tell */
    if (comma)
        *at++ = ',';
    *at++ = '"';
    memcpy(at, s.ptr, s.len);
    at += s.len;
    *at++ = '"';
    if (colon)
        *at = ':';
    buf_grown(w->out, len);
    return true;
}

void jw_key_str(struct jw *w, struct str key)
{
    if (!w->depth || !top_is_object(w) || w->after_key || w->in_string)
        BUG("a key where none belongs");
    if (!(w->flags & JW_PRETTY) && add_plain(w, top_has_items(w), key, /*colon=*/true)) {
        bit_set(w->has_items, w->depth - 1, true);
    } else {
        begin_item(w);
        buf_addc(w->out, '"');
        add_text(w, key);
        buf_adds(w->out, w->flags & JW_PRETTY ? "\": " : "\":");
    }
    w->after_key = true;
}

void jw_key(struct jw *w, const char *key)
{
    jw_key_str(w, str_of(key));
}

void jw_str_begin(struct jw *w)
{
    begin_value(w);
    buf_addc(w->out, '"');
    w->in_string = true;
}

void jw_str_part(struct jw *w, struct str s)
{
    if (!w->in_string)
        BUG("part of a string that was not begun");
    add_text(w, s);
}

void jw_str_base64(struct jw *w, struct str bytes)
{
    if (!w->in_string)
        BUG("part of a string that was not begun");
    buf_add_base64(w->out, bytes);
}

void jw_str_end(struct jw *w)
{
    if (!w->in_string)
        BUG("the end of a string that was not begun");
    w->in_string = false;
    buf_addc(w->out, '"');
}

void jw_str(struct jw *w, struct str s)
{
    begin_value(w);
    if (add_plain(w, /*comma=*/false, s, /*colon=*/false))
        return;
    buf_addc(w->out, '"');
    add_text(w, s);
    buf_addc(w->out, '"');
}

void jw_raw(struct jw *w, struct str json)
{
    begin_value(w);
    buf_add(w->out, json);
}

void jw_null(struct jw *w)
{
    jw_raw(w, STR("null"));
}

void jw_bool(struct jw *w, bool b)
{
    jw_raw(w, b ? STR("true") : STR("false"));
}

void jw_cstr(struct jw *w, const char *s)
{
    if (s)
        jw_str(w, str_of(s));
    else
        jw_null(w);
}

void jw_i64(struct jw *w, int64_t n)
{
    begin_value(w);
    buf_addi(w->out, n);
}

void jw_double(struct jw *w, double n)
{
    char text[32];

    if (!isfinite(n)) {
        jw_null(w);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    jw_raw(w, str_of(text));
}

/* Recursion goes as deep as the writer may nest. */
void jw_json(struct jw *w, const struct json *v)
{
    bool container = json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY);

    if (container && w->depth == JSON_MAX_DEPTH) {
        jw_null(w);
        return;
    }
    switch (json_type(v)) {
    case JSON_NULL:
        jw_null(w);
        break;
    case JSON_BOOL:
        jw_bool(w, json_bool(v, false));
        break;
    case JSON_NUMBER:
        jw_raw(w, json_number(v));
        break;
    case JSON_STRING:
        jw_str(w, json_str(v));
        break;
    case JSON_ARRAY:
        jw_array(w);
        JSON_EACH(v, item)
            jw_json(w, item);
        jw_array_end(w);
        break;
    case JSON_OBJECT:
        jw_object(w);
        JSON_EACH(v, member) {
            jw_key_str(w, json_key(member));
            jw_json(w, member);
        }
        jw_object_end(w);
        break;
    }
}

void jw_kstr(struct jw *w, const char *key, struct str s)
{
    jw_key(w, key);
    jw_str(w, s);
}

void jw_kcstr(struct jw *w, const char *key, const char *s)
{
    jw_key(w, key);
    jw_cstr(w, s);
}

void jw_ki64(struct jw *w, const char *key, int64_t n)
{
    jw_key(w, key);
    jw_i64(w, n);
}

void jw_kbool(struct jw *w, const char *key, bool b)
{
    jw_key(w, key);
    jw_bool(w, b);
}

void jw_kraw(struct jw *w, const char *key, struct str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}

void jw_kjson(struct jw *w, const char *key, const struct json *v)
{
    jw_key(w, key);
    jw_json(w, v);
}
