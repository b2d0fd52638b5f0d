/*
 * Any bytes as the output of a program: what comes out is valid UTF-8 without control characters,
 * and the same however the bytes arrive. Shown from both ends, no more than asked for is shown.
 */
#include "base/plain.h"

#include "base/utf8.h"
#include "fuzz.h"
#include "tools/clip.h"

#define HEAD 20
#define TAIL 40
#define WORDS 100 /* for the note about omissions */

static void take(void *arg, struct str text)
{
    buf_add(arg, text);
}

static void feed(struct str bytes, size_t step, struct buf *out)
{
    struct plain p;

    plain_init(&p, take, out);
    for (size_t at = 0; at < bytes.len; at += step)
        plain_feed(&p, str_first(str_from(bytes, at), step));
    plain_end(&p);
    plain_release(&p);
}

static void check_clip(struct str text)
{
    struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct clip clip;

    clip_init(&clip, HEAD, TAIL);
    for (size_t at = 0; at < text.len; at += 7)
        clip_add(&clip, str_first(str_from(text, at), 7));
    clip_write(&clip, /*path=*/NULL, &out);
    FUZZ_CHECK(utf8_is_valid(buf_str(&out)));
    FUZZ_CHECK(out.len <= HEAD + TAIL + WORDS);
    FUZZ_CHECK(text.len > HEAD + TAIL || str_eq(buf_str(&out), text));
    clip_release(&clip);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);
    struct buf whole = BUF_INIT(BUF_NO_LIMIT);

    if (size > 4096)
        return 0; /* longer lines are cut where a portion ends */
    feed(bytes, size + 1, &whole);
    FUZZ_CHECK(utf8_is_valid(buf_str(&whole)));
    for (size_t i = 0; i < whole.len; i++) {
        unsigned char c = (unsigned char)whole.ptr[i];

        FUZZ_CHECK((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
    }
    for (size_t step = 1; step <= 5; step++) {
        struct buf parts = BUF_INIT(BUF_NO_LIMIT);

        feed(bytes, step, &parts);
        FUZZ_CHECK(str_eq(buf_str(&parts), buf_str(&whole)));
        buf_release(&parts);
    }
    check_clip(buf_str(&whole));
    buf_release(&whole);
    return 0;
}
