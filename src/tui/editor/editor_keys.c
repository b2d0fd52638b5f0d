/*
 * The editor's keys: a table of names and what they do, as emacs and readline taught us. UI thread.
 */
#include <string.h>

#include "base/mem.h"
#include "tui/editor/editor_layout.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"

static const struct str newline = STR_INIT("\n");

/* --- moving ---------------------------------------------------------------------------------- */

static enum editor_act key_left(struct editor *e)
{
    e->text.cursor = editor_move_prev(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_right(struct editor *e)
{
    e->text.cursor = editor_move_next(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_word_left(struct editor *e)
{
    e->text.cursor = editor_move_word_start(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_word_right(struct editor *e)
{
    e->text.cursor = editor_move_word_end(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_line_start(struct editor *e)
{
    e->text.cursor = editor_move_line_start(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_line_end(struct editor *e)
{
    e->text.cursor = editor_move_line_end(&e->text, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_text_start(struct editor *e)
{
    e->text.cursor = 0;
    return EDITOR_NOTHING;
}

static enum editor_act key_text_end(struct editor *e)
{
    e->text.cursor = e->text.bytes.len;
    return EDITOR_NOTHING;
}

bool editor_move_row(struct editor *e, int by)
{
    struct editor_text *t = &e->text;
    CLEANUP(editor_layout_release) struct editor_around around;
    struct editor_row row;

    editor_layout_around(t, t->cursor, e->width, 1, &around);
    if (by < 0 ? around.index == 0 : around.index + 1 >= around.rows.len)
        return false;
    if (e->goal_col < 0 || e->did != DID_MOVE_ROW)
        e->goal_col = editor_layout_column(t, around.rows.ptr[around.index], t->cursor, e->width);
    row = around.rows.ptr[by < 0 ? around.index - 1 : around.index + 1];
    t->cursor = editor_layout_place(t, row, e->goal_col, e->width);
    e->does = DID_MOVE_ROW;
    return true;
}

static enum editor_act key_up(struct editor *e)
{
    if (e->did == DID_GO_PAST || !editor_move_row(e, -1)) {
        if (editor_is_empty(e) && e->past.place == 0)
            return EDITOR_QUEUE;
        editor_go_past(e, 1);
    }
    return EDITOR_NOTHING;
}

static enum editor_act key_down(struct editor *e)
{
    if (e->did == DID_GO_PAST || !editor_move_row(e, 1))
        editor_go_past(e, -1);
    return EDITOR_NOTHING;
}

/* A window full: as many rows as were drawn would be right, a few are enough. */
static enum editor_act key_page(struct editor *e, int by)
{
    for (int i = 0; i < 10; i++) {
        if (!editor_move_row(e, by))
            break;
        e->did = DID_MOVE_ROW; /* the column is kept on the way */
    }
    return EDITOR_NOTHING;
}

static enum editor_act key_page_up(struct editor *e)
{
    return key_page(e, -1);
}

static enum editor_act key_page_down(struct editor *e)
{
    return key_page(e, 1);
}

/* --- changing -------------------------------------------------------------------------------- */

static void delete_range(struct editor *e, size_t from, size_t to)
{
    if (e->did != DID_DELETE)
        editor_step(e);
    e->does = DID_DELETE;
    editor_text_replace(&e->text, from, to, STR(""));
}

static enum editor_act key_backspace(struct editor *e)
{
    delete_range(e, editor_move_prev(&e->text, e->text.cursor), e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_delete(struct editor *e)
{
    delete_range(e, e->text.cursor, editor_move_next(&e->text, e->text.cursor));
    return EDITOR_NOTHING;
}

/* Nothing to delete: the app's key, which may mean the end. */
static enum editor_act key_ctrl_d(struct editor *e)
{
    return editor_is_empty(e) ? EDITOR_UNUSED : key_delete(e);
}

static enum editor_act key_newline(struct editor *e)
{
    editor_step(e);
    editor_text_replace(&e->text, e->text.cursor, e->text.cursor, newline);
    return EDITOR_NOTHING;
}

/* The two characters around the cursor change places; at the end of a line, the two before it. */
static enum editor_act key_transpose(struct editor *e)
{
    struct editor_text *t = &e->text;
    CLEANUP(buf_release) struct buf with = BUF_INIT(BUF_NO_LIMIT);
    size_t start = editor_move_line_start(t, t->cursor);
    size_t mid = t->cursor;
    size_t from, to;

    if (mid == editor_move_line_end(t, mid) && mid > start)
        mid = editor_move_prev(t, mid);
    if (mid == start)
        return EDITOR_NOTHING;
    from = editor_move_prev(t, mid);
    to = editor_move_next(t, mid);
    editor_step(e);
    buf_add(&with, str_make(t->bytes.ptr + mid, to - mid));
    buf_add(&with, str_make(t->bytes.ptr + from, mid - from));
    editor_text_replace(t, from, to, buf_str(&with));
    return EDITOR_NOTHING;
}

static enum editor_act key_undo(struct editor *e)
{
    editor_text_undo(&e->text);
    return EDITOR_NOTHING;
}

static enum editor_act key_redo(struct editor *e)
{
    editor_text_redo(&e->text);
    return EDITOR_NOTHING;
}

/* --- cutting and putting back ---------------------------------------------------------------- */

void editor_kill_range(struct editor *e, size_t from, size_t to)
{
    struct editor_text *t = &e->text;
    struct str text = str_first(str_from(editor_text_str(t), from), to - from);

    if (e->did == DID_KILL)
        editor_kills_join(&e->kills, text, /*before=*/to == t->cursor && from != to);
    else
        editor_kills_add(&e->kills, text, /*is_lines=*/false);
    editor_step(e);
    e->does = DID_KILL;
    editor_text_replace(t, from, to, STR(""));
}

static enum editor_act key_kill_end(struct editor *e)
{
    size_t end = editor_move_line_end(&e->text, e->text.cursor);

    if (end == e->text.cursor) /* the line end itself */
        end = editor_move_next(&e->text, end);
    editor_kill_range(e, e->text.cursor, end);
    return EDITOR_NOTHING;
}

static enum editor_act key_kill_start(struct editor *e)
{
    size_t start = editor_move_line_start(&e->text, e->text.cursor);

    if (start == e->text.cursor)
        start = editor_move_prev(&e->text, start);
    editor_kill_range(e, start, e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_kill_blank(struct editor *e)
{
    editor_kill_range(e, editor_move_blank_start(&e->text, e->text.cursor), e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_kill_word_left(struct editor *e)
{
    editor_kill_range(e, editor_move_word_start(&e->text, e->text.cursor), e->text.cursor);
    return EDITOR_NOTHING;
}

static enum editor_act key_kill_word_right(struct editor *e)
{
    editor_kill_range(e, e->text.cursor, editor_move_word_end(&e->text, e->text.cursor));
    return EDITOR_NOTHING;
}

static void put_back(struct editor *e, size_t from, const struct editor_kill *k)
{
    if (!k)
        return;
    editor_step(e);
    editor_text_replace(&e->text, from, e->text.cursor, str_make(k->text, k->len));
    e->yanked_from = from;
    e->does = DID_YANK;
}

static enum editor_act key_yank(struct editor *e)
{
    put_back(e, e->text.cursor, editor_kills_get(&e->kills, false));
    return EDITOR_NOTHING;
}

static enum editor_act key_yank_older(struct editor *e)
{
    if (e->did == DID_YANK)
        put_back(e, e->yanked_from, editor_kills_get(&e->kills, true));
    return EDITOR_NOTHING;
}

/* --- earlier prompts ------------------------------------------------------------------------- */

/* The draft, including folded pastes. */
static void put_bytes(struct editor *e, struct str bytes)
{
    editor_text_step(&e->text);
    editor_text_replace(&e->text, 0, e->text.bytes.len, bytes);
    editor_text_step(&e->text);
}

void editor_go_past(struct editor *e, int by)
{
    struct editor_past *p = &e->past;
    size_t place = by > 0 ? p->place + 1 : p->place - 1;

    e->does = DID_GO_PAST;
    if (by < 0 && !p->place) {
        e->does = DID_OTHER;
        return;
    }
    if (!place) {
        p->place = 0;
        put_bytes(e, buf_str(&p->draft));
        return;
    }
    if (!p->place) {
        buf_clear(&p->draft);
        buf_add(&p->draft, editor_text_str(&e->text));
    }
    if (editor_recall(e, place - 1))
        p->place = place;
}

static enum editor_act key_older(struct editor *e)
{
    editor_go_past(e, 1);
    return EDITOR_NOTHING;
}

static enum editor_act key_newer(struct editor *e)
{
    editor_go_past(e, -1);
    return EDITOR_NOTHING;
}

static enum editor_act key_search(struct editor *e)
{
    editor_search_open(&e->search);
    return EDITOR_NOTHING;
}

/* --- the rest -------------------------------------------------------------------------------- */

/* Put aside for another prompt, and back again. */
static enum editor_act key_stash(struct editor *e)
{
    if (!editor_is_empty(e)) {
        buf_clear(&e->stash);
        editor_text_whole(&e->text, &e->stash);
        editor_set_whole(e, STR(""));
    } else if (e->stash.len) {
        editor_insert(e, buf_str(&e->stash));
        buf_clear(&e->stash);
    }
    return EDITOR_NOTHING;
}

static enum editor_act key_open(struct editor *e)
{
    (void)e;
    return EDITOR_OPEN;
}

static enum editor_act key_prefix(struct editor *e)
{
    e->is_prefixed = true;
    return EDITOR_NOTHING;
}

/* A backslash before the cursor makes it a new line. */
static enum editor_act key_enter(struct editor *e)
{
    struct editor_text *t = &e->text;

    if (t->cursor && t->bytes.ptr[t->cursor - 1] == '\\') {
        editor_step(e);
        editor_text_replace(t, t->cursor - 1, t->cursor, newline);
        return EDITOR_NOTHING;
    }
    return editor_is_empty(e) ? EDITOR_UNUSED : EDITOR_SEND;
}

/* Closed by Esc, or never opened: the list again. */
static enum editor_act key_tab(struct editor *e)
{
    e->list.was_closed = false;
    editor_list_look(&e->list, &e->text);
    return editor_list_shows(&e->list) ? EDITOR_NOTHING : EDITOR_UNUSED;
}

static const struct {
    const char *name;
    enum editor_act (*run)(struct editor *e);
} keys[] = {
    {"left", key_left},
    {"right", key_right},
    {"up", key_up},
    {"down", key_down},
    {"home", key_line_start},
    {"end", key_line_end},
    {"pageup", key_page_up},
    {"pagedown", key_page_down},
    {"ctrl+b", key_left},
    {"ctrl+f", key_right},
    {"ctrl+p", key_up},
    {"ctrl+n", key_down},
    {"ctrl+a", key_line_start},
    {"ctrl+e", key_line_end},
    {"ctrl+left", key_word_left},
    {"ctrl+right", key_word_right},
    {"alt+left", key_word_left},
    {"alt+right", key_word_right},
    {"alt+b", key_word_left},
    {"alt+f", key_word_right},
    {"ctrl+home", key_text_start},
    {"ctrl+end", key_text_end},
    {"alt+shift+,", key_text_start},
    {"alt+shift+.", key_text_end},
    {"alt+<", key_text_start},
    {"alt+>", key_text_end},
    {"ctrl+up", key_older},
    {"ctrl+down", key_newer},
    {"alt+p", key_older},
    {"alt+n", key_newer},
    {"ctrl+r", key_search},

    {"enter", key_enter},
    {"alt+enter", key_newline},
    {"shift+enter", key_newline},
    {"ctrl+enter", key_newline},
    {"ctrl+j", key_newline},
    {"tab", key_tab},
    {"backspace", key_backspace},
    {"shift+backspace", key_backspace},
    {"ctrl+h", key_backspace},
    {"delete", key_delete},
    {"ctrl+d", key_ctrl_d},
    {"ctrl+t", key_transpose},
    {"ctrl+k", key_kill_end},
    {"ctrl+u", key_kill_start},
    {"ctrl+w", key_kill_blank},
    {"alt+d", key_kill_word_right},
    {"alt+delete", key_kill_word_right},
    {"ctrl+delete", key_kill_word_right},
    {"alt+backspace", key_kill_word_left},
    {"ctrl+alt+h", key_kill_word_left},
    {"ctrl+backspace", key_kill_word_left},
    {"ctrl+y", key_yank},
    {"alt+y", key_yank_older},
    {"ctrl+_", key_undo},
    {"ctrl+/", key_undo},
    {"ctrl+x ctrl+u", key_undo},
    {"alt+_", key_redo},
    {"ctrl+alt+_", key_redo},
    {"ctrl+x ctrl+r", key_redo},
    {"ctrl+x", key_prefix},
    {"ctrl+g", key_open},
    {"ctrl+x ctrl+e", key_open},
    {"ctrl+s", key_stash},
};

bool editor_keys_run(struct editor *e, enum editor_act *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_is(buf_str(&e->name), keys[i].name)) {
            *ret = keys[i].run(e);
            return true;
        }
    }
    return false;
}
