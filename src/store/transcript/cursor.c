/*
 * The cursor. Strings and whole values are skipped sixty-four bytes at a time (block.h): quotes
 * give a mask of the insides of strings, and only brackets outside of them count. One window, one
 * thread.
 */
#include "store/transcript/cursor.h"

#include <stdint.h>

#include "base/utf8.h"

int cursor_peek_far(struct window *w)
{
    for (;;) {
        while (w->at < w->stop) {
            if (*w->at != ' ' && *w->at != '\t' && *w->at != '\r')
                return (unsigned char)*w->at;
            w->at++;
        }
        if (!window_more(w))
            return -1;
    }
}

bool cursor_skip_string(struct window *w)
{
    uint64_t carry = 0;

    do {
        while (w->at < w->stop) {
            struct line_block b = block_load(w->at);
            uint64_t ours = block_first((uint64_t)(w->stop - w->at));
            uint64_t escaped = block_escaped(block_eq(&b, '\\') & ours, &carry);
            uint64_t controls = block_controls(&b);
            uint64_t ends = ((block_eq(&b, '"') & ~escaped) | controls) & ours;

            if (ends) {
                w->at += __builtin_ctzll(ends) + 1;
                return !(ends & -ends & controls);
            }
            /* The byte after the last one of a piece is the next piece's first. */
            if (w->stop - w->at < 64) {
                carry = escaped >> (w->stop - w->at) & 1;
                w->at = w->stop;
            } else {
                w->at += 64;
            }
        }
    } while (window_more(w));
    return false;
}

/* To after the bracket that closes the current value. */
bool cursor_leave(struct window *w)
{
    uint64_t depth = 1;
    uint64_t carry = 0;
    uint64_t inside = 0; /* all ones: the last block ended within a string */

    do {
        while (w->at < w->stop) {
            struct line_block b = block_load(w->at);
            uint64_t n = (uint64_t)(w->stop - w->at);
            uint64_t ours = block_first(n);
            uint64_t escaped = block_escaped(block_eq(&b, '\\') & ours, &carry);
            uint64_t strings = inside ^ block_inside(block_eq(&b, '"') & ~escaped & ours);
            uint64_t opens = block_eq_20(&b, '{') & ~strings & ours;
            uint64_t closes = block_eq_20(&b, '}') & ~strings & ours;

            if (block_controls(&b) & strings & ours)
                return false;
            for (uint64_t both = opens | closes; both; both &= both - 1) {
                depth += opens & both & -both ? 1 : -(uint64_t)1;
                if (!depth) {
                    w->at += __builtin_ctzll(both) + 1;
                    return true;
                }
            }
            inside = -(strings >> (n < 64 ? n - 1 : 63) & 1);
            if (n < 64)
                carry = escaped >> n & 1;
            w->at += n < 64 ? n : 64;
        }
    } while (window_more(w));
    return false;
}

/* true, false, null and numbers: any characters they may have. */
static bool cursor_skip_word(struct window *w)
{
    bool has_any = false;

    do {
        while (w->at < w->stop) {
            char c = *w->at;

            if (!str_is_alnum(c) && c != '-' && c != '+' && c != '.')
                return has_any;
            has_any = true;
            w->at++;
        }
    } while (window_more(w));
    return false; /* nothing that is alone in its line */
}

bool cursor_skip_far(struct window *w)
{
    int c = cursor_peek(w);

    if (c == '"') {
        w->at++;
        return cursor_skip_string(w);
    }
    if (c == '{' || c == '[') {
        w->at++;
        return cursor_leave(w);
    }
    return c >= 0 && cursor_skip_word(w);
}

/* The next byte of a string, or -1. */
static int cursor_byte(struct window *w)
{
    if (w->at == w->stop && !window_more(w))
        return -1;
    return (unsigned char)*w->at++;
}

/* The four digits of \u, or -1. */
static int64_t cursor_hex(struct window *w)
{
    int64_t code = 0;

    for (int i = 0; i < 4; i++) {
        int c = cursor_byte(w);

        if (c >= '0' && c <= '9')
            c -= '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            c = (c | 0x20) - 'a' + 10;
        else
            return -1;
        code = code << 4 | c;
    }
    return code;
}

struct taken {
    char *text;
    size_t len;
    bool is_over;
};

static void taken_add(struct taken *t, const char *bytes, size_t n)
{
    t->is_over = t->is_over || t->len + n > WINDOW_TEXT;
    if (t->is_over)
        return;
    memcpy(t->text + t->len, bytes, n);
    t->len += n;
}

/* Handles the characters after a backslash. *high: the first half of a pair, so far alone, or 0. */
static bool cursor_escape(struct window *w, struct taken *t, uint32_t *high)
{
    static const char names[] = "\"\\/bfnrt";
    static const char codes[] = "\"\\/\b\f\n\r\t";
    int c = cursor_byte(w);
    const char *name;
    char bytes[4];
    int64_t code;

    if (c == 'u') {
        code = cursor_hex(w);
        if (code < 0)
            return false;
        if (*high && code >= 0xdc00 && code < 0xe000) {
            t->len -= 3; /* the first half, which was taken for a lone one */
            code = 0x10000 + ((int64_t)(*high - 0xd800) << 10) + (code - 0xdc00);
        }
        *high = code >= 0xd800 && code < 0xdc00 && !t->is_over ? (uint32_t)code : 0;
        taken_add(t, bytes, utf8_encode((uint32_t)code, bytes));
        *high = t->is_over ? 0 : *high;
        return true;
    }
    name = c > 0 ? strchr(names, c) : NULL;
    if (!name)
        return false;
    *high = 0;
    taken_add(t, &codes[name - names], 1);
    return true;
}

/* Byte by byte, for strings with escapes or across the end of a piece. */
bool cursor_decode(struct window *w, struct str *ret)
{
    struct taken t = {.text = w->text};
    uint32_t high = 0;

    for (;;) {
        int c = cursor_byte(w);
        char byte = (char)c;

        if (c < 0x20)
            return false;
        if (c == '"')
            break;
        if (c == '\\') {
            if (!cursor_escape(w, &t, &high))
                return false;
            continue;
        }
        high = 0;
        taken_add(&t, &byte, 1);
    }
    *ret = str_make(w->text, t.is_over ? 0 : t.len);
    return true;
}

bool cursor_colon(struct window *w, struct str *key)
{
    /* Looking for it may move the window, and the key with it. */
    if (key->ptr != w->text) {
        memmove(w->text, key->ptr, key->len);
        key->ptr = w->text;
    }
    return cursor_take(w, ':');
}

bool cursor_bool(struct window *w, bool *ret)
{
    *ret = cursor_peek(w) == 't';
    return cursor_skip(w);
}
