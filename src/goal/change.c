/*
 * What people and clients want of a goal: one function per verb, the store first. Any thread.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/store.h"
#include "sync/cancel.h"

#define LOG_EVENTS 2000
#define SAVE_PATIENCE_MS 100 /* of an answer, for a busy database */
#define STOPPED                                                                                    \
    (1u << GOAL_PAUSED | 1u << GOAL_BLOCKED | 1u << GOAL_USAGE_LIMITED | 1u << GOAL_BUDGET_LIMITED)

/* Everything below runs with the permit held, except where noted. */

/* The reason that barred the goal on restore may be gone; otherwise it is reported again. */
static int goal_unbar(struct goal *g, struct err *err)
{
    const char *code = "";

    if (g->barred && goal_gate(g, &code, err) < 0)
        return err_prefix(err, "the session's goal is not taken up (%s)", code);
    g->barred = false;
    return 0;
}

int goal_need(struct goal *g, struct err *err)
{
    if (!g->spec.is_kept)
        return err_set(err, ERR_UNSUPPORTED,
                       "this session is not kept, so it has no goal: start without "
                       "--no-session-persistence");
    if (goal_unbar(g, err) < 0 || goal_read_row(g, err) < 0)
        return -1;
    if (!g->has)
        return err_set(err, ERR_NOT_FOUND,
                       "No goal is set. /goal <condition> sets one, /goal alone lists "
                       "its commands");
    return 0;
}

/* ---- Show ---- */

/* The names of some protected files, and their number. A manifest that cannot be read has no names;
 * the ladder reports the error. */
