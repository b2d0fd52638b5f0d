/*
 * tally: one pass over the ledger, one row per kind of event. Any thread.
 */
#include "goal/report/tally.h"

#include "json/json.h"

/* The newest rows: half of a full list is dropped at once, so that a long ledger costs no more per
 * row than a short one. */
#define TALLY_PUSH(list, row)                                                                      \
    do {                                                                                           \
        if ((list)->len == 2 * TALLY_MAX) {                                                        \
            memmove((list)->ptr, (list)->ptr + TALLY_MAX, TALLY_MAX * sizeof(*(list)->ptr));       \
            (list)->len = TALLY_MAX;                                                               \
        }                                                                                          \
        vec_push(list, row);                                                                       \
    } while (0)

#define TALLY_NEWEST(list)                                                                         \
    do {                                                                                           \
        if ((list)->len > TALLY_MAX) {                                                             \
            memmove((list)->ptr, (list)->ptr + (list)->len - TALLY_MAX,                            \
                    TALLY_MAX * sizeof(*(list)->ptr));                                             \
            (list)->len = TALLY_MAX;                                                               \
        }                                                                                          \
    } while (0)

/* Sums stay where a counter stays. */
static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;

    if (b < 0 || __builtin_add_overflow(a, b, &sum) || sum > GOAL_MAX_NUMBER)
        return b < 0 ? a : GOAL_MAX_NUMBER;
    return sum;
}

static void take_check(struct tally *t, const struct json *c, int64_t time_ms, bool before)
{
    struct str command = json_get_str(c, "command");
    bool passed = json_get_bool(c, "passed", false);
    struct tally_check *row = NULL;

    if (!command.len)
        return;
    VEC_EACH(&t->checks, k) {
        if (str_eq(k->command, command))
            row = k;
    }
    if (!row) {
        if (t->checks.len == TALLY_MAX_CHECKS)
            return;
        row = vec_add(&t->checks);
        *row = (struct tally_check){.command = command};
    }
    row->last = c;
    row->time_ms = time_ms;
    row->runs++;
    row->failures += !passed;
    if (before)
        row->passed_before = passed;
}

static void take_set(struct tally *t, const struct tally_event *e)
{
    t->set = e->data;
    t->set_ms = e->time_ms;
    JSON_EACH(json_get(e->data, "checks"), c) {
        take_check(t, c, e->time_ms, true);
    }
}

/* After a claim that was confirmed in a clean room, the stop itself runs its checks in the
 * workspace only. */
static void take_confirmed(struct tally *t, const struct tally_event *e)
{
    if (json_get_bool(e->data, "met", false) &&
        (!t->confirmed.data || !str_is(json_get_str(e->data, "checked_in"), "workspace")))
        t->confirmed = (struct tally_verdict){e->time_ms, e->data};
}

static void take_verdict(struct tally *t, const struct tally_event *e)
{
    struct tally_verdict v = {e->time_ms, e->data};
    bool is_met = json_get_bool(e->data, "met", false);

    t->verdicts++;
    if (json_get_bool(e->data, "stale", false)) {
        t->stale++;
        return;
    }
    JSON_EACH(json_get(e->data, "checks"), c) {
        take_check(t, c, e->time_ms, false);
    }
    if (json_get_str(e->data, "error").len) {
        t->judge_errors++;
        return;
    }
    t->last = v;
    if (json_len(json_get(e->data, "criteria")))
        t->criteria = v;
    if (is_met) {
        t->met = v;
        take_confirmed(t, e);
        return;
    }
    t->refused_count++;
    t->claims_refused += json_get_bool(e->data, "claim", false);
    TALLY_PUSH(&t->refused, v);
}

static void add_spend(struct tally_spend *to, const struct json *d)
{
    double cost = 0;

    to->tokens = sum_of(to->tokens, json_get_i64(d, "tokens", 0));
    to->output_tokens = sum_of(to->output_tokens, json_get_i64(d, "output_tokens", 0));
    to->seconds = sum_of(to->seconds, json_get_i64(d, "seconds", 0));
    to->steps = sum_of(to->steps, json_get_i64(d, "steps", 0));
    if (json_double(json_get(d, "cost_usd"), &cost) && cost > 0)
        to->cost_usd += cost;
    to->cost_unknown = to->cost_unknown || json_get_bool(d, "cost_unknown", false);
}

