/*
 * The menu, for its own files: menu.c has rows and keys, menu_draw.c the drawing.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "tui/dialog/menu.h"
#include "tui/screen/line.h"

struct row {
    struct menu_row is;
    bool is_checked;
};

struct menu {
    unsigned flags;
    struct arena arena;
    VEC(struct row) rows;
    VEC(size_t) seen; /* those that match, in order */
    struct buf filter;
    bool is_fuzzy; /* its letters match, not its words */
    size_t at;     /* of seen */
    size_t top;    /* the first one that is shown */
    size_t page;
    int widest; /* label, with the mark of the one in force */
    struct lines scratch;
};

const struct row *menu_row_seen(const struct menu *m, size_t i); /* of those that match */
