/*
 * A page of a dialog: a title, text that may be longer than the window, options below it, one of
 * which may take words, and a line that says which keys there are.
 *
 *     ── Bash command ─────────────────────────────
 *     cargo build --release
 *     Why: no rule allows it
 *     ❯ 1. Yes
 *       2. Always: Bash(cargo build *)
 *     Enter choose · Esc no
 *
 * The text is made once for a width and scrolled by Page Up and Page Down, and a long one no
 * further than it is looked at; the options keep at least a few rows, whatever else does not fit.
 * Nothing is put around it, so that a command can be copied from the terminal as it stands, and 20
 * columns suffice.
 *
 * A page that cannot be read cannot be answered: where there is no room for the title and two rows
 * of the text (or all of it), a page with a guard shows only a note about it and accepts Esc alone.
 *
 * In --plain the last row is the prompt: what Enter would do, or the typed text. The rows above are
 * printed once and again only when something other than the cursor changes.
 *
 * Nothing is answered by accident: keys typed before a dialog could be read are not meant for it,
 * nor is a sentence begun while it appears. A page with a guard passes over (PANEL_EARLY) every key
 * but Esc, Ctrl-C and those that only move,
 *
 *   until DIALOG_GUARD_MS have gone by since it was drawn first and since the last answer that it
 *   passed over,
 *   until DIALOG_REST_MS have gone by since something was typed that is no answer, or is in the
 *   middle of words; Enter and digits included,
 *
 * and all input that arrives in one piece: a paste, or several letters at once. A letter that is an
 * answer is held for DIALOG_HOLD_MS and is dropped when more is typed within that time. Once the
 * user has moved to the row for text, typing opens its line. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "tui/dialog/menu.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct editor;
struct keypress;

#define DIALOG_GUARD_MS 300
#define DIALOG_REST_MS 1000
#define DIALOG_HOLD_MS 250
#define DIALOG_TITLE_ROWS 3 /* of the window; fewer, and there is no title */
#define DIALOG_MAX_TEXT ((size_t)1 << 20)

struct dialog_page;
/* Makes the text for a window of v->cols cells. */
typedef void (*dialog_body_fn)(void *arg, const struct view *v, struct lines *ret);
/* Continues it up to so many rows, and returns how many there would be in all. */
typedef size_t (*dialog_more_fn)(void *arg, size_t rows, struct lines *ret);

struct dialog_page {
    struct arena arena;
    struct str title;
    enum style_role title_role;
    struct str who;    /* asks, when it is not the main agent: a row above the text; or empty */
    struct str keys;   /* beside Enter and Esc: "Shift-Tab accept edits"; may be empty */
    const char *leave; /* what Esc does: "no" */
    dialog_body_fn body;
    dialog_more_fn more; /* NULL: body() makes all of it */
    void *body_arg;
    struct menu *menu;
    bool is_guarded;

    /* The row of the menu that takes words. */
    size_t text_row;       /* MENU_NOWHERE: none */
    struct str text_start; /* what it begins with */
    struct str text_hint;  /* while it is empty */
    bool text_optional;    /* no words are an answer, too */
    struct editor *editor; /* open: it has the keys */

    /* Its own. */
    struct lines text; /* made by body() and, as far as it is looked at, more(), for: */
    struct view text_view;
    bool has_text;
    size_t count;          /* rows of all of it */
    size_t top, text_rows; /* of the window on it; rows there are to be seen */
    int64_t open_ms;       /* it has been there long enough; -1: it was not drawn yet */
    int64_t rest_ms;       /* until then the user is typing something else */
    bool has_typed;        /* words were: it says how to answer */
    bool has_moved;        /* the cursor was, by the person */
    char held;             /* a letter held until it is clear that no more follows; 0: none */
    int64_t held_ms;       /* since then */
};

/* Everything is zero except the menu flags; title is copied. */
void dialog_page_init(struct dialog_page *p, struct str title, unsigned menu_flags);
void dialog_page_release(struct dialog_page *p);

void dialog_page_draw(struct dialog_page *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor);

enum dialog_act {
    DIALOG_UNUSED, /* not the page's */
    DIALOG_USED,
    DIALOG_CHOSEN, /* menu_at(p->menu); of a row with words: dialog_page_words() */
    DIALOG_LEFT,
    DIALOG_EARLY, /* passed over; the one that is held, if any, is no answer either */
    DIALOG_HELD,  /* decided by the next key or, at dialog_page_due(), by dialog_page_wake() */
};
enum dialog_act dialog_page_key(struct dialog_page *p, const struct keypress *k);
int64_t dialog_page_due(const struct dialog_page *p); /* -1: nothing is held */
enum dialog_act dialog_page_wake(struct dialog_page *p);
/* The next page of one dialog: its guard starts as the previous page's is now. */
void dialog_page_follow(struct dialog_page *p, const struct dialog_page *before);
/* The text entered in the row for text. */
void dialog_page_words(const struct dialog_page *p, struct buf *ret);
void dialog_page_write(struct dialog_page *p);   /* opens the line for words */
void dialog_page_close(struct dialog_page *p);   /* the line for words, when it is open */
void dialog_page_changed(struct dialog_page *p); /* the text must be made anew */

/* The pieces, for panels with a shape of their own. Title and keys are left out where the window
 * has too few rows (v->rows: of all of it). */
void dialog_title(const struct view *v, enum style_role role, struct str title, struct lines *ret);
/* Words wrapped at the window's width, a newline begins a row. */
void dialog_text(const struct view *v, enum style_role role, struct str text, struct lines *ret);
void dialog_keys(const struct view *v, struct str text, struct lines *ret);
/* " · ", or what stands for it. */
const char *dialog_dot(const struct view *v);
bool dialog_is_escape(const struct keypress *k); /* Esc, Ctrl-C */
/* Keys pressed fast come as one text, and a dialog takes them one by one: leaves the first in *k
 * and gives the others; nothing for any other key. */
struct str dialog_first_key(struct keypress *k);
