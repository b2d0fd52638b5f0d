/*
 * term_able: what the environment tells about a terminal. Tables of names; pure functions.
 */
#include "tui/screen/term_able.h"

#include "base/mem.h"

static struct str term_env(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (char *const *e = env; e && *e; e++) {
        if (!strncmp(*e, name, len) && (*e)[len] == '=')
            return str_of(*e + len + 1);
    }
    return (struct str){0};
}

/* How each kind of terminal is recognized, and its abilities. The first matching row counts. */
enum {
    SYNC = 1,
    LINKS = 2,
    CLIPBOARD = 4,
    TRUE_COLOR = 8,
    REFLOWS = 16,
    ASKS = 32,
    OTHER_KEYS = 64,
    KEEPS_BLANK = 128,
    IN_TMUX = 256,
};

struct term_row {
    const char *name, *value; /* of a variable; value NULL: it is set; "x*": begins with x */
    unsigned able;
    enum term_notice notice;
};

static const struct term_row term_rows[] = {
    /* What runs inside of another terminal comes first: it inherits that one's variables. */
    {"TMUX", NULL, IN_TMUX | CLIPBOARD | REFLOWS | KEEPS_BLANK | ASKS | OTHER_KEYS, NOTICE_BELL},
    {"STY", NULL, 0, NOTICE_BELL}, /* GNU screen prints what it does not know */
    {"TERM", "linux", 0, NOTICE_BELL},
    {"TERM", "vt*", 0, NOTICE_BELL},
    {"TERM", "screen*", 0, NOTICE_BELL},
    {"TERM", "tmux*", IN_TMUX | CLIPBOARD | REFLOWS | KEEPS_BLANK | ASKS | OTHER_KEYS, NOTICE_BELL},
    {"TERM", "xterm-kitty", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_OSC9},
    {"TERM", "foot*", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_OSC777},
    {"TERM", "xterm-ghostty", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_OSC9},
    {"TERM", "alacritty*", LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_BELL},
    {"TERM", "rxvt*", REFLOWS | ASKS, NOTICE_OSC777},
    {"TERM", "st-*", LINKS | CLIPBOARD | TRUE_COLOR | ASKS, NOTICE_BELL},
    {"TERM_PROGRAM", "WezTerm", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS,
     NOTICE_OSC9},
    {"TERM_PROGRAM", "iTerm.app", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS,
     NOTICE_OSC9},
    {"TERM_PROGRAM", "ghostty", SYNC | LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS,
     NOTICE_OSC9},
    {"TERM_PROGRAM", "vscode", LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_BELL},
    {"TERM_PROGRAM", "Apple_Terminal", REFLOWS | ASKS, NOTICE_BELL},
    {"WT_SESSION", NULL, LINKS | CLIPBOARD | TRUE_COLOR | REFLOWS | ASKS, NOTICE_BELL},
    {"KONSOLE_VERSION", NULL, LINKS | TRUE_COLOR | REFLOWS | ASKS, NOTICE_BELL},
    {"VTE_VERSION", NULL, LINKS | TRUE_COLOR | REFLOWS | ASKS, NOTICE_OSC777},
    {"XTERM_VERSION", NULL, LINKS | CLIPBOARD | ASKS | OTHER_KEYS, NOTICE_BELL},
    {"TERM", "xterm*", LINKS | CLIPBOARD | REFLOWS | ASKS, NOTICE_BELL}, /* says everybody */
};

static bool term_fits(char *const *env, const struct term_row *row)
{
    struct str have = term_env(env, row->name);
    size_t len = row->value ? strlen(row->value) : 0;

    if (!row->value)
        return have.len;
    if (len && row->value[len - 1] == '*')
        return str_starts(have, str_make(row->value, len - 1));
    return str_is(have, row->value);
}

static enum color_depth term_colors(char *const *env, unsigned able)
{
    struct str term = term_env(env, "TERM");
    struct str more = term_env(env, "COLORTERM");

    if (term_env(env, "NO_COLOR").len)
        return COLORS_NONE;
    if (able & TRUE_COLOR || str_is(more, "truecolor") || str_is(more, "24bit") ||
        str_ends(term, STR("-direct")))
        return COLORS_TRUE;
    if (str_has(term, STR("256color")))
        return COLORS_256;
    if (str_starts(term, STR("vt")) || str_has(term, STR("-m")))
        return COLORS_NONE;
    return COLORS_16;
}

/* A locale that names another charset is explicit; an unset one means nothing. C and POSIX, which
 * scripts and containers set, mean little: our own marks keep to ASCII then, but other text is
 * printed unchanged. */
static void term_guess_letters(char *const *env, struct term_able *able)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    struct str value = {0};

    for (size_t i = 0; i < ARRAY_LEN(names) && !value.len; i++)
        value = term_env(env, names[i]);
    able->unicode = !value.len || str_find_nocase(value, STR("utf-8")) < value.len ||
                    str_find_nocase(value, STR("utf8")) < value.len;
    able->letters = able->unicode || str_is(value, "C") || str_is(value, "POSIX");
}

/* "15;0": the last is the background, 7 and 15 are white. */
static void term_guess_background(char *const *env, struct term_able *able)
{
    struct str value = term_env(env, "COLORFGBG");
    struct str part = {0};

    if (!value.len)
        return;
    while (str_cut(&value, ';', &part))
        continue;
    able->knows_background = part.len && part.ptr[0] >= '0' && part.ptr[0] <= '9';
    able->is_light = str_is(part, "7") || str_is(part, "15");
}

void term_guess(char *const *env, bool plain, struct term_guess *ret)
{
    struct str term = term_env(env, "TERM");
    unsigned able = 0;

    *ret = (struct term_guess){.able.focused = true};
    term_guess_letters(env, &ret->able);
    if (plain || !term.len || str_is(term, "dumb")) {
        ret->able.is_plain = true;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(term_rows); i++) {
        if (term_fits(env, &term_rows[i])) {
            able = term_rows[i].able;
            ret->able.notice = term_rows[i].notice;
            break;
        }
    }
    ret->able.colors = term_colors(env, able);
    ret->able.in_tmux = able & IN_TMUX;
    ret->able.sync = able & SYNC;
    ret->able.links = able & LINKS;
    ret->able.clipboard = able & CLIPBOARD;
    ret->able.reflows = able & REFLOWS;
    ret->able.keeps_blank = able & KEEPS_BLANK;
    ret->asks = able & ASKS;
    ret->other_keys = able & OTHER_KEYS;
    term_guess_background(env, &ret->able);
}

/* One color of 1 to 4 hex digits, as 0..255. */
static bool term_parse_part(struct str part, unsigned *ret)
{
    unsigned value = 0;
    unsigned most = 0;

    if (!part.len || part.len > 4)
        return false;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.ptr[i];
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (unsigned)((c | 0x20) - 'a' + 10);
        else
            return false;
        value = value << 4 | digit;
        most = most << 4 | 15;
    }
    *ret = value * 255 / most;
    return true;
}

bool term_parse_background(struct str text, bool *ret_light)
{
    unsigned rgb[3];
    struct str part;
    size_t start = str_starts(text, STR("rgba:")) ? 5 : 4;

    if (!str_starts(text, STR("rgb")))
        return false;
    text = str_from(text, start);
    for (size_t i = 0; i < ARRAY_LEN(rgb); i++) {
        if (!str_cut(&text, '/', &part) || !term_parse_part(part, &rgb[i]))
            return false;
    }
    *ret_light = 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] > 500 * 255;
    return true;
}
