/*
 * shell_word: one word of a command. Quoting is followed exactly, because that decides where the
 * word ends; what is inside a substitution is scanned as a text of its own. Any thread.
 */
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "conf/shell_scan.h"

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return str_is_alnum(c) || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What a word ends at, outside quotes. */
static bool is_meta(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' ||
           c == '>' || c == '(' || c == ')';
}

/* Position behind the bracket that closes the one before `at`, quotes respected; the end when there
 * is none. */
static size_t scan_match(struct str in, size_t at, char open, char close)
{
    size_t depth = 1;

    for (; at < in.len; at++) {
        char ch = in.ptr[at];

        if (ch == '\\') {
            at++;
        } else if (ch == '\'') {
            size_t end = str_chr(str_from(in, at + 1), '\'');

            at += 1 + end;
        } else if (ch == '"') {
            for (at++; at < in.len && in.ptr[at] != '"'; at++)
                at += in.ptr[at] == '\\';
        } else if (ch == open) {
            depth++;
        } else if (ch == close) {
            depth--;
            if (!depth)
                return at + 1;
        }
    }
    return in.len;
}

struct str shell_scan_body(struct shell_scan *c, char open, char close)
{
    size_t end = scan_match(c->in, c->at, open, close);
    struct str body = str_from(str_first(c->in, end), c->at);

    if (body.len && body.ptr[body.len - 1] == close)
        body.len--;
    c->at = end;
    return body;
}

static void scan_backtick(struct shell_scan *c, struct shell_word *w)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(SHELL_MAX_TEXT);

    shell_doubt(c->s, "it has a substitution");
    w->expands = true;
    for (c->at++; !shell_scan_is_end(c) && c->in.ptr[c->at] != '`'; c->at++) {
        if (c->in.ptr[c->at] == '\\' &&
            (shell_scan_peek(c, 1) == '`' || shell_scan_peek(c, 1) == '\\' ||
             shell_scan_peek(c, 1) == '$'))
            c->at++;
        if (!shell_scan_is_end(c))
            buf_addc(&body, c->in.ptr[c->at]);
    }
    c->at += !shell_scan_is_end(c);
    shell_scan_commands(c->s, arena_str(&c->s->arena, buf_str(&body)), c->depth + 1);
}

/* ${name}, ${name:-word}: a word that may stand in for the value is taken for it. */
static void scan_parameter(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    struct str body = shell_scan_body(c, '{', '}');
    size_t n = 0;

    shell_doubt(c->s, "it has a ${…}");
    w->expands = true;
    while (n < body.len && is_name(body.ptr[n]))
        n++;
    if (str_is(str_first(body, n), "IFS")) {
        buf_addc(text, ' ');
    } else if (n && n < body.len) {
        struct str rest = str_from(body, n + (body.ptr[n] == ':'));

        if (rest.len && strchr("-=+", rest.ptr[0]))
            buf_add(text, str_from(rest, 1));
    }
    shell_scan_commands(c->s, body, c->depth + 1);
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A' + 10);
    return 16;
}

/* \101, \x41, \u41, \U41, c->at behind the backslash: three octal digits make a byte, as do two
 * hexadecimal ones; four and eight make a character. */
static void scan_ansi_code(struct shell_scan *c, struct buf *text)
{
    char kind = shell_scan_peek(c, 0);
    unsigned base = kind == 'x' || kind == 'u' || kind == 'U' ? 16 : 8;
    unsigned most = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 3;
    unsigned code = 0;
    unsigned digits = 0;
    char bytes[4];

    c->at += base == 16;
    while (digits < most && !shell_scan_is_end(c) && digit_value(c->in.ptr[c->at]) < base) {
        code = code * base + digit_value(c->in.ptr[c->at]);
        digits++;
        c->at++;
    }
    if (!code || code >= 0x110000)
        return;
    if (most > 3)
        buf_add(text, str_make(bytes, utf8_encode(code, bytes)));
    else
        buf_addc(text, (char)code);
}

/* $'…' with its escapes, c->at behind the quote. */
static void scan_ansi(struct shell_scan *c, struct buf *text)
{
    static const char from[] = "abefnrtv\\'\"?E";
    static const char to[] = "\a\b\033\f\n\r\t\v\\'\"?\033";

    shell_doubt(c->s, "it has a $'…'");
    while (!shell_scan_is_end(c) && c->in.ptr[c->at] != '\'') {
        char ch = c->in.ptr[c->at];
        const char *known;

        c->at++;
        if (ch != '\\' || shell_scan_is_end(c)) {
            buf_addc(text, ch);
            continue;
        }
        ch = c->in.ptr[c->at];
        known = ch ? strchr(from, ch) : NULL;
        if (known) {
            buf_addc(text, to[known - from]);
            c->at++;
        } else {
            scan_ansi_code(c, text);
        }
    }
    c->at += !shell_scan_is_end(c);
}

static void scan_double(struct shell_scan *c, struct shell_word *w, struct buf *text);

