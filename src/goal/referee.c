/*
 * The referee: what a goal does at each point of a turn, and when the agent is idle. Agent thread,
 * but for goal_claim_complete().
 *
 * A turn that the goal began, or sent back, is the goal's own: it ends before the next call of the
 * model when the goal is paused or cleared meanwhile. One that a person began goes on to its end.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/permit.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/display.h"
#include "goal/inside.h"
#include "goal/prompt.h"
#include "json/jw.h"
#include "llm/message.h"
#include "sync/cancel.h"

#define STALL_STRATEGY 3
#define STALL_FRESH 5
#define STALL_BLOCKED 8
#define LOST_TURNS 5 /* in a row without a verdict, for no reason that passes */
#define FALLBACK_WAIT_MS (30 * 1000)
#define RETRY_FIRST_MS ((int64_t)5 * 1000)
#define RETRY_MOST_MS ((int64_t)10 * 60 * 1000)
#define QUOTA_WAIT_MS ((int64_t)60 * 60 * 1000)

static bool in_plan_mode(const struct goal *g)
{
    return permit_mode(g->spec.permit) == MODE_PLAN;
}

static struct goal_words words_of(const struct goal *g)
{
    int64_t live = g->in_turn ? (clock_mono_ms() - g->clock_ms) / 1000 : 0;

    return (struct goal_words){
        .goal = &g->row,
        .objective = g->text.len ? buf_str(&g->text) : g->row.objective,
        .seconds = g->row.time_used_seconds + live,
    };
}

/* ---- Before each call ---- */

/* The deadline passes by itself: nobody has to spend anything for it. */
static void look_at_clock(struct goal *g)
{
    int64_t now = clock_wall_ms();

    if (goal_is_active(g) && g->row.deadline_ms && now >= g->row.deadline_ms)
        (void)goal_set_status(g, GOAL_BUDGET_LIMITED, 1u << GOAL_ACTIVE,
                              STR("the deadline has passed"), "engine", /*err=*/NULL);
}

static enum goal_limit reached_limit(const struct goal *g)
{
    enum goal_limit limit = LIMIT_TOKENS;

    (void)goal_limit_is_reached(&g->row, clock_wall_ms(), &limit);
    return limit;
}

static void tell_limit(struct goal *g, enum goal_limit cap)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 12);
    struct jw w;

    g->memory.told_limit = true;
    (void)goal_remember(g, /*err=*/NULL);
    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "which", goal_limit_name(cap));
    jw_object_end(&w);
    goal_note(g, "status", buf_str(&data));
    goal_tell(g, "goal_limited", buf_str(&data));
    goal_tell_active(g);
    goal_notice(g, LEVEL_WARNING, "goal: the %s is reached", goal_limit_name(cap));
}

/* A limit is reached: the model is told once, may wrap up, and is then stopped. 1: stop. */
static int wrap_up(struct goal *g, struct referee_call *ret)
{
    struct goal_words words = words_of(g);
    enum goal_limit cap = reached_limit(g);

    if (!g->memory.told_limit) {
        tell_limit(g, cap);
        g->wrap_up = GOAL_WRAP_UP;
        goal_prompt_budget_limit(&words, str_of(goal_limit_name(cap)), &ret->say);
    }
    if (g->wrap_up-- > 0)
        return 0;
    buf_addf(&ret->why, "the goal's %s is reached", goal_limit_name(cap));
    return 1;
}

/* 1: the turn was the goal's, and the goal does not want it any more. */
static int is_called_off(struct goal *g, struct buf *why)
{
    if (!g->drives || !g->turn_goal[0])
        return 0;
    if (!g->has) {
        buf_adds(why, "the goal was cleared");
        return 1;
    }
    if (!str_is(g->row.goal_id, g->turn_goal)) {
        buf_adds(why, "the goal was replaced");
        return 1;
    }
    if (g->row.status == GOAL_ACTIVE || g->row.status == GOAL_BUDGET_LIMITED)
        return 0;
    buf_addf(why, "the goal is %s", goal_show_status(g->row.status));
    return 1;
}

