/*
 * shell: a recursive descent over the text, one function per construct. Here are lists and
 * pipelines; shell_scan.h says where the rest is.
 *
 * A character that does not fit the grammar is skipped, and the text is marked as broken: parsing
 * continues, because deny rules need to see the rest. Nothing is kept between calls; any thread.
 */
#include "shell/shell.h"

#include <string.h>

#include "base/utf8.h"
#include "base/words.h"
#include "shell/shell_scan.h"

void shell_doubt(struct shell *s, const char *why)
{
    if (s->certain)
        s->why = why;
    s->certain = false;
}

void shell_break(struct shell *s, const char *why)
{
    shell_doubt(s, why);
    s->broken = true;
}

bool shell_enter(struct shell_scan *c)
{
    if (++c->depth <= SHELL_MAX_DEPTH)
        return true;
    c->s->too_big = true;
    shell_break(c->s, "it is nested too deeply");
    c->at = c->in.len;
    return false;
}

void shell_leave(struct shell_scan *c)
{
    c->depth--;
}

/* --- between words -------------------------------------------------------------------------- */

void shell_skip_blanks(struct shell_scan *c)
{
    for (;;) {
        if (shell_peek(c, 0) == ' ' || shell_peek(c, 0) == '\t')
            c->at++;
        else if (shell_peek(c, 0) == '\\' && shell_peek(c, 1) == '\n')
            c->at += 2;
        else
            return;
    }
}

void shell_skip_lines(struct shell_scan *c)
{
    for (;;) {
        shell_skip_blanks(c);
        if (shell_peek(c, 0) == '#')
            c->at += str_chr(str_from(c->in, c->at), '\n');
        if (shell_at_end(c) || shell_peek(c, 0) != '\n')
            return;
        c->at++;
        shell_scan_heredocs(c);
    }
}

struct str shell_peek_plain(const struct shell_scan *c)
{
    size_t n = 0;

    while (c->at + n < c->in.len && !shell_is_meta(shell_peek(c, n))) {
        char ch = c->in.ptr[c->at + n];

        if (ch == '\'' || ch == '"' || ch == '\\' || ch == '$' || ch == '`' || !ch)
            return (struct str){"", 0};
        n++;
    }
    return str_make(c->in.ptr + c->at, n);
}

/* --- pipelines and lists -------------------------------------------------------------------- */

/* What ends a list without being part of it. */
static bool is_closing(const struct shell_scan *c)
{
    char ch = shell_peek(c, 0);

    return ch == ')' || (ch == ';' && (shell_peek(c, 1) == ';' || shell_peek(c, 1) == '&')) ||
           words_have(shell_peek_plain(c), "then else elif fi do done esac }");
}

static bool scan_command(struct shell_scan *c)
{
    if (is_closing(c))
        return false;
    /* bash 5.2 writes substitutions anew before it runs them, and gets these wrong. */
    if (c->nested && c->had_text)
        shell_doubt(c->s, "commands follow a here-document inside brackets");
    if (!shell_scan_compound(c))
        return shell_scan_simple(c);
    shell_scan_redirects(c);
    return true;
}

static void skip_negations(struct shell_scan *c)
{
    while (str_is(shell_peek_plain(c), "!")) {
        c->at++;
        shell_skip_blanks(c);
    }
}

/* "time" in front of a compound command; in front of others it is a word like any wrapper. */
static void skip_time(struct shell_scan *c)
{
    struct shell_scan ahead = *c;

    if (!str_is(shell_peek_plain(c), "time"))
        return;
    ahead.at += 4;
    shell_skip_blanks(&ahead);
    if (str_is(shell_peek_plain(&ahead), "-p")) {
        ahead.at += 2;
        shell_skip_blanks(&ahead);
    }
    if (shell_peek(&ahead, 0) == '(' ||
        words_have(shell_peek_plain(&ahead), "! { if for while until case [["))
        c->at = ahead.at;
    else if (shell_assignment_len(str_from(c->in, ahead.at)) || shell_peek(&ahead, 0) == '<' ||
             shell_peek(&ahead, 0) == '>' ||
             words_have(shell_peek_plain(&ahead), "time coproc select function"))
        shell_doubt(c->s, "'time' stands before something unusual");
}

/* False when no command starts here. */
static bool scan_pipeline(struct shell_scan *c, size_t *ret_commands)
{
    *ret_commands = 1;
    skip_negations(c);
    skip_time(c);
    skip_negations(c);
    if (!scan_command(c))
        return false;
    for (;; ++*ret_commands) {
        shell_skip_blanks(c);
        if (shell_peek(c, 0) != '|' || shell_peek(c, 1) == '|')
            return true;
        c->at += shell_peek(c, 1) == '&' ? 2 : 1;
        shell_skip_lines(c);
        if (!scan_command(c)) {
            shell_break(c->s, "a command is missing");
            return true;
        }
    }
}

