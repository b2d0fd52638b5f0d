/*
 * What the files of the screen share: its state, and what frames of every kind need. For screen.c
 * and screen_region.c only.
 */
#pragma once

#include "base/buf.h"
#include "tui/screen/paint.h"
#include "tui/screen/screen.h"
#include "tui/screen/screen_log.h"
#include "tui/screen/term.h"

#define SCREEN_NO_ROW SIZE_MAX

/* What a row looks like: its line and, where a cursor is drawn, its cell. */
struct screen_mark {
    size_t row; /* SCREEN_NO_ROW: none */
    int col;
};

struct screen {
    struct term *term;
    const struct theme *theme;
    struct term_size size;
    struct lines shown;    /* the region as it stands */
    struct lines full;     /* what the alternate screen shows */
    struct lines frame;    /* what shall stand */
    struct lines waiting;  /* for the next frame, then committed */
    struct screen_log log; /* what stands on a plain terminal */
    struct screen_mark mark;
    size_t anchor; /* rows that are settled */
    size_t settled, lost;
    size_t above;  /* rows of the window above the region: so many at least */
    size_t stands; /* lines that were written there */
    size_t at_row;
    int at_col;
    int drawn_cols; /* of the window, when the region was drawn */
    bool has_begun; /* modes are set, the style is known */
    bool wraps;
    unsigned touched; /* rows, by this frame */
    bool has_moved;   /* a resize since: only the anchor is where it was */
    bool is_visible;  /* the terminal's cursor */
    bool is_full, is_full_new, is_paused;
    int64_t calm_from, held_until;
    struct buf out;
    struct screen_counts counts;
};

/* The committed lines and the region, in s->frame; gives how many of the first. */
size_t screen_compose(struct screen *s, const struct lines *region, struct screen_cursor *cursor);
/* The rows of the frame from `from` on are what stands now. */
void screen_keep(struct screen *s, struct lines *shown, size_t from);
void screen_show_cursor(struct screen *s, bool on);
struct paint screen_paint(struct screen *s);
void screen_send(struct screen *s); /* one write, between marks when it is more than a row */

/* The live region (screen_region.c). */
void screen_draw_region(struct screen *s, const struct lines *region, struct screen_cursor cursor);
void screen_erase_region(struct screen *s);
