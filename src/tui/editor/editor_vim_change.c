/*
 * What vim's commands do to the text: operators on a range, and those that need none. The caller
 * has begun a step of undo. UI thread.
 */
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"

#define INDENT "    "

/* --- operators ------------------------------------------------------------------------------- */

static struct str text_between(const struct editor *e, size_t from, size_t to)
{
    return str_first(str_from(editor_text_str(&e->text), from), to - from);
}

void vim_yank(struct editor *e, size_t from, size_t to, bool lines)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&text, text_between(e, from, to));
    if (lines)
        buf_addc(&text, '\n');
    editor_kills_add(&e->kills, buf_str(&text), lines);
}

static void vim_delete_lines(struct editor *e, size_t from, size_t to)
{
    struct editor_text *t = &e->text;

    vim_yank(e, from, to, /*lines=*/true);
    if (to < t->bytes.len)
        to++;
    else if (from)
        from--; /* the last line takes the newline before it along */
    editor_text_replace(t, from, to, STR(""));
    t->cursor = editor_move_indent(t, t->cursor);
}

static void vim_indent(struct editor *e, size_t from, size_t to, bool more)
{
    struct editor_text *t = &e->text;
    size_t line = from;

    for (;;) {
        size_t end = editor_move_line_end(t, line);
        size_t had = t->bytes.len;

        if (more && end > line) {
            editor_text_replace(t, line, line, STR(INDENT));
        } else if (!more) {
            size_t cut = line;

            while (cut < end && cut - line < sizeof(INDENT) - 1 && t->bytes.ptr[cut] == ' ')
                cut++;
            if (cut == line && cut < end && t->bytes.ptr[cut] == '\t')
                cut++;
            editor_text_replace(t, line, cut, STR(""));
        }
        to = to + t->bytes.len - had;
        end = editor_move_line_end(t, line);
        if (end >= to || end >= t->bytes.len)
            break;
        line = end + 1;
    }
    t->cursor = editor_move_indent(t, from);
}

void vim_operate(struct editor *e, char op, size_t from, size_t to, bool lines)
{
    struct editor_text *t = &e->text;

    switch (op) {
    case 'y':
        vim_yank(e, from, to, lines);
        if (!lines || from > t->cursor)
            t->cursor = from;
        break;
    case 'd':
        if (lines) {
            vim_delete_lines(e, from, to);
            break;
        }
        vim_yank(e, from, to, false);
        editor_text_replace(t, from, to, STR(""));
        break;
    case 'c':
        vim_yank(e, from, to, lines);
        editor_text_replace(t, from, to, STR(""));
        t->cursor = editor_move_snap(t, from);
        vim_insert(e);
        break;
    default:
        vim_indent(e, editor_move_line_start(t, from), to, op == '>');
        break;
    }
}

void vim_operate_lines(struct editor *e, char op, size_t a, size_t b)
{
    size_t from = editor_move_line_start(&e->text, a < b ? a : b);
    size_t to = editor_move_line_end(&e->text, a < b ? b : a);

    vim_operate(e, op, from, to, /*lines=*/true);
}

/* --- single commands ------------------------------------------------------------------------- */

void vim_put(struct editor *e, bool behind, unsigned count)
{
    struct editor_text *t = &e->text;
    const struct editor_kill *k = editor_kills_get(&e->kills, false);
    CLEANUP(buf_release) struct buf text = BUF_INIT(EDITOR_MAX_TEXT);
    size_t line_end = editor_move_line_end(t, t->cursor);
    size_t at = t->cursor;

    if (!k)
        return;
    while (count-- && !text.over)
        buf_add(&text, str_make(k->text, k->len));
    if (!k->is_lines) {
        if (behind && at < line_end)
            at = editor_move_next(t, at);
        editor_text_replace(t, at, at, buf_str(&text));
        t->cursor = editor_move_prev(t, t->cursor);
        return;
    }
    if (behind && text.len) { /* the newline goes first */
        text.len--;
        buf_insert(&text, 0, STR("\n"));
    }
    at = behind ? line_end : editor_move_line_start(t, at);
    if (editor_text_replace(t, at, at, buf_str(&text)))
        t->cursor = editor_move_indent(t, behind ? at + 1 : at);
}

void vim_put_over(struct editor *e, size_t from, size_t to, bool lines, bool keep)
{
    struct editor_text *t = &e->text;
    const struct editor_kill *k = editor_kills_get(&e->kills, false);
    CLEANUP(buf_release) struct buf text = BUF_INIT(EDITOR_MAX_TEXT);
    bool puts_lines = k && k->is_lines;

    if (!k)
        return;
    if (puts_lines && !lines) /* between what stays of the line */
        buf_addc(&text, '\n');
    buf_add(&text, str_first(str_make(k->text, k->len), k->len - (puts_lines && lines)));
    if (!keep)
        vim_yank(e, from, to, lines);
    editor_text_replace(t, from, to, buf_str(&text));
    if (puts_lines || lines)
        t->cursor = editor_move_indent(t, from + !lines);
    else if (text.len)
        t->cursor = editor_move_prev(t, t->cursor);
}

void vim_join(struct editor *e, unsigned count)
{
    struct editor_text *t = &e->text;

    for (unsigned i = 1; i < (count > 1 ? count : 2); i++) {
        size_t end = editor_move_line_end(t, t->cursor);
        size_t next;
        bool space;

        if (end == t->bytes.len)
            return;
        next = editor_move_indent(t, end + 1);
        space = end > editor_move_line_start(t, end) && t->bytes.ptr[end - 1] != ' ' &&
                next < t->bytes.len && t->bytes.ptr[next] != '\n' && t->bytes.ptr[next] != ')';
        editor_text_replace(t, end, next, space ? STR(" ") : STR(""));
        t->cursor = end;
    }
}

void vim_change_case(struct editor *e, size_t from, size_t to, enum letter_case how)
{
    CLEANUP(buf_release) struct buf with = BUF_INIT(BUF_NO_LIMIT);
    struct str text = text_between(e, from, to);

    while (text.len) {
        uint32_t code = 0;
        size_t len = utf8_decode(text, &code);
        utf8proc_int32_t c = (utf8proc_int32_t)code;
        utf8proc_int32_t lower = utf8proc_tolower(c);
        char bytes[4];

        if (how == CASE_UPPER || (how == CASE_OTHER && lower == c))
            c = utf8proc_toupper(c);
        else
            c = lower;
        buf_add(&with, str_make(bytes, utf8_encode((uint32_t)c, bytes)));
        text = str_from(text, len ? len : 1);
    }
    editor_text_replace(&e->text, from, to, buf_str(&with));
}

void vim_replace_chars(struct editor *e, size_t from, size_t to, struct str c)
{
    CLEANUP(buf_release) struct buf with = BUF_INIT(EDITOR_MAX_TEXT);
    struct editor_text *t = &e->text;

    for (size_t at = from; at < to; at = editor_move_next(t, at))
        buf_add(&with, t->bytes.ptr[at] == '\n' ? STR("\n") : c);
    editor_text_replace(t, from, to, buf_str(&with));
    t->cursor = to > from ? editor_move_prev(t, t->cursor) : from;
}