static size_t show_protected(const struct goal *g, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct origin *o = NULL;
    int64_t count;

    if (!g->has || !g->row.protect.len ||
        json_parse(&arena, g->row.protect, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return 0;
    count = json_get_i64(v, "count", 0);
    if (count > 0 && origin_read(arena_cstr(&arena, json_get_str(v, "manifest")), g->spec.environ,
                                 json_get_str(v, "sha256"), &o, /*err=*/NULL) == 0) {
        count = (int64_t)origin_count(o);
        origin_names(o, GOAL_SHOWN_PROTECTED, ret);
        origin_free(o);
    }
    return count > 0 ? (size_t)count : 0;
}

static int change_show(struct goal *g, struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct goal_look look = {0};

    if (goal_unbar(g, err) < 0 || (g->spec.is_kept && goal_read_row(g, err) < 0))
        return -1;
    if (!g->spec.is_kept)
        buf_adds(&ret->text, "This session is not kept, so it can have no goal: start without "
                             "--no-session-persistence.\n");
    look = (struct goal_look){
        .goal = g->has ? &g->row : NULL,
        .now_ms = clock_mono_ms(),
        .read_ms = g->read_ms,
        .turn_ms = g->in_turn && g->turn_goal[0] ? g->clock_ms : 0,
        .plan_mode = g->spec.permit && permit_mode(g->spec.permit) == MODE_PLAN,
        .protected_names = &names,
        .protected_count = show_protected(g, &names),
    };
    goal_show_summary(&look, g->text.len ? buf_str(&g->text) : g->row.objective,
                      buf_str(&g->memory.criteria), &ret->text);
    return 0;
}

static int change_log(struct goal *g, struct cancel *cancel, struct goal_answer *ret,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_event_vec events = {0};
    int64_t since_ms;
    struct str goal_id;
    int r;

    if (goal_need(g, err) < 0)
        return -1;
    goal_id = arena_str(&arena, g->row.goal_id);
    since_ms = g->row.created_at_ms;
    goal_leave(g);
    r = store_goal_last_events(g->store, str_of(g->spec.session), goal_id, LOG_EVENTS, &arena,
                               &events, cancel, err);
    goal_enter(g);
    if (r == 0)
        goal_show_log(&events, since_ms, &ret->text);
    vec_release(&events);
    return r;
}

/* ---- Clear, pause, resume ---- */

static int change_clear(struct goal *g, struct goal_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct goal_event event = {.time_ms = clock_wall_ms(), .kind = STR("cleared")};
    struct store_goal was = {0}, none = {0};
    struct jw w;
    int r;

    g->barred = false; /* dropping it is allowed where setting one is not */
    if (!g->spec.is_kept || (goal_read_row(g, err) == 0 && !g->has)) {
        buf_addf(&ret->text, "No goal is set, so nothing was cleared.\n%s", goal_usage);
        return 0;
    }
    if (!g->store)
        return -1;
    (void)account_flush(g, CHARGE_ACTIVE_ONLY, /*err=*/NULL);
    goal_tell_begin(g, &w, &data);
    jw_object_end(&w);
    event.goal_id = g->row.goal_id;
    event.data = buf_str(&data);
    /* First: a row that is gone while the transcript has its terms would be restored. */
    if (terms_keep_cleared(g, err) < 0)
        return -1;
    r = store_goal_delete(g->store, str_of(g->spec.session), g->row.goal_id, event.time_ms, &event,
                          &arena, &was, /*cancel=*/NULL, err);
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
    buf_addf(&ret->text, "Goal cleared: ");
    goal_show_line(was.objective, 300, &ret->text);
    buf_addf(&ret->text, "\nIts report stays: /goal report %.*s",
             STR_ARG(str_first(was.goal_id, GOAL_ID_SHOWN)));
    goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
    goal_close_old(g, /*say_cleared=*/false);
    g->spec.host.arm(g->spec.host.arg, STR(""));
    goal_take_row(g, &none);
    goal_tell(g, "goal_cleared", buf_str(&data));
    goal_tell_active(g);
    return 0;
}

static int change_pause(struct goal *g, struct goal_answer *ret, struct err *err)
{
    int r;

    if (goal_need(g, err) < 0)
        return -1;
    r = goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE | 1u << GOAL_USAGE_LIMITED,
                        STR("by the user"), "user", err);
    if (r < 0)
        return -1;
    if (r == 0)
        buf_addf(&ret->text, "The goal is %s; there is nothing to pause.",
                 g->has ? goal_show_status(g->row.status) : "gone");
    else
        buf_adds(&ret->text, "Goal paused. /goal resume continues it.");
    if (r > 0 && g->waits)
        goal_end_wait(g, "the goal was paused");
    return 0;
}

void goal_forget_guards(struct goal *g)
{
    struct goal_memory *m = &g->memory;

    m->stalls = 0;
    strv_clear(&m->seen);
    strv_clear(&m->shown);
    m->blockers = 0;
    buf_clear(&m->blocker);
    m->judge_unread = m->judge_down = 0;
    m->retries = m->quota_waits = m->lost_turns = 0;
    m->told_limit = false;
    m->warned = 0;
    g->held = g->denied = false;
    g->halted = false;
    g->unsaved = 0;
    g->refused.state[0] = '\0';
    g->stretch.claim_counts = false;
    (void)goal_remember(g, /*err=*/NULL);
}

/* A turn begins by itself, or the answer says why not; a caller would wait for it indefinitely.
 */
void goal_say_turn(struct goal *g, struct goal_answer *ret)
{
    ret->turn = !goal_in_plan_mode(g);
    if (!ret->turn)
        buf_adds(&ret->text, "\n  it is held by plan mode: work on it begins when that is left");
}

static void say_landed(struct goal *g, struct goal_answer *ret)
{
    if (goal_is_active(g)) {
        goal_forget_guards(g);
        g->continuation_due = true;
        g->spec.host.arm(g->spec.host.arg, g->row.objective);
        buf_adds(&ret->text, "Goal active: ");
        goal_show_line(g->row.objective, 300, &ret->text);
        goal_say_turn(g, ret);
        return;
    }
    buf_addf(&ret->text, "The goal is %s. ", goal_show_status(g->row.status));
    goal_show_stop(&g->row, &ret->text);
}

/* A goal whose full text is lost cannot continue with the first line of it. */
static int check_text(const struct goal *g, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (g->text.len || !g->row.options.len ||
        json_parse(&arena, g->row.options, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !json_get(v, "file"))
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "the goal's text in %.*s is gone or was changed; say it anew: /goal edit -- "
                   "<condition>",
                   STR_ARG(json_get_str(v, "file")));
}

/* Nor one whose terms are lost: the answer says what to do. */
static bool is_lost(const struct goal *g, struct goal_answer *ret)
{
    if (g->lost.len)
        buf_addf(&ret->text,
                 "%.*s. Set the goal again with its checks and limits, or accept it as it is now: "
                 "/goal accept terms",
                 STR_ARG(buf_str(&g->lost)));
    return g->lost.len > 0;
}

/* After a complete goal the next one of the queue may have failed to begin. */
static int resume_next(struct goal *g, struct cancel *cancel, struct goal_answer *ret,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec list = {0};
    int r = store_goal_next_list(g->store, str_of(g->spec.session), &arena, &list, cancel, err);

    if (r == 0 && list.len) {
        g->next_due = true;
        buf_adds(&ret->text, "The next goal begins: ");
        goal_show_line(list.ptr[0].objective, 300, &ret->text);
        goal_say_turn(g, ret);
    } else if (r == 0) {
        buf_adds(&ret->text, "The goal is complete; /goal <condition> sets another.");
    }
    vec_release(&list);
    return r;
}

static int change_resume(struct goal *g, struct cancel *cancel, struct goal_answer *ret,
                         struct err *err)
{
    int r;

    if (goal_need(g, err) < 0 || goal_gate(g, &ret->code, err) < 0)
        return -1;
    if (g->row.status == GOAL_ACTIVE) {
        if (g->waits)
            goal_end_wait(g, "resumed by the user");
        g->held = g->halted = false;
        g->unsaved = 0;
        g->continuation_due = true;
        buf_adds(&ret->text, "The goal is active already.");
        goal_say_turn(g, ret);
        return 0;
    }
    if (g->row.status == GOAL_COMPLETE)
        return resume_next(g, cancel, ret, err);
    if (!file_is_dir(g->spec.dir))
        return err_set(err, ERR_NOT_FOUND, "the folder %s is gone; restore it to continue the goal",
                       g->spec.dir);
    if (check_text(g, err) < 0)
        return -1;
    if (is_lost(g, ret))
        return 0;
    r = goal_set_status(g, GOAL_ACTIVE, STOPPED, STR("resumed"), "user", err);
    if (r < 0)
        return -1;
    say_landed(g, ret);
    return 0;
}

/* ---- Limits ---- */

/* "+50k" of nothing would change nothing. */
static int check_there_is_more(const struct goal *g, const struct goal_argument *what,
                               struct err *err)
{
    const bool is_there[] = {
        [LIMIT_TOKENS] = g->row.token_budget > 0,
        [LIMIT_COST] = g->row.max_cost_usd > 0,
        [LIMIT_TURNS] = g->row.max_turns > 0,
        [LIMIT_DEADLINE] = g->row.deadline_ms > 0,
    };

    if (what->budget.what != CHANGE_ADD || is_there[what->limit])
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "the goal has no %s that could be raised; without the '+' one is set",
                   goal_limit_name(what->limit));
}

