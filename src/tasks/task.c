/*
 * The task table: rows under one lock; the listener is called without it. A row that is used
 * without the lock is pinned, and withdrawing it waits for that. Any thread.
 */
#include "agent/task.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/test_switch.h"
#include "base/vec.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tasks/task_row.h"

static const struct {
    const char *type, *hook;
    char letter;
} kinds[TASK_KINDS] = {
    [TASK_AGENT] = {"local_agent", "subagent", 'a'},
    [TASK_SHELL] = {"local_bash", "shell", 'b'},
    [TASK_MONITOR] = {"monitor", "monitor", 'm'},
    [TASK_WORKFLOW] = {"local_workflow", "workflow", 'w'},
    [TASK_REMOTE] = {"remote_agent", "remote", 'r'},
    [TASK_TEAMMATE] = {"in_process_teammate", "teammate", 't'},
};

const char *task_kind_type(enum task_kind k)
{
    return kinds[k].type;
}

const char *task_kind_hook(enum task_kind k)
{
    return kinds[k].hook;
}

const char *task_state_name(enum task_state s)
{
    static const char *const names[] = {"pending", "running", "waiting", "completed",
                                        "failed",  "killed",  "stopped"};

    return names[s];
}

bool task_is_over(enum task_state s)
{
    return s >= TASK_COMPLETED;
}

/* Writes the number in base 36 with at least n digits. */
static void put_base36(uint64_t value, int n, char *out)
{
    char digits[16];
    int len = 0;

    while (len < n || value) {
        digits[len++] = "0123456789abcdefghijklmnopqrstuvwxyz"[value % 36];
        value /= 36;
    }
    while (len)
        *out++ = digits[--len];
    *out = '\0';
}

void task_make_id(struct task_table *t, enum task_kind kind, char ret[static TASK_ID_MAX + 1])
{
    const char *test = test_switch("TENAX_TEST_IDS"); /* predictable ids for test scenarios */
    int64_t first = 0;

    ret[0] = kinds[kind].letter;
    if (test && str_to_i64(str_of(test), &first, /*err=*/NULL) == 0)
        snprintf(ret + 1, TASK_ID_MAX, kind == TASK_AGENT ? "%016x" : "%08x",
                 atomic_fetch_add(&t->made[kind], 1) + (unsigned)first);
    else if (kind == TASK_AGENT)
        snprintf(ret + 1, TASK_ID_MAX, "%016" PRIx64, id_random());
    else
        put_base36(id_random() % 2821109907456, 8, ret + 1); /* 36^8 */
}

void task_make_run(char ret[static TASK_RUN_MAX + 1])
{
    size_t len;

    put_base36((uint64_t)clock_wall_ms(), 9, ret);
    len = strlen(ret);
    snprintf(ret + len, TASK_RUN_MAX + 1 - len, "-%08" PRIx32, (uint32_t)id_random());
}

/* ---- Creation and release ---- */

static void row_free(struct task_row *r)
{
    mem_freep(&r->owner);
    mem_freep(&r->type);
    mem_freep(&r->name);
    mem_freep(&r->description);
    mem_freep(&r->command);
    mem_freep(&r->tool_use_id);
    mem_freep(&r->output_file);
    mem_freep(&r->activity);
    mem_freep(&r->tool);
    mem_freep(&r->summary);
    mem_freep(&r->note);
    mem_freep(&r->result);
    mem_freep(&r->worktree);
    mem_freep(&r->branch);
    mem_freep(&r);
}

struct task_table *task_table_new(void)
{
    struct task_table *t = mem_zalloc(sizeof(*t));

    atomic_init(&t->refs, 1);
    gate_init(&t->gate);
    return t;
}

