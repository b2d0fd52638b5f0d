/*
 * Where vim's motions and text objects lead. No state but the last f and the column of j and k.
 * UI thread.
 */
#include <string.h>

#include "tui/editor/editor_move.h"
#include "tui/editor/editor_text.h"
#include "tui/editor/editor_vim.h"

static char byte_at(const struct editor_text *t, size_t at)
{
    return at < t->bytes.len ? t->bytes.ptr[at] : 0;
}

static bool is_blank(const struct editor_text *t, size_t at)
{
    return editor_move_class(t, at) == CLASS_SPACE;
}

/* Of what stands there; for W, B and E all that is no space is one. */
static enum editor_class class_at(const struct editor_text *t, size_t at, bool big)
{
    enum editor_class c = editor_move_class(t, at);

    return big && c != CLASS_SPACE && c != CLASS_NONE ? CLASS_WORD : c;
}

/* --- words ----------------------------------------------------------------------------------- */

static size_t word_next(const struct editor_text *t, size_t at, bool big)
{
    enum editor_class class = class_at(t, at, big);

    while (class != CLASS_SPACE && at < t->bytes.len && class_at(t, at, big) == class)
        at = editor_move_next(t, at);
    while (at < t->bytes.len && is_blank(t, at)) {
        if (byte_at(t, at) == '\n' && byte_at(t, at + 1) == '\n')
            return at + 1; /* an empty line is a word */
        at = editor_move_next(t, at);
    }
    return at;
}

static size_t word_back(const struct editor_text *t, size_t at, bool big)
{
    enum editor_class class;

    do
        at = editor_move_prev(t, at);
    while (at && is_blank(t, at));
    class = class_at(t, at, big);
    while (at && class_at(t, editor_move_prev(t, at), big) == class)
        at = editor_move_prev(t, at);
    return at;
}

static size_t word_last(const struct editor_text *t, size_t at, bool big)
{
    enum editor_class class;

    at = editor_move_next(t, at);
    while (at < t->bytes.len && is_blank(t, at))
        at = editor_move_next(t, at);
    if (at >= t->bytes.len)
        return editor_move_prev(t, t->bytes.len);
    class = class_at(t, at, big);
    while (class_at(t, editor_move_next(t, at), big) == class)
        at = editor_move_next(t, at);
    return at;
}

size_t vim_word_rest(const struct editor_text *t, unsigned count, bool big)
{
    enum editor_class class = class_at(t, t->cursor, big);
    size_t at = t->cursor;

    while (class_at(t, editor_move_next(t, at), big) == class)
        at = editor_move_next(t, at);
    while (--count)
        at = word_last(t, at, big);
    return at;
}

/* --- lines ----------------------------------------------------------------------------------- */

static size_t line_at(const struct editor_text *t, unsigned number)
{
    size_t at = 0;

    for (unsigned i = 1; i < number; i++) {
        size_t end = editor_move_line_end(t, at);

        if (end == t->bytes.len)
            break;
        at = end + 1;
    }
    return at;
}

static bool line_is_empty(const struct editor_text *t, size_t at)
{
    return at == t->bytes.len ? at == editor_move_line_start(t, at) : byte_at(t, at) == '\n';
}

/* The next empty line, or the end of the text. */
static size_t paragraph(const struct editor_text *t, size_t at, int by)
{
    at = editor_move_line_start(t, at);
    for (bool was_text = false;;) {
        if (!line_is_empty(t, at))
            was_text = true;
        else if (was_text)
            return at;
        if (by < 0) {
            if (!at)
                return 0;
            at = editor_move_line_start(t, at - 1);
        } else {
            size_t end = editor_move_line_end(t, at);

            if (end == t->bytes.len)
                return end;
            at = end + 1;
        }
    }
}

/* j and k: the same column, counted in characters, so many lines on. */
static enum vim_reach line_motion(struct editor_vim *v, const struct editor_text *t, int by,
                                  unsigned count, size_t *ret_to)
{
    size_t line = editor_move_line_start(t, t->cursor);
    size_t from = line;

    if (v->goal_col < 0) {
        v->goal_col = 0;
        for (size_t at = line; at < t->cursor; at = editor_move_next(t, at))
            v->goal_col++;
    }
    for (unsigned i = 0; i < count; i++) {
        size_t end = editor_move_line_end(t, line);

        if (by < 0 ? !line : end == t->bytes.len)
            break;
        line = by < 0 ? editor_move_line_start(t, line - 1) : end + 1;
    }
    if (line == from)
        return REACH_NONE;
    *ret_to = line;
    for (int i = 0; i < v->goal_col && !line_is_empty(t, *ret_to); i++)
        *ret_to = editor_move_next(t, *ret_to);
    return REACH_LINES;
}

/* --- brackets -------------------------------------------------------------------------------- */

static const char brackets[] = "()[]{}<>";

