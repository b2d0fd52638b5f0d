/*
 * shell_expand: what a dollar sign or a backtick starts. Commands inside are read like all others;
 * a variable is replaced by what the text set it to, when it did. Any thread.
 */
#include <string.h>

#include "base/utf8.h"
#include "shell/shell_scan.h"

/* --- commands ------------------------------------------------------------------------------- */

void shell_scan_backtick(struct shell_scan *c, struct shell_word *w, bool in_quotes)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(SHELL_MAX_TEXT);
    const char *escaped = in_quotes ? "`\\$\"" : "`\\$";

    w->expands = true;
    for (c->at++; !shell_at_end(c) && c->in.ptr[c->at] != '`'; c->at++) {
        if (c->in.ptr[c->at] == '\\' && shell_peek(c, 1) && strchr(escaped, shell_peek(c, 1)))
            c->at++;
        buf_addc(&body, c->in.ptr[c->at]);
    }
    if (shell_at_end(c))
        shell_break(c->s, "a ` is not closed");
    c->at += !shell_at_end(c);
    shell_scan_text(c->s, arena_str(&c->s->arena, buf_str(&body)), c->depth);
}

/* --- arithmetic ----------------------------------------------------------------------------- */

/* After the quote at `at`: where it is closed, or the text's end. */
static size_t find_quote_end(struct str in, size_t at)
{
    char quote = in.ptr[at];

    for (at++; at < in.len && in.ptr[at] != quote; at++)
        at += in.ptr[at] == '\\' && quote == '"';
    return at;
}

/* Where the "))" stands that closes the "((" before `at`; in.len when a ')' alone closes it. skips:
 * over quoted text, and not only over the quotes. */
static size_t find_arithmetic_end(struct str in, size_t at, bool skips, bool *ret_quotes)
{
    size_t depth = 0;

    *ret_quotes = false;

    for (; at < in.len; at++) {
        switch (in.ptr[at]) {
        case '\\':
            at++;
            break;
        case '\'':
        case '"':
            *ret_quotes = true;
            if (skips)
                at = find_quote_end(in, at);
            break;
        case '(':
            depth++;
            break;
        case ')':
            if (depth) {
                depth--;
                break;
            }
            return at + 1 < in.len && in.ptr[at + 1] == ')' ? at : in.len;
        default:
            break;
        }
    }
    return in.len;
}

/* Numbers and operators alone. bash evaluates the value of a name again, and runs the commands in
 * its subscripts: x='a[$(rm f)]'; echo $((x)). Nothing here can say what a name holds. */
static bool is_plain_arithmetic(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!shell_is_digit(text.ptr[i]) && !strchr(" \t\n+-*/%()<>=!&|^~?:,", text.ptr[i]))
            return false;
    }
    return str_chr(text, '\0') == text.len;
}

bool shell_scan_arithmetic(struct shell_scan *c)
{
    bool quotes, has_quotes;
    size_t end = find_arithmetic_end(c->in, c->at, /*skips=*/false, &quotes);
    size_t other = find_arithmetic_end(c->in, c->at, /*skips=*/true, &has_quotes);

    /* Quotes make no sense in arithmetic; but to the shell it is arithmetic, and there single
     * quotes protect nothing: (( echo '$(rm x)' )). */
    if (quotes || has_quotes) {
        if (end < c->in.len || other < c->in.len)
            shell_break(c->s, "it has quotes inside of arithmetic");
        return false;
    }
    if (end >= c->in.len)
        return false;
    if (!is_plain_arithmetic(str_from(str_first(c->in, end), c->at)))
        shell_doubt(c->s, "it computes with what only the running shell knows");
    while (c->at < end) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);
        struct shell_word w = {0};

        if (c->in.ptr[c->at] == '$')
            shell_scan_dollar(c, &w, &text, /*in_quotes=*/true);
        else if (c->in.ptr[c->at] == '`')
            shell_scan_backtick(c, &w, /*in_quotes=*/true);
        else
            c->at++;
    }
    if (c->at > end) /* something in it reached further than its brackets */
        shell_break(c->s, "arithmetic is not closed");
    else
        c->at = end + 2;
    return true;
}

/* --- parameters ----------------------------------------------------------------------------- */

const struct shell_variable *shell_find_variable(const struct shell *s, struct str name)
{
    for (size_t i = s->variables.len; i-- > 0;) {
        if (str_eq(s->variables.ptr[i].name, name))
            return &s->variables.ptr[i];
    }
    return NULL;
}

