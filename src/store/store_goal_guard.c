/*
 * The row of a goal that this process holds is a copy: what the holder knows is the truth.
 *
 * From store_goal_guard() on, each transaction on that row compares it with the row that the last
 * transaction of this process left. Where another program has changed it, the row is restored
 * before anything else is done, in the same transaction, and what differed is kept for the caller
 * (store_goal_foreign()). So a foreign change never has an effect, however short the time between a
 * look and a write. Any thread; the guard belongs to whoever owns the store (store_enter()).
 */
#include "store/store_goal_guard.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/goal_check.h"
#include "store/store_goal_events.h"
#include "store/store_sqlite.h"

struct goal_guard {
    struct buf thread;
    bool knows;              /* the row has been read or written once */
    struct arena arena;      /* of known */
    struct store_goal known; /* thread_id is empty: there is none */
    bool has_next;           /* what the running transaction leaves */
    struct arena next_arena;
    struct store_goal next;
    unsigned foreign, next_foreign; /* 1 << enum goal_part */
};

/* ---- Reading ---- */

static enum goal_status get_status(struct query *q, struct arena *arena)
{
    enum goal_status status = GOAL_STATUS_COUNT;

    (void)goal_status_parse(query_get_str(q, arena), &status); /* the table has no other */
    return status;
}

void goal_from_row(struct query *q, struct arena *arena, struct store_goal *ret)
{
    ret->thread_id = query_get_str(q, arena);
    ret->goal_id = query_get_str(q, arena);
#define GET_TEXT query_get_str(q, arena)
#define GET_STATUS get_status(q, arena)
#define GET_NUMBER query_get_i64(q) /* NULL is 0 */
#define GET_MONEY query_get_double(q)
#define GET_FLAG query_get_i64(q) != 0
#define GET(kind, name) ret->name = GET_##kind;
    GOAL_COLUMNS(GET)
}

int goal_row_get(struct store *s, struct goal_get *get, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};
    int found;

    get->row = (struct store_goal){0};
    if (query_keep(&q, s, "SELECT " COLUMNS " FROM thread_goals WHERE thread_id=?1", err) < 0)
        return -1;
    query_str(&q, get->thread);
    found = query_step(&q, err);
    if (found > 0)
        goal_from_row(&q, get->arena, &get->row);
    return found;
}

/* ---- The guard ---- */

static struct goal_guard *guard_of(struct store *s, struct str thread)
{
    struct goal_guard *g = *store_guard(s);

    return g && str_eq(buf_str(&g->thread), thread) ? g : NULL;
}

static void copy_row(struct arena *arena, const struct store_goal *from, struct store_goal *to)
{
    *to = *from;
    to->thread_id = arena_str(arena, from->thread_id);
    to->goal_id = arena_str(arena, from->goal_id);
#define COPY_TEXT(name) to->name = arena_str(arena, from->name);
#define COPY_STATUS(name)
#define COPY_NUMBER(name)
#define COPY_MONEY(name)
#define COPY_FLAG(name)
#define COPY(kind, name) COPY_##kind(name)
    GOAL_COLUMNS(COPY)
}

void goal_guard_note(struct store *s, struct str thread, const struct store_goal *row)
{
    struct goal_guard *g = guard_of(s, thread);

    if (!g)
        return;
    arena_release(&g->next_arena);
    g->next_arena = (struct arena)ARENA_INIT;
    g->next = (struct store_goal){0};
    if (row && row->thread_id.len)
        copy_row(&g->next_arena, row, &g->next);
    g->has_next = true;
}

void goal_guard_settle(struct goal_guard *g, bool committed)
{
    if (!g)
        return;
    if (committed)
        g->foreign |= g->next_foreign;
    if (committed && g->has_next) {
        arena_release(&g->arena);
        g->arena = g->next_arena;
        g->known = g->next;
        g->knows = true;
        g->next_arena = (struct arena)ARENA_INIT;
    }
    g->has_next = false;
    g->next_foreign = 0;
}

/* What differs, as bits. Counters that another program has raised differ, too. */
static unsigned guard_compare(const struct store_goal *known, const struct store_goal *row)
{
    const struct {
        enum goal_part part;
        bool same;
    } rows[] = {
        {GOAL_PART_STATUS, known->status == row->status},
        {GOAL_PART_OBJECTIVE, str_eq(known->objective, row->objective)},
        {GOAL_PART_CHECKS, str_eq(known->checks, row->checks)},
        {GOAL_PART_PROTECT, str_eq(known->protect, row->protect)},
        {GOAL_PART_BASELINE, str_eq(known->baseline, row->baseline)},
        {GOAL_PART_OPTIONS, str_eq(known->options, row->options)},
        {GOAL_PART_LIMITS,
         known->token_budget == row->token_budget && known->max_turns == row->max_turns &&
             known->max_cost_usd == row->max_cost_usd && known->deadline_ms == row->deadline_ms},
        {GOAL_PART_USED,
         known->tokens_used == row->tokens_used && known->output_tokens == row->output_tokens &&
             known->steps == row->steps && known->time_used_seconds == row->time_used_seconds &&
             known->cost_usd == row->cost_usd && known->cost_unknown == row->cost_unknown &&
             known->iterations == row->iterations && known->created_at_ms == row->created_at_ms},
        {GOAL_PART_MEMORY, str_eq(known->memory, row->memory) && str_eq(known->phase, row->phase) &&
                               str_eq(known->phase_detail, row->phase_detail) &&
                               str_eq(known->last_reason, row->last_reason)},
    };
    unsigned bits = 0;

    if (!known->thread_id.len && !row->thread_id.len)
        return 0;
    if (!str_eq(known->thread_id, row->thread_id) || !str_eq(known->goal_id, row->goal_id))
        return 1u << GOAL_PART_ROW;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].same)
            bits |= 1u << rows[i].part;
    }
    return bits;
}

