/*
 * dialog_pick: a list to choose from, with a preview of the choice: /resume, /model, /theme and all
 * commands that offer a choice. A wide window has the preview on the right, a narrow one below the
 * list. UI thread.
 */
#include "tui/dialog/dialog_pick.h"

#include <string.h>

#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define WIDE_COLS 90     /* list and preview beside each other */
#define MIN_LIST_ROWS 3  /* before a preview is shown below it */
#define MAX_LIST_ROWS 30 /* a list that fills the window is hard to read */
#define NOTE_ROWS 6      /* fewer, and there is no note */

struct pick_list {
    struct dialog_pick pick;
    struct menu *menu;
    bool has_preview;
};

/* ---- a pick, kept ---- */

void *dialog_pick_make(size_t size, const struct pick *pick)
{
    struct dialog_pick *d = mem_zalloc(size);
    struct arena *arena = &d->arena;
    struct choice *choices;

    d->arena = (struct arena)ARENA_INIT;
    d->pick = *pick;
    d->pick.title = arena_str(arena, pick->title);
    d->pick.note = arena_str(arena, pick->note);
    d->pick.low = arena_str(arena, pick->low);
    d->pick.high = arena_str(arena, pick->high);
    choices = arena_zalloc(arena, sizeof(*choices) * (pick->count + 1));
    for (size_t i = 0; i < pick->count; i++) {
        choices[i] = pick->choices[i];
        choices[i].label = arena_str(arena, pick->choices[i].label);
        choices[i].detail = arena_str(arena, pick->choices[i].detail);
        choices[i].preview = arena_str(arena, pick->choices[i].preview);
    }
    d->pick.choices = choices;
    d->at = pick->at < pick->count ? pick->at : 0;
    if (pick->ret_key)
        *pick->ret_key = pick->key_count;
    return d;
}

/* At most a third of the window. */
void dialog_note(const struct view *v, struct str note, struct lines *ret)
{
    struct lines rows = LINES_INIT;

    if (note.len)
        dialog_text(v, ROLE_FAINT, note, &rows);
    for (size_t i = 0; i < lines_count(&rows) && i < (size_t)v->rows / 3; i++)
        lines_add(ret, lines_at(&rows, i));
    lines_release(&rows);
}

void dialog_pick_free(struct panel *p)
{
    struct dialog_pick *d = (struct dialog_pick *)p;

    arena_release(&d->arena);
    mem_freep(&d);
}

/* ---- drawing ---- */

/* A bit of everything that a theme has colors for. */
static void draw_sample(const struct view *v, struct lines *ret)
{
    static const struct {
        enum style_role role;
        const char *text;
        bool ends;
    } words[] = {
        {ROLE_ACCENT, "> ", false},
        {ROLE_SAID, "Make the greeting polite", true},
        {ROLE_HEADING, "What changed", true},
        {ROLE_TEXT, "The word comes from ", false},
        {ROLE_CODE, "greeting()", false},
        {ROLE_TEXT, " now.", true},
        {ROLE_KEYWORD, "return ", false},
        {ROLE_STRING, "\"Hello\"", false},
        {ROLE_TEXT, "; ", false},
        {ROLE_COMMENT, "/* polite */", true},
        {ROLE_REMOVED, "- puts(\"Hey\");", true},
        {ROLE_ADDED, "+ puts(greeting());", true},
        {ROLE_GOOD, "passed  ", false},
        {ROLE_WARNING, "warning  ", false},
        {ROLE_BAD, "failed  ", false},
        {ROLE_FAINT, "12 s", true},
    };
    struct lines row = LINES_INIT;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        lines_puts(&row, words[i].role, words[i].text);
        if (!words[i].ends)
            continue;
        lines_end(&row);
        lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
        lines_clear(&row);
    }
    lines_release(&row);
}