static int before_call_held(struct goal *g, struct referee_call *ret)
{
    struct err err = {0};
    struct goal_words words;

    if (!g->has && !g->turn_goal[0])
        return 0;
    (void)account_flush(g, CHARGE_ACTIVE_STATUS_ONLY, &err);
    if (goal_read_row(g, &err) < 0)
        log_debug("goal", "%s", err.text);
    look_at_clock(g);
    if (is_called_off(g, &ret->why))
        return 1;
    if (!g->has || in_plan_mode(g) ||
        (g->row.status != GOAL_ACTIVE && g->row.status != GOAL_BUDGET_LIMITED))
        return 0;
    if (g->denied && !g->options.on_deny_skip && goal_is_active(g)) {
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&g->denied_what),
                              "engine", &err);
        buf_add(&ret->why, buf_str(&g->denied_what));
        return 1;
    }
    words = words_of(g);
    if (goal_is_active(g)) {
        account_warn(g);
        if (g->updated_due)
            goal_prompt_updated(&words, &ret->say);
        else if (g->directive_due)
            goal_prompt_directive(&words, &ret->say);
        g->drives = g->drives || g->directive_due;
        g->updated_due = false;
        g->directive_due = false;
        g->continuation_due = false;
    }
    goal_prompt_tail(&words, &ret->tail);
    return g->row.status == GOAL_BUDGET_LIMITED && str_is(g->row.goal_id, g->turn_goal)
               ? wrap_up(g, ret)
               : 0;
}

static int referee_before_call(struct referee *self, struct referee_call *ret)
{
    struct goal *g = goal_of(self);
    int r;

    lock_take(&g->permit);
    r = before_call_held(g, ret);
    lock_give(&g->permit);
    goal_flush_lines(g);
    return r;
}

static void referee_spent(struct referee *self, const struct referee_spend *s)
{
    struct goal *g = goal_of(self);

    lock_take(&g->permit);
    account_spend(g, s);
    lock_give(&g->permit);
}

static void referee_tool_done(struct referee *self, const struct referee_tool *t)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    lock_take(&g->permit);
    if (g->has) {
        evidence_add(g, t);
        if (t->ran && !str_is(t->name, "update_goal"))
            (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
        if (t->unanswered && !g->denied) {
            g->denied = true;
            buf_clear(&g->denied_what);
            buf_addf(&g->denied_what,
                     "%.*s needs an approval that nobody can give in this run: allow it by a rule "
                     "or a permission mode, or use --on-deny skip",
                     STR_ARG(t->name));
        }
    }
    lock_give(&g->permit);
}

/* ---- At a stop ---- */

static void tell_verdict(struct goal *g, const struct ladder *l, bool stale)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);

    ladder_write(g, l, stale, &data);
    goal_note(g, "verdict", buf_str(&data));
    goal_tell(g, "goal_verdict", buf_str(&data));
}

/* The state that was confirmed stays reachable for git. */
static void keep_step(struct goal *g, struct str message)
{
    struct baseline b = goal_baseline(g);
    char name[40];
    char commit[BASELINE_ID];
    struct err err = {0};
    int64_t n;

    lock_take(&g->permit);
    n = g->row.baseline.len ? ++g->memory.steps_kept : 0;
    lock_give(&g->permit);
    if (!n)
        return;
    snprintf(name, sizeof(name), "step-%" PRId64, n);
    if (baseline_keep(&b, name, message, g->spec.cancel, commit, /*ret_tree=*/NULL, &err) < 0)
        log_debug("goal", "the step is not kept: %s", err.text);
}