/* After a pipeline: 0, '&' and '|' for && and ||, or the separator itself. */
static char scan_separator(struct shell_scan *c, bool *ret_needs_more)
{
    char ch;

    shell_skip_blanks(c);
    ch = shell_peek(c, 0);
    *ret_needs_more = (ch == '&' || ch == '|') && shell_peek(c, 1) == ch;
    if (*ret_needs_more)
        c->at += 2;
    else if (ch == '&' || (ch == ';' && !is_closing(c)))
        c->at++;
    else if (!shell_at_end(c) && ch != '\n' && ch != '#' && ch != ')' && ch != ';')
        shell_break(c->s, "there is something after a command's end");
    return ch;
}

size_t shell_scan_list(struct shell_scan *c)
{
    bool needs_more = false; /* && or || came before */
    size_t count = 0;

    for (;; count++) {
        size_t functions = c->s->functions.len;
        bool conditional = needs_more;
        size_t commands;
        char separator;

        shell_skip_lines(c);
        if (shell_at_end(c) || is_closing(c)) {
            if (needs_more)
                shell_break(c->s, "a command is missing");
            return count;
        }
        if (!scan_pipeline(c, &commands)) {
            shell_break(c->s, "a command is missing");
            c->at += !shell_at_end(c);
            continue;
        }
        separator = scan_separator(c, &needs_more);
        /* A function that may not be there when its name is called is none: the name could be a
         * program's. */
        if (conditional || commands > 1 || c->depth > 1 || (separator == '&' && !needs_more))
            c->s->functions.len = functions;
    }
}

/* Up to the ')' that closes it, or to the end. */
static void scan_to(struct shell_scan *c, char close)
{
    for (;;) {
        shell_scan_list(c);
        if (shell_at_end(c)) {
            if (close)
                shell_break(c->s, "a '(' is not closed");
            return;
        }
        if (close && shell_peek(c, 0) == close)
            break;
        shell_break(c->s, "there is something that nothing leads to");
        c->at++;
    }
    c->at++;
}

/* bash tries (( as arithmetic first. Where it is none it reads the text again, in which $'a; b' may
 * be a; b by then: x "$(y <(( z $'a; b' )))". */
static void doubt_double(struct shell_scan *c)
{
    struct str rest = str_from(c->in, c->at);

    if (c->at && c->in.ptr[c->at - 1] == '(' && shell_peek(c, 0) == '(' &&
        (str_has(rest, STR("$'")) || str_has(rest, STR("$\""))))
        shell_doubt(c->s, "it quotes with $'…' after ((");
}

void shell_scan_nested(struct shell_scan *c)
{
    struct shell_scan inner = {
        .s = c->s, .in = c->in, .at = c->at, .depth = c->depth, .nested = true};

    doubt_double(c);
    if (!shell_enter(&inner)) {
        c->at = inner.at;
        return;
    }
    scan_to(&inner, ')');
    /* Other shells read bodies that come after the ')' in other orders. */
    if (inner.heredocs.len ||
        (c->heredocs.len && memchr(c->in.ptr + c->at, '\n', inner.at - c->at)))
        shell_break(c->s, "a here-document crosses a bracket");
    vec_release(&inner.heredocs);
    c->at = inner.at;
}

void shell_scan_text(struct shell *s, struct str in, unsigned depth)
{
    struct shell_scan c = {.s = s, .in = in, .depth = depth};

    if (!shell_enter(&c))
        return;
    scan_to(&c, '\0');
    if (c.heredocs.len)
        shell_break(s, "a here-document has no text");
    vec_release(&c.heredocs);
}

/* --- a text --------------------------------------------------------------------------------- */

/*
 * bash removes a backslash with the newline after it before it looks for operators and quotes:
 * "]\\<newline>]" is "]]", "(\\<newline>(" starts arithmetic. Only after a blank, where every
 * operator has ended, is it certainly just a blank.
 */
static void shell_check_continued_lines(struct shell *s, struct str text)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] == '\\' && text.ptr[i + 1] == '\n' && i &&
            !strchr(" \t\n", text.ptr[i - 1]))
            shell_doubt(s, "a line is continued inside a word or an operator");
    }
}

/* Characters that a terminal or a reader does not show as what they are. */
static bool is_hidden(uint32_t code)
{
    return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code <= 0xa0) ||
           code == 0xad || code == 0x34f || code == 0x61c || code == 0x115f || code == 0x1160 ||
           code == 0x1680 || code == 0x17b4 || code == 0x17b5 ||
           (code >= 0x180b && code <= 0x180f) || (code >= 0x2000 && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202f) || (code >= 0x205f && code <= 0x206f) ||
           code == 0x2800 || code == 0x3000 || code == 0x3164 || code == 0xfeff || code == 0xffa0 ||
           (code >= 0xfff0 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe0fff);
}

static void shell_check_characters(struct shell *s, struct str text)
{
    for (size_t at = 0; at < text.len;) {
        unsigned char byte = (unsigned char)text.ptr[at];
        uint32_t code = byte;
        size_t n = byte < 0x80 ? 1 : utf8_decode(str_from(text, at), &code);

        if (byte >= ' ' && byte < 0x7f) { /* the usual case */
            at++;
            continue;
        }
        if (!n || is_hidden(code)) {
            shell_doubt(s, "it has characters that do not show");
            return;
        }
        at += n;
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
    shell_check_continued_lines(ret, text);
    shell_scan_text(ret, text, 0);
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
    vec_release(&s->functions);
    vec_release(&s->variables);
    arena_release(&s->arena);
}