struct task_table *task_table_ref(struct task_table *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void task_table_unref(struct task_table *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    VEC_EACH(&t->rows, r) {
        row_free(*r);
    }
    vec_release(&t->rows);
    map_release(&t->by_id);
    gate_release(&t->gate);
    mem_freep(&t);
}

void task_table_listen(struct task_table *t, const struct task_listener *l)
{
    gate_take(&t->gate);
    t->has_listener = l != NULL;
    if (l)
        t->listener = *l;
    while (!l && t->calls)
        gate_wait(&t->gate, /*deadline_ms=*/-1);
    gate_give(&t->gate);
}

/* ---- The table of a workspace ---- */

struct task_place {
    struct task_table *table;
    char *agent;
};

static void *place_make(struct workspace *w)
{
    struct task_place *place = mem_zalloc(sizeof(*place));

    (void)w;
    place->table = task_table_new();
    place->agent = mem_dup(IDENTITY_MAIN, strlen(IDENTITY_MAIN));
    return place;
}

static void place_free(void *thing)
{
    struct task_place *place = thing;

    task_table_unref(place->table);
    mem_freep(&place->agent);
    mem_freep(&place);
}

static const struct workspace_kind place_kind = {place_make, place_free};

void task_table_open(struct workspace *w)
{
    workspace_thing(w, &place_kind);
}

void task_table_join(struct workspace *w, struct task_table *t, const char *agent)
{
    struct task_place *place = workspace_thing(w, &place_kind);

    task_table_ref(t);
    task_table_unref(place->table);
    place->table = t;
    mem_freep(&place->agent);
    place->agent = mem_dup(agent, strlen(agent));
}

struct task_table *task_table_of(struct workspace *w)
{
    return ((struct task_place *)workspace_thing(w, &place_kind))->table;
}

const char *task_place_agent(struct workspace *w)
{
    return ((struct task_place *)workspace_thing(w, &place_kind))->agent;
}

/* ---- Rows ---- */

/* The lock must be held; this applies to all functions with a row argument. */
struct task_row *task_row_find(struct task_table *t, struct str id)
{
    size_t at = (size_t)map_get(&t->by_id, id);

    return at ? t->rows.ptr[at - 1] : NULL;
}

/* By id, or the newest row with this name. */
struct task_row *task_row_named(struct task_table *t, struct str id)
{
    struct task_row *found = task_row_find(t, id);

    for (size_t i = t->rows.len; i-- > 0 && !found;) {
        if (t->rows.ptr[i]->name && str_is(id, t->rows.ptr[i]->name))
            found = t->rows.ptr[i];
    }
    return found;
}

struct str task_row_str(const char *s)
{
    return s ? str_of(s) : STR("");
}

static const char *view_cstr(struct arena *arena, const char *s)
{
    return s ? arena_cstr(arena, str_of(s)) : NULL;
}

void task_row_view(const struct task_row *r, struct arena *arena, struct task_view *ret)
{
    *ret = (struct task_view){
        .id = view_cstr(arena, r->id),
        .run = view_cstr(arena, r->run),
        .kind = r->kind,
        .state = r->state,
        .owner = view_cstr(arena, r->owner),
        .type = view_cstr(arena, r->type),
        .name = view_cstr(arena, r->name),
        .depth = r->depth,
        .is_background = r->is_background,
        .is_known = r->is_known,
        .began_ms = r->began_ms,
        .ended_ms = r->ended_ms,
        .description = arena_str(arena, task_row_str(r->description)),
        .command = arena_str(arena, task_row_str(r->command)),
        .tool_use_id = arena_str(arena, task_row_str(r->tool_use_id)),
        .output_file = arena_str(arena, task_row_str(r->output_file)),
        .activity = arena_str(arena, task_row_str(r->activity)),
        .tool = arena_str(arena, task_row_str(r->tool)),
        .usage = r->usage,
        .summary = arena_str(arena, task_row_str(r->summary)),
        .note = arena_str(arena, task_row_str(r->note)),
        .result = arena_str(arena, task_row_str(r->result)),
        .worktree = arena_str(arena, task_row_str(r->worktree)),
        .branch = arena_str(arena, task_row_str(r->branch)),
        .has_code = r->has_code,
        .code = r->code,
    };
}

static void row_set(char **field, struct str text)
{
    mem_freep(field);
    if (text.len)
        *field = mem_dup(text.ptr, text.len);
}

/* ---- Notifying the listener ---- */

/* If true, *ret may be called until told_end(). */
static bool told_begin(struct task_table *t, struct task_listener *ret)
{
    bool has;

    gate_take(&t->gate);
    has = t->has_listener;
    *ret = t->listener;
    t->calls += has;
    gate_give(&t->gate);
    return has;
}

static void told_end(struct task_table *t)
{
    gate_take(&t->gate);
    t->calls--;
    gate_wake(&t->gate);
    gate_give(&t->gate);
}

static struct event *task_event(enum event_kind kind, const struct task_view *v)
{
    struct event *e = event_new(kind);
    struct event_task *task = arena_zalloc(&e->arena, sizeof(*task));

    e->id = arena_str(&e->arena, str_of(v->id));
    e->tool_id = arena_str(&e->arena, v->tool_use_id);
    e->show = arena_str(&e->arena, v->description);
    e->data = arena_str(&e->arena, v->output_file);
    e->name = str_of(task_state_name(v->state));
    task->run = view_cstr(&e->arena, v->run);
    task->kind = task_kind_type(v->kind);
    task->type = view_cstr(&e->arena, v->type);
    task->owner = view_cstr(&e->arena, v->owner);
    task->depth = v->depth;
    task->is_background = v->is_background;
    task->is_agent = v->kind == TASK_AGENT || v->kind == TASK_TEAMMATE;
    task->tool = arena_str(&e->arena, v->tool);
    task->tokens = v->usage.tokens;
    task->tool_uses = v->usage.tool_uses;
    task->duration_ms = v->usage.duration_ms;
    e->task = task;
    return e;
}

static bool write_row(void *arg, const struct task_view *v)
{
    struct jw *w = arg;

    if (!v->is_background || task_is_over(v->state))
        return true;
    jw_object(w);
    jw_kcstr(w, "task_id", v->id);
    jw_kcstr(w, "run_id", v->run);
    jw_kcstr(w, "task_type", task_kind_type(v->kind));
    if (v->type)
        jw_kcstr(w, "subagent_type", v->type);
    jw_kstr(w, "description", v->description);
    if (strcmp(v->owner, IDENTITY_MAIN) != 0)
        jw_kcstr(w, "parent_task_id", v->owner);
    jw_object_end(w);
    return true;
}

/* All background tasks; emitted whenever that list has changed. */
static struct event *tasks_event(struct task_table *t)
{
    struct event *e = event_new(EVENT_TASKS);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &json, 0);
    jw_array(&w);
    task_each(t, write_row, &w);
    jw_array_end(&w);
    e->json = arena_str(&e->arena, buf_str(&json));
    return e;
}

