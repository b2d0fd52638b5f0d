/*
 * agents: starting subagents, limits, and waiting for them. run.c has the life of a single one.
 */
#include "tasks/agents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/task.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tasks/agents_state.h"

#define AGENTS_MAX_DESCRIPTION 500
#define LOOK_MS 500
#define TYPES_TITLE "Types of agents (subagent_type of Agent):\n"

void agents_outcome_release(struct agents_outcome *o)
{
    mem_freep(&o->type);
    mem_freep(&o->description);
    mem_freep(&o->prompt);
    mem_freep(&o->model);
    mem_freep(&o->output_file);
    mem_freep(&o->report);
    mem_freep(&o->cause);
    mem_freep(&o->note);
    mem_freep(&o->denied);
    mem_freep(&o->worktree);
    mem_freep(&o->branch);
}

/* ---- Creation and release ---- */

/* A limit from the settings or from an environment variable. */
static int64_t read_limit(const struct conf *conf, const char *key, const char *variable,
                          int64_t otherwise, int64_t most)
{
    int64_t n = conf_get_i64(conf, key, otherwise);
    const char *const prefixes[] = {"TENAX_", "CLAUDE_CODE_"};

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(100);
        const char *text;
        int64_t value;

        buf_addf(&name, "%s%s", prefixes[i], variable);
        text = conf_env(conf, buf_cstr(&name));
        if (text && str_to_i64(str_of(text), &value, /*err=*/NULL) == 0 && value > 0) {
            n = value;
            break;
        }
    }
    return n < 1 ? 1 : n > most ? most : n;
}