static int change_budget(struct goal *g, const struct goal_argument *what, struct goal_answer *ret,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct goal_update u = {0};
    struct jw w;
    int r;

    if (goal_need(g, err) < 0)
        return -1;
    if (is_lost(g, ret))
        return 0;
    switch (what->limit) {
    case LIMIT_TOKENS:
        u.token_budget = what->budget;
        break;
    case LIMIT_COST:
        u.max_cost = what->budget.what;
        u.max_cost_usd = what->usd;
        break;
    case LIMIT_TURNS:
        u.max_turns = what->budget;
        break;
    case LIMIT_DEADLINE:
        u.deadline_ms = what->budget;
        break;
    }
    /* Raise and go on are one request. */
    u.has_status = g->row.status == GOAL_BUDGET_LIMITED;
    u.status = GOAL_ACTIVE;
    if (check_there_is_more(g, what, err) < 0 ||
        (u.max_cost == CHANGE_SET && goal_check_price(g, u.max_cost_usd, err) < 0) ||
        (u.has_status && (goal_gate(g, &ret->code, err) < 0 || check_text(g, err) < 0)))
        return -1;
    goal_tell_begin_as(g, u.has_status ? u.status : g->row.status, &w, &data);
    jw_kcstr(&w, "limit", goal_limit_name(what->limit));
    jw_object_end(&w);
    r = goal_update(g, &u, "limits", buf_str(&data), err);
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
    goal_tell(g, "goal_updated", buf_str(&data));
    goal_tell_active(g);
    buf_addf(&ret->text, "The %s is changed. ", goal_limit_name(what->limit));
    if (u.has_status) {
        say_landed(g, ret);
    } else if (g->row.status == GOAL_BUDGET_LIMITED) {
        goal_show_stop(&g->row, &ret->text);
    } else {
        g->memory.told_limit = false;
        g->memory.warned = 0;
        (void)goal_remember(g, /*err=*/NULL);
    }
    return 0;
}

/* ---- Edit, wait ---- */

/* What a client gave together with the condition. Limits are changed with it; the rest of a goal
 * that is there stays as it is, and nothing is dropped in silence. */
