/*
 * argument: the text after /goal. A row per command defines what may follow it; a row whose
 * arguments do not fit lets them be a condition. Nothing is guessed where a wrong guess would set
 * something: a broken command is an error. Any thread.
 */
#include "goal/argument/argument.h"

#include "base/err.h"
#include "base/utf8.h"
#include "goal/argument/condition.h"
#include "goal/argument/word.h"

#define SHOWN 60       /* bytes of the user's words that an error repeats */
#define REPORT_LEAST 8 /* characters of a goal_id */

/* What a row's reader found. */
enum fit {
    FIT_NOT = 0, /* the words are a condition */
    FIT_YES = 1,
    FIT_WRONG = -1, /* err is set */
};

void goal_argument_release(struct goal_argument *a)
{
    buf_release(&a->text);
    goal_options_release(&a->options);
}

/* True: the word stands where a shell command begins, after ";" or on a separate line. */
static bool has_keyword(struct str s, struct str word)
{
    for (size_t i = 0; i < s.len; i++) {
        struct str rest = str_from(s, i + 1);

        if ((s.ptr[i] == ';' || s.ptr[i] == '\n') && str_starts(str_trim(rest), word))
            return true;
    }
    return false;
}

/* Begins a sentence and no command line. */
static bool is_sentence(struct str words)
{
    struct str rest = words;
    struct str first = word_take(&rest);

    /* Shell has these as well, with a keyword after them. */
    if (word_is_of(first, "if for while until"))
        return !has_keyword(rest, STR("then")) && !has_keyword(rest, STR("do"));
    return word_is_of(first,
                      "a all an and any are as at both by each either every everything from "
                      "has have here how in is it its my no none not nothing of on our out over "
                      "some that the their there these they this those till to up we what "
                      "when where whether who why with you your");
}

/* A place in a list, from 1 (or from `least`) on. */
static enum fit read_place(struct str s, int64_t least, size_t *ret, struct err *err)
{
    int64_t n;

    if (!word_is_number(s))
        return FIT_NOT;
    if (str_to_i64(s, &n, err) < 0)
        return FIT_WRONG;
    if (n < least || n > 1000000) {
        err_set(err, ERR_BAD_INPUT, "'%.*s' is no place in the list; they count from 1",
                STR_ARG(str_clip(s, SHOWN)));
        return FIT_WRONG;
    }
    *ret = (size_t)n;
    return FIT_YES;
}

/* True: a single word, or one text in quotes, and it is in a->text. */
static bool take_only_word(struct str words, struct goal_argument *a)
{
    CLEANUP(buf_release) struct buf value = BUF_INIT(GOAL_MAX_ARGUMENT);
    struct str rest = words;

    if (word_take_quoted(&rest, &value, NULL) < 0 || rest.len || !value.len)
        return false;
    buf_clear(&a->text);
    buf_add(&a->text, buf_str(&value));
    return true;
}

static bool looks_like_value(struct str s)
{
    return s.len && (str_eq_nocase(s, STR("none")) || strchr("+-$.0123456789", s.ptr[0]));
}

static const struct limit_word {
    const char *words;
    enum goal_limit limit;
} limit_words[] = {
    {"tokens token", LIMIT_TOKENS},
    {"cost usd money", LIMIT_COST},
    {"turns steps max-turns", LIMIT_TURNS},
    {"deadline time", LIMIT_DEADLINE},
};

static int read_limit_value(struct str value, int64_t now_ms, struct goal_argument *a,
                            struct err *err)
{
    struct goal_limit_change *c = &a->budget;
    bool adds = c->what == CHANGE_ADD;
    int64_t turns = 0;