static bool env_is_on(const struct conf *conf, const char *name)
{
    const char *text = conf_env(conf, name);

    return text && *text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

static bool has_built_in(const struct agents *a)
{
    return !a->spec.is_headless ||
           !env_is_on(a->spec.conf, "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS");
}

static bool may_background(const struct agents *a)
{
    return !env_is_on(a->spec.conf, "TENAX_DISABLE_BACKGROUND_TASKS") &&
           !env_is_on(a->spec.conf, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
}

int agents_new(const struct agents_spec *spec, struct agents **ret, struct err *err)
{
    struct agents *a = mem_zalloc(sizeof(*a));

    a->spec = *spec;
    gate_init(&a->gate);
    buf_init(&a->brought, BUF_NO_LIMIT);
    a->max_running =
        read_limit(spec->conf, "agents.maxConcurrent", "MAX_CONCURRENT_SUBAGENTS", 20, 1000);
    a->max_depth = read_limit(spec->conf, "agents.maxDepth", "MAX_SUBAGENT_SPAWN_DEPTH", 3, 20);
    a->max_session =
        read_limit(spec->conf, "agents.maxPerSession", "MAX_SUBAGENTS_PER_SESSION", 1000, 10000);
    if (definitions_read(spec->conf, STR(""), has_built_in(a), &a->types, err) < 0) {
        agents_free(a);
        return -1;
    }
    *ret = a;
    return 0;
}

void agents_close(struct agents *a)
{
    if (!a)
        return;
    gate_take(&a->gate);
    a->is_closed = true;
    gate_wake(&a->gate);
    while (a->jobs)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    gate_give(&a->gate);
}

void agents_free(struct agents *a)
{
    if (!a)
        return;
    agents_close(a);
    while (a->runs.len) {
        struct run *r = a->runs.ptr[--a->runs.len];

        run_unref(r);
    }
    vec_release(&a->runs);
    vec_release(&a->queue);
    hires_release(a);
    definitions_unref(a->types);
    definitions_unref(a->workers);
    buf_release(&a->brought);
    strv_release(&a->told);
    gate_release(&a->gate);
    mem_freep(&a);
}

/* ---- Types ---- */

static struct definitions *types_ref(struct agents *a)
{
    struct definitions *l;

    gate_take(&a->gate);
    l = definitions_ref(a->workers ? a->workers : a->types);
    gate_give(&a->gate);
    return l;
}

void agents_coordinate(struct agents *a, bool on)
{
    struct definitions *workers = on ? definitions_of_workers() : NULL;
    struct definitions *old;

    gate_take(&a->gate);
    old = a->workers;
    a->workers = workers;
    gate_give(&a->gate);
    definitions_unref(old);
}

bool agents_are_coordinated(struct agents *a)
{
    bool is_on;

    gate_take(&a->gate);
    is_on = a->workers;
    gate_give(&a->gate);
    return is_on;
}

const char *agents_default_type(struct agents *a)
{
    return agents_are_coordinated(a) ? "worker" : "general-purpose";
}

/* Reads the types again, including those of an SDK. */
static int types_read(struct agents *a, struct str brought, struct err *err)
{
    struct definitions *fresh;
    struct definitions *old;

    if (definitions_read(a->spec.conf, brought, has_built_in(a), &fresh, err) < 0)
        return -1;
    gate_take(&a->gate);
    old = a->types;
    a->types = fresh;
    gate_give(&a->gate);
    definitions_unref(old);
    return 0;
}

struct definitions *agents_types(struct agents *a)
{
    struct definitions *l = types_ref(a);
    CLEANUP(buf_release) struct buf brought = BUF_INIT(BUF_NO_LIMIT);

    if (agents_are_coordinated(a) || definitions_are_fresh(l, a->spec.conf))
        return l;
    gate_take(&a->gate);
    buf_add(&brought, buf_str(&a->brought));
    gate_give(&a->gate);
    if (types_read(a, buf_str(&brought), /*err=*/NULL) < 0)
        return l; /* keep the old list */
    definitions_unref(l);
    return types_ref(a);
}

int agents_bring(struct agents *a, struct str json, struct err *err)
{
    if (types_read(a, json, err) < 0)
        return -1;
    gate_take(&a->gate);
    buf_clear(&a->brought);
    buf_add(&a->brought, json);
    gate_give(&a->gate);
    return 0;
}

void agents_brought(struct agents *a, struct buf *ret_json)
{
    gate_take(&a->gate);
    buf_add(ret_json, buf_str(&a->brought));
    gate_give(&a->gate);
}

static void types_lines(const struct definitions *l, struct strv *ret)
{
    VEC_EACH(&l->list, it) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(2000);

        if ((*it)->shadowed_by)
            continue;
        definition_write_line(*it, &line);
        strv_add(ret, buf_str(&line));
    }
}

static struct str line_name(const char *line)
{
    struct str s = str_from(str_of(line), 2);

    return str_first(s, str_chr(s, ':'));
}

/* Writes which types were added to or removed from a list, as two JSON arrays. */
static void write_types(struct jw *w, const char *names, const char *lines, const struct strv *of,
                        const struct strv *but)
{
    jw_key(w, names);
    jw_array(w);
    for (size_t i = 0; i < of->len; i++) {
        if (!strv_has(but, str_of(of->ptr[i])))
            jw_str(w, line_name(of->ptr[i]));
    }
    jw_array_end(w);
    if (!lines)
        return;
    jw_key(w, lines);
    jw_array(w);
    for (size_t i = 0; i < of->len; i++) {
        if (!strv_has(but, str_of(of->ptr[i])))
            jw_cstr(w, of->ptr[i]);
    }
    jw_array_end(w);
}

static bool has_name(const struct strv *lines, struct str name)
{
    for (size_t i = 0; i < lines->len; i++) {
        if (str_eq(line_name(lines->ptr[i]), name))
            return true;
    }
    return false;
}

void agents_list_types(struct agents *a, struct buf *ret)
{
    CLEANUP(definitions_unrefp) struct definitions *l = agents_types(a);
    CLEANUP(strv_release) struct strv lines = STRV_INIT;

    types_lines(l, &lines);
    for (size_t i = 0; i < lines.len; i++)
        buf_addf(ret, "%s%s\n", i ? "" : TYPES_TITLE, lines.ptr[i]);
}

void agents_tell_types(struct agents *a, bool first, struct buf *ret_text, struct buf *ret_json)
{
    struct definitions *l = agents_types(a);
    CLEANUP(strv_release) struct strv now = STRV_INIT;
    CLEANUP(strv_release) struct strv before = STRV_INIT;
    struct jw w;
    bool has_added = false, has_removed = false;

    types_lines(l, &now);
    definitions_unref(l);
    gate_take(&a->gate);
    if (!first)
        strv_add_all(&before, &a->told);
    strv_clear(&a->told);
    strv_add_all(&a->told, &now);
    gate_give(&a->gate);
    for (size_t i = 0; i < now.len; i++) {
        if (strv_has(&before, str_of(now.ptr[i])))
            continue;
        if (!has_added)
            buf_adds(ret_text, first ? TYPES_TITLE : "New or changed types of agents:\n");
        has_added = true;
        buf_addf(ret_text, "%s\n", now.ptr[i]);
    }
    for (size_t i = 0; i < before.len; i++) {
        if (has_name(&now, line_name(before.ptr[i])))
            continue;
        buf_addf(ret_text, "%s%.*s", has_removed ? ", " : "Types of agents that are gone: ",
                 STR_ARG(line_name(before.ptr[i])));
        has_removed = true;
    }
    if (!ret_text->len)
        return;
    jw_init(&w, ret_json, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "agent_listing_delta");
    write_types(&w, "addedTypes", "addedLines", &now, &before);
    write_types(&w, "removedTypes", NULL, &before, &now);
    jw_kbool(&w, "isInitial", first);
    jw_object_end(&w);
}

/* ---- Checks ---- */

int order_check(const struct agents_order *o, struct err *err)
{
    if (!str_trim(o->prompt).len)
        return err_set(err, ERR_BAD_INPUT, "the prompt is empty");
    if (o->prompt.len > AGENTS_MAX_PROMPT)
        return err_set(err, ERR_TOO_BIG, "the prompt has more than %zu bytes", AGENTS_MAX_PROMPT);
    if (str_is(o->isolation, "remote"))
        return err_set(err, ERR_UNSUPPORTED, "no other machine is set up to run agents on");
    return 0;
}

int type_refuse(const struct definitions *l, struct str name, struct err *err)
{
    CLEANUP(buf_release) struct buf known = BUF_INIT(300);

    VEC_EACH(&l->list, it) {
        if (!(*it)->shadowed_by)
            buf_addf(&known, "%s%s", known.len ? ", " : "", (*it)->name);
    }
    return err_set(err, ERR_BAD_INPUT, "there is no agent type '%.*s'; there are: %s",
                   STR_ARG(str_clip(name, 64)), known.len ? buf_cstr(&known) : "none");
}

/* Checks the session's limits; the gate must be held. parent: NULL = main. */
static int check_session(struct agents *a, const struct run *parent, const struct run *r,
                         struct err *err)
{
    if (a->is_closed)
        return err_set(err, ERR_CANCELLED, "the session ends");
    if (a->started >= a->max_session)
        return err_set(err, ERR_TOO_BIG,
                       "the session has started %" PRId64 " agents, which is its limit "
                       "(agents.maxPerSession); do not retry",
                       a->started);
    if (parent && parent->is_stopped) /* otherwise it would never be stopped */
        return err_set(err, ERR_CANCELLED, "the agent %s was stopped", parent->id);
    if (r->depth > a->max_depth)
        return err_set(err, ERR_TOO_BIG,
                       "agents start agents %" PRId64 " deep at most (agents.maxDepth); do the "
                       "work yourself",
                       a->max_depth);
    if (parent && parent->road == ROAD_FORK)
        return err_set(err, ERR_UNSUPPORTED, "a fork starts no agents; do the work yourself");
    if (parent && parent->type && parent->type->starts.len && r->type &&
        !strv_has(&parent->type->starts, str_of(r->type->name)))
        return err_set(err, ERR_DENIED, "an agent of the type %s may not start one of the type %s",
                       parent->type->name, r->type->name);
    return 0;
}

struct str model_choose(const struct agents *a, const struct agents_order *o,
                        const struct definition *type)
{
    static const char *const variables[] = {"TENAX_SUBAGENT_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"};
    struct str model = o->model;

    if (!model.len && type)
        model = type->model;
    if (!model.len)
        model = conf_get_str(a->spec.conf, "agents.model");
    for (size_t i = 0; i < ARRAY_LEN(variables) && !model.len; i++) {
        const char *text = conf_env(a->spec.conf, variables[i]);

        model = str_of(text ? text : "");
    }
    return str_is(model, "inherit") ? STR("") : model;
}

struct str agents_mode_of(struct permit *permit, const struct definition *type)
{
    enum permit_mode parent = permit_mode(permit);

    if (parent == MODE_PLAN)
        return STR("plan");
    if (!type)
        return STR("");
    if (str_is(type->mode, "plan") || str_is(type->mode, "dontAsk"))
        return type->mode;
    if (parent == MODE_DEFAULT && str_is(type->mode, "acceptEdits") &&
        type->source != DEFINITION_PROJECT && type->source != DEFINITION_PLUGIN)
        return type->mode;
    return STR("");
}

static enum agents_road choose_road(const struct agents *a, const struct agents_order *o,
                                    const struct definition *type, bool forks)
{
    if (forks)
        return ROAD_FORK;
    if ((o->in_background || (type && type->in_background)) && may_background(a))
        return ROAD_BACKGROUND;
    return ROAD_FOREGROUND;
}

/* ---- Creation ---- */

/* Makes the link <session>/tasks/<id>.output to its transcript. */
static const char *make_output(struct agents *a, const char *id, struct arena *arena)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf target = BUF_INIT(1000);

    if (!a->spec.folder)
        return "";
    buf_addf(&dir, "%s/tasks", a->spec.folder);
    buf_addf(&path, "%s/%s.output", buf_cstr(&dir), id);
    buf_addf(&target, "../subagents/agent-%s.jsonl", id);
    if (file_mkdirs(buf_cstr(&dir), 0700, /*err=*/NULL) < 0 ||
        symlink(buf_cstr(&target), buf_cstr(&path)) < 0)
        return ""; /* not a reason to fail */
    return arena_cstr(arena, buf_str(&path));
}

