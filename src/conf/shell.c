/*
 * shell: one pass over the text, a function per construct.
 *
 * The scanner follows the quoting rules of POSIX shells and bash exactly, because that decides
 * where a word ends; everything else it does not understand it marks as uncertain and looks into as
 * well as it can. The body of a substitution is a text of its own and is scanned again, one level
 * down. Nothing is kept between calls; any thread.
 */
#include "conf/shell.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

/* A here-document that was announced on the current line. */
struct heredoc {
    struct str delimiter;
    bool strip_tabs;
};

struct scan {
    struct shell *s;
    struct str in;
    size_t at;
    unsigned depth;
    struct shell_part part; /* the one being read */
    VEC(struct heredoc) heredocs;
};

static void scan_commands(struct shell *s, struct str in, unsigned depth);

static void shell_doubt(struct shell *s, const char *why)
{
    if (s->certain)
        s->why = why;
    s->certain = false;
}

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

static char scan_peek(const struct scan *c, size_t ahead)
{
    return c->at + ahead < c->in.len ? c->in.ptr[c->at + ahead] : '\0';
}

static bool scan_is_end(const struct scan *c)
{
    return c->at >= c->in.len;
}

/* What a word ends at, outside quotes. */
static bool is_meta(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' ||
           c == '>' || c == '(' || c == ')';
}

/* "NAME=", "NAME+=": how many bytes, or 0. */
static size_t assignment_len(struct str raw)
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

/* --- parts ---------------------------------------------------------------------------------- */

#define KEYWORDS                                                                                   \
    "if then else elif fi for while until do done case esac in select function coproc { } ! [[ ]]"

static void scan_end_part(struct scan *c)
{
    struct shell_part p = c->part;
    size_t skip = 0;

    c->part = (struct shell_part){0};
    /* What follows a keyword is a command again: "do rm x". */
    while (skip < p.words.len && str_is_word_of(p.words.ptr[skip].raw, KEYWORDS))
        skip++;
    if (skip) {
        shell_doubt(c->s, "it has a loop, a condition or a group");
        memmove(p.words.ptr, p.words.ptr + skip, (p.words.len - skip) * sizeof(*p.words.ptr));
        p.words.len -= skip;
    }
    while (p.first < p.words.len && assignment_len(p.words.ptr[p.first].raw))
        p.first++;
    if (!p.words.len) {
        vec_release(&p.words);
        return;
    }
    if (p.first < p.words.len && (p.words.ptr[p.first].expands || p.words.ptr[p.first].globs))
        shell_doubt(c->s, "the command's name is not written out");
    if (c->s->parts.len >= SHELL_MAX_PARTS) {
        c->s->too_big = true;
        shell_doubt(c->s, "it is too long");
        vec_release(&p.words);
        return;
    }
    vec_push(&c->s->parts, p);
}

/* --- words ---------------------------------------------------------------------------------- */

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

/* The text between an opening bracket, at c->at - 1, and its partner. */
static struct str scan_body(struct scan *c, char open, char close)
{
    size_t end = scan_match(c->in, c->at, open, close);
    struct str body = str_from(str_first(c->in, end), c->at);

    if (body.len && body.ptr[body.len - 1] == close)
        body.len--;
    c->at = end;
    return body;
}

static void scan_backtick(struct scan *c, struct shell_word *w)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(SHELL_MAX_TEXT);

    shell_doubt(c->s, "it has a substitution");
    w->expands = true;
    for (c->at++; !scan_is_end(c) && c->in.ptr[c->at] != '`'; c->at++) {
        if (c->in.ptr[c->at] == '\\' &&
            (scan_peek(c, 1) == '`' || scan_peek(c, 1) == '\\' || scan_peek(c, 1) == '$'))
            c->at++;
        if (!scan_is_end(c))
            buf_addc(&body, c->in.ptr[c->at]);
    }
    c->at += !scan_is_end(c);
    scan_commands(c->s, arena_str(&c->s->arena, buf_str(&body)), c->depth + 1);
}

/* ${name}, ${name:-word}: a word that may stand in for the value is taken for it. */
static void scan_parameter(struct scan *c, struct shell_word *w, struct buf *text)
{
    struct str body = scan_body(c, '{', '}');
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
    scan_commands(c->s, body, c->depth + 1);
}

