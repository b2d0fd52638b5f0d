/*
 * markdown_table: cells are drawn twice, once to see how wide they are and once into their columns.
 * All that a layout depends on is kept (wanted, least), so that a window that changes its width in
 * the middle of a long table gets rows that fit. UI thread.
 */
#include "tui/markdown/markdown_table.h"

#include <string.h>

#include "base/mem.h"
#include "tui/screen/line.h"
#include "tui/screen/width.h"

#define MAX_WAITING ((size_t)32 << 10) /* bytes of rows that wait for the end of their table */
#define LONGEST_WORD 12                /* cells: a longer one may be broken to make the table fit */

void markdown_table_release(struct markdown_table *t)
{
    buf_release(&t->header);
    buf_release(&t->rows);
}

void markdown_table_copy(const struct markdown_table *t, struct markdown_table *ret)
{
    *ret = *t;
    buf_init(&ret->header, BUF_NO_LIMIT);
    buf_init(&ret->rows, BUF_NO_LIMIT);
    buf_add(&ret->header, buf_str(&t->header));
    buf_add(&ret->rows, buf_str(&t->rows));
}

void markdown_table_begin(struct markdown_table *t, struct str text, bool ascii)
{
    struct str cells[MARKDOWN_MAX_CELLS];
    struct str header = text;
    struct str delimiter;

    str_cut(&header, '\n', &delimiter);
    markdown_table_release(t);
    *t = (struct markdown_table){
        .is_ascii = ascii,
        .header = BUF_INIT(BUF_NO_LIMIT),
        .rows = BUF_INIT(BUF_NO_LIMIT),
    };
    t->columns = markdown_cells(delimiter, cells, MARKDOWN_MAX_CELLS);
    for (size_t i = 0; i < t->columns; i++) {
        bool left = str_starts(cells[i], STR(":"));
        bool right = str_ends(cells[i], STR(":"));

        t->align[i] = right ? (left ? 'c' : 'r') : 'l';
    }
    buf_add(&t->header, header);
}

void markdown_table_row(struct markdown_table *t, struct str row)
{
    buf_add(&t->rows, row);
    buf_addc(&t->rows, '\n');
    t->row_count++;
}

bool markdown_table_outgrows(const struct markdown_table *t, int max_rows)
{
    /* Its borders and the header take four. */
    return t->flows || t->rows.len > MAX_WAITING || t->row_count + 4 > (size_t)max_rows;
}

/* One cell as lines that are not wrapped. */
static void cell_draw(struct str cell, const struct markdown_table_look *look, unsigned flags,
                      struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct markdown_inline how = look->text;

    while (cell.len) {
        size_t n = str_find(cell, STR("\\|"));

        buf_add(&text, str_first(cell, n));
        if (n < cell.len)
            buf_addc(&text, '|');
        cell = str_from(cell, n + 2);
    }
    how.style.flags |= (uint8_t)flags;
    markdown_inline_draw(buf_str(&text), &how, ret);
}

static int longest_word(struct str text)
{
    int longest = 0;
    struct str word;

    while (str_cut(&text, ' ', &word)) {
        int cells = width_of(word);

        if (cells > longest)
            longest = cells;
    }
    return longest;
}

static void table_measure_row(struct markdown_table *t, struct str row,
                              const struct markdown_table_look *look, struct lines *scratch)
{
    struct str cells[MARKDOWN_MAX_CELLS];
    size_t count = markdown_cells(row, cells, t->columns);

    for (size_t i = 0; i < t->columns && i < count; i++) {
        lines_clear(scratch);
        cell_draw(cells[i], look, 0, scratch);
        for (size_t n = 0; n < lines_count(scratch); n++) {
            int wanted = line_width(lines_at(scratch, n));
            int least = longest_word(lines_at(scratch, n).text);

            if (wanted > t->wanted[i])
                t->wanted[i] = wanted;
            if (least > LONGEST_WORD)
                least = LONGEST_WORD;
            if (least > t->least[i])
                t->least[i] = least;
        }
    }
}

static void table_measure(struct markdown_table *t, const struct markdown_table_look *look)
{
    CLEANUP(lines_release) struct lines scratch = LINES_INIT;
    struct str rest = buf_str(&t->rows);
    struct str row;

    for (size_t i = 0; i < t->columns; i++) {
        t->wanted[i] = 1;
        t->least[i] = 1;
    }
    table_measure_row(t, buf_str(&t->header), look, &scratch);
    while (rest.len && str_cut(&rest, '\n', &row))
        table_measure_row(t, row, look, &scratch);
}

