/*
 * run: one agent from its start to its end. Everything that blocks (freeing a child, git) runs on
 * crew threads; an agent's own threads only report that it rests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/event.h"
#include "agent/task.h"
#include "agent/tool_about.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/message.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "tasks/agents_state.h"
#include "tasks/words.h"

#define RUN_AWAITED (TASK_BIT(TASK_AGENT) | TASK_BIT(TASK_WORKFLOW) | TASK_BIT(TASK_REMOTE))

static void run_settle_later(struct run *r);

/* ---- Creation and release ---- */

struct run *run_find(struct agents *a, const char *id)
{
    VEC_EACH(&a->runs, it) {
        if (strcmp((*it)->id, id) == 0)
            return *it;
    }
    return NULL;
}

void run_unref(struct run *r)
{
    struct agents *a = r->agents;
    bool is_last;

    gate_take(&a->gate);
    is_last = --r->refs == 0;
    gate_give(&a->gate);
    if (!is_last)
        return;
    agents_outcome_release(&r->outcome);
    buf_release(&r->model_name);
    buf_release(&r->late);
    definitions_unref(r->types);
    arena_release(&r->arena);
    mem_freep(&r);
}

void run_give_slot(struct run *r)
{
    if (r->holds_slot)
        r->agents->slots--;
    r->holds_slot = false;
}

void run_list(struct run *r)
{
    struct agents *a = r->agents;

    r->holds_slot = (int64_t)a->slots < a->max_running && !a->queue.len;
    a->slots += r->holds_slot;
    r->state = r->holds_slot ? RUN_STARTING : RUN_PENDING;
    vec_push(&a->runs, r);
}

void run_unlist(struct run *r)
{
    struct agents *a = r->agents;

    for (size_t i = 0; i < a->runs.len; i++) {
        if (a->runs.ptr[i] == r)
            a->runs.ptr[i] = a->runs.ptr[--a->runs.len];
    }
}

void run_queue(struct run *r)
{
    struct agents *a = r->agents;

    gate_take(&a->gate);
    if (r->state == RUN_PENDING)
        vec_push(&a->queue, r);
    gate_give(&a->gate);
    runs_next(a); /* its slot may already be free */
}

/* ---- Events ---- */

static int64_t usage_tokens(const struct llm_usage *u)
{
    return u->input + u->cache_read + u->cache_write + u->output;
}

void agents_describe_call(const struct event *e, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *input = NULL;
    struct str about = {0};

    if (json_parse(&arena, e->json, &input, /*ret_info=*/NULL, /*err=*/NULL) == 0)
        about = tool_about(input, /*dir=*/NULL);
    buf_add(ret, e->name);
    if (about.len)
        buf_addf(ret, "(%.*s)", STR_ARG(str_clip(about, 200)));
}

void run_hear(void *arg, const char *id, const struct event *e)
{
    struct run *r = arg;
    struct agents *a = r->agents;
    CLEANUP(buf_release) struct buf activity = BUF_INIT(1000);
    struct task_usage usage;
    bool works_again = false;

    if (e->kind != EVENT_STEP_DONE && e->kind != EVENT_TOOL_STARTED &&
        e->kind != EVENT_TURN_STARTED)
        return;
    gate_take(&a->gate);
    if (e->kind == EVENT_STEP_DONE) {
        r->last = e->usage;
        buf_clear(&r->model_name);
        buf_add(&r->model_name, e->model);
    }
    r->tool_uses += e->kind == EVENT_TOOL_STARTED;
    if (e->kind == EVENT_TURN_STARTED) {
        works_again = r->is_waiting;
        r->is_waiting = false;
    }
    usage =
        (struct task_usage){usage_tokens(&r->last), r->tool_uses, clock_mono_ms() - r->began_ms};
    gate_give(&a->gate);
    if (works_again)
        task_set_state(a->spec.tasks, id, TASK_RUNNING);
    if (e->kind != EVENT_TOOL_STARTED)
        return;
    agents_describe_call(e, &activity);
    task_progress(a->spec.tasks, id, buf_str(&activity), e->name, &usage);
}

/* ---- The end ---- */

