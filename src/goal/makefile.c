/*
 * makefile: line by line. Targets are followed by going over the text again for each new name,
 * which a limit on names keeps cheap. Pure; any thread.
 */
#include "goal/makefile.h"

#include "base/buf.h"

#define MAKEFILE_MAX_NAMES 64 /* included, or targets followed */

/* The next line with those that it goes on in: "\\\n" becomes a blank. */
static bool next_line(struct str *rest, struct buf *ret)
{
    struct str line;

    buf_clear(ret);
    if (!rest->len)
        return false;
    while (rest->len && str_cut(rest, '\n', &line)) {
        if (!str_ends(line, STR("\\"))) {
            buf_add(ret, line);
            break;
        }
        buf_add(ret, str_first(line, line.len - 1));
        buf_addc(ret, ' ');
    }
    return true;
}

/* The words of a line, without those that hold a variable. */
static void add_words(struct str words, struct strv *ret)
{
    struct str word;

    words = str_first(words, str_chr(words, '#'));
    while (ret->len < MAKEFILE_MAX_NAMES && str_cut(&words, ' ', &word)) {
        word = str_trim(word);
        if (word.len && str_chr(word, '$') == word.len && !strv_has(ret, word))
            strv_add(ret, word);
    }
}

void makefile_includes(struct str text, struct strv *ret)
{
    static const struct str verbs[] = {STR_INIT("include "), STR_INIT("-include "),
                                       STR_INIT("sinclude ")};
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    while (next_line(&text, &line)) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
            if (str_starts(buf_str(&line), verbs[i]))
                add_words(str_from(buf_str(&line), verbs[i].len), ret);
        }
    }
}

/* Where the colon of a rule is; len: the line is none. */
static size_t rule_colon(struct str line)
{
    size_t colon = str_chr(line, ':');

    if (!line.len || line.ptr[0] == '\t' || line.ptr[0] == '#' || colon == line.len)
        return line.len;
    if (str_chr(line, '=') < colon || str_starts(str_from(line, colon + 1), STR("=")) ||
        str_starts(str_from(line, colon + 1), STR(":=")))
        return line.len; /* an assignment */
    return colon;
}

static void add_command(struct str line, struct strv *ret)
{
    line = str_trim(line);
    while (line.len && (line.ptr[0] == '@' || line.ptr[0] == '-' || line.ptr[0] == '+'))
        line = str_from(line, 1);
    line = str_trim(line);
    if (line.len)
        strv_add(ret, line);
}

/* Whether a rule makes one of the targets, or all are wanted. */
static bool rule_is_wanted(struct str names, const struct strv *wanted)
{
    struct str name;

    if (!wanted->len)
        return true;
    while (str_cut(&names, ' ', &name)) {
        if (name.len && strv_has(wanted, str_trim(name)))
            return true;
    }
    return false;
}

/* One pass: prerequisites of wanted rules become wanted. */
static void follow(struct str text, struct strv *wanted)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    while (next_line(&text, &line)) {
        struct str rule = buf_str(&line);
        size_t colon = rule_colon(rule);
        struct str needs = str_from(rule, colon + 1);

        if (colon < rule.len && wanted->len < MAKEFILE_MAX_NAMES &&
            rule_is_wanted(str_first(rule, colon), wanted))
            add_words(str_first(needs, str_chr(needs, ';')), wanted);
    }
}

void makefile_commands(struct str text, const struct strv *targets, struct strv *ret)
{
    CLEANUP(strv_release) struct strv wanted = STRV_INIT;
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    bool inside = false;
    size_t before;

    strv_add_all(&wanted, targets);
    do {
        before = wanted.len;
        if (before)
            follow(text, &wanted);
    } while (wanted.len > before && wanted.len < MAKEFILE_MAX_NAMES);
    while (next_line(&text, &line)) {
        struct str rule = buf_str(&line);
        size_t colon = rule_colon(rule);
        struct str behind = str_from(rule, colon + 1);

        if (str_starts(rule, STR("\t"))) {
            if (inside)
                add_command(rule, ret);
        } else if (colon < rule.len) {
            inside = rule_is_wanted(str_first(rule, colon), &wanted);
            if (inside && str_chr(behind, ';') < behind.len)
                add_command(str_from(behind, str_chr(behind, ';') + 1), ret);
        } else if (str_trim(rule).len && rule.ptr[0] != '#') {
            inside = false;
        }
    }
}
