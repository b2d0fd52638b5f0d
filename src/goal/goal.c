/*
 * The goal of a session: its row, its state, and its events.
 */
#include "goal/goal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "agent/journal.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/goal_state.h"
#include "goal/prompt.h"
#include "goal/proof/proof.h"
#include "goal/report/display.h"
#include "goal/report/past.h"
#include "goal/report/report.h"
#include "goal/report/row_json.h"
#include "goal/snapshot.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/provider.h"
#include "store/store.h"
#include "sync/cancel.h"

#define GOAL_MAX_LINE ((size_t)1 << 20)
#define NOTICE_REASON 500
#define ASK_OBJECTIVE 300
#define REPORT_EVENTS 100000

bool goal_is_active(const struct goal *g)
{
    return g->has && g->row.status == GOAL_ACTIVE && !g->halted;
}

bool goal_in_plan_mode(const struct goal *g)
{
    return g->spec.permit && permit_mode(g->spec.permit) == MODE_PLAN;
}

struct sandbox *goal_sandbox(const struct goal *g)
{
    return sandbox_in_force(g->spec.sandbox, g->spec.permit);
}

struct goal_words goal_words_now(const struct goal *g)
{
    int64_t live = g->in_turn ? (clock_mono_ms() - g->clock_ms) / 1000 : 0;

    return (struct goal_words){
        .goal = &g->row,
        .objective = g->text.len ? buf_str(&g->text) : g->row.objective,
        .seconds = g->row.time_used_seconds + live,
    };
}

/* ---- The store ---- */

static int take_store(const struct goal_spec *spec, struct store **ret, struct err *err)
{
    if (spec->store_backend)
        return store_open(spec->store_backend, spec->home, spec->cancel, ret, err);
    if (spec->host.store)
        return spec->host.store(spec->host.arg, ret, err);
    return store_shared(spec->home, spec->cancel, ret, err);
}

int goal_open_store(struct goal *g, struct err *err)
{
    if (g->store)
        return 0;
    if (take_store(&g->spec, &g->store, err) < 0)
        return -1;
    if (!g->spec.is_outside)
        store_goal_guard(g->store, str_of(g->spec.session));
    return 0;
}

static struct str keep(struct arena *to, struct str s)
{
    return s.len ? arena_str(to, s) : STR("");
}

void goal_take_row(struct goal *g, const struct store_goal *row)
{
    struct arena arena = ARENA_INIT;
    struct store_goal mine = *row;

    g->read_ms = clock_mono_ms();
    g->has = row->thread_id.len > 0 && !g->barred;
    mine.thread_id = keep(&arena, row->thread_id);
    mine.goal_id = keep(&arena, row->goal_id);
    mine.objective = keep(&arena, row->objective);
    mine.phase = keep(&arena, row->phase);
    mine.phase_detail = keep(&arena, row->phase_detail);
    mine.last_reason = keep(&arena, row->last_reason);
    mine.checks = keep(&arena, row->checks);
    mine.protect = keep(&arena, row->protect);
    mine.baseline = keep(&arena, row->baseline);
    mine.options = keep(&arena, row->options);
    mine.memory = keep(&arena, row->memory);
    arena_release(&g->arena);
    g->arena = arena;
    g->row = mine;
    account_limit(g);
}

int goal_read_row(struct goal *g, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row = {0};

    if (goal_open_store(g, err) < 0 ||
        store_goal_get(g->store, str_of(g->spec.session), &arena, &row, g->spec.cancel, err) < 0)
        return -1;
    goal_take_row(g, &row);
    terms_look(g);
    return 0;
}

/* Cancelled or not, what happened is recorded. */
static struct cancel *goal_patience(void)
{
    return NULL;
}

static int update_with(struct goal *g, const struct goal_update *u, const struct goal_event *event,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_update mine = *u;
    struct store_goal row = {0};
    int r;

    if (goal_open_store(g, err) < 0)
        return -1;
    mine.expected_goal_id = g->row.goal_id;
    r = store_goal_update(g->store, str_of(g->spec.session), &mine, clock_wall_ms(), event, &arena,
                          &row, goal_patience(), err);
    if (r >= 0) {
        goal_take_row(g, &row);
        terms_look(g);
    }
    return r;
}

