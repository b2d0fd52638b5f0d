/*
 * Any text, edited: "text\1old\1new", with \2 in front for replace_all. What comes out is what a
 * plain replacement gives, whatever the line endings; the patch leads from one text to the other;
 * the encodings lead back to where they came from; a window shows the same however the text
 * arrives. What cannot be done is explained in few words.
 */
#include "tools/edit_match.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/image.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "guard/patch.h"
#include "tools/line_window.h"
#include "tools/textfile.h"

#define MAX_WHY 8192 /* bytes of an explanation: 12 lines of 300, and words */

static void add_without_crlf(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '\r' || i + 1 == s.len || s.ptr[i + 1] != '\n')
            buf_addc(out, s.ptr[i]);
    }
}

static void add_replaced(struct buf *out, struct str text, struct str old, struct str new)
{
    while (text.len) {
        size_t at = str_find(text, old);

        buf_add(out, str_first(text, at));
        if (at < text.len)
            buf_add(out, new);
        text = str_from(text, at + old.len);
    }
}

/* The result without \r\n is the plain result; not so where a \r stands alone, because it may meet
 * a \n. */
static void check_result(struct str text, const struct edit *e, struct str result)
{
    struct buf plain[4] = {BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT),
                           BUF_INIT(BUF_NO_LIMIT)};
    struct buf want = BUF_INIT(BUF_NO_LIMIT);
    bool has_crlf = str_has(text, STR("\r\n"));

    if (has_crlf) {
        add_without_crlf(&plain[0], text);
        add_without_crlf(&plain[1], e->old);
        add_without_crlf(&plain[2], e->new);
        add_without_crlf(&plain[3], result);
        add_replaced(&want, buf_str(&plain[0]), buf_str(&plain[1]), buf_str(&plain[2]));
        if (!str_has(buf_str(&plain[0]), STR("\r")) && !str_has(buf_str(&plain[2]), STR("\r")))
            FUZZ_CHECK(str_eq(buf_str(&plain[3]), buf_str(&want)));
    } else {
        add_replaced(&want, text, e->old, e->new);
        FUZZ_CHECK(str_eq(result, buf_str(&want)));
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        buf_release(&plain[i]);
    buf_release(&want);
}

/* Lines neither deleted nor added are the same on both sides, and hunks hold all the rest. */
static void check_patch(struct str old, struct str new)
{
    struct patch p;
    size_t i = 0;
    size_t j = 0;
    size_t at = 0; /* hunk */

    patch_make(&p, old, new, 3);
    while (i < p.olds.len || j < p.news.len) {
        bool deleted = i < p.olds.len && p.is_deleted[i];
        bool added = j < p.news.len && p.is_added[j];

        while (at < p.hunks.len && i >= p.hunks.ptr[at].old_at + p.hunks.ptr[at].old_len &&
               j >= p.hunks.ptr[at].new_at + p.hunks.ptr[at].new_len)
            at++;
        if (deleted || added)
            FUZZ_CHECK(at < p.hunks.len && i >= p.hunks.ptr[at].old_at &&
                       j >= p.hunks.ptr[at].new_at);
        if (deleted) {
            i++;
        } else if (added) {
            j++;
        } else {
            FUZZ_CHECK(i < p.olds.len && j < p.news.len && str_eq(p.olds.ptr[i], p.news.ptr[j]));
            i++;
            j++;
        }
    }
    patch_release(&p);
}

static void check_edit(struct str text, const struct edit *e)
{
    struct buf result = BUF_INIT(BUF_NO_LIMIT);
    struct buf why = BUF_INIT(BUF_NO_LIMIT);
    size_t places = 0;

    if (edit_match_apply(text, e, &result, &places, &why) == 0) {
        FUZZ_CHECK(places > 0 && (e->all || places == 1));
        check_result(text, e, buf_str(&result));
        check_patch(text, buf_str(&result));
    } else {
        FUZZ_CHECK(why.len > 0 && why.len < MAX_WHY);
    }
    buf_release(&result);
    buf_release(&why);
}

/* Text goes there and back unchanged where the encoding has a character for all of it. */
static void check_encoding(enum encoding e, struct str bytes)
{
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct buf back = BUF_INIT(BUF_NO_LIMIT);
    struct buf again = BUF_INIT(BUF_NO_LIMIT);
    bool is_utf16 = e == ENCODING_UTF16_LE || e == ENCODING_UTF16_BE;
    struct err err = {0};

    decode_from(e, bytes, &text);
    FUZZ_CHECK(utf8_is_valid(buf_str(&text)));
    if (encode_to(e, buf_str(&text), &back, &err) == 0 && is_utf16) {
        decode_from(e, buf_str(&back), &again);
        FUZZ_CHECK(str_eq(buf_str(&again), buf_str(&text)));
    }
    FUZZ_CHECK(!is_utf16 || !err.code);
    buf_release(&text);
    buf_release(&back);
    buf_release(&again);
}

static void check_window(struct str text, size_t cut, size_t first, size_t limit)
{
    struct line_window whole;
    struct line_window parts;

    line_window_init(&whole, first, limit, 4096);
    line_window_init(&parts, first, limit, 4096);
    line_window_feed(&whole, text);
    line_window_end(&whole);
    line_window_feed(&parts, str_first(text, cut));
    line_window_feed(&parts, str_from(text, cut));
    line_window_end(&parts);
    FUZZ_CHECK(str_eq(buf_str(&whole.numbered), buf_str(&parts.numbered)));
    FUZZ_CHECK(whole.total == parts.total && whole.total == text_count_lines(text));
    FUZZ_CHECK(whole.shown <= limit);
    FUZZ_CHECK(utf8_is_valid(buf_str(&whole.plain)));
    line_window_release(&whole);
    line_window_release(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_make((const char *)data, size);
    struct str text = {0};
    struct edit e = {0};
    size_t width;
    size_t height;

    image_size(rest, &width, &height);
    for (enum encoding i = ENCODING_UTF16_LE; i <= ENCODING_EUC_KR; i++)
        check_encoding(i, rest);
    (void)decode_guess(rest);
    if (size) {
        e.all = data[0] == 2;
        rest = str_from(rest, e.all);
    }
    str_cut(&rest, '\1', &text);
    str_cut(&rest, '\1', &e.old);
    e.new = rest;
    check_window(text, e.old.len, 1 + e.new.len % 7, 1 + size % 5);
    check_patch(text, e.old);
    if (e.old.len)
        check_edit(text, &e);
    return 0;
}
