/*
 * exhibit: text made into lines of a block. One idea: a line is the smallest thing that is ever
 * written, whole and with its mark in front, and every cut falls between two of them; so there is
 * no size at which a block could come apart. Any thread.
 */
#include "goal/judge/exhibit.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/utf8.h"

#define LINE_BYTES 400 /* of text in a line; then it goes on in the next */
#define LINE_ROOM (LINE_BYTES + 64)
#define NOTE_ROOM ((size_t)100) /* what the note of a cut takes at most */

static void exhibit_line(struct buf *ret, const char *lead, const char *fmt, va_list args)
    PRINTF_LIKE(3, 0);
static void exhibit_line(struct buf *ret, const char *lead, const char *fmt, va_list args)
{
    buf_adds(ret, lead);
    buf_addv(ret, fmt, args);
    buf_addc(ret, '\n');
}

void exhibit_title(struct buf *ret, size_t number, const char *fmt, ...)
{
    char lead[40];
    va_list args;

    snprintf(lead, sizeof(lead), "\n## %zu. ", number);
    va_start(args, fmt);
    exhibit_line(ret, lead, fmt, args);
    va_end(args);
}

void exhibit_note(struct buf *ret, size_t number, const char *fmt, ...)
{
    char lead[40];
    va_list args;

    snprintf(lead, sizeof(lead), "%zu# ", number);
    va_start(args, fmt);
    exhibit_line(ret, lead, fmt, args);
    va_end(args);
}

/* ---- Characters ---- */

/* What chat templates write between turns. */
static const struct str exhibit_markers[] = {
    STR_INIT("<|"),     STR_INIT("|>"),      STR_INIT("<s>"),        STR_INIT("</s>"),
    STR_INIT("<bos>"),  STR_INIT("<eos>"),   STR_INIT("<start_of_"), STR_INIT("<end_of_"),
    STR_INIT("[INST]"), STR_INIT("[/INST]"), STR_INIT("<<SYS>>"),    STR_INIT("<</SYS>>"),
};

static bool exhibit_is_marker(struct str s)
{
    if (s.ptr[0] != '<' && s.ptr[0] != '[' && s.ptr[0] != '|')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(exhibit_markers); i++) {
        if (str_starts(s, exhibit_markers[i]))
            return true;
    }
    return false;
}

/* Bytes of the line break at the start of s, as any reader might see one; 0: none. */
static size_t exhibit_break(struct str s)
{
    if (s.ptr[0] == '\r')
        return s.len > 1 && s.ptr[1] == '\n' ? 2 : 1;
    if (s.ptr[0] == '\n' || s.ptr[0] == '\v' || s.ptr[0] == '\f')
        return 1;
    if (str_starts(s, STR("\xc2\x85"))) /* next line */
        return 2;
    if (str_starts(s, STR("\xe2\x80\xa8")) || str_starts(s, STR("\xe2\x80\xa9")))
        return 3; /* line and paragraph separator */
    return 0;
}

/* Writes the character at the start of s; returns its bytes there. */
static size_t exhibit_character(struct str s, struct buf *line)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t code;
    size_t len = utf8_decode(s, &code);

    if (!len) {
        unsigned char byte = (unsigned char)s.ptr[0];
        const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};

        buf_add(line, str_make(shown, sizeof(shown)));
        return 1;
    }
    if (code != '\t' && utf8_is_unseen(code)) {
        buf_addf(line, "\\u{%x}", (unsigned)code);
        return len;
    }
    buf_add(line, str_first(s, len));
    if (exhibit_is_marker(s))
        buf_addc(line, '\\');
    return len;
}

/* Bytes at the start of s that stand for themselves, max at most. */
static size_t exhibit_plain(struct str s, size_t max)
{
    size_t n = 0;

    while (n < s.len && n < max && s.ptr[n] >= ' ' && s.ptr[n] < 0x7f && s.ptr[n] != '<' &&
           s.ptr[n] != '[' && s.ptr[n] != '|')
        n++;
    return n;
}

