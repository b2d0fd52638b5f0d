/*
 * markdown: complete lines go into a splitter, and the blocks that come out are drawn when they are
 * taken, for the window of that moment. The tail comes out of a copy of the splitter that is fed
 * the end of the text. The look of a block depends on the text before it and on nothing else, so it
 * does not matter how the text was cut into pieces. UI thread.
 */
#include "tui/markdown/markdown.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tui/markdown/markdown_mend.h"
#include "tui/markdown/markdown_pen.h"
#include "tui/markdown/markdown_split.h"
#include "tui/markdown/markdown_start.h"

#define CUT_REACH 256 /* bytes: how far back a space is looked for to cut a long line */

struct markdown {
    struct buf line;   /* begun, and not complete */
    bool line_is_rest; /* its beginning was too long */
    struct markdown_split split;
    struct blocks blocks; /* finished, not taken */
    struct markdown_page page;
    struct markdown_pen pen;
};

struct markdown *markdown_new(const struct markdown_spec *spec)
{
    struct markdown *m = mem_zalloc(sizeof(*m));

    markdown_page_init(&m->page, spec);
    buf_init(&m->line, BUF_NO_LIMIT);
    buf_init(&m->blocks.text, BUF_NO_LIMIT);
    markdown_split_init(&m->split, &m->blocks);
    return m;
}

void markdown_free(struct markdown *m)
{
    if (!m)
        return;
    markdown_pen_release(&m->pen);
    markdown_page_release(&m->page);
    markdown_split_release(&m->split);
    blocks_release(&m->blocks);
    buf_release(&m->line);
    mem_freep(&m);
}

/* --- Lines --- */

/* Where an overlong line is cut: after a space, or else between characters. */
static size_t line_cut(struct str line)
{
    size_t n = MARKDOWN_MAX_PIECE;

    for (size_t i = n; i > n - CUT_REACH; i--) {
        if (line.ptr[i - 1] == ' ')
            return i;
    }
    n = str_clip(line, n).len;
    return n ? n : MARKDOWN_MAX_PIECE;
}

static void markdown_line(struct markdown *m, struct str line)
{
    if (str_ends(line, STR("\r")))
        line.len--;
    markdown_split_line(&m->split, line, m->line_is_rest);
    m->line_is_rest = false;
}

/* The pieces of a line that is complete or too long; the rest waits for more. */
static struct str markdown_pieces(struct markdown *m, struct str text, bool is_complete)
{
    while (text.len > MARKDOWN_MAX_PIECE) {
        size_t n = line_cut(text);

        markdown_split_line(&m->split, str_first(text, n), m->line_is_rest);
        m->line_is_rest = true;
        text = str_from(text, n);
    }
    if (!is_complete)
        return text;
    markdown_line(m, text);
    return STR("");
}

void markdown_add(struct markdown *m, struct str text)
{
    while (text.len) {
        size_t n = str_chr(text, '\n');
        bool is_complete = n < text.len;
        struct str part = str_first(text, n);

        if (m->line.len) {
            struct str rest;

            buf_add(&m->line, part);
            rest = markdown_pieces(m, buf_str(&m->line), is_complete);
            buf_cut(&m->line, 0, m->line.len - rest.len);
        } else {
            buf_add(&m->line, markdown_pieces(m, part, is_complete));
        }
        text = str_from(text, n + 1);
    }
}

void markdown_end(struct markdown *m)
{
    if (m->line.len || m->line_is_rest)
        markdown_line(m, buf_str(&m->line));
    buf_clear(&m->line);
    markdown_split_end(&m->split);
}

void markdown_take(struct markdown *m, int cols, int max_rows, struct lines *ret)
{
    struct markdown_drawing d = {
        .page = &m->page,
        .pen = &m->pen,
        .blocks = &m->blocks,
        .links = m->split.links.ptr,
        .cols = cols,
        .max_rows = max_rows,
        .out = ret,
    };

    markdown_pen_draw(&d);
    blocks_clear(&m->blocks);
}

/* --- The tail --- */