/* $'…' with its escapes, c->at behind the quote. */
static void scan_ansi(struct scan *c, struct buf *text)
{
    static const char from[] = "abefnrtv\\'\"?E";
    static const char to[] = "\a\b\033\f\n\r\t\v\\'\"?\033";

    shell_doubt(c->s, "it has a $'…'");
    for (; !scan_is_end(c) && c->in.ptr[c->at] != '\''; c->at++) {
        char ch = c->in.ptr[c->at];
        const char *known;
        unsigned code = 0;
        unsigned digits = 0;
        unsigned base = 8;
        unsigned most = 3;
        char bytes[4];

        if (ch != '\\' || c->at + 1 >= c->in.len) {
            buf_addc(text, ch);
            continue;
        }
        c->at++;
        ch = c->in.ptr[c->at];
        known = strchr(from, ch);
        if (ch && known) {
            buf_addc(text, to[known - from]);
            continue;
        }
        if (ch == 'x' || ch == 'u' || ch == 'U') {
            base = 16;
            most = ch == 'x' ? 2 : ch == 'u' ? 4 : 8;
            c->at++;
        }
        for (; digits < most && !scan_is_end(c); digits++, c->at++) {
            char d = c->in.ptr[c->at];
            unsigned v = is_digit(d)            ? (unsigned)(d - '0')
                         : d >= 'a' && d <= 'f' ? (unsigned)(d - 'a' + 10)
                         : d >= 'A' && d <= 'F' ? (unsigned)(d - 'A' + 10)
                                                : 16;

            if (v >= base)
                break;
            code = code * base + v;
        }
        if (digits && code && code < 0x110000) {
            buf_add(text, base == 8 || most == 2 ? str_make((bytes[0] = (char)code, bytes), 1)
                                                 : str_make(bytes, utf8_encode(code, bytes)));
        }
        c->at--; /* the loop steps on */
    }
    c->at += !scan_is_end(c);
}

static void scan_double(struct scan *c, struct shell_word *w, struct buf *text);

