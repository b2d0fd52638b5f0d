/*
 * Vim's modes. A command is gathered key by key (count, operator, count, motion) and carried out
 * when it is complete; the keys of the last one that changed something are kept, and "." presses
 * them again. A whole command is one undo step, including text typed in insert mode. UI thread.
 */
#include "tui/editor/editor_vim.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/width.h"

#define MAX_RECORDED 10000 /* keys; a longer command cannot be repeated */
#define MAX_RECORDED_TEXT ((size_t)1 << 20)

void editor_vim_init(struct editor_vim *v, bool is_on)
{
    *v = (struct editor_vim){.is_on = is_on, .mode = VIM_INSERT, .goal_col = -1};
    buf_init(&v->recorded.text, MAX_RECORDED_TEXT);
    buf_init(&v->last.text, MAX_RECORDED_TEXT);
}

void editor_vim_release(struct editor_vim *v)
{
    vec_release(&v->recorded.keys);
    vec_release(&v->last.keys);
    buf_release(&v->recorded.text);
    buf_release(&v->last.text);
}

/* --- modes ----------------------------------------------------------------------------------- */

bool editor_vim_inserts(const struct editor_vim *v)
{
    return v->is_on && (v->mode == VIM_INSERT || v->is_repeating);
}

/* In the middle of a command. */
static bool is_pending(const struct editor_vim *v)
{
    return v->op || v->wait || v->count || v->op_count;
}

bool editor_vim_wants_escape(const struct editor_vim *v)
{
    return v->is_on && (v->mode != VIM_NORMAL || is_pending(v));
}

const char *editor_vim_name(const struct editor_vim *v)
{
    static const char *const names[] = {"INSERT", "NORMAL", "VISUAL", "VISUAL LINE"};

    return v->is_on ? names[v->mode] : NULL;
}

static void vim_reset(struct editor_vim *v)
{
    v->count = v->op_count = 0;
    v->op = v->wait = 0;
}

void editor_vim_sent(struct editor_vim *v)
{
    vim_reset(v);
    v->mode = VIM_INSERT;
    v->is_recording = false;
}

void vim_insert(struct editor *e)
{
    vim_reset(&e->vim);
    e->vim.mode = VIM_INSERT;
}

void editor_vim_settle(struct editor *e)
{
    struct editor_text *t = &e->text;
    size_t at = t->cursor;

    if (e->vim.is_on && e->vim.mode != VIM_INSERT && at == editor_move_line_end(t, at) &&
        at > editor_move_line_start(t, at))
        t->cursor = editor_move_prev(t, at);
}

void vim_normal(struct editor *e)
{
    struct editor_text *t = &e->text;

    if (e->vim.mode == VIM_INSERT && t->cursor > editor_move_line_start(t, t->cursor))
        t->cursor = editor_move_prev(t, t->cursor);
    vim_reset(&e->vim);
    e->vim.mode = VIM_NORMAL;
}

/* --- motions --------------------------------------------------------------------------------- */

/* dw at the end of a line does not take the line's end. */
static size_t vim_stop_at_line(const struct editor *e, size_t from, size_t to)
{
    const struct editor_text *t = &e->text;
    size_t at = to;

    while (at > from && editor_move_class(t, at - 1) == CLASS_SPACE) {
        at--;
        if (t->bytes.ptr[at] == '\n')
            to = at;
    }
    return to;
}

static size_t vim_spaces_end(const struct editor_text *t, size_t at)
{
    size_t end = editor_move_line_end(t, at);

    while (at < end && editor_move_class(t, at) == CLASS_SPACE)
        at++;
    return at;
}

/* The operator on [from, to), as vim bends it where the range has several lines. */
static void vim_over(struct editor *e, char op, size_t from, size_t to, bool is_exclusive)
{
    const struct editor_text *t = &e->text;
    bool at_start = from <= editor_move_indent(t, from);
    bool lines = false;

    if (is_exclusive && to > from && to == editor_move_line_start(t, to)) {
        to--; /* the line it ends before stays a line: d}, c}, di{ */
        lines = at_start && to > from;
    }
    if (to <= from && op != 'c')
        return; /* nothing to cut, and the register stays */
    if (op == 'd' && at_start && to > editor_move_line_end(t, from) &&
        vim_spaces_end(t, to) == editor_move_line_end(t, to))
        lines = true; /* all that these lines have */
    if (lines || op == '>' || op == '<')
        vim_operate_lines(e, op, from, to);
    else
        vim_operate(e, op, from, to, /*lines=*/false);
}

