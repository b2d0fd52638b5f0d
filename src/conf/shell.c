/*
 * shell: one pass over the text, a function per construct.
 *
 * Words are read by shell_word.c, exactly as a shell would; everything else that is not understood
 * is marked as uncertain and looked into as well as it can be. The body of a substitution is a text
 * of its own and is scanned again, one level down. Nothing is kept between calls; any thread.
 */
#include "conf/shell.h"

#include <string.h>

#include "base/utf8.h"
#include "conf/shell_scan.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void shell_doubt(struct shell *s, const char *why)
{
    if (s->certain)
        s->why = why;
    s->certain = false;
}

/* --- parts ---------------------------------------------------------------------------------- */

#define KEYWORDS                                                                                   \
    "if then else elif fi for while until do done case esac in select function coproc { } ! [[ ]]"

static void scan_end_part(struct shell_scan *c)
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
    while (p.first < p.words.len && shell_assignment_len(p.words.ptr[p.first].raw))
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

/* --- redirections --------------------------------------------------------------------------- */

static void scan_blanks(struct shell_scan *c)
{
    for (;;) {
        if (shell_scan_peek(c, 0) == ' ' || shell_scan_peek(c, 0) == '\t')
            c->at++;
        else if (shell_scan_peek(c, 0) == '\\' && shell_scan_peek(c, 1) == '\n')
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

static void scan_redirect(struct shell_scan *c)
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
    if (op.len == 1 && shell_scan_peek(c, 0) == '(') {
        shell_doubt(c->s, "it has a process substitution");
        c->at++;
        shell_scan_commands(c->s, shell_scan_body(c, '(', ')'), c->depth + 1);
        return;
    }
    scan_blanks(c);
    shell_scan_word(c, &target);
    if (!target.raw.len) {
        shell_doubt(c->s, "a redirection goes nowhere");
        return;
    }
    if (str_starts(op, STR("<<")) && !str_is(op, "<<<")) {
        shell_doubt(c->s, "it has a here-document");
        vec_push(&c->heredocs, ((struct shell_heredoc){target.text, str_is(op, "<<-")}));
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
static void scan_heredocs(struct shell_scan *c)
{
    VEC_EACH(&c->heredocs, doc) {
        while (!shell_scan_is_end(c)) {
            struct str rest = str_from(c->in, c->at);
            struct str line = str_first(rest, str_chr(rest, '\n'));

            c->at += line.len + (line.len < rest.len);
            while (doc->strip_tabs && line.len && line.ptr[0] == '\t')
                line = str_from(line, 1);
            if (str_eq(line, doc->delimiter))
                break;
            shell_scan_commands(c->s, line, c->depth + 1);
        }
    }
    c->heredocs.len = 0;
}

/* --- commands ------------------------------------------------------------------------------- */

/* A word, or the number of a descriptor in front of a redirection. */
static void scan_word_or_number(struct shell_scan *c)
{
    struct shell_word w;
    size_t start = c->at;

    shell_scan_word(c, &w);
    if ((shell_scan_peek(c, 0) == '<' || shell_scan_peek(c, 0) == '>') && w.raw.len &&
        is_digit(w.raw.ptr[0]) && is_descriptor(w.raw))
        return;
    /* A line continuation alone is no word; neither may the scanner stand still. */
    if (w.raw.len && (w.text.len || w.quoted || w.expands))
        vec_push(&c->part.words, w);
    if (c->at == start)
        c->at++;
}

void shell_scan_commands(struct shell *s, struct str in, unsigned depth)
{
    struct shell_scan c = {.s = s, .in = in, .depth = depth};

    if (depth > SHELL_MAX_DEPTH) {
        s->too_big = true;
        shell_doubt(s, "it is nested too deeply");
        return;
    }
    while (!shell_scan_is_end(&c)) {
        char ch = shell_scan_peek(&c, 0);
        char next = shell_scan_peek(&c, 1);

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
    shell_scan_commands(ret, text, 0);
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
