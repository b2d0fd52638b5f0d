/*
 * The screen: finished lines above, a live region at the bottom.
 *
 * Committed lines are printed once into the terminal's own scrollback and never touched again.
 * Below them the live region is drawn anew with every frame: at most rows - 1 high, no line touches
 * the last column, and only the difference from the last frame is written, in one write.
 *
 * A terminal that is resized moves, breaks and drops rows before we are notified, but its cursor
 * stays with the text it stands on. So between frames the cursor waits after the rows that will be
 * committed as they stand (screen_settled()); everything after it is ours to erase, and a resize
 * never touches the rows before it: those rows count as committed from then on, and screen_lost()
 * tells their owner how many they were. The rest of the region should be few and short rows
 * (screen_room()): a window that is made so narrow that they no longer fit into it, broken as they
 * are then, moves their first ones into the scrollback for good (reflow.h).
 *
 * On a plain terminal (term.h) committed lines are printed as they are and of the region only the
 * last line, the prompt, is shown. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/screen/line.h"

struct screen;
struct term;
struct theme;

struct screen *screen_new(struct term *t, const struct theme *theme);
void screen_free(struct screen *s); /* erases the region */
void screen_theme(struct screen *s, const struct theme *theme);

/* For what draws: cells of a line (the last column is left free), rows of the region. */
int screen_cols(const struct screen *s);
int screen_rows(const struct screen *s);
/* How many rows the unsettled part of a region of `rows` lines may take in the smallest window
 * (reflow.h). Few while little stands above it: some terminals keep empty rows below when a
 * narrower window breaks the rows above them. */
size_t screen_room(const struct screen *s, size_t settled, size_t rows);
/* Looks for a new size; true: everything must be drawn anew. Before each frame. */
bool screen_look(struct screen *s);
/* A resize is often followed by others that are reported late (tmux: up to 250 ms), so after one
 * frame the next is not drawn before this time, clock_mono_ms(); -1: it can be drawn at once. */
int64_t screen_due(const struct screen *s);
/* Rows at the top of the last frame that belong to the scrollback since a resize; then 0 again. */
size_t screen_lost(struct screen *s);

/* Lines for the scrollback, wrapped already; written with the next frame. */
void screen_commit(struct screen *s, const struct lines *ls);
size_t screen_committed(const struct screen *s); /* lines so far */

struct screen_cursor {
    size_t row; /* of the region's lines */
    int col;
    bool shown;
    /* Nothing moves by itself: the terminal's own cursor stands here (as input methods like it),
     * where the smallest window would have room for the region down to it. Else it is drawn, and
     * the terminal's waits where no resize can hurt. */
    bool calm;
};
/* How many of the first rows of the next frame's region will be committed as they stand. */
void screen_settled(struct screen *s, size_t rows);
/* One frame. More lines than fit: the last ones are shown, the cursor's among them. */
void screen_draw(struct screen *s, const struct lines *region, struct screen_cursor cursor);

/* The alternate screen: the whole window, for views that need it. screen_draw() then fills it from
 * the top; commits wait until it is left. */
void screen_full(struct screen *s, bool on);
bool screen_is_full(const struct screen *s);

/* Given away and taken back (Ctrl-Z, an editor): the region is erased, and drawn again whole.
 * term_leave() comes after the one, term_enter() before the other. */
void screen_pause(struct screen *s);
void screen_resume(struct screen *s);

struct screen_counts {
    uint64_t frames, bytes, commits;
};
struct screen_counts screen_counts(const struct screen *s);