static void tell_started(struct task_table *t, const struct task_view *v, struct str prompt)
{
    struct task_listener l;
    struct event *e;

    if (!told_begin(t, &l))
        return;
    e = task_event(EVENT_TASK_STARTED, v);
    e->text = e->show;
    ((struct event_task *)e->task)->prompt = arena_str(&e->arena, prompt);
    l.emit(l.arg, e);
    if (v->is_background)
        l.emit(l.arg, tasks_event(t));
    told_end(t);
}

static void tell_patch(struct task_table *t, const struct task_view *v, bool to_background)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct task_listener l;
    struct event *e;
    struct jw w;

    if (!told_begin(t, &l))
        return;
    jw_init(&w, &json, 0);
    jw_object(&w);
    if (to_background)
        jw_kbool(&w, "is_backgrounded", true);
    else
        jw_kcstr(&w, "status", task_state_name(v->state));
    if (task_is_over(v->state)) {
        jw_ki64(&w, "end_time", clock_wall_ms());
        if (v->state == TASK_FAILED && v->summary.len)
            jw_kstr(&w, "error", v->summary);
    }
    jw_object_end(&w);
    e = task_event(EVENT_TASK_UPDATED, v);
    e->json = arena_str(&e->arena, buf_str(&json));
    l.emit(l.arg, e);
    if (to_background)
        l.emit(l.arg, tasks_event(t));
    told_end(t);
}

