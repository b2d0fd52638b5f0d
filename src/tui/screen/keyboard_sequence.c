/*
 * What escape sequences mean: tables, and the three dialects in which a modified letter can be
 * said. UI thread, no state.
 */
#include "tui/screen/keyboard_sequence.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define MAX_ARG 0x110000 /* more than any character */

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* --- where it ends --------------------------------------------------------------------------- */

/* One byte of the arguments. */
static void sequence_arg(struct sequence *s, size_t *part, char c)
{
    int *arg;

    if (c == ';' || !s->count) {
        if (s->count == SEQUENCE_MAX_ARGS) {
            *part = SEQUENCE_MAX_PARTS; /* too many: not kept */
            return;
        }
        for (size_t i = 0; i < SEQUENCE_MAX_PARTS; i++)
            s->args[s->count][i] = -1;
        s->count++;
        *part = 0;
        if (c == ';' && s->count == 1) { /* the first was left out */
            sequence_arg(s, part, c);
            return;
        }
        if (c == ';')
            return;
    }
    if (c == ':') {
        ++*part;
        return;
    }
    if (*part >= SEQUENCE_MAX_PARTS)
        return;
    arg = &s->args[s->count - 1][*part];
    *arg = (*arg < 0 ? 0 : *arg) * 10 + (c - '0');
    if (*arg > MAX_ARG)
        *arg = MAX_ARG;
}

static size_t ss3_scan(struct str s, struct sequence *ret)
{
    size_t at = 2;
    size_t part = 0;

    ret->is_ss3 = true;
    while (at < s.len && at < 6 && ((s.ptr[at] >= '0' && s.ptr[at] <= '9') || s.ptr[at] == ';'))
        sequence_arg(ret, &part, s.ptr[at++]);
    if (at == s.len)
        return SEQUENCE_OPEN;
    ret->final = s.ptr[at];
    ret->is_bad = !is_one_of(ret->final, "ABCDEFHIMPQRSXabcdjklmnopqrstuvwxy");
    if (ret->is_bad)
        return 2; /* Alt-O, and what follows is something else */
    return at + 1;
}

size_t sequence_scan(struct str s, struct sequence *ret)
{
    size_t part = 0;
    size_t at = 2;

    memset(ret, 0, sizeof(*ret));
    if (s.len < 3)
        return SEQUENCE_OPEN;
    if (s.ptr[1] == 'O')
        return ss3_scan(s, ret);
    if (s.ptr[2] == '[') {
        if (s.len < 4)
            return SEQUENCE_OPEN;
        ret->is_console = true;
        ret->final = s.ptr[3];
        ret->is_bad = ret->final < 'A' || ret->final > 'E';
        return ret->is_bad ? 3 : 4;
    }
    for (; at < s.len; at++) {
        char c = s.ptr[at];

        if (c >= '<' && c <= '?') {
            if (at == 2)
                ret->private = c;
        } else if (c >= '0' && c <= ';') {
            sequence_arg(ret, &part, c);
        } else if (c == '$' && !ret->private && at > 2) {
            ret->final = c; /* rxvt: Shift */
            return at + 1;
        } else if (c >= 0x20 && c < 0x30) {
            ret->middle = c;
        } else if (c >= 0x40 && c < 0x7f) {
            ret->final = c;
            break;
        } else {
            ret->is_bad = true;
            return at;
        }
    }
    if (at == s.len)
        return SEQUENCE_OPEN;
    if (ret->final == 'M' && at == 2) /* an old mouse report: three bytes more */
        return s.len < 6 ? SEQUENCE_OPEN : 6;
    ret->is_paste = ret->final == '~' && ret->count == 1 && ret->args[0][0] == 200;
    return at + 1;
}

/* --- arguments ------------------------------------------------------------------------------- */

static int arg_or(const struct sequence *s, size_t i, size_t part, int otherwise)
{
    return i < s->count && s->args[i][part] >= 0 ? s->args[i][part] : otherwise;
}

/* 1 and a bit for each modifier, as xterm and kitty have it. */
static unsigned mods_of(int arg)
{
    unsigned bits = arg > 0 ? (unsigned)arg - 1 : 0;

    return (bits & 1 ? MOD_SHIFT : 0) | (bits & (2 | 32) ? MOD_ALT : 0) |
           (bits & 4 ? MOD_CTRL : 0) | (bits & 8 ? MOD_SUPER : 0);
}

/* --- keys by number and letter --------------------------------------------------------------- */

struct key_row {
    int from;
    enum key_code code;
    uint32_t ch;
};

