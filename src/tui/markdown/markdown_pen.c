/*
 * markdown_pen: finished blocks drawn into a window, one after the other, with what stands in front
 * of them: the margin, bars of quotes, marks of items. UI thread.
 */
#include "tui/markdown/markdown_pen.h"

#include <string.h>

#include "base/mem.h"
#include "tui/markdown/code.h"
#include "tui/markdown/markdown.h"
#include "tui/markdown/markdown_inline.h"

#define NARROW 40 /* cells: below, code is not indented */

void markdown_page_init(struct markdown_page *p, const struct markdown_spec *spec)
{
    p->ascii = spec->ascii;
    p->spells_links = spec->spells_links;
    p->margin = p->scratch = p->prefix = (struct lines)LINES_INIT;
    lines_add(&p->margin, spec->first);
    lines_add(&p->margin, spec->rest);
}

void markdown_page_release(struct markdown_page *p)
{
    lines_release(&p->margin);
    lines_release(&p->scratch);
    lines_release(&p->prefix);
}

void markdown_pen_release(struct markdown_pen *p)
{
    markdown_table_release(&p->table);
}

void markdown_pen_copy(const struct markdown_pen *p, struct markdown_pen *ret)
{
    *ret = *p;
    markdown_table_copy(&p->table, &ret->table);
}

/* --- What stands in front --- */

static void put_mark(struct lines *to, const struct container *c, bool ascii)
{
    static const char *const bullets[] = {"•", "◦", "▪"};

    if (c->task)
        lines_puts(to, c->task == 'x' ? ROLE_GOOD : ROLE_FAINT,
                   ascii ? (c->task == 'x' ? "[x] " : "[ ] ") : (c->task == 'x' ? "☑ " : "☐ "));
    else if (c->number >= 0)
        lines_putf(to, STYLE(ROLE_FAINT), "%d%c ", c->number, c->marker);
    else
        lines_putf(to, STYLE(ROLE_FAINT), "%s ",
                   ascii ? "-" : bullets[c->level % ARRAY_LEN(bullets)]);
}

static int mark_width(const struct container *c, bool ascii)
{
    int width = 2;

    if (c->kind == CONTAINER_QUOTE)
        return width;
    if (c->task)
        return ascii ? 4 : 2;
    for (int n = c->number; n >= 10; n /= 10)
        width++;
    return c->number >= 0 ? width + 1 : width;
}

/* Deep inside, the outer containers are not shown: there must be room for the text. */
static size_t first_shown(const struct markdown_drawing *d, const struct md_block *b, int margin)
{
    int room = (d->cols - margin) / 2;
    int width = 0;
    size_t i = b->depth;

    while (i > 0) {
        width += mark_width(&b->in[i - 1], d->page->ascii);
        if (width > room)
            break;
        i--;
    }
    return i;
}

static bool is_code(enum block_kind kind)
{
    return kind == BLOCK_CODE || kind == BLOCK_CODE_LINE;
}

static void put_prefix(const struct markdown_drawing *d, const struct md_block *b, bool is_first,
                       struct lines *to)
{
    struct line margin = lines_at(&d->page->margin, is_first && !d->pen->has_drawn ? 0 : 1);

    lines_put_line(to, margin);
    for (size_t i = first_shown(d, b, line_width(margin)); i < b->depth; i++) {
        const struct container *c = &b->in[i];

        if (c->kind == CONTAINER_QUOTE)
            lines_puts(to, ROLE_FAINT, d->page->ascii ? "| " : "│ ");
        else if (is_first && c->is_fresh)
            put_mark(to, c, d->page->ascii);
        else
            lines_spaces(to, STYLE(ROLE_TEXT), mark_width(c, d->page->ascii));
    }
    if (is_code(b->kind) && d->cols >= NARROW)
        lines_spaces(to, STYLE(ROLE_TEXT), 2);
    lines_end(to);
}

/* Two lines: the prefix of the block's first row, and of its others. */
static void make_prefix(const struct markdown_drawing *d, const struct md_block *b)
{
    lines_clear(&d->page->prefix);
    put_prefix(d, b, /*is_first=*/!b->is_continued, &d->page->prefix);
    put_prefix(d, b, /*is_first=*/false, &d->page->prefix);
}

static bool is_loud(enum block_kind kind)
{
    return kind == BLOCK_HEADING || kind == BLOCK_RULE || kind == BLOCK_TABLE || is_code(kind);
}