static int edit_options(const struct goal_options *o, struct goal_update *u, struct err *err)
{
    if (o->checks.len || o->protect.len || o->protect_none || o->has_referee || o->on_deny_skip ||
        o->auto_resume)
        return err_set(err, ERR_BAD_INPUT,
                       "this session has a goal, which is edited: checks, protected files and who "
                       "judges stay as they are. Use /goal check and /goal protect, or clear it");
    if (o->token_budget)
        u->token_budget = (struct goal_limit_change){CHANGE_SET, o->token_budget};
    if (o->max_turns)
        u->max_turns = (struct goal_limit_change){CHANGE_SET, o->max_turns};
    if (o->deadline_ms)
        u->deadline_ms = (struct goal_limit_change){CHANGE_SET, o->deadline_ms};
    if (o->max_cost_usd > 0) {
        u->max_cost = CHANGE_SET;
        u->max_cost_usd = o->max_cost_usd;
    }
    return 0;
}

/* The text goes into the ledger only: observers may be remote. */
static void write_edited(struct goal *g, enum goal_status status, struct str text, bool with_text,
                         struct buf *ret)
{
    struct jw w;

    goal_tell_begin_as(g, status, &w, ret);
    if (with_text)
        jw_kstr(&w, "objective", str_clip(text, GOAL_LEDGER_TEXT));
    jw_ki64(&w, "objective_chars", (int64_t)goal_count_points(text));
    jw_object_end(&w);
}

static int change_edit(struct goal *g, const struct goal_argument *what, enum goal_via via,
                       struct goal_answer *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf kept = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf options = BUF_INIT(GOAL_MAX_TEXT);
    struct str text = str_trim(buf_str(&what->text));
    struct str objective, how;
    struct goal_update u = {.objective = &objective, .options = &how};
    int r;

    if (goal_need(g, err) < 0)
        return -1;
    if (is_lost(g, ret))
        return 0;
    if (!text.len)
        return err_set(err, ERR_BAD_INPUT, "say what it shall be: /goal edit -- <condition>");
    u.status = goal_edited_status(g->row.status);
    u.has_status = u.status != g->row.status;
    if ((u.has_status && goal_gate(g, &ret->code, err) < 0) ||
        edit_options(&what->options, &u, err) < 0 ||
        goal_reword(g, g->row.options, text, goal_may_keep(via), &column, &options, &ret->code,
                    err) < 0)
        return -1;
    objective = buf_str(&column);
    how = buf_str(&options);
    write_edited(g, u.status, text, /*with_text=*/true, &kept);
    r = goal_update(g, &u, "edited", buf_str(&kept), err);
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
    buf_clear(&g->text);
    buf_add(&g->text, text);
    g->claim.is_there = false;
    g->updated_due = true;
    g->spec.host.arm(g->spec.host.arg, goal_is_active(g) ? g->row.objective : STR(""));
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    write_edited(g, u.status, text, /*with_text=*/false, &data);
    goal_tell(g, "goal_updated", buf_str(&data));
    goal_tell_active(g);
    buf_adds(&ret->text, "Goal updated: ");
    goal_show_line(text, 300, &ret->text);
    if (u.has_status && goal_is_active(g)) {
        goal_forget_guards(g);
        goal_say_turn(g, ret);
    } else if (g->row.status == GOAL_BUDGET_LIMITED) {
        buf_adds(&ret->text, "\n  ");
        goal_show_stop(&g->row, &ret->text);
    }
    return 0;
}

static int change_wait(struct goal *g, const struct goal_argument *what, struct goal_answer *ret,
                       struct err *err)
{
    struct wait w = WAIT_INIT;
    int64_t now = clock_wall_ms();

    if (goal_need(g, err) < 0)
        return -1;
    if (g->row.status != GOAL_ACTIVE) {
        buf_addf(&ret->text, "The goal is %s, so it does not wait for anything.",
                 goal_show_status(g->row.status));
        return 0;
    }
    if (wait_parse(buf_str(&what->text), g->spec.dir, now, &w, err) < 0) {
        wait_release(&w);
        return -1;
    }
    goal_wait_for(g, &w, "waiting", err);
    buf_adds(&ret->text, "Waiting for ");
    wait_describe(&g->wait, now, &ret->text);
    buf_adds(&ret->text, "; it costs nothing. /goal resume continues at once.");
    return 0;
}

/* ---- Terms ---- */

/* Takes the row as it is, although the transcript has other terms. */
static int change_terms(struct goal *g, struct goal_answer *ret, struct err *err)
{
    if (goal_need(g, err) < 0)
        return -1;
    if (!g->lost.len && !str_starts(g->row.last_reason, STR(GOAL_TERMS_LOST))) {
        buf_adds(&ret->text, "The terms of the goal are unchanged; there is nothing to accept.");
        return 0;
    }
    goal_note(g, "accept", STR("{\"paths\":[\"terms\"]}"));
    if (terms_accept(g, err) < 0)
        return -1;
    buf_adds(&ret->text,
             "The terms are accepted as the store has them now. /goal resume continues.");
    return 0;
}