static int table_limited(const struct markdown_table *t, int limit, int *ret)
{
    int sum = 0;

    for (size_t i = 0; i < t->columns; i++) {
        ret[i] = t->wanted[i] < limit ? t->wanted[i] : limit;
        if (ret[i] < t->least[i])
            ret[i] = t->least[i];
        sum += ret[i];
    }
    return sum;
}

/* The widths of the columns, the widest ones cut to the same limit. False: they do not fit. */
static bool table_layout(const struct markdown_table *t, int cells, int *ret)
{
    int room = cells - 3 * (int)t->columns - 1;
    int low = 0;
    int high = 1;
    int sum;

    if (table_limited(t, 0, ret) > room)
        return false;
    for (size_t i = 0; i < t->columns; i++) {
        if (t->wanted[i] > high)
            high = t->wanted[i];
    }
    while (low < high) { /* the greatest limit that fits */
        int mid = (low + high + 1) / 2;

        if (table_limited(t, mid, ret) <= room)
            low = mid;
        else
            high = mid - 1;
    }
    sum = table_limited(t, low, ret);
    for (size_t i = 0; i < t->columns && sum < room; i++) {
        if (ret[i] < t->wanted[i]) {
            ret[i]++;
            sum++;
        }
    }
    return true;
}

static void put_rule(struct lines *ret, int cells, bool ascii)
{
    static const char lines[] = "────────────────────────────────";
    static const char dashes[] = "--------------------------------";
    int most = (int)sizeof(dashes) - 1;

    for (; cells > 0; cells -= most) {
        size_t n = (size_t)(cells < most ? cells : most);

        lines_put(ret, STYLE(ROLE_FAINT), ascii ? str_make(dashes, n) : str_make(lines, n * 3));
    }
}

enum {
    BORDER_TOP,
    BORDER_MIDDLE,
    BORDER_BOTTOM
};

static void table_border(const struct markdown_table *t, const int *widths, int kind,
                         struct lines *ret)
{
    static const char *const signs[][3] = {
        {"┌", "┬", "┐"},
        {"├", "┼", "┤"},
        {"└", "┴", "┘"},
        {"+", "+", "+"},
    };
    const char *const *sign = signs[t->is_ascii ? 3 : kind];

    for (size_t i = 0; i < t->columns; i++) {
        lines_puts(ret, ROLE_FAINT, i ? sign[1] : sign[0]);
        put_rule(ret, widths[i] + 2, t->is_ascii);
    }
    lines_puts(ret, ROLE_FAINT, sign[2]);
    lines_end(ret);
}

struct cell_rows {
    size_t from, count; /* in the lines of all cells of the row */
};

static void table_put_cell(const struct markdown_table *t, size_t column, int width,
                           const struct lines *cells, const struct cell_rows *rows, size_t n,
                           struct lines *ret)
{
    struct line l = {0};
    int free_cells = width;
    int before = 0;

    if (n < rows->count) {
        l = lines_at(cells, rows->from + n);
        free_cells -= line_width(l);
    }
    if (free_cells < 0)
        free_cells = 0;
    if (t->align[column] == 'r')
        before = free_cells;
    else if (t->align[column] == 'c')
        before = free_cells / 2;
    lines_puts(ret, ROLE_FAINT, t->is_ascii ? "| " : "│ ");
    lines_spaces(ret, STYLE(ROLE_TEXT), before);
    if (n < rows->count)
        lines_put_line(ret, l);
    lines_spaces(ret, STYLE(ROLE_TEXT), free_cells - before + 1);
}

static void table_row(const struct markdown_table *t, struct str row, const int *widths,
                      const struct markdown_table_look *look, unsigned flags, struct lines *ret)
{
    struct lines cell = LINES_INIT;
    struct lines cells = LINES_INIT;
    struct str texts[MARKDOWN_MAX_CELLS];
    struct cell_rows rows[MARKDOWN_MAX_CELLS];
    size_t count = markdown_cells(row, texts, t->columns);
    size_t height = 1;

    for (size_t i = 0; i < t->columns; i++) {
        struct wrap wrap = {.cells = widths[i]};

        rows[i].from = lines_count(&cells);
        if (i < count && texts[i].len) {
            lines_clear(&cell);
            cell_draw(texts[i], look, flags, &cell);
            for (size_t n = 0; n < lines_count(&cell); n++)
                lines_wrap(&cells, lines_at(&cell, n), &wrap);
        }
        rows[i].count = lines_count(&cells) - rows[i].from;
        if (rows[i].count > height)
            height = rows[i].count;
    }
    for (size_t n = 0; n < height; n++) {
        for (size_t i = 0; i < t->columns; i++)
            table_put_cell(t, i, widths[i], &cells, &rows[i], n, ret);
        lines_puts(ret, ROLE_FAINT, t->is_ascii ? "|" : "│");
        lines_end(ret);
    }
    lines_release(&cell);
    lines_release(&cells);
}

