/*
 * The editor's text: bytes, a cursor, a way back, and pastes that are folded.
 *
 * All changes go through editor_text_replace(), which logs the replaced text; a step is what one
 * undo takes back. A folded paste is one character of the text (private use, U+10F000 and up), so
 * that moving over it, deleting it and undoing that need no code of their own; such characters
 * never come in from outside. The cursor is always at the start of a grapheme. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#define EDITOR_MAX_TEXT ((size_t)16 << 20)   /* bytes; what would pass it is not put in */
#define EDITOR_MAX_FOLDED ((size_t)32 << 20) /* bytes of all folded pastes */
#define EDITOR_MAX_UNDO ((size_t)32 << 20)   /* bytes remembered; the oldest are forgotten */
#define EDITOR_FOLD_LINES 4                  /* a paste of more lines is folded */
#define EDITOR_FOLD_BYTES 800

struct editor_paste {
    char *text;
    size_t len;
    size_t lines;
};

/* Removed and added bytes are in the log's text, one after the other. */
struct editor_change {
    size_t at, removed, added;
    size_t text;   /* where in the log */
    size_t cursor; /* before it */
    unsigned step;
};

struct editor_log {
    VEC(struct editor_change) changes;
    size_t done; /* of these; later ones can be redone */
    struct buf text;
    unsigned step;
};

struct editor_text {
    struct buf bytes;
    size_t cursor;
    struct editor_log log;
    VEC(struct editor_paste) pastes;
    size_t folded_bytes;
    bool was_full; /* something was left out for want of room */
};

void editor_text_init(struct editor_text *t);
void editor_text_release(struct editor_text *t);
void editor_text_clear(struct editor_text *t); /* and forget how it came about */

static inline struct str editor_text_str(const struct editor_text *t)
{
    return buf_str(&t->bytes);
}

/* Replaces [from, to) by `with`; the cursor stands after it. with: as typed_clean() has it, or
 * bytes that came from this text. False: no room. */
bool editor_text_replace(struct editor_text *t, size_t from, size_t to, struct str with);
/* From outside: cleaned first. */
bool editor_text_insert(struct editor_text *t, struct str text);
/* At the cursor: folded when it is long, or the mention of a picture. */
bool editor_text_paste(struct editor_text *t, struct str text);
/* The next change is undone by itself. */
void editor_text_step(struct editor_text *t);
bool editor_text_undo(struct editor_text *t); /* false: nothing to undo */
bool editor_text_redo(struct editor_text *t);

/* The folded paste that stands at `at`; NULL: none. */
#define EDITOR_FOLD_CHAR 4 /* its bytes */
const struct editor_paste *editor_text_folded(const struct editor_text *t, size_t at,
                                              size_t *ret_number);
/* "[Pasted text #1 +42 lines]", "[Image #1]" */
void editor_text_label(const struct editor_paste *p, size_t number, struct buf *ret);
/* Words that were taken out of this text, pastes unfolded. */
void editor_text_unfold(const struct editor_text *t, struct str text, struct buf *ret);
/* Everything as it is seen: a label in the place of each paste. */
void editor_text_shown(const struct editor_text *t, struct buf *ret);
/* Everything, pastes unfolded. */
void editor_text_whole(const struct editor_text *t, struct buf *ret);
/* Where the folded pastes are in that. */
struct editor_fold {
    size_t at, len;
};
typedef VEC(struct editor_fold) editor_fold_vec;
void editor_text_folds(const struct editor_text *t, editor_fold_vec *ret);