static void make_preview(const struct pick_list *l, const struct view *v, struct lines *ret)
{
    size_t at = menu_at(l->menu);

    if (at == MENU_NOWHERE)
        return;
    if (l->pick.pick.look == PICK_THEME) {
        draw_sample(v, ret);
        return;
    }
    dialog_text(v, ROLE_FAINT, str_clip(l->pick.pick.choices[at].preview, 64 << 10), ret);
}

/* Row by row: the list, a bar, the preview. */
static void draw_beside(struct pick_list *l, const struct view *v, struct lines *ret,
                        struct screen_cursor *ret_cursor)
{
    struct lines list = LINES_INIT;
    struct lines preview = LINES_INIT;
    struct view left = *v;
    struct view right = *v;
    struct screen_cursor cursor = {0};
    size_t rows;

    left.cols = v->cols * 2 / 5;
    right.cols = v->cols - left.cols - 3;
    menu_draw(l->menu, &left, &list, &cursor);
    make_preview(l, &right, &preview);
    if (cursor.shown) {
        *ret_cursor = cursor;
        ret_cursor->row += lines_count(ret);
    }
    rows = lines_count(&list) > lines_count(&preview) ? lines_count(&list) : lines_count(&preview);
    for (size_t i = 0; i < rows && i < (size_t)v->rows; i++) {
        if (i < lines_count(&list))
            lines_put_line(ret, lines_at(&list, i));
        lines_spaces(ret, STYLE(ROLE_TEXT), left.cols + 1 - lines_column(ret));
        lines_puts(ret, ROLE_FAINT, v->ascii ? "| " : "│ ");
        if (i < lines_count(&preview))
            lines_put_line(ret, lines_at(&preview, i));
        lines_end(ret);
    }
    lines_release(&list);
    lines_release(&preview);
}

static void draw_below(struct pick_list *l, const struct view *v, struct lines *ret,
                       struct screen_cursor *ret_cursor)
{
    struct lines list = LINES_INIT;
    struct lines preview = LINES_INIT;
    struct view part = *v;
    struct screen_cursor cursor = {0};
    size_t room;

    if (l->has_preview && v->rows > 3 * MIN_LIST_ROWS)
        part.rows = v->rows / 2;
    menu_draw(l->menu, &part, &list, &cursor);
    if (cursor.shown) {
        *ret_cursor = cursor;
        ret_cursor->row += lines_count(ret);
    }
    lines_add_all(ret, &list);
    room = (size_t)v->rows > lines_count(&list) + 1 ? (size_t)v->rows - lines_count(&list) - 1 : 0;
    if (l->has_preview && room >= MIN_LIST_ROWS) {
        make_preview(l, v, &preview);
        if (lines_count(&preview) && v->cols > 8) {
            lines_puts(ret, ROLE_FAINT, v->plain ? "Preview:" : v->ascii ? "--" : "──");
            lines_end(ret);
        }
        for (size_t i = 0; i < lines_count(&preview) && i < room; i++)
            lines_add(ret, lines_at(&preview, i));
    }
    lines_release(&list);
    lines_release(&preview);
}

static const char *key_shown(const char *key)
{
    return strcmp(key, "shift+tab") == 0 ? "Shift-Tab" : key;
}

static void pick_draw(struct panel *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    struct pick_list *l = (struct pick_list *)p;
    struct lines keys = LINES_INIT;
    struct view part = *v;
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);

    if (!v->plain)
        buf_addf(&text, "Enter %s%s", l->pick.pick.enter ? l->pick.pick.enter : "choose",
                 dialog_dot(v));
    for (size_t i = 0; i < l->pick.pick.key_count; i++)
        buf_addf(&text, "%s %s%s", key_shown(l->pick.pick.keys[i].key), l->pick.pick.keys[i].does,
                 dialog_dot(v));
    buf_adds(&text, "Esc cancel");
    dialog_title(v, ROLE_ACCENT, l->pick.pick.title, ret);
    if (v->rows > NOTE_ROWS)
        dialog_note(v, l->pick.pick.note, ret);
    dialog_keys(v, buf_str(&text), &keys);
    if (v->plain && v->rows > 1)
        menu_prompt(l->menu, v, &keys);
    part.rows = v->rows - (int)lines_count(ret) - (int)lines_count(&keys);
    part.rows = part.rows > MAX_LIST_ROWS ? MAX_LIST_ROWS : part.rows > 1 ? part.rows : 1;
    if (l->has_preview && v->cols >= WIDE_COLS && !v->plain)
        draw_beside(l, &part, ret, ret_cursor);
    else
        draw_below(l, &part, ret, ret_cursor);
    lines_add_all(ret, &keys);
    lines_release(&keys);
}

