/*
 * agent_rows: columns for the name, what the agent is for and its figures; what it does just now
 * comes last, because rows may be cut at their end. The narrower the window, the less is shown: the
 * word "tokens" goes first, then the tokens, then what the agent is for. UI thread.
 */
#include "tui/status/agent_rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/screen/width.h"

#define ROWS_WIDE 60   /* cells of a window that has room for all figures */
#define ROWS_NARROW 36 /* fewer, and only the time or the state is shown */
#define ROWS_NAME 24   /* cells of a name */
#define ROWS_WHAT 32   /* cells of what it is for */
#define ROWS_LEAST 6   /* cells of a text that are worth showing */
#define ROWS_MARKS 4

void agent_rows_elapsed(int64_t ms, struct buf *ret)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 60)
        buf_addf(ret, "%" PRId64 "s", s);
    else if (s < 3600)
        buf_addf(ret, "%" PRId64 "m %" PRId64 "s", s / 60, s % 60);
    else
        buf_addf(ret, "%" PRId64 "h %" PRId64 "m", s / 3600, s / 60 % 60);
}

void agent_rows_count(int64_t n, struct buf *ret)
{
    if (n < 1000)
        buf_addf(ret, "%" PRId64, n);
    else if (n < 999950)
        buf_addf(ret, "%.1fk", (double)n / 1000);
    else
        buf_addf(ret, "%.1fM", (double)n / 1000000);
}

uint32_t agent_rows_color(const char *name)
{
    static const struct {
        const char *name;
        uint32_t color;
    } colors[] = {
        {"blue", COLOR_INDEX | 4},   {"green", COLOR_INDEX | 2},  {"yellow", COLOR_INDEX | 3},
        {"purple", COLOR_INDEX | 5}, {"orange", COLOR_INDEX | 3}, {"pink", COLOR_INDEX | 13},
        {"cyan", COLOR_INDEX | 6},   {"red", COLOR_INDEX | 1},
    };

    for (size_t i = 0; name && i < ARRAY_LEN(colors); i++) {
        if (strcmp(name, colors[i].name) == 0)
            return colors[i].color;
    }
    return 0;
}

static void row_figures(const struct agent_row *r, const struct view *v, struct buf *ret)
{
    if (r->state.len)
        buf_add(ret, str_first(r->state, str_chr(r->state, '\n')));
    else if (r->elapsed_ms >= 0)
        agent_rows_elapsed(r->elapsed_ms, ret);
    if (r->tokens <= 0 || v->cols < ROWS_NARROW)
        return;
    buf_adds(ret, !ret->len ? "" : v->ascii ? ", " : " · ");
    if (!v->ascii && v->cols >= ROWS_WIDE)
        buf_adds(ret, "↓ ");
    agent_rows_count(r->tokens, ret);
    if (v->cols >= ROWS_WIDE)
        buf_adds(ret, " tokens");
}

/* Cells of what stands in the same columns of all rows. */
struct columns {
    int name, what, figures;
};

static struct str cut_to(struct str text, int cells, bool ascii, struct buf *ret)
{
    int dots = ascii ? 3 : 1;

    text = str_first(text, str_chr(text, '\n'));
    if (width_of(text) <= cells)
        return text;
    buf_add(ret, width_first(text, cells > dots ? cells - dots : 0));
    buf_adds(ret, ascii ? "..." : "…");
    return buf_str(ret);
}

static void measure(const struct agent_row *rows, size_t count, const struct view *v,
                    struct columns *ret)
{
    int room;

    *ret = (struct columns){0};
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf figures = BUF_INIT(1000);
        int name = width_of(rows[i].name);
        int what = width_of(str_first(rows[i].what, str_chr(rows[i].what, '\n')));

