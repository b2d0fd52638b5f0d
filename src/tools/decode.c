/*
 * Decoding: plain loops over bytes, fast where the text is ASCII. Any thread.
 */
#include "tools/decode.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

enum encoding decode_mark(struct str bytes, size_t *ret_len)
{
    *ret_len = 0;
    if (str_starts(bytes, STR("\xef\xbb\xbf"))) {
        *ret_len = 3;
        return ENCODING_UTF8;
    }
    if (str_starts(bytes, STR("\xff\xfe"))) {
        *ret_len = 2;
        return ENCODING_UTF16_LE;
    }
    if (str_starts(bytes, STR("\xfe\xff"))) {
        *ret_len = 2;
        return ENCODING_UTF16_BE;
    }
    return ENCODING_UTF8;
}

bool decode_is_ascii(struct str bytes)
{
    const char *at = bytes.ptr;
    const char *end = at + bytes.len;

    while (end - at >= 64) {
        uint64_t words[8];
        uint64_t all = 0;

        memcpy(words, at, sizeof(words));
        for (size_t i = 0; i < 8; i++)
            all |= words[i];
        if (all & 0x8080808080808080u)
            return false;
        at += 64;
    }
    for (; at < end; at++) {
        if ((unsigned char)*at >= 0x80)
            return false;
    }
    return true;
}

/* How many bytes at the start, none of them a character, become one U+FFFD. */
static size_t broken_len(struct str s)
{
    unsigned char lead = (unsigned char)s.ptr[0];
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    size_t want;
    size_t len = 1;

    if (lead < 0xc2 || lead > 0xf4)
        return 1;
    want = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    while (len < want && len < s.len) {
        unsigned char c = (unsigned char)s.ptr[len];

        if (c < low || c > high)
            break;
        low = 0x80;
        high = 0xbf;
        len++;
    }
    return len;
}

void decode_utf8(struct str bytes, struct buf *ret)
{
    while (bytes.len) {
        size_t good = utf8_valid_len(bytes);

        buf_add(ret, str_first(bytes, good));
        bytes = str_from(bytes, good);
        if (!bytes.len)
            return;
        buf_add(ret, STR(REPLACEMENT));
        bytes = str_from(bytes, broken_len(bytes));
    }
}

static uint32_t unit_at(struct str bytes, size_t i, bool big_endian)
{
    unsigned char a = (unsigned char)bytes.ptr[i];
    unsigned char b = (unsigned char)bytes.ptr[i + 1];

    return big_endian ? (uint32_t)(a << 8 | b) : (uint32_t)(b << 8 | a);
}

void decode_utf16(struct str bytes, bool big_endian, struct buf *ret)
{
    size_t i = 0;

    while (i + 1 < bytes.len) {
        uint32_t c = unit_at(bytes, i, big_endian);
        char out[4];

        i += 2;
        if (c >= 0xd800 && c < 0xdc00 && i + 1 < bytes.len) {
            uint32_t low = unit_at(bytes, i, big_endian);

            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        if (c >= 0xd800 && c < 0xe000)
            c = 0xfffd;
        buf_add(ret, str_make(out, utf8_encode(c, out)));
    }
    if (i < bytes.len)
        buf_add(ret, STR(REPLACEMENT));
}