static char *dup_str(struct str s)
{
    return mem_dup(s.ptr ? s.ptr : "", s.len);
}

/* "2 (Bash, Write)" for the denied calls. */
static char *name_denied(struct str denials)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    const struct json *list;

    if (json_parse(&arena, denials, &list, /*ret_info=*/NULL, /*err=*/NULL) < 0 || !json_len(list))
        return mem_dup("", 0);
    JSON_EACH(list, one) {
        if (!strv_has(&names, json_get_str(one, "tool_name")))
            strv_add(&names, json_get_str(one, "tool_name"));
    }
    buf_addf(&text, "%zu (", json_len(list));
    for (size_t i = 0; i < names.len; i++)
        buf_addf(&text, "%s%s", i ? ", " : "", names.ptr[i]);
    buf_addc(&text, ')');
    return buf_take(&text);
}

/* stopped_by: NULL if it was not stopped. */
static enum task_state judge_end(const struct run *r, const struct turn_report *report,
                                 const char *stopped_by, struct buf *cause, struct buf *note)
{
    if (!report) {
        buf_adds(cause, r->broken ? r->broken : stopped_by ? stopped_by : "it did nothing");
        return stopped_by ? TASK_KILLED : TASK_FAILED;
    }
    switch (report->end) {
    case END_COMPLETED:
    case END_HOOK_STOPPED:
    case END_STOP_HOOK_PREVENTED:
    case END_TOOL_DEFERRED:
    case END_CALLED_OFF:
        if (stopped_by)
            buf_adds(cause, stopped_by);
        return stopped_by ? TASK_KILLED : TASK_COMPLETED;
    case END_MAX_TURNS:
        buf_addf(note, "stopped at its %" PRId64 "-turn limit", r->type ? r->type->max_steps : 0);
        return TASK_COMPLETED;
    case END_ABORTED_STREAMING:
    case END_ABORTED_TOOLS:
        buf_adds(cause, stopped_by ? stopped_by : "user");
        return TASK_KILLED;
    case END_BUDGET:
        buf_adds(cause, "budget");
        return TASK_FAILED;
    default:
        buf_add(cause, report->error.len ? report->error : report->result);
        return TASK_FAILED;
    }
}

/* Fills r->outcome. */
static enum task_state run_judge(struct run *r, const struct spawn_end *end)
{
    const struct turn_report *report = end->turn ? end->turn->report : NULL;
    CLEANUP(buf_release) struct buf cause = BUF_INIT(TASK_MAX_SUMMARY);
    CLEANUP(buf_release) struct buf note = BUF_INIT(TASK_MAX_SUMMARY);
    struct agents_outcome *o = &r->outcome;
    bool says = report && report->end != END_API_ERROR && report->end != END_PROMPT_TOO_LONG;
    const char *stopped_by;
    enum task_state state;

    gate_take(&r->agents->gate);
    r->is_judged = true;
    stopped_by = r->is_stopped ? r->stopped_by : NULL;
    gate_give(&r->agents->gate);
    state = judge_end(r, report, stopped_by, &cause, &note);
    o->report = dup_str(says ? str_trim(report->result) : STR(""));
    o->cause = buf_take(&cause);
    o->note = buf_take(&note);
    o->denied = name_denied(report ? report->denials : STR("[]"));
    o->state = state;
    return state;
}

static void run_end_tree(struct run *r)
{
    struct agents_outcome *o = &r->outcome;

    o->worktree = mem_dup("", 0);
    o->branch = mem_dup("", 0);
    if (!r->tree.path || !worktree_end(&r->tree, conf_environ(r->agents->spec.conf)))
        return;
    mem_freep(&o->worktree);
    mem_freep(&o->branch);
    o->worktree = mem_dup(r->tree.path, strlen(r->tree.path));
    o->branch = mem_dup(r->tree.branch, strlen(r->tree.branch));
}

/* The agent that started it, held so that it does not end; or NULL. */
static struct run *owner_hold(struct run *r)
{
    struct agents *a = r->agents;
    struct run *owner;

    gate_take(&a->gate);
    owner = run_find(a, r->by.agent);
    if (owner) {
        owner->refs++;
        owner->held++;
    }
    gate_give(&a->gate);
    return owner;
}

