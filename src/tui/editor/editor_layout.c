/*
 * Rows of the editor's text. A line is laid out in segments, each of which starts a row; see
 * editor_layout.h for why. UI thread.
 */
#include "tui/editor/editor_layout.h"

#include <string.h>

#include "base/utf8.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_text.h"
#include "tui/screen/width.h"

#define SEGMENT_BYTES 4096
#define SEGMENT_SLACK 256 /* how far a better place to cut is looked for */
#define TAB_CELLS 4

/* --- segments -------------------------------------------------------------------------------- */

struct segment {
    size_t line_from, line_to;
    size_t number; /* in its line */
    size_t from, to;
};

static bool is_ascii(const struct editor_text *t, size_t at)
{
    return (unsigned char)t->bytes.ptr[at] < 0x80;
}

/* Where the n-th segment of a line begins: between two characters that never join. */
static size_t segment_start(const struct editor_text *t, const struct segment *s, size_t number)
{
    size_t at = s->line_from + number * SEGMENT_BYTES;
    size_t from = at;

    if (!number || at >= s->line_to)
        return at;
    while (at < s->line_to && at - from < SEGMENT_SLACK &&
           !(is_ascii(t, at) && is_ascii(t, at - 1)))
        at++;
    while (at < s->line_to && (t->bytes.ptr[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static void segment_set(const struct editor_text *t, struct segment *s, size_t number)
{
    size_t next;

    while (number && segment_start(t, s, number) >= s->line_to)
        number--;
    s->number = number;
    s->from = segment_start(t, s, number);
    next = segment_start(t, s, number + 1);
    s->to = next < s->line_to ? next : s->line_to;
}

static struct segment segment_of(const struct editor_text *t, size_t at)
{
    struct segment s = {.line_from = editor_move_line_start(t, at),
                        .line_to = editor_move_line_end(t, at)};

    segment_set(t, &s, (at - s.line_from) / SEGMENT_BYTES);
    if (s.from > at)
        segment_set(t, &s, s.number - 1);
    return s;
}

static bool segment_next(const struct editor_text *t, struct segment *s)
{
    if (s->to < s->line_to) {
        segment_set(t, s, s->number + 1);
        return true;
    }
    if (s->line_to == t->bytes.len)
        return false;
    *s = segment_of(t, s->line_to + 1);
    return true;
}

static bool segment_prev(const struct editor_text *t, struct segment *s)
{
    if (s->number) {
        segment_set(t, s, s->number - 1);
        return true;
    }
    if (!s->line_from)
        return false;
    s->line_to = s->line_from - 1;
    s->line_from = editor_move_line_start(t, s->line_to);
    segment_set(t, s, (s->line_to - s->line_from) / SEGMENT_BYTES);
    return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_hidden(const struct editor_text *t, size_t at)
{
    uint32_t code;

    if (is_ascii(t, at))
        return false;
    return utf8_decode(str_from(editor_text_str(t), at), &code) &&
           (utf8_turns_text(code) || code == 0x2028 || code == 0x2029);
}

struct editor_atom editor_layout_atom(const struct editor_text *t, size_t at, int col, int width)
{
    struct editor_atom a = {.len = 1, .cells = 1, .shape = SHAPE_TEXT};
    struct str rest = str_from(editor_text_str(t), at);
    const struct editor_paste *paste;
    size_t number;

    if (rest.ptr[0] == '\t') {
        a.shape = SHAPE_TAB;
        a.cells = TAB_CELLS - col % TAB_CELLS;
        if (a.cells > width)
            a.cells = width;
        return a;
    }
    paste = editor_text_folded(t, at, &number);
    if (paste) {
        CLEANUP(buf_release) struct buf label = BUF_INIT(100);

        editor_text_label(paste, number, &label);
        a.len = EDITOR_FOLD_CHAR;
        a.shape = SHAPE_PASTE;
        a.cells = (int)label.len < width ? (int)label.len : width;
        return a;
    }
    width_next(rest, &a.cells);
    a.len = editor_move_len(t, at);
    if (is_hidden(t, at) || a.cells > width) {
        a.shape = SHAPE_REPLACED;
        a.cells = 1;
    }
    return a;
}

/* The end of the row that begins at `from`. */
static size_t row_end(const struct editor_text *t, const struct segment *s, size_t from, int width)
{
    size_t at = from;
    size_t word = from; /* after the last space */
    int col = 0;

    while (at < s->to) {
        struct editor_atom a = editor_layout_atom(t, at, col, width);
        bool is_space = a.len == 1 && t->bytes.ptr[at] == ' ';
        bool hangs = is_space && col == width && width > 1 && at + 1 < s->to;

        if (hangs)
            return at + 1;
        if (col + a.cells > width)
            return word > from ? word : at;
        col += a.cells;
        at += a.len;
        if (is_space)
            word = at;
    }
    return s->to;
}

static void segment_rows(const struct editor_text *t, const struct segment *s, int width,
                         editor_row_vec *ret)
{
    size_t at = s->from;

    do {
        size_t to = row_end(t, s, at, width);

        vec_push(ret, ((struct editor_row){at, to, to == s->line_to}));
        at = to;
    } while (at < s->to);
}

/* Its rows before all others. */
static size_t segment_rows_before(const struct editor_text *t, const struct segment *s, int width,
                                  editor_row_vec *rows)
{
    size_t had = rows->len;
    size_t count;
    editor_row_vec mine = VEC_INIT;

    segment_rows(t, s, width, &mine);
    count = mine.len;
    for (size_t i = 0; i < count; i++)
        (void)vec_add(rows);
    memmove(rows->ptr + count, rows->ptr, had * sizeof(*rows->ptr));
    memcpy(rows->ptr, mine.ptr, count * sizeof(*rows->ptr));
    vec_release(&mine);
    return count;
}

void editor_layout_around(const struct editor_text *t, size_t at, int width, size_t reach,
                          struct editor_around *ret)
{
    struct segment first = segment_of(t, at);
    struct segment last = first;

    *ret = (struct editor_around){.rows = VEC_INIT};
    segment_rows(t, &first, width, &ret->rows);
    while (ret->index + 1 < ret->rows.len && ret->rows.ptr[ret->index + 1].from <= at)
        ret->index++;
    while (ret->index < reach && !ret->is_start) {
        if (segment_prev(t, &first))
            ret->index += segment_rows_before(t, &first, width, &ret->rows);
        else
            ret->is_start = true;
    }
    while (ret->rows.len - ret->index <= reach && !ret->is_end) {
        if (segment_next(t, &last))
            segment_rows(t, &last, width, &ret->rows);
        else
            ret->is_end = true;
    }
    ret->is_start = ret->rows.ptr[0].from == 0;
    ret->is_end = ret->rows.ptr[ret->rows.len - 1].to == t->bytes.len;
}

void editor_layout_release(struct editor_around *a)
{
    vec_release(&a->rows);
}

int editor_layout_column(const struct editor_text *t, struct editor_row row, size_t at, int width)
{
    int col = 0;

    for (size_t i = row.from; i < at && i < row.to;) {
        struct editor_atom a = editor_layout_atom(t, i, col, width);

        col += a.cells;
        i += a.len;
    }
    return col;
}

size_t editor_layout_place(const struct editor_text *t, struct editor_row row, int col, int width)
{
    size_t at = row.from;
    size_t before = row.from;
    int cells = 0;

    while (at < row.to) {
        struct editor_atom a = editor_layout_atom(t, at, cells, width);

        if (cells + a.cells > col)
            return at;
        cells += a.cells;
        before = at;
        at += a.len;
    }
    /* The end of a row in the middle of a line is the start of the next one. */
    return row.ends_line ? row.to : before;
}
