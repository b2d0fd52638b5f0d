/*
 * bytes_json: percent signs in and out. Any thread.
 */
#include "goal/origin/bytes_json.h"

#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"

static bool is_plain(char c)
{
    return (c >= ' ' && c <= '~' && c != '%') || c == '\n' || c == '\t';
}

void bytes_write(struct jw *w, struct str bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t plain = 0;

    while (plain < bytes.len && is_plain(bytes.ptr[plain]))
        plain++;
    if (plain == bytes.len) { /* nearly always */
        jw_str(w, bytes);
        return;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        if (is_plain(bytes.ptr[i])) {
            buf_addc(&text, bytes.ptr[i]);
            continue;
        }
        buf_addc(&text, '%');
        buf_addc(&text, digits[c >> 4]);
        buf_addc(&text, digits[c & 15]);
    }
    jw_str(w, buf_str(&text));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

struct str bytes_parse(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len && text.ptr[i] == '%' ? hex_digit(text.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;

        if (low >= 0) {
            out[len++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[len++] = text.ptr[i];
        }
    }
    out[len] = '\0';
    return str_make(out, len);
}

void bytes_write_list(struct jw *w, const char *key, const struct strv *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        bytes_write(w, str_of(list->ptr[i]));
    jw_array_end(w);
}

void bytes_parse_list(const struct json *list, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    JSON_EACH(list, v) {
        strv_add(ret, bytes_parse(&arena, json_str(v)));
    }
}
