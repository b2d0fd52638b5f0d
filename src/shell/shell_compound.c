/*
 * shell_compound: groups, subshells, conditions, loops, [[ ]], (( )) and functions. What they
 * contain are lists again, and all their commands count: which branch is taken is not asked. Any
 * thread.
 */
#include <string.h>

#include "base/words.h"
#include "shell/shell_scan.h"

/* Reads this keyword; the text is broken when another word stands here. */
static bool take_keyword(struct shell_scan *c, const char *keyword)
{
    shell_skip_lines(c);
    if (!str_is(shell_peek_plain(c), keyword)) {
        shell_break(c->s, "a loop or condition is not complete");
        return false;
    }
    c->at += strlen(keyword);
    return true;
}

/* A list that has at least one command. */
static void scan_body(struct shell_scan *c)
{
    if (!shell_scan_list(c))
        shell_break(c->s, "a command is missing");
}

/* --- conditions ----------------------------------------------------------------------------- */

/* After "if" or "elif". */
static void scan_if(struct shell_scan *c)
{
    for (;;) {
        scan_body(c);
        if (!take_keyword(c, "then"))
            return;
        scan_body(c);
        shell_skip_lines(c);
        if (!str_is(shell_peek_plain(c), "elif"))
            break;
        c->at += 4;
    }
    if (str_is(shell_peek_plain(c), "else")) {
        c->at += 4;
        scan_body(c);
    }
    take_keyword(c, "fi");
}

/* "a|b)" or "(a|b)". */
static void scan_patterns(struct shell_scan *c)
{
    struct shell_word pattern;

    if (shell_peek(c, 0) == '(')
        c->at++;
    for (;;) {
        size_t start;

        shell_skip_blanks(c);
        start = c->at;
        shell_scan_word(c, &pattern);
        shell_skip_blanks(c);
        if (c->at == start || (shell_peek(c, 0) != '|' && shell_peek(c, 0) != ')')) {
            shell_break(c->s, "a case is not complete");
            return;
        }
        c->at++;
        if (c->in.ptr[c->at - 1] == ')')
            return;
    }
}

static void scan_case(struct shell_scan *c)
{
    struct shell_word word;

    shell_skip_blanks(c);
    shell_scan_word(c, &word);
    if (!word.raw.len || !take_keyword(c, "in"))
        return;
    for (;;) {
        shell_skip_lines(c);
        if (shell_at_end(c) || str_is(shell_peek_plain(c), "esac"))
            break;
        scan_patterns(c);
        shell_scan_list(c);
        if (shell_peek(c, 0) != ';')
            break;
        c->at += str_starts(str_from(c->in, c->at), STR(";;&")) ? 3 : 2;
    }
    take_keyword(c, "esac");
}

/* --- loops ---------------------------------------------------------------------------------- */

static void scan_do(struct shell_scan *c)
{
    if (!take_keyword(c, "do"))
        return;
    scan_body(c);
    take_keyword(c, "done");
}

static void scan_while(struct shell_scan *c)
{
    c->s->repeats = true;
    scan_body(c);
    scan_do(c);
}

/* After "in": the list for the variable. */
static void scan_for_words(struct shell_scan *c, struct str name)
{
    for (;;) {
        struct shell_word w;

        shell_skip_blanks(c);
        if (shell_at_end(c) || shell_is_meta(shell_peek(c, 0)) || shell_peek(c, 0) == '#')
            break;
        shell_scan_word(c, &w);
        shell_set_variable(c->s, name, w.text);
    }
    if (shell_peek(c, 0) == ';')
        c->at++;
    else if (shell_peek(c, 0) != '\n' && shell_peek(c, 0) != '#')
        shell_break(c->s, "a loop is not complete");
}

static void scan_for(struct shell_scan *c)
{
    struct str name;

    c->s->repeats = true;
    shell_skip_blanks(c);
    if (shell_peek(c, 0) == '(' && shell_peek(c, 1) == '(') {
        c->at += 2;
        if (!shell_scan_arithmetic(c))
            shell_break(c->s, "a loop is not complete");
        shell_skip_blanks(c);
        c->at += shell_peek(c, 0) == ';';
        scan_do(c);
        return;
    }
    name = shell_peek_plain(c);
    if (!shell_is_own_variable(name) || shell_is_digit(name.ptr[0]))
        shell_doubt(c->s, "a loop sets a variable that programs look at");
    c->at += name.len;
    shell_skip_lines(c);
    if (str_is(shell_peek_plain(c), "in")) {
        c->at += 2;
        scan_for_words(c, name);
    } else {
        c->at += shell_peek(c, 0) == ';';
    }
    scan_do(c);
}

/* --- tests ---------------------------------------------------------------------------------- */

#define NUMBER_TESTS "-eq -ne -lt -le -gt -ge"

/* Numbers in [[ ]] are arithmetic, which runs commands in subscripts, quoted or not. */
static bool is_tame_number(const struct shell_word *w)
{
    size_t sign = str_starts(w->raw, STR("-"));

    if (str_is_word_of(w->raw, "$? $# $$"))
        return true;
    for (size_t i = sign; i < w->raw.len; i++) {
        if (!shell_is_digit(w->raw.ptr[i]))
            return false;
    }
    return w->raw.len > sign;
}

static void check_test(struct shell_scan *c, const struct shell_part *p)
{
    for (size_t i = 1; i < p->words.len; i++) {
        const struct shell_word *w = &p->words.ptr[i];

        if (str_is(w->text, "-v") || str_is(w->text, "-R"))
            shell_doubt(c->s, "it asks for a variable by name");
        if (words_have(w->text, NUMBER_TESTS) &&
            (!is_tame_number(w - 1) || i + 1 >= p->words.len || !is_tame_number(w + 1)))
            shell_doubt(c->s, "it computes with what only the running shell knows");
    }
}