int goal_update(struct goal *g, const struct goal_update *u, const char *kind, struct str data,
                struct err *err)
{
    struct goal_event event = {.kind = str_of(kind), .data = data};

    return update_with(g, u, kind ? &event : NULL, err);
}

int goal_remember(struct goal *g, struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(GOAL_MAX_TEXT);
    struct goal_update u = {0};
    struct str text;

    memory_write(&g->memory, &json);
    text = buf_str(&json);
    u.memory = &text;
    return goal_update(g, &u, /*kind=*/NULL, STR(""), err);
}

void goal_note(struct goal *g, const char *kind, struct str data)
{
    struct goal_event event = {
        .goal_id = g->row.goal_id,
        .time_ms = clock_wall_ms(),
        .kind = str_of(kind),
        .data = data,
    };
    struct err err = {0};

    if (!g->store ||
        store_goal_note(g->store, str_of(g->spec.session), &event, goal_patience(), &err) < 0)
        log_debug("goal", "not in the ledger: %s: %s", kind, err.text);
}

int goal_set_phase(struct goal *g, const char *phase, struct str detail, struct err *err)
{
    struct str name = str_of(phase);
    struct goal_update u = {.from = 1u << GOAL_ACTIVE, .phase = &name, .phase_detail = &detail};

    int r;

    if (str_eq(g->row.phase, name) && str_eq(g->row.phase_detail, detail))
        return 1;
    r = goal_update(g, &u, /*kind=*/NULL, STR(""), err);
    if (r > 0)
        goal_tell_row(g);
    return r;
}

/* The user is notified: the goal is complete, or it needs them. */
static void wants_notice(struct goal *g, enum goal_status to, struct str why)
{
    struct str line = str_trim(why);

    g->notice_type = to == GOAL_COMPLETE ? "agent_completed" : "agent_needs_input";
    buf_clear(&g->notice);
    buf_addf(&g->notice, "Goal %s", goal_show_status(to));
    line = str_clip(str_first(line, str_chr(line, '\n')), NOTICE_REASON);
    if (line.len)
        buf_addf(&g->notice, ": %.*s", STR_ARG(line));
}

void goal_tell_status(struct goal *g, enum goal_status to, struct str why, bool by_user,
                      struct str data)
{
    const char *name = "goal_updated";

    if (to == GOAL_BLOCKED)
        name = "goal_blocked";
    else if (to == GOAL_BUDGET_LIMITED || to == GOAL_USAGE_LIMITED)
        name = "goal_limited";
    goal_tell(g, name, data);
    goal_tell_active(g);
    g->stop_status = to;
    buf_clear(&g->stop_why);
    buf_add(&g->stop_why, str_clip(why, STOP_WHY));
    if (to != GOAL_ACTIVE && !by_user)
        wants_notice(g, to, why);
}

void goal_halt(struct goal *g, struct str why, const struct err *err)
{
    if (g->halted)
        return;
    g->halted = true;
    buf_clear(&g->stop_why);
    buf_addf(&g->stop_why, "%.*s; the goal's state cannot be saved: %s",
             STR_ARG(str_clip(why, STOP_WHY / 2)), err->text);
    goal_notice(g, LEVEL_ERROR, "goal: stopped here: %s. Fix this, then use /goal resume",
                buf_cstr(&g->stop_why));
}

