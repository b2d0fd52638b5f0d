/*
 * Styled lines: what everything shown is made of.
 *
 * A struct lines is a list of finished lines and one that is being written, in one piece of memory
 * that is used again by lines_clear(). Whatever is put in becomes harmless on the way: control
 * characters and escape sequences are taken out, tabs become spaces up to the next multiple of 8,
 * invalid UTF-8 becomes U+FFFD, characters that turn text around are shown as U+FFFD. So a line has
 * a width (width.h) and nothing in it can move a cursor. Widgets draw into lines; screen.h shows
 * them. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "tui/screen/style.h"

/* From this byte of the line on, until the next. */
struct span {
    uint32_t from;
    struct style style;
};

/* Where a line ends in the text and the spans of all. */
struct line_end {
    uint32_t text, spans;
};

struct lines {
    struct buf text; /* of all lines, without separators */
    VEC(struct span) spans;
    VEC(struct line_end) ends;
    /* Invisible characters are shown as a mark ("^[", "<U+200B>") and not removed: for text that
     * the user is asked to approve. Stays until lines_release(). */
    bool shows_all;
    struct strv *links; /* targets; style.link is an index from 1; NULL: none */
    size_t tab_at;      /* after the last tab, and its column: many tabs are no more work */
    int tab_col;
};
#define LINES_MAX_BYTES ((size_t)64 << 20)
#define LINES_INIT                                                                                 \
    {                                                                                              \
        .text = BUF_INIT(LINES_MAX_BYTES)                                                          \
    }

void lines_release(struct lines *ls);
void lines_clear(struct lines *ls);

/* Adds to the line that is being written. A newline in text is a space. */
void lines_put(struct lines *ls, struct style style, struct str text);
void lines_puts(struct lines *ls, enum style_role role, const char *text);
void lines_putf(struct lines *ls, struct style style, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The colors and attributes that the text brings along (SGR) are kept, all else as above. */
void lines_put_ansi(struct lines *ls, struct style style, struct str text);
void lines_spaces(struct lines *ls, struct style style, int cells);
void lines_end(struct lines *ls); /* that line is finished */
/* A link for style.link, the target made harmless; 0: not one a terminal should open (only http,
 * https, mailto and file are). */
uint16_t lines_link(struct lines *ls, struct str target);
int lines_column(const struct lines *ls); /* cells of the line that is being written */

/* One finished line; lent until the next change. */
struct line {
    struct str text;
    const struct span *spans; /* the first one begins at 0; none: ROLE_TEXT */
    size_t span_count;
    const struct lines *of; /* for links */
};
struct line lines_at(const struct lines *ls, size_t i);
static inline size_t lines_count(const struct lines *ls)
{
    return ls->ends.len;
}
int line_width(struct line l);
struct str line_link(struct line l, struct style style); /* its target; empty: none */
bool line_eq(struct line a, struct line b);              /* shows the same */
/* The bytes at the beginning that show the same in both: whole graphemes, at most so many cells,
 * and how many cells they are. */
size_t line_shared(struct line a, struct line b, int cells, int *ret_col);

/* Adds a finished line of another list; `put` adds it to the line that is being written. */
void lines_add(struct lines *to, struct line l);
void lines_put_line(struct lines *to, struct line l);
void lines_put_part(struct lines *to, struct line l, size_t from, size_t end); /* these bytes */
void lines_add_all(struct lines *to, const struct lines *from);
/* The same cut to so many cells, its end replaced by "…" (ascii: "...") when something is missing.
 */
void lines_add_cut(struct lines *to, struct line l, int cells, bool ascii);
/* The same for names: the omission is in the middle, because many begin alike. */
void lines_add_squeezed(struct lines *to, struct line l, int cells, bool ascii);

struct wrap {
    int cells;         /* at least 1 */
    struct line first; /* put in front of the first row; may be empty */
    struct line rest;  /* and of every further one: as wide, usually spaces */
    bool anywhere;     /* code: breaks where the row is full, not between words */
};
/* Breaks a line into rows of at most so many cells, between words where it can; a grapheme is never
 * broken. The prefix is dropped where it leaves no room for text. */
void lines_wrap(struct lines *to, struct line l, const struct wrap *how);
size_t lines_wrap_count(struct line l, const struct wrap *how); /* how many rows that would be */

/* Its text alone, for tests and --plain. */
void lines_text(const struct lines *ls, struct buf *ret);
