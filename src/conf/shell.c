/*
 * shell: a recursive descent over the text, one function per construct. Here are lists, pipelines
 * and simple commands; shell_scan.h says where the rest is.
 *
 * What does not fit the grammar is passed over by a character, and the text is marked as broken:
 * the reading goes on, because whoever forbids wants to see what comes behind it. Nothing is kept
 * between calls; any thread.
 */
#include "conf/shell.h"

#include <string.h>

#include "base/utf8.h"
#include "conf/shell_scan.h"

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
        if (strchr("'\"\\$`", shell_peek(c, n)))
            return (struct str){"", 0};
        n++;
    }
    return str_make(c->in.ptr + c->at, n);
}

/* --- variables ------------------------------------------------------------------------------ */

bool shell_is_own_variable(struct str name)
{
    if (!name.len || str_starts(name, STR("npm_")) || str_starts(name, STR("pip_")) ||
        str_ends(name, STR("_proxy")))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!(name.ptr[i] >= 'a' && name.ptr[i] <= 'z') && !shell_is_digit(name.ptr[i]) &&
            name.ptr[i] != '_')
            return false;
    }
    return true;
}

/* Arithmetic looks into the values of the variables it names, and runs the commands in their
 * subscripts: x='a[$(rm f)]'; echo $((x)). */
static bool is_tame_value(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!value.ptr[i] || strchr("[$`", value.ptr[i]))
            return false;
    }
    return true;
}

void shell_set_variable(struct shell *s, struct str name, const struct shell_word *w, size_t from)
{
    struct shell_word value = *w;

    value.raw = str_from(w->raw, from);
    value.text = str_from(w->text, from);
    if (w->unknown || w->globs || !is_tame_value(value.text))
        s->takes = true;
    if (s->values.len >= SHELL_MAX_PARTS || s->variables.len >= SHELL_MAX_PARTS)
        return;
    vec_push(&s->values, value);
    vec_push(&s->variables, ((struct shell_variable){name, value.text,
                                                     !w->unknown && !w->computed && !w->globs &&
                                                         value.text.len <= SHELL_MAX_VALUE,
                                                     /*listed=*/false}));
}

#define SETTERS "export declare local readonly typeset"
#define TAKERS "read mapfile readarray getopts let eval source . set unset shift"

static void part_set_variables(struct shell *s, const struct shell_part *p)
{
    struct str name = shell_word_at(p, 0)->text;
    bool sets = str_is_word_of(name, SETTERS);

    if (str_is_word_of(name, TAKERS) ||
        (str_is(name, "printf") && str_starts(shell_word_at(p, 1)->text, STR("-v"))))
        s->takes = true;
    for (size_t i = 0; i < (sets ? p->words.len : p->first); i++) {
        const struct shell_word *w = &p->words.ptr[i];
        size_t n = shell_assignment_len(w->raw);

        if (n && w->text.len >= n)
            shell_set_variable(s, str_first(w->raw, n - 1 - (w->raw.ptr[n - 2] == '+')), w, n);
    }
}

/* --- simple commands ------------------------------------------------------------------------ */

static bool is_defined(const struct shell *s, struct str name)
{
    VEC_EACH(&s->functions, f) {
        if (str_eq(*f, name))
            return true;
    }
    return false;
}

void shell_end_part(struct shell_scan *c, struct shell_part *part)
{
    struct shell *s = c->s;

    while (part->first < part->words.len && shell_assignment_len(part->words.ptr[part->first].raw))
        part->first++;
    if (!part->words.len)
        return;
    if (part->first < part->words.len) {
        const struct shell_word *name = &part->words.ptr[part->first];

        s->loose |= name->expands;
        part->defined = !name->quoted && is_defined(s, name->raw);
        if (name->expands || name->globs)
            shell_doubt(s, "the command's name is not written out");
    }
    part_set_variables(s, part);
    if (s->parts.len >= SHELL_MAX_PARTS) {
        s->too_big = true;
        shell_break(s, "it is too long");
        vec_release(&part->words);
        return;
    }
    vec_push(&s->parts, *part);
    *part = (struct shell_part){0};
}

/* Behind "name=(": the elements. */
static void scan_array(struct shell_scan *c, struct shell_word *w)
{
    size_t start = (size_t)(w->raw.ptr - c->in.ptr);

    c->s->takes = true;
    w->expands = w->unknown = true;
    for (;;) {
        struct shell_word element;

        shell_skip_lines(c);
        if (shell_at_end(c) || shell_is_meta(shell_peek(c, 0)))
            break;
        if (shell_peek(c, 0) == '[')
            shell_doubt(c->s, "it computes the place in a list");
        shell_scan_word(c, &element);
        if (c->s->values.len < SHELL_MAX_PARTS)
            vec_push(&c->s->values, element);
    }
    if (shell_peek(c, 0) == ')')
        c->at++;
    else
        shell_break(c->s, "a list is not closed");
    if (!shell_at_end(c) && !shell_is_meta(shell_peek(c, 0)))
        shell_break(c->s, "there is something behind a list");
    w->raw = str_from(str_first(c->in, c->at), start);
}

static bool is_descriptor(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!shell_is_digit(text.ptr[i]))
            return false;
    }
    return text.len;
}

/* A word, or what stands in front of a redirection: 2>, {fd}>. */
static void scan_word_or_number(struct shell_scan *c, struct shell_part *part)
{
    struct shell_word w;
    size_t start = c->at;

    shell_scan_word(c, &w);
    if (shell_peek(c, 0) == '<' || shell_peek(c, 0) == '>') {
        if (is_descriptor(w.raw))
            return;
        if (shell_peek(c, 1) == '(')
            shell_doubt(c->s, "a word goes on with a process substitution");
        else if (str_starts(w.raw, STR("{")) && str_ends(w.raw, STR("}")))
            shell_doubt(c->s, "a redirection sets a variable");
    }
    if (shell_peek(c, 0) == '(' && w.raw.len && shell_assignment_len(w.raw) == w.raw.len) {
        c->at++;
        scan_array(c, &w);
    }
    /* A line continuation alone is no word; neither may the reading stand still. */
    if (w.raw.len && (w.text.len || w.quoted || w.expands))
        vec_push(&part->words, w);
    if (c->at == start)
        c->at++;
}

