/*
 * What the end of a turn means for an unfinished goal (the goal is held; agent thread), and how a
 * run with a goal ends: exit code and result (any thread).
 */
#include "base/clock.h"
#include "base/err.h"
#include "conf/conf.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "json/jw.h"

#define OVERRULED                                                                                  \
    "Stop hooks object to each end of the turn, and nothing is done about it any more; so it was " \
    "not judged"
#define LOST_TURNS 5 /* in a row without a verdict, for no reason that passes */
#define RETRY_FIRST_MS ((int64_t)5 * 1000)
#define RETRY_MOST_MS ((int64_t)10 * 60 * 1000)
#define BROKEN 10 /* answers in a row that may break off: each of them costs its tokens */
#define QUOTA_FROM_MS                                                                              \
    ((int64_t)15 * 60 * 1000) /* a longer wait means that the quota is used up                     \
                               */
#define QUOTA_WAITS 24        /* in a row; then the user has to look */
#define QUOTA_WAIT_MS ((int64_t)60 * 60 * 1000)
#define QUOTA_LEAST_MS ((int64_t)60 * 1000)
#define QUOTA_MOST_MS ((int64_t)8 * 24 * 60 * 60 * 1000) /* weekly ones are waited for */

static void retry_later(struct goal *g, const struct err *why, int64_t asked_ms)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 12);
    struct wait w = WAIT_INIT;
    struct err err = {0};
    int64_t delay = RETRY_FIRST_MS;
    struct jw jw;

    for (int i = 0; i < g->memory.retries && delay < RETRY_MOST_MS; i++)
        delay *= 2;
    if (delay > RETRY_MOST_MS)
        delay = RETRY_MOST_MS;
    if (asked_ms > delay)
        delay = asked_ms < QUOTA_MOST_MS ? asked_ms : QUOTA_MOST_MS;
    g->memory.retries++;
    (void)goal_remember(g, &err);
    goal_tell_begin(g, &jw, &data);
    jw_kcstr(&jw, "error", why->text);
    jw_ki64(&jw, "delay_ms", delay);
    jw_ki64(&jw, "attempt", g->memory.retries);
    jw_object_end(&jw);
    goal_note(g, "retry", buf_str(&data));
    w.on = WAIT_RETRY;
    w.until_ms = clock_wall_ms() + delay;
    buf_adds(&w.text, why->text);
    goal_wait_for(g, &w, "retrying", &err);
    goal_notice(g, LEVEL_WARNING, "goal: %s; next try in %d s", why->text, (int)(delay / 1000));
}

static bool is_past_deadline(const struct goal *g, int64_t delay_ms)
{
    return g->row.deadline_ms && clock_wall_ms() + delay_ms >= g->row.deadline_ms;
}

/* How long to wait for a quota: until it resets if that is known, else an hour; -1: too long. Never
 * so short that the allowed waits are used up at once. */
static int64_t quota_wait_ms(const struct goal *g, int64_t asked_ms)
{
    int64_t delay = asked_ms <= 0 ? QUOTA_WAIT_MS : asked_ms;

    if (delay < QUOTA_LEAST_MS)
        delay = QUOTA_LEAST_MS;
    return asked_ms > QUOTA_MOST_MS || is_past_deadline(g, delay) ? -1 : delay;
}

/* With --auto-resume; also in a terminal, where a countdown is shown, if the time is known and
 * goal.waitForQuota is not false. */
static bool waits_for_quota(const struct goal *g, int64_t asked_ms)
{
    return g->options.auto_resume || (g->spec.is_interactive && asked_ms > 0 &&
                                      conf_get_bool(g->spec.conf, "goal.waitForQuota", true));
}

bool goal_is_quota(const struct goal *g, int64_t asked_ms)
{
    return asked_ms > QUOTA_FROM_MS || (asked_ms > 0 && is_past_deadline(g, asked_ms));
}

/* Retrying does not help against a used-up quota; only time does, or money. */
void goal_out_of_quota(struct goal *g, struct str why, int64_t asked_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);
    int64_t delay = quota_wait_ms(g, asked_ms);
    struct wait w = WAIT_INIT;
    struct err err = {0};

    buf_add(&text, why);
    if (waits_for_quota(g, asked_ms) && goal_is_active(g) && delay > 0 &&
        g->memory.quota_waits < QUOTA_WAITS) {
        g->memory.quota_waits++;
        (void)goal_remember(g, &err);
        w.on = WAIT_QUOTA;
        w.until_ms = clock_wall_ms() + delay;
        buf_add(&w.text, why);
        goal_wait_for(g, &w, "waiting", &err);
        buf_adds(&text, "; going on by itself in ");
        goal_show_elapsed(delay / 1000, &text);
        goal_notice(g, LEVEL_WARNING, "goal: %s", buf_cstr(&text));
        return;
    }
    if (asked_ms > 0) {
        buf_adds(&text, "; there is more in ");
        goal_show_elapsed(asked_ms / 1000, &text);
    }
    (void)goal_set_status(g, GOAL_USAGE_LIMITED, 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
                          buf_str(&text), "engine", &err);
}

static void answers_break(struct goal *g, const struct err *why)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);

    buf_addf(&text, "%d answers in a row broke off before their end: %s", g->broken, why->text);
    (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&text), "engine",
                          /*err=*/NULL);
    g->broken = 0;
}

