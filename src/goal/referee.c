/*
 * The referee: what a goal does at each point of a turn, and when the agent is idle. Agent thread.
 *
 * A turn that the goal began, or sent back, is the goal's own: it ends before the next call of the
 * model when the goal has been paused or cleared. One that the user began runs to its end.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/goal_state.h"
#include "goal/prompt.h"
#include "goal/report/display.h"
#include "guard/permit.h"
#include "json/jw.h"
#include "llm/message.h"
#include "sync/cancel.h"

#define FALLBACK_WAIT_MS 1000
#define UNSAVED 3 /* times in a row that the store may fail */

/* ---- Before each call ---- */

/* The deadline passes without anything being spent. */
static void look_at_clock(struct goal *g)
{
    if (goal_is_active(g) && goal_is_overdue(g))
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
    CLEANUP(buf_release) struct buf why = BUF_INIT(256);
    struct jw w;

    g->memory.told_limit = true;
    (void)goal_remember(g, /*err=*/NULL);
    buf_addf(&why, "the %s is reached", goal_limit_name(cap));
    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "which", goal_limit_name(cap));
    jw_kcstr(&w, "from", goal_status_name(GOAL_ACTIVE));
    jw_kcstr(&w, "to", goal_status_name(GOAL_BUDGET_LIMITED));
    jw_kstr(&w, "why", buf_str(&why));
    jw_kcstr(&w, "by", "engine");
    jw_object_end(&w);
    goal_note(g, "status", buf_str(&data));
    goal_tell_status(g, GOAL_BUDGET_LIMITED, buf_str(&why), /*by_user=*/false, buf_str(&data));
    goal_notice(g, LEVEL_WARNING, "goal: the %s is reached", goal_limit_name(cap));
}

/* A limit is reached: the model is notified once, may wrap up, and is then stopped. A deadline, and
 * a limit that is reached again after it was raised, stop it at once. 1: stop. */
static int wrap_up(struct goal *g, struct referee_call *ret)
{
    enum goal_limit cap = reached_limit(g);

    if (!g->memory.told_limit) {
        bool is_first = !g->memory.wrapped_up;

        g->memory.wrapped_up = true;
        tell_limit(g, cap);
        if (is_first && cap != LIMIT_DEADLINE) {
            struct goal_words words = goal_words_now(g);

            g->wrap_up = GOAL_WRAP_UP;
            goal_prompt_budget_limit(&words, str_of(goal_limit_name(cap)), &ret->say);
        }
    }
    if (cap != LIMIT_DEADLINE && g->wrap_up-- > 0)
        return 0;
    buf_addf(&ret->why, "the goal's %s is reached", goal_limit_name(cap));
    return 1;
}

/* 1: the turn was the goal's, and the goal does not want it any more. */
static int is_called_off(struct goal *g, struct buf *why)
{
    if (!g->drives)
        return 0;
    if (!g->turn_goal[0]) { /* it has ended: a closing word, but no second life */
        if (g->wrap_up-- > 0)
            return 0;
        buf_adds(why, "the goal has ended");
        return 1;
    }
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

/* Without a store to charge, limits cannot be kept: stop after a few attempts. */
static void store_fails(struct goal *g, const struct err *err)
{
    log_debug("goal", "%s", err->text);
    if (++g->unsaved >= UNSAVED)
        goal_halt(g, STR("the store fails"), err);
}

static int before_call_held(struct goal *g, struct referee_call *ret)
{
    struct err err = {0};
    struct goal_words words;

    if (!g->has && !g->turn_goal[0] && !g->drives)
        return 0;
    if (account_flush(g, CHARGE_ACTIVE_STATUS_ONLY, &err) < 0 || goal_read_row(g, &err) < 0)
        store_fails(g, &err);
    else
        g->unsaved = 0;
    if (g->halted) {
        buf_add(&ret->why, buf_str(&g->stop_why));
        return 1;
    }
    look_at_clock(g);
    alarm_start(g); /* the goal, or its deadline, may be newer than the turn */
    if (is_called_off(g, &ret->why))
        return 1;
    if (!g->has || goal_in_plan_mode(g) ||
        (g->row.status != GOAL_ACTIVE && g->row.status != GOAL_BUDGET_LIMITED))
        return 0;
    if (g->denied && !g->options.on_deny_skip && goal_is_active(g)) {
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&g->denied_what),
                              "engine", &err);
        buf_add(&ret->why, buf_str(&g->denied_what));
        return 1;
    }
    if (goal_is_active(g))
        account_warn(g);
    words = goal_words_now(g); /* good until the row is written again */
    if (goal_is_active(g)) {
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
    if (goal_is_active(g) && g->row.deadline_ms)
        ret->most_wait_ms = g->row.deadline_ms - clock_wall_ms();
    return g->row.status == GOAL_BUDGET_LIMITED && str_is(g->row.goal_id, g->turn_goal)
               ? wrap_up(g, ret)
               : 0;
}

