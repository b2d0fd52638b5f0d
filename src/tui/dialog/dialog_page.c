/*
 * dialog_page: how the rows of a window are shared between text and options, and which key goes
 * where. UI thread.
 */
#include "tui/dialog/dialog_page.h"

#include <string.h>

#include "base/clock.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define MIN_TEXT_ROWS 3   /* of the text, where the options leave so many */
#define LEAST_TEXT_ROWS 2 /* of a question; fewer, and it is not answered */
#define ROOMY_ROWS 8      /* fewer, and the line with the keys is left out */

void dialog_page_init(struct dialog_page *p, struct str title, unsigned menu_flags)
{
    memset(p, 0, sizeof(*p));
    p->arena = (struct arena)ARENA_INIT;
    p->title = arena_str(&p->arena, title);
    p->title_role = ROLE_ACCENT;
    p->leave = "cancel";
    p->menu = menu_new(menu_flags);
    p->text_row = MENU_NOWHERE;
    p->open_ms = -1;
    p->text = (struct lines)LINES_INIT;
}

void dialog_page_release(struct dialog_page *p)
{
    menu_free(p->menu);
    editor_free(p->editor);
    lines_release(&p->text);
    arena_release(&p->arena);
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

    p->has_text = true;
    if (is_same)
        return;
    p->text_view = *v;
    lines_clear(&p->text);
    if (p->who.len)
        dialog_text(v, ROLE_WARNING, p->who, &p->text);
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
    } else if (p->has_typed) {
        buf_adds(&text, "What you type goes to your prompt. Pause, then a number, or arrows and "
                        "Enter, answers");
    } else {
        if (!v->plain)
            buf_addf(&text, "Enter choose%s", dot);
        buf_addf(&text, "Esc %s", p->leave);
        if (p->keys.len)
            buf_addf(&text, "%s%.*s", dot, STR_ARG(p->keys));
    }
    dialog_keys(v, buf_str(&text), ret);
}

/* The visible part of the text; its last row counts the rest. */
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

/* Whether the question is readable with so many rows for its text: of a long one the beginning, and
 * a note that there is more. */
static bool is_readable(const struct dialog_page *p, const struct view *v, size_t room)
{
    return v->rows >= DIALOG_TITLE_ROWS && (room >= LEAST_TEXT_ROWS || room >= p->count);
}

/* Nothing can be answered: it counts as not drawn yet. */
static void draw_unreadable(struct dialog_page *p, const struct view *v, struct lines *ret)
{
    struct lines rows = LINES_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    size_t most = v->rows > 0 ? (size_t)v->rows : 1;

    p->open_ms = -1;
    p->held = 0;
    buf_addf(&text, "Make the window larger: you are asked something. Esc %s", p->leave);
    dialog_text(v, ROLE_WARNING, buf_str(&text), &rows);
    for (size_t i = 0; i < lines_count(&rows) && lines_count(ret) < most; i++)
        lines_add_cut(ret, lines_at(&rows, i), v->cols, v->ascii);
    lines_release(&rows);
}

/* What stands below the text. */
struct lower {
    struct lines menu, words, keys;
    struct screen_cursor menu_cursor, words_cursor;
};

/* So many rows are taken already. */
static size_t draw_lower(struct dialog_page *p, const struct view *v, size_t used,
                         struct lower *ret)
{
    size_t rows = v->rows > 0 ? (size_t)v->rows : 1;
    struct view part = *v;

    draw_keys(p, v, &ret->keys);
    used += lines_count(&ret->keys);
    if (p->editor) {
        part.rows = (int)(rows / 3 > 1 ? rows / 3 : 1);
        editor_draw(p->editor, &part, p->text_hint, &ret->words, &ret->words_cursor);
    } else if (v->plain) {
        menu_prompt(p->menu, v, &ret->words);
    }
    used += lines_count(&ret->words);
    if (menu_count(p->menu) && used < rows) {
        size_t least = p->count < MIN_TEXT_ROWS ? p->count : MIN_TEXT_ROWS;

        part.rows = (int)(rows > used + least + 1 ? rows - used - least : 1);
        menu_draw(p->menu, &part, &ret->menu, &ret->menu_cursor);
        used += lines_count(&ret->menu);
    }
    return rows > used ? rows - used : 0;
}

static void draw_all(struct dialog_page *p, const struct view *v, size_t room,
                     const struct lower *lower, struct lines *ret, struct screen_cursor *ret_cursor)
{
    if (room)
        draw_text(p, v, room < p->count ? room : p->count, ret);
    if (p->count && room > p->count && !v->plain)
        lines_end(ret); /* where there is room, options stand apart from the text */
    append(ret, &lower->menu, &lower->menu_cursor, ret_cursor);
    if (v->plain) /* the last row is the prompt */
        lines_add_all(ret, &lower->keys);
    append(ret, &lower->words, &lower->words_cursor, ret_cursor);
    if (!v->plain)
        lines_add_all(ret, &lower->keys);
}

