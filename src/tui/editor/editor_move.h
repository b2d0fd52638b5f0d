/*
 * Places in the editor's text: where the next character, word or line is. Pure functions: a place
 * in, a place out. A folded paste is one character and one word. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct editor_text;

/* Bytes of what stands at `at` (a grapheme, a folded paste); 0 at the end. */
size_t editor_move_len(const struct editor_text *t, size_t at);
size_t editor_move_next(const struct editor_text *t, size_t at);
size_t editor_move_prev(const struct editor_text *t, size_t at);
/* The start of a grapheme at or after `at`. */
size_t editor_move_snap(const struct editor_text *t, size_t at);

size_t editor_move_line_start(const struct editor_text *t, size_t at);
size_t editor_move_line_end(const struct editor_text *t, size_t at);
size_t editor_move_indent(const struct editor_text *t, size_t at); /* first non-blank of the line */

enum editor_class {
    CLASS_SPACE, /* newlines, too */
    CLASS_WORD,  /* letters of any script, digits, _ */
    CLASS_SIGN,
    CLASS_PASTE,
    CLASS_NONE, /* the end */
};
enum editor_class editor_move_class(const struct editor_text *t, size_t at);

/* Words as emacs has them: letters and digits; the end of the next, the start of the one before. */
size_t editor_move_word_end(const struct editor_text *t, size_t at);
size_t editor_move_word_start(const struct editor_text *t, size_t at);
/* What spaces separate: the start of the one before. */
size_t editor_move_blank_start(const struct editor_text *t, size_t at);