    switch (a->limit) {
    case LIMIT_TOKENS:
        return goal_read_tokens(value, &c->value, err);
    case LIMIT_COST:
        return goal_read_usd(value, &a->usd, err);
    case LIMIT_TURNS:
        if (str_to_i64(value, &turns, err) < 0)
            return -1;
        if (turns <= 0 || turns > GOAL_MAX_NUMBER)
            return err_set(err, ERR_BAD_INPUT, "%lld is not a number of steps: 1 or more",
                           (long long)turns);
        c->value = turns;
        return 0;
    case LIMIT_DEADLINE:
        return adds ? goal_read_duration(value, &c->value, err)
                    : goal_read_deadline(value, now_ms, &c->value, err);
    }
    return 0;
}

static enum fit read_budget(struct str words, int64_t now_ms, struct goal_argument *a,
                            struct err *err)
{
    struct str rest = words;
    struct str value = word_take(&rest);

    a->limit = LIMIT_TOKENS;
    for (size_t i = 0; i < ARRAY_LEN(limit_words) && rest.len; i++) {
        struct str behind = rest;
        struct str second = word_take(&behind);

        if (!word_is_of(value, limit_words[i].words) || !looks_like_value(second))
            continue;
        a->limit = limit_words[i].limit;
        value = second;
        rest = behind;
        break;
    }
    if (rest.len)
        return FIT_NOT;
    if (str_eq_nocase(value, STR("none"))) {
        a->budget.what = CHANGE_CLEAR;
        return FIT_YES;
    }
    a->budget.what = CHANGE_SET;
    if (value.ptr[0] == '+') {
        a->budget.what = CHANGE_ADD;
        value = str_from(value, 1);
    }
    if (value.len && value.ptr[0] == '$')
        a->limit = LIMIT_COST;
    if (read_limit_value(value, now_ms, a, err) < 0)
        return FIT_WRONG;
    return FIT_YES;
}

static enum fit read_check(struct str words, int64_t now_ms, struct goal_argument *a,
                           struct err *err)
{
    struct str rest = words;
    struct str first = word_take(&rest);

    (void)now_ms;
    if (str_eq_nocase(first, STR("rm")) && word_is_number(rest)) {
        a->verb = GOAL_CHECK_RM;
        return read_place(rest, 1, &a->number, err);
    }
    if (is_sentence(words))
        return FIT_NOT;
    /* As it was typed, unless the whole of it stands in quotes. */
    if (!(strchr("'\"", words.ptr[0]) && take_only_word(words, a)))
        buf_add(&a->text, words);
    return FIT_YES;
}

static bool looks_like_path(struct str word)
{
    size_t dot = str_chr(word, '.');

    return str_chr(word, '/') < word.len || str_chr(word, '*') < word.len || dot + 1 < word.len;
}

static enum fit read_protect(struct str words, int64_t now_ms, struct goal_argument *a,
                             struct err *err)
{
    struct str rest = words;

    (void)now_ms;
    if (take_only_word(words, a)) {
        a->options.protect_none = str_eq_nocase(buf_str(&a->text), STR("none"));
        return FIT_YES;
    }
    while (rest.len) {
        if (!looks_like_path(word_take(&rest)))
            return FIT_NOT;
    }
    err_set(err, ERR_BAD_INPUT, "one glob at a time; put quotes around one that has blanks");
    return FIT_WRONG;
}

/* "2 hours" as "2h"; false when it is no unit of time. */
static bool read_spelled_time(struct str number, struct str unit, struct buf *ret)
{
    if (!word_is_number(number) ||
        !word_is_of(unit, "s sec secs second seconds m min mins minute minutes h hr hrs hour hours "
                          "d day days"))
        return false;
    buf_add(ret, number);
    buf_addc(ret, (char)(unit.ptr[0] | 0x20));
    return true;
}

static enum fit read_wait(struct str words, int64_t now_ms, struct goal_argument *a,
                          struct err *err)
{
    struct str rest = words;
    struct str first = word_take(&rest);

    (void)now_ms;
    (void)err;
    if (is_sentence(words))
        return FIT_NOT;
    if (rest.len && read_spelled_time(first, rest, &a->text))
        return FIT_YES;
    if (rest.len && word_is_number(first)) /* "wait 2 days before …": no program has such a name */
        return FIT_NOT;
    if (!(strchr("'\"", words.ptr[0]) && take_only_word(words, a)))
        buf_add(&a->text, words);
    return FIT_YES;
}

