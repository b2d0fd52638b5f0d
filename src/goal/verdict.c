/*
 * The consequences of a verdict: met, sent back, blocked, waiting, or unknown. At a stop on the
 * agent's thread; for a claim of the model on the tool's.
 */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "goal/prompt.h"
#include "json/jw.h"
#include "llm/message.h"
#include "sync/cancel.h"

static void tell_verdict(struct goal *g, const struct ladder *l, bool stale)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);

    ladder_write(g, l, stale, &data);
    goal_note(g, "verdict", buf_str(&data));
    goal_tell(g, "goal_verdict", buf_str(&data));
}

/* The verdict's result for each criterion is shown from now on. Where the goal is met without a
 * result for them, none is left that an earlier one called unmet. */
static void keep_criteria(struct goal *g, const struct ladder *l)
{
    if (!l->criteria.len && l->end != LADDER_MET)
        return;
    buf_clear(&g->memory.criteria);
    buf_add(&g->memory.criteria, buf_str(&l->criteria));
}

/* The verdict and the goal's new status in one transaction. 0: the goal was stopped before that,
 * and the verdict is too late. */
static int set_status_judged(struct goal *g, const struct ladder *l, enum goal_status to,
                             unsigned from, struct str why, struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf before = BUF_INIT(64 << 10);
    int r;

    buf_add(&before, buf_str(&g->memory.criteria));
    keep_criteria(g, l);
    ladder_write(g, l, /*stale=*/false, &data);
    r = goal_set_status_by(g, to, from, why, "engine", buf_str(&data), err);
    if (r <= 0) {
        buf_clear(&g->memory.criteria);
        buf_add(&g->memory.criteria, buf_str(&before));
    }
    if (r == 0)
        tell_verdict(g, l, /*stale=*/true);
    return r;
}

/* 0: the turn may end. The row decides: it may have been paused or cleared. */
static int verdict_met(struct goal *g, struct ladder *l)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct err err = {0};
    struct jw w;
    int r;

    (void)account_flush(g, CHARGE_ACTIVE_OR_COMPLETE, &err);
    r = set_status_judged(g, l, GOAL_COMPLETE, 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
                          buf_str(&l->reason), &err);
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
    g->claim.is_there = false;
    account_detach(g);
    g->next_due = true; /* when the agent is idle */
    buf_clear(&l->step);
    buf_add(&l->step, buf_str(&l->reason));
    return 0;
}

static int verdict_unmet(struct goal *g, const struct ladder *l, struct referee_verdict *ret)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf memory = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf why = BUF_INIT(32 << 10);
    struct str reason = buf_str(&l->reason);
    struct str phase = STR("working"), nothing = STR(""), text;
    struct goal_update u = {
        .from = 1u << GOAL_ACTIVE | 1u << GOAL_BUDGET_LIMITED,
        .add_iterations = 1,
        .phase = g->waits ? NULL : &phase, /* it was set to wait by a command */
        .phase_detail = g->waits ? NULL : &nothing,
    };
    struct err err = {0};
    bool is_silent = !reason.len; /* mode self: it has not said that it is done */
    int stalls = stall_round(g, l);
    int r;

    if (!is_silent)
        u.last_reason = &reason;
    keep_criteria(g, l);
    memory_write(&g->memory, &memory);
    text = buf_str(&memory);
    u.memory = &text;
    ladder_write(g, l, /*stale=*/false, &data);
    r = goal_update(g, &u, "verdict", buf_str(&data), &err);
    if (r <= 0) {
        if (r < 0)
            goal_halt(g, STR("the goal is not met"), &err);
        return 0; /* it was stopped by a command */
    }
    goal_tell(g, "goal_verdict", buf_str(&data));
    goal_attach(g, /*met=*/false, /*sentinel=*/false,
                is_silent ? STR("not said to be complete") : reason, /*achieved=*/false);
    goal_tell_active(g);
    if (g->row.status != GOAL_ACTIVE) /* wrapping up: it may end */
        return 0;
    if (g->waits) { /* it hears the reason when it goes on */
        g->feedback_due = !is_silent;
        return 0;
    }
    g->drives = true;
    if (is_silent) {
        struct goal_words words = goal_words_now(g);

        goal_prompt_continuation(&words, &ret->feedback);
    } else {
        goal_prompt_feedback(reason, &ret->feedback);
    }
    return stall_act(g, stalls, "rounds", &ret->feedback, &ret->fresh, &ret->keep, &why);
}

static int verdict_unknown(struct goal *g, const struct ladder *l)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 12);
    struct err err = {0};

    if (l->err.code == ERR_QUOTA || goal_is_quota(g, l->asked_ms)) {
        tell_verdict(g, l, /*stale=*/false);
        buf_addf(&why, "the judge's account has nothing left: %s", l->err.text);
        goal_out_of_quota(g, buf_str(&why), l->asked_ms);
        return 0;
    }
    buf_addf(&why, "it cannot be judged: %s", l->err.text);
    /* Observers are notified with the status. */
    (void)set_status_judged(g, l, GOAL_PAUSED, 1u << GOAL_ACTIVE, buf_str(&why), &err);
    return 0;
}

