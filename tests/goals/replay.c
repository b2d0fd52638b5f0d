/*
 * The ledger of the shared goals, replayed through the model in its order. Runs alone, when all
 * workers have ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "goals/storm.h"
#include "store/store.h"

#define PAGE_EVENTS 500 /* are read at once */

typedef VEC(uint64_t) digest_vec;

struct replay {
    struct storm *storm;
    struct model model;
    digest_vec states; /* all rows that ever were */
    int64_t last;      /* id of the line */
    size_t lines, transitions, charges;
};

static void replay_line(struct replay *r, struct str thread, const struct goal_event *e)
{
    struct storm *st = r->storm;
    enum goal_status before = r->model.there ? r->model.row.status : GOAL_STATUS_COUNT;
    char expected[ID_UUID_LEN + 1] = "";
    struct trace *trace;
    unsigned worker, n;
    char data[160];
    struct op op;

    snprintf(data, sizeof(data), "%.*s", STR_ARG(e->data));
    if (sscanf(data, "{\"worker\":%u,\"op\":%u,\"expected\":\"%36[^\"]", &worker, &n, expected) <
            2 ||
        worker >= WORKERS + st->victims || n >= st->ops)
        storm_fail(st, "an unknown line: %s", data);
    trace = storm_trace(st, worker, n);
    op_make(&op, st->seed, worker, n, thread);
    op_expect(&op, str_of(expected));
    if (trace->replayed)
        storm_fail(st, "%s is there twice", data);
    trace->replayed = true;
    if (model_apply(&r->model, &op) != 1)
        storm_fail(st, "%s: %s should have been refused", data, op_name(op.kind));
    if (e->status != r->model.row.status || !str_eq(e->goal_id, r->model.row.goal_id) ||
        e->time_ms != op.now_ms || !str_is(e->kind, op_name(op.kind)))
        storm_fail(st, "%s: %s became %s instead of %s", data, op_name(op.kind),
                   goal_status_name(e->status), goal_status_name(r->model.row.status));
    /* A victim may have died before it could say what it was given. */
    if (trace->accepted ? trace->row != model_digest(&r->model.row) : worker < WORKERS)
        storm_fail(st, "%s: %s was given another row", data, op_name(op.kind));
    vec_push(&r->states, model_digest(&r->model.row));
    r->lines++;
    r->transitions += before != r->model.row.status;
    r->charges += op.kind == OP_account;
}

static void replay_ledger(struct replay *r, struct store *s, struct str thread)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_event_vec page = VEC_INIT;
    struct store_goal row = {0};
    struct err err = {0};
    int found;

    do {
        arena_reset(&arena);
        if (store_goal_events(s, thread, STR(""), r->last, PAGE_EVENTS, &arena, &page, NULL, &err) <
            0)
            storm_fail(r->storm, "%s", err.text);
        VEC_EACH(&page, e) {
            replay_line(r, thread, e);
            r->last = e->id;
        }
    } while (page.len == PAGE_EVENTS);
    vec_release(&page);
    found = store_goal_get(s, thread, &arena, &row, NULL, &err);
    if (found != r->model.there)
        storm_fail(r->storm, "%.*s: there %s", STR_ARG(thread), found ? "is a row" : "is no row");
    if (found && model_differs(&row, &r->model.row))
        storm_fail(r->storm, "%.*s: %s differs in the end", STR_ARG(thread),
                   model_differs(&row, &r->model.row));
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* No read returned a state that never was; nothing acknowledged is missing. */
static void check_traces(struct storm *st, struct replay *replays)
{
    for (unsigned i = 0; i < SHARED; i++) {
        if (!replays[i].states.len)
            storm_fail(st, "nobody has changed %s", st->threads[i]);
        qsort(replays[i].states.ptr, replays[i].states.len, sizeof(uint64_t), by_value);
    }
    for (unsigned worker = 0; worker < WORKERS + st->victims; worker++) {
        for (unsigned n = 0; n < st->ops; n++) {
            const struct trace *trace = storm_trace(st, worker, n);
            const digest_vec *states = &replays[storm_target(worker, n)].states;

            if (trace->accepted && !trace->replayed)
                storm_fail(st, "worker %u, operation %u: lost", worker, n);
            if (trace->row &&
                !bsearch(&trace->row, states->ptr, states->len, sizeof(uint64_t), by_value))
                storm_fail(st, "worker %u, operation %u: was shown a row that never was", worker,
                           n);
        }
    }
}

static void check_shared_queue(struct storm *st, struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec left = VEC_INIT;
    struct err err = {0};
    size_t waiting = 0;

    if (store_goal_next_list(s, str_of(st->threads[0]), &arena, &left, NULL, &err) < 0)
        storm_fail(st, "%s", err.text);
    for (size_t i = 0; i < (size_t)WORKERS * st->ops; i++) {
        if (st->traces[i].queued == QUEUE_TAKEN)
            storm_fail(st, "a goal was taken that nobody had queued");
        waiting += st->traces[i].queued == QUEUE_ADDED;
    }
    VEC_EACH(&left, next) {
        if (storm_queued(st, next->objective)->queued != QUEUE_ADDED)
            storm_fail(st, "'%.*s' waits twice", STR_ARG(next->objective));
    }
    if (left.len != waiting)
        storm_fail(st, "%zu goals wait instead of %zu", left.len, waiting);
    vec_release(&left);
}

void replay_check(struct storm *st, struct store *s)
{
    struct replay replays[SHARED] = {0};
    size_t lines = 0;
    size_t transitions = 0;
    size_t charges = 0;

    for (unsigned i = 0; i < SHARED; i++) {
        replays[i].storm = st;
        replay_ledger(&replays[i], s, str_of(st->threads[i]));
        lines += replays[i].lines;
        transitions += replays[i].transitions;
        charges += replays[i].charges;
    }
    check_traces(st, replays);
    check_shared_queue(st, s);
    for (unsigned i = 0; i < SHARED; i++)
        vec_release(&replays[i].states);
    printf("shared goals: %zu changes, %zu of the status, %zu charges\n", lines, transitions,
           charges);
}