        row_figures(&rows[i], v, &figures);
        ret->name = name > ret->name ? name : ret->name;
        ret->what = what > ret->what ? what : ret->what;
        if (width_of(buf_str(&figures)) > ret->figures)
            ret->figures = width_of(buf_str(&figures));
    }
    room = v->cols - ROWS_MARKS - (ret->figures ? ret->figures + 2 : 0);
    if (ret->name > ROWS_NAME)
        ret->name = ROWS_NAME;
    if (ret->name > room)
        ret->name = room > 1 ? room : 1;
    if (ret->what > ROWS_WHAT)
        ret->what = ROWS_WHAT;
    room -= ret->name + 2;
    if (ret->what > room)
        ret->what = room >= ROWS_LEAST ? room : 0;
}

static void put_column(struct lines *row, struct style style, struct str text, int cells,
                       bool ascii, bool is_last)
{
    CLEANUP(buf_release) struct buf cut = BUF_INIT(BUF_NO_LIMIT);

    text = cut_to(text, cells, ascii, &cut);
    lines_put(row, style, text);
    if (!is_last)
        lines_spaces(row, STYLE(ROLE_TEXT), cells - width_of(text) + 2);
}

static void row_draw(const struct agent_row *r, bool has_focus, const struct columns *c,
                     const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf figures = BUF_INIT(1000);
    CLEANUP(lines_release) struct lines row = LINES_INIT;
    struct style name = STYLE(has_focus ? ROLE_SELECTED : r->is_shown ? ROLE_TEXT : ROLE_FAINT);
    bool is_alone;
    int room;

    row_figures(r, v, &figures);
    if (agent_rows_color(r->color) && !has_focus)
        name.fg = agent_rows_color(r->color);
    if (r->is_shown)
        name.flags |= STYLE_BOLD;
    lines_puts(&row, ROLE_ACCENT, !has_focus ? "  " : v->ascii ? "> " : "❯ ");
    lines_puts(&row, r->is_running ? ROLE_GOOD : ROLE_FAINT,
               r->is_shown ? (v->ascii ? "* " : "● ") : (v->ascii ? "o " : "○ "));
    is_alone = !r->what.len && !figures.len;
    put_column(&row, name, r->name, is_alone ? v->cols - ROWS_MARKS : c->name, v->ascii, is_alone);
    if (c->what && (r->what.len || figures.len))
        put_column(&row, STYLE(ROLE_FAINT), r->what, c->what, v->ascii, !figures.len);
    lines_put(&row, STYLE(r->state.len ? r->role : ROLE_FAINT), buf_str(&figures));
    room = v->cols - lines_column(&row) - (c->figures - width_of(buf_str(&figures))) - 2;
    if (r->doing.len && room >= ROWS_LEAST) {
        lines_spaces(&row, STYLE(ROLE_TEXT), c->figures - width_of(buf_str(&figures)) + 2);
        put_column(&row, STYLE(ROLE_FAINT), r->doing, room, v->ascii, /*is_last=*/true);
    }
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
}

void agent_rows_draw(const struct agent_row *rows, size_t count, size_t focus, const struct view *v,
                     struct lines *ret)
{
    size_t most = v->rows > 0 ? (size_t)v->rows : 0;
    size_t shown = count < AGENT_ROWS_MAX ? count : AGENT_ROWS_MAX;
    size_t from = 0;
    struct columns c;

    if (shown > most || (shown < count && shown + 1 > most))
        shown = most && most < count ? most - 1 : most;
    if (!shown)
        return;
    if (focus != AGENT_ROWS_NONE && focus >= shown)
        from = focus - shown + 1;
    measure(rows + from, shown, v, &c);
    for (size_t i = from; i < from + shown; i++)
        row_draw(&rows[i], i == focus, &c, v, ret);
    if (shown < count) {
        CLEANUP(lines_release) struct lines row = LINES_INIT;

        lines_putf(&row, STYLE(ROLE_FAINT), "  %s %zu more", v->ascii ? "..." : "…", count - shown);
        lines_end(&row);
        lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    }
}
