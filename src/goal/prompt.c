/*
 * prompt: texts with {{places}} and what goes into them. One pass from left to right writes both,
 * so that a place in a user's own words stays what it is. Any thread.
 */
#include "goal/prompt.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "goal/display.h"
#include "store/goals.h"

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

/* ---- What is filled in ---- */

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

static void fill_tokens_used(const struct places *p, struct buf *ret)
{
    buf_addf(ret, "%lld", (long long)p->words->goal->tokens_used);
}

static void fill_token_budget(const struct places *p, struct buf *ret)
{
    if (p->words->goal->token_budget)
        buf_addf(ret, "%lld", (long long)p->words->goal->token_budget);
    else
        buf_adds(ret, "none");
}

static void fill_tokens_remaining(const struct places *p, struct buf *ret)
{
    const struct store_goal *g = p->words->goal;
    int64_t left = g->token_budget - g->tokens_used;

    if (g->token_budget)
        buf_addf(ret, "%lld", (long long)(left > 0 ? left : 0));
    else
        buf_adds(ret, "unlimited");
}

static void fill_seconds(const struct places *p, struct buf *ret)
{
    buf_addf(ret, "%lld", (long long)(p->words->seconds > 0 ? p->words->seconds : 0));
}

static void fill_which(const struct places *p, struct buf *ret)
{
    buf_add(ret, p->which);
}

static void fill_tried(const struct places *p, struct buf *ret)
{
    goal_escape(str_trim(p->tried).len ? str_trim(p->tried) : STR("(nothing)"), ret);
}

static void fill_status(const struct places *p, struct buf *ret)
{
    buf_adds(ret, goal_status_name(p->words->goal->status));
}

static void fill_advice(const struct places *p, struct buf *ret)
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

    buf_adds(ret, advice[p->words->goal->status]);
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

static const struct place_row {
    const char *name;
    void (*fill)(const struct places *p, struct buf *ret);
} place_rows[] = {
    {"objective", fill_objective},
    {"tokens_used", fill_tokens_used},
    {"token_budget", fill_token_budget},
    {"tokens_remaining", fill_tokens_remaining},
    {"seconds", fill_seconds},
    {"which", fill_which},
    {"tried", fill_tried},
    {"status", fill_status},
    {"advice", fill_advice},
    {"reason", fill_reason},
};

static void fill_place(const struct places *p, struct str name, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(place_rows); i++) {
        if (str_is(name, place_rows[i].name)) {
            place_rows[i].fill(p, ret);
            return;
        }
    }
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