static void after_error(struct goal *g, const struct referee_end *e)
{
    const struct err *why = e->err;
    int status = e->api_status;
    bool is_quota = why->code == ERR_QUOTA || status == 402;
    bool passes = why->code == ERR_RETRY_LATER || why->code == ERR_TIMEOUT ||
                  why->code == ERR_NETWORK || why->code == ERR_PROTOCOL || why->code == ERR_BUSY ||
                  status >= 500 || status == 429;

    is_quota = is_quota || (passes && goal_is_quota(g, e->asked_ms));
    if (g->waits && (is_quota || passes)) /* a turn of the user: the goal itself is waiting */
        return;
    g->broken += e->broken;
    if (is_quota)
        goal_out_of_quota(g, str_of(why->text), e->asked_ms);
    else if (g->broken >= BROKEN)
        answers_break(g, why);
    else if (passes)
        retry_later(g, why, e->asked_ms);
    else
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, str_of(why->text), "engine",
                              /*err=*/NULL);
}

/* It ended without a verdict, and not for a reason that passes by itself. */
static void turn_is_lost(struct goal *g, const struct err *why)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);
    struct err err = {0};

    if (++g->memory.lost_turns < LOST_TURNS) {
        (void)goal_remember(g, &err);
        g->continuation_due = true;
        return;
    }
    buf_addf(&text, "%d turns in a row came to nothing: %s", g->memory.lost_turns,
             why->code ? why->text : "none of them got as far as a verdict");
    (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&text), "engine", &err);
}

void goal_after_turn(struct goal *g, const struct referee_end *e)
{
    const struct err *why = e->err;
    struct err err = {0};

    switch (e->end) {
    case END_ABORTED_STREAMING:
    case END_ABORTED_TOOLS:
        if (e->pushed)
            break;
        if (str_is(conf_get_str(g->spec.conf, "goal.onInterrupt"), "hold"))
            g->held = true;
        else
            (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("interrupted"), "user",
                                  &err);
        break;
    case END_API_ERROR:
        after_error(g, e);
        break;
    case END_PROMPT_TOO_LONG:
    case END_STRUCTURED:
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, str_of(why->text), "engine",
                              &err);
        break;
    case END_MAX_TURNS:
    case END_BUDGET:
        (void)goal_set_status(g, GOAL_BUDGET_LIMITED, 1u << GOAL_ACTIVE, str_of(why->text),
                              "engine", &err);
        break;
    case END_HOOK_STOPPED:
    case END_TOOL_DEFERRED:
    case END_STOP_HOOK_PREVENTED:
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("a hook ended the turn"),
                              "user", &err);
        break;
    case END_MODEL_ERROR:
    case END_COMPLETED:
        if (g->waits || goal_in_plan_mode(g))
            break;
        if (e->overruled)
            (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, STR(OVERRULED), "engine",
                                  &err);
        else
            turn_is_lost(g, why);
        break;
    case END_CALLED_OFF:
        break;
    }
}

/* ---- How a run ends ---- */

/* The subtypes that clients of stream-json know. */
static const char *ending_subtype(const struct goal *g, int exit_code)
{
    enum goal_limit limit = LIMIT_DEADLINE;

    if (exit_code == 0)
        return "success";
    if (g->row.status == GOAL_BUDGET_LIMITED &&
        goal_limit_is_reached(&g->row, /*now_ms=*/0, &limit)) {
        if (limit == LIMIT_TURNS)
            return "error_max_turns";
        if (limit == LIMIT_TOKENS || limit == LIMIT_COST)
            return "error_max_budget_usd";
    }
    return "error_during_execution";
}

static void ending_reason(const struct goal *g, struct buf *ret)
{
    enum goal_limit limit;

    if (g->halted)
        goal_show_line(buf_str(&g->stop_why), STOP_WHY, ret);
    else if (g->next_stuck)
        buf_adds(ret, "the next goal of the queue could not begin");
    else if (g->row.status == GOAL_BUDGET_LIMITED &&
             goal_limit_is_reached(&g->row, /*now_ms=*/0, &limit))
        buf_addf(ret, "the %s is reached", goal_limit_name(limit));
    else if (g->stop_why.len && g->stop_status == g->row.status)
        goal_show_line(buf_str(&g->stop_why), STOP_WHY, ret);
    if (ret->len || g->row.status == GOAL_ACTIVE)
        return;
    if (g->row.status == GOAL_PAUSED) /* by whom is not in the row */
        buf_adds(ret, g->row.last_reason.len ? "paused; last: " : "paused");
    goal_show_line(g->row.last_reason, STOP_WHY, ret);
}

bool goal_ending(struct goal *g, struct arena *arena, struct goal_ending *ret)
{
    static const int codes[GOAL_STATUS_COUNT] = {
        [GOAL_ACTIVE] = 13,        [GOAL_PAUSED] = 13,         [GOAL_BLOCKED] = 10,
        [GOAL_USAGE_LIMITED] = 12, [GOAL_BUDGET_LIMITED] = 11, [GOAL_COMPLETE] = 0,
    };
    CLEANUP(buf_release) struct buf reason = BUF_INIT(2 * STOP_WHY);
    bool has;

    goal_enter(g);
    has = g->has;
    if (has) {
        bool is_paused = g->halted || g->next_stuck || g->lost.len;
        int code = codes[is_paused ? GOAL_PAUSED : g->row.status];

        ending_reason(g, &reason);
        *ret = (struct goal_ending){
            .status = g->halted ? GOAL_PAUSED : g->row.status,
            .exit_code = code,
            .subtype = ending_subtype(g, code),
            .is_own = g->turn_is_own,
            .reason = arena_str(arena, buf_str(&reason)),
        };
    }
    goal_leave(g);
    return has;
}

int goal_exit_code(struct goal *g)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_ending ending;

    return goal_ending(g, &arena, &ending) ? ending.exit_code : -1;
}