/* An empty row between blocks: where the text has one, and around blocks that are set apart. */
static bool needs_gap(const struct markdown_pen *pen, const struct md_block *b)
{
    if (!pen->has_drawn || b->is_continued)
        return false;
    return b->has_gap ||
           ((!b->depth || !pen->last_depth) && (is_loud(b->kind) || is_loud(pen->last)));
}

/* What stands in front of nothing, without the spaces at its end. */
static void add_bare(struct lines *to, struct line prefix)
{
    while (prefix.text.len && prefix.text.ptr[prefix.text.len - 1] == ' ')
        prefix.text.len--;
    while (prefix.span_count && prefix.spans[prefix.span_count - 1].from >= prefix.text.len)
        prefix.span_count--;
    lines_add(to, prefix);
}

/* With the bars of the quotes that go on. */
static void draw_gap(const struct markdown_drawing *d, const struct md_block *b)
{
    struct md_block shared = *b;

    shared.depth = 0;
    for (size_t i = 0; i < b->depth && i < d->pen->last_depth; i++) {
        if (b->in[i].id != d->pen->last_in[i])
            break;
        if (b->in[i].kind == CONTAINER_QUOTE)
            shared.depth = i + 1;
    }
    shared.kind = BLOCK_PARAGRAPH;
    lines_clear(&d->page->prefix);
    put_prefix(d, &shared, /*is_first=*/false, &d->page->prefix);
    add_bare(d->out, lines_at(&d->page->prefix, 0));
}

static void begin_block(const struct markdown_drawing *d, const struct md_block *b)
{
    if (needs_gap(d->pen, b))
        draw_gap(d, b);
    make_prefix(d, b);
}

static void end_block(const struct markdown_drawing *d, const struct md_block *b)
{
    d->pen->last = b->kind;
    d->pen->last_depth = b->depth;
    for (size_t i = 0; i < b->depth; i++)
        d->pen->last_in[i] = b->in[i].id;
}

/* Rows of the block are wrapped into the window, with what stands in front. */
static void put_rows(const struct markdown_drawing *d, const struct lines *rows, bool anywhere)
{
    struct wrap wrap = {
        .cells = d->cols,
        .first = lines_at(&d->page->prefix, 0),
        .rest = lines_at(&d->page->prefix, 1),
        .anywhere = anywhere,
    };

    for (size_t i = 0; i < lines_count(rows); i++) {
        if (lines_at(rows, i).text.len)
            lines_wrap(d->out, lines_at(rows, i), &wrap);
        else
            add_bare(d->out, wrap.first);
        wrap.first = wrap.rest;
    }
    if (lines_count(rows))
        d->pen->has_drawn = true;
}

static bool has_room_for_prefix(const struct markdown_drawing *d)
{
    return d->cols - line_width(lines_at(&d->page->prefix, 1)) >= 4;
}

/* Rows that were made for the room after the prefix. */
static void add_rows(const struct markdown_drawing *d, const struct lines *rows)
{
    for (size_t i = 0; i < lines_count(rows); i++) {
        if (has_room_for_prefix(d))
            lines_put_line(d->out, lines_at(&d->page->prefix, i ? 1 : 0));
        lines_add(d->out, lines_at(rows, i));
    }
    if (lines_count(rows))
        d->pen->has_drawn = true;
}

static int room_behind_prefix(const struct markdown_drawing *d)
{
    return has_room_for_prefix(d) ? d->cols - line_width(lines_at(&d->page->prefix, 1)) : d->cols;
}

/* --- Blocks --- */

static struct style text_style(const struct md_block *b)
{
    for (size_t i = 0; i < b->depth; i++) {
        if (b->in[i].kind == CONTAINER_QUOTE)
            return STYLE(ROLE_QUOTE);
    }
    return STYLE(ROLE_TEXT);
}

static struct style heading_style(int level)
{
    static const uint8_t flags[] = {STYLE_BOLD | STYLE_UNDERLINE, STYLE_BOLD};

    return STYLE_WITH(ROLE_HEADING, level <= 2 ? flags[level - 1] : 0);
}

static struct markdown_inline text_look(const struct markdown_drawing *d, const struct md_block *b,
                                        struct style style)
{
    return (struct markdown_inline){style, d->links, b->links, d->page->spells_links};
}

