/*
 * A goal is set: gates, then everything that can be found out before (draft.h), then the row in one
 * transaction. Whatever fails before that leaves nothing half-set. Any thread.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "goal/draft.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "goal/snapshot.h"
#include "json/jw.h"
#include "store/store.h"
#include "sync/cancel.h"

#define SET_TITLE 80

static const char *const via_names[] = {
    [VIA_USER] = "user", [VIA_MODEL] = "model",    [VIA_CLIENT] = "client",
    [VIA_NEXT] = "next", [VIA_ELSEWHERE] = "user",
};

static void tell_gate(struct goal *g, const char *code)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "code", code);
    jw_object_end(&w);
    goal_tell(g, "goal_set_failed", buf_str(&data));
}

int goal_check_referee(const struct goal_options *o, struct err *err)
{
    if (o->has_referee && o->referee == REFEREE_CHECKS && !o->checks.len)
        return err_set(err, ERR_BAD_INPUT, "--referee checks needs at least one --check");
    return 0;
}

static int check_limits(const struct goal_options *o, int64_t now_ms, struct err *err)
{
    if (o->token_budget < 0 || o->max_turns < 0 || o->max_cost_usd < 0)
        return err_set(err, ERR_BAD_INPUT, "a limit must be more than 0");
    if (o->deadline_ms && o->deadline_ms <= now_ms)
        return err_set(err, ERR_BAD_INPUT, "the deadline has passed already");
    return goal_check_referee(o, err);
}

int goal_check_price(const struct goal *g, double max_usd, struct err *err)
{
    const struct goal_host *host = &g->spec.host;

    if (max_usd <= 0 || !host->has_price || host->has_price(host->arg))
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "the price of the model is not known, so a limit of cost cannot be kept: add it "
                   "under \"models\" in settings.json, or limit tokens with --budget");
}

static int64_t set_turns(const struct goal *g, const struct goal_options *o)
{
    return o->max_turns ? o->max_turns
                        : conf_get_i64(g->spec.conf, "goal.maxTurns", GOAL_MAX_TURNS);
}

/* The text goes into the ledger only: observers may be remote. */
static void set_event(struct goal *g, const struct draft *d, const struct goal_options *o,
                      enum goal_via via, bool with_text, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    if (with_text)
        jw_kstr(&w, "objective", str_clip(buf_str(&d->text), GOAL_LEDGER_TEXT));
    jw_ki64(&w, "objective_chars", (int64_t)goal_count_points(buf_str(&d->text)));
    jw_kcstr(&w, "via", via_names[via]);
    jw_kcstr(&w, "referee", goal_referee_name(o->referee));
    jw_key(&w, "checks");
    jw_array(&w);
    VEC_EACH(&d->first.checks, it) {
        jw_object(&w);
        jw_kstr(&w, "command", str_clip(buf_str(&it->command), 1 << 10));
        jw_kbool(&w, "passed", it->passed);
        jw_ki64(&w, "exit_code", it->code);
        jw_ki64(&w, "duration_ms", it->wall_ms);
        jw_kcstr(&w, "output_sha256", it->sha256);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_key(&w, "weak");
    jw_array(&w);
    for (size_t i = 0; i < d->weak_checks.len; i++)
        jw_str(&w, str_clip(str_of(d->weak_checks.ptr[i]), 1 << 10));
    jw_array_end(&w);
    jw_ki64(&w, "protected", (int64_t)d->protected_files);
    jw_key(&w, "baseline");
    if (d->baseline.len)
        jw_raw(&w, buf_str(&d->baseline));
    else
        jw_null(&w);
    jw_key(&w, "limits");
    jw_object(&w);
    jw_ki64(&w, "token_budget", o->token_budget);
    jw_ki64(&w, "max_turns", set_turns(g, o));
    jw_key(&w, "max_cost_usd");
    jw_double(&w, o->max_cost_usd);
    jw_ki64(&w, "deadline_ms", o->deadline_ms);
    jw_object_end(&w);
    jw_object_end(&w);
}

static void goal_take_options(struct goal_options *to, const struct goal_options *from)
{
    goal_options_release(to);
    *to = *from;
    to->checks = (struct strv)STRV_INIT;
    to->protect = (struct strv)STRV_INIT;
    to->keep = (struct strv)STRV_INIT;
    strv_add_all(&to->checks, &from->checks);
    strv_add_all(&to->protect, &from->protect);
    strv_add_all(&to->keep, &from->keep);
}

/* Forgets the old goal and records its end. */
void goal_close_old(struct goal *g, bool say_cleared)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    if (g->waits)
        goal_end_wait(g, "the goal was replaced or cleared");
    if (g->has && g->row.status != GOAL_COMPLETE && say_cleared) {
        goal_tell_begin(g, &w, &data);
        jw_object_end(&w);
        goal_note(g, "cleared", buf_str(&data));
        goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
        goal_tell(g, "goal_cleared", buf_str(&data));
    }
    memory_release(&g->memory);
    memory_init(&g->memory);
    evidence_clear(g);
    stall_stop(g);
    g->has_shown = false;
    g->claim.is_there = false;
    g->directive_due = g->updated_due = g->continuation_due = g->feedback_due = false;
    g->held = g->denied = g->halted = false;
    g->refused.state[0] = '\0';
    buf_clear(&g->woken);
    buf_clear(&g->text);
}

