/*
 * word: words of a typed line (word.h). Any thread.
 */
#include "goal/argument/word.h"

#include "base/buf.h"
#include "base/err.h"

bool word_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* The first word of *rest, which is advanced past it and the blanks. */
struct str word_take(struct str *rest)
{
    struct str word;
    size_t n = 0;

    while (n < rest->len && !word_is_blank(rest->ptr[n]))
        n++;
    word = str_first(*rest, n);
    while (n < rest->len && word_is_blank(rest->ptr[n]))
        n++;
    *rest = str_from(*rest, n);
    return word;
}

/* Words of a list, in any case. */
bool word_is_of(struct str word, const char *words)
{
    struct str rest = str_of(words);
    struct str one;

    while (str_cut(&rest, ' ', &one)) {
        if (str_eq_nocase(word, one))
            return true;
    }
    return false;
}

/* One word, perhaps in quotes, at the start of *rest: as a shell would read it, without expanding
 * anything. */
int word_take_quoted(struct str *rest, struct buf *ret, struct err *err)
{
    char quote = 0;
    size_t i = 0;

    for (; i < rest->len; i++) {
        char c = rest->ptr[i];

        if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? 0 : c;
        else if (c == '\\' && quote != '\'' && i + 1 < rest->len &&
                 (!quote || strchr("\"\\$`", rest->ptr[i + 1])))
            buf_addc(ret, rest->ptr[++i]);
        else if (!quote && word_is_blank(c))
            break;
        else
            buf_addc(ret, c);
    }
    if (quote)
        return err_set(err, ERR_BAD_INPUT, "a quote (%c) is not closed", quote);
    while (i < rest->len && word_is_blank(rest->ptr[i]))
        i++;
    *rest = str_from(*rest, i);
    return 0;
}

bool word_is_number(struct str word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9')
            return false;
    }
    return word.len > 0;
}
