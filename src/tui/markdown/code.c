/*
 * code: one pass over a line, driven by the language's row. It knows words, not grammar, so that
 * half a file, a wrong language or a line of a diff look no worse than plain text. Any thread.
 */
#include "tui/markdown/code.h"

#include <stddef.h>
#include <string.h>

#include "tui/markdown/code_language.h"
#include "tui/screen/line.h"

#define WORD_MAX 24 /* bytes: no keyword is longer */

/* *state from line to line. */
enum {
    STATE_PLAIN,
    STATE_COMMENT,
    STATE_TAG,
    STATE_LONG, /* + which of the long strings */
};

struct lexer {
    const struct code_language *lang;
    struct str text;
    size_t at;
    size_t plain_from; /* text between it and `at` has no color and was not added yet */
    int state;
    bool is_line_start; /* only white space before */
    struct lines *out;
};

static void lexer_flush(struct lexer *x)
{
    if (x->at > x->plain_from)
        lines_put(x->out, STYLE(ROLE_TEXT),
                  str_first(str_from(x->text, x->plain_from), x->at - x->plain_from));
    x->plain_from = x->at;
}

static void lexer_put(struct lexer *x, enum style_role role, size_t len)
{
    lexer_flush(x);
    lines_put(x->out, STYLE(role), str_first(str_from(x->text, x->at), len));
    x->at += len;
    if (x->at > x->text.len)
        x->at = x->text.len;
    x->plain_from = x->at;
    x->is_line_start = false;
}

static struct str lexer_rest(const struct lexer *x)
{
    return str_from(x->text, x->at);
}

static char lexer_peek(const struct lexer *x, size_t ahead)
{
    return x->at + ahead < x->text.len ? x->text.ptr[x->at + ahead] : 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return str_is_alnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Up to the end of what began on this or an earlier line, from `from` on. */
static void lexer_until(struct lexer *x, enum style_role role, size_t from, struct str end,
                        bool has_escapes)
{
    struct str rest = lexer_rest(x);

    for (size_t i = from; i < rest.len; i++) {
        if (has_escapes && rest.ptr[i] == '\\') {
            i++;
        } else if (str_starts(str_from(rest, i), end)) {
            lexer_put(x, role, i + end.len);
            x->state = STATE_PLAIN;
            return;
        }
    }
    lexer_put(x, role, rest.len);
}

static bool lexer_goes_on(struct lexer *x)
{
    const struct code_language *lang = x->lang;

    if (x->state == STATE_COMMENT && lang->block_comment[1]) {
        lexer_until(x, ROLE_COMMENT, 0, str_of(lang->block_comment[1]), false);
        return true;
    }
    if (x->state >= STATE_LONG && x->state < STATE_LONG + 3 &&
        lang->long_strings[x->state - STATE_LONG]) {
        lexer_until(x, ROLE_STRING, 0, str_of(lang->long_strings[x->state - STATE_LONG]),
                    !(lang->flags & CODE_RAW_LONG));
        return true;
    }
    return false;
}

static bool lexer_comment(struct lexer *x)
{
    const struct code_language *lang = x->lang;
    struct str rest = lexer_rest(x);
    char before = x->at ? x->text.ptr[x->at - 1] : ' ';

    if (lang->block_comment[0] && str_starts(rest, str_of(lang->block_comment[0]))) {
        x->state = STATE_COMMENT;
        lexer_until(x, ROLE_COMMENT, strlen(lang->block_comment[0]), str_of(lang->block_comment[1]),
                    false);
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!lang->line_comments[i] || !str_starts(rest, str_of(lang->line_comments[i])))
            continue;
        if ((lang->flags & CODE_SPACED_HASH) && !is_space(before))
            continue;
        /* "https://" in a language without quotes around it */
        if (before == ':' && *lang->line_comments[i] == '/')
            continue;
        lexer_put(x, ROLE_COMMENT, rest.len);
        return true;
    }
    return false;
}

/* Whether what ends at `at` is a key: ":" or "=" follows. */
static bool lexer_is_key(const struct lexer *x, size_t len)
{
    size_t i = x->at + len;

    if (!(x->lang->flags & CODE_KEYS))
        return false;
    while (i < x->text.len && is_space(x->text.ptr[i]))
        i++;
    if (i == x->text.len)
        return false;
    if (x->text.ptr[i] == ':') /* but not of "https://" */
        return i + 1 == x->text.len || x->text.ptr[i + 1] != '/';
    return x->text.ptr[i] == '=';
}