static int goal_on_before_call(struct referee *self, struct referee_call *ret)
{
    struct goal *g = goal_of(self);
    int r;

    goal_enter(g);
    r = before_call_held(g, ret);
    goal_leave(g);
    if (r == 0)
        r = stall_call(g, ret);
    goal_flush_lines(g);
    return r;
}

/* The end of each request names the goal, but only the beginning of a long text. */
static void goal_on_restate(struct referee *self, struct buf *ret)
{
    struct goal *g = goal_of(self);

    goal_enter(g);
    if (goal_is_active(g)) {
        struct goal_words words = goal_words_now(g);

        if (words.objective.len > GOAL_TAIL_MAX_OBJECTIVE)
            goal_prompt_continuation(&words, ret);
    }
    goal_leave(g);
}

static void goal_on_tool_done(struct referee *self, const struct referee_tool *t)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    goal_enter(g);
    if (g->has) {
        evidence_add(g, t);
        if (t->ran && !str_is(t->name, "update_goal"))
            (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
        if (t->unanswered && !g->denied) {
            g->denied = true;
            buf_clear(&g->denied_what);
            buf_addf(&g->denied_what,
                     "%.*s needs an approval that is impossible in this run: allow it by a rule "
                     "or a permission mode, or use --on-deny skip",
                     STR_ARG(t->name));
        }
    }
    goal_leave(g);
}

/* ---- The end of a turn ---- */

static void goal_on_turn_begins(struct referee *self, struct cancel *turn)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    goal_enter(g);
    g->turn_cancel = turn;
    g->rang = false;
    if (g->has && goal_read_row(g, &err) < 0)
        log_debug("goal", "%s", err.text);
    account_begin(g);
    stall_stop(g);
    g->held = false;
    g->denied = false;
    /* A message of the user does not end the wait. A try that is due later may come now, though,
     * and for the background the next stop looks again. */
    if (g->waits && (g->wait.on == WAIT_RETRY || g->wait.on == WAIT_BACKGROUND))
        goal_end_wait(g, "there is work to do");
    if (goal_is_active(g) && !g->waits)
        (void)goal_set_phase(g, "working", STR(""), &err);
    alarm_start(g);
    goal_leave(g);
}

static bool goal_on_ended_turn(struct referee *self, struct buf *ret_why)
{
    struct goal *g = goal_of(self);
    bool rang;

    goal_enter(g);
    rang = g->rang;
    goal_leave(g);
    if (rang)
        buf_adds(ret_why, "the goal's deadline is reached");
    return rang;
}

/* A claim was accepted for the end of the turn, and this is not it: the ladder will run again. */
static void goal_on_sent_back(struct referee *self)
{
    struct goal *g = goal_of(self);

    goal_enter(g);
    g->claim.is_there = false;
    goal_leave(g);
}

static void goal_on_after_turn(struct referee *self, const struct referee_end *e)
{
    struct goal *g = goal_of(self);
    struct err err = {0};

    alarm_stop(g);
    goal_enter(g);
    g->turn_cancel = NULL;
    if (g->has) {
        (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
        if (goal_read_row(g, &err) < 0)
            log_debug("goal", "%s", err.text);
    }
    if (g->has) {
        if (g->rang)
            look_at_clock(g);
        /* The goal was replaced: this turn says nothing about the new one. */
        if (goal_is_active(g) && str_is(g->row.goal_id, g->turn_goal))
            goal_after_turn(g, e);
        if (g->has && g->row.status == GOAL_BUDGET_LIMITED && !g->memory.told_limit)
            tell_limit(g, reached_limit(g));
    }
    account_end(g);
    g->claim.is_there = false;
    g->drives = false;
    g->wrap_up = 0;
    buf_clear(&g->typed); /* text typed during the turn has been used there */
    goal_leave(g);
    goal_flush_lines(g);
}

/* ---- Idle ---- */

/* The wait is over, or it is time to look whether it still makes sense. */
static enum referee_idle while_waiting(struct goal *g, int64_t *ret_until_ms)
{
    int64_t now = clock_wall_ms();
    int64_t next = wait_next_ms(&g->wait);
    bool over = false;

    if (g->wait.on == WAIT_BACKGROUND) {
        int64_t patience = conf_get_i64(g->spec.conf, "goal.backgroundWait", 600) * 1000;
        int64_t began_ms = 0;
        size_t n = g->spec.host.background(g->spec.host.arg, /*names=*/NULL, &began_ms);
        int64_t left = began_ms + patience - clock_mono_ms();

        over = !n || left <= 0;
        if (over)
            buf_adds(&g->woken, n ? "What runs in the background has run for long; it counts as a "
                                    "service from here on."
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

/* In the form of commands in transcripts, followed by the text for the model. */
static struct message *typed_message(struct str args, struct str text)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(BUF_NO_LIMIT);
    struct message *m = message_new(ROLE_USER, 2);

    buf_addf(&head,
             "<command-name>/goal</command-name>\n<command-message>goal</command-message>\n"
             "<command-args>%.*s</command-args>",
             STR_ARG(args));
    message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = buf_str(&head)});
    message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = text});
    return m;
}

