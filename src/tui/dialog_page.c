/*
 * dialog_page: how the rows of a window are shared between text and options, and which key goes
 * where. UI thread.
 */
#include "tui/dialog_page.h"

#include <string.h>

#include "base/clock.h"
#include "tui/editor.h"
#include "tui/keypress.h"
#include "tui/width.h"

#define MIN_TEXT_ROWS 3 /* of the text, where the options leave so many */
#define MIN_TITLE_ROWS 3
#define ROOMY_ROWS 8 /* fewer, and the line with the keys is left out */

void dialog_page_init(struct dialog_page *p, struct str title, unsigned menu_flags)
{
    memset(p, 0, sizeof(*p));
    p->arena = (struct arena)ARENA_INIT;
    p->title = arena_str(&p->arena, title);
    p->title_role = ROLE_ACCENT;
    p->leave = "leave";
    p->menu = menu_new(menu_flags);
    p->text_row = MENU_NOWHERE;
    p->text = (struct lines)LINES_INIT;
}

void dialog_page_release(struct dialog_page *p)
{
    menu_free(p->menu);
    editor_free(p->editor);
    lines_release(&p->text);
    arena_release(&p->arena);
}

/* ---- pieces ---- */

const char *dialog_dot(const struct view *v)
{
    return v->ascii || v->plain ? ", " : " · ";
}

bool dialog_is_escape(const struct keypress *k)
{
    return k->code == KEY_ESCAPE || keypress_is(k, "ctrl+c");
}

struct str dialog_first_key(struct keypress *k)
{
    struct str text = k->text;
    int cells;

    if (k->code != KEY_TEXT)
        return STR("");
    k->text = str_first(text, width_next(text, &cells));
    return str_from(text, k->text.len);
}

void dialog_title(const struct view *v, enum style_role role, struct str title, struct lines *ret)
{
    struct lines line = LINES_INIT;
    const char *dash = v->ascii ? "-" : "─";

    if (v->rows < MIN_TITLE_ROWS)
        return;
    line.shows_all = true;
    if (!v->plain && width_of(title) + 3 <= v->cols) { /* else the room is for the title */
        lines_puts(&line, ROLE_FAINT, dash);
        lines_puts(&line, ROLE_FAINT, dash);
        lines_puts(&line, ROLE_FAINT, " ");
    }
    lines_put(&line, STYLE_WITH(role, STYLE_BOLD), title);
    if (!v->plain && lines_column(&line) + 2 <= v->cols) {
        lines_puts(&line, ROLE_FAINT, " ");
        while (lines_column(&line) < v->cols)
            lines_puts(&line, ROLE_FAINT, dash);
    }
    lines_end(&line);
    lines_add_cut(ret, lines_at(&line, 0), v->cols, v->ascii);
    lines_release(&line);
}

void dialog_text(const struct view *v, enum style_role role, struct str text, struct lines *ret)
{
    struct lines line = LINES_INIT;
    struct wrap how = {.cells = v->cols};
    struct str row;

    line.shows_all = true;
    while (str_cut(&text, '\n', &row)) {
        lines_clear(&line);
        lines_put(&line, STYLE(role), row);
        lines_end(&line);
        lines_wrap(ret, lines_at(&line, 0), &how);
    }
    lines_release(&line);
}

void dialog_keys(const struct view *v, struct str text, struct lines *ret)
{
    struct lines rows = LINES_INIT;
    size_t most = v->rows < ROOMY_ROWS ? 0 : v->rows < 2 * ROOMY_ROWS ? 1 : (size_t)v->rows / 6;

    dialog_text(v, ROLE_FAINT, text, &rows);
    for (size_t i = 0; i < lines_count(&rows) && i < most; i++)
        lines_add(ret, lines_at(&rows, i));
    lines_release(&rows);
}

/* ---- drawing ---- */

void dialog_page_changed(struct dialog_page *p)
{
    p->text_view.cols = 0;
}

/* So many rows of it, if there are. */
static void make_rows(struct dialog_page *p, size_t rows)
{
    p->count = p->more ? p->more(p->body_arg, rows, &p->text) : lines_count(&p->text);
}