/* A plain $name or ${name}. */
static void add_variable(struct shell_scan *c, struct str name, struct buf *text)
{
    const struct shell_variable *v = shell_find_variable(c->s, name);

    if (v && c->s->filled + v->value.len <= SHELL_MAX_TEXT) {
        c->s->filled += v->value.len;
        buf_add(text, v->value);
    } else if (str_is(name, "IFS")) {
        buf_addc(text, ' ');
    }
}

/* Digits, @ and * between brackets are no arithmetic. */
static void scan_subscript(struct shell_scan *c)
{
    size_t n = 1;

    while (shell_is_digit(shell_peek(c, n)))
        n++;
    if (n == 1 && (shell_peek(c, 1) == '@' || shell_peek(c, 1) == '*'))
        n = 2;
    if (shell_peek(c, n) == ']') {
        c->at += n + 1;
        return;
    }
    shell_doubt(c->s, "it computes the place in a list");
    c->at++;
}

/* What follows the operator, up to the '}'. */
static void scan_parameter_word(struct shell_scan *c, struct shell_word *w, struct buf *text,
                                bool in_quotes)
{
    while (!shell_at_end(c) && shell_peek(c, 0) != '}') {
        switch (shell_peek(c, 0)) {
        case '\\':
            c->at++;
            if (!shell_at_end(c))
                buf_addc(text, c->in.ptr[c->at++]);
            break;
        case '$':
            shell_scan_dollar(c, w, text, in_quotes);
            break;
        case '`':
            shell_scan_backtick(c, w, in_quotes);
            break;
        case '"':
            shell_scan_double(c, w, text);
            break;
        case '\'':
            if (in_quotes) { /* a quote here, a letter there, by the operator */
                shell_break(c->s, "it has a quote inside \"${…}\"");
                c->at++;
            } else {
                shell_scan_single(c, w, text);
            }
            break;
        case '<':
        case '>':
            if (shell_peek(c, 1) == '(')
                shell_break(c->s, "it has a process substitution inside ${…}");
            buf_addc(text, c->in.ptr[c->at++]);
            break;
        default:
            buf_addc(text, c->in.ptr[c->at++]);
            break;
        }
    }
    if (shell_at_end(c))
        shell_break(c->s, "a ${ is not closed");
    c->at += !shell_at_end(c);
}

/* ":2:3", c->at at the first colon. */
static void scan_offset(struct shell_scan *c)
{
    while (!shell_at_end(c) && (shell_is_digit(shell_peek(c, 0)) || shell_peek(c, 0) == ':' ||
                                shell_peek(c, 0) == ' ' || shell_peek(c, 0) == '-'))
        c->at++;
    if (shell_peek(c, 0) != '}')
        shell_doubt(c->s, "it computes with what only the running shell knows");
}

/* c->at is after "${". */
static void scan_parameter(struct shell_scan *c, struct shell_word *w, struct buf *text,
                           bool in_quotes)
{
    CLEANUP(buf_release) struct buf rest = BUF_INIT(SHELL_MAX_TEXT);
    bool is_length = shell_peek(c, 0) == '#' && shell_peek(c, 1) != '}';
    size_t start;
    struct str name;
    char op;

    w->expands = true;
    if (is_length) {
        c->at++;
    } else if (shell_peek(c, 0) == '!') {
        shell_doubt(c->s, "it expands a variable that another one names");
        c->at++;
    }
    start = c->at;
    while (shell_is_name(shell_peek(c, 0)))
        c->at++;
    name = str_from(str_first(c->in, c->at), start);
    if (!name.len && shell_peek(c, 0) && strchr("@*#?$!-", shell_peek(c, 0)))
        c->at++;
    else if (!name.len)
        shell_break(c->s, "a ${…} has no name");
    if (shell_peek(c, 0) == '[')
        scan_subscript(c);
    op = shell_peek(c, 0);
    if (op == '}' && (name.len || is_length)) {
        if (!is_length)
            add_variable(c, name, text);
        c->at++;
        return;
    }
    if (op == ':' && shell_peek(c, 1) && strchr("-=?+", shell_peek(c, 1)))
        op = shell_peek(c, 1);
    else if (op == ':')
        scan_offset(c);
    if (op == '=' || op == '@')
        shell_doubt(c->s, op == '=' ? "a ${…} sets a variable" : "it has a ${…@…}");
    else if (op && !strchr("}:-?+#%/^,", op))
        shell_break(c->s, "it has a ${…} that is not understood");
    if (str_is(name, "IFS"))
        buf_addc(text, ' ');
    scan_parameter_word(c, w, &rest, in_quotes);
    /* A word that may stand in for the value is taken for it. */
    if (op && strchr("-=+", op) && rest.len)
        buf_add(text, str_from(buf_str(&rest), rest.ptr[0] == ':' ? 2 : 1));
}