/* 0: the turn may end. The row decides: whoever paused or cleared it meanwhile has won. */
static int verdict_met(struct goal *g, const struct ladder *l)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct err err = {0};
    struct jw w;
    int r;

    (void)account_flush(g, CHARGE_ACTIVE_OR_COMPLETE, &err);
    ladder_write(g, l, /*stale=*/false, &data);
    goal_note(g, "verdict", buf_str(&data));
    goal_tell(g, "goal_verdict", buf_str(&data));
    r = goal_set_status(g, GOAL_COMPLETE, 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
                        buf_str(&l->reason), "engine", &err);
    if (r < 0)
        goal_notice(g, LEVEL_ERROR, "goal: met, but that could not be written down: %s", err.text);
    if (r <= 0)
        return 0;
    g->spec.host.arm(g->spec.host.arg, STR(""));
    goal_attach(g, /*met=*/true, /*sentinel=*/false, buf_str(&l->reason), /*achieved=*/true);
    buf_clear(&data);
    goal_tell_begin(g, &w, &data);
    jw_kstr(&w, "reason", str_clip(buf_str(&l->reason), 8 << 10));
    jw_ki64(&w, "turns", g->row.iterations + 1);
    jw_object_end(&w);
    goal_tell(g, "goal_achieved", buf_str(&data));
    goal_tell_active(g);
    g->claim.is_there = false;
    g->turn_goal[0] = '\0'; /* what the turn still costs is not the goal's */
    if (goal_start_next(g, &err) < 0)
        goal_notice(g, LEVEL_ERROR, "goal: the next one could not be set: %s", err.text);
    return 0;
}

static void note_stall(struct goal *g, int stalls, const char *action)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_ki64(&w, "count", stalls);
    jw_kcstr(&w, "action", action);
    jw_object_end(&w);
    goal_note(g, "stall", buf_str(&data));
}

/* What was tried, for whoever takes over: the last commands. */
static void what_was_tried(const struct goal *g, struct buf *ret)
{
    size_t from = g->items.len > 8 ? g->items.len - 8 : 0;

    for (size_t i = from; i < g->items.len; i++) {
        struct str input = str_clip(str_of(g->items.ptr[i].input), 160);

        buf_addf(ret, "- %s %.*s%s\n", g->items.ptr[i].tool, STR_ARG(input),
                 g->items.ptr[i].is_error ? " (failed)" : "");
    }
}

/* 1: once more; 0: it is blocked. */
static int verdict_stalled(struct goal *g, int stalls, struct referee_verdict *ret)
{
    CLEANUP(buf_release) struct buf tried = BUF_INIT(16 << 10);
    struct goal_words words = words_of(g);

    what_was_tried(g, &tried);
    if (stalls >= STALL_BLOCKED) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(16 << 10);

        note_stall(g, stalls, "blocked");
        buf_addf(&why, "stalled: nothing has changed for %d rounds. Last verdict: %.*s", stalls,
                 STR_ARG(str_clip(g->row.last_reason, 2000)));
        if (tried.len)
            buf_addf(&why, "\nLast tried:\n%.*s", STR_ARG(buf_str(&tried)));
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&why), "engine",
                              /*err=*/NULL);
        return 0;
    }
    if (stalls == STALL_STRATEGY) {
        note_stall(g, stalls, "strategy");
        buf_addc(&ret->feedback, '\n');
        goal_prompt_strategy(&words, buf_str(&tried), &ret->feedback);
    }
    if (stalls == STALL_FRESH) {
        note_stall(g, stalls, "fresh");
        ret->fresh = true;
        goal_prompt_fresh(&words, &ret->keep);
    }
    return 1;
}

static int verdict_unmet(struct goal *g, const struct ladder *l, struct referee_verdict *ret)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf memory = BUF_INIT(GOAL_MAX_TEXT);
    struct str reason = buf_str(&l->reason);
    struct str phase = STR("working"), nothing = STR(""), text;
    struct goal_update u = {
        .from = 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
        .add_iterations = 1,
        .phase = &phase,
        .phase_detail = &nothing,
    };
    struct err err = {0};
    bool is_silent = !reason.len; /* mode self: it has not said that it is done */
    int stalls = stall_round(g, l);
    int r;

    if (!is_silent)
        u.last_reason = &reason;
    if (l->criteria.len) {
        buf_clear(&g->memory.criteria);
        buf_add(&g->memory.criteria, buf_str(&l->criteria));
    }
    memory_write(&g->memory, &memory);
    text = buf_str(&memory);
    u.memory = &text;
    ladder_write(g, l, /*stale=*/false, &data);
    r = goal_update(g, &u, "verdict", buf_str(&data), &err);
    if (r <= 0) {
        if (r < 0)
            goal_notice(g, LEVEL_ERROR, "goal: the verdict could not be written down: %s",
                        err.text);
        return 0; /* somebody has stopped it meanwhile */
    }
    goal_tell(g, "goal_verdict", buf_str(&data));
    goal_attach(g, /*met=*/false, /*sentinel=*/false,
                is_silent ? STR("not said to be complete") : reason, /*achieved=*/false);
    goal_tell_active(g);
    if (g->row.status != GOAL_ACTIVE) /* wrapping up: it may end */
        return 0;
    g->drives = true;
    if (is_silent) {
        struct goal_words words = words_of(g);

        goal_prompt_continuation(&words, &ret->feedback);
    } else {
        goal_prompt_feedback(reason, &ret->feedback);
    }
    return stalls >= STALL_STRATEGY ? verdict_stalled(g, stalls, ret) : 1;
}

