/*
 * Operations on goals of one thread: no other touches them, so every answer is known beforehand. A
 * worker's thread.
 */
#include <stdio.h>
#include <string.h>

#include "goals/storm.h"
#include "store/store.h"

static void own_change(struct worker *w, struct own *own)
{
    bool noted = op_below(&w->random, 2);
    struct store_goal got = {0};
    struct goal_event event;
    struct op op;
    const char *differs;
    int want, answer;

    op_make(&op, w->storm->seed, w->number, w->n, str_of(own->thread));
    op_expect(&op, storm_expected(&op, own->model.row.goal_id));
    event = (struct goal_event){.kind = str_of(op_name(op.kind)), .data = STR("{}")};
    /* Before the model changes what `expected` points to. */
    answer = storm_run(w, &op, noted ? &event : NULL, &got);
    want = model_apply(&own->model, &op);
    if (answer != want)
        STORM_FAIL(w, "%s: %d instead of %d", op_name(op.kind), answer, want);
    if (answer < 0)
        return;
    if (own->model.there || (op.kind == OP_delete && answer == 1)) {
        differs = model_differs(&got, &own->model.row);
        if (differs)
            STORM_FAIL(w, "%s: %s differs (%s)", op_name(op.kind), differs,
                       goal_status_name(got.status));
    } else if (got.thread_id.len) {
        STORM_FAIL(w, "%s: there should be no row", op_name(op.kind));
    }
    if (noted && answer == 1 && op.kind != OP_get) {
        struct line line = {op_name(op.kind), own->model.row.status, "", op.now_ms};

        memcpy(line.goal_id, own->model.goal_id, sizeof(line.goal_id));
        vec_push(&own->ledger, line);
    }
}

static void own_note(struct worker *w, struct own *own)
{
    struct line line = {"note", GOAL_STATUS_COUNT, "", w->n};
    struct goal_event event = {.kind = STR("note"), .time_ms = w->n};
    struct err err;

    if (own->model.there)
        memcpy(line.goal_id, own->model.goal_id, sizeof(line.goal_id));
    event.goal_id = str_of(line.goal_id);
    if (STORM_CALL(w->storm, &err,
                   store_goal_note(w->store, str_of(own->thread), &event, NULL, &err)) < 0)
        STORM_FAIL(w, "note: %s", err.text);
    vec_push(&own->ledger, line);
}

static void own_check_ledger(struct worker *w, struct own *own)
{
    goal_event_vec got = VEC_INIT;
    struct err err;

    if (STORM_CALL(w->storm, &err,
                   store_goal_events(w->store, str_of(own->thread), STR(""), 0, SIZE_MAX, &w->arena,
                                     &got, NULL, &err)) < 0)
        STORM_FAIL(w, "events: %s", err.text);
    if (got.len != own->ledger.len)
        STORM_FAIL(w, "the ledger has %zu lines instead of %zu", got.len, own->ledger.len);
    for (size_t i = 0; i < got.len; i++) {
        const struct goal_event *e = &got.ptr[i];
        const struct line *line = &own->ledger.ptr[i];

        if (!str_is(e->kind, line->kind) || !str_is(e->goal_id, line->goal_id) ||
            e->status != line->status || e->time_ms != line->time_ms ||
            (i && e->id <= got.ptr[i - 1].id))
            STORM_FAIL(w, "line %zu of the ledger is %.*s, %s", i, STR_ARG(e->kind),
                       goal_status_name(e->status));
    }
    vec_release(&got);
}

/* ---- A queue of one's own ---- */

static void own_next_add(struct worker *w, struct own *own)
{
    char name[16];
    struct goal_next next = {.options = STR("{}")};
    struct err err;
    int answer;

    snprintf(name, sizeof(name), "%u", w->n);
    next.objective = str_of(name);
    answer = STORM_CALL(w->storm, &err,
                        store_goal_next_add(w->store, str_of(own->thread), &next, NULL, &err));
    if (own->queued == GOAL_MAX_NEXT ? answer == 0 || err.code != ERR_TOO_BIG : answer < 0)
        STORM_FAIL(w, "next_add: %d %s", answer, err.text);
    if (answer == 0)
        own->queue[own->queued++] = w->n;
}

static unsigned queue_take(struct own *own, size_t at)
{
    unsigned name = own->queue[at];

    own->queued--;
    memmove(&own->queue[at], &own->queue[at + 1], (own->queued - at) * sizeof(own->queue[0]));
    return name;
}

static void own_next_take(struct worker *w, struct own *own)
{
    struct goal_next next = {0};
    struct err err;
    int answer = STORM_CALL(
        w->storm, &err,
        store_goal_next_take(w->store, str_of(own->thread), &w->arena, &next, NULL, &err));
    int64_t name = -1;

    if (answer != (own->queued > 0))
        STORM_FAIL(w, "next_take: %d", answer);
    if (answer == 1 && (str_to_i64(next.objective, &name, NULL) < 0 || name != queue_take(own, 0)))
        STORM_FAIL(w, "next_take: '%.*s'", STR_ARG(next.objective));
}

static void own_next_move(struct worker *w, struct own *own)
{
    size_t from = op_below(&w->random, own->queued + 2);
    size_t to = op_below(&w->random, own->queued + 2);
    bool can = from >= 1 && from <= own->queued && to <= own->queued;
    struct err err;
    int answer = STORM_CALL(
        w->storm, &err, store_goal_next_move(w->store, str_of(own->thread), from, to, NULL, &err));

    if (answer != can)
        STORM_FAIL(w, "next_move: %d", answer);
    if (can) {
        unsigned name = queue_take(own, from - 1);

        if (to) {
            memmove(&own->queue[to], &own->queue[to - 1],
                    (own->queued - (to - 1)) * sizeof(own->queue[0]));
            own->queue[to - 1] = name;
            own->queued++;
        }
    }
}

static void own_check_queue(struct worker *w, struct own *own)
{
    goal_next_vec got = VEC_INIT;
    struct err err;

    if (STORM_CALL(
            w->storm, &err,
            store_goal_next_list(w->store, str_of(own->thread), &w->arena, &got, NULL, &err)) < 0 ||
        got.len != own->queued)
        STORM_FAIL(w, "%zu goals wait instead of %zu", got.len, own->queued);
    for (size_t i = 0; i < got.len; i++) {
        int64_t name;

        if (str_to_i64(got.ptr[i].objective, &name, NULL) < 0 || name != own->queue[i])
            STORM_FAIL(w, "'%.*s' waits at %zu", STR_ARG(got.ptr[i].objective), i);
    }
    vec_release(&got);
}

void own_step(struct worker *w)
{
    struct own *own = &w->own[op_below(&w->random, OWN)];
    uint64_t which = op_below(&w->random, 100);

    if (which < 80)
        own_change(w, own);
    else if (which < 84)
        own_note(w, own);
    else if (which < 85)
        own_check_ledger(w, own);
    else if (which < 90)
        own_next_add(w, own);
    else if (which < 93)
        own_next_take(w, own);
    else if (which < 96)
        own_next_move(w, own);
    else
        own_check_queue(w, own);
}

void own_check(struct worker *w, struct own *own)
{
    own_check_ledger(w, own);
    own_check_queue(w, own);
}
