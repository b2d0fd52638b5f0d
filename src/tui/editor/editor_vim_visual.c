/*
 * Vim's visual modes: the selection, and what commands do to it. UI thread.
 */
#include <string.h>

#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"

bool vim_is_visual(const struct editor_vim *v)
{
    return v->mode == VIM_VISUAL || v->mode == VIM_VISUAL_LINE;
}

bool editor_vim_selection(const struct editor *e, size_t *ret_from, size_t *ret_to)
{
    const struct editor_text *t = &e->text;
    size_t anchor = e->vim.anchor < t->bytes.len ? e->vim.anchor : t->bytes.len;
    size_t from = anchor < t->cursor ? anchor : t->cursor;
    size_t to = anchor < t->cursor ? t->cursor : anchor;

    if (!e->vim.is_on || !vim_is_visual(&e->vim))
        return false;
    if (e->vim.mode == VIM_VISUAL_LINE) {
        from = editor_move_line_start(t, from);
        to = editor_move_line_end(t, to);
    }
    *ret_from = from;
    *ret_to = editor_move_next(t, to);
    return true;
}

bool vim_on_selection(struct editor *e, char key)
{
    struct editor_vim *v = &e->vim;
    struct editor_text *t = &e->text;
    bool lines = v->mode == VIM_VISUAL_LINE;
    size_t from = 0, to = 0, end;

    editor_vim_selection(e, &from, &to);
    end = lines && to > from && t->bytes.ptr[to - 1] == '\n' ? to - 1 : to;
    switch (key) {
    case 'v':
    case 'V': {
        enum vim_mode mode = key == 'v' ? VIM_VISUAL : VIM_VISUAL_LINE;

        v->mode = v->mode == mode ? VIM_NORMAL : mode;
        return true;
    }
    case 'o': {
        size_t anchor = v->anchor;

        v->anchor = t->cursor;
        t->cursor = anchor < t->bytes.len ? editor_move_snap(t, anchor) : t->bytes.len;
        return true;
    }
    case 'r':
        v->wait = 'r';
        return true;
    case 'p':
    case 'P':
        vim_normal(e);
        vim_put_over(e, from, end, lines, /*keep=*/key == 'P');
        return true;
    case 'J':
        vim_normal(e);
        t->cursor = from;
        if (editor_move_line_end(t, from) + 1 >= to) { /* one line: the next one joins it */
            vim_join(e, 2);
            return true;
        }
        for (size_t at = from; at < to && from < to; at++) {
            size_t next = editor_move_line_end(t, t->cursor);

            if (next + 1 >= to || next >= t->bytes.len)
                break;
            to -= t->bytes.len;
            vim_join(e, 2);
            to += t->bytes.len;
        }
        return true;
    case '~':
    case 'u':
    case 'U':
        vim_normal(e);
        vim_change_case(e, from, to,
                        key == '~'   ? CASE_OTHER
                        : key == 'u' ? CASE_LOWER
                                     : CASE_UPPER);
        t->cursor = from;
        return true;
    default:
        break;
    }
    if (!key || !strchr("dxXyYcsSCR><D", key))
        return false;
    if (strchr("XYSCRD", key) && !lines) {
        lines = true;
        from = editor_move_line_start(t, from);
        end = editor_move_line_end(t, end > from ? editor_move_prev(t, end) : end);
    }
    vim_normal(e);
    t->cursor = from;
    vim_operate(e,
                strchr("dxXD", key) ? 'd'
                : strchr("yY", key) ? 'y'
                : strchr("><", key) ? key
                                    : 'c',
                from, end, lines);
    return true;
}
