/*
 * dialog_slider: a few steps from left to right, as /effort has them.
 *
 *     Faster                                  Smarter
 *     ○─────────○─────────●─────────○─────────○
 *     low     medium    high      xhigh      max
 *                                   now
 *
 * Left, right, h, l, Home and End move and stop at the ends; Enter takes it, Esc, q and Ctrl-C
 * leave everything as it was. Where the labels do not fit, below 60 columns at the latest, and in
 * --plain, it is a list with the same keys (up and down, too). UI thread.
 */
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialog_pick.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define MIN_COLS 60
#define MIN_ROWS 10 /* fewer: a list, and nothing but it */
#define MAX_COLS 90 /* further apart one no longer sees a row */

static bool is_all_off(const struct dialog_pick *d)
{
    for (size_t i = 0; i < d->pick.count; i++) {
        if (!d->pick.choices[i].is_off)
            return false;
    }
    return true;
}

/* ---- drawing ---- */

struct track {
    const struct dialog_pick *of;
    const struct view *v;
    int cols; /* that it takes */
};

/* Where the i-th step is. */
static int step_at(const struct track *t, size_t i)
{
    size_t last = t->of->pick.count - 1;

    return last ? (int)((size_t)(t->cols - 1) * i / last) : 0;
}

/* Where a text begins that stands in the middle of a step, and stays inside. */
static int text_at(const struct track *t, size_t i, int width)
{
    int at = step_at(t, i) - width / 2;

    if (at + width > t->cols)
        at = t->cols - width;
    return at < 0 ? 0 : at;
}

static bool fits(const struct track *t)
{
    int end = -1;

    if (t->v->cols < MIN_COLS || t->v->plain || t->of->pick.count < 2)
        return false;
    for (size_t i = 0; i < t->of->pick.count; i++) {
        int width = width_of(t->of->pick.choices[i].label);
        int at = text_at(t, i, width);

        if (at <= end)
            return false;
        end = at + width;
    }
    return end <= t->v->cols;
}

static struct style step_style(const struct dialog_pick *d, size_t i)
{
    if (d->pick.choices[i].is_off)
        return STYLE(ROLE_FAINT);
    return i == d->at ? STYLE_WITH(ROLE_SELECTED, STYLE_BOLD) : STYLE(ROLE_TEXT);
}

static void draw_ends(const struct track *t, struct lines *ret)
{
    const struct pick *pick = &t->of->pick;
    int gap = t->cols - width_of(pick->low) - width_of(pick->high);

    if ((!pick->low.len && !pick->high.len) || gap < 1)
        return;
    lines_put(ret, STYLE(ROLE_FAINT), pick->low);
    lines_spaces(ret, STYLE(ROLE_FAINT), gap);
    lines_put(ret, STYLE(ROLE_FAINT), pick->high);
    lines_end(ret);
}

static void draw_steps(const struct track *t, struct lines *ret)
{
    const char *dash = t->v->ascii ? "-" : "─";
    const char *step = t->v->ascii ? "o" : "○";
    const char *here = t->v->ascii ? "#" : "●";
    bool is_off = is_all_off(t->of);

    for (size_t i = 0; i < t->of->pick.count; i++) {
        bool is_here = i == t->of->at && !is_off;

        while (lines_column(ret) < step_at(t, i))
            lines_puts(ret, ROLE_FAINT, dash);
        lines_puts(ret, is_here ? ROLE_ACCENT : ROLE_FAINT, is_here ? here : step);
    }
    lines_end(ret);
}

static void draw_labels(const struct track *t, struct lines *ret)
{
    for (size_t i = 0; i < t->of->pick.count; i++) {
        struct str label = t->of->pick.choices[i].label;

        lines_spaces(ret, STYLE(ROLE_TEXT), text_at(t, i, width_of(label)) - lines_column(ret));
        lines_put(ret, step_style(t->of, i), label);
    }
    lines_end(ret);
}

/* Below the one in force, when the cursor is elsewhere. The row is there in any case, so that
 * nothing jumps. */
static void draw_now(const struct track *t, struct lines *ret)
{
    for (size_t i = 0; i < t->of->pick.count; i++) {
        if (t->of->pick.choices[i].is_current && (i != t->of->at || is_all_off(t->of))) {
            lines_spaces(ret, STYLE(ROLE_TEXT), text_at(t, i, 3));
            lines_puts(ret, ROLE_GOOD, "now");
            break;
        }
    }
    lines_end(ret);
}

/* The rows around the cursor, as many as there is room for. */
static void draw_list(const struct dialog_pick *d, const struct view *v, size_t room,
                      struct lines *ret)
{
    struct lines row = LINES_INIT;
    size_t count = d->pick.count;
    size_t from = count <= room || d->at < room / 2 ? 0 : d->at - room / 2;

    if (from + room > count)
        from = count > room ? count - room : 0;
    for (size_t i = from; i < count && i < from + room; i++) {
        bool is_here = i == d->at && !is_all_off(d);

        lines_clear(&row);
        if (!v->plain)
            lines_puts(&row, ROLE_ACCENT, is_here ? (v->ascii ? "> " : "❯ ") : "  ");
        lines_put(&row, step_style(d, i), d->pick.choices[i].label);
        if (d->pick.choices[i].is_current)
            lines_puts(&row, ROLE_GOOD, " (now)");
        if (v->plain && d->pick.choices[i].is_off)
            lines_puts(&row, ROLE_FAINT, " (not available)");
        lines_end(&row);
        lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    }
    lines_release(&row);
}