static int verdict_unknown(struct goal *g, const struct ladder *l)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 12);
    struct err err = {0};

    tell_verdict(g, l, /*stale=*/false);
    if (l->err.code == ERR_QUOTA) {
        buf_addf(&why, "the judge's account has nothing left: %s", l->err.text);
        (void)goal_set_status(g, GOAL_USAGE_LIMITED, 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
                              buf_str(&why), "engine", &err);
        return 0;
    }
    buf_addf(&why, "it cannot be judged: %s", l->err.text);
    (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, buf_str(&why), "engine", &err);
    goal_notice(g, LEVEL_ERROR, "goal paused: %s", buf_cstr(&why));
    return 0;
}

/* For background commands: the turn ends, and goes on when they are done or silent for long. */
static int verdict_waits(struct goal *g)
{
    struct wait w = WAIT_INIT;
    struct err err = {0};
    int64_t last_ms = 0;

    w.on = WAIT_BACKGROUND;
    (void)g->spec.host.background(g->spec.host.arg, &w.text, &last_ms);
    goal_wait_for(g, &w, "waiting", &err);
    return 0;
}

/* Still the goal that was judged, and still its hook? */
static bool verdict_is_stale(struct goal *g, const struct ladder *l)
{
    struct err err = {0};

    if (goal_read_row(g, &err) < 0)
        return true;
    return !g->has || !str_is(g->row.goal_id, l->goal_id) ||
           !g->spec.host.is_armed(g->spec.host.arg, g->row.objective);
}

static int apply_verdict(struct goal *g, const struct ladder *l, struct referee_verdict *ret)
{
    struct err err = {0};

    if (verdict_is_stale(g, l)) {
        tell_verdict(g, l, /*stale=*/true);
        return 0;
    }
    switch (l->end) {
    case LADDER_MET:
        return verdict_met(g, l);
    case LADDER_UNMET:
        return verdict_unmet(g, l, ret);
    case LADDER_IMPOSSIBLE:
        tell_verdict(g, l, /*stale=*/false);
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&l->reason), "engine",
                              &err);
        return 0;
    case LADDER_WAITS:
        return verdict_waits(g);
    case LADDER_UNKNOWN:
        break;
    }
    return verdict_unknown(g, l);
}

/* A claim that was accepted counts while the workspace is as it was then. */
static bool claim_holds(struct goal *g, const struct ladder *l, struct cancel *cancel)
{
    char state[SHA256_HEX + 1] = "";
    bool is_there;

    lock_take(&g->permit);
    is_there = g->claim.is_there && strcmp(g->claim.goal_id, l->goal_id) == 0;
    g->claim.is_there = false;
    lock_give(&g->permit);
    return is_there && g->claim.state[0] && ladder_state(g, cancel, state, /*err=*/NULL) == 0 &&
           strcmp(state, g->claim.state) == 0;
}

