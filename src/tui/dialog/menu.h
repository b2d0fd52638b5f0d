/*
 * A menu: rows to choose from, with a cursor.
 *
 * Arrows, Ctrl-P and Ctrl-N, Home, End, Page Up and Page Down move; Enter, a row's number or its
 * letter chooses; with MENU_FILTER one types to narrow it down. Disabled rows are skipped. It draws
 * only visible rows, so ten thousand rows cost no more than ten. In --plain marks are words, and
 * the row under the cursor is printed in a separate row (menu_prompt()), so that moving it changes
 * nothing else. Everything is copied. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct keypress;
struct menu;

enum menu_flags {
    MENU_NUMBERS = 1, /* 1..9 choose the first rows */
    MENU_JUMP = 2,    /* a letter moves to the next row that begins with it */
    MENU_FILTER = 4,  /* typing narrows the list */
    MENU_CHECKS = 8,  /* rows are checked with Space or their number; Enter ends it */
    MENU_WHOLE = 16,  /* labels and details are wrapped, never cut */
};

struct menu_row {
    struct str label;
    struct str detail; /* faint, after the label or, where there is no room, below it */
    char letter;       /* chooses it at once; 0: none */
    bool is_current;   /* the one in force */
    bool is_off;       /* can be seen but not chosen */
    bool no_check;     /* MENU_CHECKS: a row that is chosen, not checked */
};

#define MENU_NOWHERE ((size_t)-1)

struct menu *menu_new(unsigned flags);
void menu_free(struct menu *m);
void menu_add(struct menu *m, const struct menu_row *row);
void menu_move_to(struct menu *m, size_t row);

enum menu_act {
    MENU_UNUSED, /* not ours */
    MENU_USED,
    MENU_CHOSEN, /* menu_at() */
};
enum menu_act menu_key(struct menu *m, const struct keypress *k);
/* A row is chosen by it. */
bool menu_is_letter(const struct menu *m, struct str typed);

size_t menu_count(const struct menu *m);
size_t menu_at(const struct menu *m); /* MENU_NOWHERE: nothing matches the filter */
bool menu_is_checked(const struct menu *m, size_t row);
void menu_check(struct menu *m, size_t row, bool on);

/* At most v->rows rows, the one under the cursor among them. */
void menu_draw(struct menu *m, const struct view *v, struct lines *ret,
               struct screen_cursor *ret_cursor);
/* --plain: what Enter would do, and the filter. One row. */
void menu_prompt(struct menu *m, const struct view *v, struct lines *ret);