static struct run *run_new(struct agents *a, const struct agents_order *o)
{
    struct run *r = mem_zalloc(sizeof(*r));

    r->agents = a;
    r->refs = 2; /* one for the list, one for the caller */
    r->by = identity_copy(&r->arena, o->by);
    if (!r->by.agent)
        r->by.agent = IDENTITY_MAIN;
    r->description = arena_str(&r->arena, str_clip(o->description, AGENTS_MAX_DESCRIPTION));
    r->prompt = arena_str(&r->arena, o->prompt);
    r->tool_use_id = arena_str(&r->arena, o->tool_use_id);
    r->name = arena_str(&r->arena, o->name);
    buf_init(&r->model_name, 1000);
    buf_init(&r->late, AGENTS_MAX_PROMPT);
    r->began_ms = clock_mono_ms();
    task_make_id(a->spec.tasks, TASK_AGENT, r->id);
    return r;
}

static void run_drop(struct run *r)
{
    r->refs = 1;
    run_unref(r);
}

static int run_choose(struct run *r, const struct agents_order *o, struct err *err)
{
    struct agents *a = r->agents;
    bool forks = str_is(o->type, "fork");
    struct str type = o->type.len ? o->type : str_of(agents_default_type(a));

    r->types = agents_types(a);
    if (!forks) {
        r->type = definitions_find(r->types, type);
        if (!r->type)
            return type_refuse(r->types, type, err);
    } else if (agents_are_coordinated(a)) {
        return err_set(err, ERR_UNSUPPORTED,
                       "there are no forks in coordinator mode; start a worker");
    } else if (o->isolation.len) {
        return err_set(err, ERR_BAD_INPUT, "a fork works where its parent does: no isolation");
    } else if (!may_background(a)) {
        return err_set(err, ERR_UNSUPPORTED, "background tasks are switched off, and so are forks");
    }
    r->road = choose_road(a, o, r->type, forks);
    if (!forks)
        r->model = arena_str(&r->arena, model_choose(a, o, r->type));
    r->effort = forks ? EFFORT_UNSET : o->effort ? o->effort : r->type->effort;
    r->mode = agents_mode_of(o->permit, r->type);
    return 0;
}

