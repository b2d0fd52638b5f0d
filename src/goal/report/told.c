/*
 * told: a row per event of a goal. Any thread.
 */
#include "goal/report/told.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "goal/report/display.h"
#include "json/json.h"

#define TOLD_REASON 300 /* bytes of a reason */
#define FROM_OUTSIDE " from outside"

/* By a command that was given elsewhere, in another terminal as a rule. */
static bool is_elsewhere(const struct json *v)
{
    return json_get_bool(v, "elsewhere", false);
}

static void add_reason(const struct json *v, const char *key, struct buf *ret)
{
    struct str reason = str_trim(json_get_str(v, key));

    if (!reason.len)
        return;
    buf_adds(ret, ": ");
    goal_show_line(reason, TOLD_REASON, ret);
}

static bool told_verdict(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    bool met = json_get_bool(v, "met", false);

    if (json_get_bool(v, "stale", false))
        return false;
    if (json_get_str(v, "error").len) {
        *tone = TOLD_WARNING;
        buf_adds(ret, "? no verdict");
        add_reason(v, "error", ret);
        return true;
    }
    *tone = met ? TOLD_GOOD : TOLD_BAD;
    buf_adds(ret, met ? "✓ met" : "✗ not met");
    if (json_get_bool(v, "impossible", false))
        buf_adds(ret, ", and cannot be");
    add_reason(v, "reason", ret);
    return true;
}

/* "! 80 % of the token budget used": a limit that comes near. */
static bool told_limit(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    double used = 0;
    double limit = 0;

    if (!json_double(json_get(v, "used"), &used) || !json_double(json_get(v, "limit"), &limit) ||
        limit <= 0)
        return false;
    *tone = TOLD_WARNING;
    buf_addf(ret, "! %d %% of the %.*s used", (int)(100 * used / limit),
             STR_ARG(str_clip(json_get_str(v, "which"), 60)));
    return true;
}

/* Another status, by whomever. */
static bool told_status(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    struct str why = json_get_str(v, "why");
    bool by_user = str_is(json_get_str(v, "by"), "user");
    bool elsewhere = is_elsewhere(v);
    enum goal_status to;

    if (!goal_status_parse(json_get_str(v, "to"), &to) || to == GOAL_COMPLETE)
        return false; /* goal_achieved says more */
    /* A command of the user here has its own answer; the effect of an interrupt has none. */
    if (by_user && !elsewhere && !str_is(why, "interrupted") &&
        !str_is(why, "a hook ended the turn"))
        return false;
    *tone = to == GOAL_ACTIVE ? TOLD_PLAIN : to == GOAL_BLOCKED ? TOLD_BAD : TOLD_WARNING;
    buf_addf(ret, "%s goal %s", to == GOAL_BLOCKED ? "✗" : "!",
             elsewhere && to == GOAL_ACTIVE ? "resumed" : goal_show_status(to));
    if (elsewhere)
        buf_adds(ret, FROM_OUTSIDE);
    else
        add_reason(v, "why", ret);
    if (to == GOAL_BUDGET_LIMITED)
        buf_adds(ret, " · /goal budget +N continues");
    else if (to != GOAL_ACTIVE)
        buf_adds(ret, " · /goal resume continues");
    return true;
}

/* A changed text or limit; a command here has its own answer. */
static bool told_edited(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    struct str limit = str_clip(json_get_str(v, "limit"), 60);

    if (!is_elsewhere(v) || json_get(v, "to") || (!limit.len && !json_get(v, "objective_chars")))
        return false;
    *tone = TOLD_WARNING;
    if (limit.len)
        buf_addf(ret, "! the goal's %.*s was changed", STR_ARG(limit));
    else
        buf_adds(ret, "! goal edited");
    buf_adds(ret, FROM_OUTSIDE);
    return true;
}

static bool told_updated(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    return told_limit(v, ret, tone) || told_status(v, ret, tone) || told_edited(v, ret, tone);
}

static bool told_cleared(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    if (!is_elsewhere(v))
        return false;
    *tone = TOLD_WARNING;
    buf_adds(ret, "! goal cleared" FROM_OUTSIDE);
    return true;
}

static bool told_restored(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    int64_t rounds = json_get_i64(v, "iterations", 0);

    if (!str_is(json_get_str(v, "status"), "active"))
        return false; /* it rests, as a note has said */
    *tone = TOLD_FAINT;
    buf_addf(ret, "continuing the goal of this session (%" PRId64 " turn%s so far)", rounds,
             rounds == 1 ? "" : "s");
    return true;
}

/* The command of a user who sets a goal has its own answer; other goals have only this line. */
static bool told_set(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    const struct json *set = json_get(v, "set");
    struct str via = json_get_str(set, "via");

    if (!str_is(via, "model") && !str_is(via, "next"))
        return false;
    *tone = TOLD_PLAIN;
    buf_adds(ret, str_is(via, "model") ? "◎ the model has set a goal" : "◎ the next goal begins");
    if (json_len(json_get(set, "checks")))
        buf_addf(ret, " · %zu check%s", json_len(json_get(set, "checks")),
                 json_len(json_get(set, "checks")) == 1 ? "" : "s");
    return true;
}

static bool told_achieved(const struct json *v, struct buf *ret, enum told_tone *tone)
{
    int64_t turns = json_get_i64(v, "turns", 0);

    *tone = TOLD_GOOD;
    buf_adds(ret, "✓ goal complete");
    if (turns > 0)
        buf_addf(ret, " · %" PRId64 " turn%s", turns, turns == 1 ? "" : "s");
    buf_adds(ret, " · ");
    goal_show_elapsed(json_get_i64(v, "duration_ms", 0) / 1000, ret);
    buf_adds(ret, " · ");
    goal_show_tokens(json_get_i64(v, "tokens", 0), ret);
    buf_adds(ret, " tokens · /goal report");
    return true;
}

bool goal_told(struct str name, const struct json *data, struct buf *ret, enum told_tone *ret_tone)
{
    static const struct {
        const char *name;
        bool (*fn)(const struct json *v, struct buf *ret, enum told_tone *tone);
    } rows[] = {
        {"goal_verdict", told_verdict},   {"goal_updated", told_updated},
        {"goal_blocked", told_updated},   {"goal_limited", told_updated},
        {"goal_restored", told_restored}, {"goal_set", told_set},
        {"goal_achieved", told_achieved}, {"goal_cleared", told_cleared},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is(name, rows[i].name))
            return rows[i].fn(data, ret, ret_tone);
    }
    return false;
}

/* "timer, 3s left" without its figure, which is counted down elsewhere. */
static struct str without_left(struct str what)
{
    size_t n = what.len;

    if (!str_ends(what, STR(" left")))
        return what;
    while (n > 0 && what.ptr[n - 1] != ',')
        n--;
    return n ? str_first(what, n - 1) : what;
}

void goal_told_wait(const struct json *data, struct buf *ret)
{
    struct str what = without_left(json_get_str(data, "what"));

    buf_adds(ret, str_is(json_get_str(data, "on"), "retry") ? "trying again" : "waiting");
    if (!what.len)
        return;
    buf_adds(ret, ": ");
    goal_show_line(what, TOLD_REASON, ret);
}
