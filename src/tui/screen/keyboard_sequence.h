/*
 * Escape sequences of keys: where one ends, and what it means.
 *
 * CSI (ESC [ … final) and SS3 (ESC O …), as terminals have sent them since the VT100: legacy keys,
 * xterm's modifiers, modifyOtherKeys, the kitty protocol, linux consoles, rxvt, and the answers to
 * questions. Pure functions; keyboard.c is their one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/screen/keypress.h"

#define SEQUENCE_MAX_ARGS 8
#define SEQUENCE_MAX_PARTS 4 /* of an argument: "97:65:1" */
#define SEQUENCE_MAX_TEXT 32 /* bytes that one key can type */
#define SEQUENCE_OPEN ((size_t)0)

struct sequence {
    char private; /* '?', '>', '<', '=', or 0 */
    char middle;  /* the last byte between arguments and end ('$'), or 0 */
    char final;
    bool is_ss3;
    bool is_console;                                 /* linux: ESC [ [ A */
    bool is_paste;                                   /* the start of one */
    bool is_bad;                                     /* up to a byte that cannot be in one */
    size_t count;                                    /* arguments */
    int args[SEQUENCE_MAX_ARGS][SEQUENCE_MAX_PARTS]; /* -1: left out */
};

/* s begins with ESC [ or ESC O. Bytes of the sequence, or SEQUENCE_OPEN. */
size_t sequence_scan(struct str s, struct sequence *ret);
/* False: nothing of interest (a key release, a key without a name here). The text it types goes
 * into `text`. */
bool sequence_key(const struct sequence *s, char text[SEQUENCE_MAX_TEXT], struct keypress *ret);
/* OSC (']') or DCS ('P'): always an answer. */
struct keypress sequence_string(char kind, struct str text);
