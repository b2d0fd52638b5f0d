/*
 * prompt: texts with {{places}} and what goes into them. One pass from left to right writes both,
 * so that a place in a user's own words stays what it is. Any thread.
 */
#include "goal/prompt.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "goal/report/display.h"
#include "store/goals/goals.h"

#define REASON_MAX 160 /* bytes of the last reason in a tail, escaped */

/* Where a place's value is found. */
struct places {
    const struct goal_words *words;
    struct str which; /* limit */
    struct str tried;
    bool is_tail;
};

void goal_escape(struct str text, struct buf *ret)
{
    struct str rest = text;

    while (rest.len) {
        uint32_t code = 0;
        size_t n = utf8_decode(rest, &code);

        if (n == 0)
            buf_adds(ret, "\xef\xbf\xbd"); /* U+FFFD */
        else if (code == '<')
            buf_adds(ret, "&lt;");
        else if (code == '>')
            buf_adds(ret, "&gt;");
        else if (code == '&')
            buf_adds(ret, "&amp;");
        else if ((code >= 0x20 || code == '\n' || code == '\t') && (code < 0x7f || code >= 0xa0))
            buf_add(ret, str_first(rest, n));
        rest = str_from(rest, n ? n : 1);
    }
}

/* ---- Substitutions ---- */

static void fill_objective(const struct places *p, struct buf *ret)
{
    struct str text = str_trim(p->words->objective);

    if (!text.len)
        text = str_trim(p->words->goal->objective);
    if (!p->is_tail || text.len <= GOAL_TAIL_MAX_OBJECTIVE) {
        goal_escape(text, ret);
        return;
    }
    goal_escape(str_clip(text, GOAL_TAIL_MAX_OBJECTIVE), ret);
    buf_addf(ret, "…\n(%zu bytes in all; get_goal gives the whole text)", text.len);
}

static const char *advice_for(enum goal_status status)
{
    static const char *const advice[GOAL_STATUS_COUNT] = {
        [GOAL_ACTIVE] = "Work on until it holds; stopping before is refused. Evidence counts, "
                        "words do not. The objective is the user's data.",
        [GOAL_PAUSED] = "Paused by the user: work on it only when asked to.",
        [GOAL_BLOCKED] = "Blocked: work on it only when asked to.",
        [GOAL_USAGE_LIMITED] = "Stopped until the account's quota is there again.",
        [GOAL_BUDGET_LIMITED] = "A limit is reached: begin nothing new for it, wrap up, and do not "
                                "mark it complete unless it is.",
        [GOAL_COMPLETE] = "Complete: nothing is left to do for it.",
    };

    return advice[status];
}

static void fill_reason(const struct places *p, struct buf *ret)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf escaped = BUF_INIT(4096);
    const struct store_goal *g = p->words->goal;

    if (g->status != GOAL_ACTIVE || !str_trim(g->last_reason).len)
        return;
    /* Escaped it may be five times as long: shortened before, so that no "&lt;" is cut in two. */
    for (size_t max = REASON_MAX; max == REASON_MAX || escaped.len > REASON_MAX; max /= 2) {
        buf_clear(&line);
        buf_clear(&escaped);
        goal_show_line(g->last_reason, max, &line);
        goal_escape(buf_str(&line), &escaped);
    }
    buf_adds(ret, "\nLast refused because: ");
    buf_add(ret, buf_str(&escaped));
}

static void fill_place(const struct places *p, struct str name, struct buf *ret)
{
    const struct store_goal *g = p->words->goal;
    int64_t left = g->token_budget - g->tokens_used;
    int64_t seconds = p->words->seconds;

    if (str_is(name, "objective"))
        fill_objective(p, ret);
    else if (str_is(name, "tokens_used"))
        buf_addf(ret, "%lld", (long long)g->tokens_used);
    else if (str_is(name, "token_budget") && !g->token_budget)
        buf_adds(ret, "none");
    else if (str_is(name, "token_budget"))
        buf_addf(ret, "%lld", (long long)g->token_budget);
    else if (str_is(name, "tokens_remaining") && !g->token_budget)
        buf_adds(ret, "unlimited");
    else if (str_is(name, "tokens_remaining"))
        buf_addf(ret, "%lld", (long long)(left > 0 ? left : 0));
    else if (str_is(name, "seconds"))
        buf_addf(ret, "%lld", (long long)(seconds > 0 ? seconds : 0));
    else if (str_is(name, "which"))
        buf_add(ret, p->which);
    else if (str_is(name, "tried"))
        goal_escape(str_trim(p->tried).len ? str_trim(p->tried) : STR("(nothing)"), ret);
    else if (str_is(name, "status"))
        buf_adds(ret, goal_status_name(g->status));
    else if (str_is(name, "advice"))
        buf_adds(ret, advice_for(g->status));
    else if (str_is(name, "reason"))
        fill_reason(p, ret);
    else
        BUG("no value for {{%.*s}}", STR_ARG(name));
}

static void fill(const char *text, const struct places *p, struct buf *ret)
{
    struct str rest = str_of(text);

    for (;;) {
        size_t open = str_find(rest, STR("{{"));
        size_t len;

        buf_add(ret, str_first(rest, open));
        if (open == rest.len)
            return;
        rest = str_from(rest, open + 2);
        len = str_find(rest, STR("}}"));
        fill_place(p, str_first(rest, len), ret);
        rest = str_from(rest, len + 2);
    }
}

/* ---- The texts ---- */

void goal_prompt_directive(const struct goal_words *w, struct buf *ret)
{
    fill(goal_directive_md, &(struct places){.words = w}, ret);
}

void goal_prompt_continuation(const struct goal_words *w, struct buf *ret)
{
    fill(goal_continuation_md, &(struct places){.words = w}, ret);
}

void goal_prompt_budget_limit(const struct goal_words *w, struct str which, struct buf *ret)
{
    fill(goal_budget_limit_md, &(struct places){.words = w, .which = which}, ret);
}

void goal_prompt_updated(const struct goal_words *w, struct buf *ret)
{
    fill(goal_updated_md, &(struct places){.words = w}, ret);
}

void goal_prompt_strategy(const struct goal_words *w, struct str tried, struct buf *ret)
{
    fill(goal_strategy_md, &(struct places){.words = w, .tried = tried}, ret);
}

void goal_prompt_fresh(const struct goal_words *w, struct buf *ret)
{
    fill(goal_fresh_md, &(struct places){.words = w}, ret);
}

void goal_prompt_tail(const struct goal_words *w, struct buf *ret)
{
    fill(goal_tail_md, &(struct places){.words = w, .is_tail = true}, ret);
}

void goal_prompt_feedback(struct str reason, struct buf *ret)
{
    buf_adds(ret, "Stop hook feedback:\n");
    buf_add(ret, reason);
}
