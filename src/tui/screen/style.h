/*
 * How text looks: what it is, not which color it has.
 *
 * A style names a role; a theme says what a role looks like on this terminal. So every theme, 16
 * colors and no color at all come from one table (theme.c), and only this code writes escape
 * sequences for color. Programs whose own colors are kept (the status line) set fg and bg.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

enum style_role {
    ROLE_TEXT,
    ROLE_FAINT,  /* what may be overlooked: hints, borders, elapsed times */
    ROLE_ACCENT, /* ours: the prompt, the spinner, the choice under the cursor */
    ROLE_SAID,   /* by the person */
    ROLE_GOOD,
    ROLE_WARNING,
    ROLE_BAD,
    ROLE_HEADING,
    ROLE_CODE, /* inline */
    ROLE_LINK,
    ROLE_QUOTE,
    ROLE_KEYWORD, /* of highlighted code: this and the next four */
    ROLE_STRING,
    ROLE_NUMBER,
    ROLE_COMMENT,
    ROLE_NAME,
    ROLE_ADDED, /* lines of a diff, with a background where there is color */
    ROLE_REMOVED,
    ROLE_ADDED_WORD, /* the part of such a line that differs */
    ROLE_REMOVED_WORD,
    ROLE_SELECTED, /* the row under the cursor */
    ROLE_MATCH,    /* letters that a search found */
    ROLE_GOAL,
    ROLE_MODE_PLAN,
    ROLE_MODE_EDITS,
    ROLE_MODE_BYPASS,
    ROLE_THOUGHT, /* thinking */
    ROLE_COUNT,
};

enum style_flags {
    STYLE_BOLD = 1,
    STYLE_ITALIC = 2,
    STYLE_UNDERLINE = 4,
    STYLE_STRIKE = 8,
    STYLE_REVERSE = 16,
    STYLE_DIM = 32,
};

/* 0: as the role has it. */
#define COLOR_RGB 0x1000000u   /* | 0xrrggbb */
#define COLOR_INDEX 0x2000000u /* | 0..255 */
/* | enum style_role, for bg: on the background of that role (code in a line of a diff). Where that
 * role has none (16 colors, no color) the text looks like that role altogether. */
#define COLOR_ROLE 0x4000000u

struct style {
    uint8_t role;
    uint8_t flags;
    uint16_t link; /* of the lines it is used in (line.h); 0: none */
    uint32_t fg, bg;
};
#define STYLE(r) ((struct style){.role = (r)})
#define STYLE_WITH(r, f) ((struct style){.role = (r), .flags = (f)})

static inline bool style_eq(struct style a, struct style b)
{
    return a.role == b.role && a.flags == b.flags && a.link == b.link && a.fg == b.fg &&
           a.bg == b.bg;
}

enum color_depth {
    COLORS_NONE, /* NO_COLOR, TERM=dumb, --plain: bold and underline only where the terminal can */
    COLORS_16,
    COLORS_256,
    COLORS_TRUE,
};

struct theme; /* immutable */
size_t theme_count(void);
const char *
theme_name(size_t i); /* "dark", "light", "dark-daltonized", "light-daltonized", "ansi" */
const struct theme *theme_find(struct str name); /* NULL: no such theme */

/* The sequence that makes the terminal show `to`, given that it shows `from` (NULL: unknown). */
void theme_write(const struct theme *t, enum color_depth depth, const struct style *from,
                 struct style to, struct buf *ret);