void dialog_page_draw(struct dialog_page *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    struct lower lower = {.menu = LINES_INIT, .words = LINES_INIT, .keys = LINES_INIT};
    size_t room;

    make_text(p, v);
    dialog_title(v, p->title_role, p->title, ret);
    room = draw_lower(p, v, lines_count(ret), &lower);
    if (p->is_guarded && !p->editor && !is_readable(p, v, room)) {
        draw_unreadable(p, v, ret);
    } else {
        draw_all(p, v, room, &lower, ret, ret_cursor);
        if (p->open_ms < 0)
            p->open_ms = v->now_ms + DIALOG_GUARD_MS;
    }
    lines_release(&lower.menu);
    lines_release(&lower.words);
    lines_release(&lower.keys);
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

/* Text that is in the middle of nothing but itself may be an answer. */
static bool may_answer(const struct dialog_page *p, const struct keypress *k)
{
    if (k->code != KEY_TEXT)
        return k->code != KEY_PASTE && k->code != KEY_BACKSPACE;
    return k->text.len == 1 &&
           ((k->text.ptr[0] >= '1' && k->text.ptr[0] <= '9') || menu_is_letter(p->menu, k->text));
}

/* It was meant for whatever had the keys before. */
static enum dialog_act pass_over(struct dialog_page *p, const struct keypress *k)
{
    int64_t now = clock_mono_ms();
    bool is_word = !may_answer(p, k) || p->held || (k->code == KEY_TEXT && now < p->rest_ms);

    if (is_word)
        p->rest_ms = now + DIALOG_REST_MS;
    else if (p->open_ms >= 0 && p->open_ms < now + DIALOG_GUARD_MS)
        p->open_ms = now + DIALOG_GUARD_MS;
    p->has_typed = p->has_typed || (is_word && p->open_ms >= 0);
    p->held = 0;
    return DIALOG_EARLY;
}

/* Typed before it was readable, or as part of other text. */
static bool is_too_early(const struct dialog_page *p, const struct keypress *k)
{
    int64_t now = clock_mono_ms();

    if (only_moves(k) || dialog_is_escape(k))
        return false;
    return p->open_ms < 0 || now < p->open_ms || now < p->rest_ms;
}

/* More than one key, or one more after a letter. */
static bool is_typing(const struct dialog_page *p, const struct keypress *k)
{
    int cells;

    if (k->code == KEY_BACKSPACE)
        return p->held || p->has_typed;
    if (k->code == KEY_TEXT)
        return p->held || width_next(k->text, &cells) < k->text.len;
    return k->code == KEY_PASTE;
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

void dialog_page_write(struct dialog_page *p)
{
    menu_move_to(p->menu, p->text_row);
    p->editor = editor_new(&(struct editor_spec){.ascii = p->text_view.ascii});
    editor_set(p->editor, p->text_start);
}

static enum dialog_act choose(struct dialog_page *p)
{
    if (p->text_row == MENU_NOWHERE || menu_at(p->menu) != p->text_row)
        return DIALOG_CHOSEN;
    dialog_page_write(p);
    return DIALOG_USED;
}

static enum dialog_act page_key(struct dialog_page *p, const struct keypress *k)
{
    size_t at = menu_at(p->menu);

    if (p->editor)
        return words_key(p, k);
    if (scroll_key(p, k))
        return DIALOG_USED;
    switch (menu_key(p->menu, k)) {
    case MENU_CHOSEN:
        return choose(p);
    case MENU_USED:
        p->has_moved = p->has_moved || menu_at(p->menu) != at;
        return DIALOG_USED;
    default:
        return dialog_is_escape(k) ? DIALOG_LEFT : DIALOG_UNUSED;
    }
}

/* Keys pressed fast, one by one. */
static enum dialog_act page_keys(struct dialog_page *p, const struct keypress *k)
{
    struct keypress one = *k;
    struct str rest = STR("");
    enum dialog_act act;

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

static enum dialog_act held_key(struct dialog_page *p)
{
    struct keypress k = {.code = KEY_TEXT, .text = str_make(&p->held, 1)};
    enum dialog_act act = page_key(p, &k);

    p->held = 0;
    return act;
}

/* Text for the row that accepts some, once the user has moved there. A number still answers. */
static bool begins_words(const struct dialog_page *p, const struct keypress *k)
{
    char first = k->text.len ? k->text.ptr[0] : ' ';

    if (!p->has_moved || p->held || p->text_row == MENU_NOWHERE || k->mods ||
        menu_at(p->menu) != p->text_row)
        return false;
    if (k->code == KEY_PASTE)
        return k->text.len > 0;
    return k->code == KEY_TEXT && first != ' ' && (first < '0' || first > '9');
}

enum dialog_act dialog_page_key(struct dialog_page *p, const struct keypress *k)
{
    enum dialog_act act;

    if (!p->is_guarded || p->editor)
        return page_keys(p, k);
    if (is_too_early(p, k))
        return pass_over(p, k);
    if (begins_words(p, k)) {
        dialog_page_write(p);
        return words_key(p, k);
    }
    if (is_typing(p, k))
        return pass_over(p, k);
    if (p->held && k->code == KEY_ENTER)
        return held_key(p);
    p->held = 0;
    if (k->code == KEY_TEXT && !k->mods && menu_is_letter(p->menu, k->text)) {
        p->held = k->text.ptr[0];
        p->held_ms = clock_mono_ms();
        return DIALOG_HELD;
    }
    act = page_key(p, k);
    return act == DIALOG_UNUSED && k->code == KEY_TEXT ? pass_over(p, k) : act;
}

int64_t dialog_page_due(const struct dialog_page *p)
{
    return p->held ? p->held_ms + DIALOG_HOLD_MS : -1;
}

enum dialog_act dialog_page_wake(struct dialog_page *p)
{
    return p->held && clock_mono_ms() >= dialog_page_due(p) ? held_key(p) : DIALOG_UNUSED;
}

void dialog_page_follow(struct dialog_page *p, const struct dialog_page *before)
{
    p->open_ms = before->open_ms;
    p->rest_ms = before->rest_ms;
    p->has_typed = before->has_typed;
}

void dialog_page_words(const struct dialog_page *p, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DIALOG_MAX_TEXT);

    if (!p->editor)
        return;
    editor_text(p->editor, &text);
    buf_add(ret, str_trim(buf_str(&text)));
}
