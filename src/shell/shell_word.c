/*
 * shell_word: one word of a command. Quoting is followed exactly, because that decides where the
 * word ends; what a dollar sign starts is shell_expand.c's. Any thread.
 */
#include <string.h>

#include "shell/shell_scan.h"

/* At the opening quote. */
void shell_scan_double(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    w->quoted = true;
    c->at++;
    while (!shell_at_end(c)) {
        char ch = c->in.ptr[c->at];
        char next = shell_peek(c, 1);

        if (ch == '"') {
            c->at++;
            return;
        }
        if (ch == '$') {
            shell_scan_dollar(c, w, text, /*in_quotes=*/true);
        } else if (ch == '`') {
            shell_scan_backtick(c, w, /*in_quotes=*/true);
        } else if (ch == '\\' && next && strchr("$`\"\\\n", next)) {
            if (next != '\n')
                buf_addc(text, next);
            c->at += 2;
        } else {
            buf_addc(text, ch);
            c->at++;
        }
    }
    shell_break(c->s, "a quote is not closed");
}

void shell_scan_single(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    struct str rest = str_from(c->in, c->at + 1);
    size_t end = str_chr(rest, '\'');

    w->quoted = true;
    if (end == rest.len)
        shell_break(c->s, "a quote is not closed");
    buf_add(text, str_first(rest, end));
    c->at += 1 + end + (end < rest.len);
}

static bool is_glob(char ch)
{
    return ch == '*' || ch == '?' || ch == '[' || ch == '{';
}

/* Letters that are nothing but themselves: most words are done with these. */
static void skip_plain(struct shell_scan *c, struct shell_word *w)
{
    while (!shell_at_end(c)) {
        char ch = c->in.ptr[c->at];

        if (shell_is_meta(ch) || ch == '\\' || ch == '\'' || ch == '"' || ch == '$' || ch == '`')
            return;
        w->globs |= is_glob(ch);
        c->at++;
    }
}

static void scan_backslash(struct shell_scan *c, struct shell_word *w, struct buf *text)
{
    char next = shell_peek(c, 1);

    if (c->at + 1 >= c->in.len) {
        shell_break(c->s, "it ends in a backslash");
        c->at++;
        return;
    }
    if (next != '\n') {
        buf_addc(text, next);
        w->quoted = true;
    }
    c->at += 2;
}

void shell_scan_word(struct shell_scan *c, struct shell_word *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);
    struct shell_word w = {0};
    size_t start = c->at;

    if (shell_peek(c, 0) == '~' && !shell_is_meta(shell_peek(c, 1)) && shell_peek(c, 1) != '/' &&
        shell_peek(c, 1))
        w.expands = true; /* another user's home */
    for (;;) {
        size_t plain = c->at;
        char ch;

        skip_plain(c, &w);
        ch = shell_peek(c, 0);
        if (shell_at_end(c) || shell_is_meta(ch)) {
            if (plain == start) { /* as written is as meant */
                w.raw = w.text = str_from(str_first(c->in, c->at), start);
                break;
            }
            buf_add(&text, str_from(str_first(c->in, c->at), plain));
            w.raw = str_from(str_first(c->in, c->at), start);
            w.text = arena_str(&c->s->arena, buf_str(&text));
            break;
        }
        buf_add(&text, str_from(str_first(c->in, c->at), plain));
        if (ch == '\\')
            scan_backslash(c, &w, &text);
        else if (ch == '\'')
            shell_scan_single(c, &w, &text);
        else if (ch == '"')
            shell_scan_double(c, &w, &text);
        else if (ch == '$')
            shell_scan_dollar(c, &w, &text, /*in_quotes=*/false);
        else
            shell_scan_backtick(c, &w, /*in_quotes=*/false);
    }
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

    if (!raw.len || !shell_is_name_start(raw.ptr[0]))
        return 0;
    while (n < raw.len && shell_is_name(raw.ptr[n]))
        n++;
    if (n < raw.len && raw.ptr[n] == '+')
        n++;
    return n < raw.len && raw.ptr[n] == '=' ? n + 1 : 0;
}