/* --- $'…' ----------------------------------------------------------------------------------- */

static unsigned digit_value(char c)
{
    if (shell_is_digit(c))
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A' + 10);
    return 16;
}

/* \101, \x41, \u41, \U41, c->at after the backslash: three octal digits make a byte, as do two
 * hexadecimal ones; four and eight make a character. */
static void scan_ansi_code(struct shell_scan *c, struct buf *text)
{
    char kind = shell_peek(c, 0);
    unsigned base = kind == 'x' || kind == 'u' || kind == 'U' ? 16 : 8;
    unsigned most = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 3;
    unsigned code = 0;
    unsigned digits = 0;
    char bytes[4];

    shell_doubt(c->s, "it has letters written as numbers");
    c->at += base == 16;
    while (digits < most && !shell_at_end(c) && digit_value(c->in.ptr[c->at]) < base) {
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

/* $'…' with its escapes, c->at after the quote. */
static void scan_ansi(struct shell_scan *c, struct buf *text)
{
    static const char from[] = "nt\\'\"abefrv?E";
    static const char to[] = "\n\t\\'\"\a\b\033\f\r\v?\033";

    while (!shell_at_end(c) && c->in.ptr[c->at] != '\'') {
        char ch = c->in.ptr[c->at];
        const char *known;

        c->at++;
        if (ch != '\\' || shell_at_end(c)) {
            buf_addc(text, ch);
            continue;
        }
        ch = c->in.ptr[c->at];
        known = ch ? strchr(from, ch) : NULL;
        if (known) {
            if (known - from > 4)
                shell_doubt(c->s, "it has characters that do not show");
            buf_addc(text, to[known - from]);
            c->at++;
        } else {
            scan_ansi_code(c, text);
        }
    }
    if (shell_at_end(c))
        shell_break(c->s, "a quote is not closed");
    c->at += !shell_at_end(c);
}

/* --- a dollar sign -------------------------------------------------------------------------- */

static void scan_name(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    size_t start = c->at;
    bool digit = shell_is_digit(shell_peek(c, 0));

    while (shell_is_name(shell_peek(c, 0)) && (!digit || c->at == start))
        c->at++;
    w->expands = true;
    if (!digit)
        add_variable(c, str_from(str_first(c->in, c->at), start), text);
}

static void scan_substitution(struct shell_scan *c, struct shell_word *w)
{
    w->expands = true;
    c->at++;
    if (shell_peek(c, 0) == '(') {
        c->at++;
        if (shell_scan_arithmetic(c))
            return;
        c->at--;
    }
    shell_scan_nested(c);
}

void shell_scan_dollar(struct shell_scan *c, struct shell_word *w, struct buf *text, bool in_quotes)
{
    char next = shell_peek(c, 1);

    c->at++;
    if (!shell_enter(c))
        return;
    if (next == '(') {
        scan_substitution(c, w);
    } else if (next == '{') {
        c->at++;
        scan_parameter(c, w, text, in_quotes);
    } else if (next == '[') {
        shell_break(c->s, "it has a $[…]");
        w->expands = true;
    } else if (next == '\'' && !in_quotes) {
        c->at++;
        w->quoted = true;
        scan_ansi(c, text);
    } else if (next == '"' && !in_quotes) {
        shell_doubt(c->s, "it has a $\"…\"");
        shell_scan_double(c, w, text);
    } else if (next == '\\' && shell_peek(c, 1) == '\n') {
        shell_break(c->s, "a line is continued after a dollar sign");
        buf_addc(text, '$');
    } else if (next && strchr("@*", next)) {
        w->expands = true;
        c->at++;
    } else if (next && strchr("#?$!-", next)) {
        w->expands = true;
        c->at++;
    } else if (shell_is_name(next)) {
        scan_name(c, w, text);
    } else {
        buf_addc(text, '$');
    }
    shell_leave(c);
}