/* Where a motion leads: the cursor goes there, or the operator works up to there. */
static void vim_go(struct editor *e, char key, enum vim_reach reach, size_t to)
{
    struct editor_vim *v = &e->vim;
    struct editor_text *t = &e->text;
    size_t from = t->cursor;
    char op = v->op;

    vim_reset(v);
    if (reach == REACH_NONE)
        return;
    if (!op) {
        t->cursor = to;
        return;
    }
    if (reach == REACH_LINES) {
        vim_operate_lines(e, op, from, to);
        return;
    }
    if (to < from) {
        size_t swap = from;

        from = to;
        to = swap;
    }
    if (reach == REACH_OVER)
        to = editor_move_next(t, to);
    if (key == 'w' || key == 'W')
        to = vim_stop_at_line(e, from, to);
    vim_over(e, op, from, to, reach == REACH_TO);
}

/* --- single commands ------------------------------------------------------------------------- */

static unsigned vim_times(const struct editor_vim *v)
{
    unsigned count = (v->count ? v->count : 1) * (v->op_count ? v->op_count : 1);

    return count < VIM_MAX_COUNT ? count : VIM_MAX_COUNT;
}

/* The place so many characters on, in the same line. */
static size_t vim_chars(const struct editor *e, unsigned count)
{
    size_t end = editor_move_line_end(&e->text, e->text.cursor);
    size_t at = e->text.cursor;

    while (count-- && at < end)
        at = editor_move_next(&e->text, at);
    return at;
}

static void vim_open_line(struct editor *e, bool below)
{
    struct editor_text *t = &e->text;
    size_t at = below ? editor_move_line_end(t, t->cursor) : editor_move_line_start(t, t->cursor);

    editor_text_replace(t, at, at, STR("\n"));
    t->cursor = below ? at + 1 : at;
    vim_insert(e);
}

static void vim_undo(struct editor *e, unsigned count, bool again)
{
    while (count-- && (again ? editor_text_redo(&e->text) : editor_text_undo(&e->text)))
        ;
    e->vim.is_recording = false; /* not what "." repeats */
}

/* --- "." ------------------------------------------------------------------------------------- */

static void keys_clear(struct vim_keys *k)
{
    k->keys.len = 0;
    buf_clear(&k->text);
}

static void vim_record(struct editor_vim *v, const struct keypress *k)
{
    struct vim_keys *r = &v->recorded;

    if (!v->is_recording)
        return;
    vec_push(&r->keys, ((struct vim_key){*k, r->text.len}));
    buf_add(&r->text, k->text);
    if (r->text.over || r->keys.len > MAX_RECORDED)
        v->is_recording = false;
}

static enum editor_act vim_one(struct editor *e, const struct keypress *k);

static void vim_repeat(struct editor *e, unsigned count)
{
    struct vim_keys keys = e->vim.last;

    e->vim.is_recording = false;
    if (e->vim.is_repeating || !keys.keys.len)
        return;
    e->vim.last = (struct vim_keys){.text = BUF_INIT(MAX_RECORDED_TEXT)};
    e->vim.is_repeating = true;
    while (count--) {
        VEC_EACH(&keys.keys, r) {
            struct keypress k = r->key;

            k.text = str_first(str_from(buf_str(&keys.text), r->text_at), k.text.len);
            vim_one(e, &k);
        }
        vim_normal(e);
    }
    e->vim.is_repeating = false;
    e->vim.last = keys;
}

/* --- commands -------------------------------------------------------------------------------- */

/* The character that f, t, r, g, i, a or " waited for. */
static void vim_awaited(struct editor *e, struct str c)
{
    struct editor_vim *v = &e->vim;
    struct editor_text *t = &e->text;
    unsigned count = vim_times(v);
    char wait = v->wait;
    char op = v->op;
    char key = c.len == 1 ? c.ptr[0] : 0;
    enum vim_reach reach;
    size_t from = 0, to = 0;

    v->wait = 0;
    switch (wait) {
    case '"': /* a register: there is one, and the command comes yet */
        return;
    case 'r':
        vim_reset(v);
        if (editor_vim_selection(e, &from, &to)) {
            vim_normal(e);
            vim_replace_chars(e, from, to, c);
            t->cursor = from;
        } else if (vim_chars(e, count) > t->cursor) {
            vim_replace_chars(e, t->cursor, vim_chars(e, count), c);
        }
        return;
    case 'g':
        reach = key == 'g' ? vim_motion(v, t, 'g', v->count ? count : 0, &to) : REACH_NONE;
        vim_go(e, 'g', reach, to);
        return;
    case 'i':
    case 'a':
        if (!vim_object(t, wait, key, count, &from, &to) || to < from) {
            vim_reset(v);
            return;
        }
        vim_reset(v);
        if (op && key == 'p') {
            t->cursor = from;
            vim_operate_lines(e, op, from, editor_move_prev(t, to));
        } else if (op) {
            vim_over(e, op, from, to, /*is_exclusive=*/true);
        } else if (to > from) {
            v->anchor = from;
            t->cursor = editor_move_prev(t, to);
            if (key == 'p')
                v->mode = VIM_VISUAL_LINE;
        }
        return;
    default: /* f F t T */
        v->find = wait;
        v->find_len = c.len < VIM_MAX_CHAR ? c.len : 0;
        memcpy(v->find_char, c.ptr, v->find_len);
        reach = vim_find(v, t, wait, count, &to);
        vim_go(e, wait, reach, to);
        return;
    }
}