/* For background commands: the turn ends, and goes on when they are done or have run for long. */
static int verdict_waits(struct goal *g)
{
    struct wait w = WAIT_INIT;
    struct err err = {0};
    int64_t last_ms = 0;

    if (!goal_is_active(g)) /* wrapped up: there is no further turn */
        return 0;
    w.on = WAIT_BACKGROUND;
    (void)g->spec.host.background(g->spec.host.arg, &w.text, &last_ms);
    goal_wait_for(g, &w, "waiting", &err);
    return 0;
}

/* Still the goal that was judged, and still its hook? *ret_edited: it is, but what it is judged by
 * is not what it was. */
static bool verdict_is_stale(struct goal *g, const struct ladder *l, bool *ret_edited)
{
    char terms[SHA256_HEX + 1];
    struct err err = {0};

    *ret_edited = false;
    if (goal_read_row(g, &err) < 0 || !g->has || !str_is(g->row.goal_id, l->goal_id) ||
        !g->spec.host.is_armed(g->spec.host.arg, g->row.objective))
        return true;
    goal_terms(g, terms);
    *ret_edited = strcmp(terms, l->terms) != 0;
    return *ret_edited;
}

/* The verdict was about an earlier goal; the agent continues with the present one. */
static int go_on_edited(struct goal *g, struct referee_verdict *ret)
{
    struct goal_words words = goal_words_now(g);

    if (!goal_is_active(g) || g->waits)
        return 0;
    if (g->updated_due)
        goal_prompt_updated(&words, &ret->feedback);
    else
        goal_prompt_continuation(&words, &ret->feedback);
    g->updated_due = false;
    g->drives = true;
    return 1;
}

static int apply_verdict(struct goal *g, struct ladder *l, struct referee_verdict *ret)
{
    struct err err = {0};
    bool is_edited;

    if (verdict_is_stale(g, l, &is_edited)) {
        tell_verdict(g, l, /*stale=*/true);
        return is_edited ? go_on_edited(g, ret) : 0;
    }
    (void)terms_object(g, l);
    milestone_look(g, l, &l->step);
    if (l->end != LADDER_UNKNOWN) /* both accounts have something left */
        g->memory.quota_waits = 0;
    switch (l->end) {
    case LADDER_MET:
        return verdict_met(g, l);
    case LADDER_UNMET:
        return verdict_unmet(g, l, ret);
    case LADDER_IMPOSSIBLE:
        (void)set_status_judged(g, l, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(&l->reason), &err);
        return 0;
    case LADDER_WAITS:
        return verdict_waits(g);
    case LADDER_UNKNOWN:
        break;
    }
    return verdict_unknown(g, l);
}

/* A claim that was accepted counts while the workspace and the goal are as they were then: the
 * judge is not asked again. Checks may depend on something elsewhere, so they run anyway. */
static bool claim_holds(struct goal *g, const struct ladder *l, struct cancel *cancel)
{
    char state[SHA256_HEX + 1] = "";
    char terms[SHA256_HEX + 1];
    bool is_there;

    goal_enter(g);
    goal_terms(g, terms);
    is_there = g->claim.is_there && strcmp(g->claim.goal_id, l->goal_id) == 0 &&
               strcmp(g->claim.terms, terms) == 0;
    g->claim.is_there = false;
    goal_leave(g);
    return is_there && g->claim.state[0] && ladder_state(g, cancel, state, /*err=*/NULL) == 0 &&
           strcmp(state, g->claim.state) == 0;
}

