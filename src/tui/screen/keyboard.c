/*
 * The keyboard: bytes in, keys out.
 *
 * Bytes wait in one buffer and are taken off its front by keyboard_next(), which always starts at
 * the beginning of something: an incomplete sequence stays where it is and is parsed again when
 * more bytes follow it. So it does not matter where reads cut, and the only states are "in a paste"
 * and "passing over a sequence that is too long". What a finished sequence means is
 * keyboard_sequence.c's business. UI thread.
 */
#include "tui/screen/keypress.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tui/app/typed.h"
#include "tui/screen/keyboard_sequence.h"

#define ESC '\033'
#define MAX_SEQUENCE 128 /* bytes of a key's sequence */
#define MAX_STRING 4096  /* of a string the terminal sends (OSC, DCS) */
#define SEQUENCE_MS 500  /* what can be nothing but a sequence may take longer than a lone ESC */
#define KEPT_BYTES ((size_t)64 << 10)

static const struct str paste_end = STR_INIT("\033[201~");
static const struct str paste_start = STR_INIT("\033[200~");

enum keyboard_state {
    KEYS,
    PASTING,
    PASSING_SEQUENCE, /* up to its final byte */
    PASSING_STRING,   /* up to ST or BEL */
};

struct keyboard {
    struct buf in;
    size_t at; /* the bytes before it are used */
    enum keyboard_state state;
    bool is_late;   /* the rest of the pending bytes will not come */
    bool is_lone;   /* the ESC at the front is a key: the bytes after it came much later */
    int64_t fed_ms; /* when bytes last came */
    struct buf paste;
    bool paste_given; /* its text is lent until the next call */
    char typed[SEQUENCE_MAX_TEXT];
};

/* What became of the bytes at the front. */
enum outcome {
    KEY,     /* a keypress */
    NOTHING, /* they are used up, and meant nothing */
    MORE,    /* not complete */
};

struct keyboard *keyboard_new(void)
{
    struct keyboard *k = mem_zalloc(sizeof(*k));

    buf_init(&k->in, BUF_NO_LIMIT); /* as much as is fed; what stays in it is bounded above */
    buf_init(&k->paste, KEY_MAX_PASTE);
    return k;
}

void keyboard_free(struct keyboard *k)
{
    if (!k)
        return;
    buf_release(&k->in);
    buf_release(&k->paste);
    free(k);
}

static struct str keyboard_rest(const struct keyboard *k)
{
    return str_from(buf_str(&k->in), k->at);
}

/* A paste that has been given out is forgotten, and with it its memory when that is much. */
static void keyboard_drop_paste(struct keyboard *k)
{
    if (!k->paste_given)
        return;
    k->paste_given = false;
    if (k->paste.cap > KEPT_BYTES) {
        buf_release(&k->paste);
        buf_init(&k->paste, KEY_MAX_PASTE);
    }
    buf_clear(&k->paste);
}

/* Nothing checked when the ESC was due (a long frame, a stopped process), and now more is there.
 * The rest of a sequence that a slow line has cut begins with a mark and is longer than that;
 * anything else is the user's next key. */
static bool keyboard_parts(const struct keyboard *k, struct str bytes, int64_t now_ms)
{
    return k->state == KEYS && str_is(keyboard_rest(k), "\033") &&
           now_ms >= k->fed_ms + KEY_ESCAPE_MS && bytes.len &&
           !(bytes.len > 1 && strchr("[O]P", bytes.ptr[0]));
}

void keyboard_feed(struct keyboard *k, struct str bytes, int64_t now_ms)
{
    keyboard_drop_paste(k);
    k->is_lone = k->is_lone || keyboard_parts(k, bytes, now_ms);
    if (k->at) {
        buf_cut(&k->in, 0, k->at);
        k->at = 0;
    }
    buf_add(&k->in, bytes);
    k->fed_ms = now_ms;
    k->is_late = false;
}

/* --- pastes ---------------------------------------------------------------------------------- */

static enum outcome keyboard_paste(struct keyboard *k, struct keypress *ret)
{
    for (;;) {
        struct str rest = keyboard_rest(k);
        size_t esc = str_chr(rest, ESC);
        struct str mark = str_first(str_from(rest, esc), paste_end.len);
        bool may_be_end = str_starts(paste_end, mark);
        bool may_be_mark = may_be_end || str_starts(paste_start, mark);

        k->at += typed_clean(str_first(rest, esc), /*is_end=*/esc < rest.len, &k->paste);
        if (!mark.len || (may_be_mark && mark.len < paste_end.len))
            return MORE;
        k->at += may_be_mark ? mark.len : 1; /* no ESC is text, and no start in a paste */
        if (!may_be_end)
            continue;
        k->state = KEYS;
        k->paste_given = true;
        *ret = (struct keypress){
            .code = KEY_PASTE, .text = buf_str(&k->paste), .was_cut = k->paste.over};
        return KEY;
    }
}

