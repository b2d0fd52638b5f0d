/*
 * Completion in the editor. The word under the cursor is the question; the completer has the
 * answers, now or later. UI thread.
 */
#include "tui/editor/editor_list.h"

#include "base/buf.h"
#include "base/mem.h"
#include "tui/complete/complete.h"
#include "tui/dialog/panel.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_text.h"
#include "tui/screen/line.h"
#include "tui/screen/width.h"

#define MAX_WORD 512       /* bytes; longer words are not completed */
#define LIST_MIN_DETAIL 10 /* cells */

/* --- the word -------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* "/word" at the start of the text, the cursor in it. */
static bool word_is_command(struct str text, size_t cursor)
{
    if (!text.len || text.ptr[0] != '/' || !cursor || cursor > MAX_WORD)
        return false;
    for (size_t i = 0; i < cursor; i++) {
        if (is_blank(text.ptr[i]))
            return false;
    }
    return true;
}

/* @word or @"words, the sign at the start of the text or after a blank or a bracket. */
static bool word_is_file(struct str text, size_t cursor, size_t *ret_from)
{
    size_t from = cursor;
    bool blanks = false;

    while (from && cursor - from < MAX_WORD && text.ptr[from - 1] != '\n') {
        char before;

        from--;
        if (text.ptr[from] != '@') {
            blanks |= is_blank(text.ptr[from]);
            continue;
        }
        before = from ? text.ptr[from - 1] : ' ';
        if (!is_blank(before) && before != '(' && before != '[' && before != '"' && before != '\'')
            return false;
        if (from + 1 < cursor && text.ptr[from + 1] == '"') {
            struct str quoted = str_make(text.ptr + from + 2, cursor - from - 2);

            *ret_from = from;
            return !str_has(quoted, STR("\""));
        }
        *ret_from = from;
        return !blanks;
    }
    return false;
}

/* The text typed after the sign. */
static struct str word_typed(struct str text, size_t from, size_t cursor)
{
    struct str typed = str_make(text.ptr + from + 1, cursor - from - 1);

    return str_starts(typed, STR("\"")) ? str_from(typed, 1) : typed;
}

void editor_list_look(struct editor_list *l, const struct editor_text *t)
{
    struct str text = editor_text_str(t);
    size_t from = 0;
    char kind = 0;

    if (!l->completer)
        return;
    if (word_is_command(text, t->cursor))
        kind = '/';
    else if (word_is_file(text, t->cursor, &from))
        kind = '@';
    if (l->was_closed && (!kind || from != l->closed_from))
        l->was_closed = false;
    l->is_open = kind && !l->was_closed;
    if (!l->is_open)
        return;
    l->kind = kind;
    l->from = from;
    l->chosen = 0;
    l->was_moved = false;
    l->top = 0;
    completer_ask(l->completer, kind, word_typed(text, from, t->cursor));
}

bool editor_list_close(struct editor_list *l)
{
    bool shown = editor_list_shows(l);

    if (l->is_open) {
        l->was_closed = true;
        l->closed_from = l->from;
    }
    l->is_open = false;
    return shown;
}

void editor_list_reset(struct editor_list *l)
{
    l->is_open = false;
    l->was_closed = false;
}

/* --- choosing -------------------------------------------------------------------------------- */

bool editor_list_shows(const struct editor_list *l)
{
    return l->is_open && completer_count(l->completer) > 0;
}

void editor_list_move(struct editor_list *l, int by)
{
    size_t count = completer_count(l->completer);

    l->was_moved = true;
    if (by < 0)
        l->chosen = l->chosen ? l->chosen - 1 : count - 1;
    else
        l->chosen = l->chosen + 1 < count ? l->chosen + 1 : 0;
}

/* The answers may have become fewer. */
static size_t list_chosen(const struct editor_list *l)
{
    size_t count = completer_count(l->completer);

    return l->chosen < count ? l->chosen : count - 1;
}

/* The end of the word, also when the cursor stands in the middle of it. */
static size_t word_end(const struct editor_list *l, const struct editor_text *t)
{
    struct str text = editor_text_str(t);
    size_t at = t->cursor;

    if (l->kind == '@')
        return at;
    while (at < text.len && !is_blank(text.ptr[at]))
        at++;
    return at;
}

bool editor_list_is_typed(const struct editor_list *l, const struct editor_text *t)
{
    struct completion c = completer_at(l->completer, list_chosen(l));
    struct str typed = word_typed(editor_text_str(t), l->from, t->cursor);

    return word_end(l, t) == t->cursor &&
           (str_eq(typed, c.text) || (c.alias.len && str_eq(typed, c.alias)));
}

void editor_list_enter(struct editor_list *l, const struct editor_text *t)
{
    struct str typed = word_typed(editor_text_str(t), l->from, t->cursor);
    size_t next = list_chosen(l) + 1;

    if (l->kind == '@' && next < completer_count(l->completer) && editor_list_is_typed(l, t) &&
        str_starts(completer_at(l->completer, next).text, typed))
        l->chosen = next;
}

/* Whether the typed text can only be the beginning of it. */
static bool list_is_meant(const struct editor_list *l, const struct editor_text *t,
                          const struct completion *c)
{
    struct str typed = word_typed(editor_text_str(t), l->from, t->cursor);

    return l->was_moved ||
           (word_end(l, t) == t->cursor && (str_starts(c->text, typed) || c->alias.len));
}