static bool lexer_string(struct lexer *x)
{
    const struct code_language *lang = x->lang;
    struct str rest = lexer_rest(x);
    char quote = *rest.ptr;
    size_t i = 1;

    for (int n = 0; n < 3; n++) {
        if (lang->long_strings[n] && str_starts(rest, str_of(lang->long_strings[n]))) {
            x->state = STATE_LONG + n;
            lexer_until(x, ROLE_STRING, strlen(lang->long_strings[n]),
                        str_of(lang->long_strings[n]), !(lang->flags & CODE_RAW_LONG));
            return true;
        }
    }
    if (!quote || !strchr(lang->quotes, quote))
        return false;
    /* An apostrophe within a word, or a lifetime, begins no string. */
    if (quote == '\'' && x->at && str_is_alnum(x->text.ptr[x->at - 1]) &&
        (lang->flags & CODE_DASHES))
        return false;
    if ((lang->flags & CODE_LIFETIMES) && quote == '\'' && lexer_peek(x, 1) != '\\' &&
        lexer_peek(x, 2) != '\'' && (unsigned char)lexer_peek(x, 1) < 0x80) {
        while (is_name(lexer_peek(x, i)))
            i++;
        lexer_put(x, ROLE_NAME, i);
        return true;
    }
    while (i < rest.len && rest.ptr[i] != quote)
        i += rest.ptr[i] == '\\' ? 2 : 1;
    i = i < rest.len ? i + 1 : rest.len;
    lexer_put(x, lexer_is_key(x, i) ? ROLE_NAME : ROLE_STRING, i);
    return true;
}

static bool lexer_number(struct lexer *x)
{
    size_t i = 1;

    if (!is_digit(lexer_peek(x, 0)))
        return false;
    while (is_name(lexer_peek(x, i)) || (lexer_peek(x, i) == '.' && is_digit(lexer_peek(x, i + 1))))
        i++;
    lexer_put(x, lexer_is_key(x, i) && x->is_line_start ? ROLE_NAME : ROLE_NUMBER, i);
    return true;
}

static enum style_role lexer_role(const struct lexer *x, struct str word)
{
    const struct code_language *lang = x->lang;
    char small[WORD_MAX];

    if (word.len <= WORD_MAX) {
        if (lang->flags & CODE_NO_CASE) {
            for (size_t i = 0; i < word.len; i++)
                small[i] =
                    word.ptr[i] >= 'A' && word.ptr[i] <= 'Z' ? word.ptr[i] + 32 : word.ptr[i];
            word.ptr = small;
        }
        if (str_is_word_of(word, lang->keywords))
            return ROLE_KEYWORD;
        if (str_is_word_of(word, lang->constants))
            return ROLE_NUMBER;
    }
    if (lexer_is_key(x, word.len) ||
        (lexer_peek(x, word.len) == '(' && !(lang->flags & CODE_DASHES)))
        return ROLE_NAME;
    if ((lang->flags & CODE_TARGETS) && !x->at && lexer_peek(x, word.len) == ':')
        return ROLE_NAME;
    return ROLE_TEXT;
}

static bool lexer_word(struct lexer *x)
{
    enum style_role role;
    size_t i = 0;

    while (is_name(lexer_peek(x, i)) ||
           (i && (x->lang->flags & CODE_DASHES) && strchr("-.", lexer_peek(x, i)) &&
            is_name(lexer_peek(x, i + 1))))
        i++;
    if (!i)
        return false;
    role = lexer_role(x, str_first(lexer_rest(x), i));
    if (role == ROLE_TEXT)
        x->at += i;
    else
        lexer_put(x, role, i);
    x->is_line_start = false;
    return true;
}

