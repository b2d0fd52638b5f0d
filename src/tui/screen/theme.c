/*
 * theme: what roles look like, and the shortest way from one look to the next.
 *
 * A theme is a table of looks in full color. Fewer colors come from it by arithmetic (256), or from
 * one table that all themes share and that leaves the choice to the user's own palette (16), or to
 * attributes alone (none). Tables and pure functions, any thread.
 */
#include "tui/screen/style.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define RGB(x) (COLOR_RGB | 0x##x)
#define INDEX(n) (COLOR_INDEX | (n))

struct theme_look {
    uint32_t fg, bg; /* 0: the terminal's own */
    uint8_t flags;
};

struct theme {
    const char *name;
    const struct theme_look *looks; /* one per role */
};

static const struct theme_look theme_dark[ROLE_COUNT] = {
    [ROLE_FAINT] = {RGB(8a8f98)},
    [ROLE_ACCENT] = {RGB(e8a65a)},
    [ROLE_SAID] = {RGB(c3cbd6)},
    [ROLE_GOOD] = {RGB(8cc570)},
    [ROLE_WARNING] = {RGB(e5c07b)},
    [ROLE_BAD] = {RGB(ee7079)},
    [ROLE_HEADING] = {RGB(7fb4ff), 0, STYLE_BOLD},
    [ROLE_CODE] = {RGB(b9a7f0)},
    [ROLE_LINK] = {RGB(6cb6ff), 0, STYLE_UNDERLINE},
    [ROLE_QUOTE] = {RGB(a3adb8), 0, STYLE_ITALIC},
    [ROLE_KEYWORD] = {RGB(c792ea)},
    [ROLE_STRING] = {RGB(a5d67f)},
    [ROLE_NUMBER] = {RGB(f0a36b)},
    [ROLE_COMMENT] = {RGB(7f8a96), 0, STYLE_ITALIC},
    [ROLE_NAME] = {RGB(7fb4ff)},
    [ROLE_ADDED] = {0, RGB(12301c)},
    [ROLE_REMOVED] = {0, RGB(3a1518)},
    [ROLE_ADDED_WORD] = {0, RGB(1f5a32)},
    [ROLE_REMOVED_WORD] = {0, RGB(6b2328)},
    [ROLE_SELECTED] = {RGB(e8a65a), 0, STYLE_BOLD},
    [ROLE_MATCH] = {RGB(e8a65a), 0, STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_GOAL] = {RGB(4ec9b0)},
    [ROLE_MODE_PLAN] = {RGB(4ec9b0)},
    [ROLE_MODE_EDITS] = {RGB(c792ea)},
    [ROLE_MODE_BYPASS] = {RGB(ee7079)},
    [ROLE_THOUGHT] = {RGB(9298a1), 0, STYLE_ITALIC},
};

static const struct theme_look theme_light[ROLE_COUNT] = {
    [ROLE_FAINT] = {RGB(6e7681)},
    [ROLE_ACCENT] = {RGB(a85d00)},
    [ROLE_SAID] = {RGB(3d4551)},
    [ROLE_GOOD] = {RGB(2f7d32)},
    [ROLE_WARNING] = {RGB(8a6100)},
    [ROLE_BAD] = {RGB(c0262d)},
    [ROLE_HEADING] = {RGB(1f5fbf), 0, STYLE_BOLD},
    [ROLE_CODE] = {RGB(6b3fb5)},
    [ROLE_LINK] = {RGB(0b62c4), 0, STYLE_UNDERLINE},
    [ROLE_QUOTE] = {RGB(57606a), 0, STYLE_ITALIC},
    [ROLE_KEYWORD] = {RGB(8a2bb0)},
    [ROLE_STRING] = {RGB(2f7d32)},
    [ROLE_NUMBER] = {RGB(a04a00)},
    [ROLE_COMMENT] = {RGB(6e7781), 0, STYLE_ITALIC},
    [ROLE_NAME] = {RGB(1f5fbf)},
    [ROLE_ADDED] = {0, RGB(dcf5e0)},
    [ROLE_REMOVED] = {0, RGB(fbe1e3)},
    [ROLE_ADDED_WORD] = {0, RGB(a8e3b4)},
    [ROLE_REMOVED_WORD] = {0, RGB(f4b3b8)},
    [ROLE_SELECTED] = {RGB(a85d00), 0, STYLE_BOLD},
    [ROLE_MATCH] = {RGB(a85d00), 0, STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_GOAL] = {RGB(0f766e)},
    [ROLE_MODE_PLAN] = {RGB(0f766e)},
    [ROLE_MODE_EDITS] = {RGB(8a2bb0)},
    [ROLE_MODE_BYPASS] = {RGB(c0262d)},
    [ROLE_THOUGHT] = {RGB(6e7681), 0, STYLE_ITALIC},
};