/* From an opening or closing one to its partner. */
static bool bracket_partner(const struct editor_text *t, size_t at, char mine, size_t *ret)
{
    const char *p = strchr(brackets, mine);
    bool forward = (p - brackets) % 2 == 0;
    char other = forward ? p[1] : p[-1];
    size_t depth = 0;

    for (;;) {
        if (byte_at(t, at) == mine)
            depth++;
        else if (byte_at(t, at) == other && --depth == 0) {
            *ret = at;
            return true;
        }
        if (forward ? at + 1 >= t->bytes.len : !at)
            return false;
        at = forward ? at + 1 : at - 1;
    }
}

static enum vim_reach percent(const struct editor_text *t, size_t *ret_to)
{
    for (size_t at = t->cursor; at < editor_move_line_end(t, t->cursor); at++) {
        char c = byte_at(t, at);

        if (c && memchr(brackets, c, 6)) /* not < and > */
            return bracket_partner(t, at, c, ret_to) ? REACH_OVER : REACH_NONE;
    }
    return REACH_NONE;
}

/* --- f, F, t, T ------------------------------------------------------------------------------ */

enum vim_reach vim_find(const struct editor_vim *v, const struct editor_text *t, char key,
                        unsigned count, size_t *ret_to)
{
    struct str c = str_make(v->find_char, v->find_len);
    bool forward = key == 'f' || key == 't';
    size_t start = editor_move_line_start(t, t->cursor);
    size_t end = editor_move_line_end(t, t->cursor);
    size_t at = t->cursor;

    if (!c.len)
        return REACH_NONE;
    for (unsigned i = 0; i < count;) {
        if (forward ? at >= end : at <= start)
            return REACH_NONE;
        at = forward ? editor_move_next(t, at) : editor_move_prev(t, at);
        if (forward && at >= end)
            return REACH_NONE;
        if (str_starts(str_from(editor_text_str(t), at), c))
            i++;
    }
    if (key == 't')
        at = editor_move_prev(t, at);
    if (key == 'T')
        at = editor_move_next(t, at);
    *ret_to = at;
    return forward ? REACH_OVER : REACH_TO;
}

static enum vim_reach find_again(const struct editor_vim *v, const struct editor_text *t, bool back,
                                 unsigned count, size_t *ret_to)
{
    static const char kinds[] = "fFtT";
    const char *kind = v->find ? strchr(kinds, v->find) : NULL;
    size_t i;

    if (!kind)
        return REACH_NONE;
    i = (size_t)(kind - kinds);
    return vim_find(v, t, kinds[back ? i ^ 1 : i], count, ret_to);
}

/* --- motions --------------------------------------------------------------------------------- */

static enum vim_reach line_last(const struct editor_text *t, unsigned count, size_t *ret_to)
{
    size_t end = editor_move_line_end(t, t->cursor);
    size_t start;

    while (count-- > 1 && end < t->bytes.len)
        end = editor_move_line_end(t, end + 1);
    start = editor_move_line_start(t, end);
    *ret_to = end > start ? editor_move_prev(t, end) : end;
    return end > start ? REACH_OVER : REACH_TO;
}

enum vim_reach vim_motion(struct editor_vim *v, const struct editor_text *t, char key,
                          unsigned count, size_t *ret_to)
{
    unsigned times = count ? count : 1;
    size_t at = t->cursor;

    switch (key) {
    case 'h':
        for (size_t start = editor_move_line_start(t, at); times-- && at > start;)
            at = editor_move_prev(t, at);
        break;
    case 'l':
    case ' ':
        for (size_t end = editor_move_line_end(t, at); times-- && at < end;)
            at = editor_move_next(t, at);
        break;
    case 'j':
    case 'k':
        return line_motion(v, t, key == 'j' ? 1 : -1, times, ret_to);
    case 'w':
    case 'W':
        while (times-- && at < t->bytes.len)
            at = word_next(t, at, key == 'W');
        break;
    case 'b':
    case 'B':
        while (times-- && at)
            at = word_back(t, at, key == 'B');
        break;
    case 'e':
    case 'E':
        while (times-- && at < t->bytes.len)
            at = word_last(t, at, key == 'E');
        *ret_to = at;
        return REACH_OVER;
    case '0':
        at = editor_move_line_start(t, at);
        break;
    case '^':
        at = editor_move_indent(t, at);
        break;
    case '$':
        return line_last(t, times, ret_to);
    case 'g': /* gg */
    case 'G':
        *ret_to = line_at(t, count ? count : key == 'g' ? 1 : UINT32_MAX);
        *ret_to = editor_move_indent(t, *ret_to);
        return REACH_LINES;
    case '{':
    case '}':
        while (times--)
            at = paragraph(t, at, key == '{' ? -1 : 1);
        break;
    case '%':
        return percent(t, ret_to);
    case ';':
    case ',':
        return find_again(v, t, key == ',', times, ret_to);
    default:
        return REACH_NONE;
    }
    *ret_to = at;
    return REACH_TO;
}

/* --- text objects ---------------------------------------------------------------------------- */

/* Where the word that begins here ends, or the space between two; in the same line. */
static size_t run_end(const struct editor_text *t, size_t at, bool big)
{
    size_t end = editor_move_line_end(t, at);
    enum editor_class class = class_at(t, at, big);

    while (at < end && class_at(t, at, big) == class)
        at = editor_move_next(t, at);
    return at;
}