/* The beginning of a verdict; false: there is nothing to judge. */
static bool begin_verdict(struct goal *g, struct ladder *l, enum goal_status *ret_status)
{
    struct err err = {0};
    bool goes;

    lock_take(&g->permit);
    (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
    if (g->has && goal_read_row(g, &err) < 0)
        log_debug("goal", "%s", err.text);
    goes = g->has && (g->row.status == GOAL_ACTIVE || g->row.status == GOAL_BUDGET_LIMITED) &&
           str_is(g->row.goal_id, g->turn_goal) && !in_plan_mode(g);
    if (goes) {
        snprintf(l->goal_id, sizeof(l->goal_id), "%.*s", STR_ARG(g->row.goal_id));
        *ret_status = g->row.status;
        g->memory.round++;
        g->memory.lost_turns = 0;
        g->memory.retries = 0;
        (void)goal_set_phase(g, "verifying", STR(""), &err);
    }
    lock_give(&g->permit);
    return goes;
}

static int referee_judge(struct referee *self, const struct message *last, struct cancel *cancel,
                         struct referee_verdict *ret, struct err *err)
{
    struct goal *g = goal_of(self);
    CLEANUP(ladder_release) struct ladder l;
    CLEANUP(buf_release) struct buf claim = BUF_INIT(BUF_NO_LIMIT);
    enum goal_status status = GOAL_ACTIVE;
    int r;

    ladder_init(&l);
    if (!begin_verdict(g, &l, &status))
        return 0;
    if (last)
        message_text(last, &claim);
    l.claim = buf_str(&claim);
    if (claim_holds(g, &l, cancel)) {
        l.end = LADDER_MET;
        l.by = "judge";
        l.is_claim = true;
        buf_add(&l.reason, buf_str(&g->claim.reason));
        buf_add(&l.criteria, buf_str(&g->claim.criteria));
    } else if (status == GOAL_BUDGET_LIMITED && g->options.referee != REFEREE_CHECKS) {
        return 0; /* wrapped up; no more is spent on it */
    } else if (ladder_climb(g, &l, cancel, err) < 0) {
        return -1;
    }
    lock_take(&g->permit);
    VEC_EACH(&l.spends, it) {
        struct referee_spend spend = {.who = SPENT_JUDGE, .usage = &it->usage, .usd = it->usd};

        vec_push(&ret->spends, *it);
        account_spend(g, &spend);
    }
    (void)account_flush(g, CHARGE_ACTIVE_ONLY, err);
    err_clear(err);
    r = apply_verdict(g, &l, ret);
    lock_give(&g->permit);
    goal_flush_lines(g);
    if (l.end == LADDER_MET)
        keep_step(g, buf_str(&l.reason));
    return r;
}

/* ---- The end of a turn ---- */

static void referee_turn_begins(struct referee *self)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    lock_take(&g->permit);
    if (g->has && goal_read_row(g, &err) < 0)
        log_debug("goal", "%s", err.text);
    account_begin(g);
    g->held = false;
    g->denied = false;
    if (g->waits)
        goal_end_wait(g, "there is work to do");
    if (goal_is_active(g))
        (void)goal_set_phase(g, "working", STR(""), &err);
    lock_give(&g->permit);
}

static bool error_passes(enum err_code code)
{
    return code == ERR_RETRY_LATER || code == ERR_TIMEOUT || code == ERR_NETWORK ||
           code == ERR_PROTOCOL || code == ERR_BUSY;
}

static void retry_later(struct goal *g, const struct err *why)
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

/* Quota is not capacity: nothing helps but time, or money. */
static void quota_is_out(struct goal *g, const struct err *why)
{
    struct wait w = WAIT_INIT;
    struct err err = {0};

    if (g->options.auto_resume) {
        w.on = WAIT_QUOTA;
        w.until_ms = clock_wall_ms() + QUOTA_WAIT_MS;
        buf_adds(&w.text, why->text);
        goal_wait_for(g, &w, "waiting", &err);
        goal_notice(g, LEVEL_WARNING, "goal: %s; going on by itself in %d min", why->text,
                    (int)(QUOTA_WAIT_MS / 60000));
        return;
    }
    (void)goal_set_status(g, GOAL_USAGE_LIMITED, 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
                          str_of(why->text), "engine", &err);
}

static void after_error(struct goal *g, const struct err *why, int api_status)
{
    struct err err = {0};

    if (why->code == ERR_QUOTA || api_status == 402)
        quota_is_out(g, why);
    else if (error_passes(why->code) || api_status == 529 || api_status >= 500 || api_status == 429)
        retry_later(g, why);
    else
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, str_of(why->text), "engine",
                              &err);
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

