/*
 * Any bytes after /goal: a parsed argument is complete, fits its limits, and options come back the
 * same from their JSON. Text marked with "-- " is a condition.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "goal/argument/argument.h"
#include "goal/prompt.h"
#include "goal/report/markdown.h"

#define NOW INT64_C(1763208000000)

static void check_options(const struct goal_options *o)
{
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(goal_options_release) struct goal_options again = {0};

    goal_options_write(o, &first);
    FUZZ_CHECK(goal_options_read(buf_str(&first), &again, NULL) == 0);
    goal_options_write(&again, &second);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&second)));
    FUZZ_CHECK(again.checks.len == o->checks.len && again.max_cost_usd == o->max_cost_usd);
    FUZZ_CHECK(o->token_budget >= 0 && o->token_budget <= GOAL_MAX_NUMBER);
    FUZZ_CHECK(o->max_turns >= 0 && o->max_turns <= GOAL_MAX_NUMBER);
    FUZZ_CHECK(o->max_cost_usd >= 0 && o->max_cost_usd <= GOAL_MAX_USD);
}

static void check_argument(const struct goal_argument *a, struct str typed)
{
    struct str text = buf_str(&a->text);
    CLEANUP(buf_release) struct buf explained = BUF_INIT(BUF_NO_LIMIT);

    FUZZ_CHECK(text.len <= typed.len);
    FUZZ_CHECK(utf8_is_valid(text));
    if (a->verb == GOAL_SET || a->verb == GOAL_NEXT || a->verb == GOAL_CHECK) {
        FUZZ_CHECK(text.len > 0);
        FUZZ_CHECK(a->verb == GOAL_CHECK || str_eq(str_trim(text), text));
        FUZZ_CHECK(a->verb == GOAL_CHECK || str_has(typed, text));
    }
    if (a->verb == GOAL_BUDGET) {
        FUZZ_CHECK(a->budget.what != CHANGE_KEEP);
        FUZZ_CHECK((a->budget.what == CHANGE_CLEAR) == (a->budget.value == 0 && a->usd == 0));
    }
    FUZZ_CHECK(a->verb == GOAL_SET || a->verb == GOAL_NEXT || !a->options.checks.len);
    if (a->options.deadline_ms)
        FUZZ_CHECK(a->options.deadline_ms > NOW &&
                   a->options.deadline_ms <= NOW + GOAL_MAX_AHEAD_MS);
    goal_argument_explain(a, &explained);
    FUZZ_CHECK(str_chr(buf_str(&explained), '\n') == explained.len);
    check_options(&a->options);
}

/* "-- " makes a condition of everything that is text. */
static void check_forced(struct str typed)
{
    CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
    CLEANUP(buf_release) struct buf forced = BUF_INIT(BUF_NO_LIMIT);

    if (!str_trim(typed).len || !utf8_is_valid(typed) || str_chr(typed, '\0') < typed.len)
        return;
    buf_adds(&forced, "-- ");
    buf_add(&forced, typed);
    FUZZ_CHECK(goal_argument_read(buf_str(&forced), NOW, &a, NULL) == 0);
    FUZZ_CHECK(a.verb == GOAL_SET && str_eq(buf_str(&a.text), str_trim(typed)));
}

/* The displayed form is text, and no tag. */
static void check_escapes(struct str typed)
{
    CLEANUP(buf_release) struct buf escaped = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf cell = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf fence = BUF_INIT(BUF_NO_LIMIT);

    goal_escape(typed, &escaped);
    FUZZ_CHECK(utf8_is_valid(buf_str(&escaped)));
    FUZZ_CHECK(str_chr(buf_str(&escaped), '<') == escaped.len);
    markdown_text(typed, 500, &cell);
    FUZZ_CHECK(str_chr(buf_str(&cell), '|') == cell.len);
    FUZZ_CHECK(str_chr(buf_str(&cell), '\n') == cell.len);
    buf_clear(&cell);
    markdown_code(typed, 500, &cell);
    FUZZ_CHECK(utf8_is_valid(buf_str(&cell)));
    for (size_t i = 0; i < cell.len; i++)
        FUZZ_CHECK(cell.ptr[i] != '|' || (i && cell.ptr[i - 1] == '\\'));
    markdown_fence(typed, 500, &fence);
    FUZZ_CHECK(utf8_is_valid(buf_str(&fence)));
}

static void check_figures(struct str text)
{
    int64_t n;
    double usd;

    if (goal_read_tokens(text, &n, NULL) == 0)
        FUZZ_CHECK(n > 0 && n <= GOAL_MAX_NUMBER);
    if (goal_read_duration(text, &n, NULL) == 0)
        FUZZ_CHECK(n > 0 && n <= GOAL_MAX_AHEAD_MS);
    if (goal_read_deadline(text, NOW, &n, NULL) == 0)
        FUZZ_CHECK(n > NOW && n <= NOW + GOAL_MAX_AHEAD_MS);
    if (goal_read_usd(text, &usd, NULL) == 0)
        FUZZ_CHECK(usd > 0 && usd <= GOAL_MAX_USD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str typed = str_make((const char *)data, size);
    CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
    CLEANUP(goal_options_release) struct goal_options o = {0};
    struct err err = {0};

    if (goal_argument_read(typed, NOW, &a, &err) == 0)
        check_argument(&a, typed);
    else
        FUZZ_CHECK(err.text[0] && (err.code == ERR_BAD_INPUT || err.code == ERR_TOO_BIG));
    check_forced(typed);
    check_escapes(typed);
    check_figures(typed);
    if (goal_options_read(typed, &o, NULL) == 0)
        check_options(&o);
    return 0;
}