static void make_text(struct dialog_page *p, const struct view *v)
{
    bool is_same = p->has_text && p->text_view.cols == v->cols && p->text_view.ascii == v->ascii &&
                   p->text_view.plain == v->plain;

    if (!p->has_text)
        p->seen_ms = v->now_ms;
    p->has_text = true;
    if (is_same)
        return;
    p->text_view = *v;
    lines_clear(&p->text);
    if (p->body)
        p->body(p->body_arg, v, &p->text);
    make_rows(p, 0);
}

static void draw_keys(const struct dialog_page *p, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    const char *dot = dialog_dot(v);

    if (p->editor) {
        buf_addf(&text, "Enter send%sEsc back", dot);
    } else {
        if (!v->plain)
            buf_addf(&text, "Enter choose%s", dot);
        buf_addf(&text, "Esc %s", p->leave);
        if (p->keys.len)
            buf_addf(&text, "%s%.*s", dot, STR_ARG(p->keys));
    }
    dialog_keys(v, buf_str(&text), ret);
}

/* The window on the text; what is beyond it is told in its last row. */
static void draw_text(struct dialog_page *p, const struct view *v, size_t rows, struct lines *ret)
{
    size_t count = p->count;
    struct lines more = LINES_INIT;

    p->text_rows = rows < count && rows > 1 ? rows - 1 : rows;
    if (p->top + p->text_rows > count)
        p->top = count > p->text_rows ? count - p->text_rows : 0;
    make_rows(p, p->top + p->text_rows);
    for (size_t i = p->top; i < lines_count(&p->text) && i < p->top + p->text_rows; i++)
        lines_add_cut(ret, lines_at(&p->text, i), v->cols, v->ascii);
    if (p->text_rows < count && rows > 1) {
        size_t below = count - p->top - p->text_rows;

        if (below)
            lines_putf(&more, STYLE(ROLE_WARNING), "%s %zu more (PgDn)",
                       v->ascii || v->plain ? "..." : "…", below);
        else
            lines_puts(&more, ROLE_FAINT, "end (PgUp)");
        lines_end(&more);
        lines_add_cut(ret, lines_at(&more, 0), v->cols, v->ascii);
    }
    lines_release(&more);
}

/* Lines of another list, and its cursor when it has one. */
static void append(struct lines *to, const struct lines *from, const struct screen_cursor *cursor,
                   struct screen_cursor *ret_cursor)
{
    if (cursor->shown) {
        *ret_cursor = *cursor;
        ret_cursor->row += lines_count(to);
    }
    lines_add_all(to, from);
}

void dialog_page_draw(struct dialog_page *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    struct lines menu = LINES_INIT;
    struct lines words = LINES_INIT;
    struct lines keys = LINES_INIT;
    struct screen_cursor menu_cursor = {0};
    struct screen_cursor words_cursor = {0};
    size_t rows = v->rows > 0 ? (size_t)v->rows : 1;
    size_t used = 0;
    struct view part = *v;
    size_t text;

    make_text(p, v);
    text = p->count;
    dialog_title(v, p->title_role, p->title, ret);
    used += lines_count(ret);
    draw_keys(p, v, &keys);
    used += lines_count(&keys);
    if (p->editor) {
        part.rows = (int)(rows / 3 > 1 ? rows / 3 : 1);
        editor_draw(p->editor, &part, p->text_hint, &words, &words_cursor);
    } else if (v->plain) {
        menu_prompt(p->menu, v, &words);
    }
    used += lines_count(&words);
    if (menu_count(p->menu) && used < rows) {
        size_t least = text < MIN_TEXT_ROWS ? text : MIN_TEXT_ROWS;

        part.rows = (int)(rows > used + least + 1 ? rows - used - least : 1);
        menu_draw(p->menu, &part, &menu, &menu_cursor);
        used += lines_count(&menu);
    }
    if (rows > used)
        draw_text(p, v, rows - used < text ? rows - used : text, ret);
    if (text && rows > used + text && !v->plain)
        lines_end(ret); /* where there is room, options stand apart from the text */
    append(ret, &menu, &menu_cursor, ret_cursor);
    if (v->plain) /* the last row is the prompt */
        lines_add_all(ret, &keys);
    append(ret, &words, &words_cursor, ret_cursor);
    if (!v->plain)
        lines_add_all(ret, &keys);
    lines_release(&menu);
    lines_release(&words);
    lines_release(&keys);
}

