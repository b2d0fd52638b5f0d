/*
 * menu: rows, those that match, and keys. menu_draw.c shows them. UI thread.
 */
#include "tui/dialog/menu.h"

#include "tui/complete/fuzzy.h"
#include "tui/dialog/menu_state.h"
#include "tui/editor/search_text.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define MAX_FILTER 200 /* bytes */

struct menu *menu_new(unsigned flags)
{
    struct menu *m = mem_zalloc(sizeof(*m));

    m->flags = flags;
    m->arena = (struct arena)ARENA_INIT;
    m->filter = (struct buf)BUF_INIT(MAX_FILTER);
    m->scratch = (struct lines)LINES_INIT;
    m->scratch.shows_all = true;
    m->page = 1;
    return m;
}

void menu_free(struct menu *m)
{
    if (!m)
        return;
    arena_release(&m->arena);
    vec_release(&m->rows);
    vec_release(&m->seen);
    buf_release(&m->filter);
    lines_release(&m->scratch);
    mem_freep(&m);
}

const struct row *menu_row_seen(const struct menu *m, size_t i)
{
    return &m->rows.ptr[m->seen.ptr[i]];
}

static bool can_stand(const struct menu *m, size_t i)
{
    return !menu_row_seen(m, i)->is.is_off;
}

void menu_add(struct menu *m, const struct menu_row *row)
{
    struct row *r = vec_add(&m->rows);
    int cells;

    *r = (struct row){.is = *row};
    r->is.label = arena_str(&m->arena, row->label);
    r->is.detail = arena_str(&m->arena, row->detail);
    cells = width_of(row->label) + (row->is_current ? 2 : 0);
    m->widest = cells > m->widest ? cells : m->widest;
    vec_push(&m->seen, m->rows.len - 1);
    if (!can_stand(m, m->at) && !row->is_off)
        m->at = m->seen.len - 1; /* the first one that can be chosen */
}

size_t menu_count(const struct menu *m)
{
    return m->rows.len;
}

size_t menu_at(const struct menu *m)
{
    return m->at < m->seen.len ? m->seen.ptr[m->at] : MENU_NOWHERE;
}

void menu_move_to(struct menu *m, size_t row)
{
    for (size_t i = 0; i < m->seen.len; i++) {
        if (m->seen.ptr[i] == row && can_stand(m, i))
            m->at = i;
    }
}

bool menu_is_checked(const struct menu *m, size_t row)
{
    return row < m->rows.len && m->rows.ptr[row].is_checked;
}

void menu_check(struct menu *m, size_t row, bool on)
{
    if (row < m->rows.len)
        m->rows.ptr[row].is_checked = on;
}

/* ---- filter ---- */

/* Every word of it is somewhere in the row. */
static bool row_matches(const struct row *r, struct str filter)
{
    struct str word;

    while (str_cut(&filter, ' ', &word)) {
        if (search_text_find(r->is.label, word, NULL) == r->is.label.len && word.len &&
            search_text_find(r->is.detail, word, NULL) == r->is.detail.len)
            return false;
    }
    return true;
}

/* Rows in their own order, which is the caller's: newest first, mostly. Only where no row has the
 * words are letters enough, anywhere but in order. */
static void filter_again(struct menu *m)
{
    struct str filter = buf_str(&m->filter);

    m->seen.len = 0;
    m->at = m->top = 0;
    for (size_t i = 0; i < m->rows.len; i++) {
        if (row_matches(&m->rows.ptr[i], filter))
            vec_push(&m->seen, i);
    }
    m->is_fuzzy = !m->seen.len;
    for (size_t i = 0; m->is_fuzzy && i < m->rows.len; i++) {
        int score;

        if (fuzzy_match(filter, m->rows.ptr[i].is.label, &score))
            vec_push(&m->seen, i);
    }
    while (m->at < m->seen.len && !can_stand(m, m->at))
        m->at++;
    if (m->at == m->seen.len)
        m->at = 0;
}