/* Blue and orange in the place of green and red. */
static const struct theme_look theme_dark_daltonized[ROLE_COUNT] = {
    [ROLE_FAINT] = {RGB(8a8f98)},
    [ROLE_ACCENT] = {RGB(f0c674)},
    [ROLE_SAID] = {RGB(c3cbd6)},
    [ROLE_GOOD] = {RGB(6cb6ff)},
    [ROLE_WARNING] = {RGB(f0e442)},
    [ROLE_BAD] = {RGB(ff9a4d)},
    [ROLE_HEADING] = {RGB(9cc9ff), 0, STYLE_BOLD},
    [ROLE_CODE] = {RGB(d0b3ff)},
    [ROLE_LINK] = {RGB(6cb6ff), 0, STYLE_UNDERLINE},
    [ROLE_QUOTE] = {RGB(a3adb8), 0, STYLE_ITALIC},
    [ROLE_KEYWORD] = {RGB(d0b3ff)},
    [ROLE_STRING] = {RGB(9cc9ff)},
    [ROLE_NUMBER] = {RGB(f0c674)},
    [ROLE_COMMENT] = {RGB(7f8a96), 0, STYLE_ITALIC},
    [ROLE_NAME] = {RGB(9cc9ff)},
    [ROLE_ADDED] = {0, RGB(10294a)},
    [ROLE_REMOVED] = {0, RGB(42260c)},
    [ROLE_ADDED_WORD] = {0, RGB(1d4f8c)},
    [ROLE_REMOVED_WORD] = {0, RGB(7d4413)},
    [ROLE_SELECTED] = {RGB(f0c674), 0, STYLE_BOLD},
    [ROLE_MATCH] = {RGB(f0c674), 0, STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_GOAL] = {RGB(6cb6ff)},
    [ROLE_MODE_PLAN] = {RGB(6cb6ff)},
    [ROLE_MODE_EDITS] = {RGB(d0b3ff)},
    [ROLE_MODE_BYPASS] = {RGB(ff9a4d)},
    [ROLE_THOUGHT] = {RGB(9298a1), 0, STYLE_ITALIC},
};

static const struct theme_look theme_light_daltonized[ROLE_COUNT] = {
    [ROLE_FAINT] = {RGB(6e7681)},
    [ROLE_ACCENT] = {RGB(8a6100)},
    [ROLE_SAID] = {RGB(3d4551)},
    [ROLE_GOOD] = {RGB(0b5cad)},
    [ROLE_WARNING] = {RGB(7a6a00)},
    [ROLE_BAD] = {RGB(b34700)},
    [ROLE_HEADING] = {RGB(0b4a99), 0, STYLE_BOLD},
    [ROLE_CODE] = {RGB(5b3fa0)},
    [ROLE_LINK] = {RGB(0b5cad), 0, STYLE_UNDERLINE},
    [ROLE_QUOTE] = {RGB(57606a), 0, STYLE_ITALIC},
    [ROLE_KEYWORD] = {RGB(5b3fa0)},
    [ROLE_STRING] = {RGB(0b5cad)},
    [ROLE_NUMBER] = {RGB(8a5000)},
    [ROLE_COMMENT] = {RGB(6e7781), 0, STYLE_ITALIC},
    [ROLE_NAME] = {RGB(0b4a99)},
    [ROLE_ADDED] = {0, RGB(d9e9fb)},
    [ROLE_REMOVED] = {0, RGB(fbe6d2)},
    [ROLE_ADDED_WORD] = {0, RGB(a4cdf7)},
    [ROLE_REMOVED_WORD] = {0, RGB(f5bf8c)},
    [ROLE_SELECTED] = {RGB(8a6100), 0, STYLE_BOLD},
    [ROLE_MATCH] = {RGB(8a6100), 0, STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_GOAL] = {RGB(0b5cad)},
    [ROLE_MODE_PLAN] = {RGB(0b5cad)},
    [ROLE_MODE_EDITS] = {RGB(5b3fa0)},
    [ROLE_MODE_BYPASS] = {RGB(b34700)},
    [ROLE_THOUGHT] = {RGB(6e7681), 0, STYLE_ITALIC},
};