/* A command of normal mode that is complete with one key. False: there is none of that name. */
static bool vim_command(struct editor *e, char key)
{
    struct editor_vim *v = &e->vim;
    struct editor_text *t = &e->text;
    unsigned count = vim_times(v);
    size_t at = t->cursor;
    size_t start = editor_move_line_start(t, at);
    size_t end = editor_move_line_end(t, at);

    vim_reset(v);
    switch (key) {
    case 'i':
        vim_insert(e);
        return true;
    case 'a':
        t->cursor = at < end ? editor_move_next(t, at) : at;
        vim_insert(e);
        return true;
    case 'I':
        t->cursor = editor_move_indent(t, at);
        vim_insert(e);
        return true;
    case 'A':
        t->cursor = end;
        vim_insert(e);
        return true;
    case 'o':
    case 'O':
        vim_open_line(e, key == 'o');
        return true;
    case 'x':
        if (at < end)
            vim_operate(e, 'd', at, vim_chars(e, count), false);
        return true;
    case 'X':
        for (; count-- && at > start;)
            at = editor_move_prev(t, at);
        if (at < t->cursor)
            vim_operate(e, 'd', at, t->cursor, false);
        return true;
    case 's':
        vim_operate(e, 'c', at, vim_chars(e, count), false);
        return true;
    case 'S':
        vim_operate(e, 'c', start, end, true);
        return true;
    case 'D':
        vim_operate(e, 'd', at, end, false);
        return true;
    case 'C':
        vim_operate(e, 'c', at, end, false);
        return true;
    case 'Y':
        vim_yank(e, start, end, true);
        return true;
    case 'p':
    case 'P':
        vim_put(e, key == 'p', count);
        return true;
    case 'u':
        vim_undo(e, count, /*again=*/false);
        return true;
    case '~':
        vim_change_case(e, at, vim_chars(e, count), CASE_OTHER);
        return true;
    case 'J':
        vim_join(e, count);
        return true;
    case '.':
        vim_repeat(e, count);
        return true;
    case 'v':
    case 'V':
        v->mode = key == 'v' ? VIM_VISUAL : VIM_VISUAL_LINE;
        v->anchor = at;
        return true;
    case '/':
        editor_search_open(&e->search);
        return true;
    default:
        return false;
    }
}

/* dd, yy, cc, >>, <<: so many lines from here. */
static void vim_whole_lines(struct editor *e, char op, unsigned count)
{
    struct editor_text *t = &e->text;
    size_t to = editor_move_line_end(t, t->cursor);

    while (--count && to < t->bytes.len)
        to = editor_move_line_end(t, to + 1);
    vim_operate_lines(e, op, t->cursor, to);
}

/* j and k leave the text where it ends: earlier prompts. */
static enum editor_act vim_leave(struct editor *e, char key)
{
    if (key == 'k' && editor_is_empty(e) && !e->past.place)
        return EDITOR_QUEUE;
    editor_go_past(e, key == 'k' ? 1 : -1);
    return EDITOR_NOTHING;
}

static enum editor_act vim_char(struct editor *e, struct str c)
{
    struct editor_vim *v = &e->vim;
    char key = c.len == 1 ? c.ptr[0] : 0;
    enum vim_reach reach;
    unsigned count;
    size_t to = 0;