/* --- text and control characters ------------------------------------------------------------- */

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static struct keypress key_control(unsigned char c)
{
    switch (c) {
    case '\r':
        return (struct keypress){.code = KEY_ENTER};
    case '\t':
        return (struct keypress){.code = KEY_TAB};
    case 0x7f:
        return (struct keypress){.code = KEY_BACKSPACE};
    case ESC:
        return (struct keypress){.code = KEY_ESCAPE};
    case 0:
        return (struct keypress){.code = KEY_CHAR, .ch = ' ', .mods = MOD_CTRL};
    default:
        return (struct keypress){
            .code = KEY_CHAR, .ch = c <= 26 ? c + 'a' - 1u : c + 0x40u, .mods = MOD_CTRL};
    }
}

/* The characters up to the next control character, in one go. */
static enum outcome keyboard_text(struct keyboard *k, struct keypress *ret)
{
    struct str rest = keyboard_rest(k);
    size_t len = 0;

    while (len < rest.len && !is_control((unsigned char)rest.ptr[len])) {
        uint32_t code;
        size_t n = utf8_decode(str_from(rest, len), &code);

        if (!n || (code >= 0x80 && code < 0xa0))
            break;
        len += n;
    }
    if (len) {
        *ret = (struct keypress){.code = KEY_TEXT, .text = str_first(rest, len)};
        k->at += len;
        return KEY;
    }
    len = utf8_decode(rest, NULL);
    if (len) { /* a C1 control character, spelled in UTF-8 */
        k->at += len;
        return NOTHING;
    }
    if (typed_is_partial(rest) && !k->is_late)
        return MORE;
    k->at++;
    *ret = (struct keypress){.code = KEY_TEXT, .text = STR("\xef\xbf\xbd")};
    return KEY;
}

/* --- sequences ------------------------------------------------------------------------------- */

/* ESC and a character: Alt. */
static enum outcome keyboard_alt(struct keyboard *k, struct keypress *ret)
{
    struct str rest = str_from(keyboard_rest(k), 1);
    unsigned char c = (unsigned char)rest.ptr[0];
    uint32_t code;
    size_t len = utf8_decode(rest, &code);

    if (is_control(c) && c != ESC) {
        *ret = key_control(c);
        ret->mods |= MOD_ALT;
        k->at += 2;
        return KEY;
    }
    if (!len && typed_is_partial(rest) && !k->is_late)
        return MORE;
    if (!len || c == ESC || (code >= 0x80 && code < 0xa0)) {
        *ret = (struct keypress){.code = KEY_ESCAPE};
        k->at++;
        return KEY;
    }
    *ret = (struct keypress){.code = KEY_CHAR, .ch = code, .mods = MOD_ALT};
    if (code >= 'A' && code <= 'Z') {
        ret->ch += 'a' - 'A';
        ret->mods |= MOD_SHIFT;
    }
    k->at += 1 + len;
    return KEY;
}

/* Not complete: wait for more; or, when nothing more will come, Alt and a character if that is all
 * there is, else garbage. */
static enum outcome keyboard_open(struct keyboard *k, size_t start, struct keypress *ret)
{
    struct str rest = keyboard_rest(k);

    if (!k->is_late)
        return MORE;
    if (rest.len <= start + 2)
        return keyboard_alt(k, ret);
    k->at = k->in.len;
    return NOTHING;
}

/* A sequence that makes no sense, len bytes of it. */
static enum outcome keyboard_bad(struct keyboard *k, size_t start, size_t len, struct keypress *ret)
{
    if (len <= 2)
        return keyboard_alt(k, ret);
    k->at += start + len;
    return NOTHING;
}

/* CSI and SS3 at `start` from the front: 1 when one more ESC (Alt) precedes it. */
static enum outcome keyboard_csi(struct keyboard *k, size_t start, struct keypress *ret)
{
    struct str rest = str_first(str_from(keyboard_rest(k), start), MAX_SEQUENCE);
    struct sequence seq;
    size_t len = sequence_scan(rest, &seq);

    if (len == SEQUENCE_OPEN && rest.len == MAX_SEQUENCE) {
        k->state = PASSING_SEQUENCE;
        k->at += start + rest.len;
        return NOTHING;
    }
    if (len == SEQUENCE_OPEN)
        return keyboard_open(k, start, ret);
    if (seq.is_bad)
        return keyboard_bad(k, start, len, ret);
    if (seq.is_paste) {
        if (start)
            return keyboard_alt(k, ret); /* Esc, and then a paste */
        keyboard_drop_paste(k);
        k->state = PASTING;
        k->at += len;
        return NOTHING;
    }
    if (!sequence_key(&seq, k->typed, ret)) {
        k->at += start + len;
        return NOTHING;
    }
    if (start) {
        if (ret->code == KEY_REPLY || ret->code == KEY_FOCUS_IN || ret->code == KEY_FOCUS_OUT)
            return keyboard_alt(k, ret);
        if (ret->code == KEY_TEXT) { /* of a keypad */
            ret->code = KEY_CHAR;
            utf8_decode(ret->text, &ret->ch);
            ret->text = STR("");
        }
        ret->mods |= MOD_ALT;
    }
    k->at += start + len;
    return KEY;
}