/* header: value */
static void table_record(const struct markdown_table *t, struct str row,
                         const struct markdown_table_look *look, struct lines *ret)
{
    struct lines out = LINES_INIT;
    struct lines value = LINES_INIT;
    struct lines indent = LINES_INIT;
    struct str headers[MARKDOWN_MAX_CELLS];
    struct str cells[MARKDOWN_MAX_CELLS];
    size_t header_count = markdown_cells(buf_str(&t->header), headers, t->columns);
    size_t count = markdown_cells(row, cells, t->columns);

    lines_spaces(&indent, STYLE(ROLE_TEXT), 2);
    lines_end(&indent);
    for (size_t i = 0; i < t->columns && i < count; i++) {
        struct wrap wrap = {.cells = look->cells, .rest = lines_at(&indent, 0)};

        if (!cells[i].len)
            continue;
        lines_clear(&out);
        lines_clear(&value);
        if (i < header_count && headers[i].len) {
            cell_draw(headers[i], look, STYLE_BOLD, &value);
            for (size_t n = 0; n < lines_count(&value); n++) {
                if (n)
                    lines_puts(&out, look->text.style.role, " ");
                lines_put_line(&out, lines_at(&value, n));
            }
            lines_puts(&out, look->text.style.role, ": ");
            lines_clear(&value);
        }
        cell_draw(cells[i], look, 0, &value);
        for (size_t n = 0; n < lines_count(&value); n++) {
            lines_put_line(&out, lines_at(&value, n));
            lines_end(&out);
        }
        for (size_t n = 0; n < lines_count(&out); n++) {
            if (n)
                wrap.first = wrap.rest;
            lines_wrap(ret, lines_at(&out, n), &wrap);
        }
    }
    lines_release(&out);
    lines_release(&value);
    lines_release(&indent);
}

static void table_draw_records(struct markdown_table *t, const struct markdown_table_look *look,
                               struct lines *ret)
{
    struct str rest = buf_str(&t->rows);
    struct str row;
    bool is_first = !t->flows;

    if (is_first && !rest.len) /* nothing but a header */
        table_record(t, buf_str(&t->header), look, ret);
    while (rest.len && str_cut(&rest, '\n', &row)) {
        if (!is_first) {
            put_rule(ret, look->cells < 8 ? look->cells : 8, t->is_ascii);
            lines_end(ret);
        }
        is_first = false;
        table_record(t, row, look, ret);
    }
}

static bool table_has_header(const struct markdown_table *t)
{
    struct str cells[MARKDOWN_MAX_CELLS];
    size_t count = markdown_cells(buf_str(&t->header), cells, t->columns);

    for (size_t i = 0; i < count; i++) {
        if (cells[i].len)
            return true;
    }
    return false;
}

static bool table_needs_rules(const struct markdown_table *t, const int *widths)
{
    for (size_t i = 0; i < t->columns; i++) {
        if (widths[i] < t->wanted[i])
            return true;
    }
    return false;
}

static void table_draw_grid(struct markdown_table *t, const int *widths,
                            const struct markdown_table_look *look, bool at_end, struct lines *ret)
{
    enum {
        NOTHING,
        HEADER,
        ROW
    } above = t->flows ? ROW : NOTHING;
    struct str rest = buf_str(&t->rows);
    struct str row;

    if (!t->flows) {
        t->has_rules = table_needs_rules(t, widths);
        table_border(t, widths, BORDER_TOP, ret);
        if (table_has_header(t)) {
            table_row(t, buf_str(&t->header), widths, look, STYLE_BOLD, ret);
            above = HEADER;
        }
    }
    while (rest.len && str_cut(&rest, '\n', &row)) {
        if (above == HEADER || (above == ROW && t->has_rules))
            table_border(t, widths, BORDER_MIDDLE, ret);
        table_row(t, row, widths, look, 0, ret);
        above = ROW;
    }
    if (at_end)
        table_border(t, widths, BORDER_BOTTOM, ret);
}

void markdown_table_draw(struct markdown_table *t, const struct markdown_table_look *look,
                         bool at_end, struct lines *ret)
{
    int widths[MARKDOWN_MAX_CELLS];

    if (!t->flows)
        table_measure(t, look);
    if (table_layout(t, look->cells, widths))
        table_draw_grid(t, widths, look, at_end, ret);
    else
        table_draw_records(t, look, ret);
    t->flows = true;
    buf_clear(&t->rows);
    t->row_count = 0;
}