static void owner_let_go(struct run *owner)
{
    struct agents *a = owner->agents;

    gate_take(&a->gate);
    owner->held--;
    gate_wake(&a->gate);
    gate_give(&a->gate);
    run_settle_later(owner); /* this may have been the last one it waited for */
    run_unref(owner);
}

/* Ends the run: notifies its owner, then those that wait for it or for its slot. */
static void run_finish(struct run *r, const struct spawn_end *end)
{
    struct agents *a = r->agents;
    struct agents_outcome *o = &r->outcome;
    struct task_end how = {0};
    struct run *owner;

    how.state = run_judge(r, end);
    run_end_tree(r);
    gate_take(&a->gate);
    o->usage = r->last;
    o->total =
        (struct task_usage){usage_tokens(&r->last), r->tool_uses, clock_mono_ms() - r->began_ms};
    mem_freep(&o->model);
    o->model = dup_str(r->model_name.len ? buf_str(&r->model_name) : r->model);
    gate_give(&a->gate);
    how.usage = &o->total;
    how.summary = str_of(*o->cause ? o->cause : o->note);
    how.result = str_of(o->report);
    how.worktree = str_of(o->worktree);
    how.branch = str_of(o->branch);
    if (*o->denied)
        how.note = str_of(o->denied);
    owner = owner_hold(r);
    task_end(a->spec.tasks, r->id,
             &how); /* before the end is saved, so that the notification cannot be lost */
    meta_write(r, how.state);
    gate_take(&a->gate);
    r->state = RUN_OVER;
    run_give_slot(r);
    run_unlist(r);
    gate_wake(&a->gate);
    gate_give(&a->gate);
    runs_next(a);
    if (owner)
        owner_let_go(owner);
    run_unref(r); /* the list's reference */
}

/* Waits for notifications that are on their way to it. */
static void run_await_notices(struct run *r)
{
    struct agents *a = r->agents;

    gate_take(&a->gate);
    while (r->held)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    gate_give(&a->gate);
}

static bool run_rests(struct run *r)
{
    struct spawner *s = r->agents->spec.spawner;
    CLEANUP(cancel_unrefp) struct cancel *now = cancel_new(/*parent=*/NULL);
    CLEANUP(spawn_end_release) struct spawn_end end = {0};

    cancel_set(now);
    return s->wait(s, r->id, now, &end, /*err=*/NULL) == 0;
}

/* The agent rests: checks whether it has ended. */
static void run_settle_once(struct run *r)
{
    struct agents *a = r->agents;
    struct spawner *s = a->spec.spawner;
    CLEANUP(spawn_end_release) struct spawn_end end = {0};
    bool works, is_stopped, tells = false;

    gate_take(&a->gate);
    works = r->state == RUN_WORKING && !a->is_closed;
    gate_give(&a->gate);
    run_await_notices(r);
    if (!works || !run_rests(r))
        return;
    gate_take(&a->gate);
    is_stopped = r->is_stopped;
    gate_give(&a->gate);
    if (!is_stopped && task_running(a->spec.tasks, RUN_AWAITED, r->id, /*background=*/true)) {
        gate_take(&a->gate);
        tells = !r->is_waiting;
        r->is_waiting = true;
        run_give_slot(r);
        gate_give(&a->gate);
        if (tells)
            task_set_state(a->spec.tasks, r->id, TASK_WAITING);
        runs_next(a);
        return;
    }
    gate_take(&a->gate);
    r->state = RUN_ENDING; /* from here on messages wait, and then resume it */
    gate_give(&a->gate);
    run_await_notices(r);
    if (s->retire(s, r->id, &end, /* it was sent something */ NULL) <
        0) { /* it was given something to do */
        gate_take(&a->gate);
        r->state = RUN_WORKING;
        is_stopped = r->is_stopped;
        gate_wake(&a->gate);
        gate_give(&a->gate);
        if (is_stopped) /* stopped while it could not be reached */
            (void)s->stop(s, r->id, /*err=*/NULL);
        run_settle_later(r); /* it may have started to rest before that */
        return;
    }
    run_finish(r, &end);
}