static void draw_keys(const struct dialog_pick *d, const struct view *v, bool is_list,
                      struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);
    struct lines prompt = LINES_INIT;
    const char *dot = dialog_dot(v);
    const char *arrows = v->ascii || v->plain ? (is_list ? "arrows" : "left/right")
                         : is_list            ? "↑↓"
                                              : "←→";

    if (!is_all_off(d))
        buf_addf(&text, v->plain ? "%s move%s" : "%s move%sEnter choose%s", arrows, dot, dot);
    buf_adds(&text, "Esc cancel");
    dialog_keys(v, buf_str(&text), ret);
    if (!v->plain)
        return;
    buf_clear(&text);
    if (!is_all_off(d))
        buf_addf(&text, "Enter: %.*s", STR_ARG(str_clip(d->pick.choices[d->at].label, 100)));
    lines_put(&prompt, STYLE(ROLE_ACCENT), buf_str(&text));
    lines_end(&prompt);
    lines_add_cut(ret, lines_at(&prompt, 0), v->cols, v->ascii);
    lines_release(&prompt);
}

static void slider_draw(struct panel *p, const struct view *v, struct lines *ret,
                        struct screen_cursor *ret_cursor)
{
    struct dialog_pick *d = (struct dialog_pick *)p;
    struct track t = {.of = d, .v = v, .cols = v->cols < MAX_COLS ? v->cols : MAX_COLS};
    bool is_list = v->rows < MIN_ROWS || !fits(&t);
    struct lines below = LINES_INIT;
    size_t rows = v->rows > 0 ? (size_t)v->rows : 1;
    size_t used;

    (void)ret_cursor;
    dialog_title(v, ROLE_ACCENT, d->pick.title, ret);
    if (v->rows >= MIN_ROWS) {
        dialog_note(v, d->pick.note, ret);
        if (d->at < d->pick.count && !is_all_off(d))
            dialog_note(v, d->pick.choices[d->at].detail, &below);
    }
    draw_keys(d, v, is_list, &below);
    used = lines_count(ret) + lines_count(&below);
    if (is_list) {
        draw_list(d, v, rows > used ? rows - used : 1, ret);
    } else {
        draw_ends(&t, ret);
        draw_steps(&t, ret);
        draw_labels(&t, ret);
        draw_now(&t, ret);
    }
    for (size_t i = 0; i < lines_count(&below) && lines_count(ret) < rows; i++)
        lines_add(ret, lines_at(&below, i));
    lines_release(&below);
}

/* ---- keys ---- */

/* The next step that can be chosen; stays when there is none. */
static void move(struct dialog_pick *d, int by)
{
    size_t at = d->at;

    while (by < 0 ? at > 0 : at + 1 < d->pick.count) {
        at += by < 0 ? (size_t)-1 : 1;
        if (!d->pick.choices[at].is_off) {
            d->at = at;
            return;
        }
    }
}

static void move_far(struct dialog_pick *d, int by)
{
    for (size_t i = 0; i < d->pick.count; i++)
        move(d, by);
}

static bool is_typed(const struct keypress *k, const char *letters)
{
    return k->code == KEY_TEXT && k->text.len == 1 &&
           str_chr(str_of(letters), k->text.ptr[0]) < str_of(letters).len;
}

static enum panel_state slider_one_key(struct dialog_pick *d, const struct keypress *k)
{
    if (dialog_is_escape(k) || is_typed(k, "q"))
        return PANEL_LEFT;
    if (is_all_off(d))
        return PANEL_OPEN;
    if (k->code == KEY_ENTER)
        return d->pick.choices[d->at].is_off ? PANEL_OPEN : PANEL_DONE;
    if (k->code == KEY_LEFT || k->code == KEY_UP || is_typed(k, "hk"))
        move(d, -1);
    else if (k->code == KEY_RIGHT || k->code == KEY_DOWN || is_typed(k, "lj"))
        move(d, 1);
    else if (k->code == KEY_HOME)
        move_far(d, -1);
    else if (k->code == KEY_END)
        move_far(d, 1);
    return PANEL_OPEN;
}

static enum panel_state slider_key(struct panel *p, const struct keypress *k)
{
    struct dialog_pick *d = (struct dialog_pick *)p;
    struct keypress one = *k;
    struct str rest = dialog_first_key(&one);
    enum panel_state state = slider_one_key(d, &one);

    while (rest.len && state == PANEL_OPEN) {
        one.text = rest;
        rest = dialog_first_key(&one);
        state = slider_one_key(d, &one);
    }
    return state;
}

static const struct panel_kind slider_kind = {
    .name = "slider",
    .draw = slider_draw,
    .key = slider_key,
    .free = dialog_pick_free,
};

struct dialog_pick *dialog_slider_new(const struct pick *pick)
{
    struct dialog_pick *d = dialog_pick_make(sizeof(*d), pick);

    d->panel.kind = &slider_kind;
    return d;
}
