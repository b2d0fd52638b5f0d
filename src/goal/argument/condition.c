/*
 * condition: the condition of a goal with the options before and after it (condition.h). Ambiguous
 * text is refused and never guessed. Any thread.
 */
#include "goal/argument/condition.h"

#include "base/buf.h"
#include "base/err.h"
#include "goal/argument/argument.h"
#include "goal/argument/word.h"

#define SHOWN 60 /* bytes of the user's words that an error repeats */

static bool is_option(struct str word)
{
    return word.len > 2 && word.ptr[0] == '-' && word.ptr[1] == '-' && !word_is_blank(word.ptr[2]);
}

static struct str option_name(struct str word)
{
    struct str name = str_from(word, 2);

    return str_first(name, str_chr(name, '='));
}

static int option_unknown(struct str word, struct err *err)
{
    struct str name = option_name(word);
    const char *meant = goal_option_nearest(name);

    if (meant)
        return err_set(err, ERR_BAD_INPUT,
                       "there is no option --%.*s; did you mean --%s? (/goal -- … takes all that "
                       "follows as the condition)",
                       STR_ARG(str_clip(name, SHOWN)), meant);
    return err_set(err, ERR_BAD_INPUT,
                   "there is no option --%.*s (/goal -- … takes all that follows as the condition)",
                   STR_ARG(str_clip(name, SHOWN)));
}

/* The option at the start of *rest, with its value. */
static int take_option(struct str *rest, int64_t now_ms, struct goal_options *o, struct err *err)
{
    CLEANUP(buf_release) struct buf value = BUF_INIT(GOAL_MAX_ARGUMENT);
    struct str after = *rest;
    struct str word = word_take(&after);
    struct str name = option_name(word);

    if (!goal_option_is_known(name))
        return option_unknown(word, err);
    if (name.len + 2 < word.len) { /* --name=value; the value may have quotes and blanks */
        after = str_from(*rest, name.len + 3);
        if (!goal_option_takes_value(name))
            return err_set(err, ERR_BAD_INPUT, "--%.*s takes no value", STR_ARG(name));
    } else if (goal_option_takes_value(name) && (!after.len || is_option(after))) {
        return err_set(err, ERR_BAD_INPUT, "--%.*s needs a value", STR_ARG(name));
    }
    if (goal_option_takes_value(name) && word_take_quoted(&after, &value, err) < 0)
        return err_prefix(err, "--%.*s", STR_ARG(name));
    if (goal_option_set(o, name, buf_str(&value), now_ms, err) < 0)
        return -1;
    *rest = after;
    return 0;
}

/* Where the options after a condition begin; its length when there are none. From the first known
 * option on there must be nothing else. */
static int find_trailer(struct str text, size_t *ret_at, struct err *err)
{
    struct str rest = text;

    while (rest.len) {
        size_t at = text.len - rest.len;
        struct str word = word_take(&rest);

        if (!is_option(word))
            continue;
        if (goal_option_is_known(option_name(word))) {
            *ret_at = at;
            return 0;
        }
        if (goal_option_nearest(option_name(word)))
            return option_unknown(word, err);
    }
    *ret_at = text.len;
    return 0;
}

int condition_read(struct str text, int64_t now_ms, struct buf *ret_text,
                   struct goal_options *ret_options, bool *ret_literal, struct err *err)
{
    struct str rest = text;
    size_t end = 0;

    while (is_option(rest)) {
        if (take_option(&rest, now_ms, ret_options, err) < 0)
            return -1;
    }
    *ret_literal = str_starts(rest, STR("--"));
    if (*ret_literal) { /* alone, or it would be an option */
        rest = str_trim(str_from(rest, 2));
        end = rest.len;
    } else if (find_trailer(rest, &end, err) < 0) {
        return -1;
    }
    buf_add(ret_text, str_trim(str_first(rest, end)));
    rest = str_from(rest, end);
    while (rest.len) {
        if (!is_option(rest))
            return err_set(err, ERR_BAD_INPUT,
                           "options stand before or after the condition, and '%.*s' is neither; "
                           "begin with -- when the option's name is part of the condition",
                           STR_ARG(str_clip(rest, SHOWN)));
        if (take_option(&rest, now_ms, ret_options, err) < 0)
            return -1;
    }
    if (!ret_text->len)
        return err_set(err, ERR_BAD_INPUT,
                       "the condition is empty; say what shall hold: /goal all tests pass");
    return 0;
}
