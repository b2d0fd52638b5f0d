/*
 * Events: creating, sharing, merging. An event owns everything it points to, in its arena.
 */
#include "agent/event.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

struct event *event_new(enum event_kind kind)
{
    struct event *e = mem_zalloc(sizeof(*e));

    e->kind = kind;
    e->time_ms = clock_wall_ms();
    id_uuid(e->uuid);
    atomic_init(&e->refs, 1);
    return e;
}

struct event *event_ref(struct event *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void event_unref(struct event *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) > 1)
        return;
    arena_release(&e->arena);
    mem_freep(&e);
}

size_t event_bytes(const struct event *e)
{
    return sizeof(*e) + e->arena.total;
}

struct event *event_merge(const struct event *a, const struct event *b)
{
    struct event *e;
    char *text;

    if (a->kind != EVENT_BLOCK_DELTA || b->kind != EVENT_BLOCK_DELTA || a->index != b->index ||
        a->step != b->step || a->turn != b->turn || !identity_is_same(&a->by, &b->by))
        return NULL;
    e = mem_zalloc(sizeof(*e));
    *e = *b;
    e->arena = (struct arena)ARENA_INIT;
    atomic_init(&e->refs, 1);
    e->by = identity_copy(&e->arena, &b->by);
    text = arena_alloc(&e->arena, a->text.len + b->text.len + 1);
    memcpy(text, a->text.ptr, a->text.len);
    memcpy(text + a->text.len, b->text.ptr, b->text.len);
    e->text = str_make(text, a->text.len + b->text.len);
    return e;
}

const char *event_state_name(enum event_state s)
{
    static const char *const names[] = {"idle", "running", "requires_action"};

    return names[s];
}

static const struct {
    const char *name;
    const char *subtype;
} ends[] = {
    [END_COMPLETED] = {"completed", "success"},
    [END_MAX_TURNS] = {"max_turns", "error_max_turns"},
    [END_BUDGET] = {"budget_exhausted", "error_max_budget_usd"},
    [END_ABORTED_STREAMING] = {"aborted_streaming", "error_during_execution"},
    [END_ABORTED_TOOLS] = {"aborted_tools", "error_during_execution"},
    [END_PROMPT_TOO_LONG] = {"prompt_too_long", "success"},
    [END_API_ERROR] = {"api_error", "success"},
    [END_MODEL_ERROR] = {"model_error",
                         "success"}, /* reported as an answer that is an error, like an API error */
    [END_HOOK_STOPPED] = {"hook_stopped", "success"},
    [END_TOOL_DEFERRED] = {"tool_deferred", "success"},
    [END_STOP_HOOK_PREVENTED] = {"stop_hook_prevented", "success"},
    [END_CALLED_OFF] = {"goal_stopped", "success"},
    [END_STRUCTURED] = {"completed", "error_max_structured_output_retries"},
};

const char *turn_end_name(enum turn_end end)
{
    return ends[end].name;
}

const char *turn_end_subtype(enum turn_end end)
{
    return ends[end].subtype;
}

void turn_report_text(const struct turn_report *r, struct buf *ret)
{
    if (!r->category.len) {
        buf_add(ret, r->result);
        return;
    }
    buf_adds(ret, "API Error: ");
    if (r->api_status)
        buf_addf(ret, "%d ", r->api_status);
    buf_add(ret, r->error);
}

const char *turn_report_subtype(const struct turn_report *r)
{
    return r->goal.subtype ? r->goal.subtype : turn_end_subtype(r->end);
}

bool turn_report_is_error(const struct turn_report *r)
{
    return r->goal.subtype ? strcmp(r->goal.subtype, "success") != 0 : r->is_error;
}