/* c->at is at the dollar sign. */
static void scan_dollar(struct shell_scan *c, struct shell_word *w, struct buf *text,
                        bool in_quotes)
{
    char next = shell_scan_peek(c, 1);
    size_t start;

    c->at++;
    if (next == '(') {
        c->at++;
        shell_doubt(c->s, "it has a substitution");
        w->expands = true;
        shell_scan_commands(c->s, shell_scan_body(c, '(', ')'), c->depth + 1);
        return;
    }
    if (next == '{') {
        c->at++;
        scan_parameter(c, w, text);
        return;
    }
    if (next == '[') {
        shell_doubt(c->s, "it has a $[…]");
        w->expands = true;
        return;
    }
    if (next == '\'' && !in_quotes) {
        c->at++;
        w->quoted = true;
        scan_ansi(c, text);
        return;
    }
    if (next == '"' && !in_quotes) {
        shell_doubt(c->s, "it has a $\"…\"");
        scan_double(c, w, text);
        return;
    }
    if (next && strchr("@*#?$!-", next)) {
        w->expands = true;
        c->at++;
        return;
    }
    if (!is_name(next)) {
        buf_addc(text, '$');
        return;
    }
    w->expands = true;
    start = c->at;
    while (is_name(shell_scan_peek(c, 0)) && (!is_digit(next) || c->at == start))
        c->at++;
    if (str_is(str_from(str_first(c->in, c->at), start), "IFS"))
        buf_addc(text, ' ');
}

/* c->at is at the opening quote. */
static void scan_double(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    w->quoted = true;
    c->at++;
    while (!shell_scan_is_end(c)) {
        char ch = c->in.ptr[c->at];
        char next = shell_scan_peek(c, 1);

        if (ch == '"') {
            c->at++;
            return;
        }
        if (ch == '$') {
            scan_dollar(c, w, text, /*in_quotes=*/true);
        } else if (ch == '`') {
            scan_backtick(c, w);
        } else if (ch == '\\' && next && strchr("$`\"\\\n", next)) {
            if (next != '\n')
                buf_addc(text, next);
            c->at += 2;
        } else {
            buf_addc(text, ch);
            c->at++;
        }
    }
    shell_doubt(c->s, "a quote is not closed");
}

static void scan_single(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    struct str rest = str_from(c->in, c->at + 1);
    size_t end = str_chr(rest, '\'');

    w->quoted = true;
    if (end == rest.len)
        shell_doubt(c->s, "a quote is not closed");
    buf_add(text, str_first(rest, end));
    c->at += 1 + end + (end < rest.len);
}

void shell_scan_word(struct shell_scan *c, struct shell_word *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);
    struct shell_word w = {0};
    size_t start = c->at;

    if (shell_scan_peek(c, 0) == '~' && !is_meta(shell_scan_peek(c, 1)) &&
        shell_scan_peek(c, 1) != '/' && shell_scan_peek(c, 1))
        w.expands = true; /* somebody else's home */
    while (!shell_scan_is_end(c)) {
        char ch = c->in.ptr[c->at];

        if (is_meta(ch))
            break;
        if (ch == '\\') {
            if (c->at + 1 >= c->in.len)
                shell_doubt(c->s, "it ends in a backslash");
            else if (shell_scan_peek(c, 1) != '\n')
                buf_addc(&text, shell_scan_peek(c, 1));
            w.quoted |= shell_scan_peek(c, 1) != '\n';
            c->at += c->at + 1 < c->in.len ? 2 : 1;
        } else if (ch == '\'') {
            scan_single(c, &w, &text);
        } else if (ch == '"') {
            scan_double(c, &w, &text);
        } else if (ch == '$') {
            scan_dollar(c, &w, &text, /*in_quotes=*/false);
        } else if (ch == '`') {
            scan_backtick(c, &w);
        } else {
            w.globs |= ch == '*' || ch == '?' || ch == '[' || ch == '{';
            buf_addc(&text, ch);
            c->at++;
        }
    }
    w.raw = str_from(str_first(c->in, c->at), start);
    w.text = arena_str(&c->s->arena, buf_str(&text));
    w.globs &= !str_is(w.raw, "["); /* the command */
    *ret = w;
}

const struct shell_word *shell_word_at(const struct shell_part *p, size_t i)
{
    static const struct shell_word none = {.raw = {"", 0}, .text = {"", 0}};

    return p->first + i < p->words.len ? &p->words.ptr[p->first + i] : &none;
}

bool shell_word_is_option(const struct shell_word *w)
{
    return w->text.len > 1 && w->text.ptr[0] == '-';
}

bool shell_word_could_be_option(const struct shell_word *w)
{
    /* By the text: ""{-a,-b} and -{a,b} make options, too. */
    return w->expands || (w->globs && w->text.len && strchr("-*?[{", w->text.ptr[0]));
}

size_t shell_assignment_len(struct str raw)
{
    size_t n = 0;

    if (!raw.len || !is_name_start(raw.ptr[0]))
        return 0;
    while (n < raw.len && is_name(raw.ptr[n]))
        n++;
    if (n < raw.len && raw.ptr[n] == '+')
        n++;
    return n < raw.len && raw.ptr[n] == '=' ? n + 1 : 0;
}
