/*
 * Names of keys, for users and tables: "ctrl+r", "shift+tab", "é". keypress_parse() reads these
 * names, so bindings can be written as strings. Any thread.
 */
#include "tui/screen/keypress.h"

#include "base/mem.h"
#include "base/utf8.h"

static const struct {
    const char *name;
    enum key_code code;
} keys[] = {
    {"enter", KEY_ENTER},
    {"tab", KEY_TAB},
    {"backspace", KEY_BACKSPACE},
    {"esc", KEY_ESCAPE},
    {"delete", KEY_DELETE},
    {"insert", KEY_INSERT},
    {"up", KEY_UP},
    {"down", KEY_DOWN},
    {"left", KEY_LEFT},
    {"right", KEY_RIGHT},
    {"home", KEY_HOME},
    {"end", KEY_END},
    {"pageup", KEY_PAGE_UP},
    {"pagedown", KEY_PAGE_DOWN},
    {"paste", KEY_PASTE},
    {"focus-in", KEY_FOCUS_IN},
    {"focus-out", KEY_FOCUS_OUT},
    {"reply", KEY_REPLY},
};

static const struct {
    struct str name;
    unsigned bit;
} mods[] = {
    {STR_INIT("super+"), MOD_SUPER},
    {STR_INIT("ctrl+"), MOD_CTRL},
    {STR_INIT("alt+"), MOD_ALT},
    {STR_INIT("shift+"), MOD_SHIFT},
};

static void add_code(uint32_t code, struct buf *ret)
{
    char bytes[4];

    buf_add(ret, str_make(bytes, utf8_encode(code, bytes)));
}

void keypress_name(const struct keypress *k, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(mods); i++) {
        if (k->mods & mods[i].bit)
            buf_add(ret, mods[i].name);
    }
    if (k->code == KEY_TEXT) {
        buf_add(ret, str_is(k->text, " ") ? STR("space") : k->text);
    } else if (k->code == KEY_CHAR && k->ch == ' ') {
        buf_adds(ret, "space");
    } else if (k->code == KEY_CHAR) {
        add_code(k->ch, ret);
    } else if (k->code == KEY_FUNCTION) {
        buf_addf(ret, "f%u", k->ch);
    } else {
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            if (keys[i].code == k->code)
                buf_adds(ret, keys[i].name);
        }
    }
}

/* "f1" to "f24"; 0: it is none. */
static uint32_t function_number(struct str name)
{
    uint32_t n = 0;

    if (name.len < 2 || name.len > 3 || name.ptr[0] != 'f')
        return 0;
    for (size_t i = 1; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return 0;
        n = n * 10 + (uint32_t)(name.ptr[i] - '0');
    }
    return n <= 24 ? n : 0;
}

bool keypress_parse(struct str name, struct keypress *ret)
{
    struct keypress k = {.code = KEY_TEXT};
    uint32_t code;

    for (size_t i = 0; i < ARRAY_LEN(mods); i++) {
        if (name.len > mods[i].name.len && str_starts(name, mods[i].name)) {
            k.mods |= mods[i].bit;
            name = str_from(name, mods[i].name.len);
        }
    }
    if (!name.len)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_is(name, keys[i].name)) {
            k.code = keys[i].code;
            *ret = k;
            return true;
        }
    }
    k.ch = function_number(name);
    if (k.ch) {
        k.code = KEY_FUNCTION;
    } else if (k.mods) {
        if (str_is(name, "space"))
            name = STR(" ");
        if (utf8_decode(name, &code) != name.len)
            return false;
        k.code = KEY_CHAR;
        k.ch = code;
    } else {
        k.text = str_is(name, "space") ? STR(" ") : name;
    }
    *ret = k;
    return true;
}

bool keypress_is(const struct keypress *k, const char *name)
{
    struct keypress other;

    return keypress_parse(str_of(name), &other) && k->code == other.code && k->mods == other.mods &&
           (k->code == KEY_TEXT ? str_eq(k->text, other.text) : k->ch == other.ch);
}