static int run_make_tree(struct run *r, const struct agents_order *o, struct err *err)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(o->workspace);

    if (!str_is(o->isolation, "worktree") && !(r->type && r->type->in_worktree))
        return 0;
    return worktree_make(cwd, conf_get_str(r->agents->spec.conf, "worktree.baseRef"),
                         conf_environ(r->agents->spec.conf), r->id, &r->arena, o->cancel, &r->tree,
                         err);
}

enum pool_kind run_pool_kind(const struct run *r)
{
    if (r->type && r->type->is_worker)
        return r->agents->spec.is_bare ? POOL_BARE_WORKER : POOL_WORKER;
    switch (r->road) {
    case ROAD_FORK:
        return POOL_FORK;
    case ROAD_BACKGROUND:
        return POOL_BACKGROUND;
    default:
        return POOL_FOREGROUND;
    }
}

/* Adds the run to the table and to the list, with a slot or in the queue for one. */
static int run_enter(struct run *r, bool *ret_has_slot, struct err *err)
{
    struct agents *a = r->agents;
    struct run *parent;
    struct task_spec task = {
        .id = r->id,
        .kind = TASK_AGENT,
        .is_background = r->road != ROAD_FOREGROUND,
        .type = r->type ? r->type->name : "fork",
        .name = r->name.len ? arena_cstr(&r->arena, r->name) : NULL,
        .description = r->description,
        .prompt = r->prompt,
        .tool_use_id = r->tool_use_id,
        .ops = &run_ops,
        .arg = a,
    };
    int rc;

    gate_take(&a->gate);
    parent = run_find(a, r->by.agent);
    r->depth = parent ? parent->depth + 1 : r->by.depth + 1;
    rc = check_session(a, parent, r, err);
    if (rc == 0) {
        a->started++;
        run_list(r);
    }
    *ret_has_slot = r->holds_slot;
    gate_give(&a->gate);
    if (rc < 0)
        return -1;
    r->pool = (struct pool){
        .kind = run_pool_kind(r),
        .type = r->type,
        .may_start = r->depth < a->max_depth,
    };
    r->output_file = make_output(a, r->id, &r->arena);
    r->is_away = r->road != ROAD_FOREGROUND;
    task.depth = r->depth;
    task.is_pending = !r->holds_slot;
    task.output_file = str_of(r->output_file);
    rc = task_begin_as(a->spec.tasks, r->by.agent, &task, err);
    if (rc == 0) {
        meta_write(r, r->holds_slot ? TASK_RUNNING : TASK_PENDING);
        run_queue(r);
        return 0;
    }
    gate_take(&a->gate);
    run_give_slot(r);
    run_unlist(r);
    gate_give(&a->gate);
    runs_next(a);
    return -1;
}

