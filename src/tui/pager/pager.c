/*
 * pager: the window over parts, its keys, its last row. Where the window stands is a part and a row
 * of it, so nothing before it needs to be known. UI thread.
 */
#include "tui/pager/pager.h"

#include "tui/pager/pager_search.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define PAGER_WIDE 60 /* columns: the title and all keys fit */
#define PAGER_MAX_QUERY 1000

void pager_init(struct pager *p, const struct pager_source *source, void *arg, struct str title)
{
    *p = (struct pager){.source = source, .arg = arg, .view = {.cols = 80, .rows = 24}};
    buf_init(&p->title, 1 << 10);
    buf_add(&p->title, str_clip(title, 200));
    buf_init(&p->query, PAGER_MAX_QUERY);
    buf_init(&p->message, 1 << 10);
}

static void forget_parts(struct pager *p)
{
    for (size_t i = 0; i < p->part_count; i++)
        lines_release(&p->parts[i].lines);
    p->part_count = 0;
}

void pager_release(struct pager *p)
{
    forget_parts(p);
    buf_release(&p->title);
    buf_release(&p->query);
    buf_release(&p->message);
}

/* ---- Parts ---- */

/* A place for one more: a new one, or that of the least recently used. */
static struct pager_part *make_room(struct pager *p)
{
    struct pager_part *oldest = &p->parts[0];

    if (p->part_count < PAGER_PARTS) {
        p->parts[p->part_count].lines = (struct lines)LINES_INIT;
        return &p->parts[p->part_count++];
    }
    for (size_t i = 1; i < PAGER_PARTS; i++) {
        if (p->parts[i].used < oldest->used)
            oldest = &p->parts[i];
    }
    lines_clear(&oldest->lines);
    return oldest;
}

const struct lines *pager_part(struct pager *p, uint64_t at)
{
    static const struct lines none;
    struct pager_part *part;

    if (at >= p->source->end(p->arg))
        return &none; /* not yet, or not any more */
    p->clock++;
    for (size_t i = 0; i < p->part_count; i++) {
        if (p->parts[i].at == at) {
            p->parts[i].used = p->clock;
            return &p->parts[i].lines;
        }
    }
    part = make_room(p);
    part->at = at;
    part->used = p->clock;
    p->source->draw(p->arg, at, &p->view, &part->lines);
    return &part->lines;
}

/* ---- The window ---- */

static size_t window_rows(const struct pager *p)
{
    return p->view.rows > 1 ? (size_t)p->view.rows - 1 : 1;
}

static void move_up(struct pager *p, size_t n)
{
    while (n > 0) {
        size_t step = n < p->row ? n : p->row;
        uint64_t before;

        p->row -= step;
        n -= step;
        if (!n || !p->source->prev(p->arg, p->top, &before))
            return;
        p->top = before;
        p->row = lines_count(pager_part(p, before));
    }
}

/* Rows from the window's top to the end, at most max. */
static size_t rows_below(struct pager *p, size_t max)
{
    uint64_t at = p->top;
    size_t n = lines_count(pager_part(p, at));

    n -= p->row < n ? p->row : n;
    while (n < max && p->source->next(p->arg, at, &at))
        n += lines_count(pager_part(p, at));
    return n < max ? n : max;
}

/* No further down than until the last row is the window's last. */
static void settle(struct pager *p)
{
    size_t rows = window_rows(p);
    size_t below = rows_below(p, rows + 1);

    p->at_end = below <= rows;
    if (below < rows)
        move_up(p, rows - below);
}

static void move_down(struct pager *p, size_t n)
{
    for (;;) {
        size_t rows = lines_count(pager_part(p, p->top));
        size_t step = rows > p->row ? rows - p->row : 0;
        uint64_t next;

        if (n < step) {
            p->row += n;
            break;
        }
        if (!p->source->next(p->arg, p->top, &next)) {
            p->row = rows;
            break;
        }
        n -= step;
        p->top = next;
        p->row = 0;
    }
    settle(p);
}

