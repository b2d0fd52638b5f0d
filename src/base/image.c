/*
 * image: only the heads of pictures are read; nothing is decoded. Any thread.
 */
#include "base/image.h"

#include <stdint.h>

#include "base/mem.h"

const char *image_type(struct str bytes)
{
    static const struct {
        struct str start;
        const char *type;
    } types[] = {
        {STR_INIT("\x89PNG\r\n\x1a\n"), "image/png"},
        {STR_INIT("\xff\xd8\xff"), "image/jpeg"},
        {STR_INIT("GIF87a"), "image/gif"},
        {STR_INIT("GIF89a"), "image/gif"},
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_starts(bytes, types[i].start))
            return types[i].type;
    }
    if (str_starts(bytes, STR("RIFF")) && str_starts(str_from(bytes, 8), STR("WEBP")))
        return "image/webp";
    return NULL;
}

/* 0 when it is beyond the end. */
static size_t byte_at(struct str s, size_t at)
{
    return at < s.len ? (unsigned char)s.ptr[at] : 0;
}

static size_t big_at(struct str s, size_t at, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | byte_at(s, at + i);
    return n;
}

static size_t little_at(struct str s, size_t at, size_t bytes)
{
    size_t n = 0;

    for (size_t i = bytes; i-- > 0;)
        n = n << 8 | byte_at(s, at + i);
    return n;
}

/* From marker to marker up to the one that begins a frame (SOF0 to SOF15 but DHT, JPG and DAC). */
static void jpeg_size(struct str s, size_t *ret_width, size_t *ret_height)
{
    size_t at = 2;

    while (at + 9 < s.len && byte_at(s, at) == 0xff) {
        size_t marker = byte_at(s, at + 1);

        if (marker == 0xff) { /* padding */
            at++;
            continue;
        }
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            *ret_height = big_at(s, at + 5, 2);
            *ret_width = big_at(s, at + 7, 2);
            return;
        }
        at += 2 + (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7) ? 0 : big_at(s, at + 2, 2));
    }
}

static void webp_size(struct str s, size_t *ret_width, size_t *ret_height)
{
    struct str chunk = str_first(str_from(s, 12), 4);

    if (str_is(chunk, "VP8X")) {
        *ret_width = little_at(s, 24, 3) + 1;
        *ret_height = little_at(s, 27, 3) + 1;
    } else if (str_is(chunk, "VP8L") && byte_at(s, 20) == 0x2f) {
        *ret_width = (little_at(s, 21, 4) & 0x3fff) + 1;
        *ret_height = (little_at(s, 21, 4) >> 14 & 0x3fff) + 1;
    } else if (str_is(chunk, "VP8 ")) {
        *ret_width = little_at(s, 26, 2) & 0x3fff;
        *ret_height = little_at(s, 28, 2) & 0x3fff;
    }
}

void image_size(struct str bytes, size_t *ret_width, size_t *ret_height)
{
    const char *type = image_type(bytes);

    *ret_width = *ret_height = 0;
    if (!type)
        return;
    switch (type[6]) {
    case 'p':
        if (str_is(str_first(str_from(bytes, 12), 4), "IHDR")) {
            *ret_width = big_at(bytes, 16, 4);
            *ret_height = big_at(bytes, 20, 4);
        }
        break;
    case 'j':
        jpeg_size(bytes, ret_width, ret_height);
        break;
    case 'g':
        *ret_width = little_at(bytes, 6, 2);
        *ret_height = little_at(bytes, 8, 2);
        break;
    default:
        webp_size(bytes, ret_width, ret_height);
    }
}