static void take_charge(struct tally *t, const struct tally_event *e)
{
    struct str who = json_get_str(e->data, "who");
    struct tally_spend *row = NULL;

    if (!who.len)
        who = STR("other");
    VEC_EACH(&t->spends, s) {
        /* The last row takes all others when there are too many. */
        if (str_eq(s->who, who) || s == t->spends.ptr + TALLY_MAX_WHO - 1) {
            row = s;
            break;
        }
    }
    if (!row) {
        if (t->spends.len == TALLY_MAX_WHO - 1)
            who = STR("other");
        row = vec_add(&t->spends);
        *row = (struct tally_spend){.who = who};
    }
    add_spend(row, e->data);
    add_spend(&t->sum, e->data);
}

static void take_wait(struct tally *t, const struct tally_event *e)
{
    struct tally_wait w = {
        .on = json_get_str(e->data, "on"),
        .what = json_get_str(e->data, "what"),
        .since_ms = e->time_ms,
    };

    t->wait_count++;
    TALLY_PUSH(&t->waits, w);
}

static void end_wait(struct tally *t, struct str why, int64_t waited_ms)
{
    struct tally_wait *w = t->waits.len ? &t->waits.ptr[t->waits.len - 1] : NULL;

    if (!w || w->is_over)
        return;
    w->why = why;
    w->waited_ms = waited_ms > 0 ? waited_ms : 0;
    w->is_over = true;
    t->waited_ms = sum_of(t->waited_ms, w->waited_ms);
}

static void take_wake(struct tally *t, const struct tally_event *e)
{
    int64_t since = t->waits.len ? t->waits.ptr[t->waits.len - 1].since_ms : e->time_ms;

    end_wait(t, json_get_str(e->data, "why"),
             json_get_i64(e->data, "waited_ms", e->time_ms - since));
}

static void take_course(struct tally *t, const struct tally_event *e)
{
    t->course_count++;
    TALLY_PUSH(&t->course, *e);
}

static void take_status(struct tally *t, const struct tally_event *e)
{
    t->status = *e;
    take_course(t, e);
}

static void take_stall(struct tally *t, const struct tally_event *e)
{
    t->stalls++;
    take_course(t, e);
}

static void take_step(struct tally *t, const struct tally_event *e)
{
    struct str ref = json_get_str(e->data, "ref");

    if (ref.len)
        TALLY_PUSH(&t->refs, ref);
}

static void take_proof(struct tally *t, const struct tally_event *e)
{
    t->proof = e->data;
}

static void take_retry(struct tally *t, const struct tally_event *e)
{
    (void)e;
    t->retries++;
}

static const struct tally_row {
    const char *kind;
    void (*take)(struct tally *t, const struct tally_event *e);
} tally_rows[] = {
    {"charge", take_charge}, /* most of a ledger */
    {"verdict", take_verdict}, {"set", take_set},        {"wait", take_wait},
    {"wake", take_wake},       {"retry", take_retry},    {"status", take_status},
    {"stall", take_stall},     {"blocker", take_course}, {"warning", take_course},
    {"accept", take_course},   {"edited", take_course},  {"limits", take_course},
    {"checks", take_course},   {"cleared", take_course}, {"restored", take_course},
    {"undo", take_course},     {"step", take_step},      {"foreign", take_course},
    {"claim", take_confirmed}, {"proof", take_proof},
};

void tally_read(struct tally *t, const goal_event_vec *events, struct str goal_id, int64_t now_ms)
{
    VEC_EACH(events, from) {
        struct tally_event e = {.time_ms = from->time_ms, .kind = from->kind};

        if (goal_id.len && from->goal_id.len && !str_eq(goal_id, from->goal_id))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(tally_rows); i++) {
            if (!str_is(from->kind, tally_rows[i].kind))
                continue;
            if (json_parse(&t->arena, from->data, &e.data, NULL, NULL) == 0 &&
                json_is(e.data, JSON_OBJECT))
                tally_rows[i].take(t, &e);
            break;
        }
    }
    if (t->waits.len && !t->waits.ptr[t->waits.len - 1].is_over) {
        struct tally_wait *w = &t->waits.ptr[t->waits.len - 1];

        w->waited_ms = now_ms > w->since_ms ? now_ms - w->since_ms : 0;
        t->waited_ms = sum_of(t->waited_ms, w->waited_ms);
    }
    TALLY_NEWEST(&t->refused);
    TALLY_NEWEST(&t->waits);
    TALLY_NEWEST(&t->course);
    TALLY_NEWEST(&t->refs);
}

void tally_release(struct tally *t)
{
    vec_release(&t->checks);
    vec_release(&t->refused);
    vec_release(&t->refs);
    vec_release(&t->spends);
    vec_release(&t->waits);
    vec_release(&t->course);
    arena_release(&t->arena);
}