/* From here on it no longer counts as running. */
static void row_set_told(struct task_table *t, const char *id)
{
    struct task_row *r;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    r->is_telling = false;
    gate_give(&t->gate);
}

/* Stores the notification for the owner before others see the end. */
static void tell_end(struct task_table *t, const struct task_view *v)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct task_listener l;
    struct event *e;

    if (!told_begin(t, &l)) {
        row_set_told(t, v->id);
        return;
    }
    if (v->is_background && !v->is_known) {
        task_write_notification(v, &text);
        l.notify(l.arg, v->owner, v, buf_str(&text), /*is_quiet=*/false);
    }
    row_set_told(t, v->id);
    l.notify(l.arg, v->owner, v, STR(""), /*is_quiet=*/true); /* for a run that waited for it */
    e = task_event(EVENT_TASK_DONE, v);
    if (v->summary.len || !v->result.len)
        e->text = arena_str(&e->arena, v->summary.len ? v->summary : e->name);
    else
        e->text = arena_str(&e->arena, v->result);
    ((struct event_task *)e->task)->has_usage = v->kind == TASK_AGENT;
    l.emit(l.arg, e);
    if (v->is_background)
        l.emit(l.arg, tasks_event(t));
    told_end(t);
}

/* ---- Starting ---- */

static int row_begin(struct task_table *t, const char *owner, const struct task_spec *s,
                     struct arena *arena, struct task_view *ret, struct err *err)
{
    struct task_row *r = task_row_find(t, str_of(s->id));

    if (!r && t->rows.len >= TASK_MAX_ROWS)
        return err_set(err, ERR_TOO_BIG, "the session has had %d tasks, which is the limit",
                       TASK_MAX_ROWS);
    if (!r) {
        r = mem_zalloc(sizeof(*r));
        snprintf(r->id, sizeof(r->id), "%s", s->id);
        vec_push(&t->rows, r);
        map_set(&t->by_id, str_of(r->id), (void *)t->rows.len);
    } else {
        row_set(&r->summary, STR(""));
        row_set(&r->note, STR(""));
        row_set(&r->result, STR(""));
        r->is_known = r->has_code = r->is_stopping = false;
        r->ended_ms = 0;
    }
    if (s->run)
        snprintf(r->run, sizeof(r->run), "%s", s->run);
    else
        task_make_run(r->run);
    r->kind = s->kind;
    r->state = s->is_pending ? TASK_PENDING : TASK_RUNNING;
    r->depth = s->depth;
    r->is_background = s->is_background;
    r->ops = s->ops;
    r->arg = s->arg;
    r->began_ms = clock_mono_ms();
    r->usage = (struct task_usage){0};
    row_set(&r->owner, str_of(owner));
    row_set(&r->type, task_row_str(s->type));
    row_set(&r->name, task_row_str(s->name));
    row_set(&r->description, s->description);
    row_set(&r->command, s->command);
    row_set(&r->tool_use_id, s->tool_use_id);
    row_set(&r->output_file, s->output_file);
    task_row_view(r, arena, ret);
    return 0;
}

int task_begin_as(struct task_table *t, const char *owner, const struct task_spec *spec,
                  struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;
    int rc;

    gate_take(&t->gate);
    rc = row_begin(t, owner, spec, &arena, &v, err);
    gate_give(&t->gate);
    if (rc == 0)
        tell_started(t, &v, spec->prompt);
    return rc;
}

int task_begin(struct workspace *w, const struct task_spec *spec, struct err *err)
{
    const struct task_place *place = workspace_thing(w, &place_kind);

    return task_begin_as(place->table, place->agent, spec, err);
}

void task_restore(struct task_table *t, const char *owner, const struct task_spec *spec,
                  enum task_state state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_row *r;
    struct task_view v;

    gate_take(&t->gate);
    if (row_begin(t, owner, spec, &arena, &v, /*err=*/NULL) == 0) {
        r = task_row_find(t, str_of(spec->id));
        r->state = state;
        r->ended_ms = r->began_ms;
    }
    gate_give(&t->gate);
}