int goal_set_status_by(struct goal *g, enum goal_status to, unsigned from, struct str why,
                       const char *by, struct str verdict, struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf reason = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf memory = BUF_INIT(GOAL_MAX_TEXT);
    enum goal_status was = g->row.status;
    struct goal_update u = {.from = from, .has_status = true, .status = to};
    struct goal_event status = {.kind = STR("status")};
    struct goal_event judged = {.kind = STR("verdict"), .data = verdict, .next = &status};
    struct str nothing = STR("");
    struct str text, kept;
    struct err failed = {0};
    struct jw w;
    int r;

    goal_tell_begin_as(g, to, &w, &data);
    jw_kcstr(&w, "from", goal_status_name(was));
    jw_kcstr(&w, "to", goal_status_name(to));
    jw_kstr(&w, "why", str_clip(why, 8 << 10));
    jw_kcstr(&w, "by", by);
    jw_object_end(&w);
    status.data = buf_str(&data);
    u.phase = &nothing;
    u.phase_detail = &nothing;
    buf_add(&reason, str_clip(why, 8 << 10));
    text = buf_str(&reason);
    if (to != GOAL_ACTIVE && (to != GOAL_PAUSED || strcmp(by, "engine") == 0) && why.len)
        u.last_reason = &text;
    if (verdict.len) { /* the criteria are a part of it */
        memory_write(&g->memory, &memory);
        kept = buf_str(&memory);
        u.memory = &kept;
    }
    r = update_with(g, &u, verdict.len ? &judged : &status, &failed);
    if (r < 0) {
        if (err)
            *err = failed;
        if (to != GOAL_ACTIVE && g->has) /* a stop holds, even where it cannot be written */
            goal_halt(g, text, &failed);
    }
    if (r <= 0)
        return r;
    g->halted = false;
    if (verdict.len)
        goal_tell(g, "goal_verdict", verdict);
    goal_tell_status(g, to, text, strcmp(by, "user") == 0, buf_str(&data));
    return r;
}

int goal_set_status(struct goal *g, enum goal_status to, unsigned from, struct str why,
                    const char *by, struct err *err)
{
    return goal_set_status_by(g, to, from, why, by, /*verdict=*/STR(""), err);
}

/* ---- What hangs on the row ---- */

struct baseline goal_baseline(const struct goal *g)
{
    return (struct baseline){
        .dir = g->spec.dir,
        .session = g->spec.session,
        .folder = g->spec.folder,
        .environ = g->spec.environ,
        .sandbox = g->spec.sandbox,
    };
}

void goal_checks(const struct goal *g, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!g->row.checks.len ||
        json_parse(&arena, g->row.checks, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(v, it) {
        strv_add(ret, json_get_str(it, "command"));
    }
}

void goal_write_checks(const struct strv *commands, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_array(&w);
    for (size_t i = 0; i < commands->len; i++) {
        jw_object(&w);
        jw_kcstr(&w, "command", commands->ptr[i]);
        jw_object_end(&w);
    }
    jw_array_end(&w);
}

void goal_objective(struct goal *g, const struct store_goal *row, struct buf *ret)
{
    goal_enter(g);
    if (g->text.len && g->has && str_eq(row->goal_id, g->row.goal_id))
        buf_add(ret, buf_str(&g->text));
    else
        buf_add(ret, row->objective);
    goal_leave(g);
}

/* ---- Telling others ---- */

void goal_tell_begin(struct goal *g, struct jw *w, struct buf *out)
{
    goal_tell_begin_as(g, g->row.status, w, out);
}

void goal_tell_begin_as(struct goal *g, enum goal_status status, struct jw *w, struct buf *out)
{
    jw_init(w, out, 0);
    jw_object(w);
    jw_kstr(w, "goal_id", g->row.goal_id);
    jw_ki64(w, "condition_length", (int64_t)g->row.objective.len);
    jw_ki64(w, "iterations", g->row.iterations);
    jw_ki64(w, "tokens", g->row.tokens_used);
    jw_ki64(w, "output_tokens", g->row.output_tokens);
    jw_ki64(w, "duration_ms", g->has ? clock_wall_ms() - g->row.created_at_ms : 0);
    jw_kcstr(w, "status", goal_status_name(status));
    if (g->is_elsewhere)
        jw_kbool(w, "elsewhere", true);
}

static struct event *goal_event_new(const struct goal *g, enum event_kind kind)
{
    struct event *e = event_new(kind);

    e->by.session = arena_cstr(&e->arena, str_of(g->spec.session));
    e->by.agent = IDENTITY_MAIN;
    return e;
}

static void write_thread(const struct goal *g, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    if (!g->row.thread_id.len) {
        jw_null(&w);
        return;
    }
    jw_object(&w);
    goal_row_write_thread(&g->row, g->has && g->text.len ? buf_str(&g->text) : g->row.objective,
                          &w);
    if (g->row.phase.len)
        jw_kstr(&w, "phase", g->row.phase);
    jw_ki64(&w, "iterations", g->row.iterations);
    if (g->row.last_reason.len)
        jw_kstr(&w, "lastReason", g->row.last_reason);
    jw_object_end(&w);
}

void goal_thread_json(struct goal *g, struct buf *ret)
{
    struct jw w;

    if (!g) {
        jw_init(&w, ret, JW_CLEAN);
        jw_null(&w);
        return;
    }
    goal_enter(g);
    (void)goal_read_row(g, /*err=*/NULL);
    write_thread(g, ret);
    goal_leave(g);
}

/* An event that shows the goal as it is now: an observer may take it when the goal has changed
 * again. */
static struct event *goal_state_new(const struct goal *g, enum event_kind kind)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct event *e = goal_event_new(g, kind);

    write_thread(g, &json);
    e->data = arena_str(&e->arena, buf_str(&json));
    return e;
}