/* ---- keys ---- */

static bool only_moves(const struct keypress *k)
{
    switch (k->code) {
    case KEY_UP:
    case KEY_DOWN:
    case KEY_LEFT:
    case KEY_RIGHT:
    case KEY_HOME:
    case KEY_END:
    case KEY_PAGE_UP:
    case KEY_PAGE_DOWN:
        return true;
    default:
        return false;
    }
}

/* Typed before it could be read. */
static bool is_too_early(struct dialog_page *p, const struct keypress *k)
{
    int64_t now = clock_mono_ms();
    int64_t since = p->passed_ms > p->seen_ms ? p->passed_ms : p->seen_ms;

    if (!p->is_guarded || only_moves(k) || dialog_is_escape(k))
        return false;
    p->is_guarded = !p->has_text || now - since < DIALOG_GUARD_MS;
    p->passed_ms = now;
    return p->is_guarded;
}

static bool scroll_key(struct dialog_page *p, const struct keypress *k)
{
    size_t count = p->count;
    size_t page = p->text_rows > 1 ? p->text_rows - 1 : 1;
    size_t last = count > p->text_rows ? count - p->text_rows : 0;
    bool by_one = k->mods == MOD_SHIFT && (k->code == KEY_UP || k->code == KEY_DOWN);
    bool is_up = k->code == KEY_UP || k->code == KEY_PAGE_UP;

    if (!last || !(by_one || k->code == KEY_PAGE_UP || k->code == KEY_PAGE_DOWN))
        return false;
    if (by_one)
        page = 1;
    if (is_up)
        p->top = p->top > page ? p->top - page : 0;
    else
        p->top = p->top + page < last ? p->top + page : last;
    return true;
}

void dialog_page_close(struct dialog_page *p)
{
    editor_free(p->editor);
    p->editor = NULL;
}

static enum dialog_act words_key(struct dialog_page *p, const struct keypress *k)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DIALOG_MAX_TEXT);

    switch (editor_key(p->editor, k, clock_mono_ms())) {
    case EDITOR_SEND:
        dialog_page_words(p, &text);
        return text.len || p->text_optional ? DIALOG_CHOSEN : DIALOG_USED;
    case EDITOR_QUEUE: /* Up, out of an empty line */
        dialog_page_close(p);
        menu_key(p->menu, k);
        return DIALOG_USED;
    case EDITOR_UNUSED:
        if (!dialog_is_escape(k))
            return DIALOG_UNUSED;
        dialog_page_close(p);
        return DIALOG_USED;
    default:
        return DIALOG_USED;
    }
}

static enum dialog_act choose(struct dialog_page *p)
{
    if (p->text_row == MENU_NOWHERE || menu_at(p->menu) != p->text_row)
        return DIALOG_CHOSEN;
    p->editor = editor_new(&(struct editor_spec){.ascii = p->text_view.ascii});
    editor_set(p->editor, p->text_start);
    return DIALOG_USED;
}

static enum dialog_act page_key(struct dialog_page *p, const struct keypress *k)
{
    if (p->editor)
        return words_key(p, k);
    if (scroll_key(p, k))
        return DIALOG_USED;
    switch (menu_key(p->menu, k)) {
    case MENU_CHOSEN:
        return choose(p);
    case MENU_USED:
        return DIALOG_USED;
    default:
        return dialog_is_escape(k) ? DIALOG_LEFT : DIALOG_UNUSED;
    }
}

enum dialog_act dialog_page_key(struct dialog_page *p, const struct keypress *k)
{
    struct keypress one = *k;
    struct str rest = STR("");
    enum dialog_act act;

    if (is_too_early(p, k))
        return DIALOG_EARLY;
    if (!p->editor)
        rest = dialog_first_key(&one);
    act = page_key(p, &one);
    while (rest.len && (act == DIALOG_USED || act == DIALOG_UNUSED)) {
        one.text = rest;
        rest = p->editor ? STR("") : dialog_first_key(&one);
        act = page_key(p, &one);
    }
    return act;
}

void dialog_page_words(const struct dialog_page *p, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DIALOG_MAX_TEXT);

    if (!p->editor)
        return;
    editor_text(p->editor, &text);
    buf_add(ret, str_trim(buf_str(&text)));
}
