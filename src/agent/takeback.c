/*
 * Removes messages at the request of other threads while no turn runs: lines in the middle, or
 * everything after a point. Requests wait under the agent's lock; its thread handles them between
 * turns.
 */
#include <string.h>

#include "agent/agent_state.h"
#include "agent/journal.h"
#include "agent/recall.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "llm/message.h"

/* ---- Lines in the middle ---- */

static void agent_snip_now(struct agent *a, struct strv *entries)
{
    struct journal *journal = a->spec.journal;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str *list;
    struct err err = {0};

    if (history_snip_check(&a->history, entries, &err) < 0) {
        agent_notice(a, LEVEL_ERROR, "nothing was removed: %s", err.text);
        return;
    }
    list = arena_alloc(&arena, entries->len * sizeof(*list));
    for (size_t i = 0; i < entries->len; i++)
        list[i] = str_of(entries->ptr[i]);
    if (journal && journal->snipped(journal, list, entries->len, &err) < 0) {
        agent_notice(a, LEVEL_ERROR, "nothing was removed: %s", err.text);
        return;
    }
    history_snip(&a->history, entries);
    agent_notice(a, LEVEL_INFO, "%zu line%s removed from the conversation", entries->len,
                 entries->len == 1 ? " was" : "s were");
}

/* False if there was no request. */
static bool agent_take_snip(struct agent *a)
{
    CLEANUP(strv_release) struct strv entries = STRV_INIT;
    bool found;

    lock_take(&a->lock);
    found = a->snips.len;
    if (found) {
        entries = a->snips.ptr[0];
        memmove(a->snips.ptr, a->snips.ptr + 1, --a->snips.len * sizeof(entries));
    }
    lock_give(&a->lock);
    if (found)
        agent_snip_now(a, &entries);
    return found;
}

void agent_snip(struct agent *a, const struct strv *entries)
{
    struct strv mine = STRV_INIT;

    strv_add_all(&mine, entries);
    lock_take(&a->lock);
    vec_push(&a->snips, mine);
    lock_give(&a->lock);
    agent_wake(a);
}

/* ---- Everything after a point ---- */

void agent_adopt(struct agent *a, const struct recall *past)
{
    history_replace(&a->history, past->messages.ptr, past->messages.len);
    a->last_input_tokens = past->tokens;
    a->last_bytes = a->history.bytes - history_bytes(&a->history, past->tokens_at);
    workspace_set_todos(a->spec.workspace, past->todos.len ? buf_str(&past->todos) : STR("[]"));
    workspace_forget_all(a->spec.workspace);
    VEC_EACH(&past->files, file) {
        CLEANUP(mem_freep) char *real = file->path ? workspace_real(file->path) : NULL;

        if (real)
            workspace_recall_seen(a->spec.workspace, real, file->time_ms);
    }
    message_unref(a->deferred);
    a->deferred = past->deferred ? message_ref(past->deferred) : NULL;
    a->left_open = past->state != RECALL_COMPLETE;
    extra_recall(&a->extra, buf_str(&past->extra));
}

static void agent_emit_rewound(struct agent *a, const struct agent_rewind *order)
{
    struct event *e = agent_event(a, EVENT_REWOUND);

    e->id = arena_str(&e->arena, str_of(order->message));
    memcpy(e->uuid, order->line, sizeof(e->uuid));
    e->text = arena_str(&e->arena, order->text);
    e->name = !order->conversation ? STR("files")
              : order->files       ? STR("both")
                                   : STR("conversation");
    e->post_tokens = a->last_input_tokens;
    e->usage.input = a->last_input_tokens;
    agent_emit(a, e, a->spec.cancel);
}

/* The ledger keeps its costs; everything else is reset. */
static int agent_rewind_now(struct agent *a, struct agent_rewind *order, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;

    if (a->turn != order->turn)
        return err_set(err, ERR_BUSY, "a turn has started, so nothing was rewound");
    if (order->go(order, &past, err) < 0)
        return -1;
    if (order->conversation) {
        agent_adopt(a, &past);
        a->is_recalled =
            true; /* the model knows the surroundings already; news() reports changes */
        a->told_mode = MODE_DEFAULT;
        a->compact_failures = 0;
        a->compacted_before = false;
        a->calls_since = 0;
    }
    agent_emit_rewound(a, order);
    return 0;
}

/* False if there was no request. */
static bool agent_take_rewind(struct agent *a)
{
    struct agent_rewind *order;
    struct err err = {0};
    int r;

    lock_take(&a->lock);
    order = TAKE_PTR(a->rewind);
    lock_give(&a->lock);
    if (!order)
        return false;
    r = agent_rewind_now(a, order, &err);
    order->done(order, r < 0 ? &err : NULL);
    return true;
}

int agent_rewind(struct agent *a, struct agent_rewind *order, struct err *err)
{
    bool idle = inputs_rests(a->inputs);
    const char *busy = NULL;

    lock_take(&a->lock);
    if (a->turn_cancel || !idle)
        busy = "a turn is running; interrupt it, or wait for its end";
    else if (a->finishing)
        busy = "the session is about to end";
    else if (a->rewind)
        busy = "a rewind is already in progress";
    order->turn = a->turn;
    if (!busy)
        a->rewind = order;
    lock_give(&a->lock);
    if (!busy &&
        !inputs_rests(a->inputs)) { /* a prompt that was sent at the same time comes first */
        lock_take(&a->lock);
        if (a->rewind == order) {
            a->rewind = NULL;
            busy = "a prompt has just been sent";
        }
        lock_give(&a->lock);
    }
    if (busy)
        return err_set(err, ERR_BUSY, "%s", busy);
    agent_wake(a);
    return 0;
}

/* ---- Both ---- */

bool agent_take_back(struct agent *a)
{
    return agent_take_snip(a) || agent_take_rewind(a);
}

void agent_drop_takebacks(struct agent *a)
{
    struct err err = {0};

    VEC_EACH(&a->snips, entries) {
        strv_release(entries);
    }
    vec_release(&a->snips);
    if (!a->rewind)
        return;
    err_set(&err, ERR_CANCELLED, "the session has ended");
    a->rewind->done(a->rewind, &err);
    a->rewind = NULL;
}