/* The terminal's palette, on any background: no black, no white, no bright black. */
static const struct theme_look theme_ansi[ROLE_COUNT] = {
    [ROLE_FAINT] = {0, 0, STYLE_DIM},
    [ROLE_ACCENT] = {INDEX(3)},
    [ROLE_GOOD] = {INDEX(2)},
    [ROLE_WARNING] = {INDEX(3)},
    [ROLE_BAD] = {INDEX(1)},
    [ROLE_HEADING] = {INDEX(4), 0, STYLE_BOLD},
    [ROLE_CODE] = {INDEX(6)},
    [ROLE_LINK] = {INDEX(4), 0, STYLE_UNDERLINE},
    [ROLE_QUOTE] = {0, 0, STYLE_ITALIC},
    [ROLE_KEYWORD] = {INDEX(5)},
    [ROLE_STRING] = {INDEX(2)},
    [ROLE_NUMBER] = {INDEX(3)},
    [ROLE_COMMENT] = {0, 0, STYLE_DIM},
    [ROLE_NAME] = {INDEX(4)},
    [ROLE_ADDED] = {INDEX(2)},
    [ROLE_REMOVED] = {INDEX(1)},
    [ROLE_ADDED_WORD] = {INDEX(2), 0, STYLE_REVERSE},
    [ROLE_REMOVED_WORD] = {INDEX(1), 0, STYLE_REVERSE},
    [ROLE_SELECTED] = {INDEX(3), 0, STYLE_BOLD},
    [ROLE_MATCH] = {INDEX(3), 0, STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_GOAL] = {INDEX(6)},
    [ROLE_MODE_PLAN] = {INDEX(6)},
    [ROLE_MODE_EDITS] = {INDEX(5)},
    [ROLE_MODE_BYPASS] = {INDEX(1)},
    [ROLE_THOUGHT] = {0, 0, STYLE_DIM | STYLE_ITALIC},
};

static const struct theme_look theme_colorless[ROLE_COUNT] = {
    [ROLE_ACCENT] = {.flags = STYLE_BOLD},
    [ROLE_WARNING] = {.flags = STYLE_BOLD},
    [ROLE_BAD] = {.flags = STYLE_BOLD},
    [ROLE_HEADING] = {.flags = STYLE_BOLD},
    [ROLE_LINK] = {.flags = STYLE_UNDERLINE},
    [ROLE_ADDED_WORD] = {.flags = STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_REMOVED_WORD] = {.flags = STYLE_BOLD | STYLE_UNDERLINE},
    [ROLE_SELECTED] = {.flags = STYLE_BOLD},
    [ROLE_MATCH] = {.flags = STYLE_UNDERLINE},
    [ROLE_MODE_BYPASS] = {.flags = STYLE_BOLD},
};

static const struct theme theme_table[] = {
    {"dark", theme_dark},
    {"light", theme_light},
    {"dark-daltonized", theme_dark_daltonized},
    {"light-daltonized", theme_light_daltonized},
    {"ansi", theme_ansi},
};

size_t theme_count(void)
{
    return ARRAY_LEN(theme_table);
}

const char *theme_name(size_t i)
{
    return theme_table[i].name;
}

const struct theme *theme_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(theme_table); i++) {
        if (str_is(name, theme_table[i].name))
            return &theme_table[i];
    }
    return NULL;
}

/* --- Fewer colors --- */

static unsigned theme_distance(uint32_t a, uint32_t b)
{
    int red = (int)(a >> 16 & 0xff) - (int)(b >> 16 & 0xff);
    int green = (int)(a >> 8 & 0xff) - (int)(b >> 8 & 0xff);
    int blue = (int)(a & 0xff) - (int)(b & 0xff);

    return (unsigned)(3 * red * red + 4 * green * green + 2 * blue * blue);
}

