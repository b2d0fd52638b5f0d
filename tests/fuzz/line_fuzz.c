/*
 * Any bytes as text to be shown: the line is harmless UTF-8, its rows are as wide as asked and hold
 * all of its words, and the output for a terminal has no sequences except ours for colors, links
 * and columns.
 */
#include "tui/screen/line.h"

#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "tui/screen/paint.h"
#include "tui/screen/width.h"

static void check_text(struct str text)
{
    uint32_t code;

    for (size_t at = 0; at < text.len;) {
        size_t len = utf8_decode(str_from(text, at), &code);

        FUZZ_CHECK(len);
        FUZZ_CHECK(code >= 0x20 && (code < 0x7f || code >= 0xa0) && !utf8_turns_text(code));
        at += len;
    }
}

static void add_words(struct str text, struct buf *ret)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ' ')
            buf_addc(ret, text.ptr[i]);
    }
}

static void check_wrap(struct line l, int cells, bool anywhere)
{
    struct lines rows = LINES_INIT;
    struct buf before = BUF_INIT(BUF_NO_LIMIT);
    struct buf after = BUF_INIT(BUF_NO_LIMIT);

    lines_wrap(&rows, l, &(struct wrap){.cells = cells, .anywhere = anywhere});
    FUZZ_CHECK(lines_count(&rows));
    add_words(l.text, &before);
    for (size_t i = 0; i < lines_count(&rows); i++) {
        FUZZ_CHECK(line_width(lines_at(&rows, i)) <= (cells > 2 ? cells : 2));
        add_words(lines_at(&rows, i).text, &after);
    }
    FUZZ_CHECK(str_eq(buf_str(&before), buf_str(&after)));
    lines_clear(&rows);
    lines_add_cut(&rows, l, cells, /*ascii=*/cells & 1);
    FUZZ_CHECK(line_width(lines_at(&rows, 0)) <= cells);
    lines_release(&rows);
    buf_release(&before);
    buf_release(&after);
}

/* After ESC: "[…m", "[…G", "]8;;…ESC\". */
static size_t check_sequence(struct str s)
{
    size_t at = 1;

    FUZZ_CHECK(s.len);
    if (s.ptr[0] == '[') {
        while (at < s.len && ((s.ptr[at] >= '0' && s.ptr[at] <= '9') || s.ptr[at] == ';'))
            at++;
        FUZZ_CHECK(at < s.len && (s.ptr[at] == 'm' || s.ptr[at] == 'G'));
        return at + 1;
    }
    FUZZ_CHECK(str_starts(s, STR("]8;;")));
    while (at < s.len && s.ptr[at] != '\033') {
        FUZZ_CHECK(s.ptr[at] > 0x20 && s.ptr[at] < 0x7f);
        at++;
    }
    FUZZ_CHECK(str_starts(str_from(s, at), STR("\033\\")));
    return at + 2;
}

static void check_paint(struct line l, const struct term_able *able, int mark)
{
    struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct paint p = {.theme = theme_find(STR("dark")), .able = able, .out = &out};

    paint_line(&p, l, 0, 0, mark);
    for (size_t at = 0; at < out.len;) {
        unsigned char c = (unsigned char)out.ptr[at++];

        if (c == '\033')
            at += check_sequence(str_from(buf_str(&out), at));
        else
            FUZZ_CHECK(c >= 0x20 && c != 0x7f && (able->unicode || c < 0x80));
    }
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct term_able ables[] = {
        {.colors = COLORS_TRUE, .links = true, .unicode = true},
        {.colors = COLORS_16, .unicode = false},
        {.colors = COLORS_NONE, .links = true, .unicode = true},
    };
    struct lines ls = LINES_INIT;
    struct line l;

    if (size < 2 || size > 4096)
        return 0;
    lines_put_ansi(&ls, STYLE(ROLE_TEXT), str_make((const char *)data + 2, size - 2));
    FUZZ_CHECK(lines_column(&ls) == width_of(buf_str(&ls.text)));
    lines_end(&ls);
    l = lines_at(&ls, 0);
    check_text(l.text);
    FUZZ_CHECK(line_eq(l, l));
    check_wrap(l, 1 + data[0] % 100, data[1] & 1);
    for (size_t i = 0; i < sizeof(ables) / sizeof(ables[0]); i++)
        check_paint(l, &ables[i], data[1] % 64 - 1);
    lines_release(&ls);
    return 0;
}