/* CSI number ~ */
static const struct key_row tilde_keys[] = {
    {1, KEY_HOME},          {2, KEY_INSERT},        {3, KEY_DELETE},        {4, KEY_END},
    {5, KEY_PAGE_UP},       {6, KEY_PAGE_DOWN},     {7, KEY_HOME},          {8, KEY_END},
    {11, KEY_FUNCTION, 1},  {12, KEY_FUNCTION, 2},  {13, KEY_FUNCTION, 3},  {14, KEY_FUNCTION, 4},
    {15, KEY_FUNCTION, 5},  {17, KEY_FUNCTION, 6},  {18, KEY_FUNCTION, 7},  {19, KEY_FUNCTION, 8},
    {20, KEY_FUNCTION, 9},  {21, KEY_FUNCTION, 10}, {23, KEY_FUNCTION, 11}, {24, KEY_FUNCTION, 12},
    {25, KEY_FUNCTION, 13}, {26, KEY_FUNCTION, 14}, {28, KEY_FUNCTION, 15}, {29, KEY_FUNCTION, 16},
    {31, KEY_FUNCTION, 17}, {32, KEY_FUNCTION, 18}, {33, KEY_FUNCTION, 19}, {34, KEY_FUNCTION, 20},
};

/* CSI letter, SS3 letter */
static const struct key_row letter_keys[] = {
    {'A', KEY_UP},          {'B', KEY_DOWN},        {'C', KEY_RIGHT},       {'D', KEY_LEFT},
    {'F', KEY_END},         {'H', KEY_HOME},        {'P', KEY_FUNCTION, 1}, {'Q', KEY_FUNCTION, 2},
    {'R', KEY_FUNCTION, 3}, {'S', KEY_FUNCTION, 4}, {'Z', KEY_TAB},
};

/* SS3 letter: a keypad in application mode */
static const struct key_row keypad_keys[] = {
    {'I', KEY_TAB},       {'M', KEY_ENTER},     {'X', KEY_TEXT, '='}, {'j', KEY_TEXT, '*'},
    {'k', KEY_TEXT, '+'}, {'l', KEY_TEXT, ','}, {'m', KEY_TEXT, '-'}, {'n', KEY_TEXT, '.'},
    {'o', KEY_TEXT, '/'}, {'p', KEY_TEXT, '0'}, {'q', KEY_TEXT, '1'}, {'r', KEY_TEXT, '2'},
    {'s', KEY_TEXT, '3'}, {'t', KEY_TEXT, '4'}, {'u', KEY_TEXT, '5'}, {'v', KEY_TEXT, '6'},
    {'w', KEY_TEXT, '7'}, {'x', KEY_TEXT, '8'}, {'y', KEY_TEXT, '9'},
};

/* CSI number u: those without a character, in the private use area */
static const struct key_row kitty_keys[] = {
    {9, KEY_TAB},           {13, KEY_ENTER},        {27, KEY_ESCAPE},       {127, KEY_BACKSPACE},
    {57409, KEY_TEXT, '.'}, {57410, KEY_TEXT, '/'}, {57411, KEY_TEXT, '*'}, {57412, KEY_TEXT, '-'},
    {57413, KEY_TEXT, '+'}, {57414, KEY_ENTER},     {57415, KEY_TEXT, '='}, {57416, KEY_TEXT, ','},
    {57417, KEY_LEFT},      {57418, KEY_RIGHT},     {57419, KEY_UP},        {57420, KEY_DOWN},
    {57421, KEY_PAGE_UP},   {57422, KEY_PAGE_DOWN}, {57423, KEY_HOME},      {57424, KEY_END},
    {57425, KEY_INSERT},    {57426, KEY_DELETE},
};

#define KITTY_PRIVATE_FIRST 57344
#define KITTY_PRIVATE_LAST 63743
#define KITTY_F13 57376
#define KITTY_F24 57387
#define KITTY_DIGIT_0 57399
#define KITTY_DIGIT_9 57408

static const struct key_row *row_of(const struct key_row *rows, size_t count, int from)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].from == from)
            return &rows[i];
    }
    return NULL;
}

static bool types(struct keypress *k, uint32_t code, char text[SEQUENCE_MAX_TEXT])
{
    k->code = KEY_TEXT;
    k->mods = 0;
    k->ch = 0;
    k->text = str_make(text, utf8_encode(code, text));
    return true;
}

/* --- modified characters --------------------------------------------------------------------- */

static bool is_typable(int code)
{
    return code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0) &&
           !(code >= 0xd800 && code < 0xe000) && code < MAX_ARG;
}

