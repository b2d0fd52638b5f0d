/*
 * Moving about in the text, by graphemes, words and lines. UI thread.
 */
#include "tui/editor/editor_move.h"

#include <string.h>

#include "base/utf8.h"
#include "tui/editor/editor_text.h"
#include "tui/screen/width.h"

#define SNAP_BYTES 64 /* how far back a grapheme is looked for */

/* --- graphemes ------------------------------------------------------------------------------- */

static bool is_fold(const struct editor_text *t, size_t at)
{
    return editor_text_folded(t, at, NULL) != NULL;
}

size_t editor_move_len(const struct editor_text *t, size_t at)
{
    struct str rest = str_from(editor_text_str(t), at);
    int cells;
    size_t len;

    if (is_fold(t, at))
        return EDITOR_FOLD_CHAR;
    len = width_next(rest, &cells);
    /* Some characters take any next one along; a paste stands alone. */
    for (size_t i = 1; i < len; i++) {
        if (is_fold(t, at + i))
            return i;
    }
    return len;
}

size_t editor_move_next(const struct editor_text *t, size_t at)
{
    return at + editor_move_len(t, at);
}

size_t editor_move_prev(const struct editor_text *t, size_t at)
{
    int cells;
    size_t len;

    if (!at)
        return 0;
    if (at >= EDITOR_FOLD_CHAR && is_fold(t, at - EDITOR_FOLD_CHAR))
        return at - EDITOR_FOLD_CHAR;
    len = width_prev(editor_text_str(t), at, &cells);
    for (size_t i = EDITOR_FOLD_CHAR + 1; i <= len; i++) {
        if (is_fold(t, at - i)) /* what joins a paste is not the paste */
            return at - i + EDITOR_FOLD_CHAR;
    }
    return at - len;
}

static bool is_ascii(const struct editor_text *t, size_t at)
{
    return (unsigned char)t->bytes.ptr[at] < 0x80;
}

size_t editor_move_snap(const struct editor_text *t, size_t at)
{
    size_t from = at;

    if (at >= t->bytes.len)
        return t->bytes.len;
    if (!at || is_ascii(t, at))
        return at;
    while (from && at - from < SNAP_BYTES && !is_ascii(t, from))
        from--;
    while (from < t->bytes.len && (t->bytes.ptr[from] & 0xc0) == 0x80)
        from++;
    while (from < at)
        from = editor_move_next(t, from);
    return from;
}

/* --- lines ----------------------------------------------------------------------------------- */

size_t editor_move_line_start(const struct editor_text *t, size_t at)
{
    const char *nl = at ? memrchr(t->bytes.ptr, '\n', at) : NULL;

    return nl ? (size_t)(nl - t->bytes.ptr) + 1 : 0;
}

size_t editor_move_line_end(const struct editor_text *t, size_t at)
{
    return at + str_chr(str_from(editor_text_str(t), at), '\n');
}

size_t editor_move_indent(const struct editor_text *t, size_t at)
{
    at = editor_move_line_start(t, at);
    while (at < t->bytes.len && (t->bytes.ptr[at] == ' ' || t->bytes.ptr[at] == '\t'))
        at++;
    return at;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Spaces and punctuation beyond ASCII, roughly: what no word is made of. */
static enum editor_class class_of(uint32_t code)
{
    if (code == 0xa0 || code == 0x3000 || (code >= 0x2000 && code <= 0x200a))
        return CLASS_SPACE;
    if ((code >= 0xa1 && code <= 0xbf && code != 0xaa && code != 0xb5 && code != 0xba) ||
        (code >= 0x2010 && code <= 0x206f) || (code >= 0x2190 && code <= 0x2bff) ||
        (code >= 0x3001 && code <= 0x303f) || (code >= 0xff01 && code <= 0xff0f) || code >= 0x1f000)
        return CLASS_SIGN;
    return CLASS_WORD;
}

enum editor_class editor_move_class(const struct editor_text *t, size_t at)
{
    char c;
    uint32_t code;

    if (at >= t->bytes.len)
        return CLASS_NONE;
    c = t->bytes.ptr[at];
    if (c == ' ' || c == '\t' || c == '\n')
        return CLASS_SPACE;
    if (str_is_alnum(c) || c == '_')
        return CLASS_WORD;
    if (is_ascii(t, at))
        return CLASS_SIGN;
    if (is_fold(t, at))
        return CLASS_PASTE;
    return utf8_decode(str_from(editor_text_str(t), at), &code) ? class_of(code) : CLASS_SIGN;
}

static bool is_word(enum editor_class c)
{
    return c == CLASS_WORD || c == CLASS_PASTE;
}

size_t editor_move_word_end(const struct editor_text *t, size_t at)
{
    enum editor_class class;

    while (at < t->bytes.len && !is_word(editor_move_class(t, at)))
        at = editor_move_next(t, at);
    class = editor_move_class(t, at);
    if (class == CLASS_PASTE)
        return editor_move_next(t, at);
    while (at < t->bytes.len && editor_move_class(t, at) == class)
        at = editor_move_next(t, at);
    return at;
}

size_t editor_move_word_start(const struct editor_text *t, size_t at)
{
    size_t prev = editor_move_prev(t, at);
    enum editor_class class;

    while (at && !is_word(editor_move_class(t, prev))) {
        at = prev;
        prev = editor_move_prev(t, at);
    }
    class = at ? editor_move_class(t, prev) : CLASS_NONE;
    if (class == CLASS_PASTE)
        return prev;
    while (at && editor_move_class(t, prev) == class) {
        at = prev;
        prev = editor_move_prev(t, at);
    }
    return at;
}

size_t editor_move_blank_start(const struct editor_text *t, size_t at)
{
    while (at && editor_move_class(t, editor_move_prev(t, at)) == CLASS_SPACE)
        at = editor_move_prev(t, at);
    while (at && editor_move_class(t, editor_move_prev(t, at)) != CLASS_SPACE)
        at = editor_move_prev(t, at);
    return at;
}
