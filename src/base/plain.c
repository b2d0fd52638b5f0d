/*
 * Terminal output to plain text: a small state machine beside a fast path for text that is plain
 * already, which is nearly everything. Sees bytes in any portions; a fuzz target feeds it the same
 * text whole and in pieces. Starts no threads.
 */
#include "base/plain.h"

#include <string.h>

#include "base/utf8.h"

#define PLAIN_MAX_LINE ((size_t)64 << 10)
#define PLAIN_MAX_SEQUENCE 4096 /* then it was none */
#define PLAIN_ESC '\033'
#define PLAIN_BEL '\007'

void plain_init(struct plain *p, plain_fn fn, void *arg)
{
    *p = (struct plain){.fn = fn, .arg = arg, .text = BUF_INIT(BUF_NO_LIMIT)};
}

void plain_release(struct plain *p)
{
    buf_release(&p->text);
}

struct str plain_line(const struct plain *p)
{
    return str_from(buf_str(&p->text), p->line_at);
}

static bool plain_is_easy(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

/* Before a character: what stands in the line is now written over. */
static void plain_overwrite(struct plain *p)
{
    p->returned = false;
    if (p->cut) { /* out of reach */
        buf_addc(&p->text, '\n');
        p->cut = false;
    } else {
        buf_cut(&p->text, p->line_at, p->text.len - p->line_at);
    }
    p->line_at = p->text.len;
}

static void plain_add(struct plain *p, struct str s)
{
    const char *last;

    if (p->returned && s.ptr[0] != '\n')
        plain_overwrite(p);
    p->returned = false;
    buf_add(&p->text, s);
    last = memrchr(s.ptr, '\n', s.len);
    if (last) {
        p->line_at = p->text.len - (size_t)(s.ptr + s.len - last) + 1;
        p->cut = false;
    }
}

static void plain_backspace(struct plain *p)
{
    size_t len = p->text.len;

    if (len == p->line_at)
        return;
    do {
        len--;
    } while (len > p->line_at && ((unsigned char)p->text.ptr[len] & 0xc0) == 0x80);
    buf_cut(&p->text, len, p->text.len - len);
}

static void plain_control(struct plain *p, char c)
{
    if (c == '\r') {
        p->returned = true;
    } else if (c == '\b') {
        plain_backspace(p);
    } else if (c == PLAIN_ESC) {
        p->state = PLAIN_ESCAPE;
        p->state_len = 0;
    }
}

/* Inside an escape sequence. False: it ended before this byte, which is text. */
static bool plain_sequence(struct plain *p, unsigned char c)
{
    enum plain_state state = p->state;

    if (state == PLAIN_STRING && c == PLAIN_BEL) {
        p->state = PLAIN_TEXT;
        return true;
    }
    if (c == PLAIN_ESC) { /* also the first half of a string's end, ESC \ */
        p->state = PLAIN_ESCAPE;
        return true;
    }
    p->state_len++;
    if (c < 0x20 || p->state_len > PLAIN_MAX_SEQUENCE) {
        p->state = PLAIN_TEXT;
        return false;
    }
    switch (state) {
    case PLAIN_ESCAPE:
        if (c == '[')
            p->state = PLAIN_CSI;
        else if (strchr("]PX^_", c))
            p->state = PLAIN_STRING;
        else
            p->state = c < 0x30 ? PLAIN_ONE : PLAIN_TEXT;
        break;
    case PLAIN_CSI:
        if (c >= 0x40)
            p->state = PLAIN_TEXT;
        break;
    case PLAIN_ONE:
        p->state = PLAIN_TEXT;
        break;
    default:
        break;
    }
    return true;
}

/* How many bytes the character at the start wants to have, and how many of them are there. */
static size_t plain_want(struct str s, size_t *ret_have)
{
    unsigned char first = (unsigned char)s.ptr[0];
    size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    size_t have = 1;

    if (first < 0xc2 || first > 0xf4)
        want = 1;
    while (have < want && have < s.len && ((unsigned char)s.ptr[have] & 0xc0) == 0x80)
        have++;
    *ret_have = have;
    return want;
}

/* One character that is not ASCII; gives the bytes it took. */
static size_t plain_wide(struct plain *p, struct str s)
{
    uint32_t code = 0;
    size_t len = utf8_decode(s, &code);
    size_t have;

    if (len && code >= 0xa0) {
        plain_add(p, str_first(s, len));
        return len;
    }
    if (len)
        return len;                                     /* a control character of the C1 set */
    if (plain_want(s, &have) > have && have == s.len) { /* the rest may come */
        memcpy(p->part, s.ptr, s.len);
        p->part_len = s.len;
        return s.len;
    }
    plain_add(p, STR("\xef\xbf\xbd"));
    return have;
}

/* The character of which a part came with the bytes before; gives how many of these it took. */
static size_t plain_join(struct plain *p, struct str s)
{
    char joined[sizeof(p->part) * 2];
    size_t had = p->part_len;
    size_t more = s.len < sizeof(p->part) ? s.len : sizeof(p->part);

    memcpy(joined, p->part, had);
    memcpy(joined + had, s.ptr, more);
    p->part_len = 0;
    return plain_wide(p, str_make(joined, had + more)) - had;
}

void plain_feed(struct plain *p, struct str bytes)
{
    size_t at = p->part_len && bytes.len ? plain_join(p, bytes) : 0;

    while (at < bytes.len) {
        unsigned char c = (unsigned char)bytes.ptr[at];
        size_t start = at;

        if (p->state != PLAIN_TEXT && plain_sequence(p, c)) {
            at++;
            continue;
        }
        while (at < bytes.len && plain_is_easy((unsigned char)bytes.ptr[at]))
            at++;
        if (at > start) {
            plain_add(p, str_make(bytes.ptr + start, at - start));
        } else if (c >= 0x80) {
            at += plain_wide(p, str_from(bytes, at));
        } else {
            plain_control(p, bytes.ptr[at]);
            at++;
        }
    }
    if (p->text.len - p->line_at > PLAIN_MAX_LINE) {
        p->line_at = p->text.len;
        p->cut = true;
    }
    if (p->line_at) {
        p->fn(p->arg, str_first(buf_str(&p->text), p->line_at));
        buf_cut(&p->text, 0, p->line_at);
        p->line_at = 0;
    }
}

void plain_end(struct plain *p)
{
    if (p->part_len)
        plain_add(p, STR("\xef\xbf\xbd"));
    p->part_len = 0;
    if (p->text.len)
        p->fn(p->arg, buf_str(&p->text));
    buf_clear(&p->text);
    p->line_at = 0;
}