static enum fit read_next(struct str words, int64_t now_ms, struct goal_argument *a,
                          struct err *err)
{
    bool literal;

    return condition_read(words, now_ms, &a->text, &a->options, &literal, err) < 0 ? FIT_WRONG
                                                                                   : FIT_YES;
}

static enum fit read_queue(struct str words, int64_t now_ms, struct goal_argument *a,
                           struct err *err)
{
    struct str rest = words;
    struct str first = word_take(&rest);
    enum fit fit;

    (void)now_ms;
    if (word_is_of(first, "rm remove"))
        return read_place(rest, 1, &a->number, err);
    if (word_is_of(first, "mv move"))
        first = word_take(&rest);
    if (!word_is_number(first) || (rest.len && !word_is_number(rest)))
        return FIT_NOT;
    if (!rest.len) {
        err_set(err, ERR_BAD_INPUT,
                "where to? /goal queue %.*s 1 puts it first, and 0 takes it out",
                STR_ARG(str_clip(first, SHOWN)));
        return FIT_WRONG;
    }
    fit = read_place(first, 1, &a->number, err);
    return fit == FIT_YES ? read_place(rest, 0, &a->number2, err) : fit;
}

static enum fit read_accept(struct str words, int64_t now_ms, struct goal_argument *a,
                            struct err *err)
{
    (void)now_ms;
    (void)err;
    return take_only_word(words, a) ? FIT_YES : FIT_NOT;
}

/* "undo yes": the user has seen what it would do. */
static enum fit read_undo(struct str words, int64_t now_ms, struct goal_argument *a,
                          struct err *err)
{
    (void)now_ms;
    (void)err;
    if (!str_eq_nocase(words, STR("yes")))
        return FIT_NOT;
    buf_adds(&a->text, "yes");
    return FIT_YES;
}

/* "report 1f2e3d4c": of a goal that was cleared or replaced. */
static enum fit read_report(struct str words, int64_t now_ms, struct goal_argument *a,
                            struct err *err)
{
    (void)now_ms;
    (void)err;
    if (words.len < REPORT_LEAST || words.len > ID_UUID_LEN)
        return FIT_NOT;
    for (size_t i = 0; i < words.len; i++) {
        if (!strchr("0123456789abcdef-", words.ptr[i]))
            return FIT_NOT;
    }
    buf_add(&a->text, words);
    return FIT_YES;
}

static enum fit read_edit(struct str words, int64_t now_ms, struct goal_argument *a,
                          struct err *err)
{
    struct str rest = words;

    (void)now_ms;
    if (!str_is(word_take(&rest), "--"))
        return FIT_NOT;
    if (!rest.len) {
        err_set(err, ERR_BAD_INPUT, "the new objective is empty");
        return FIT_WRONG;
    }
    buf_add(&a->text, rest);
    return FIT_YES;
}

static const struct verb_row {
    const char *words;
    enum goal_verb verb;
    bool alone;        /* may stand alone */
    const char *wants; /* what must follow, for who forgot it */
    enum fit (*read)(struct str words, int64_t now_ms, struct goal_argument *a, struct err *err);
} verb_rows[] = {
    {"clear stop off reset none cancel", GOAL_CLEAR, true, NULL, NULL},
    {"status", GOAL_SHOW, true, NULL, NULL},
    {"pause", GOAL_PAUSE, true, NULL, NULL},
    {"resume", GOAL_RESUME, true, NULL, NULL},
    {"log", GOAL_LOG, true, NULL, NULL},
    {"report", GOAL_REPORT, true, NULL, read_report},
    {"undo", GOAL_UNDO, true, NULL, read_undo},
    {"edit", GOAL_EDIT, true, NULL, read_edit},
    {"queue", GOAL_QUEUE, true, NULL, read_queue},
    {"accept", GOAL_ACCEPT, true, NULL, read_accept},
    {"budget", GOAL_BUDGET, false, "a number, such as 500k, +1.5m or none", read_budget},
    {"check", GOAL_CHECK, false, "a command, such as 'make test'", read_check},
    {"protect", GOAL_PROTECT, false, "a glob, such as 'tests/**'", read_protect},
    {"wait", GOAL_WAIT, false, "a process, a file, a duration or a command", read_wait},
    {"next", GOAL_NEXT, false, "a condition", read_next},
};