/* A header without its delimiter row: the row that will come, so that it is a table from the start.
 */
static void tail_guess_table(struct markdown_split *s)
{
    CLEANUP(buf_release) struct buf row = BUF_INIT(BUF_NO_LIMIT);
    struct str header = str_from(buf_str(&s->text), s->last_line);
    size_t cells;

    if (s->leaf != LEAF_PARAGRAPH || !str_starts(header, STR("|")))
        return;
    cells = markdown_cells(header, NULL, 0);
    for (size_t i = 0; i < cells && i < MARKDOWN_MAX_CELLS; i++)
        buf_adds(&row, "|-");
    buf_adds(&row, "|");
    markdown_split_line(s, buf_str(&row), /*is_rest=*/false);
}

/* Without the beginning of a character at its end. */
static struct str whole_characters(struct str s)
{
    size_t from = s.len;

    while (from && s.len - from < 4 && ((unsigned char)s.ptr[from - 1] & 0xc0) == 0x80)
        from--;
    if (from && (unsigned char)s.ptr[from - 1] >= 0xc0 && !utf8_decode(str_from(s, from - 1), NULL))
        return str_first(s, from - 1);
    return s;
}

/* The line that has only begun, as far as it can be shown. */
static void tail_line(const struct markdown *m, struct markdown_split *s)
{
    struct str line = whole_characters(buf_str(&m->line));
    bool in_code = s->leaf == LEAF_FENCE || s->leaf == LEAF_INDENTED;

    if (str_ends(line, STR("\r")))
        line.len--;
    if (!line.len)
        return;
    if (in_code) {
        if (!markdown_start_fence_end(str_trim(line), s->fence, 1))
            markdown_split_line(s, line, m->line_is_rest);
        return;
    }
    if (m->line_is_rest ||
        !(markdown_mend_hides(line) || (s->leaf == LEAF_PARAGRAPH && *line.ptr == '|' &&
                                        strspn(buf_cstr(&m->line), "|:- ") == m->line.len)))
        markdown_split_line(s, line, m->line_is_rest);
}

static void tail_mend(struct markdown_split *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (s->leaf != LEAF_PARAGRAPH)
        return;
    markdown_mend(buf_str(&s->text), &text);
    buf_move(&s->text, &text);
}

void markdown_tail(struct markdown *m, int cols, int max_rows, struct lines *ret)
{
    struct blocks blocks = {.text = BUF_INIT(BUF_NO_LIMIT)};
    struct lines rows = LINES_INIT;
    struct markdown_split split;
    struct markdown_pen pen;
    struct markdown_drawing d = {
        .page = &m->page,
        .pen = &pen,
        .blocks = &blocks,
        .links = m->split.links.ptr,
        .cols = cols,
        .max_rows = max_rows,
        .out = &rows,
    };
    size_t from;

    if (max_rows < 1)
        return;
    markdown_split_fork(&m->split, &blocks, &split);
    markdown_pen_copy(&m->pen, &pen);
    if (m->blocks.list.len) { /* finished, but not taken yet: only the pen has to know */
        d.blocks = &m->blocks;
        markdown_pen_draw(&d);
        d.blocks = &blocks;
        lines_clear(&rows);
    }
    tail_line(m, &split);
    tail_guess_table(&split);
    tail_mend(&split);
    markdown_split_end(&split);
    markdown_pen_draw(&d);
    from = lines_count(&rows) > (size_t)max_rows ? lines_count(&rows) - (size_t)max_rows : 0;
    for (size_t i = from; i < lines_count(&rows); i++)
        lines_add(ret, lines_at(&rows, i));
    markdown_pen_release(&pen);
    markdown_split_release(&split);
    blocks_release(&blocks);
    lines_release(&rows);
}

void markdown_draw(struct str text, const struct markdown_spec *spec, int cols, struct lines *ret)
{
    struct markdown *m = markdown_new(spec);

    markdown_add(m, text);
    markdown_end(m);
    markdown_take(m, cols, INT_MAX, ret);
    markdown_free(m);
}
