/*
 * Operations on goals of all: each names itself in its line of the ledger, so that it can be made
 * again from there, and leaves a trace of what it was answered. A worker's thread.
 */
#include <stdio.h>

#include "goals/storm.h"
#include "store/store.h"

void shared_change(struct worker *w)
{
    unsigned which = storm_target(w->number, w->n);
    struct trace *trace = storm_trace(w->storm, w->number, w->n);
    struct store_goal got = {0};
    struct goal_event event;
    char data[120];
    struct op op;
    int answer;

    op_make(&op, w->storm->seed, w->number, w->n, str_of(w->storm->threads[which]));
    op_expect(&op, storm_expected(&op, str_of(w->seen[which])));
    snprintf(data, sizeof(data), "{\"worker\":%u,\"op\":%u,\"expected\":\"%.*s\"}", w->number, w->n,
             STR_ARG(op.expected));
    event = (struct goal_event){.kind = str_of(op_name(op.kind)), .data = str_of(data)};
    answer = storm_run(w, &op, &event, &got);
    if (answer < 0 || (op.kind == OP_get && !answer))
        return;
    if (answer == 0) { /* the row that it was refused for gives the reason */
        struct model m = {.there = got.thread_id.len > 0, .row = got};

        if (model_apply(&m, &op) != 0)
            STORM_FAIL(w, "%s: refused for no reason (%s)", op_name(op.kind),
                       goal_status_name(got.status));
    }
    if (got.thread_id.len) {
        trace->row = model_digest(&got);
        snprintf(w->seen[which], sizeof(w->seen[which]), "%.*s", STR_ARG(got.goal_id));
    }
    atomic_store(&trace->accepted, answer == 1 && op.kind != OP_get);
}

static void shared_queue_add(struct worker *w)
{
    char name[32];
    struct goal_next next = {.options = STR("{}")};
    struct err err;
    int answer;

    snprintf(name, sizeof(name), "%u.%u", w->number, w->n);
    next.objective = str_of(name);
    answer =
        STORM_CALL(w->storm, &err,
                   store_goal_next_add(w->store, str_of(w->storm->threads[0]), &next, NULL, &err));
    if (answer < 0 && err.code != ERR_TOO_BIG)
        STORM_FAIL(w, "next_add: %s", err.text);
    if (answer == 0)
        atomic_fetch_or(&storm_trace(w->storm, w->number, w->n)->queued, QUEUE_ADDED);
}

static void shared_queue_take(struct worker *w)
{
    struct goal_next next;
    struct err err;
    int answer = STORM_CALL(
        w->storm, &err,
        store_goal_next_take(w->store, str_of(w->storm->threads[0]), &w->arena, &next, NULL, &err));

    if (answer < 0)
        STORM_FAIL(w, "next_take: %s", err.text);
    if (answer && (atomic_fetch_or(&storm_queued(w->storm, next.objective)->queued, QUEUE_TAKEN) &
                   QUEUE_TAKEN))
        STORM_FAIL(w, "'%.*s' was taken twice", STR_ARG(next.objective));
}

static void shared_queue_move(struct worker *w)
{
    struct err err;

    if (STORM_CALL(w->storm, &err,
                   store_goal_next_move(w->store, str_of(w->storm->threads[0]),
                                        1 + op_below(&w->random, 9), 1 + op_below(&w->random, 9),
                                        NULL, &err)) < 0)
        STORM_FAIL(w, "next_move: %s", err.text);
}

void shared_step(struct worker *w)
{
    uint64_t which = op_below(&w->random, 100);

    if (which < 85)
        shared_change(w);
    else if (which < 91)
        shared_queue_add(w);
    else if (which < 97)
        shared_queue_take(w);
    else
        shared_queue_move(w);
}