/* ---- Lines ---- */

/* Adds lines for as long as they fit into *out; returns the bytes of text that are in them. */
static size_t exhibit_lines(size_t number, struct str text, struct buf *out)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_ROOM);
    char leads[2][32]; /* of a line's beginning; of what goes on */
    bool goes_on = false;
    size_t at = 0;

    snprintf(leads[0], sizeof(leads[0]), "%zu| ", number);
    snprintf(leads[1], sizeof(leads[1]), "%zu+ ", number);
    while (at < text.len) {
        size_t start = at;
        size_t lead;
        size_t end = 0;

        buf_clear(&line);
        buf_adds(&line, leads[goes_on]);
        lead = line.len;
        while (at < text.len && line.len - lead < LINE_BYTES && !end) {
            struct str rest = str_from(text, at);
            size_t plain = exhibit_plain(rest, LINE_BYTES - (line.len - lead));

            buf_add(&line, str_first(rest, plain));
            if (!plain)
                end = exhibit_break(rest);
            at += plain ? plain : end ? end : exhibit_character(rest, &line);
        }
        /* A break right after a full line ends that line and makes no empty one. */
        if (!end && at < text.len) {
            end = exhibit_break(str_from(text, at));
            at += end;
        }
        goes_on = !end;
        buf_addc(&line, '\n');
        buf_add(out, buf_str(&line));
        if (out->over) {
            out->over = false;
            return start;
        }
    }
    return at;
}

/* The last n bytes, from the start of a character, and of a line where one begins soon. */
static struct str exhibit_last(struct str text, size_t n)
{
    struct str s = str_from(text, text.len - n);
    size_t newline;

    for (int i = 0; i < 3 && s.len && ((unsigned char)s.ptr[0] & 0xc0) == 0x80; i++)
        s = str_from(s, 1);
    newline = str_chr(str_first(s, s.len / 4), '\n');
    return newline < s.len / 4 ? str_from(s, newline + 1) : s;
}

/* As much of the end of text as fits into max_bytes; returns how many bytes of it that is. */
static size_t exhibit_tail(size_t number, struct str text, size_t max_bytes, struct buf *ret)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(max_bytes);
    size_t n = text.len < max_bytes ? text.len : max_bytes; /* lines are longer than their text */

    while (n) {
        struct str end = exhibit_last(text, n);

        buf_clear(&out);
        if (exhibit_lines(number, end, &out) == end.len) {
            buf_add(ret, buf_str(&out));
            return end.len;
        }
        n = n * 3 / 4;
    }
    return 0;
}

void exhibit_text(struct buf *ret, size_t number, struct str text, size_t max_bytes,
                  enum exhibit_cut cut)
{
    size_t room = max_bytes < EXHIBIT_LEAST ? EXHIBIT_LEAST : max_bytes;
    CLEANUP(buf_release) struct buf head = BUF_INIT(room);
    CLEANUP(buf_release) struct buf tail = BUF_INIT(room);
    size_t first;
    size_t last = 0;

    if (exhibit_lines(number, text, &head) == text.len) {
        buf_add(ret, buf_str(&head));
        return;
    }
    room -= NOTE_ROOM;
    buf_release(&head);
    buf_init(&head, cut == CUT_END ? room : room / 3);
    first = exhibit_lines(number, text, &head);
    if (cut == CUT_MIDDLE)
        last = exhibit_tail(number, str_from(text, first), room - head.len, &tail);
    buf_add(ret, buf_str(&head));
    exhibit_note(ret, number, "cut here: %zu of %zu bytes are not shown", text.len - first - last,
                 text.len);
    buf_add(ret, buf_str(&tail));
}

size_t exhibit_size(size_t number, struct str text, size_t most)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(most);

    return exhibit_lines(number, text, &out) == text.len ? out.len : most;
}
