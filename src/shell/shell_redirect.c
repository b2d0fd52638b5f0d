/*
 * shell_redirect: redirections and here-documents. A target is kept as a word, for the caller to
 * ask about like any other file; a body is text that its command is given, and runs nothing by
 * itself but the substitutions in it. Any thread.
 */
#include <string.h>

#include "shell/shell_scan.h"

/* "1", "1-", "-": no file. */
static bool is_descriptor(struct str text)
{
    if (text.len && text.ptr[text.len - 1] == '-')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        if (!shell_is_digit(text.ptr[i]))
            return false;
    }
    return true;
}

static void scan_heredoc_start(struct shell_scan *c, const struct shell_word *target, bool tabs)
{
    if (target->expands || str_chr(target->text, '\n') < target->text.len)
        shell_break(c->s, "a here-document's end is not written out");
    vec_push(&c->heredocs, ((struct shell_heredoc){target->text, tabs, target->quoted}));
}

void shell_scan_redirect(struct shell_scan *c)
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
    shell_skip_blanks(c);
    if ((shell_peek(c, 0) == '<' || shell_peek(c, 0) == '>') && shell_peek(c, 1) == '(' &&
        !str_starts(op, STR("<<"))) {
        c->at += 2;
        shell_scan_nested(c); /* done < <(find .) */
        return;
    }
    shell_scan_word(c, &target);
    if (!target.raw.len) {
        shell_break(c->s, "a redirection goes nowhere");
        return;
    }
    if (str_is(op, "<<<")) {
        vec_push(&c->s->given, target);
        return;
    }
    if (str_starts(op, STR("<<"))) {
        scan_heredoc_start(c, &target, str_is(op, "<<-"));
        return;
    }
    if ((str_is(op, ">&") || str_is(op, "<&")) && is_descriptor(target.raw))
        return;
    /* The shell expands what it finds there once more: >&'$(rm x)'. */
    if (str_is(op, ">&") || str_is(op, "<&"))
        shell_doubt(c->s, "the target of a redirection is no number");
    if (target.expands || target.globs || str_starts(target.text, STR("/dev/tcp/")) ||
        str_starts(target.text, STR("/dev/udp/")))
        shell_doubt(c->s, "the target of a redirection is not written out");
    if (str_is(op, "<") || str_is(op, "<&"))
        vec_push(&c->s->reads, target);
    else if (!str_is(target.raw, "/dev/null"))
        vec_push(&c->s->writes, target);
}

void shell_scan_redirects(struct shell_scan *c)
{
    for (;;) {
        size_t digits = 0;

        shell_skip_blanks(c);
        while (shell_is_digit(shell_peek(c, digits)))
            digits++;
        if (shell_peek(c, digits) != '<' && shell_peek(c, digits) != '>' &&
            !(shell_peek(c, 0) == '&' && shell_peek(c, 1) == '>'))
            return;
        c->at += digits;
        shell_scan_redirect(c);
    }
}

/* The substitutions in a body whose delimiter was not quoted. */
static void scan_heredoc_text(struct shell_scan *outer, struct str body)
{
    struct shell_scan c = {.s = outer->s, .in = body, .depth = outer->depth};
    CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);
    struct shell_word w = {0};

    if (!shell_enter(&c))
        return;
    while (!shell_at_end(&c)) {
        switch (shell_peek(&c, 0)) {
        case '\\':
            c.at += 2;
            break;
        case '$':
            shell_scan_dollar(&c, &w, &text, /*in_quotes=*/true);
            break;
        case '`':
            shell_scan_backtick(&c, &w, /*in_quotes=*/false);
            break;
        default:
            c.at++;
            break;
        }
        buf_clear(&text);
    }
    vec_release(&c.heredocs);
}

static bool line_goes_on(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.ptr[line.len - 1 - n] == '\\')
        n++;
    return n % 2;
}

static void scan_heredoc(struct shell_scan *c, const struct shell_heredoc *doc)
{
    struct shell_word given = {.quoted = true};
    size_t start = c->at;
    size_t end = c->at;
    bool goes_on = false;
    bool found = false;

    while (!shell_at_end(c) && !found) {
        struct str rest = str_from(c->in, c->at);
        struct str line = str_first(rest, str_chr(rest, '\n'));

        end = c->at;
        c->at += line.len + (line.len < rest.len);
        while (doc->strip_tabs && line.len && line.ptr[0] == '\t')
            line = str_from(line, 1);
        /* Continued lines are joined before bash looks for the delimiter. */
        if (goes_on && line.len && str_ends(doc->delimiter, line))
            shell_break(c->s, "a here-document's end is a continued line");
        found = str_eq(line, doc->delimiter);
        goes_on = !doc->literal && line_goes_on(line);
        if (goes_on && str_starts(doc->delimiter, str_first(line, line.len - 1)) && line.len > 1)
            shell_break(c->s, "a here-document's end is a continued line");
    }
    if (!found) {
        shell_break(c->s, "a here-document has no end");
        end = c->at;
    }
    given.raw = given.text = str_from(str_first(c->in, end), start);
    vec_push(&c->s->given, given);
    if (!doc->literal)
        scan_heredoc_text(c, given.text);
}

void shell_scan_heredocs(struct shell_scan *c)
{
    VEC_EACH(&c->heredocs, doc) {
        scan_heredoc(c, doc);
        c->had_text = true;
    }
    c->heredocs.len = 0;
}
