/*
 * A terminal for tests: libvterm with a scrollback, looked at as text.
 *
 * It takes bytes and gives the visible screen; output that it ignores (synchronized output,
 * bracketed paste, links, kitty keys) is asserted on the bytes themselves (glass_raw()). It cuts
 * lines on a resize and does not break them. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct glass;

struct glass *glass_new(int cols, int rows);
void glass_free(struct glass *g);
void glass_resize(struct glass *g, int cols, int rows);
void glass_feed(struct glass *g, struct str bytes);
/* What it answers (device attributes, positions), taken out. */
void glass_answers(struct glass *g, struct buf *ret);

int glass_cols(const struct glass *g);
int glass_rows(const struct glass *g);
/* One row, without the spaces at its end. */
void glass_row(const struct glass *g, int row, struct buf *ret);
/* All rows, each with a newline, empty ones at the end left out. */
void glass_text(const struct glass *g, struct buf *ret);
/* How a row looks: "0-4 bold #e8a65a, 6-9 reverse", runs in the terminal's own style left out. */
void glass_looks(const struct glass *g, int row, struct buf *ret);
/* What has scrolled away, as glass_text(). */
void glass_scrollback(const struct glass *g, struct buf *ret);
struct str glass_raw(const struct glass *g); /* every byte so far */

struct glass_cursor {
    int row, col;
    bool visible;
};
struct glass_cursor glass_cursor(const struct glass *g);
bool glass_is_alternate(const struct glass *g);
struct str glass_title(const struct glass *g);