void goal_tell_row(struct goal *g)
{
    g->spec.host.emit(g->spec.host.arg, goal_state_new(g, EVENT_GOAL_ROW));
}

void goal_tell(struct goal *g, const char *name, struct str json)
{
    struct event *e = goal_state_new(g, EVENT_GOAL);

    e->name = arena_str(&e->arena, str_of(name));
    e->json = arena_str(&e->arena, json);
    g->spec.host.emit(g->spec.host.arg, e);
}

static void write_active(const struct goal *g, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    if (!goal_is_active(g)) {
        jw_null(&w);
        return;
    }
    jw_object(&w);
    jw_kstr(&w, "condition", g->row.objective);
    jw_ki64(&w, "iterations", g->row.iterations);
    jw_ki64(&w, "set_at", g->row.created_at_ms);
    jw_ki64(&w, "tokens_at_start", g->tokens_at_start);
    if (g->row.last_reason.len)
        jw_kstr(&w, "last_reason", g->row.last_reason);
    jw_object_end(&w);
}

void goal_tell_active(struct goal *g)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct event *e = goal_state_new(g, EVENT_ACTIVE_GOAL);

    write_active(g, &json);
    e->json = arena_str(&e->arena, buf_str(&json));
    g->spec.host.emit(g->spec.host.arg, e);
}

void goal_active_json(struct goal *g, struct buf *ret)
{
    goal_enter(g);
    write_active(g, ret);
    goal_leave(g);
}

void goal_notice(struct goal *g, enum event_level level, const char *fmt, ...)
{
    struct event *e = goal_event_new(g, EVENT_NOTICE);
    CLEANUP(buf_release) struct buf text = BUF_INIT(GOAL_MAX_LINE);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    e->level = level;
    e->text = arena_str(&e->arena, buf_str(&text));
    g->spec.host.emit(g->spec.host.arg, e);
}

void goal_attach(struct goal *g, bool met, bool sentinel, struct str reason, bool achieved)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(GOAL_MAX_LINE);
    struct jw w;

    jw_init(&w, &json, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "goal_status");
    jw_kbool(&w, "met", met);
    if (sentinel)
        jw_kbool(&w, "sentinel", true);
    jw_kstr(&w, "condition", g->row.objective);
    if (reason.len)
        jw_kstr(&w, "reason", reason);
    if (g->kept_terms[0])
        jw_kcstr(&w, "terms", g->kept_terms);
    if (achieved) {
        jw_ki64(&w, "iterations", g->row.iterations + 1);
        jw_ki64(&w, "durationMs", clock_wall_ms() - g->row.created_at_ms);
        jw_ki64(&w, "tokens", g->row.output_tokens);
    }
    jw_object_end(&w);
    strv_add(&g->lines, buf_str(&json));
}

/* Once for each stop. */
static void flush_notice(struct goal *g)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 10);
    const char *type;

    goal_enter(g);
    type = g->notice_type;
    g->notice_type = NULL;
    buf_add(&text, buf_str(&g->notice));
    goal_leave(g);
    if (type && g->spec.host.notify)
        g->spec.host.notify(g->spec.host.arg, type, buf_str(&text));
}

void goal_flush_lines(struct goal *g)
{
    CLEANUP(strv_release) struct strv lines = STRV_INIT;
    struct err err = {0};

    goal_enter(g);
    lines = g->lines;
    g->lines = (struct strv)STRV_INIT;
    (void)terms_keep(g, /*err=*/NULL);
    terms_keep_used(g);
    goal_leave(g);
    for (size_t i = 0; g->journal && i < lines.len; i++) {
        if (g->journal->attach(g->journal, str_of(lines.ptr[i]), &err) < 0) {
            goal_notice(g, LEVEL_WARNING, "the goal's state is kept, but not in the transcript: %s",
                        err.text);
            break;
        }
    }
    flush_notice(g);
}