/* c->at is at the dollar sign. */
static void scan_dollar(struct scan *c, struct shell_word *w, struct buf *text, bool in_quotes)
{
    char next = scan_peek(c, 1);
    size_t start;

    c->at++;
    if (next == '(') {
        c->at++;
        shell_doubt(c->s, "it has a substitution");
        w->expands = true;
        scan_commands(c->s, scan_body(c, '(', ')'), c->depth + 1);
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
    while (is_name(scan_peek(c, 0)) && (!is_digit(next) || c->at == start))
        c->at++;
    if (str_is(str_from(str_first(c->in, c->at), start), "IFS"))
        buf_addc(text, ' ');
}

/* c->at is at the opening quote. */
static void scan_double(struct scan *c, struct shell_word *w, struct buf *text)
{
    w->quoted = true;
    c->at++;
    while (!scan_is_end(c)) {
        char ch = c->in.ptr[c->at];
        char next = scan_peek(c, 1);

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

static void scan_single(struct scan *c, struct shell_word *w, struct buf *text)
{
    struct str rest = str_from(c->in, c->at + 1);
    size_t end = str_chr(rest, '\'');

    w->quoted = true;
    if (end == rest.len)
        shell_doubt(c->s, "a quote is not closed");
    buf_add(text, str_first(rest, end));
    c->at += 1 + end + (end < rest.len);
}

/* One word from c->at on; it may turn out empty (""). */
static void scan_word(struct scan *c, struct shell_word *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);
    struct shell_word w = {0};
    size_t start = c->at;

    if (scan_peek(c, 0) == '~' && !is_meta(scan_peek(c, 1)) && scan_peek(c, 1) != '/' &&
        scan_peek(c, 1))
        w.expands = true; /* somebody else's home */
    while (!scan_is_end(c)) {
        char ch = c->in.ptr[c->at];

        if (is_meta(ch))
            break;
        if (ch == '\\') {
            if (c->at + 1 >= c->in.len)
                shell_doubt(c->s, "it ends in a backslash");
            else if (scan_peek(c, 1) != '\n')
                buf_addc(&text, scan_peek(c, 1));
            w.quoted |= scan_peek(c, 1) != '\n';
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

/* --- redirections --------------------------------------------------------------------------- */

static void scan_blanks(struct scan *c)
{
    for (;;) {
        if (scan_peek(c, 0) == ' ' || scan_peek(c, 0) == '\t')
            c->at++;
        else if (scan_peek(c, 0) == '\\' && scan_peek(c, 1) == '\n')
            c->at += 2;
        else
            return;
    }
}

static bool is_descriptor(struct str text)
{
    if (text.len && text.ptr[text.len - 1] == '-')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
    }
    return true;
}

static void scan_redirect(struct scan *c)
{
    static const char *const operators[] = {"&>>", "<<<", "<<-", "&>", ">>", ">|",
                                            ">&",  "<<",  "<&",  "<>", ">",  "<"};
    struct shell_word target;
    struct str op = {0};

    for (size_t i = 0; i < ARRAY_LEN(operators) && !op.len; i++) {
        if (str_starts(str_from(c->in, c->at), str_of(operators[i])))
            op = str_of(operators[i]);
    }
    c->at += op.len;
    if (op.len == 1 && scan_peek(c, 0) == '(') {
        shell_doubt(c->s, "it has a process substitution");
        c->at++;
        scan_commands(c->s, scan_body(c, '(', ')'), c->depth + 1);
        return;
    }
    scan_blanks(c);
    scan_word(c, &target);
    if (!target.raw.len) {
        shell_doubt(c->s, "a redirection goes nowhere");
        return;
    }
    if (str_starts(op, STR("<<")) && !str_is(op, "<<<")) {
        shell_doubt(c->s, "it has a here-document");
        vec_push(&c->heredocs, ((struct heredoc){target.text, str_is(op, "<<-")}));
        return;
    }
    if (str_is(op, "<<<")) {
        vec_push(&c->s->given, target);
        return;
    }
    if ((str_is(op, ">&") || str_is(op, "<&")) && is_descriptor(target.raw))
        return;
    if (target.expands || target.globs || str_starts(target.text, STR("/dev/tcp/")) ||
        str_starts(target.text, STR("/dev/udp/")))
        shell_doubt(c->s, "the target of a redirection is not written out");
    if (str_is(op, "<") || str_is(op, "<&"))
        vec_push(&c->s->reads, target);
    else if (!str_is(target.raw, "/dev/null"))
        vec_push(&c->s->writes, target);
}

/* Behind the newline of a line that announced here-documents. Each line of a body is looked at as a
 * command: it may be fed to a shell, and an apostrophe in it must not swallow what follows. */
static void scan_heredocs(struct scan *c)
{
    VEC_EACH(&c->heredocs, doc) {
        while (!scan_is_end(c)) {
            struct str rest = str_from(c->in, c->at);
            struct str line = str_first(rest, str_chr(rest, '\n'));

            c->at += line.len + (line.len < rest.len);
            while (doc->strip_tabs && line.len && line.ptr[0] == '\t')
                line = str_from(line, 1);
            if (str_eq(line, doc->delimiter))
                break;
            scan_commands(c->s, line, c->depth + 1);
        }
    }
    c->heredocs.len = 0;
}

/* --- commands ------------------------------------------------------------------------------- */

/* A word, or the number of a descriptor in front of a redirection. */
static void scan_word_or_number(struct scan *c)
{
    struct shell_word w;
    size_t start = c->at;

    scan_word(c, &w);
    if ((scan_peek(c, 0) == '<' || scan_peek(c, 0) == '>') && w.raw.len && is_digit(w.raw.ptr[0]) &&
        is_descriptor(w.raw))
        return;
    /* A line continuation alone is no word; neither may the scanner stand still. */
    if (w.raw.len && (w.text.len || w.quoted || w.expands))
        vec_push(&c->part.words, w);
    if (c->at == start)
        c->at++;
}

static void scan_commands(struct shell *s, struct str in, unsigned depth)
{
    struct scan c = {.s = s, .in = in, .depth = depth};

    if (depth > SHELL_MAX_DEPTH) {
        s->too_big = true;
        shell_doubt(s, "it is nested too deeply");
        return;
    }
    while (!scan_is_end(&c)) {
        char ch = scan_peek(&c, 0);
        char next = scan_peek(&c, 1);

        switch (ch) {
        case ' ':
        case '\t':
            c.at++;
            break;
        case '#': /* words are read whole, so this is the start of one */
            c.at += str_chr(str_from(in, c.at), '\n');
            break;
        case '\n':
            scan_end_part(&c);
            c.at++;
            scan_heredocs(&c);
            break;
        case '(':
        case ')':
            shell_doubt(s, "it has a subshell or a function");
            scan_end_part(&c);
            c.at++;
            break;
        case ';':
        case '|':
            scan_end_part(&c);
            c.at++;
            break;
        case '&':
            if (next == '>') {
                scan_redirect(&c);
                break;
            }
            scan_end_part(&c);
            c.at++;
            break;
        case '<':
        case '>':
            scan_redirect(&c);
            break;
        default:
            scan_word_or_number(&c);
            break;
        }
    }
    scan_end_part(&c);
    vec_release(&c.part.words);
    vec_release(&c.heredocs);
}

/* Characters that a terminal or a reader does not show as what they are. */
static bool is_hidden(uint32_t code)
{
    return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code <= 0xa0) ||
           code == 0xad || code == 0x1680 || (code >= 0x2000 && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202f) || (code >= 0x205f && code <= 0x206f) ||
           code == 0x3000 || code == 0xfeff || (code >= 0xe0000 && code <= 0xe0fff);
}

static void shell_check_characters(struct shell *s, struct str text)
{
    while (text.len) {
        uint32_t code;
        size_t n = utf8_decode(text, &code);

        if (!n || is_hidden(code)) {
            shell_doubt(s, "it has characters that do not show");
            return;
        }
        text = str_from(text, n);
    }
}

void shell_split(struct shell *ret, struct str text)
{
    *ret = (struct shell){.certain = true};
    if (text.len > SHELL_MAX_CERTAIN)
        shell_doubt(ret, "it is too long");
    if (text.len > SHELL_MAX_TEXT) {
        ret->too_big = true;
        return;
    }
    shell_check_characters(ret, text);
    scan_commands(ret, text, 0);
}

void shell_release(struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        vec_release(&p->words);
    }
    vec_release(&s->parts);
    vec_release(&s->writes);
    vec_release(&s->reads);
    vec_release(&s->given);
    arena_release(&s->arena);
}

const struct shell_word *shell_word_at(const struct shell_part *p, size_t i)
{
    static const struct shell_word none = {.raw = {"", 0}, .text = {"", 0}};

    return p->first + i < p->words.len ? &p->words.ptr[p->first + i] : &none;
}

/* --- wrappers ------------------------------------------------------------------------------- */

/* "5", "1.5s", "10m" */
static bool is_duration(struct str s)
{
    if (s.len && strchr("smhd", s.ptr[s.len - 1]))
        s.len--;
    if (!s.len || !is_digit(s.ptr[0]))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) && s.ptr[i] != '.')
            return false;
    }
    return true;
}

