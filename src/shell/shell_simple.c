/*
 * shell_simple: simple commands, and the variables they set. Assignments are remembered, so that
 * later commands are read as the shell will: "x=rm; $x a". Any thread.
 */
#include <string.h>

#include "base/words.h"
#include "shell/shell_scan.h"

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

void shell_set_variable(struct shell *s, struct str name, struct str value)
{
    if (s->variables.len < SHELL_MAX_PARTS)
        vec_push(&s->variables, ((struct shell_variable){name, value}));
}

/* x+=y: what x held comes first. */
static struct str appended(struct shell *s, struct str name, struct str value)
{
    const struct shell_variable *before = shell_find_variable(s, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);

    if (!before || s->filled + before->value.len > SHELL_MAX_TEXT)
        return value;
    s->filled += before->value.len;
    buf_add(&text, before->value);
    buf_add(&text, value);
    return arena_str(&s->arena, buf_str(&text));
}

static void part_set_variables(struct shell *s, const struct shell_part *p)
{
    bool sets = words_have(shell_word_at(p, 0)->text, "export declare local readonly typeset");

    for (size_t i = 0; i < (sets ? p->words.len : p->first); i++) {
        const struct shell_word *w = &p->words.ptr[i];
        size_t n = shell_assignment_len(w->raw);
        bool appends = n > 1 && w->raw.ptr[n - 2] == '+';
        struct str name = str_first(w->raw, n ? n - 1 - appends : 0);

        if (n && w->text.len >= n)
            shell_set_variable(
                s, name, appends ? appended(s, name, str_from(w->text, n)) : str_from(w->text, n));
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

/* After "name=(": the elements. */
static void scan_array(struct shell_scan *c, struct shell_word *w)
{
    size_t start = (size_t)(w->raw.ptr - c->in.ptr);

    w->expands = true;
    for (;;) {
        struct shell_word element;

        shell_skip_lines(c);
        if (shell_at_end(c) || shell_is_meta(shell_peek(c, 0)))
            break;
        if (shell_peek(c, 0) == '[')
            shell_doubt(c->s, "it computes the place in a list");
        shell_scan_word(c, &element);
        shell_set_variable(c->s, STR(""), element.text);
    }
    if (shell_peek(c, 0) == ')')
        c->at++;
    else
        shell_break(c->s, "a list is not closed");
    if (!shell_at_end(c) && !shell_is_meta(shell_peek(c, 0)))
        shell_break(c->s, "there is something after a list");
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
            shell_doubt(c->s, "a word continues with a process substitution");
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
    /* <(a)>(b) is one word, too. */
    if (c->s->parts.len == parts || shell_peek(c, 1) == '(' ||
        (!shell_at_end(c) && !shell_is_meta(shell_peek(c, 0))))
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

bool shell_scan_simple(struct shell_scan *c)
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