static void run_settle(void *arg)
{
    struct run *r = arg;
    struct agents *a = r->agents;
    bool again = true;

    while (again) {
        run_settle_once(r);
        gate_take(&a->gate);
        again = r->settles_again;
        r->settles_again = false;
        r->is_settling = again;
        gate_give(&a->gate);
    }
    run_unref(r);
    gate_take(&a->gate);
    a->jobs--;
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

/* Runs fn on a crew thread, which gets its own reference. */
static void run_work(struct run *r, const char *name, thread_fn fn)
{
    struct agents *a = r->agents;

    if (crew_start(a->spec.crew, name, fn, r, /*err=*/NULL) < 0)
        fn(r); /* no thread available: run it here */
}

static void run_settle_later(struct run *r)
{
    struct agents *a = r->agents;
    bool starts;

    gate_take(&a->gate);
    r->settles_again = r->is_settling || r->state == RUN_STARTING;
    starts = !r->is_settling && r->state == RUN_WORKING && !a->is_closed;
    if (starts) {
        r->is_settling = true;
        r->refs++;
        a->jobs++;
    }
    gate_give(&a->gate);
    if (starts)
        run_work(r, "agent-end", run_settle);
}

void run_on_rest(void *arg, const char *id)
{
    (void)id;
    run_settle_later(arg);
}

/* ---- The start ---- */

static void write_system(const struct run *r, struct buf *ret)
{
    if (!r->type)
        return;
    buf_add(ret, r->type->prompt);
    buf_addc(ret, '\n');
    buf_adds(ret, agent_every_agent_md);
}

static void write_prompt(const struct run *r, struct buf *ret)
{
    if (r->road == ROAD_FORK && !r->resumes)
        buf_adds(ret, "<fork-boilerplate>\nYou are a fork: a copy of the agent above, with one "
                      "directive. What came before is for reference. Do the directive and nothing "
                      "beside it; start no agents and ask no questions. Your last message is a "
                      "short report to the agent you were copied from.\n</fork-boilerplate>\n\n"
                      "Your directive: ");
    buf_add(ret, r->prompt);
    buf_add(ret, buf_str(&r->late));
    if (!r->tree.path || r->resumes)
        return;
    buf_addf(ret,
             "\n\nYou work in a git worktree of your own, %s, on the branch %s. What you change "
             "there is invisible to others until it is merged.",
             r->tree.path, r->tree.branch);
    if (r->tree.left_out)
        buf_addf(ret, " %zu file%s that the caller has not committed %s not in it.",
                 r->tree.left_out, r->tree.left_out == 1 ? "" : "s",
                 r->tree.left_out == 1 ? "is" : "are");
    if (r->tree.submodules)
        buf_addf(ret, " The folders of submodules are empty in it: %s.", r->tree.submodules);
}

int run_launch(struct run *r, struct err *err)
{
    struct agents *a = r->agents;
    struct spawner *s = a->spec.spawner;
    CLEANUP(buf_release) struct buf system = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(2 * AGENTS_MAX_PROMPT);
    struct spawn_end none = {0};
    struct spawn_spec spec = {
        .by = &r->by,
        .id = r->id,
        .about = r->description,
        .depth = r->depth,
        .in_background = r->road != ROAD_FOREGROUND,
        .type = r->type ? str_of(r->type->name) : STR("fork"),
        .tool_id = r->tool_use_id,
        .forks = r->road == ROAD_FORK && !r->resumes,
        .resumes = r->resumes,
        .is_read_only = r->type && r->type->is_read_only,
        .changes_ignored = r->type && r->type->changes_ignored,
        .omits_instructions = r->type && r->type->omits_instructions,
        .wants_tool = pool_wants,
        .refuses_tool = pool_refuses,
        .wants_arg = &r->pool,
        .model = r->model,
        .effort = r->effort,
        .mode = r->mode,
        .dir = r->tree.path,
        .max_steps = r->type ? r->type->max_steps : 0,
        .memory = r->type ? r->type->memory : STR(""),
        .skills = r->type ? &r->type->skills : NULL,
        .servers = r->type ? r->type->servers : NULL,
        .server_names = r->type ? &r->type->server_names : NULL,
        .hooks = r->type ? r->type->hooks : NULL,
        .hooks_file = r->type ? r->type->path : NULL,
        .hears = run_hear,
        .rests = run_on_rest,
        .arg = r,
    };
    char id[SPAWN_ID_LEN + 1];
    bool settles, is_stopped;
    struct err why = {0};

    gate_take(&a->gate);
    is_stopped = r->is_stopped; /* while it waited for its slot */
    if (is_stopped)
        r->state = RUN_ENDING;
    gate_give(&a->gate);
    if (is_stopped) {
        run_finish(r, &none);
        return 0;
    }
    write_system(r, &system);
    write_prompt(r, &prompt);
    spec.system = buf_str(&system);
    spec.prompt = buf_str(&prompt);
    task_set_state(a->spec.tasks, r->id, TASK_RUNNING);
    if (s->start(s, &spec, id, &why) < 0) {
        gate_take(&a->gate);
        r->state = RUN_ENDING;
        r->broken = arena_cstr(&r->arena, str_of(why.text));
        gate_give(&a->gate);
        run_finish(r, &none);
        if (err)
            *err = why;
        return -1;
    }
    gate_take(&a->gate);
    r->state = RUN_WORKING;
    settles = r->settles_again;
    is_stopped = r->is_stopped;
    r->settles_again = false;
    gate_wake(&a->gate); /* messages wait for this */
    gate_give(&a->gate);
    meta_write(r, TASK_RUNNING);
    if (is_stopped)
        (void)s->stop(s, r->id, /*err=*/NULL);
    if (settles || is_stopped)
        run_settle_later(r);
    return 0;
}

static void run_launch_later(void *arg)
{
    struct run *r = arg;
    struct agents *a = r->agents;

    (void)run_launch(r, /*err=*/NULL);
    run_unref(r);
    gate_take(&a->gate);
    a->jobs--;
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

void runs_next(struct agents *a)
{
    for (;;) {
        struct run *r = NULL;

        gate_take(&a->gate);
        if (a->queue.len && (int64_t)a->slots < a->max_running && !a->is_closed) {
            r = a->queue.ptr[0];
            memmove(a->queue.ptr, a->queue.ptr + 1, (a->queue.len - 1) * sizeof(r));
            a->queue.len--;
            a->slots++;
            r->holds_slot = true;
            r->state = RUN_STARTING;
            r->refs++;
            a->jobs++;
        }
        gate_give(&a->gate);
        if (!r)
            return;
        run_work(r, "agent-start", run_launch_later);
    }
}

/* ---- Stopping ---- */

bool run_stop(struct run *r, const char *by)
{
    struct agents *a = r->agents;
    struct spawner *s = a->spec.spawner;
    VEC(struct run *) below = VEC_INIT;
    struct spawn_end none = {0};
    bool was_pending = false;
    bool is_late;

    gate_take(&a->gate);
    is_late = r->is_judged;
    r->is_stopped = r->is_stopped || !is_late;
    if (!r->stopped_by)
        r->stopped_by = by;
    for (size_t i = 0; i < a->queue.len; i++) {
        if (a->queue.ptr[i] != r)
            continue;
        memmove(&a->queue.ptr[i], &a->queue.ptr[i + 1], (a->queue.len - i - 1) * sizeof(r));
        a->queue.len--;
        was_pending = true;
    }
    if (was_pending)
        r->state = RUN_ENDING;
    VEC_EACH(&a->runs, it) {
        if (strcmp((*it)->by.agent, r->id) != 0)
            continue;
        (*it)->refs++;
        vec_push(&below, *it);
    }
    gate_give(&a->gate);
    VEC_EACH(&below, it) {
        task_set_known(a->spec.tasks, (*it)->id); /* there is no receiver */
        (void)run_stop(*it, "parent");
        run_unref(*it);
    }
    vec_release(&below);
    if (is_late)
        return false;
    if (was_pending) {
        run_finish(r, &none);
        return true;
    }
    (void)s->stop(s, r->id, /*err=*/NULL);
    run_settle_later(r);
    return true;
}

static int ops_stop(void *arg, const char *id, const char *by, struct err *err)
{
    struct agents *a = arg;
    bool is_in_time = false;
    struct run *r;

    gate_take(&a->gate);
    r = run_find(a, id);
    if (r)
        r->refs++;
    gate_give(&a->gate);
    if (r) {
        is_in_time = run_stop(r, by ? "parent" : "user");
        run_unref(r);
    }
    return is_in_time ? 0 : err_set(err, ERR_BAD_INPUT, "%s has just ended by itself", id);
}

const struct task_ops run_ops = {ops_stop, NULL};

/* ---- The meta file ---- */

/* Begins to write: one writer at a time, and nothing after the end. *ret_by_user is the current
 * value. */
static bool meta_begin(struct run *r, enum task_state state, bool *ret_by_user)
{
    struct agents *a = r->agents;
    bool writes;

    gate_take(&a->gate);
    while (r->is_writing)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    writes =
        task_is_over(state) ||
        (!r->is_judged && (!r->has_meta || r->meta_state != state || r->meta_away != r->is_away));
    r->is_writing = writes;
    r->has_meta = true;
    r->meta_state = state;
    r->meta_away = r->is_away;
    *ret_by_user = r->is_stopped && r->stopped_by && strcmp(r->stopped_by, "user") == 0;
    gate_give(&a->gate);
    return writes;
}

static void meta_end(struct run *r)
{
    struct agents *a = r->agents;

    gate_take(&a->gate);
    r->is_writing = false;
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

void meta_write(struct run *r, enum task_state state)
{
    struct agents *a = r->agents;
    bool is_over = task_is_over(state);
    bool by_user;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;
    struct jw w;

    if (!a->spec.folder || !task_look(a->spec.tasks, str_of(r->id), &arena, &v) ||
        !meta_begin(r, state, &by_user))
        return;
    buf_addf(&path, "%s/subagents", a->spec.folder);
    (void)file_mkdirs(buf_cstr(&path), 0700, /*err=*/NULL);
    buf_addf(&path, "/agent-%s.meta.json", r->id);
    jw_init(&w, &json, 0);
    jw_object(&w);
    jw_kcstr(&w, "agentType", r->type ? r->type->name : "fork");
    jw_kbool(&w, "isBuiltIn", !r->type || r->type->source == DEFINITION_BUILT_IN);
    jw_kstr(&w, "description", r->description);
    jw_kstr(&w, "prompt", r->prompt);
    jw_kstr(&w, "toolUseId", r->tool_use_id);
    if (r->name.len)
        jw_kstr(&w, "name", r->name);
    jw_ki64(&w, "spawnDepth", r->depth);
    if (strcmp(r->by.agent, IDENTITY_MAIN) != 0)
        jw_kcstr(&w, "parentAgentId", r->by.agent);
    jw_kcstr(&w, "requestShape", r->road == ROAD_FOREGROUND ? "foreground" : "background");
    if (r->model.len)
        jw_kstr(&w, "model", r->model);
    if (r->effort)
        jw_kcstr(&w, "effort", effort_name(r->effort));
    if (r->mode.len)
        jw_kstr(&w, "permissionMode", r->mode);
    if (r->road == ROAD_FORK)
        jw_kbool(&w, "isFork", true);
    jw_kcstr(&w, "runId", v.run);
    jw_kcstr(&w, "status", task_state_name(state));
    jw_kbool(&w, "inBackground", v.is_background);
    if (is_over)
        jw_kbool(&w, "finished", true);
    if (by_user)
        jw_kbool(&w, "stoppedByUser", true);
    if (r->tree.path) {
        jw_kcstr(&w, "worktreePath", r->tree.path);
        jw_kcstr(&w, "worktreeBranch", r->tree.branch);
        jw_kcstr(&w, "worktreeBase", r->tree.base);
        if (is_over && !*r->outcome.worktree)
            jw_kbool(&w, "worktreeCleanlyRemoved", true);
    }
    jw_object_end(&w);
    buf_addc(&json, '\n');
    (void)file_renew(buf_cstr(&path), buf_str(&json), 0600, /*err=*/NULL);
    meta_end(r);
}