static void after_turn(struct goal *g, enum turn_end end, const struct err *why, int api_status,
                       bool pushed)
{
    struct err err = {0};

    switch (end) {
    case END_ABORTED_STREAMING:
    case END_ABORTED_TOOLS:
        if (pushed)
            break;
        if (str_is(conf_get_str(g->spec.conf, "goal.onInterrupt"), "hold"))
            g->held = true;
        else
            (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("interrupted"), "user",
                                  &err);
        break;
    case END_API_ERROR:
        after_error(g, why, api_status);
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
    case END_STOP_HOOK_PREVENTED:
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("a hook ended the turn"),
                              "user", &err);
        break;
    case END_MODEL_ERROR:
        if (!in_plan_mode(g))
            turn_is_lost(g, why);
        break;
    case END_COMPLETED:
        if (!g->waits && !in_plan_mode(g))
            turn_is_lost(g, why);
        break;
    case END_CALLED_OFF:
        break;
    }
}

static void referee_turn_ends(struct referee *self, enum turn_end end, const struct err *why,
                              int api_status, bool pushed)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    lock_take(&g->permit);
    if (g->has) {
        (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
        if (goal_read_row(g, &err) < 0)
            log_debug("goal", "%s", err.text);
        /* A goal of another id came meanwhile: this turn says nothing about it. */
        if (goal_is_active(g) && str_is(g->row.goal_id, g->turn_goal))
            after_turn(g, end, why, api_status, pushed);
        if (g->has && g->row.status == GOAL_BUDGET_LIMITED && !g->memory.told_limit)
            tell_limit(g, reached_limit(g));
    }
    account_end(g);
    g->drives = false;
    g->wrap_up = 0;
    lock_give(&g->permit);
    goal_flush_lines(g);
}

/* ---- Idle ---- */

/* What is waited for: over, or a look at whether waiting still makes sense. */
static enum referee_idle while_waiting(struct goal *g, int64_t *ret_until_ms)
{
    int64_t now = clock_wall_ms();
    int64_t next = wait_next_ms(&g->wait);
    bool over = false;

    if (g->wait.on == WAIT_BACKGROUND) {
        int64_t patience = conf_get_i64(g->spec.conf, "goal.backgroundWait", 600) * 1000;
        int64_t last_ms = 0;
        size_t n = g->spec.host.background(g->spec.host.arg, /*names=*/NULL, &last_ms);
        int64_t left = last_ms + patience - clock_mono_ms();

        over = !n || left <= 0;
        if (over)
            buf_adds(&g->woken, n ? "What runs in the background has said nothing for long; it "
                                    "counts as a service from here on."
                                  : "What ran in the background has ended.");
        else
            next = now + left;
    } else if (g->watch && wait_watch_is_over(g->watch, &g->woken)) {
        over = true;
    } else if (g->wait.until_ms && now >= g->wait.until_ms) {
        over = true;
        if (g->wait.on != WAIT_RETRY)
            buf_adds(&g->woken, "The time that was waited for has come.");
    } else if (g->wait.check_in_ms && now >= g->wait.check_in_ms) {
        CLEANUP(buf_release) struct buf what = BUF_INIT(WAIT_MAX_TEXT);

        wait_checked_in(&g->wait, now);
        goal_keep_wait(g, "waiting", /*err=*/NULL);
        wait_describe(&g->wait, now, &what);
        goal_notice(g, LEVEL_INFO, "goal: still waiting for %s", buf_cstr(&what));
        next = wait_next_ms(&g->wait);
    }
    if (over) {
        goal_end_wait(g, g->woken.len ? buf_cstr(&g->woken) : "the time has come");
        return IDLE_TURN;
    }
    if (g->row.deadline_ms && (!next || g->row.deadline_ms < next))
        next = g->row.deadline_ms;
    *ret_until_ms = next ? clock_mono_ms() + (next > now ? next - now : 1) : -1;
    return IDLE_WAIT;
}

static void make_input(struct goal *g, struct agent_input *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct goal_words words = words_of(g);

    if (g->directive_due)
        goal_prompt_directive(&words, &text);
    else
        goal_prompt_continuation(&words, &text);
    if (g->woken.len)
        buf_addf(&text, "\n%.*s", STR_ARG(buf_str(&g->woken)));
    buf_clear(&g->woken);
    g->directive_due = false;
    g->continuation_due = false;
    g->updated_due = false;
    g->drives = true;
    *ret = (struct agent_input){.is_note = true, .message = message_user_text(buf_str(&text))};
    id_uuid(ret->uuid);
}