bool goal_has_lines(struct goal *g)
{
    bool has;

    goal_enter(g);
    has = g->lines.len > 0;
    goal_leave(g);
    return has;
}

void goal_was_typed(struct goal *g, struct str args)
{
    goal_enter(g);
    buf_clear(&g->typed);
    buf_add(&g->typed, args);
    goal_leave(g);
}

/* ---- For everybody ---- */

int goal_get(struct goal *g, struct arena *arena, struct store_goal *ret, struct err *err)
{
    int r = -1;

    goal_enter(g);
    if (goal_open_store(g, err) == 0)
        r = store_goal_get(g->store, str_of(g->spec.session), arena, ret, goal_patience(), err);
    if (r >= 0)
        terms_look(g);
    goal_leave(g);
    return r;
}

bool goal_is_running(struct goal *g)
{
    bool is;

    goal_enter(g);
    is = goal_is_active(g) || g->turn_goal[0];
    goal_leave(g);
    return is;
}

/* The row that is asked for, and all that happened to it. */
static int report_read(struct goal *g, struct str which, struct goal_report *r,
                       struct store_goal *row, goal_event_vec *events, struct arena *arena,
                       struct cancel *cancel, struct err *err)
{
    int has = goal_get(g, arena, row, err);

    if (has < 0)
        return -1;
    r->is_past = !has || !str_starts(row->goal_id, which);
    if (store_goal_events(g->store, str_of(g->spec.session), r->is_past ? STR("") : row->goal_id,
                          /*after=*/0, REPORT_EVENTS, arena, events, cancel, err) < 0)
        return -1;
    return r->is_past ? past_goal(events, which, r->now_ms, arena, row, err) : 0;
}

static int report_origin(const struct goal *g, const struct store_goal *row, struct arena *arena,
                         struct origin **ret)
{
    const struct json *v = NULL;

    if (json_parse(arena, row->protect, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return -1;
    return origin_read(arena_cstr(arena, json_get_str(v, "manifest")), g->spec.environ,
                       json_get_str(v, "sha256"), ret, /*err=*/NULL);
}

int goal_report(struct goal *g, struct str which, bool json, struct cancel *cancel, struct buf *ret,
                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf stat = BUF_INIT(64 << 10);
    goal_event_vec events = {0};
    struct store_goal row = {0};
    struct goal_report report = {
        .goal = &row,
        .events = &events,
        .session = str_of(g->spec.session),
        .dir = str_of(g->spec.dir),
        .now_ms = clock_wall_ms(),
    };
    struct origin *o = NULL;
    int r = report_read(g, which, &report, &row, &events, &arena, cancel, err);

    if (r == 0) {
        goal_objective(g, &row, &text);
        /* The workspace has moved on since one that is past. */
        if (!report.is_past && report_origin(g, &row, &arena, &o) == 0)
            (void)goal_diff(o, /*now=*/NULL, goal_report_path(&events, &arena), cancel, &stat,
                            32 << 10, /*ret_hunks=*/NULL, 0, /*err=*/NULL);
        origin_free(o);
        report.objective = buf_str(&text);
        report.diff_stat = buf_str(&stat);
        if (json)
            goal_report_json(&report, ret);
        else
            goal_report_markdown(&report, ret);
    }
    vec_release(&events);
    return r;
}

void goal_report_is_at(struct goal *g, const char *path)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct str inside = str_of(path);
    struct str dir = str_of(g->spec.dir);
    struct jw w;

    if (!str_starts(inside, dir) || inside.len < dir.len + 2 || path[dir.len] != '/')
        return;
    goal_enter(g);
    if (g->has) {
        jw_init(&w, &data, 0);
        jw_object(&w);
        jw_kstr(&w, "path", str_from(inside, dir.len + 1));
        jw_object_end(&w);
        goal_note(g, "report", buf_str(&data));
    }
    goal_leave(g);
}

void goal_answer_release(struct goal_answer *a)
{
    buf_release(&a->text);
}

/* ---- Life ---- */

/* Observers learn of a resumed goal when the agent begins: there are none before. */
static void tell_restored(struct goal *g)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_object_end(&w);
    goal_tell(g, "goal_restored", buf_str(&data));
    goal_tell_active(g);
}

