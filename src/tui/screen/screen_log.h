/*
 * The screen of a plain terminal: a log, and below it the last line of the region as its prompt.
 *
 * Nothing but text, line ends, carriage returns and backspaces is written: for dumb terminals, and
 * for people who listen. One thread.
 */
#pragma once

#include "tui/screen/line.h"

struct buf;
struct paint;

struct screen_log {
    struct lines prompt; /* the text after the last line end: one line, or none */
};

void screen_log_draw(struct screen_log *log, const struct paint *paint, const struct lines *commits,
                     const struct lines *region, int cols);
void screen_log_erase(struct screen_log *log, struct buf *out);