    if (v->wait) {
        vim_awaited(e, c);
        return EDITOR_NOTHING;
    }
    if ((key >= '1' && key <= '9') || (key == '0' && v->count)) {
        v->count = v->count * 10 + (unsigned)(key - '0');
        if (v->count > VIM_MAX_COUNT)
            v->count = VIM_MAX_COUNT;
        return EDITOR_NOTHING;
    }
    if (v->op && key == v->op) {
        count = vim_times(v);
        vim_reset(v);
        vim_whole_lines(e, key, count);
        return EDITOR_NOTHING;
    }
    if (key == '"' && !v->op) {
        v->wait = key;
        return EDITOR_NOTHING;
    }
    if (key && (strchr("fFtTg", key) || ((v->op || vim_is_visual(v)) && strchr("ia", key)) ||
                (key == 'r' && !v->op && !vim_is_visual(v)))) {
        v->wait = key;
        return EDITOR_NOTHING;
    }
    if (!v->op && vim_is_visual(v) && vim_on_selection(e, key))
        return EDITOR_NOTHING;
    if (key && strchr("dcy><", key) && !v->op && !vim_is_visual(v)) {
        v->op = key;
        v->op_count = v->count;
        v->count = 0;
        return EDITOR_NOTHING;
    }
    if ((key == 'w' || key == 'W') && v->op == 'c' &&
        editor_move_class(&e->text, e->text.cursor) != CLASS_NONE &&
        editor_move_class(&e->text, e->text.cursor) != CLASS_SPACE) {
        /* cw changes the word, not the space after it */
        to = vim_word_rest(&e->text, vim_times(v), key == 'W');
        vim_go(e, 'e', REACH_OVER, to);
        return EDITOR_NOTHING;
    }
    count = v->count || v->op_count ? vim_times(v) : 0;
    reach = vim_motion(v, &e->text, key, count, &to);
    if (reach == REACH_NONE && !v->op && v->mode == VIM_NORMAL && (key == 'j' || key == 'k')) {
        vim_reset(v);
        return vim_leave(e, key);
    }
    if (reach == REACH_NONE && !v->op && v->mode == VIM_NORMAL && vim_command(e, key))
        return EDITOR_NOTHING;
    if (key != 'j' && key != 'k')
        v->goal_col = -1;
    vim_go(e, key, reach, to);
    return EDITOR_NOTHING;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Keys that have no character, and the command they stand for. */
static const struct {
    const char *name;
    char command;
} aliases[] = {
    {"left", 'h'}, {"right", 'l'}, {"up", 'k'},        {"down", 'j'},
    {"home", '0'}, {"end", '$'},   {"backspace", 'h'}, {"delete", 'x'},
};

static enum editor_act vim_special(struct editor *e, const struct keypress *k)
{
    struct editor_vim *v = &e->vim;

    if (k->code == KEY_ESCAPE) {
        bool used = editor_vim_wants_escape(v);

        vim_normal(e);
        return used ? EDITOR_NOTHING : EDITOR_UNUSED;
    }
    if (keypress_is(k, "ctrl+r")) {
        vim_undo(e, vim_times(v), /*again=*/true);
        vim_reset(v);
        return EDITOR_NOTHING;
    }
    if (keypress_is(k, "enter")) {
        vim_reset(v);
        return editor_is_empty(e) ? EDITOR_UNUSED : EDITOR_SEND;
    }
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (keypress_is(k, aliases[i].name))
            return vim_char(e, str_make(&aliases[i].command, 1));
    }
    vim_reset(v);
    if (vim_is_visual(v))
        v->mode = VIM_NORMAL;
    return editor_plain_key(e, k);
}

/* One key: one character, or one that has none. */
static enum editor_act vim_one(struct editor *e, const struct keypress *k)
{
    struct editor_vim *v = &e->vim;
    size_t changes = e->text.log.done;
    size_t logged = e->text.log.text.len;
    enum editor_act act;

    if (v->mode == VIM_NORMAL && !is_pending(v) && !v->is_repeating) {
        keys_clear(&v->recorded);
        v->is_recording = true;
        v->has_changed = false;
        editor_text_step(&e->text);
    }
    vim_record(v, k);
    if (v->mode == VIM_INSERT)
        act = k->code == KEY_ESCAPE ? vim_special(e, k) : editor_plain_key(e, k);
    else
        act = k->code == KEY_TEXT ? vim_char(e, k->text) : vim_special(e, k);
    editor_vim_settle(e);
    if (e->text.log.done != changes || e->text.log.text.len != logged)
        v->has_changed = true;
    if (v->mode == VIM_NORMAL && !is_pending(v) && !v->is_repeating && v->is_recording &&
        v->has_changed) {
        struct vim_keys swap = v->last;

        v->last = v->recorded;
        v->recorded = swap;
        v->is_recording = false;
    }
    return act;
}

enum editor_act editor_vim_key(struct editor *e, const struct keypress *k)
{
    enum editor_act act = EDITOR_NOTHING;
    struct str rest = k->text;

    if (!e->vim.is_on)
        return editor_plain_key(e, k);
    if (k->code != KEY_TEXT)
        return vim_one(e, k);
    while (rest.len && act == EDITOR_NOTHING) { /* commands are single characters */
        struct keypress one = *k;
        int cells;

        one.text = rest;
        if (e->search.is_open) {
            act = editor_search_key(e, &one);
            break;
        }
        if (e->vim.mode != VIM_INSERT)
            one.text = str_first(rest, width_next(rest, &cells));
        act = vim_one(e, &one);
        rest = str_from(rest, one.text.len);
    }
    return act;
}