static void draw_text(const struct markdown_drawing *d, const struct md_block *b,
                      struct style style)
{
    struct markdown_inline how = text_look(d, b, style);

    begin_block(d, b);
    markdown_inline_draw(block_text(d->blocks, b), &how, &d->page->scratch);
    put_rows(d, &d->page->scratch, /*anywhere=*/false);
}

static void draw_rule(const struct markdown_drawing *d, const struct md_block *b)
{
    begin_block(d, b);
    for (int n = room_behind_prefix(d); n > 0; n--)
        lines_puts(&d->page->scratch, ROLE_FAINT, d->page->ascii ? "-" : "─");
    lines_end(&d->page->scratch);
    put_rows(d, &d->page->scratch, /*anywhere=*/true);
}

static void draw_code(const struct markdown_drawing *d, const struct md_block *b)
{
    struct str language = str_clip(block_text(d->blocks, b), MARKDOWN_MAX_LANGUAGE);

    memcpy(d->pen->language, language.ptr, language.len);
    d->pen->language[language.len] = 0;
    d->pen->code_state = 0;
    begin_block(d, b);
    if (language.len) {
        lines_put(&d->page->scratch, STYLE(ROLE_FAINT), language);
        lines_end(&d->page->scratch);
        put_rows(d, &d->page->scratch, /*anywhere=*/false);
    }
}

static void draw_code_line(const struct markdown_drawing *d, const struct md_block *b)
{
    make_prefix(d, b);
    code_draw(str_of(d->pen->language), block_text(d->blocks, b), &d->pen->code_state,
              &d->page->scratch);
    lines_end(&d->page->scratch);
    put_rows(d, &d->page->scratch, /*anywhere=*/true);
}

static void draw_html_line(const struct markdown_drawing *d, const struct md_block *b)
{
    begin_block(d, b);
    lines_put(&d->page->scratch, STYLE(ROLE_FAINT), block_text(d->blocks, b));
    lines_end(&d->page->scratch);
    put_rows(d, &d->page->scratch, /*anywhere=*/false);
}

static void draw_table(const struct markdown_drawing *d, bool at_end)
{
    struct markdown_pen *pen = d->pen;
    struct markdown_table_look look = {
        .text = text_look(d, &pen->table_block, text_style(&pen->table_block)),
    };

    if (pen->table.flows)
        make_prefix(d, &pen->table_block);
    else
        begin_block(d, &pen->table_block);
    look.cells = room_behind_prefix(d);
    markdown_table_draw(&pen->table, &look, at_end, &d->page->scratch);
    add_rows(d, &d->page->scratch);
    /* The mark of its item is drawn once. */
    for (size_t i = 0; i < pen->table_block.depth; i++)
        pen->table_block.in[i].is_fresh = false;
    end_block(d, &pen->table_block);
}

static void draw_block(const struct markdown_drawing *d, const struct md_block *b)
{
    lines_clear(&d->page->scratch);
    switch (b->kind) {
    case BLOCK_PARAGRAPH:
        draw_text(d, b, text_style(b));
        break;
    case BLOCK_HEADING:
        draw_text(d, b, heading_style(b->level));
        break;
    case BLOCK_RULE:
        draw_rule(d, b);
        break;
    case BLOCK_CODE:
        draw_code(d, b);
        break;
    case BLOCK_CODE_LINE:
        draw_code_line(d, b);
        break;
    case BLOCK_HTML_LINE:
        draw_html_line(d, b);
        break;
    case BLOCK_TABLE:
        d->pen->table_block = *b;
        markdown_table_begin(&d->pen->table, block_text(d->blocks, b), d->page->ascii);
        return;
    case BLOCK_TABLE_ROW:
        markdown_table_row(&d->pen->table, block_text(d->blocks, b));
        if (markdown_table_outgrows(&d->pen->table, d->max_rows))
            draw_table(d, /*at_end=*/false);
        return;
    case BLOCK_TABLE_END:
        draw_table(d, /*at_end=*/true);
        return;
    case BLOCK_NOTHING:
        begin_block(d, b);
        lines_end(&d->page->scratch);
        put_rows(d, &d->page->scratch, /*anywhere=*/false);
        break;
    }
    end_block(d, b);
}

void markdown_pen_draw(const struct markdown_drawing *d)
{
    VEC_EACH(&d->blocks->list, b) {
        draw_block(d, b);
    }
}