/* The new row is there: everything that hangs on it. */
static void take_new(struct goal *g, const struct draft *d, const struct goal_options *o,
                     struct str event)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct str line;
    struct jw w;

    goal_take_options(&g->options, o);
    g->tokens_at_start = g->session_output;
    g->spec.host.arm(g->spec.host.arg, g->row.objective);
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    goal_tell_begin(g, &w, &data);
    jw_kraw(&w, "set", event);
    jw_object_end(&w);
    goal_tell(g, "goal_set", buf_str(&data));
    goal_tell_active(g);
    account_attach(g);
    line = buf_str(&g->text);
    line = str_clip(str_first(line, str_chr(line, '\n')), SET_TITLE);
    buf_add(&title, line);
    g->spec.host.title(g->spec.host.arg, buf_str(&title));
    (void)stall_round(g, &d->first); /* the state that it begins with */
    milestone_look(g, &d->first, /*ret_new=*/NULL);
    (void)goal_remember(g, /*err=*/NULL);
}

/* The answer to the user: the goal, its checks and limits. */
static void say_set(struct goal *g, const struct draft *d, const struct goal_options *o,
                    struct buf *ret)
{
    struct str text = buf_str(&d->text);
    struct str line = str_clip(str_first(text, str_chr(text, '\n')), 300);

    buf_addf(ret, "Goal set: %.*s%s", STR_ARG(line), line.len < text.len ? "…" : "");
    VEC_EACH(&d->first.checks, it) {
        buf_addf(ret, "\n  check: %s (%s)", buf_cstr(&it->command),
                 it->passed            ? "weak: passes before any work"
                 : check_complaint(it) ? "cannot be run, see the note"
                                       : "fails now, as it should");
    }
    switch (o->referee) {
    case REFEREE_JUDGE:
        buf_addf(ret, "\n  %s judged by a model that looks at the evidence",
                 o->checks.len ? "then" : "it is");
        break;
    case REFEREE_SELF:
        buf_adds(ret, "\n  the agent itself says when it is done");
        break;
    case REFEREE_CHECKS:
        buf_adds(ret, "\n  the checks alone decide");
        break;
    }
    if (d->protected_files)
        buf_addf(ret, "\n  %zu protected file%s", d->protected_files,
                 d->protected_files == 1 ? "" : "s");
    if (o->token_budget) {
        buf_adds(ret, "\n  budget: ");
        goal_show_tokens(o->token_budget, ret);
        buf_adds(ret, " tokens");
    }
    if (o->max_cost_usd > 0)
        buf_addf(ret, "\n  at most $%.2f", o->max_cost_usd);
    for (size_t i = 0; i < d->notes.len; i++)
        buf_addf(ret, "\n  note: %s", d->notes.ptr[i]);
    (void)g;
}

static void make_row(const struct goal *g, const struct draft *d, const struct goal_options *o,
                     struct store_goal *ret)
{
    *ret = (struct store_goal){
        .thread_id = str_of(g->spec.session),
        .goal_id = str_of(d->goal_id),
        .objective = buf_str(&d->objective),
        .status = GOAL_ACTIVE,
        .phase = STR("working"),
        .token_budget = o->token_budget,
        .max_turns = set_turns(g, o),
        .max_cost_usd = o->max_cost_usd,
        .deadline_ms = o->deadline_ms,
        .checks = buf_str(&d->checks),
        .protect = buf_str(&d->protect),
        .baseline = buf_str(&d->baseline),
        .options = buf_str(&d->options),
    };
}

/* The row is written: on the disk with it, and the terms in the transcript, or it is not set. */
static int terms_begin(struct goal *g, struct err *err)
{
    const struct goal_host *host = &g->spec.host;

    buf_clear(&g->lost);
    buf_clear(&g->judge);
    if (host->judge_name)
        host->judge_name(host->arg, &g->judge);
    g->kept_terms[0] = '\0';
    if (terms_keep(g, err) == 0) {
        store_sync(g->store);
        return 0;
    }
    (void)store_goal_delete(g->store, str_of(g->spec.session), g->row.goal_id, clock_wall_ms(),
                            /*event=*/NULL, /*arena=*/NULL, /*ret=*/NULL, /*cancel=*/NULL,
                            /*err=*/NULL);
    goal_take_row(g, &(struct store_goal){0});
    return err_prefix(err, "the goal's terms cannot be saved");
}