/* So many words of one line, each with the space on one side, or words and spaces alike. */
static bool object_word(const struct editor_text *t, bool around, bool big, unsigned count,
                        size_t *ret_from, size_t *ret_to)
{
    size_t start = editor_move_line_start(t, t->cursor);
    size_t end = editor_move_line_end(t, t->cursor);
    size_t from = t->cursor;
    size_t to = t->cursor;
    enum editor_class class = class_at(t, from, big);
    bool space_first = class == CLASS_SPACE;
    bool has_space = false;

    while (from > start && class_at(t, editor_move_prev(t, from), big) == class)
        from = editor_move_prev(t, from);
    while (count--) {
        if (to == end)
            return false;
        has_space = is_blank(t, to);
        to = run_end(t, to, big);
        if (around && to < end && is_blank(t, to) != space_first && has_space == space_first) {
            has_space = true;
            to = run_end(t, to, big);
        }
    }
    while (around && !has_space && from > start && is_blank(t, editor_move_prev(t, from)))
        from = editor_move_prev(t, from);
    *ret_from = from;
    *ret_to = to;
    return true;
}

/* Quotes are paired from the start of the line; before the first pair, the next one counts. */
static bool object_quotes(const struct editor_text *t, bool around, char quote, size_t *ret_from,
                          size_t *ret_to)
{
    size_t end = editor_move_line_end(t, t->cursor);
    size_t open = SIZE_MAX;

    for (size_t at = editor_move_line_start(t, t->cursor); at < end; at++) {
        if (byte_at(t, at) == '\\') {
            at++;
            continue;
        }
        if (byte_at(t, at) != quote)
            continue;
        if (open == SIZE_MAX) {
            open = at;
            continue;
        }
        if (at >= t->cursor) {
            *ret_from = around ? open : open + 1;
            *ret_to = around ? at + 1 : at;
            while (around && *ret_to < end && byte_at(t, *ret_to) == ' ')
                ++*ret_to;
            return true;
        }
        open = SIZE_MAX;
    }
    return false;
}

/* The pair around the cursor, or the one so many further out. */
static bool object_brackets(const struct editor_text *t, bool around, char open, unsigned count,
                            size_t *ret_from, size_t *ret_to)
{
    char close = strchr(brackets, open)[1];
    size_t from = t->cursor;
    size_t depth = byte_at(t, from) == open ? count - 1 : count; /* pairs that are open here */
    size_t to;

    while (depth) {
        if (!from)
            return false;
        from--;
        if (byte_at(t, from) == close)
            depth++;
        else if (byte_at(t, from) == open)
            depth--;
    }
    if (!bracket_partner(t, from, open, &to))
        return false;
    *ret_from = around ? from : from + 1;
    *ret_to = around ? to + 1 : to;
    if (!around && byte_at(t, from + 1) == '\n' && from + 2 < to)
        ++*ret_from; /* the lines between those of the brackets */
    if (!around && editor_move_indent(t, to) == to && editor_move_line_start(t, to) > *ret_from)
        *ret_to = editor_move_line_start(t, to);
    return true;
}

/* So many, each with the empty lines after it, or paragraphs and empty lines alike. */
static bool object_paragraph(const struct editor_text *t, bool around, unsigned count,
                             size_t *ret_from, size_t *ret_to)
{
    size_t from = editor_move_line_start(t, t->cursor);
    size_t to;
    bool empty = line_is_empty(t, from);

    while (from && line_is_empty(t, editor_move_line_start(t, from - 1)) == empty)
        from = editor_move_line_start(t, from - 1);
    to = editor_move_line_end(t, t->cursor);
    for (unsigned i = 0; i < count * (around ? 2 : 1); i++) {
        bool is_due = i && !(around && i % 2); /* the last one may have nothing after it */

        if (is_due && to == t->bytes.len)
            return false;
        while (to < t->bytes.len && line_is_empty(t, to + 1) == empty)
            to = editor_move_line_end(t, to + 1);
        empty = !empty;
    }
    *ret_from = from;
    *ret_to = to < t->bytes.len ? to + 1 : to;
    return *ret_to > *ret_from;
}

bool vim_object(const struct editor_text *t, char kind, char key, unsigned count, size_t *ret_from,
                size_t *ret_to)
{
    bool around = kind == 'a';
    const char *p;

    switch (key) {
    case 'w':
    case 'W':
        return object_word(t, around, key == 'W', count, ret_from, ret_to);
    case '"':
    case '\'':
    case '`':
        return object_quotes(t, around, key, ret_from, ret_to);
    case 'b':
        return object_brackets(t, around, '(', count, ret_from, ret_to);
    case 'B':
        return object_brackets(t, around, '{', count, ret_from, ret_to);
    case 'p':
        return object_paragraph(t, around, count, ret_from, ret_to);
    default:
        p = key ? strchr(brackets, key) : NULL;
        if (!p)
            return false;
        return object_brackets(t, around, brackets[(p - brackets) & ~1], count, ret_from, ret_to);
    }
}