void pager_go(struct pager *p, uint64_t at)
{
    p->top = at;
    p->row = 0;
    p->at_end = false;
    p->is_placed = true;
}

void pager_go_end(struct pager *p)
{
    uint64_t last = 0;

    (void)p->source->prev(p->arg, p->source->end(p->arg), &last);
    p->top = last;
    p->row = lines_count(pager_part(p, last));
    move_up(p, window_rows(p));
    p->at_end = true;
    p->is_placed = true;
}

void pager_show_row(struct pager *p, uint64_t at, size_t row)
{
    p->top = at;
    p->row = row;
    move_up(p, window_rows(p) / 3);
    settle(p);
}

/* ---- As lines ---- */

static void draw_rows(struct pager *p, struct lines *ret)
{
    size_t rows = window_rows(p);
    uint64_t at = p->top;
    size_t row = p->row;
    size_t n = 0;

    for (;;) {
        const struct lines *part = pager_part(p, at);

        for (; row < lines_count(part) && n < rows; row++, n++)
            pager_mark(p, lines_at(part, row), ret);
        row = 0;
        if (n >= rows || !p->source->next(p->arg, at, &at))
            break;
    }
    for (; n < rows; n++)
        lines_end(ret);
}

/* Nothing to be seen before the window. */
static bool is_at_start(struct pager *p)
{
    uint64_t at = p->top;

    if (p->row)
        return false;
    while (p->source->prev(p->arg, at, &at)) {
        if (lines_count(pager_part(p, at)))
            return false;
    }
    return true;
}

static void add_position(struct pager *p, struct buf *ret)
{
    uint64_t end = p->source->end(p->arg);

    if (p->at_end)
        buf_adds(ret, "end");
    else if (is_at_start(p))
        buf_adds(ret, "start");
    else
        buf_addf(ret, "%d %%", end ? (int)(100.0 * (double)p->top / (double)end) : 0);
}

static void draw_bottom(struct pager *p, struct lines *ret, struct screen_cursor *ret_cursor)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;
    CLEANUP(buf_release) struct buf position = BUF_INIT(100);
    const char *dot = p->view.ascii ? "  " : " · ";
    bool is_narrow = p->view.cols < PAGER_WIDE;

    if (p->typing) {
        lines_puts(&row, ROLE_ACCENT, p->backward ? "?" : "/");
        lines_put(&row, STYLE(ROLE_TEXT), buf_str(&p->query));
        *ret_cursor = (struct screen_cursor){
            .row = lines_count(ret), .col = lines_column(&row), .shown = true};
        if (ret_cursor->col >= p->view.cols)
            ret_cursor->col = p->view.cols - 1;
    } else {
        add_position(p, &position);
        if (!is_narrow) {
            lines_put(&row, STYLE_WITH(ROLE_ACCENT, STYLE_BOLD), buf_str(&p->title));
            lines_puts(&row, ROLE_TEXT, "  ");
        }
        lines_put(&row, STYLE(ROLE_TEXT), buf_str(&position));
        if (p->message.len)
            lines_putf(&row, STYLE(ROLE_WARNING), "%s%s", dot, buf_cstr(&p->message));
        if (!is_narrow)
            lines_putf(&row, STYLE(ROLE_FAINT), "%s/ search%sn N next, previous", dot, dot);
        lines_putf(&row, STYLE(ROLE_FAINT), "%sq close", dot);
    }
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), p->view.cols, p->view.ascii);
}

void pager_draw(struct pager *p, const struct view *v, struct lines *ret,
                struct screen_cursor *ret_cursor)
{
    bool is_other = v->cols != p->view.cols || v->ascii != p->view.ascii;

    *ret_cursor = (struct screen_cursor){0};
    if (is_other)
        forget_parts(p);
    p->view = *v;
    if (!p->is_placed || p->at_end)
        pager_go_end(p);
    else
        settle(p);
    if (p->searching)
        pager_search_on(p);
    else if (p->searched != p->source->end(p->arg)) /* it says nothing of what has come since */
        buf_clear(&p->message);
    draw_rows(p, ret);
    draw_bottom(p, ret, ret_cursor);
}

