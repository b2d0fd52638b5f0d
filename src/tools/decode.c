/*
 * Decoding: UTF-8 by plain loops over bytes, fast where the text is ASCII; the rest by iconv. Any
 * thread.
 */
#include "tools/decode.h"

#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#define CONVERT_CHUNK 4096
#define GUESS_BYTES ((size_t)64 << 10) /* how much of a text decides about its encoding */
#define GUESS_LEAST 2                  /* fewer characters say nothing */

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

/* ---- Other encodings ---- */

static const struct {
    const char *name;  /* for messages */
    const char *iconv; /* with the extensions that are in use */
} encodings[] = {
    [ENCODING_UTF8] = {"UTF-8", "UTF-8"},
    [ENCODING_UTF16_LE] = {"UTF-16 LE", "UTF-16LE"},
    [ENCODING_UTF16_BE] = {"UTF-16 BE", "UTF-16BE"},
    [ENCODING_SHIFT_JIS] = {"Shift_JIS", "CP932"},
    [ENCODING_EUC_JP] = {"EUC-JP", "EUC-JP-MS"},
    [ENCODING_GBK] = {"GBK", "GB18030"},
    [ENCODING_EUC_KR] = {"EUC-KR", "UHC"},
};

const char *encoding_name(enum encoding e)
{
    return encodings[e].name;
}

/* Converts all that can be converted; *bytes becomes the rest. Returns 0 if there is none, EILSEQ
 * if it begins with an invalid character, and EINVAL if it ends inside its first character. */
static int convert_some(iconv_t cd, struct str *bytes, struct buf *ret)
{
    char *in = (char *)(uintptr_t)bytes->ptr; /* iconv() only reads it */
    size_t left = bytes->len;
    bool is_flush = false;
    int error;

    for (;;) {
        char chunk[CONVERT_CHUNK];
        char *out = chunk;
        size_t room = sizeof(chunk);
        bool failed = iconv(cd, is_flush ? NULL : &in, &left, &out, &room) == (size_t)-1;

        error = failed ? errno : 0;
        buf_add(ret, str_make(chunk, sizeof(chunk) - room));
        if (!error && !is_flush)
            is_flush = true; /* some encodings hold a character back that may yet be combined */
        else if (error != E2BIG)
            break;
    }
    *bytes = str_make(in, left);
    return error;
}

bool decode_named(const char *name, struct str bytes, struct buf *ret)
{
    iconv_t cd = iconv_open("UTF-8", name);
    bool is_wide = strncasecmp(name, "UTF-16", 6) == 0;

    if (cd == (iconv_t)-1)
        return false;
    while (convert_some(cd, &bytes, ret) != 0) {
        buf_add(ret, STR(REPLACEMENT));
        bytes = str_from(bytes, is_wide && bytes.len > 1 ? 2 : 1);
    }
    iconv_close(cd);
    return true;
}

void decode_from(enum encoding e, struct str bytes, struct buf *ret)
{
    if (e == ENCODING_UTF8 || !decode_named(encodings[e].iconv, bytes, ret))
        decode_utf8(bytes, ret);
}

int encode_to(enum encoding e, struct str text, struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT); /* at most three times text */
    struct str rest;
    iconv_t cd;
    int error;

    if (e == ENCODING_UTF8) {
        buf_add(ret, text);
        return 0;
    }
    cd = iconv_open(encodings[e].iconv, "UTF-8");
    if (cd == (iconv_t)-1)
        return err_sys(err, ERR_IO, "cannot write %s", encodings[e].name);
    decode_utf8(text, &clean);
    rest = buf_str(&clean);
    error = convert_some(cd, &rest, ret);
    iconv_close(cd);
    if (error)
        return err_set(err, ERR_BAD_INPUT, "%s has no character '%.*s'", encodings[e].name,
                       (int)utf8_decode(rest, NULL), rest.ptr);
    return 0;
}

/* ---- Recognition ---- */

/* The characters beyond ASCII of a text, without punctuation. */
struct guess_counts {
    size_t all;
    size_t kana;
    size_t half_kana; /* what other encodings look like in Shift_JIS */
    size_t hangul;
};

static bool is_punctuation(uint32_t code)
{
    return (code >= 0x2010 && code < 0x2070) || (code >= 0x3000 && code < 0x3040) ||
           (code > 0xff00 && code < 0xff61);
}

/* False if the bytes are not valid in this encoding. */
static bool guess_count(enum encoding e, struct str bytes, struct guess_counts *ret)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(3 * GUESS_BYTES);
    iconv_t cd = iconv_open("UTF-8", encodings[e].iconv);
    struct str text;
    int error;

    *ret = (struct guess_counts){0};
    if (cd == (iconv_t)-1)
        return false;
    error = convert_some(cd, &bytes, &out);
    iconv_close(cd);
    text = buf_str(&out);
    while (text.len) {
        uint32_t code = 0;
        size_t n = utf8_decode(text, &code);

        ret->all += code >= 0x80 && !is_punctuation(code);
        ret->kana += code >= 0x3041 && code < 0x3100;
        ret->half_kana += code >= 0xff61 && code < 0xffa0;
        ret->hangul += code >= 0xac00 && code < 0xd7a4;
        text = str_from(text, n ? n : 1);
    }
    return error != EILSEQ && ret->all >= GUESS_LEAST;
}

static bool is_japanese(enum encoding e, struct str bytes)
{
    struct guess_counts n;

    return guess_count(e, bytes, &n) && n.kana * 5 >= n.all && n.half_kana * 5 <= n.all;
}

static bool is_korean(struct str bytes)
{
    struct guess_counts n;

    return guess_count(ENCODING_EUC_KR, bytes, &n) && n.hangul * 10 >= n.all * 9;
}

/* GBK begins with the 3,755 most frequent Chinese characters, which is nearly every text. */
static bool is_chinese(struct str bytes)
{
    struct guess_counts n;
    size_t frequent = 0;

    if (!guess_count(ENCODING_GBK, bytes, &n))
        return false;
    for (size_t i = 0; i + 1 < bytes.len; i++) {
        unsigned char lead = (unsigned char)bytes.ptr[i];

        if (lead < 0x80)
            continue;
        i++;
        frequent += lead >= 0xb0 && lead <= 0xd7 && (unsigned char)bytes.ptr[i] >= 0xa1;
    }
    return frequent * 10 >= n.all * 9;
}

enum encoding decode_guess(struct str bytes)
{
    bytes = str_first(bytes, GUESS_BYTES);
    if (is_japanese(ENCODING_SHIFT_JIS, bytes))
        return ENCODING_SHIFT_JIS;
    if (is_japanese(ENCODING_EUC_JP, bytes)) /* before GBK, which has kana, too */
        return ENCODING_EUC_JP;
    if (is_korean(bytes)) /* before GBK: valid there, but with rare characters */
        return ENCODING_EUC_KR;
    return is_chinese(bytes) ? ENCODING_GBK : ENCODING_UTF8;
}