static bool filter_key(struct menu *m, const struct keypress *k)
{
    struct buf *f = &m->filter;

    if (k->code == KEY_TEXT || k->code == KEY_PASTE) {
        struct str text = str_clip(k->text, MAX_FILTER - f->len);

        for (size_t i = 0; i < text.len; i++)
            buf_addc(f, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    } else if (k->code == KEY_BACKSPACE && f->len) {
        int cells;

        size_t len = width_prev(buf_str(f), f->len, &cells);

        buf_cut(f, f->len - len, len);
    } else if (keypress_is(k, "ctrl+u") || (k->code == KEY_ESCAPE && f->len)) {
        buf_clear(f);
    } else {
        return false;
    }
    filter_again(m);
    return true;
}

/* ---- moving ---- */

/* So many rows on (or back), past those that are off; stays where there is none. */
static void move_by(struct menu *m, long by)
{
    size_t at = m->at;
    size_t left = (size_t)(by < 0 ? -by : by);

    while (left) {
        if (by < 0 ? at == 0 : at + 1 >= m->seen.len)
            break;
        at += by < 0 ? (size_t)-1 : 1;
        left--;
        if (can_stand(m, at))
            m->at = at;
        else
            left++; /* one that is off does not count */
    }
}

static bool move_key(struct menu *m, const struct keypress *k)
{
    long page = m->page > 1 ? (long)m->page - 1 : 1;

    if (k->code == KEY_UP || keypress_is(k, "ctrl+p"))
        move_by(m, -1);
    else if (k->code == KEY_DOWN || keypress_is(k, "ctrl+n"))
        move_by(m, 1);
    else if (k->code == KEY_PAGE_UP)
        move_by(m, -page);
    else if (k->code == KEY_PAGE_DOWN)
        move_by(m, page);
    else if (k->code == KEY_HOME)
        move_by(m, -(long)m->seen.len);
    else if (k->code == KEY_END)
        move_by(m, (long)m->seen.len);
    else
        return false;
    return true;
}

static bool is_letter(struct str label, struct str typed)
{
    return typed.len == 1 && label.len && str_eq_nocase(str_first(label, 1), typed);
}

static bool jump_key(struct menu *m, struct str typed)
{
    for (size_t n = 1; n <= m->seen.len; n++) {
        size_t i = (m->at + n) % m->seen.len;

        if (can_stand(m, i) && is_letter(menu_row_seen(m, i)->is.label, typed)) {
            m->at = i;
            return true;
        }
    }
    return false;
}

/* Enter on it, or its number or letter. */
static enum menu_act choose(struct menu *m, size_t i, bool by_enter)
{
    struct row *r;

    if (i >= m->seen.len || !can_stand(m, i))
        return MENU_USED;
    m->at = i;
    r = &m->rows.ptr[m->seen.ptr[i]];
    if (m->flags & MENU_CHECKS && !r->is.no_check && !by_enter) {
        r->is_checked = !r->is_checked;
        return MENU_USED;
    }
    return MENU_CHOSEN;
}

/* The row that a letter chooses. */
static size_t row_of_letter(const struct menu *m, struct str typed)
{
    for (size_t i = 0; i < m->seen.len; i++) {
        char letter = menu_row_seen(m, i)->is.letter;

        if (letter && is_letter(str_make(&letter, 1), typed))
            return i;
    }
    return MENU_NOWHERE;
}

bool menu_is_letter(const struct menu *m, struct str typed)
{
    return row_of_letter(m, typed) != MENU_NOWHERE;
}

static enum menu_act text_key(struct menu *m, struct str typed)
{
    if (typed.len != 1)
        return MENU_UNUSED;
    if (m->flags & MENU_CHECKS && typed.ptr[0] == ' ')
        return choose(m, m->at, /*by_enter=*/false);
    if (m->flags & MENU_NUMBERS && typed.ptr[0] >= '1' && typed.ptr[0] <= '9')
        return choose(m, (size_t)(typed.ptr[0] - '1'), /*by_enter=*/false);
    if (menu_is_letter(m, typed))
        return choose(m, row_of_letter(m, typed), /*by_enter=*/false);
    if (m->flags & MENU_JUMP && jump_key(m, typed))
        return MENU_USED;
    return MENU_UNUSED;
}

enum menu_act menu_key(struct menu *m, const struct keypress *k)
{
    if (m->flags & MENU_FILTER && filter_key(m, k))
        return MENU_USED;
    if (move_key(m, k))
        return MENU_USED;
    if (k->code == KEY_ENTER && !k->mods)
        return choose(m, m->at, /*by_enter=*/true);
    if (k->code == KEY_TEXT && !k->mods)
        return text_key(m, k->text);
    return MENU_UNUSED;
}