static void make_input(struct goal *g, struct agent_input *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct goal_words words = goal_words_now(g);

    if (g->directive_due)
        goal_prompt_directive(&words, &text);
    else
        goal_prompt_continuation(&words, &text);
    if (g->woken.len)
        buf_addf(&text, "\n%.*s", STR_ARG(buf_str(&g->woken)));
    if (g->feedback_due) {
        buf_addc(&text, '\n');
        goal_prompt_feedback(g->row.last_reason, &text);
    }
    buf_clear(&g->woken);
    g->directive_due = false;
    g->continuation_due = false;
    g->feedback_due = false;
    g->updated_due = false;
    g->drives = true;
    *ret = (struct agent_input){.is_note = true};
    if (g->typed.len) {
        ret->is_typed = true;
        ret->message = typed_message(buf_str(&g->typed), buf_str(&text));
        buf_clear(&g->typed);
    } else {
        ret->message = message_user_text(buf_str(&text));
    }
    id_uuid(ret->uuid);
}

/* The row is read again while the goal is held: nothing can stop it between this look and the turn.
 */
static enum referee_idle idle_held(struct goal *g, struct agent_input *ret, int64_t *ret_until_ms)
{
    struct err err = {0};
    enum referee_idle next = IDLE_TURN;

    if (g->has && !g->closing && !g->halted && goal_read_row(g, &err) < 0) {
        store_fails(g, &err);
        *ret_until_ms = clock_mono_ms() + FALLBACK_WAIT_MS;
        return g->halted ? IDLE_REST : IDLE_WAIT;
    }
    if (!g->has || g->closing)
        return IDLE_REST;
    look_at_clock(g);
    if (!goal_is_active(g)) {
        if (g->waits)
            goal_end_wait(g, "the goal is no longer active");
        return IDLE_REST;
    }
    if (goal_in_plan_mode(g) || g->held)
        return IDLE_REST;
    if (g->waits)
        next = while_waiting(g, ret_until_ms);
    if (next == IDLE_TURN)
        make_input(g, ret);
    return next;
}

/* The next goal of the queue, after a complete one. */
static void begin_next(struct goal *g)
{
    struct err err = {0};
    int r = goal_start_next(g, g->spec.cancel, &err);

    if (r > 0)
        goal_notice(g, LEVEL_INFO, "goal: the next one of the queue begins");
    if (r < 0 && err.code != ERR_CANCELLED)
        goal_notice(g, LEVEL_ERROR,
                    "goal: the next one could not be set, and stays in the queue: %s. /goal resume "
                    "tries it again",
                    err.text);
}

static enum referee_idle goal_on_idle(struct referee *self, struct agent_input *ret,
                                      int64_t *ret_until_ms)
{
    struct goal *g = goal_of(self);
    enum referee_idle next;

    goal_flush_lines(g);
    begin_next(g);
    goal_enter(g);
    next = idle_held(g, ret, ret_until_ms);
    goal_leave(g);
    goal_flush_lines(g);
    return next;
}

const struct referee *goal_referee_rows(void)
{
    static const struct referee rows = {
        .idle = goal_on_idle,
        .turn_begins = goal_on_turn_begins,
        .ended_turn = goal_on_ended_turn,
        .before_call = goal_on_before_call,
        .restate = goal_on_restate,
        .tool_done = goal_on_tool_done,
        .may_stop = goal_judge,
        .sent_back = goal_on_sent_back,
        .after_turn = goal_on_after_turn,
    };

    return &rows;
}

struct goal *goal_in(struct referee *first)
{
    while (first && first->may_stop != goal_judge)
        first = first->outer;
    return first ? goal_of(first) : NULL;
}