/* The row is read again under the permit: nobody can stop it between this look and the turn. */
static enum referee_idle idle_held(struct goal *g, struct agent_input *ret, int64_t *ret_until_ms)
{
    struct err err = {0};
    enum referee_idle next = IDLE_TURN;

    if (!g->has || g->closing)
        return IDLE_REST;
    if (goal_read_row(g, &err) < 0) {
        log_debug("goal", "%s", err.text);
        *ret_until_ms = clock_mono_ms() + FALLBACK_WAIT_MS;
        return IDLE_WAIT;
    }
    look_at_clock(g);
    if (!goal_is_active(g)) {
        if (g->waits)
            goal_end_wait(g, "the goal is no longer active");
        return IDLE_REST;
    }
    if (in_plan_mode(g) || g->held)
        return IDLE_REST;
    if (g->waits)
        next = while_waiting(g, ret_until_ms);
    if (next == IDLE_TURN)
        make_input(g, ret);
    return next;
}

static enum referee_idle referee_idle(struct referee *self, struct agent_input *ret,
                                      int64_t *ret_until_ms)
{
    struct goal *g = goal_of(self);
    enum referee_idle next;

    goal_flush_lines(g);
    lock_take(&g->permit);
    next = idle_held(g, ret, ret_until_ms);
    lock_give(&g->permit);
    goal_flush_lines(g);
    return next;
}

const struct referee *goal_referee_rows(void)
{
    static const struct referee rows = {
        .idle = referee_idle,
        .turn_begins = referee_turn_begins,
        .before_call = referee_before_call,
        .spent = referee_spent,
        .tool_done = referee_tool_done,
        .judge = referee_judge,
        .turn_ends = referee_turn_ends,
    };

    return &rows;
}

/* ---- A claim: on the tool's own thread ---- */

int goal_claim_complete(struct goal *g, struct str reason, struct cancel *cancel,
                        struct tool_result *ret, struct err *err)
{
    CLEANUP(ladder_release) struct ladder l;
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    enum goal_referee mode;
    bool stale;

    ladder_init(&l);
    l.is_claim = true;
    l.claim = reason;
    lock_take(&g->permit);
    snprintf(l.goal_id, sizeof(l.goal_id), "%.*s", STR_ARG(g->row.goal_id));
    mode = g->options.referee;
    lock_give(&g->permit);
    if (ladder_climb(g, &l, cancel, err) < 0)
        return -1;
    VEC_EACH(&l.spends, spend) {
        vec_push(&ret->spends, *spend);
    }
    if (l.end == LADDER_MET && mode != REFEREE_SELF)
        (void)ladder_state(g, cancel, l.state, /*err=*/NULL);
    lock_take(&g->permit);
    stale = verdict_is_stale(g, &l);
    if (stale || l.end != LADDER_MET) {
        ladder_write(g, &l, stale, &data);
        goal_note(g, "verdict", buf_str(&data));
        goal_tell(g, "goal_verdict", buf_str(&data));
    } else if (mode == REFEREE_SELF) {
        (void)verdict_met(g, &l);
    } else {
        ladder_write(g, &l, /*stale=*/false, &data);
        goal_note(g, "claim", buf_str(&data));
        g->claim.is_there = true;
        memcpy(g->claim.goal_id, l.goal_id, sizeof(l.goal_id));
        memcpy(g->claim.state, l.state, sizeof(l.state));
        buf_clear(&g->claim.reason);
        buf_add(&g->claim.reason, buf_str(&l.reason));
        buf_clear(&g->claim.criteria);
        buf_add(&g->claim.criteria, buf_str(&l.criteria));
    }
    lock_give(&g->permit);
    if (stale)
        return err_set(err, ERR_RETRY_LATER, "the goal was changed while it was being judged");
    if (l.end == LADDER_UNKNOWN)
        return err_set(err, l.err.code, "it could not be judged: %s", l.err.text);
    if (l.end == LADDER_MET)
        return 1;
    buf_adds(&ret->text, "Not complete: ");
    buf_add(&ret->text, buf_str(&l.reason));
    ret->is_error = true;
    return 0;
}