/* ---- Waiting ---- */

void agents_poke(void *arg)
{
    struct agents *a = arg;

    gate_take(&a->gate);
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

/* An agent that waits for others gives up its slot. */
static void parent_waits(struct run *r, bool on)
{
    struct agents *a = r->agents;
    struct run *parent;

    gate_take(&a->gate);
    parent = run_find(a, r->by.agent);
    if (parent && on && parent->calls++ == 0 && parent->holds_slot) {
        a->slots--;
        parent->holds_slot = false;
    } else if (parent && !on && --parent->calls == 0 && parent->state == RUN_WORKING) {
        a->slots++;
        parent->holds_slot = true;
    }
    gate_give(&a->gate);
    if (on)
        runs_next(a);
}

/* When the user's queue is looked at again. */
static int64_t next_look(int64_t until_ms)
{
    int64_t look_ms = clock_mono_ms() + LOOK_MS;

    return until_ms >= 0 && until_ms < look_ms ? until_ms : look_ms;
}

/* Whether the user has waited long enough for agents that main itself waits for. */
static bool user_has_waited(const struct agents *a)
{
    int64_t since_ms = a->spec.input_since(a->spec.arg);

    return since_ms >= 0 && clock_mono_ms() - since_ms >= AGENTS_PATIENCE_MS;
}

/* Waits until the agent has ended or moved to the background. -1 if the caller was interrupted; the
 * agent has ended then, too. */
static int run_await(struct run *r, struct cancel *cancel, struct err *err)
{
    struct agents *a = r->agents;
    struct cancel_hook *hook = cancel ? cancel_on(cancel, agents_poke, a) : NULL;
    int64_t away_ms = conf_get_i64(a->spec.conf, "agents.autoBackgroundMs", 0);
    int64_t until_ms = away_ms > 0 && may_background(a) ? clock_mono_ms() + away_ms : -1;
    bool has_user = a->spec.input_since && may_background(a) && identity_is_main(&r->by);
    bool was_stopped = false;
    bool goes_away = false;
    bool is_cut;

    parent_waits(r, true);
    gate_take(&a->gate);
    while (r->state != RUN_OVER && !r->is_away && !a->is_closed) {
        if (cancel_is_set(cancel) && !was_stopped) {
            was_stopped = true;
            gate_give(&a->gate);
            (void)run_stop(r, "parent");
            gate_take(&a->gate);
            continue;
        }
        if (until_ms >= 0 && clock_mono_ms() >= until_ms && !was_stopped) {
            goes_away = r->is_away = true;
            break;
        }
        if (!has_user || was_stopped) {
            gate_wait(&a->gate, was_stopped ? -1 : until_ms);
            continue;
        }
        gate_wait(&a->gate, next_look(until_ms));
        gate_give(&a->gate);
        if (user_has_waited(a)) /* moves this one, too */
            (void)agents_send_away(a, STR(""));
        gate_take(&a->gate);
    }
    is_cut = was_stopped || (cancel_is_set(cancel) && r->state != RUN_OVER && !r->is_away);
    gate_give(&a->gate);
    cancel_off(hook);
    parent_waits(r, false);
    if (goes_away)
        task_set_background(a->spec.tasks, r->id);
    if (is_cut)
        return err_set(err, ERR_CANCELLED, "the agent %s was stopped while running", r->id);
    return 0;
}

/* In the background: a notification reports its end, and nothing else does. */
static bool is_notified(const struct run *r)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;

    return task_look(r->agents->spec.tasks, str_of(r->id), &arena, &v) && v.is_background;
}