/* The levels of the 6 x 6 x 6 cube of xterm's palette. */
static const uint8_t theme_levels[6] = {0, 95, 135, 175, 215, 255};

static unsigned theme_level(unsigned value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

static uint32_t theme_rgb_of_index(unsigned index)
{
    static const uint32_t first[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
                                       0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                                       0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};

    if (index < 16)
        return first[index];
    if (index < 232) {
        index -= 16;
        return (uint32_t)theme_levels[index / 36] << 16 |
               (uint32_t)theme_levels[index / 6 % 6] << 8 | theme_levels[index % 6];
    }
    return (8 + 10 * (index - 232)) * 0x010101u;
}

/* The palette has few dark and few pale colors: arithmetic makes these backgrounds of diffs gray,
 * or a word that differs the same as its line. */
static const struct {
    uint32_t rgb;
    uint8_t index;
} theme_256[] = {
    {0x12301c, 22},  {0x3a1518, 52},  {0x1f5a32, 28},  {0x6b2328, 88},  /* dark */
    {0xdcf5e0, 194}, {0xfbe1e3, 224}, {0xa8e3b4, 157}, {0xf4b3b8, 217}, /* light */
    {0x10294a, 17},  {0x42260c, 58},  {0x1d4f8c, 25},  {0x7d4413, 94},  /* dark-daltonized */
    {0xd9e9fb, 189}, {0xfbe6d2, 223}, {0xa4cdf7, 153}, {0xf5bf8c, 216}, /* light-daltonized */
};

static unsigned theme_nearest_256(uint32_t rgb)
{
    unsigned red = rgb >> 16 & 0xff;
    unsigned green = rgb >> 8 & 0xff;
    unsigned blue = rgb & 0xff;
    unsigned mean = (red + green + blue) / 3;
    unsigned cube = 16 + 36 * theme_level(red) + 6 * theme_level(green) + theme_level(blue);
    unsigned gray = 232 + (mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10);

    for (size_t i = 0; i < ARRAY_LEN(theme_256); i++) {
        if (theme_256[i].rgb == rgb)
            return theme_256[i].index;
    }
    return theme_distance(rgb, theme_rgb_of_index(gray)) <
                   theme_distance(rgb, theme_rgb_of_index(cube))
               ? gray
               : cube;
}

static unsigned theme_nearest_16(uint32_t rgb)
{
    unsigned best = 0;

    for (unsigned i = 1; i < 16; i++) {
        if (theme_distance(rgb, theme_rgb_of_index(i)) <
            theme_distance(rgb, theme_rgb_of_index(best)))
            best = i;
    }
    return best;
}

static uint32_t theme_fit(uint32_t color, enum color_depth depth)
{
    if (!color || depth == COLORS_NONE)
        return 0;
    if (depth == COLORS_TRUE)
        return color;
    if (depth == COLORS_256)
        return color & COLOR_RGB ? COLOR_INDEX | theme_nearest_256(color & 0xffffff) : color;
    if (color & COLOR_RGB)
        return COLOR_INDEX | theme_nearest_16(color & 0xffffff);
    if ((color & 0xff) >= 16)
        return COLOR_INDEX | theme_nearest_16(theme_rgb_of_index(color & 0xff));
    return color;
}

/* --- From one look to the next --- */

static struct theme_look theme_resolve(const struct theme *t, enum color_depth depth,
                                       struct style style)
{
    const struct theme_look *looks = t->looks;
    struct theme_look look;

    if (depth == COLORS_NONE)
        looks = theme_colorless;
    else if (depth == COLORS_16)
        looks = theme_ansi;
    if (style.bg & COLOR_ROLE) {
        unsigned below = style.bg & 0xff;

        style.bg = looks[below < ROLE_COUNT ? below : ROLE_TEXT].bg;
        if (!style.bg)
            style.role = (uint8_t)below;
    }
    look = looks[style.role < ROLE_COUNT ? style.role : ROLE_TEXT];
    look.fg = theme_fit(style.fg ? style.fg : look.fg, depth);
    look.bg = theme_fit(style.bg ? style.bg : look.bg, depth);
    look.flags |= style.flags;
    return look;
}

static void theme_number(struct buf *b, unsigned n)
{
    char digits[10];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    buf_add(b, str_make(digits + at, sizeof(digits) - at));
}

/* One parameter; `first` becomes false. */
static void theme_param(struct buf *b, bool *first, unsigned n)
{
    if (!*first)
        buf_addc(b, ';');
    *first = false;
    theme_number(b, n);
}

/* base: 30 for the foreground, 40 for the background. */
static void theme_color(struct buf *b, bool *first, uint32_t color, unsigned base)
{
    unsigned index = color & 0xff;

    if (!color) {
        theme_param(b, first, base + 9);
    } else if (color & COLOR_RGB) {
        theme_param(b, first, base + 8);
        theme_param(b, first, 2);
        theme_param(b, first, color >> 16 & 0xff);
        theme_param(b, first, color >> 8 & 0xff);
        theme_param(b, first, color & 0xff);
    } else if (index < 8) {
        theme_param(b, first, base + index);
    } else if (index < 16) {
        theme_param(b, first, base + 60 + index - 8);
    } else {
        theme_param(b, first, base + 8);
        theme_param(b, first, 5);
        theme_param(b, first, index);
    }
}

struct theme_attribute {
    uint8_t flag, number;
};

static const struct theme_attribute theme_attributes[] = {
    {STYLE_BOLD, 1},      {STYLE_DIM, 2},     {STYLE_ITALIC, 3},
    {STYLE_UNDERLINE, 4}, {STYLE_REVERSE, 7}, {STYLE_STRIKE, 9},
};

static void theme_change(const struct theme *t, enum color_depth depth, const struct style *from,
                         struct style to, struct buf *ret)
{
    struct theme_look have = {0};
    struct theme_look want;
    bool first = true;

    want = theme_resolve(t, depth, to);
    if (from) {
        have = theme_resolve(t, depth, *from);
        if (have.fg == want.fg && have.bg == want.bg && have.flags == want.flags)
            return;
    }
    buf_adds(ret, "\033[");
    if (!from || have.flags & ~want.flags || (!want.fg && !want.bg && !want.flags)) {
        /* Some attributes share their end: begin from nothing. */
        have = (struct theme_look){0};
        if (want.fg || want.bg || want.flags)
            theme_param(ret, &first, 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(theme_attributes); i++) {
        if (want.flags & ~have.flags & theme_attributes[i].flag)
            theme_param(ret, &first, theme_attributes[i].number);
    }
    if (want.fg != have.fg)
        theme_color(ret, &first, want.fg, 30);
    if (want.bg != have.bg)
        theme_color(ret, &first, want.bg, 40);
    buf_addc(ret, 'm');
}

/* The changes that were written last: a text has a few, and has them again and again. */
#define THEME_KEPT 64
#define THEME_MAX_KEPT 48

struct theme_kept {
    const struct theme *theme; /* NULL: nothing is kept here */
    enum color_depth depth;
    struct style from, to;
    size_t len;
    char bytes[THEME_MAX_KEPT];
};

static struct theme_kept *theme_slot(struct style from, struct style to)
{
    static _Thread_local struct theme_kept kept[THEME_KEPT];
    uint32_t n = (uint32_t)from.role * 31 + from.flags * 17u + to.role * 7u + to.flags * 5u +
                 (from.fg ^ from.bg) * 3u + (to.fg ^ to.bg);

    return &kept[(n ^ n >> 8 ^ n >> 16) % THEME_KEPT];
}

void theme_write(const struct theme *t, enum color_depth depth, const struct style *from,
                 struct style to, struct buf *ret)
{
    size_t before = ret->len;
    struct theme_kept *k;

    if (!from) {
        theme_change(t, depth, from, to, ret);
        return;
    }
    if (style_eq(*from, to))
        return;
    k = theme_slot(*from, to);
    if (k->theme == t && k->depth == depth && style_eq(k->from, *from) && style_eq(k->to, to)) {
        buf_add(ret, str_make(k->bytes, k->len));
        return;
    }
    theme_change(t, depth, from, to, ret);
    if (ret->over || ret->len - before > THEME_MAX_KEPT)
        return;
    *k = (struct theme_kept){t, depth, *from, to, ret->len - before, ""};
    if (k->len)
        memcpy(k->bytes, ret->ptr + before, k->len);
}