int64_t pager_due(const struct pager *p)
{
    return p->searching ? 0 : -1;
}

/* ---- Keys ---- */

static void type_key(struct pager *p, const struct keypress *k)
{
    if (k->code == KEY_ENTER) {
        p->typing = false;
        if (p->query.len)
            pager_search(p, p->backward);
    } else if (k->code == KEY_ESCAPE || keypress_is(k, "ctrl+c")) {
        p->typing = false;
        buf_clear(&p->query);
    } else if (k->code == KEY_BACKSPACE) {
        int cells;
        size_t n = width_prev(buf_str(&p->query), p->query.len, &cells);

        if (!n)
            p->typing = false;
        buf_cut(&p->query, p->query.len - n, n);
    } else if ((k->code == KEY_TEXT && !k->mods) || k->code == KEY_PASTE) {
        struct str line = str_first(k->text, str_chr(k->text, '\n'));

        buf_add(&p->query, str_clip(line, PAGER_MAX_QUERY - p->query.len));
    } else if (keypress_is(k, "ctrl+u")) {
        buf_clear(&p->query);
    }
}

static void begin_typing(struct pager *p, bool backward)
{
    p->typing = true;
    p->backward = backward;
    buf_clear(&p->query);
}

static bool text_key(struct pager *p, char c)
{
    size_t page = window_rows(p);

    switch (c) {
    case 'j':
        move_down(p, 1);
        break;
    case 'k':
        move_up(p, 1);
        break;
    case ' ':
    case 'f':
        move_down(p, page);
        break;
    case 'b':
        move_up(p, page);
        break;
    case 'g':
        pager_go(p, 0);
        break;
    case 'G':
        pager_go_end(p);
        break;
    case '/':
        begin_typing(p, /*backward=*/false);
        break;
    case '?':
        begin_typing(p, /*backward=*/true);
        break;
    case 'n':
        pager_search(p, p->backward);
        break;
    case 'N':
        pager_search(p, !p->backward);
        break;
    case 'q':
        return false;
    default:
        break;
    }
    return true;
}

static void move_key(struct pager *p, const struct keypress *k)
{
    size_t page = window_rows(p);

    switch (k->code) {
    case KEY_UP:
        move_up(p, 1);
        break;
    case KEY_DOWN:
    case KEY_ENTER:
        move_down(p, 1);
        break;
    case KEY_PAGE_UP:
        move_up(p, page);
        break;
    case KEY_PAGE_DOWN:
        move_down(p, page);
        break;
    case KEY_HOME:
        pager_go(p, 0);
        break;
    case KEY_END:
        pager_go_end(p);
        break;
    default:
        if (keypress_is(k, "ctrl+u"))
            move_up(p, (page + 1) / 2);
        else if (keypress_is(k, "ctrl+d"))
            move_down(p, (page + 1) / 2);
        break;
    }
}

enum panel_state pager_key(struct pager *p, const struct keypress *k)
{
    bool was_searching = p->searching;
    bool is_next = k->code == KEY_TEXT && (str_is(k->text, "n") || str_is(k->text, "N"));

    if (p->typing) {
        type_key(p, k);
        return PANEL_OPEN;
    }
    p->has_found = p->has_found && is_next; /* else it starts again, at the visible part */
    buf_clear(&p->message);
    p->searching = false; /* whatever is done now, it is not waiting */
    if (k->code == KEY_ESCAPE && was_searching)
        return PANEL_OPEN;
    if (k->code == KEY_ESCAPE || keypress_is(k, "ctrl+o") || keypress_is(k, "ctrl+c"))
        return PANEL_LEFT;
    if (k->code == KEY_TEXT && !k->mods && k->text.len == 1)
        return text_key(p, k->text.ptr[0]) ? PANEL_OPEN : PANEL_LEFT;
    move_key(p, k);
    if (k->code != KEY_END && k->code != KEY_HOME)
        p->at_end = rows_below(p, window_rows(p) + 1) <= window_rows(p);
    return PANEL_OPEN;
}