#define MARK(kind, name) ",?"
static const char restore_sql[] =
    "INSERT OR REPLACE INTO thread_goals(" COLUMNS ") VALUES(?,?" GOAL_COLUMNS(MARK) ")";

static void bind_limit_or_null(struct query *q, int64_t n)
{
    if (n > 0)
        query_i64(q, n);
    else
        query_opt(q, NULL);
}

static int guard_put(struct store *s, const struct store_goal *row, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, restore_sql, err) < 0)
        return -1;
    query_str(&q, row->thread_id);
    query_str(&q, row->goal_id);
    query_str(&q, row->objective);
    query_str(&q, str_of(goal_status_name(row->status)));
    query_str(&q, row->phase);
    query_str(&q, row->phase_detail);
    bind_limit_or_null(&q, row->token_budget);
    bind_limit_or_null(&q, row->max_turns);
    if (row->max_cost_usd > 0)
        query_double(&q, row->max_cost_usd);
    else
        query_opt(&q, NULL);
    bind_limit_or_null(&q, row->deadline_ms);
    query_i64(&q, row->tokens_used);
    query_i64(&q, row->output_tokens);
    query_i64(&q, row->steps);
    query_i64(&q, row->time_used_seconds);
    query_double(&q, row->cost_usd);
    query_i64(&q, row->cost_unknown);
    query_i64(&q, row->iterations);
    query_str(&q, row->last_reason);
    query_str(&q, row->checks);
    query_str(&q, row->protect);
    query_str(&q, row->baseline);
    query_str(&q, row->options);
    query_str(&q, row->memory);
    query_i64(&q, row->created_at_ms);
    query_i64(&q, row->updated_at_ms);
    return query_do(&q, err);
}

static int guard_remove(struct store *s, struct str thread, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "DELETE FROM thread_goals WHERE thread_id=?", err) < 0)
        return -1;
    query_str(&q, thread);
    return query_do(&q, err);
}

/* 1: it differs; 0: it does not, or nothing is known of it yet. */
static int guard_differs(struct goal_guard *g, const struct store_goal *row, unsigned *ret)
{
    *ret = g && g->knows ? guard_compare(&g->known, row) : 0;
    return *ret != 0;
}

int goal_guard_read(struct store *s, void *arg, struct err *err)
{
    struct goal_get *get = arg;
    struct goal_guard *g = guard_of(s, get->thread);
    int found = goal_row_get(s, get, err);
    unsigned bits;

    if (found < 0 || !g)
        return found;
    if (guard_differs(g, &get->row, &bits))
        return GOAL_GUARD_DIFFERS;
    if (!g->knows)
        goal_guard_note(s, get->thread, &get->row);
    return found;
}

int goal_guard_check(struct store *s, struct str thread, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_guard *g = guard_of(s, thread);
    struct goal_get get = {.thread = thread, .arena = &arena};
    unsigned bits;

    if (!g || !g->knows)
        return 0;
    if (goal_row_get(s, &get, err) < 0)
        return -1;
    if (!guard_differs(g, &get.row, &bits))
        return 0;
    g->next_foreign |= bits;
    return g->known.thread_id.len ? guard_put(s, &g->known, err) : guard_remove(s, thread, err);
}

int goal_guard_write(struct store *s, void *arg, struct err *err)
{
    struct goal_get *get = arg;

    if (goal_guard_check(s, get->thread, err) < 0)
        return -1;
    return goal_row_get(s, get, err);
}

/* ---- For the holder ---- */

struct goal_restore {
    const struct store_goal *row;
    struct goal_event event;
};

static int goal_restore(struct store *s, void *arg, struct err *err)
{
    const struct goal_restore *r = arg;

    if (guard_put(s, r->row, err) < 0)
        return -1;
    goal_guard_note(s, r->row->thread_id, r->row);
    return goal_event_insert(s, r->row->thread_id, &r->event, err);
}

int store_goal_restore(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct cancel *cancel, struct err *err)
{
    struct goal_restore r = {g, *event};

    r.event.goal_id = g->goal_id;
    r.event.time_ms = now_ms;
    r.event.status = g->status;
    if (goal_check_thread(g->thread_id, err) < 0 || goal_check_row(g, err) < 0 ||
        goal_check_event(event, err) < 0)
        return -1;
    return store_run(s, STORE_WRITE, STORE_GOALS, goal_restore, &r, cancel, err);
}

void store_goal_guard(struct store *s, struct str thread)
{
    struct goal_guard **slot = store_guard(s);

    if (*slot)
        return;
    *slot = mem_zalloc(sizeof(**slot));
    buf_init(&(*slot)->thread, BUF_NO_LIMIT);
    buf_add(&(*slot)->thread, thread);
}

unsigned store_goal_foreign(struct store *s)
{
    struct goal_guard *g;
    unsigned bits = 0;

    store_enter(s);
    g = *store_guard(s);
    if (g) {
        bits = g->foreign;
        g->foreign = 0;
    }
    store_leave(s);
    return bits;
}

void goal_guard_free(struct goal_guard *g)
{
    if (!g)
        return;
    buf_release(&g->thread);
    arena_release(&g->arena);
    arena_release(&g->next_arena);
    mem_freep(&g);
}

static const char *const part_names[] = {
#define X(id, name) [GOAL_PART_##id] = name,
    GOAL_PARTS(X)
#undef X
};

const char *goal_part_name(enum goal_part part)
{
    return part_names[part];
}