bool editor_list_take(struct editor_list *l, struct editor_text *t)
{
    struct completion c = completer_at(l->completer, list_chosen(l));
    CLEANUP(buf_release) struct buf with = BUF_INIT(BUF_NO_LIMIT);
    bool quoted = false;
    size_t to = word_end(l, t);
    bool is_folder = l->kind == '@' && c.goes_on;
    bool is_whole = l->kind == '/' && !c.goes_on && list_is_meant(l, t, &c);

    for (size_t i = 0; i < c.text.len; i++)
        quoted |= l->kind == '@' && is_blank(c.text.ptr[i]);
    buf_addf(&with, "%c%s%.*s%s%s", l->kind, quoted ? "\"" : "", STR_ARG(c.text),
             quoted && !is_folder ? "\"" : "", is_folder ? "" : " ");
    if (!is_folder && to < t->bytes.len && t->bytes.ptr[to] == ' ')
        to++;
    editor_text_replace(t, l->from, to, buf_str(&with));
    l->is_open = false;
    if (is_folder)
        editor_list_look(l, t); /* the contents of the folder */
    return is_whole;
}

bool editor_list_news(struct editor_list *l)
{
    return completer_news(l->completer) && l->is_open;
}

/* --- drawing --------------------------------------------------------------------------------- */

/* The names that are seen, and a row for how many more there are. */
size_t editor_list_rows(const struct editor_list *l)
{
    size_t count = editor_list_shows(l) ? completer_count(l->completer) : 0;

    return count <= EDITOR_LIST_ROWS ? count : EDITOR_LIST_ROWS + 1;
}

/* The name, the letters that matched set off. */
static void put_name(const struct completion *c, enum style_role role, struct lines *ret)
{
    size_t at = 0;

    for (size_t i = 0; i < c->at_count; i++) {
        size_t from = c->at[i];
        size_t to = from + 1;

        while (i + 1 < c->at_count && c->at[i + 1] == to) {
            to++;
            i++;
        }
        lines_put(ret, STYLE(role), str_make(c->text.ptr + at, from - at));
        lines_put(ret, STYLE_WITH(ROLE_MATCH, role == ROLE_SELECTED ? STYLE_BOLD : 0),
                  str_make(c->text.ptr + from, to - from));
        at = to;
    }
    lines_put(ret, STYLE(role), str_from(c->text, at));
}

/* Cells for names, so that their descriptions form a column. */
static int names_width(const struct editor_list *l, size_t first, size_t rows, int cols)
{
    int widest = 0;

    for (size_t i = first; i < first + rows; i++) {
        int w = width_of(completer_at(l->completer, i).text);

        widest = w > widest ? w : widest;
    }
    return widest < cols / 2 ? widest : cols / 2;
}

/* The description of a name, where there is room for more than its first letters. */
static void put_detail(struct str detail, int names, int cols, struct lines *row)
{
    int gap = names - lines_column(row);

    if (!detail.len || cols - lines_column(row) - 2 < LIST_MIN_DETAIL)
        return;
    lines_spaces(row, STYLE(ROLE_TEXT), gap > 2 ? gap : 2);
    lines_put(row, STYLE(ROLE_FAINT), detail);
}

static void draw_more(const struct editor_list *l, const struct view *v, size_t end,
                      struct lines *ret)
{
    size_t below = completer_count(l->completer) - end;
    struct lines row = LINES_INIT;

    lines_puts(&row, ROLE_FAINT, "  ");
    if (l->top)
        lines_putf(&row, STYLE(ROLE_FAINT), v->ascii || v->plain ? "%zu above" : "↑ %zu", l->top);
    if (l->top && below)
        lines_puts(&row, ROLE_FAINT, v->ascii || v->plain ? ", " : "  ");
    if (below)
        lines_putf(&row, STYLE(ROLE_FAINT), v->ascii || v->plain ? "%zu more below" : "↓ %zu more",
                   below);
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    lines_release(&row);
}

void editor_list_draw(struct editor_list *l, const struct view *v, size_t rows, struct lines *ret)
{
    size_t chosen = list_chosen(l);
    bool has_more = completer_count(l->completer) > rows && rows > 1;
    struct lines row = LINES_INIT;
    int names;

    rows -= has_more;
    if (chosen < l->top)
        l->top = chosen;
    if (chosen >= l->top + rows)
        l->top = chosen - rows + 1;
    if (l->top + rows > completer_count(l->completer))
        l->top = completer_count(l->completer) - rows;
    names = names_width(l, l->top, rows, v->cols);
    for (size_t i = l->top; i < l->top + rows; i++) {
        struct completion c = completer_at(l->completer, i);
        enum style_role role = i == chosen ? ROLE_SELECTED : ROLE_TEXT;
        bool is_name;
        const char *mark = i != chosen ? "  " : v->ascii || v->plain ? "> " : "\xe2\x9d\xaf ";

        lines_clear(&row);
        lines_puts(&row, i == chosen ? ROLE_ACCENT : ROLE_TEXT, mark);
        if (l->kind == '/')
            lines_puts(&row, role, "/");
        put_name(&c, role, &row);
        is_name = lines_column(&row) > v->cols;
        put_detail(c.detail, names + 2 + (l->kind == '/') + 2, v->cols, &row);
        lines_end(&row);
        if (is_name)
            lines_add_squeezed(ret, lines_at(&row, 0), v->cols, v->ascii);
        else
            lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    }
    if (has_more)
        draw_more(l, v, l->top + rows, ret);
    lines_release(&row);
}