/* The goal is held. 1: set; 0: an unfinished one is there (insert). */
static int put_row(struct goal *g, const struct draft *d, const struct goal_options *o,
                   enum goal_via via, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf kept = BUF_INIT(GOAL_MAX_EVENT);
    int64_t now = clock_wall_ms();
    struct goal_event event = {.goal_id = str_of(d->goal_id), .time_ms = now, .kind = STR("set")};
    struct store_goal row, landed = {0};
    int r;

    if (goal_read_row(g, err) < 0)
        return -1;
    make_row(g, d, o, &row);
    set_event(g, d, o, via, /*with_text=*/true, &kept);
    set_event(g, d, o, via, /*with_text=*/false, &data);
    event.data = buf_str(&kept);
    if (g->has)
        (void)account_flush(g, CHARGE_ACTIVE_ONLY, /*err=*/NULL);
    /* Before its first line a session is found by its folder. */
    (void)file_mkdirs(g->spec.folder, 0700, /*err=*/NULL);
    if (via == VIA_MODEL) {
        r = store_goal_insert(g->store, &row, now, &event, &arena, &landed, /*cancel=*/NULL, err);
        if (r <= 0)
            return r;
    } else if (store_goal_replace(g->store, &row, now, &event, &arena, &landed, /*cancel=*/NULL,
                                  err) < 0) {
        return -1;
    }
    goal_close_old(g, via != VIA_NEXT);
    goal_take_row(g, &landed);
    buf_add(&g->text, buf_str(&d->text));
    /* Killed at any moment after the answer, it is found again with all of its terms. */
    if (terms_begin(g, err) < 0)
        return -1;
    take_new(g, d, o, buf_str(&data));
    return 1;
}

/* A script that a check runs may be part of the criterion, or of the task: only the user knows. */
static int ask_scripts(struct draft *d, struct goal_options *o, struct cancel *cancel,
                       struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv scripts = STRV_INIT;
    int r;

    if (!ret->ask_scripts || o->protect_none || o->protect.len)
        return 0;
    origin_scripts(d->origin, &scripts);
    r = scripts.len ? ret->ask_scripts(ret->arg, &scripts, err) : 0;
    for (size_t i = 0; r > 0 && i < scripts.len; i++) {
        strv_adds(&o->protect, scripts.ptr[i]);
        if (origin_protect(d->origin, str_of(scripts.ptr[i]), cancel, &d->notes, err) < 0)
            return -1;
    }
    return r < 0 ? -1 : 0;
}

static int make_draft(struct goal *g, struct draft *d, struct str text, struct goal_options *o,
                      enum goal_via via, struct cancel *cancel, struct goal_answer *ret,
                      struct err *err)
{
    if (goal_gate(g, &ret->code, err) < 0 ||
        draft_text(g, d, text, goal_may_keep(via), &ret->code, err) < 0 ||
        check_limits(o, clock_wall_ms(), err) < 0 || goal_check_price(g, o->max_cost_usd, err) < 0)
        return -1;
    if (!file_is_dir(g->spec.dir))
        return err_set(err, ERR_NOT_FOUND, "the folder %s is gone", g->spec.dir);
    d->deadline_ms = o->deadline_ms;
    if (draft_origin(g, d, o, cancel, err) < 0 || draft_checks(g, d, o, cancel, err) < 0)
        return -1;
    if (d->doubt.len && ret->ask_check && ret->ask_check(ret->arg, buf_str(&d->doubt), err) < 0)
        return -1;
    if (ask_scripts(d, o, cancel, ret, err) < 0)
        return -1;
    if (draft_protect(d, err) < 0 || draft_baseline(g, d, cancel, err) < 0)
        return -1;
    if (ticket_take(&g->bench, cancel, err) < 0)
        return -1;
    snapshot_free(g->snapshot);
    g->snapshot = snapshot_new(g->spec.dir, g->spec.environ);
    goal_keep_origin(g, &d->origin, buf_str(&d->protect));
    (void)snapshot_look(g->snapshot, g->origin, /*walk=*/true, /*wrote=*/NULL, cancel,
                        d->first.state, /*ret_whole=*/NULL, /*err=*/NULL);
    ticket_give(&g->bench);
    draft_options(g, d, o, via_names[via]);
    /* The fingerprint of a round has the checks up to the first that fails. */
    return cancel_check(cancel, err);
}