static bool is_number(struct str s)
{
    if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = str_from(s, 1);
    return s.len && str_chr(s, '-') == s.len && is_descriptor(s);
}

/* The options of one wrapper: those that stand alone, those with a value behind them. */
struct wrapper {
    const char *name;
    const char *alone;  /* "--foreground -v"; "--signal=" takes what follows the sign */
    const char *valued; /* "-k -s" */
    bool duration;      /* a duration stands before the command */
};

static const struct wrapper wrappers[] = {
    {"timeout", "--foreground --preserve-status -v --verbose --kill-after= --signal=", "-k -s",
     true},
    {"time", "-p", "", false},
    {"nice", "--adjustment=", "-n", false},
    {"nohup", "", "", false},
    {"stdbuf", "-i0 -iL -o0 -oL -e0 -eL --input= --output= --error=", "-i -o -e", false},
    {"command", "", "", false},
    {"builtin", "", "", false},
    {"noglob", "", "", false},
    {"xargs", "", "", false},
};

static bool wrapper_takes(const char *list, struct str option)
{
    size_t equals = str_chr(option, '=');

    return str_is_word_of(option, list) ||
           (equals < option.len && str_is_word_of(str_first(option, equals + 1), list));
}

static const struct wrapper *wrapper_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
        if (str_is(name, wrappers[i].name))
            return &wrappers[i];
    }
    return NULL;
}

size_t shell_wrapper_len(const struct shell_part *p, size_t from)
{
    const struct wrapper *wrapper;
    size_t i = from;

    if (from >= p->words.len)
        return 0;
    wrapper = wrapper_find(p->words.ptr[from].raw);
    if (!wrapper)
        return 0;
    for (i++; i < p->words.len; i++) {
        struct str word = p->words.ptr[i].raw;

        if (!str_starts(word, STR("-")))
            break;
        if (p->words.ptr[i].expands || p->words.ptr[i].globs)
            return 0;
        if (str_is_word_of(word, wrapper->valued)) {
            i++;
            if (i < p->words.len && (p->words.ptr[i].expands || p->words.ptr[i].globs))
                return 0;
        } else if (!wrapper_takes(wrapper->alone, word) &&
                   !(str_is(str_of(wrapper->name), "nice") && is_number(word))) {
            return 0;
        }
    }
    if (wrapper->duration && (i >= p->words.len || !is_duration(p->words.ptr[i++].raw)))
        return 0;
    return i < p->words.len ? i - from : 0;
}

#define SAFE_VARIABLES                                                                             \
    "LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM COLUMNS "     \
    "LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM CI NODE_ENV DEBUG "              \
    "RUST_BACKTRACE "                                                                              \
    "RUST_LOG CARGO_TERM_COLOR GOOS GOARCH CGO_ENABLED GO111MODULE PYTHONUNBUFFERED "              \
    "PYTHONDONTWRITEBYTECODE PYTHONHASHSEED"

bool shell_is_safe_assignment(const struct shell_word *w)
{
    size_t n = assignment_len(w->raw);

    return n > 1 && !w->expands && w->raw.ptr[n - 2] != '+' &&
           str_is_word_of(str_first(w->raw, n - 1), SAFE_VARIABLES);
}
