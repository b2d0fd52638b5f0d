/*
 * Encodings of the web: told by mark, label or look. What all texts share is read by decode.c; only
 * windows-1252 is the web's own. Pure; any thread.
 */
#include "tools/web/charset.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/decode.h"

#define META_BYTES 2048 /* how far into a page its <meta> is looked for */

enum charset {
    CHARSET_UNKNOWN,
    CHARSET_UTF8,
    CHARSET_1252,
    CHARSET_UTF16LE,
    CHARSET_UTF16BE,
};

static const struct {
    const char *label;
    enum charset charset;
} labels[] = {
    {"utf-8", CHARSET_UTF8},       {"utf8", CHARSET_UTF8},       {"us-ascii", CHARSET_1252},
    {"ascii", CHARSET_1252},       {"iso-8859-1", CHARSET_1252}, {"iso8859-1", CHARSET_1252},
    {"latin1", CHARSET_1252},      {"latin-1", CHARSET_1252},    {"windows-1252", CHARSET_1252},
    {"cp1252", CHARSET_1252},      {"utf-16", CHARSET_UTF16LE},  {"utf-16le", CHARSET_UTF16LE},
    {"utf-16be", CHARSET_UTF16BE},
};

/* What windows-1252 has where Latin-1 has control characters; 0: nothing. */
static const uint16_t high_1252[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

uint32_t charset_1252(unsigned char byte)
{
    uint32_t code = byte >= 0x80 && byte < 0xa0 ? high_1252[byte - 0x80] : byte;

    return code || !byte ? code : 0xfffd;
}

static enum charset by_label(struct str label)
{
    label = str_trim(label);
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        if (str_eq_nocase(label, str_of(labels[i].label)))
            return labels[i].charset;
    }
    return CHARSET_UNKNOWN;
}

/* charset=… of a <meta> near the start. */
static struct str meta_label(struct str bytes)
{
    struct str head = str_first(bytes, META_BYTES);
    struct str value;
    size_t len = 0;

    for (;;) {
        head = str_from(head, str_find_nocase(head, STR("<meta")));
        if (!head.len)
            return head;
        head = str_from(head, 5);
        value = str_first(head, str_chr(head, '>'));
        value = str_from(value, str_find_nocase(value, STR("charset=")));
        if (value.len)
            break;
    }
    value = str_from(value, 8);
    if (value.len && (value.ptr[0] == '"' || value.ptr[0] == '\''))
        value = str_from(value, 1);
    while (len < value.len && (str_is_alnum(value.ptr[len]) || value.ptr[len] == '-'))
        len++;
    return str_first(value, len);
}

static void add_1252(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        char text[4];

        buf_add(out, str_make(text, utf8_encode(charset_1252((unsigned char)bytes.ptr[i]), text)));
    }
}

bool charset_to_utf8(struct str bytes, struct str label, bool is_html, struct buf *ret)
{
    static const enum charset of_mark[] = {
        [ENCODING_UTF8] = CHARSET_UTF8,
        [ENCODING_UTF16_LE] = CHARSET_UTF16LE,
        [ENCODING_UTF16_BE] = CHARSET_UTF16BE,
    };
    enum charset charset = CHARSET_UNKNOWN;
    bool known = true;
    size_t mark_len;
    enum encoding marked = decode_mark(bytes, &mark_len);

    if (mark_len) {
        charset = of_mark[marked];
        bytes = str_from(bytes, mark_len);
    } else if (label.len) {
        charset = by_label(label);
        known = charset != CHARSET_UNKNOWN;
    } else if (is_html && meta_label(bytes).len) {
        charset = by_label(meta_label(bytes));
        known = charset != CHARSET_UNKNOWN;
        if (charset > CHARSET_1252) /* a <meta> that can be read as ASCII is not in UTF-16 */
            charset = CHARSET_UTF8;
    }
    if (charset == CHARSET_UNKNOWN)
        charset = !known || utf8_is_valid(bytes) ? CHARSET_UTF8 : CHARSET_1252;

    if (charset == CHARSET_UTF8)
        decode_utf8(bytes, ret);
    else if (charset == CHARSET_1252)
        add_1252(ret, bytes);
    else
        decode_utf16(bytes, charset == CHARSET_UTF16BE, ret);
    return known;
}