/* ---- Changes ---- */

void task_set_state(struct task_table *t, const char *id, enum task_state state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_row *r;
    struct task_view v;
    bool is_new;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    is_new = r && !task_is_over(r->state) && r->state != state;
    if (is_new) {
        r->state = state;
        task_row_view(r, &arena, &v);
    }
    gate_give(&t->gate);
    if (is_new)
        tell_patch(t, &v, /*to_background=*/false);
}

void task_set_background(struct task_table *t, const char *id)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_row *r;
    struct task_view v;
    bool is_new;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    is_new = r && !r->is_background && !task_is_over(r->state);
    if (is_new) {
        r->is_background = true;
        task_row_view(r, &arena, &v);
    }
    gate_give(&t->gate);
    if (is_new)
        tell_patch(t, &v, /*to_background=*/true);
}

void task_set_known(struct task_table *t, const char *id)
{
    struct task_row *r;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    if (r)
        r->is_known = true;
    gate_give(&t->gate);
}

#define TASK_PROGRESS_MS 1000

void task_progress(struct task_table *t, const char *id, struct str activity, struct str tool,
                   const struct task_usage *usage)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    int64_t now_ms = clock_mono_ms();
    struct task_listener l;
    struct task_row *r;
    struct task_view v;
    struct event *e;
    bool is_due;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    is_due =
        r && !task_is_over(r->state) && (!r->told_ms || now_ms - r->told_ms >= TASK_PROGRESS_MS);
    if (r) {
        row_set(&r->activity, activity);
        row_set(&r->tool, tool);
        r->usage = *usage;
    }
    if (is_due) {
        r->told_ms = now_ms;
        task_row_view(r, &arena, &v);
    }
    gate_give(&t->gate);
    if (!is_due || !told_begin(t, &l))
        return;
    e = task_event(EVENT_TASK_PROGRESS, &v);
    e->text = arena_str(&e->arena, v.activity);
    l.emit(l.arg, e);
    told_end(t);
}

void task_end(struct task_table *t, const char *id, const struct task_end *end)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_row *r;
    struct task_view v;
    bool is_new;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    is_new = r && !task_is_over(r->state);
    if (is_new) {
        r->state = end->state;
        r->is_telling = true; /* or a run could end before the notification is there */
        r->ended_ms = clock_mono_ms();
        r->is_known = r->is_known || end->is_known || (r->is_stopping && end->state == TASK_KILLED);
        r->has_code = end->has_code;
        r->code = end->code;
        if (end->usage)
            r->usage = *end->usage;
        row_set(&r->summary, str_clip(end->summary, TASK_MAX_SUMMARY));
        row_set(&r->note, str_clip(end->note, TASK_MAX_SUMMARY));
        row_set(&r->result, end->result);
        row_set(&r->worktree, end->worktree);
        row_set(&r->branch, end->branch);
        task_row_view(r, &arena, &v);
    }
    gate_wake(&t->gate);
    gate_give(&t->gate);
    if (!is_new)
        return;
    tell_patch(t, &v, /*to_background=*/false);
    tell_end(t, &v);
}

void task_say(struct task_table *t, const char *id, const char *to, struct str text)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_listener l;
    struct task_view v;

    if (!task_look(t, str_of(id), &arena, &v) || !told_begin(t, &l))
        return;
    l.notify(l.arg, to, &v, text, /*is_quiet=*/false);
    told_end(t);
}

void task_withdraw(struct task_table *t, const void *arg)
{
    bool is_used = true;

    gate_take(&t->gate);
    while (is_used) {
        is_used = false;
        VEC_EACH(&t->rows, row) {
            if ((*row)->arg != arg)
                continue;
            (*row)->ops = NULL;
            is_used = is_used || (*row)->pins;
        }
        if (is_used)
            gate_wait(&t->gate, /*deadline_ms=*/-1);
    }
    gate_give(&t->gate);
}