static int set_by(struct goal *g, struct str text, struct goal_options *o, enum goal_via via,
                  struct cancel *cancel, struct goal_answer *ret, struct err *err)
{
    CLEANUP(draft_release) struct draft d;
    int r;

    draft_init(&d);
    r = make_draft(g, &d, text, o, via, cancel, ret, err);
    if (r == 0) {
        goal_enter(g);
        r = check_limits(o, clock_wall_ms(), err); /* the checks took their time */
        if (r == 0)
            r = put_row(g, &d, o, via, err);
        if (r > 0 && o->begins_paused && /* before an agent sees it */
            goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("set paused"), "user", err) < 0)
            r = -1;
        if (r > 0)
            g->directive_due = via != VIA_MODEL;
        if (r > 0 && g->row.status != GOAL_ACTIVE && !o->begins_paused)
            r = err_set(err, ERR_BAD_INPUT, "the goal's limits are spent before it begins");
        goal_leave(g);
        if (r == 0)
            r = err_set(err, ERR_BUSY,
                        "this session has an unfinished goal already; only the user can replace "
                        "it");
    } else if (ret->code[0]) {
        tell_gate(g, ret->code);
    }
    if (r < 0)
        return -1;
    say_set(g, &d, o, &ret->text);
    if (via != VIA_MODEL)
        goal_say_turn(g, ret);
    return 0;
}

int goal_set(struct goal *g, struct str text, const struct goal_options *o, enum goal_via via,
             struct cancel *cancel, struct goal_answer *ret, struct err *err)
{
    struct goal_options own = *o; /* the user may protect more */
    int r;

    own.protect = (struct strv)STRV_INIT;
    strv_add_all(&own.protect, &o->protect);
    r = set_by(g, text, &own, via, cancel, ret, err);
    strv_release(&own.protect);
    return r;
}

int goal_create(struct goal *g, struct str objective, int64_t budget, struct cancel *cancel,
                struct goal_answer *ret, struct err *err)
{
    struct goal_options o = {.token_budget = budget};

    return goal_set(g, objective, &o, VIA_MODEL, cancel, ret, err);
}

/* ---- The queue ---- */

/* The goal is held. 1: the first one shall begin. */
static int next_read(struct goal *g, struct arena *arena, struct goal_next *ret, struct err *err)
{
    goal_next_vec list = {0};
    int r;

    if (!g->next_due || g->closing || goal_in_plan_mode(g))
        return 0;
    r = goal_read_row(g, err);
    if (r == 0 && (!g->has || g->row.status == GOAL_COMPLETE))
        r = store_goal_next_list(g->store, str_of(g->spec.session), arena, &list, /*cancel=*/NULL,
                                 err);
    if (r == 0 && list.len) {
        *ret = list.ptr[0];
        r = 1;
    } else if (r == 0) {
        g->next_due = false; /* the queue is empty, or another goal was set */
    }
    vec_release(&list);
    return r;
}

/* The goal is held. First the row, then the queue: what goes wrong between the two is worked for
 * twice, not never. */
static int next_put(struct goal *g, const struct draft *d, const struct goal_options *o, int64_t id,
                    struct err *err)
{
    if (goal_read_row(g, err) < 0)
        return -1;
    if (g->has && g->row.status != GOAL_COMPLETE)
        return 0;
    if (check_limits(o, clock_wall_ms(), err) < 0 || put_row(g, d, o, VIA_NEXT, err) < 0 ||
        store_goal_next_drop(g->store, str_of(g->spec.session), id, /*cancel=*/NULL, err) < 0)
        return -1;
    g->directive_due = true;
    return 1;
}

int goal_start_next(struct goal *g, struct cancel *cancel, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(draft_release) struct draft d;
    CLEANUP(goal_options_release) struct goal_options o = {0};
    struct goal_answer said = GOAL_ANSWER_INIT;
    struct goal_next next = {0};
    int r;

    draft_init(&d);
    goal_enter(g);
    r = next_read(g, &arena, &next, err);
    goal_leave(g);
    if (r <= 0)
        return r;
    if (next.options.len)
        r = goal_options_read(next.options, &o, err);
    if (o.lasts_ms)
        o.deadline_ms = clock_wall_ms() + o.lasts_ms;
    if (r >= 0)
        r = make_draft(g, &d, next.objective, &o, VIA_NEXT, cancel, &said, err);
    goal_answer_release(&said);
    goal_enter(g);
    if (r >= 0)
        r = next_put(g, &d, &o, next.id, err);
    g->next_due = false;
    g->next_stuck = r < 0;
    goal_leave(g);
    return r;
}