/* ---- All of them ---- */

static int do_held(struct goal *g, const struct goal_argument *what, enum goal_via via,
                   struct cancel *cancel, struct goal_answer *ret, struct err *err)
{
    switch (what->verb) {
    case GOAL_SHOW:
        return change_show(g, ret, err);
    case GOAL_CLEAR:
        return change_clear(g, ret, err);
    case GOAL_EDIT:
        return change_edit(g, what, via, ret, err);
    case GOAL_PAUSE:
        return change_pause(g, ret, err);
    case GOAL_RESUME:
        return change_resume(g, cancel, ret, err);
    case GOAL_BUDGET:
        return change_budget(g, what, ret, err);
    case GOAL_CHECK:
        return change_check(g, what, cancel, ret, err);
    case GOAL_CHECK_RM:
        return change_check_rm(g, what->number, ret, err);
    case GOAL_PROTECT:
        return change_protect(g, what, cancel, ret, err);
    case GOAL_WAIT:
        return change_wait(g, what, ret, err);
    case GOAL_NEXT:
        return change_next(g, what, cancel, ret, err);
    case GOAL_QUEUE:
        return change_queue(g, what, cancel, ret, err);
    case GOAL_ACCEPT:
        return str_is(buf_str(&what->text), "terms") ? change_terms(g, ret, err)
                                                     : change_accept(g, what, cancel, ret, err);
    case GOAL_LOG:
        return change_log(g, cancel, ret, err);
    case GOAL_SET:
    case GOAL_REPORT:
    case GOAL_UNDO:
        break;
    }
    BUG("verb %d needs no ticket", what->verb);
}

/* Lets go of the goal in between, so that other threads can report events. */
static bool takes_time(enum goal_verb verb)
{
    return verb == GOAL_CHECK || verb == GOAL_PROTECT || verb == GOAL_ACCEPT || verb == GOAL_NEXT ||
           verb == GOAL_QUEUE || verb == GOAL_LOG;
}

/* A client's "set" edits the present goal, even a complete one. */
static bool is_edit(struct goal *g, enum goal_via via)
{
    bool edits;

    if (via != VIA_CLIENT)
        return false;
    goal_enter(g);
    edits = g->spec.is_kept && goal_read_row(g, /*err=*/NULL) == 0 && g->has;
    goal_leave(g);
    return edits;
}

/* The user's change is on the disk when the answer appears, or the answer reports that it is not: a
 * busy database must never prevent a pause. The goal is not held. */
static void save_change(struct goal *g, struct cancel *cancel, struct buf *ret)
{
    struct err err = {0};

    if (!g->store)
        return;
    if (store_goal_flush(g->store, str_of(g->spec.session), SAVE_PATIENCE_MS, cancel, &err) == 0)
        store_sync(g->store);
    else
        buf_addf(ret,
                 "\n  note: not saved yet, %s. It holds in this process, which saves it as soon "
                 "as it can",
                 err.text);
}

int goal_do(struct goal *g, const struct goal_argument *what, enum goal_via via,
            struct cancel *cancel, struct goal_answer *ret, struct err *err)
{
    int r;

    goal_argument_explain(what, &ret->text);
    if (ret->text.len)
        buf_addc(&ret->text, '\n');
    if (what->verb == GOAL_REPORT) {
        r = goal_report(g, buf_str(&what->text), /*json=*/false, cancel, &ret->text, err);
    } else if (what->verb == GOAL_UNDO) {
        r = change_undo(g, what, cancel, ret, err);
    } else if (what->verb == GOAL_SET && !is_edit(g, via)) {
        r = goal_set(g, buf_str(&what->text), &what->options, via, cancel, ret, err);
    } else {
        struct goal_argument edit = *what;

        if (edit.verb == GOAL_SET)
            edit.verb = GOAL_EDIT;
        goal_enter(g);
        g->is_elsewhere = via == VIA_ELSEWHERE && !takes_time(edit.verb);
        r = do_held(g, &edit, via, cancel, ret, err);
        g->is_elsewhere = false;
        if (r == 0)
            r = terms_keep(g, err);
        terms_keep_used(g);
        goal_leave(g);
        if (r == 0 && g->spec.is_outside && goal_start_next(g, cancel, err) < 0)
            r = -1; /* no agent here will be idle */
    }
    if (r == 0 && what->verb != GOAL_SHOW && what->verb != GOAL_LOG && what->verb != GOAL_REPORT)
        save_change(g, cancel, &ret->text);
    if (r == 0)
        (void)g->spec.host.wake(g->spec.host.arg, /*err=*/NULL);
    return r;
}
