/*
 * width: graphemes and their cells.
 *
 * Where a grapheme ends is utf8proc's business; how wide it is, terminals never agreed on. The rule
 * here is the one that most of them share: the cells of its characters together, at most 2, and 2
 * when VS16 asks for the emoji. Most text is ASCII and never reaches the tables. Pure functions,
 * any thread.
 */
#include "tui/screen/width.h"

#include <stdint.h>

#include <utf8proc.h>

#include "base/utf8.h"

#define WIDTH_MARKS_FROM 0x300 /* below, every character but CR LF stands alone */
#define WIDTH_ZWJ 0x200d
#define WIDTH_VS16 0xfe0f
#define WIDTH_PICTURES_FROM 0x1f000
#define WIDTH_LOOK_BACK ((size_t)4 << 10) /* a grapheme that is longer is cut there */

static bool width_is_easy(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static int width_of_code(uint32_t code)
{
    if (code < 0x7f)
        return code >= 0x20;
    if (code < 0xa0)
        return 0;
    if (code < WIDTH_MARKS_FROM)
        return 1;
    /* Emoji that are newer than the tables: every one so far is wide. */
    if (code >= 0x1f300 && code <= 0x1faff &&
        utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_CN)
        return 2;
    return utf8proc_charwidth((utf8proc_int32_t)code);
}

static bool width_is_break(uint32_t before, uint32_t code, utf8proc_int32_t *state)
{
    if (before < WIDTH_MARKS_FROM && code < WIDTH_MARKS_FROM) {
        *state = 0;
        return before != '\r' || code != '\n';
    }
    return utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)code,
                                            state);
}

/* Whether VS16 makes a wide picture of it. */
static bool width_can_be_emoji(uint32_t code)
{
    if (code < 0x80)
        return (code >= '0' && code <= '9') || code == '#' || code == '*';
    return utf8proc_get_property((utf8proc_int32_t)code)->boundclass ==
           UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

size_t width_next(struct str s, int *ret_cells)
{
    utf8proc_int32_t state = 0;
    uint32_t code = 0;
    uint32_t next;
    size_t len;
    int cells;

    if (!s.len) {
        *ret_cells = 0;
        return 0;
    }
    if (width_is_easy((unsigned char)s.ptr[0]) && (s.len == 1 || (unsigned char)s.ptr[1] < 0x80)) {
        *ret_cells = 1;
        return 1;
    }
    len = utf8_decode(s, &code);
    if (!len) {
        *ret_cells = 1;
        return 1;
    }
    cells = width_of_code(code);
    while (len < s.len) {
        size_t more = utf8_decode(str_from(s, len), &next);

        if (!more || width_is_break(code, next, &state))
            break;
        if (next == WIDTH_VS16 && width_can_be_emoji(code))
            cells = 2;
        code = next;
        len += more;
        cells += width_of_code(code);
    }
    *ret_cells = cells > 2 ? 2 : cells;
    return len;
}

/* Whether a grapheme begins at `at` whatever stands before: two characters that never join. */
static bool width_is_start(struct str s, size_t at)
{
    return (unsigned char)s.ptr[at - 1] < 0x80 && (unsigned char)s.ptr[at] < 0x80 &&
           (s.ptr[at - 1] != '\r' || s.ptr[at] != '\n');
}

size_t width_prev(struct str s, size_t at, int *ret_cells)
{
    size_t from = at;
    size_t len = 0;

    *ret_cells = 0;
    if (!at)
        return 0;
    from--;
    while (from && at - from < WIDTH_LOOK_BACK && !width_is_start(s, from))
        from--;
    while (from && ((unsigned char)s.ptr[from] & 0xc0) == 0x80 && at - from < WIDTH_LOOK_BACK + 4)
        from--;
    while (from < at) {
        len = width_next(str_make(s.ptr + from, at - from), ret_cells);
        from += len;
    }
    return len;
}

int width_of(struct str s)
{
    size_t at = 0;
    int sum = 0;

    while (at < s.len) {
        size_t from = at;
        int cells;

        while (at < s.len && width_is_easy((unsigned char)s.ptr[at]))
            at++;
        /* The last one may be the first of a longer grapheme. */
        if (at < s.len && at > from && (unsigned char)s.ptr[at] >= 0x80)
            at--;
        sum += (int)(at - from);
        if (at == s.len)
            break;
        at += width_next(str_from(s, at), &cells);
        sum += cells;
    }
    return sum;
}

struct str width_first(struct str s, int cells)
{
    size_t at = 0;

    while (at < s.len) {
        int wide;
        size_t len = width_next(str_from(s, at), &wide);

        if (wide > cells)
            break;
        cells -= wide;
        at += len;
    }
    return str_first(s, at);
}

struct str width_first_parts(struct str s, int cells)
{
    struct str fits = width_first(s, cells);
    size_t at = fits.len;

    if (fits.len == s.len)
        return s;
    while (at && !str_starts(str_from(s, at), STR(", ")))
        at--;
    return at ? str_first(s, at) : fits;
}

bool width_is_sure(struct str grapheme)
{
    size_t at = 0;
    uint32_t code;

    while (at < grapheme.len) {
        size_t len = utf8_decode(str_from(grapheme, at), &code);
        utf8proc_category_t kind;

        if (!len)
            return true; /* it will be U+FFFD */
        kind = utf8proc_category((utf8proc_int32_t)code);
        if (code == WIDTH_ZWJ || code == WIDTH_VS16 || code >= WIDTH_PICTURES_FROM ||
            kind == UTF8PROC_CATEGORY_CN || kind == UTF8PROC_CATEGORY_CO ||
            kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_MC ||
            (at && width_of_code(code)) || (!at && !width_of_code(code)))
            return false;
        at += len;
    }
    return true;
}
