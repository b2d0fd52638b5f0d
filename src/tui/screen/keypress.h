/*
 * Keys: turns bytes from a terminal into key presses.
 *
 * Legacy sequences, xterm's modified keys, modifyOtherKeys, the kitty protocol, bracketed paste,
 * focus reports and the terminal's answers to our queries, split at any byte. A lone ESC and a
 * sequence that never ends are told apart by time: keyboard_due() says when to call
 * keyboard_tick(). One thread, no allocation except for pastes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum key_code {
    KEY_TEXT, /* text: one grapheme or more, typed (no control characters, no mods) */
    KEY_CHAR, /* ch with CTRL, ALT or SUPER: 'a'..'z', '_', ' ', … (lower case; SHIFT in mods) */
    KEY_ENTER,
    KEY_TAB,
    KEY_BACKSPACE,
    KEY_ESCAPE,
    KEY_DELETE,
    KEY_INSERT,
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_FUNCTION, /* ch: 1..24 */
    KEY_PASTE,    /* text: all of it, \n at line ends, other control characters but \t taken out */
    KEY_FOCUS_IN,
    KEY_FOCUS_OUT,
    KEY_REPLY, /* the terminal answers: reply, args, text */
};

enum key_mods {
    MOD_SHIFT = 1,
    MOD_ALT = 2,
    MOD_CTRL = 4,
    MOD_SUPER = 8,
};

enum key_reply {
    REPLY_DEVICE,     /* primary device attributes: every terminal sends this one */
    REPLY_MODE,       /* DECRQM: args[0] the mode, args[1] its state */
    REPLY_KITTY,      /* kitty keyboard flags: args[0] */
    REPLY_CURSOR,     /* args: row, column, from 1; what could be F3 with modifiers is F3 */
    REPLY_BACKGROUND, /* OSC 11; text: "rgb:ffff/ffff/ffff" */
    REPLY_OTHER,      /* known to be an answer, of no use */
};

struct keypress {
    enum key_code code;
    unsigned mods;
    uint32_t ch;
    struct str text; /* lent until the next call */
    bool was_cut;    /* PASTE: longer than KEY_MAX_PASTE */
    enum key_reply reply;
    int args[4];
};

#define KEY_MAX_PASTE ((size_t)10 << 20)
#define KEY_ESCAPE_MS 25 /* the bytes of a sequence come together; a user types slower */

struct keyboard;
struct keyboard *keyboard_new(void);
void keyboard_free(struct keyboard *k);
void keyboard_feed(struct keyboard *k, struct str bytes, int64_t now_ms);
/* The next one; false: no more for now. */
bool keyboard_next(struct keyboard *k, struct keypress *ret);
int64_t keyboard_due(
    const struct keyboard *k); /* when to call keyboard_tick(), clock_mono_ms(); -1: not at all */
void keyboard_tick(struct keyboard *k, int64_t now_ms);

/* "ctrl+r", "shift+tab", "enter": for help texts and tests; parses what it writes. */
void keypress_name(const struct keypress *k, struct buf *ret);
bool keypress_parse(struct str name, struct keypress *ret);
/* Whether it is this one: keypress_is(&k, "ctrl+c"). */
bool keypress_is(const struct keypress *k, const char *name);