/* OSC and DCS: ends with BEL or ESC \. */
static enum outcome keyboard_string(struct keyboard *k, struct keypress *ret)
{
    struct str rest = keyboard_rest(k);
    size_t i = 2;

    while (i < rest.len && !is_control((unsigned char)rest.ptr[i]))
        i++;
    if (i - 2 > MAX_STRING) {
        k->state = PASSING_STRING;
        k->at += MAX_STRING;
        return NOTHING;
    }
    if (i == rest.len || (rest.ptr[i] == ESC && i + 1 == rest.len))
        return keyboard_open(k, /*start=*/0, ret);
    if (rest.ptr[i] != '\a' && !(rest.ptr[i] == ESC && rest.ptr[i + 1] == '\\'))
        return keyboard_bad(k, /*start=*/0, i, ret);
    *ret = sequence_string(rest.ptr[1], str_make(rest.ptr + 2, i - 2));
    k->at += i + (rest.ptr[i] == ESC ? 2 : 1);
    return KEY;
}

static enum outcome keyboard_escape(struct keyboard *k, struct keypress *ret)
{
    struct str rest = keyboard_rest(k);

    if (rest.len == 1 || k->is_lone) {
        if (!k->is_late && !k->is_lone)
            return MORE;
        k->is_lone = false;
        *ret = (struct keypress){.code = KEY_ESCAPE};
        k->at++;
        return KEY;
    }
    switch (rest.ptr[1]) {
    case '[':
    case 'O':
        return keyboard_csi(k, /*start=*/0, ret);
    case ']':
    case 'P':
        return keyboard_string(k, ret);
    case ESC: /* Alt in front of a sequence, or Esc twice */
        if (rest.len == 2 && !k->is_late)
            return MORE;
        if (rest.len > 2 && (rest.ptr[2] == '[' || rest.ptr[2] == 'O'))
            return keyboard_csi(k, /*start=*/1, ret);
        return keyboard_alt(k, ret);
    default:
        return keyboard_alt(k, ret);
    }
}

/* Skips the rest of an overlong sequence. */
static enum outcome keyboard_pass(struct keyboard *k)
{
    struct str rest = keyboard_rest(k);
    bool is_string = k->state == PASSING_STRING;
    size_t i = 0;

    while (i < rest.len && (is_string ? !is_control((unsigned char)rest.ptr[i])
                                      : rest.ptr[i] >= 0x20 && rest.ptr[i] < 0x40))
        i++;
    k->at += i;
    rest = str_from(rest, i);
    if (!rest.len || (is_string && str_is(rest, "\033") && !k->is_late))
        return MORE;
    if (!is_string)
        k->at += rest.ptr[0] >= 0x40 && rest.ptr[0] < 0x7f;
    else if (str_starts(rest, STR("\033\\")))
        k->at += 2;
    else
        k->at += rest.ptr[0] == '\a';
    k->state = KEYS;
    return NOTHING;
}

static enum outcome keyboard_step(struct keyboard *k, struct keypress *ret)
{
    struct str rest = keyboard_rest(k);

    if (!rest.len)
        return MORE;
    if (k->state == PASTING)
        return keyboard_paste(k, ret);
    if (k->state != KEYS)
        return keyboard_pass(k);
    if (rest.ptr[0] == ESC)
        return keyboard_escape(k, ret);
    if (is_control((unsigned char)rest.ptr[0])) {
        *ret = key_control((unsigned char)rest.ptr[0]);
        k->at++;
        return KEY;
    }
    return keyboard_text(k, ret);
}

bool keyboard_next(struct keyboard *k, struct keypress *ret)
{
    enum outcome outcome;

    keyboard_drop_paste(k);
    do
        outcome = keyboard_step(k, ret);
    while (outcome == NOTHING);
    return outcome == KEY;
}

/* --- time ------------------------------------------------------------------------------------ */

int64_t keyboard_due(const struct keyboard *k)
{
    struct str rest = keyboard_rest(k);

    if (k->state == PASTING || k->is_late)
        return -1; /* a paste is over when its end comes: the rest of it must not become keys */
    if (k->state != KEYS)
        return k->fed_ms + SEQUENCE_MS;
    if (!rest.len)
        return -1;
    return k->fed_ms + (rest.len > 2 && rest.ptr[0] == ESC ? SEQUENCE_MS : KEY_ESCAPE_MS);
}

void keyboard_tick(struct keyboard *k, int64_t now_ms)
{
    int64_t due = keyboard_due(k);

    if (due < 0 || now_ms < due)
        return;
    if (k->state != KEYS && !keyboard_rest(k).len) {
        k->state = KEYS;
        return;
    }
    k->is_late = true;
}