/* What =~ compares with may have brackets and bars in it that are no operators. */
static void scan_regex(struct shell_scan *c, struct shell_part *part)
{
    struct shell_word w = {.text = STR("")};
    size_t start;

    shell_skip_blanks(c);
    start = c->at;
    while (!shell_at_end(c) && !strchr(" \t\n", c->in.ptr[c->at])) {
        struct shell_word piece;
        size_t from = c->at;

        shell_scan_word(c, &piece);
        w.expands |= piece.expands;
        if (c->at == from) {
            if (!strchr("()|", c->in.ptr[c->at]))
                shell_doubt(c->s, "it has an unusual pattern");
            c->at++;
        }
    }
    if (c->at == start)
        shell_break(c->s, "it has an unusual pattern");
    w.raw = w.text = str_from(str_first(c->in, c->at), start);
    vec_push(&part->words, w);
}

/* After "[[": words and operators up to "]]", kept as one part. */
static void scan_test(struct shell_scan *c)
{
    struct shell_part part = {0};
    bool closed = false;

    vec_push(&part.words, ((struct shell_word){.raw = STR("[["), .text = STR("[[")}));
    while (!closed && !shell_at_end(c)) {
        struct shell_word w;
        char ch;

        shell_skip_lines(c);
        ch = shell_peek(c, 0);
        if (shell_at_end(c) || ch == ';') {
            break;
        } else if (str_is(shell_peek_plain(c), "]]")) {
            c->at += 2;
            closed = true;
        } else if ((ch == '<' || ch == '>') && shell_peek(c, 1) == '(') {
            shell_break(c->s, "it has a process substitution inside [[ ]]");
            c->at += 2;
            shell_scan_nested(c);
        } else if (shell_is_meta(ch)) {
            /* bash reads "<>o" and similar text as redirections once the test is broken. */
            if ((ch == '<' || ch == '>') && shell_peek(c, 1) != ' ')
                shell_doubt(c->s, "it has an unusual operator inside [[ ]]");
            c->at++;
        } else {
            shell_scan_word(c, &w);
            vec_push(&part.words, w);
            if (str_is(w.raw, "=~"))
                scan_regex(c, &part);
        }
    }
    if (!closed)
        shell_break(c->s, "a [[ is not closed");
    check_test(c, &part);
    shell_end_part(c, &part);
    vec_release(&part.words);
}

/* --- groups and functions ------------------------------------------------------------------- */

static void scan_group(struct shell_scan *c)
{
    scan_body(c);
    take_keyword(c, "}");
}

/* At "(". */
static void scan_subshell(struct shell_scan *c)
{
    if (shell_peek(c, 1) == '(') {
        c->at += 2;
        if (shell_scan_arithmetic(c))
            return;
        c->at -= 2;
    }
    c->at++;
    shell_scan_nested(c);
}

/* Builtins that some modes of bash find before functions. */
#define NOT_FOR_FUNCTIONS                                                                          \
    ". : break continue eval exec exit export readonly return set shift source times trap unset "  \
    "command builtin"

void shell_scan_function(struct shell_scan *c, struct str name)
{
    c->s->repeats = true;
    if (words_have(name, NOT_FOR_FUNCTIONS))
        shell_doubt(c->s, "a function has an unusual name");
    shell_skip_lines(c);
    if (shell_scan_compound(c))
        vec_push(&c->s->functions, name);
    else
        shell_break(c->s, "a function has no body");
    shell_scan_redirects(c);
}

/* After "function". */
static void scan_named_function(struct shell_scan *c)
{
    struct str name;

    shell_skip_blanks(c);
    name = shell_peek_plain(c);
    if (!name.len)
        shell_break(c->s, "a function has no name");
    c->at += name.len;
    shell_skip_blanks(c);
    if (shell_peek(c, 0) == '(') {
        c->at++;
        shell_skip_blanks(c);
        if (shell_peek(c, 0) != ')')
            shell_break(c->s, "there is a '(' where none can be");
        else
            c->at++;
    }
    shell_scan_function(c, name);
}

/* "coproc cmd", "coproc NAME { cmd; }": never certain, only looked into. */
static void scan_coproc(struct shell_scan *c)
{
    struct shell_scan ahead;

    shell_doubt(c->s, "it has a coproc");
    shell_skip_blanks(c);
    ahead = *c;
    ahead.at += shell_peek_plain(c).len;
    shell_skip_blanks(&ahead);
    if (shell_peek(&ahead, 0) == '(' ||
        words_have(shell_peek_plain(&ahead), "{ if for while until case select [["))
        c->at = ahead.at;
    shell_scan_compound(c); /* or a simple command, which the caller continues with */
}

static void scan_select(struct shell_scan *c)
{
    shell_doubt(c->s, "it has a select");
    scan_for(c);
}

static const struct {
    const char *keyword;
    void (*scan)(struct shell_scan *c);
} compounds[] = {
    {"if", scan_if},         {"for", scan_for},
    {"while", scan_while},   {"until", scan_while},
    {"case", scan_case},     {"{", scan_group},
    {"[[", scan_test},       {"function", scan_named_function},
    {"select", scan_select}, {"coproc", scan_coproc},
};

bool shell_scan_compound(struct shell_scan *c)
{
    struct str word;

    if (shell_peek(c, 0) == '(') {
        scan_subshell(c);
        return true;
    }
    word = shell_peek_plain(c);
    for (size_t i = 0; i < ARRAY_LEN(compounds); i++) {
        if (!str_is(word, compounds[i].keyword))
            continue;
        c->at += word.len;
        if (shell_enter(c))
            compounds[i].scan(c);
        shell_leave(c);
        return true;
    }
    return false;
}
