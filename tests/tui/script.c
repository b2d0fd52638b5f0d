/*
 * script: cuts the files into sections, and keys into the bytes that a plain xterm sends.
 */
#include "script.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define SCRIPT_MAX ((size_t)16 << 20)

int script_load(const char *file, struct script *ret, struct err *err)
{
    struct str rest;
    struct str line;
    int number = 0;

    *ret = (struct script){.file = file, .source = BUF_INIT(SCRIPT_MAX)};
    if (file_slurp(file, SCRIPT_MAX, &ret->source, err) < 0)
        return -1;
    rest = buf_str(&ret->source);
    while (rest.len) {
        size_t len = str_chr(rest, '\n');

        line = str_first(rest, len);
        rest = str_from(rest, len + 1);
        number++;
        if (str_starts(line, STR("%% "))) {
            vec_push(&ret->sections,
                     ((struct script_section){
                         .head = str_trim(str_from(line, 3)), .text = rest, .line = number}));
        }
    }
    /* The empty lines before the next section belong to neither. */
    VEC_EACH(&ret->sections, s) {
        const struct script_section *next = s + 1;

        if (next < ret->sections.ptr + ret->sections.len)
            s->text.len = (size_t)(next->head.ptr - s->text.ptr) - sizeof("%%");
        while (s->text.len > 1 && str_ends(s->text, STR("\n\n")))
            s->text.len--;
        if (str_is(s->text, "\n"))
            s->text.len = 0;
    }
    return 0;
}

void script_release(struct script *s)
{
    buf_release(&s->source);
    vec_release(&s->sections);
}

const struct script_section *script_find(const struct script *s, struct str head)
{
    VEC_EACH(&s->sections, it) {
        if (str_eq(it->head, head))
            return it;
    }
    return NULL;
}

const struct script_section *script_first(const struct script *s, const char *word)
{
    VEC_EACH(&s->sections, it) {
        if (str_is(str_first(it->head, str_chr(it->head, ' ')), word))
            return it;
    }
    return NULL;
}

struct str script_rest(struct str head)
{
    return str_trim(str_from(head, str_chr(head, ' ')));
}

/* --- Keys --- */

struct script_named {
    const char *name;
    const char *bytes; /* as typed alone */
    char final;        /* of CSI 1 ; mods final, or 0 */
    int number;        /* of CSI number ; mods ~, or of CSI number ; mods u */
};

static const struct script_named script_named[] = {
    {"enter", "\r", 0, 13},          {"tab", "\t", 0, 9},           {"esc", "\033", 0, 27},
    {"escape", "\033", 0, 27},       {"backspace", "\x7f", 0, 127}, {"space", " ", 0, 32},
    {"up", "\033[A", 'A', 0},        {"down", "\033[B", 'B', 0},    {"right", "\033[C", 'C', 0},
    {"left", "\033[D", 'D', 0},      {"home", "\033[H", 'H', 0},    {"end", "\033[F", 'F', 0},
    {"insert", "\033[2~", '~', 2},   {"delete", "\033[3~", '~', 3}, {"pageup", "\033[5~", '~', 5},
    {"pagedown", "\033[6~", '~', 6},
};

static bool script_named_key(struct str name, int mods, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(script_named); i++) {
        const struct script_named *k = &script_named[i];

        if (!str_is(name, k->name))
            continue;
        if (!mods)
            buf_adds(ret, k->bytes);
        else if (k->number == 9 && mods == 1)
            buf_adds(ret, "\033[Z");
        else if (!k->final && mods == 2)
            buf_addf(ret, "\033%s", k->bytes);
        else if (!k->final)
            buf_addf(ret, "\033[%d;%du", k->number, mods + 1);
        else if (k->final == '~')
            buf_addf(ret, "\033[%d;%d~", k->number, mods + 1);
        else
            buf_addf(ret, "\033[1;%d%c", mods + 1, k->final);
        return true;
    }
    return false;
}

bool script_key(struct str name, struct buf *ret)
{
    int mods = 0; /* shift 1, alt 2, ctrl 4 */

    for (;;) {
        if (str_starts(name, STR("ctrl+")))
            mods |= 4;
        else if (str_starts(name, STR("alt+")))
            mods |= 2;
        else if (str_starts(name, STR("shift+")))
            mods |= 1;
        else
            break;
        name = str_from(name, str_chr(name, '+') + 1);
    }
    if (script_named_key(name, mods, ret))
        return true;
    if (name.len != 1)
        return false;
    if (mods & 2)
        buf_addc(ret, '\033');
    if (mods & 4)
        buf_addc(ret, (char)(name.ptr[0] & 0x1f));
    else
        buf_addc(ret, name.ptr[0]);
    return true;
}

static int script_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 0;
}

void script_unescape(struct str text, struct buf *ret)
{
    static const char names[] = "eartn\\";
    static const char bytes[] = "\033\a\r\t\n\\";

    for (size_t i = 0; i < text.len; i++) {
        const char *found;

        if (text.ptr[i] != '\\' || i + 1 == text.len) {
            buf_addc(ret, text.ptr[i]);
            continue;
        }
        i++;
        found = memchr(names, text.ptr[i], sizeof(names) - 1);
        if (found) {
            buf_addc(ret, bytes[found - names]);
        } else if (text.ptr[i] == 'x' && i + 2 < text.len) {
            buf_addc(ret, (char)(script_hex(text.ptr[i + 1]) * 16 + script_hex(text.ptr[i + 2])));
            i += 2;
        } else {
            buf_addc(ret, text.ptr[i]);
        }
    }
}