/* What begins with a sign: $name, @name, #include. */
static bool lexer_sign(struct lexer *x)
{
    unsigned flags = x->lang->flags;
    char c = lexer_peek(x, 0);
    size_t i = 1;

    if (c == '$' && (flags & CODE_VARIABLES)) {
        char open = lexer_peek(x, 1);

        if (open == '{' || (open == '(' && (flags & CODE_TARGETS))) {
            size_t end = str_chr(lexer_rest(x), open == '{' ? '}' : ')');

            lexer_put(x, ROLE_NAME, end + 1);
            return true;
        }
        while (is_name(lexer_peek(x, i)))
            i++;
        if (i == 1)
            return false;
        lexer_put(x, ROLE_NAME, i);
        return true;
    }
    if ((c == '@' && (flags & CODE_DECORATORS)) ||
        (c == '#' && (flags & CODE_DIRECTIVES) && x->is_line_start)) {
        while (c == '#' && is_space(lexer_peek(x, i)))
            i++;
        while (is_name(lexer_peek(x, i)) || (c == '@' && lexer_peek(x, i) == '-'))
            i++;
        if (i > 1)
            lexer_put(x, c == '@' ? ROLE_NAME : ROLE_KEYWORD, i);
        return i > 1;
    }
    return false;
}

/* Within <…>. */
static void lexer_tag(struct lexer *x)
{
    size_t i = 0;

    if (lexer_peek(x, 0) == '>') {
        x->state = STATE_PLAIN;
        x->at++;
    } else if (lexer_peek(x, 0) == '"' || lexer_peek(x, 0) == '\'') {
        size_t end = str_chr(str_from(lexer_rest(x), 1), lexer_peek(x, 0));

        lexer_put(x, ROLE_STRING, end + 2);
    } else {
        while (is_name(lexer_peek(x, i)) ||
               (i && strchr("-:", lexer_peek(x, i)) && lexer_peek(x, i)))
            i++;
        if (i)
            lexer_put(x, ROLE_NAME, i);
        else
            x->at++;
    }
}

static bool lexer_opens_tag(struct lexer *x)
{
    size_t i = 1;

    if (!(x->lang->flags & CODE_TAGS) || lexer_peek(x, 0) != '<')
        return false;
    if (lexer_peek(x, 1) == '/' || lexer_peek(x, 1) == '!' || lexer_peek(x, 1) == '?')
        i++;
    if (!is_name(lexer_peek(x, i)))
        return false;
    while (is_name(lexer_peek(x, i)) || lexer_peek(x, i) == '-' || lexer_peek(x, i) == ':')
        i++;
    lexer_put(x, ROLE_KEYWORD, i);
    x->state = STATE_TAG;
    return true;
}

static void draw_change(struct str text, struct lines *ret)
{
    enum style_role role = ROLE_TEXT;

    if (str_starts(text, STR("+++")) || str_starts(text, STR("---")) ||
        str_starts(text, STR("diff ")) || str_starts(text, STR("index ")))
        role = ROLE_FAINT;
    else if (str_starts(text, STR("@@")))
        role = ROLE_NAME;
    else if (str_starts(text, STR("+")))
        role = ROLE_ADDED;
    else if (str_starts(text, STR("-")))
        role = ROLE_REMOVED;
    lines_put(ret, STYLE(role), text);
}

static void lexer_step(struct lexer *x)
{
    char c = lexer_peek(x, 0);

    if (is_space(c)) {
        x->at++;
        return;
    }
    if (lexer_goes_on(x))
        return;
    if (x->state == STATE_TAG) {
        lexer_tag(x);
        return;
    }
    if (lexer_comment(x) || lexer_opens_tag(x))
        return;
    if (!(x->lang->flags & CODE_TAGS) &&
        (lexer_string(x) || lexer_number(x) || lexer_sign(x) || lexer_word(x)))
        return;
    x->at++;
    x->is_line_start = false;
}

void code_draw(struct str language, struct str text, int *state, struct lines *ret)
{
    const struct code_language *lang = code_language_find(language);
    struct lexer x = {.lang = lang, .text = text, .is_line_start = true, .out = ret};

    if (!lang) {
        lines_put(ret, STYLE(ROLE_TEXT), text);
        return;
    }
    if (lang->flags & CODE_CHANGES) {
        draw_change(text, ret);
        return;
    }
    x.state = *state;
    while (x.at < text.len)
        lexer_step(&x);
    lexer_flush(&x);
    *state = x.state;
}

struct str code_language(struct str path)
{
    const struct code_language *lang = code_language_of_file(path);

    return lang ? str_first(str_of(lang->names), str_chr(str_of(lang->names), ' ')) : STR("");
}
