/*
 * utf8: decoding and checking by the byte. Pure functions, any thread.
 */
#include "base/utf8.h"

#include "base/mem.h"

#include <string.h>

size_t utf8_decode(struct str s, uint32_t *ret_code)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    uint32_t code;
    size_t len;

    if (!s.len)
        return 0;
    if (p[0] < 0x80) {
        code = p[0];
        len = 1;
    } else if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        code = p[0] & 0x1F;
        len = 2;
    } else if ((p[0] & 0xF0) == 0xE0) {
        code = p[0] & 0x0F;
        len = 3;
    } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        code = p[0] & 0x07;
        len = 4;
    } else {
        return 0;
    }
    if (s.len < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3F);
    }
    if ((len == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) ||
        (len == 4 && (code < 0x10000 || code > 0x10FFFF)))
        return 0;
    if (ret_code)
        *ret_code = code;
    return len;
}

size_t utf8_valid_len(struct str s)
{
    size_t at = 0;

    while (at < s.len) {
        size_t n;
        uint64_t word;

        while (at + sizeof(word) <= s.len) {
            memcpy(&word, s.ptr + at, sizeof(word));
            if (word & 0x8080808080808080u)
                break;
            at += sizeof(word);
        }
        if (at == s.len)
            break;
        n = utf8_decode(str_from(s, at), NULL);
        if (!n)
            return at;
        at += n;
    }
    return at;
}

bool utf8_is_valid(struct str s)
{
    return utf8_valid_len(s) == s.len;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

bool utf8_turns_text(uint32_t code)
{
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool utf8_is_unseen(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x08},     {0x0b, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},
        {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
        {0x180b, 0x180f}, {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x206f},
        {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
    };

    if (c >= 0x20 && c < 0x7f)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(ranges) && c >= ranges[i].first; i++) {
        if (c <= ranges[i].last)
            return true;
    }
    return false;
}
