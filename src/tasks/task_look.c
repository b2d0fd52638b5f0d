/*
 * Access to the task table for other code: reading, waiting, stopping. Any thread.
 */
#include "agent/task.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tasks/task_row.h"

#define TASK_NAMED 20 /* ids listed in an error */

bool task_look(struct task_table *t, struct str id, struct arena *arena, struct task_view *ret)
{
    struct task_row *r;

    gate_take(&t->gate);
    r = task_row_named(t, id);
    if (r)
        task_row_view(r, arena, ret);
    gate_give(&t->gate);
    return r != NULL;
}

void task_each(struct task_table *t, bool (*fn)(void *arg, const struct task_view *v), void *arg)
{
    for (size_t i = 0;; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct task_view v;
        bool has;

        gate_take(&t->gate);
        has = i < t->rows.len;
        if (has)
            task_row_view(t->rows.ptr[i], &arena, &v);
        gate_give(&t->gate);
        if (!has || !fn(arg, &v))
            return;
    }
}

static bool row_is_below(struct task_table *t, const char *by, const struct task_row *r)
{
    for (int depth = 0; by && r && depth < 64; depth++) {
        if (strcmp(r->owner, by) == 0)
            return true;
        r = task_row_find(t, str_of(r->owner));
    }
    return !by || strcmp(by, IDENTITY_MAIN) == 0;
}

bool task_is_below(struct task_table *t, const char *by, const char *id)
{
    struct task_row *r;
    bool is_below;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    is_below = r && row_is_below(t, by, r);
    gate_give(&t->gate);
    return is_below;
}

size_t task_running(struct task_table *t, unsigned kinds_wanted, const char *owner, bool background)
{
    size_t n = 0;

    gate_take(&t->gate);
    VEC_EACH(&t->rows, row) {
        const struct task_row *r = *row;

        n += (!task_is_over(r->state) || r->is_telling) && kinds_wanted & TASK_BIT(r->kind) &&
             (!owner || strcmp(owner, r->owner) == 0) && (!background || r->is_background);
    }
    gate_give(&t->gate);
    return n;
}

/* The row, or NULL with an error that lists the existing tasks. */
static struct task_row *row_for(struct task_table *t, const char *by, struct str id,
                                struct err *err)
{
    CLEANUP(buf_release) struct buf known = BUF_INIT(TASK_MAX_SUMMARY);
    struct task_row *r = task_row_named(t, id);
    size_t count = 0;

    if (r && row_is_below(t, by, r))
        return r;
    for (size_t i = t->rows.len; i-- > 0 && count < TASK_NAMED;) {
        const struct task_row *it = t->rows.ptr[i];

        if (!row_is_below(t, by, it))
            continue;
        buf_addf(&known, "%s%s (%s)", count++ ? ", " : "", it->id, task_state_name(it->state));
    }
    if (known.len)
        err_set(err, ERR_NOT_FOUND, "there is no task '%.*s'; known tasks: %s",
                STR_ARG(str_clip(id, 80)), buf_cstr(&known));
    else
        err_set(err, ERR_NOT_FOUND, "there is no task '%.*s': none was started",
                STR_ARG(str_clip(id, 80)));
    return NULL;
}

static void row_unpin(struct task_table *t, struct task_row *r)
{
    gate_take(&t->gate);
    r->pins--;
    gate_wake(&t->gate);
    gate_give(&t->gate);
}

int task_stop(struct task_table *t, const char *by, struct str id, struct err *err)
{
    const struct task_ops *ops = NULL;
    struct task_row *r;
    int rc = -1;

    gate_take(&t->gate);
    r = row_for(t, by, id, err);
    if (r && task_is_over(r->state)) {
        err_set(err, ERR_BAD_INPUT, "%s has ended already: %s", r->id, task_state_name(r->state));
    } else if (r && (!r->ops || !r->ops->stop)) {
        err_set(err, ERR_UNSUPPORTED, "%s cannot be stopped", r->id);
    } else if (r) {
        ops = r->ops;
        r->pins++;
        r->is_stopping = r->is_stopping || (by && strcmp(by, r->owner) == 0);
    }
    gate_give(&t->gate);
    if (!ops)
        return -1;
    rc = ops->stop(r->arg, r->id, by, err);
    row_unpin(t, r);
    return rc;
}

int task_output(struct task_table *t, const char *by, struct str id, struct buf *ret,
                struct err *err)
{
    const struct task_ops *ops = NULL;
    struct task_row *r;
    int rc = -1;

    gate_take(&t->gate);
    r = row_for(t, by, id, err);
    if (r && r->ops && r->ops->output) {
        ops = r->ops;
        r->pins++;
    } else if (r) {
        buf_add(ret, task_row_str(r->result));
        rc = 0;
    }
    gate_give(&t->gate);
    if (!ops)
        return rc;
    rc = ops->output(r->arg, r->id, ret, err);
    row_unpin(t, r);
    return rc;
}

static void table_poke(void *arg)
{
    struct task_table *t = arg;

    gate_take(&t->gate);
    gate_wake(&t->gate);
    gate_give(&t->gate);
}

int task_wait(struct task_table *t, const char *id, int64_t timeout_ms, struct cancel *cancel,
              struct err *err)
{
    int64_t until_ms = clock_mono_ms() + timeout_ms;
    struct cancel_hook *hook = cancel ? cancel_on(cancel, table_poke, t) : NULL;
    struct task_row *r;
    bool is_over = false;
    bool is_late = false;

    gate_take(&t->gate);
    r = task_row_find(t, str_of(id));
    while (!is_late && !cancel_is_set(cancel)) {
        is_over = !r || task_is_over(r->state);
        if (is_over)
            break;
        is_late = clock_mono_ms() >= until_ms || !gate_wait(&t->gate, until_ms);
    }
    is_over = !r || task_is_over(r->state);
    gate_give(&t->gate);
    cancel_off(hook);
    if (!is_over && cancel_is_set(cancel))
        return err_set(err, ERR_CANCELLED, "interrupted");
    return is_over;
}

/* ---- Output formats ---- */

struct running_writer {
    struct jw *w;
    const char *owner;
};

static bool write_running(void *arg, const struct task_view *v)
{
    struct running_writer *to = arg;

    if (!v->is_background || task_is_over(v->state) || strcmp(v->owner, to->owner) != 0)
        return true;
    jw_object(to->w);
    jw_kcstr(to->w, "id", v->id);
    jw_kcstr(to->w, "type", task_kind_hook(v->kind));
    jw_kcstr(to->w, "status", task_state_name(v->state));
    jw_kstr(to->w, "description", v->description);
    if (v->command.len)
        jw_kstr(to->w, "command", v->command);
    if (v->type)
        jw_kcstr(to->w, "agent_type", v->type);
    if (v->name)
        jw_kcstr(to->w, "name", v->name);
    jw_object_end(to->w);
    return true;
}

void task_write_running(struct workspace *w, struct jw *out)
{
    struct running_writer to = {out, task_place_agent(w)};

    jw_array(out);
    task_each(task_table_of(w), write_running, &to);
    jw_array_end(out);
}