static void write_outcome(struct run *r, const struct agents_order *o, struct agents_outcome *ret)
{
    struct agents *a = r->agents;
    bool is_late = is_notified(r);
    struct str model;

    gate_take(&a->gate);
    if (r->state == RUN_OVER && !is_late) {
        *ret = r->outcome;
        r->outcome = (struct agents_outcome){.state = ret->state};
    } else {
        ret->is_async = true;
        model = r->model_name.len ? buf_str(&r->model_name)
                : r->model.len    ? r->model
                                  : o->model_now;
        ret->model = mem_dup(model.ptr ? model.ptr : "", model.len);
    }
    gate_give(&a->gate);
    memcpy(ret->id, r->id, sizeof(ret->id));
    ret->type = r->type ? mem_dup(r->type->name, strlen(r->type->name)) : mem_dup("fork", 4);
    ret->description = mem_dup(r->description.ptr, r->description.len);
    ret->prompt = mem_dup(r->prompt.ptr, r->prompt.len);
    ret->output_file = mem_dup(r->output_file, strlen(r->output_file));
}

int agents_start(struct agents *a, const struct agents_order *o, struct agents_outcome *ret,
                 struct err *err)
{
    struct run *r;
    bool has_slot;
    int rc = 0;

    if (order_check(o, err) < 0)
        return -1;
    r = run_new(a, o);
    if (run_choose(r, o, err) < 0 || run_make_tree(r, o, err) < 0) {
        run_drop(r);
        return -1;
    }
    if (run_enter(r, &has_slot, err) < 0) {
        (void)worktree_end(&r->tree, conf_environ(a->spec.conf));
        run_drop(r);
        return -1;
    }
    if (has_slot)
        rc = run_launch(r, err);
    if (rc == 0 && r->road == ROAD_FOREGROUND)
        rc = run_await(r, o->cancel, err);
    if (rc == 0)
        write_outcome(r, o, ret);
    run_unref(r);
    return rc;
}

/* ---- Moving and stopping ---- */

size_t agents_send_away(struct agents *a, struct str tool_use_id)
{
    VEC(struct run *) moved = VEC_INIT;
    size_t n;

    if (!may_background(a))
        return 0;
    gate_take(&a->gate);
    VEC_EACH(&a->runs, it) {
        struct run *r = *it;

        if (r->is_away || r->state == RUN_OVER || r->depth > 1 ||
            (tool_use_id.len && !str_eq(tool_use_id, r->tool_use_id)))
            continue;
        r->is_away = true;
        r->refs++;
        vec_push(&moved, r);
    }
    gate_wake(&a->gate);
    gate_give(&a->gate);
    n = moved.len;
    VEC_EACH(&moved, it) {
        task_set_background(a->spec.tasks, (*it)->id);
        meta_write(*it, TASK_RUNNING);
        run_unref(*it);
    }
    vec_release(&moved);
    return n;
}

size_t agents_stop_background(struct agents *a)
{
    VEC(struct run *) stopped = VEC_INIT;
    size_t n;

    gate_take(&a->gate);
    VEC_EACH(&a->runs, it) {
        if (!(*it)->is_away || (*it)->depth > 1)
            continue;
        (*it)->refs++;
        vec_push(&stopped, *it);
    }
    gate_give(&a->gate);
    n = stopped.len;
    VEC_EACH(&stopped, it) {
        (void)run_stop(*it, "user");
        run_unref(*it);
    }
    vec_release(&stopped);
    return n;
}