static const struct verb_row *verb_find(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(verb_rows); i++) {
        if (word_is_of(word, verb_rows[i].words))
            return &verb_rows[i];
    }
    return NULL;
}

static int read_words(struct str text, int64_t now_ms, struct goal_argument *a, struct err *err)
{
    struct str rest = text;
    struct str first = word_take(&rest);
    const struct verb_row *row = verb_find(first);
    enum fit fit = FIT_NOT;
    bool literal = false;

    if (!text.len) {
        a->verb = GOAL_SHOW;
        return 0;
    }
    if (row) {
        a->verb = row->verb;
        if (!rest.len && row->alone)
            return 0;
        if (!rest.len)
            return err_set(err, ERR_BAD_INPUT, "%s needs %s (/goal -- %s makes it a condition)",
                           row->words, row->wants, row->words);
        if (row->read)
            fit = row->read(rest, now_ms, a, err);
    }
    if (fit == FIT_WRONG)
        return err_prefix(err, "%s", row->words);
    if (fit == FIT_YES)
        return 0;
    /* Partial results of a reader that declined do not count. */
    goal_argument_release(a);
    *a = (struct goal_argument)GOAL_ARGUMENT_INIT;
    a->verb = GOAL_SET;
    if (condition_read(text, now_ms, &a->text, &a->options, &literal, err) < 0)
        return -1;
    /* "resume --budget 5k" is no wish to work for "resume". */
    row = literal ? NULL : verb_find(buf_str(&a->text));
    if (row)
        return err_set(err, ERR_BAD_INPUT,
                       "%.*s takes no options (/goal … -- %.*s makes it a condition)",
                       STR_ARG(buf_str(&a->text)), STR_ARG(buf_str(&a->text)));
    return 0;
}

int goal_argument_read(struct str text, int64_t now_ms, struct goal_argument *ret, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
    size_t valid = utf8_valid_len(text);

    if (text.len > GOAL_MAX_ARGUMENT)
        return err_set(err, ERR_TOO_BIG, "a goal's text has at most %zu bytes; this has %zu",
                       GOAL_MAX_ARGUMENT, text.len);
    if (valid < text.len)
        return err_set(err, ERR_BAD_INPUT, "the goal's text is not valid UTF-8 (byte %zu)", valid);
    if (str_chr(text, '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "the goal's text has a NUL byte");
    if (read_words(str_trim(text), now_ms, &a, err) < 0)
        return -1;
    goal_argument_release(ret);
    *ret = a;
    a = (struct goal_argument){0};
    return 0;
}

void goal_argument_explain(const struct goal_argument *a, struct buf *ret)
{
    struct str text = str_clip(buf_str(&a->text), 200);
    const char *what = NULL;
    const char *word = NULL;

    switch (a->verb) {
    case GOAL_CHECK:
        what = "Understood as a check";
        word = "check";
        break;
    case GOAL_PROTECT:
        what = "Understood as files to protect";
        word = "protect";
        break;
    case GOAL_WAIT:
        what = "Understood as something to wait for";
        word = "wait";
        break;
    case GOAL_NEXT:
        what = "Understood as a goal for later";
        word = "next";
        break;
    case GOAL_ACCEPT:
        what = text.len ? "Understood as a changed file to accept" : NULL;
        word = "accept";
        break;
    default:
        break;
    }
    if (!what)
        return;
    text = str_first(text, str_chr(text, '\n'));
    buf_addf(ret, "%s: %.*s%s (as a condition: /goal -- %s …)", what, STR_ARG(text),
             text.len < a->text.len ? "…" : "", word);
}
