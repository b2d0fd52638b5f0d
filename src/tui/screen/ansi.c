/*
 * ansi: escape sequences in the text of others. The grammar is small: ESC [ … letter, strings up to
 * BEL or ESC \, and short ones. Pure functions, any thread.
 */
#include "tui/screen/ansi.h"

#include <string.h>

#include "base/mem.h"

#define ANSI_ESC '\033'
#define ANSI_BEL '\007'
#define ANSI_MAX_STRING 4096 /* a longer one is none */
#define ANSI_MAX_PARAMS 32

static size_t ansi_string_length(struct str s)
{
    size_t end = s.len < ANSI_MAX_STRING ? s.len : ANSI_MAX_STRING;

    for (size_t at = 2; at < end; at++) {
        if (s.ptr[at] == ANSI_BEL)
            return at + 1;
        if (s.ptr[at] == ANSI_ESC)
            return at + 1 < s.len && s.ptr[at + 1] == '\\' ? at + 2 : at;
    }
    return 2;
}

static size_t ansi_csi_length(struct str s)
{
    for (size_t at = 2; at < s.len && at < ANSI_MAX_STRING; at++) {
        unsigned char c = (unsigned char)s.ptr[at];

        if (c >= 0x40 && c < 0x7f)
            return at + 1;
        if (c < 0x20 || c >= 0x7f)
            return at;
    }
    return s.len < ANSI_MAX_STRING ? s.len : 2;
}

size_t ansi_length(struct str s)
{
    size_t at = 1;

    if (s.len < 2)
        return s.len;
    if (s.ptr[1] == '[')
        return ansi_csi_length(s);
    if (strchr("]PX^_", s.ptr[1]) && s.ptr[1])
        return ansi_string_length(s);
    while (at < s.len && s.ptr[at] >= 0x20 && s.ptr[at] < 0x30) /* ESC ( B */
        at++;
    if (at < s.len && s.ptr[at] >= 0x30 && s.ptr[at] < 0x7f)
        at++;
    return at;
}

/* --- Colors and attributes --- */

struct ansi_params {
    unsigned n[ANSI_MAX_PARAMS];
    bool joined[ANSI_MAX_PARAMS]; /* by ':' to the one before */
    size_t count;
};

static bool ansi_parse(struct str sequence, struct ansi_params *ret)
{
    *ret = (struct ansi_params){.count = 1};
    for (size_t at = 2; at + 1 < sequence.len; at++) {
        char c = sequence.ptr[at];
        unsigned *n = &ret->n[ret->count - 1];

        if (c >= '0' && c <= '9') {
            *n = *n > 6553 ? 65535 : *n * 10 + (unsigned)(c - '0');
        } else if (c == ';' || c == ':') {
            if (ret->count == ANSI_MAX_PARAMS)
                return false;
            ret->joined[ret->count++] = c == ':';
        } else {
            return false;
        }
    }
    return true;
}

/* 38 and 48: "5;n", "2;r;g;b", "2::r:g:b". Returns how many parameters it took after the first. */
static size_t ansi_color(const struct ansi_params *p, size_t at, uint32_t *ret)
{
    size_t left = p->count - at - 1;
    size_t rgb = 2;

    if (left >= 2 && p->n[at + 1] == 5) {
        if (p->n[at + 2] < 256)
            *ret = COLOR_INDEX | p->n[at + 2];
        return 2;
    }
    if (left >= 4 && p->n[at + 1] == 2) {
        if (left >= 5 && p->joined[at + 1] && p->joined[at + 5])
            rgb = 3; /* with a place for the color space */
        if (p->n[at + rgb] < 256 && p->n[at + rgb + 1] < 256 && p->n[at + rgb + 2] < 256)
            *ret = COLOR_RGB | p->n[at + rgb] << 16 | p->n[at + rgb + 1] << 8 | p->n[at + rgb + 2];
        return rgb + 2;
    }
    return left;
}

static void ansi_attribute(unsigned n, struct style base, struct style *style)
{
    static const uint8_t on[10] = {0, STYLE_BOLD,    STYLE_DIM, STYLE_ITALIC, STYLE_UNDERLINE, 0,
                                   0, STYLE_REVERSE, 0,         STYLE_STRIKE};

    if (n < ARRAY_LEN(on))
        style->flags |= on[n];
    else if (n == 22)
        style->flags &= (uint8_t) ~(STYLE_BOLD | STYLE_DIM);
    else if (n >= 23 && n <= 29)
        style->flags &= (uint8_t)~on[n - 20];
    else if (n >= 30 && n <= 37)
        style->fg = COLOR_INDEX | (n - 30);
    else if (n == 39)
        style->fg = base.fg;
    else if (n >= 40 && n <= 47)
        style->bg = COLOR_INDEX | (n - 40);
    else if (n == 49)
        style->bg = base.bg;
    else if (n >= 90 && n <= 97)
        style->fg = COLOR_INDEX | (n - 90 + 8);
    else if (n >= 100 && n <= 107)
        style->bg = COLOR_INDEX | (n - 100 + 8);
}

bool ansi_style(struct str sequence, struct style base, struct style *style)
{
    struct ansi_params p;

    if (sequence.len < 3 || sequence.ptr[1] != '[' || sequence.ptr[sequence.len - 1] != 'm' ||
        !ansi_parse(sequence, &p))
        return false;
    for (size_t i = 0; i < p.count; i++) {
        if (p.n[i] == 38) {
            i += ansi_color(&p, i, &style->fg);
        } else if (p.n[i] == 48) {
            i += ansi_color(&p, i, &style->bg);
        } else if (p.n[i] == 58) {
            uint32_t of_the_underline;

            i += ansi_color(&p, i, &of_the_underline);
        } else if (p.n[i] == 0) {
            uint16_t link = style->link;

            *style = base;
            style->link = link;
        } else if (i + 1 < p.count && p.joined[i + 1]) { /* 4:3, a curly line; 4:0, none */
            if (p.n[i] == 4)
                ansi_attribute(p.n[i + 1] ? 4 : 24, base, style);
            i++;
        } else {
            ansi_attribute(p.n[i], base, style);
        }
    }
    return true;
}

bool ansi_link(struct str sequence, struct str *ret_target)
{
    struct str rest;
    struct str params;

    if (!str_starts(sequence, STR("\033]8;")))
        return false;
    rest = str_from(sequence, 4);
    if (rest.len && rest.ptr[rest.len - 1] == ANSI_BEL)
        rest.len--;
    else if (str_ends(rest, STR("\033\\")))
        rest.len -= 2;
    if (!str_cut(&rest, ';', &params))
        return false;
    *ret_target = rest;
    return true;
}