void goal_set_journal(struct goal *g, struct journal *journal)
{
    goal_enter(g);
    g->journal = journal;
    if (g->restored && g->has)
        tell_restored(g);
    g->restored = false;
    goal_leave(g);
}

struct goal *goal_new(const struct goal_spec *spec, struct strv *ret_notes)
{
    struct goal *g = mem_zalloc(sizeof(*g));

    g->spec = *spec;
    g->session_output = spec->output_tokens;
    ticket_init(&g->turn);
    ticket_init(&g->bench);
    memory_init(&g->memory);
    g->wait = (struct wait)WAIT_INIT;
    buf_init(&g->text, BUF_NO_LIMIT);
    buf_init(&g->woken, 1 << 14);
    buf_init(&g->typed, BUF_NO_LIMIT);
    buf_init(&g->denied_what, 1 << 12);
    buf_init(&g->notice, 1 << 10);
    buf_init(&g->bent, 1 << 10);
    buf_init(&g->lost, 1 << 12);
    buf_init(&g->judge, 8 << 10);
    buf_init(&g->stop_why, 2 * STOP_WHY);
    buf_init(&g->refused.reason, BUF_NO_LIMIT);
    buf_init(&g->proof.text, PROOF_MAX);
    buf_init(&g->claim.reason, JUDGE_MAX_REASON);
    buf_init(&g->claim.criteria, 64 << 10);
    g->referee = *goal_referee_rows();
    if (spec->spending)
        spending_watch(spec->spending, account_spend, g);
    if (spec->is_kept && (spec->resumes || spec->is_outside)) {
        goal_enter(g);
        goal_adopt(g, ret_notes);
        goal_leave(g);
    }
    return g;
}

bool goal_asks(struct goal *g, struct buf *ret_objective)
{
    bool asks;

    goal_enter(g);
    asks = g->asks;
    if (asks)
        goal_show_line(goal_words_now(g).objective, ASK_OBJECTIVE, ret_objective);
    goal_leave(g);
    return asks;
}

struct referee *goal_referee(struct goal *g)
{
    return &g->referee;
}

/* A goal that works by itself pauses with its process; one that has not begun stays as it is. */
void goal_close(struct goal *g)
{
    struct err err = {0};

    if (!g)
        return;
    goal_enter(g);
    g->closing = true;
    if (g->has)
        (void)account_flush(g, CHARGE_ACTIVE_ONLY, &err);
    if (goal_is_active(g) && cancel_is_set(g->spec.cancel))
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("tenax was asked to stop"),
                              "user", &err);
    terms_keep_used(g);
    goal_leave(g);
    if (g->store && store_goal_flush(g->store, str_of(g->spec.session), STORE_PATIENCE_MS,
                                     /*cancel=*/NULL, &err) < 0)
        log_debug("goal", "the last changes are not written: %s", err.text);
}

void goal_free(struct goal *g)
{
    if (!g)
        return;
    if (g->spec.spending)
        spending_watch(g->spec.spending, /*fn=*/NULL, /*arg=*/NULL);
    wait_watch_stop(g->watch);
    evidence_release(g);
    strv_release(&g->wrote);
    strv_release(&g->lines);
    goal_options_release(&g->options);
    memory_release(&g->memory);
    wait_release(&g->wait);
    snapshot_free(g->snapshot);
    origin_free(g->origin);
    buf_release(&g->text);
    buf_release(&g->woken);
    buf_release(&g->typed);
    buf_release(&g->denied_what);
    buf_release(&g->notice);
    buf_release(&g->bent);
    buf_release(&g->lost);
    buf_release(&g->judge);
    buf_release(&g->stop_why);
    strv_release(&g->stretch.seen);
    buf_release(&g->refused.reason);
    buf_release(&g->proof.text);
    buf_release(&g->claim.reason);
    buf_release(&g->claim.criteria);
    arena_release(&g->arena);
    if (g->store && !g->spec.is_outside)
        store_goal_release(g->store, str_of(g->spec.session));
    store_free(g->store);
    ticket_release(&g->bench);
    ticket_release(&g->turn);
    mem_freep(&g);
}