/* What old terminals could not tell from another key means that key on new ones, too. */
static bool char_alias(struct keypress *k)
{
    if (!(k->mods & MOD_CTRL))
        return false;
    switch (k->ch) {
    case '[':
        k->code = KEY_ESCAPE;
        break;
    case 'i':
        k->code = KEY_TAB;
        break;
    case 'm':
        k->code = KEY_ENTER;
        break;
    default:
        return false;
    }
    k->mods &= ~(unsigned)MOD_CTRL;
    k->ch = 0;
    return true;
}

/* A character with modifiers: Ctrl and Alt make it a key, Shift alone another character. */
static bool char_key(int code, int shifted, int base, struct keypress *k,
                     char text[SEQUENCE_MAX_TEXT])
{
    if (!(k->mods & (MOD_CTRL | MOD_ALT | MOD_SUPER))) {
        if (k->mods & MOD_SHIFT) {
            if (shifted > 0)
                code = shifted;
            else if (code >= 'a' && code <= 'z')
                code -= 'a' - 'A';
        }
        return is_typable(code) && types(k, (uint32_t)code, text);
    }
    if (code >= 0x80 && base > 0 && base < 0x80)
        code = base;             /* Ctrl-C on a keyboard of other letters */
    if (code >= 1 && code <= 26) /* modifyOtherKeys of some terminals says the control character */
        code += 'a' - 1;
    if (code >= 'A' && code <= 'Z') {
        code += 'a' - 'A';
        k->mods |= MOD_SHIFT;
    } else if (k->mods & MOD_SHIFT && !(code >= 'a' && code <= 'z') && code < 0x80) {
        if (code == '-' && shifted < 0)
            shifted = '_';
        if (shifted > 0) { /* Ctrl-_ is not Ctrl-Shift-- for users */
            code = shifted;
            k->mods &= ~(unsigned)MOD_SHIFT;
        }
    }
    if (!is_typable(code))
        return false;
    k->code = KEY_CHAR;
    k->ch = (uint32_t)code;
    char_alias(k);
    return true;
}

/* The text a key types, as kitty tells it: code points with colons between them. */
static bool kitty_text(const struct sequence *s, struct keypress *k, char text[SEQUENCE_MAX_TEXT])
{
    size_t len = 0;

    for (size_t i = 0; i < SEQUENCE_MAX_PARTS; i++) {
        int code = s->args[2][i];

        if (code >= 0 && is_typable(code))
            len += utf8_encode((uint32_t)code, text + len);
    }
    k->code = KEY_TEXT;
    k->mods = 0;
    k->text = str_make(text, len);
    return len > 0;
}

/* modifyOtherKeys: CSI 27 ; modifiers ; character ~ */
static bool other_key(int code, struct keypress *k, char text[SEQUENCE_MAX_TEXT])
{
    const struct key_row *row = row_of(kitty_keys, ARRAY_LEN(kitty_keys), code);

    if (!row || row->code == KEY_TEXT)
        return char_key(code, /*shifted=*/-1, /*base=*/-1, k, text);
    k->code = row->code;
    return true;
}

static bool kitty_key(const struct sequence *s, struct keypress *k, char text[SEQUENCE_MAX_TEXT])
{
    int code = arg_or(s, 0, 0, 0);
    const struct key_row *row = row_of(kitty_keys, ARRAY_LEN(kitty_keys), code);

    if (row && row->code != KEY_TEXT) {
        k->code = row->code;
        return true;
    }
    if (row)
        code = (int)row->ch;
    else if (code >= KITTY_DIGIT_0 && code <= KITTY_DIGIT_9)
        code = '0' + code - KITTY_DIGIT_0;
    else if (code >= KITTY_F13 && code <= KITTY_F24) {
        k->code = KEY_FUNCTION;
        k->ch = (uint32_t)(13 + code - KITTY_F13);
        return true;
    } else if (code >= KITTY_PRIVATE_FIRST && code <= KITTY_PRIVATE_LAST)
        return false; /* Caps Lock, volume, a modifier by itself */
    if (s->count > 2 && !(k->mods & (MOD_CTRL | MOD_ALT | MOD_SUPER)) && kitty_text(s, k, text))
        return true;
    return char_key(code, arg_or(s, 0, 1, -1), arg_or(s, 0, 2, -1), k, text);
}

/* --- answers --------------------------------------------------------------------------------- */

static bool reply(const struct sequence *s, enum key_reply kind, struct keypress *k)
{
    k->code = KEY_REPLY;
    k->mods = 0;
    k->reply = kind;
    for (size_t i = 0; i < ARRAY_LEN(k->args); i++)
        k->args[i] = arg_or(s, i, 0, 0);
    return true;
}

