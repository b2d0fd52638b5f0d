/*
 * markdown: escaping (markdown.h). A backslash before every character that could mean something; in
 * code nothing means anything but the backticks that end it, so those are counted. Any thread.
 */
#include "goal/report/markdown.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/utf8.h"

/* The next character of *rest: a character that is not text becomes a blank or U+FFFD. */
static struct str take_char(struct str *rest)
{
    uint32_t code = 0;
    size_t n = utf8_decode(*rest, &code);
    struct str c = str_first(*rest, n);

    *rest = str_from(*rest, n ? n : 1);
    if (n == 0)
        return STR("\xef\xbf\xbd");
    if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        return STR(" ");
    return c;
}

/* Markers of a list or a heading mean something only where a line begins. */
static bool begins_block(struct str line, size_t at)
{
    char c = line.ptr[at];

    if (at == 0)
        return c == '-' || c == '+' || c == '=';
    if (c != '.' && c != ')')
        return false;
    for (size_t i = 0; i < at; i++) {
        if (line.ptr[i] < '0' || line.ptr[i] > '9')
            return false;
    }
    return true;
}

static void add_escaped(struct str line, struct buf *ret)
{
    struct str rest = line;

    while (rest.len) {
        size_t at = line.len - rest.len;
        struct str c = take_char(&rest);

        if (c.len == 1 && c.ptr[0] == '|') {
            buf_adds(ret, "&#124;"); /* in a table a backslash before it may be one too many */
            continue;
        }
        if (c.len == 1 && (strchr("\\`*_{}[]<>#!~&$", c.ptr[0]) || begins_block(line, at)))
            buf_addc(ret, '\\');
        buf_add(ret, c);
    }
}

void markdown_text(struct str text, size_t max, struct buf *ret)
{
    struct str trimmed = str_trim(text);
    struct str shown = str_clip(trimmed, max);

    add_escaped(shown, ret);
    if (shown.len < trimmed.len)
        buf_adds(ret, "…");
}

/* The longest run of backticks. */
static size_t ticks_in(struct str s)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < s.len; i++) {
        run = s.ptr[i] == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    return longest;
}

static void add_ticks(size_t n, struct buf *ret)
{
    for (size_t i = 0; i < n; i++)
        buf_addc(ret, '`');
}

void markdown_code(struct str text, size_t max, struct buf *ret)
{
    struct str trimmed = str_trim(text);
    struct str rest = str_clip(trimmed, max);
    size_t ticks = ticks_in(rest) + 1;
    bool cut = rest.len < trimmed.len;

    /* "\|" cannot be said as code inside of a table. */
    if (!rest.len || str_has(rest, STR("\\|"))) {
        markdown_text(text, max, ret);
        return;
    }
    add_ticks(ticks, ret);
    if (ticks > 1)
        buf_addc(ret, ' ');
    while (rest.len) {
        struct str c = take_char(&rest);

        if (c.len == 1 && c.ptr[0] == '|')
            buf_addc(ret, '\\');
        buf_add(ret, c);
    }
    if (ticks > 1)
        buf_addc(ret, ' ');
    add_ticks(ticks, ret);
    if (cut)
        buf_adds(ret, "…");
}

void markdown_quote(struct str text, size_t max, struct buf *ret)
{
    struct str trimmed = str_trim(text);
    struct str rest = str_clip(trimmed, max);
    bool cut = rest.len < trimmed.len;
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        struct str words = str_trim(line); /* four blanks before it would make code of it */

        buf_adds(ret, words.len ? "> " : ">");
        add_escaped(words, ret);
        buf_adds(ret, words.len && rest.len ? "  \n" : "\n"); /* a line stays one */
    }
    if (cut)
        buf_adds(ret, "> …\n");
}

void markdown_fence(struct str text, size_t max, struct buf *ret)
{
    size_t end = text.len;
    struct str rest;
    size_t ticks;
    bool cut;
    struct str line;

    while (end && text.ptr[end - 1] == '\n')
        end--;
    rest = str_clip(str_first(text, end), max);
    cut = rest.len < end;
    ticks = ticks_in(rest) < 3 ? 3 : ticks_in(rest) + 1;

    add_ticks(ticks, ret);
    buf_addc(ret, '\n');
    while (str_cut(&rest, '\n', &line)) {
        while (line.len)
            buf_add(ret, take_char(&line));
        buf_addc(ret, '\n');
    }
    if (cut)
        buf_adds(ret, "…\n");
    add_ticks(ticks, ret);
    buf_addc(ret, '\n');
}