/* The beginning of a verdict; false: there is nothing to judge. */
static bool begin_verdict(struct goal *g, struct ladder *l, enum goal_status *ret_status)
{
    struct err err = {0};
    bool goes;

    goal_enter(g);
    (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
    if (g->has && goal_read_row(g, &err) < 0)
        log_debug("goal", "%s", err.text);
    /* A goal that was set to wait in this turn is judged when it continues. */
    goes = g->has && (g->row.status == GOAL_ACTIVE || g->row.status == GOAL_BUDGET_LIMITED) &&
           str_is(g->row.goal_id, g->turn_goal) && !goal_in_plan_mode(g) && !g->waits;
    if (goes) {
        snprintf(l->goal_id, sizeof(l->goal_id), "%.*s", STR_ARG(g->row.goal_id));
        *ret_status = g->row.status;
        g->memory.round++;
        g->memory.lost_turns = 0;
        g->memory.retries = 0;
        stall_stop(g);
        (void)goal_set_phase(g, "verifying", STR(""), &err);
    }
    goal_leave(g);
    return goes;
}

int goal_judge(struct referee *self, const struct message *last, struct cancel *cancel,
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
    l.is_confirmed = claim_holds(g, &l, cancel);
    l.is_claim = l.is_confirmed;
    if (status == GOAL_BUDGET_LIMITED && g->options.referee != REFEREE_CHECKS && !l.is_confirmed)
        return 0; /* wrapped up; no more is spent on it */
    if (ladder_climb(g, &l, cancel, err) < 0)
        return -1;
    goal_enter(g);
    (void)account_flush(g, CHARGE_ACTIVE_ONLY, err);
    err_clear(err);
    r = apply_verdict(g, &l, ret);
    goal_leave(g);
    goal_flush_lines(g);
    milestone_keep(g, &l);
    proof_keep(g, &l, cancel);
    return r;
}

/* ---- A claim: on the tool's own thread ---- */

static void answer_refused(struct tool_result *ret, struct str reason)
{
    buf_adds(&ret->text, "Not complete: ");
    buf_add(&ret->text, reason);
    ret->is_error = true;
}

/* A claim for a state that was refused before is refused for the same reason, without checks and
 * without the judge. Where a check has refused it, and a command ran since, what the check looks at
 * may lie elsewhere: it is run again. */
static bool is_refused_again(struct goal *g, struct cancel *cancel, struct tool_result *ret)
{
    struct goal_refused *last = &g->refused;
    char state[SHA256_HEX + 1] = "";
    char terms[SHA256_HEX + 1];
    bool is_same;

    goal_enter(g);
    goal_terms(g, terms);
    is_same =
        last->state[0] && strcmp(last->terms, terms) == 0 && (last->by_judge || !last->is_stale);
    goal_leave(g);
    if (!is_same || ladder_content(g, cancel, state, /*err=*/NULL) < 0 ||
        strcmp(state, last->state) != 0)
        return false;
    goal_enter(g);
    answer_refused(ret, buf_str(&last->reason));
    buf_adds(&ret->text, "\nNothing has changed since that verdict, so nothing was checked again. "
                         "Change something before you claim it again, or end your turn.");
    stall_claim(g, /*l=*/NULL);
    goal_leave(g);
    return true;
}

/* The goal is held. state: of the workspace after the verdict. */
static void keep_refused(struct goal *g, const struct ladder *l, const char *state)
{
    struct goal_refused *last = &g->refused;

    memcpy(last->terms, l->terms, sizeof(last->terms));
    memcpy(last->state, state, sizeof(last->state));
    last->by_judge = l->by && strcmp(l->by, "judge") == 0;
    last->is_stale = false;
    buf_clear(&last->reason);
    buf_add(&last->reason, buf_str(&l->reason));
    stall_claim(g, l);
}

int goal_claim_complete(struct goal *g, struct str reason, struct cancel *cancel,
                        struct tool_result *ret, struct err *err)
{
    CLEANUP(ladder_release) struct ladder l;
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    char state[SHA256_HEX + 1] = "";
    enum goal_referee mode;
    bool stale, is_edited;

    ladder_init(&l);
    if (is_refused_again(g, cancel, ret))
        return 0;
    l.is_claim = true;
    l.claim = reason;
    goal_enter(g);
    snprintf(l.goal_id, sizeof(l.goal_id), "%.*s", STR_ARG(g->row.goal_id));
    mode = g->options.referee;
    goal_leave(g);
    if (ladder_climb(g, &l, cancel, err) < 0)
        return -1;
    if (l.end == LADDER_MET && mode != REFEREE_SELF)
        (void)ladder_state(g, cancel, l.state, /*err=*/NULL);
    if (l.end == LADDER_UNMET)
        (void)ladder_content(g, cancel, state, /*err=*/NULL);
    goal_enter(g);
    stale = verdict_is_stale(g, &l, &is_edited);
    if (!stale && l.end == LADDER_UNMET)
        keep_refused(g, &l, state);
    if (!stale)
        (void)terms_object(g, &l);
    if (!stale)
        milestone_look(g, &l, &l.step);
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
        memcpy(g->claim.terms, l.terms, sizeof(l.terms));
        memcpy(g->claim.state, l.state, sizeof(l.state));
        buf_clear(&g->claim.reason);
        buf_add(&g->claim.reason, buf_str(&l.reason));
        buf_clear(&g->claim.criteria);
        buf_add(&g->claim.criteria, buf_str(&l.criteria));
    }
    goal_leave(g);
    milestone_keep(g, &l);
    if (!stale && l.end == LADDER_MET && mode == REFEREE_SELF)
        proof_keep(g, &l, cancel);
    else if (!stale && l.end == LADDER_MET)
        proof_take(g, &l, cancel);
    if (stale)
        return err_set(err, ERR_RETRY_LATER, "the goal was changed while it was being judged");
    if (l.end == LADDER_UNKNOWN)
        return err_set(err, l.err.code, "it could not be judged: %s", l.err.text);
    if (l.end == LADDER_MET)
        return 1;
    answer_refused(ret, buf_str(&l.reason));
    return 0;
}