/* ---- the panel ---- */

/* One of its own keys: it chooses as Enter does. */
static bool pick_own_key(struct pick_list *l, const struct keypress *k)
{
    const struct pick *pick = &l->pick.pick;

    for (size_t i = 0; i < pick->key_count; i++) {
        const char *key = pick->keys[i].key;
        bool is_it = key[1] ? keypress_is(k, key) : k->code == KEY_TEXT && str_is(k->text, key);

        if (!is_it || menu_at(l->menu) == MENU_NOWHERE)
            continue;
        *pick->ret_key = i;
        l->pick.at = menu_at(l->menu);
        return true;
    }
    return false;
}

static enum panel_state pick_one_key(struct pick_list *l, const struct keypress *k)
{
    if (pick_own_key(l, k))
        return PANEL_DONE;
    switch (menu_key(l->menu, k)) {
    case MENU_CHOSEN:
        l->pick.at = menu_at(l->menu);
        return PANEL_DONE;
    case MENU_USED:
        if (menu_at(l->menu) != MENU_NOWHERE)
            l->pick.at = menu_at(l->menu);
        return PANEL_OPEN;
    default:
        return dialog_is_escape(k) ? PANEL_LEFT : PANEL_OPEN;
    }
}

static enum panel_state pick_key(struct panel *p, const struct keypress *k)
{
    struct pick_list *l = (struct pick_list *)p;
    struct keypress one = *k;
    struct str rest = l->pick.pick.look == PICK_SEARCH ? STR("") : dialog_first_key(&one);
    enum panel_state state = pick_one_key(l, &one);

    while (rest.len && state == PANEL_OPEN) {
        one.text = rest;
        rest = dialog_first_key(&one);
        state = pick_one_key(l, &one);
    }
    return state;
}

static void pick_free(struct panel *p)
{
    menu_free(((struct pick_list *)p)->menu);
    dialog_pick_free(p);
}

static const struct panel_kind pick_kind = {
    .name = "pick",
    .draw = pick_draw,
    .key = pick_key,
    .free = pick_free,
};

static unsigned menu_flags(const struct pick *pick)
{
    if (pick->look == PICK_SEARCH)
        return MENU_FILTER;
    return pick->count <= 9 ? MENU_JUMP | MENU_NUMBERS : MENU_JUMP;
}

struct panel *dialog_pick_new(const struct pick *pick)
{
    struct pick_list *l;

    if (pick->look == PICK_SLIDER)
        return &dialog_slider_new(pick)->panel;
    l = dialog_pick_make(sizeof(*l), pick);
    l->pick.panel.kind = &pick_kind;
    l->menu = menu_new(menu_flags(pick));
    for (size_t i = 0; i < pick->count; i++) {
        const struct choice *c = &pick->choices[i];

        l->has_preview |= c->preview.len > 0;
        menu_add(l->menu, &(struct menu_row){.label = c->label,
                                             .detail = c->detail,
                                             .is_current = c->is_current,
                                             .is_off = c->is_off});
    }
    l->has_preview |= pick->look == PICK_THEME;
    menu_move_to(l->menu, l->pick.at);
    return &l->pick.panel;
}

size_t dialog_pick_at(struct panel *p)
{
    return ((struct dialog_pick *)p)->at;
}