/* "<(…)": to the command it is the name of a file. */
static void scan_process(struct shell_scan *c, struct shell_part *part)
{
    struct shell_word w = {.text = STR("/dev/fd/63")};
    size_t parts = c->s->parts.len;
    size_t start = c->at;

    if (!part->words.len)
        shell_doubt(c->s, "the command's name is not written out");
    c->at += 2;
    shell_scan_nested(c);
    w.raw = str_from(str_first(c->in, c->at), start);
    if (c->s->parts.len == parts || (!shell_at_end(c) && !shell_is_meta(shell_peek(c, 0))))
        shell_doubt(c->s, "it has an unusual process substitution");
    vec_push(&part->words, w);
}

static bool is_function_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!shell_is_name(name.ptr[i]) && name.ptr[i] != '-')
            return false;
    }
    return name.len && !shell_is_digit(name.ptr[0]);
}

/* At a "(" inside a simple command: only "name()" makes sense. */
static bool scan_parenthesis(struct shell_scan *c, struct shell_part *part)
{
    struct shell_scan ahead = *c;

    ahead.at++;
    shell_skip_blanks(&ahead);
    if (part->words.len == 1 && shell_peek(&ahead, 0) == ')' && !part->words.ptr[0].quoted &&
        !part->words.ptr[0].expands) {
        struct str name = part->words.ptr[0].raw;

        if (!is_function_name(name))
            shell_doubt(c->s, "a function has an unusual name");
        part->words.len = 0;
        c->at = ahead.at + 1;
        shell_scan_function(c, name);
        return true;
    }
    shell_break(c->s, "there is a '(' where none can be");
    c->at++;
    shell_scan_nested(c);
    return false;
}

/* False when no command starts here. */
static bool scan_simple(struct shell_scan *c)
{
    struct shell_part part = {0};
    size_t start = c->at;
    bool more = true;

    while (more) {
        char ch;

        shell_skip_blanks(c);
        ch = shell_peek(c, 0);
        if (shell_at_end(c))
            break;
        switch (ch) {
        case '\n':
        case ';':
        case '|':
        case ')':
            more = false;
            break;
        case '#':
            c->at += str_chr(str_from(c->in, c->at), '\n');
            break;
        case '(':
            if (c->at == start)
                more = false; /* a compound command's */
            else
                more = !scan_parenthesis(c, &part);
            break;
        case '&':
            if (shell_peek(c, 1) == '>')
                shell_scan_redirect(c);
            else
                more = false;
            break;
        case '<':
        case '>':
            if (shell_peek(c, 1) == '(')
                scan_process(c, &part);
            else
                shell_scan_redirect(c);
            break;
        default:
            scan_word_or_number(c, &part);
            break;
        }
    }
    shell_end_part(c, &part);
    vec_release(&part.words);
    return c->at > start;
}

/* --- pipelines and lists -------------------------------------------------------------------- */

/* What ends a list without being part of it. */
static bool is_closing(const struct shell_scan *c)
{
    char ch = shell_peek(c, 0);

    return ch == ')' || (ch == ';' && (shell_peek(c, 1) == ';' || shell_peek(c, 1) == '&')) ||
           str_is_word_of(shell_peek_plain(c), "then else elif fi do done esac }");
}

static bool scan_command(struct shell_scan *c)
{
    if (is_closing(c))
        return false;
    /* bash 5.2 writes substitutions anew before it runs them, and gets these wrong. */
    if (c->nested && c->had_text)
        shell_doubt(c->s, "commands follow a here-document inside brackets");
    if (!shell_scan_compound(c))
        return scan_simple(c);
    shell_scan_redirects(c);
    return true;
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
        str_is_word_of(shell_peek_plain(&ahead), "{ if for while until case [["))
        c->at = ahead.at;
    else if (shell_assignment_len(str_from(c->in, ahead.at)) || shell_peek(&ahead, 0) == '<' ||
             shell_peek(&ahead, 0) == '>' ||
             str_is_word_of(shell_peek_plain(&ahead), "! time coproc select function"))
        shell_doubt(c->s, "'time' stands before something unusual");
}

/* False when no command starts here. */
static bool scan_pipeline(struct shell_scan *c, size_t *ret_commands)
{
    *ret_commands = 1;
    while (str_is(shell_peek_plain(c), "!")) {
        c->at++;
        shell_skip_blanks(c);
    }
    skip_time(c);
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

/* Behind a pipeline: 0, '&' and '|' for && and ||, or the separator itself. */
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
        shell_break(c->s, "there is something behind a command's end");
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
            c->at++;
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

void shell_scan_nested(struct shell_scan *c)
{
    struct shell_scan inner = {
        .s = c->s, .in = c->in, .at = c->at, .depth = c->depth, .nested = true};

    if (!shell_enter(&inner)) {
        c->at = inner.at;
        return;
    }
    scan_to(&inner, ')');
    /* Bodies that come behind the ')' are read in other orders by other shells. */
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
    shell_scan_text(ret, text, 0);
    if (ret->computes && ret->takes)
        shell_doubt(ret, "it computes with what it did not write itself");
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
    vec_release(&s->values);
    vec_release(&s->functions);
    vec_release(&s->variables);
    arena_release(&s->arena);
}