static bool private_key(const struct sequence *s, struct keypress *k)
{
    if (s->private == '?' && s->final == 'c')
        return reply(s, REPLY_DEVICE, k);
    if (s->private == '?' && s->final == 'y' && s->middle == '$')
        return reply(s, REPLY_MODE, k);
    if (s->private == '?' && s->final == 'u')
        return reply(s, REPLY_KITTY, k);
    return reply(s, REPLY_OTHER, k);
}

struct keypress sequence_string(char kind, struct str text)
{
    struct keypress k = {.code = KEY_REPLY, .reply = REPLY_OTHER, .text = text};

    if (kind == ']' && str_starts(text, STR("11;"))) {
        k.reply = REPLY_BACKGROUND;
        k.text = str_from(text, 3);
    }
    return k;
}

/* --- all together ---------------------------------------------------------------------------- */

static bool row_key(const struct key_row *row, struct keypress *k, char text[SEQUENCE_MAX_TEXT])
{
    if (!row)
        return false;
    if (row->code == KEY_TEXT)
        return types(k, row->ch, text);
    k->code = row->code;
    k->ch = row->ch;
    return true;
}

/* rxvt has special letters for modified keys. */
static unsigned rxvt_mods(char final)
{
    switch (final) {
    case '$':
        return MOD_SHIFT;
    case '^':
        return MOD_CTRL;
    case '@':
        return MOD_SHIFT | MOD_CTRL;
    default:
        return 0;
    }
}

static bool letter_key(const struct sequence *s, struct keypress *k, char text[SEQUENCE_MAX_TEXT])
{
    char final = s->final;

    if (s->is_console) {
        k->code = KEY_FUNCTION;
        k->ch = (uint32_t)(final - 'A' + 1);
        return true;
    }
    if (final >= 'a' && final <= 'd') { /* rxvt: arrows with Shift (CSI) or Ctrl (SS3) */
        k->mods |= s->is_ss3 ? MOD_CTRL : MOD_SHIFT;
        final = (char)(final - 'a' + 'A');
    }
    if (final == 'Z')
        k->mods |= MOD_SHIFT;
    if (s->is_ss3 && row_of(keypad_keys, ARRAY_LEN(keypad_keys), final))
        return row_key(row_of(keypad_keys, ARRAY_LEN(keypad_keys), final), k, text);
    return row_key(row_of(letter_keys, ARRAY_LEN(letter_keys), final), k, text);
}

bool sequence_key(const struct sequence *s, char text[SEQUENCE_MAX_TEXT], struct keypress *ret)
{
    struct keypress k = {.mods = mods_of(arg_or(s, 1, 0, 1))};
    bool has_key;

    if (s->is_ss3 && s->count == 1) /* some terminals leave the 1 out: ESC O 5 A */
        k.mods = mods_of(arg_or(s, 0, 0, 1));
    if (s->private || s->middle || (!s->is_ss3 && is_one_of(s->final, "nt"))) {
        has_key = private_key(s, &k);
    } else if (arg_or(s, 1, 1, 1) == 3) {
        return false; /* let go */
    } else if (s->final == '~' && arg_or(s, 0, 0, 0) == 27 && s->count >= 3) {
        has_key = other_key(arg_or(s, 2, 0, 0), &k, text);
    } else if (s->final == '~') {
        has_key = row_key(row_of(tilde_keys, ARRAY_LEN(tilde_keys), arg_or(s, 0, 0, 0)), &k, text);
    } else if (is_one_of(s->final, "$^@")) {
        k.mods = rxvt_mods(s->final);
        has_key = row_key(row_of(tilde_keys, ARRAY_LEN(tilde_keys), arg_or(s, 0, 0, 0)), &k, text);
    } else if (s->final == 'u') {
        has_key = !s->is_ss3 ? kitty_key(s, &k, text) : letter_key(s, &k, text);
    } else if (!s->is_ss3 && s->count == 0 && is_one_of(s->final, "IO")) {
        k.code = s->final == 'I' ? KEY_FOCUS_IN : KEY_FOCUS_OUT;
        has_key = true;
    } else if (s->final == 'R' && !s->is_ss3 && s->count == 2 &&
               (s->args[0][0] != 1 || s->args[1][0] < 2 || s->args[1][0] > 16)) {
        has_key = reply(s, REPLY_CURSOR, &k);
    } else if (s->final == 'M' && !s->is_ss3) {
        has_key = false; /* an unrequested mouse report */
    } else {
        has_key = letter_key(s, &k, text);
    }
    if (has_key)
        *ret = k;
    return has_key;
}
