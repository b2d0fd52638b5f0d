/*
 * The row of a goal that this process holds is a copy; the holder's version is authoritative.
 *
 * After store_goal_guard() each transaction on that row compares it with the row that the last
 * transaction of this process left. If another program has changed it, the row is restored first,
 * in the same transaction, and the differences are kept for the caller (store_goal_foreign()). So a
 * foreign change never has an effect, however short the time between a read and a write.
 *
 * For the same reason the holder never waits for a busy database: a change is applied in memory and
 * written, in order, by the next transaction that succeeds. One thread per store, which exists only
 * while something is unwritten, retries until then. Any thread; the guards belong to the owner of
 * the store (store_enter()).
 */
#include "store/goals/store_goal_guard.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "store/goals/goal_check.h"
#include "store/goals/store_goal_events.h"
#include "store/query.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define SAVER_PAUSE_MS 200 /* after an error that is not "busy" */

struct guard_row {
    struct arena arena;
    struct store_goal row; /* thread_id is empty: there is none */
};

struct goal_guard {
    struct buf thread;
    bool knows;             /* the row has been read or written at least once */
    struct guard_row known; /* as this process knows it */
    bool has_next;          /* the running transaction changes the row */
    struct guard_row next;
    unsigned foreign, next_foreign; /* 1 << enum goal_part */

    bool is_late;           /* known, or an event, is not in the database yet */
    bool next_is_written;   /* by the running transaction */
    struct guard_row saved; /* as it is in the database then */
    struct arena late;      /* of its events */
    VEC(struct goal_event) events;
};

struct goal_guards {
    VEC(struct goal_guard *) list;
    struct thread *saver;
    bool saves;          /* its thread has not ended */
    struct cancel *stop; /* set when the store is freed */
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
    if (query_keep(&q, s, "SELECT " COLUMNS " FROM thread_goals WHERE thread_id=$1", err) < 0)
        return -1;
    query_str(&q, get->thread);
    found = query_step(&q, err);
    if (found > 0)
        goal_from_row(&q, get->arena, &get->row);
    return found;
}

#define MARK(kind, name) ",?"
#define EXCLUDED(kind, name) ", " #name "=excluded." #name
static const char put_sql[] = "INSERT INTO thread_goals(" COLUMNS ") VALUES(?,?" GOAL_COLUMNS(
    MARK) ")"
          " ON CONFLICT(thread_id) DO UPDATE SET goal_id=excluded.goal_id" GOAL_COLUMNS(EXCLUDED);

static void bind_limit_or_null(struct query *q, int64_t n)
{
    if (n > 0)
        query_i64(q, n);
    else
        query_opt(q, NULL);
}

int goal_row_put(struct store *s, const struct store_goal *row, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_keep(&q, s, put_sql, err) < 0)
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

int goal_row_delete(struct store *s, struct str thread, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "DELETE FROM thread_goals WHERE thread_id=$1", err) < 0)
        return -1;
    query_str(&q, thread);
    return query_do(&q, err);
}

/* ---- The guard ---- */

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

static void row_keep(struct guard_row *to, const struct store_goal *row)
{
    struct arena arena = ARENA_INIT;
    struct store_goal mine = {0};

    if (row && row->thread_id.len)
        copy_row(&arena, row, &mine);
    arena_release(&to->arena);
    *to = (struct guard_row){arena, mine};
}

static void row_move(struct guard_row *to, struct guard_row *from)
{
    arena_release(&to->arena);
    *to = *from;
    *from = (struct guard_row){.arena = ARENA_INIT};
}

static struct goal_guard *guard_of(struct store *s, struct str thread)
{
    struct goal_guards *all = *store_guards(s);

    if (!all)
        return NULL;
    VEC_EACH(&all->list, it) {
        if (str_eq(buf_str(&(*it)->thread), thread))
            return *it;
    }
    return NULL;
}

void goal_guard_note(struct store *s, struct str thread, const struct store_goal *row)
{
    struct goal_guard *g = guard_of(s, thread);

    if (!g)
        return;
    row_keep(&g->next, row);
    g->has_next = true;
}

static void guard_is_written(struct goal_guard *g)
{
    g->is_late = false;
    g->events.len = 0;
    arena_release(&g->late);
    g->late = (struct arena)ARENA_INIT;
    row_keep(&g->saved, NULL);
}

static void guard_settle(struct goal_guard *g, bool committed)
{
    if (committed)
        g->foreign |= g->next_foreign;
    if (committed && g->next_is_written)
        guard_is_written(g);
    if (committed && g->has_next) {
        row_move(&g->known, &g->next);
        g->knows = true;
    }
    g->has_next = false;
    g->next_is_written = false;
    g->next_foreign = 0;
}

void goal_guards_settle(struct goal_guards *all, bool committed)
{
    if (!all)
        return;
    VEC_EACH(&all->list, it) {
        guard_settle(*it, committed);
    }
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

/* Writes the copy in memory to the database if they differ. */
static int guard_restore(struct store *s, struct goal_guard *g, const struct store_goal *row,
                         struct err *err)
{
    unsigned bits = guard_compare(g->is_late ? &g->saved.row : &g->known.row, row);

    g->next_foreign |= bits;
    if (!bits && !g->is_late)
        return 0;
    if ((g->known.row.thread_id.len ? goal_row_put(s, &g->known.row, err)
                                    : goal_row_delete(s, buf_str(&g->thread), err)) < 0)
        return -1;
    VEC_EACH(&g->events, e) {
        if (goal_event_insert(s, buf_str(&g->thread), e, err) < 0)
            return -1;
    }
    g->next_is_written = g->is_late;
    return 1;
}

int goal_guard_read(struct store *s, void *arg, struct err *err)
{
    struct goal_get *get = arg;
    struct goal_guard *g = guard_of(s, get->thread);
    int found = goal_row_get(s, get, err);

    if (found < 0 || !g)
        return found;
    if (g->knows && (g->is_late || guard_compare(&g->known.row, &get->row)))
        return GOAL_GUARD_DIFFERS;
    if (!g->knows)
        goal_guard_note(s, get->thread, &get->row);
    return found;
}

int goal_guard_write(struct store *s, void *arg, struct err *err)
{
    struct goal_get *get = arg;
    struct goal_guard *g = guard_of(s, get->thread);
    int found = goal_row_get(s, get, err);
    int restored;

    if (found < 0 || !g || !g->knows)
        return found;
    restored = guard_restore(s, g, &get->row, err);
    if (restored <= 0)
        return restored < 0 ? -1 : found;
    return goal_row_get(s, get, err);
}

int goal_guard_catch_up(struct store *s, struct str thread, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_get get = {.thread = thread, .arena = &arena};
    struct goal_guard *g = guard_of(s, thread);

    return g && g->is_late && goal_guard_write(s, &get, err) < 0 ? -1 : 0;
}

/* ---- For the holder ---- */

struct goal_restore {
    const struct store_goal *row;
    struct goal_event event;
};

static int goal_restore(struct store *s, void *arg, struct err *err)
{
    const struct goal_restore *r = arg;

    if (goal_row_put(s, r->row, err) < 0)
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
    struct goal_guards **all = store_guards(s);
    struct goal_guard *g;

    store_enter(s);
    if (!*all) {
        *all = mem_zalloc(sizeof(**all));
        (*all)->stop = cancel_new(/*parent=*/NULL);
    }
    if (!guard_of(s, thread)) {
        g = mem_zalloc(sizeof(*g));
        buf_init(&g->thread, BUF_NO_LIMIT);
        buf_add(&g->thread, thread);
        vec_push(&(*all)->list, g);
    }
    store_leave(s);
}

unsigned store_goal_foreign(struct store *s, struct str thread)
{
    struct goal_guard *g;
    unsigned bits = 0;

    store_enter(s);
    g = guard_of(s, thread);
    if (g) {
        bits = g->foreign;
        g->foreign = 0;
    }
    store_leave(s);
    return bits;
}

static int guard_flush(struct store *s, void *arg, struct err *err)
{
    return goal_guard_catch_up(s, *(struct str *)arg, err);
}

int store_goal_flush(struct store *s, struct str thread, int64_t patience_ms, struct cancel *cancel,
                     struct err *err)
{
    struct goal_guard *g;
    bool is_late;

    store_enter(s);
    g = guard_of(s, thread);
    is_late = g && g->is_late;
    store_leave(s);
    return is_late ? store_run_for(s, STORE_WRITE, STORE_GOALS, guard_flush, &thread, patience_ms,
                                   cancel, err)
                   : 0;
}

static void guard_free(struct goal_guard *g)
{
    buf_release(&g->thread);
    arena_release(&g->known.arena);
    arena_release(&g->next.arena);
    arena_release(&g->saved.arena);
    arena_release(&g->late);
    vec_release(&g->events);
    mem_freep(&g);
}

void store_goal_release(struct store *s, struct str thread)
{
    struct goal_guards *all;
    struct err err = {0};

    if (store_goal_flush(s, thread, STORE_PATIENCE_MS, /*cancel=*/NULL, &err) < 0)
        log_debug("store", "the goal's last changes are not written: %s", err.text);
    store_enter(s);
    all = *store_guards(s);
    for (size_t i = 0; all && i < all->list.len; i++) {
        if (str_eq(buf_str(&all->list.ptr[i]->thread), thread)) {
            guard_free(all->list.ptr[i]);
            all->list.ptr[i] = all->list.ptr[--all->list.len];
            break;
        }
    }
    store_leave(s);
}

void goal_guards_free(struct goal_guards *all)
{
    if (!all)
        return;
    cancel_set(all->stop);
    thread_join(all->saver);
    cancel_unref(all->stop);
    VEC_EACH(&all->list, it) {
        guard_free(*it);
    }
    vec_release(&all->list);
    mem_freep(&all);
}

/* ---- While the database is busy ---- */

/* The thread id of an unwritten row; false if there is none, and the saver ends. */
static bool saver_next(struct store *s, struct buf *ret_thread)
{
    struct goal_guards *all;

    buf_clear(ret_thread);
    store_enter(s);
    all = *store_guards(s);
    VEC_EACH(&all->list, it) {
        if ((*it)->is_late)
            buf_add(ret_thread, buf_str(&(*it)->thread));
        if (ret_thread->len)
            break;
    }
    all->saves = ret_thread->len > 0;
    store_leave(s);
    return ret_thread->len > 0;
}

static void saver_run(void *arg)
{
    struct store *s = arg;
    struct cancel *stop = (*store_guards(s))->stop;
    CLEANUP(buf_release) struct buf thread = BUF_INIT(BUF_NO_LIMIT);

    while (saver_next(s, &thread)) {
        struct err err = {0};

        if (store_goal_flush(s, buf_str(&thread), STORE_PATIENCE_MS, stop, &err) == 0)
            continue;
        log_debug("store", "a goal is not written yet: %s", err.text);
        if (cancel_wait(stop, SAVER_PAUSE_MS, /*err=*/NULL) < 0)
            return;
    }
}

/* The store must be entered. If no thread can be started, the next transaction on the row writes
 * it. */
static void guard_is_late(struct store *s, struct goal_guard *g)
{
    struct goal_guards *all = *store_guards(s);
    struct err err = {0};

    if (!g->is_late)
        row_keep(&g->saved, &g->known.row);
    g->is_late = true;
    if (all->saves)
        return;
    thread_join(all->saver); /* it has ended */
    all->saver = thread_start("goal-save", saver_run, s, &err);
    all->saves = all->saver;
}

static void guard_add_event(struct goal_guard *g, struct goal_event e)
{
    e.goal_id = arena_str(&g->late, e.goal_id);
    e.kind = arena_str(&g->late, e.kind);
    e.data = arena_str(&g->late, e.data);
    e.next = NULL;
    vec_push(&g->events, e);
}

bool goal_guard_knows(struct store *s, struct str thread)
{
    struct goal_guard *g;
    bool knows;

    store_enter(s);
    g = guard_of(s, thread);
    knows = g && g->knows;
    store_leave(s);
    return knows;
}

/* The store is entered. */
static int guard_recall(const struct goal_guard *g, struct goal_get *get)
{
    get->row = (struct store_goal){0};
    if (g->known.row.thread_id.len)
        copy_row(get->arena, &g->known.row, &get->row);
    return get->row.thread_id.len > 0;
}

int goal_guard_recall(struct store *s, struct goal_get *get)
{
    int found;

    store_enter(s);
    found = guard_recall(guard_of(s, get->thread), get);
    store_leave(s);
    return found;
}

int goal_guard_postpone(struct store *s, struct goal_write *w)
{
    struct goal_guard *g;
    int changed;

    store_enter(s);
    g = guard_of(s, w->get.thread);
    (void)guard_recall(g, &w->get);
    changed = goal_write_apply(w);
    if (changed) {
        guard_is_late(s, g);
        row_keep(&g->known, w->deletes ? NULL : &w->get.row);
        for (const struct goal_event *e = w->event; e; e = e->next)
            guard_add_event(g, goal_write_event(w, e));
    }
    store_leave(s);
    return changed;
}

void goal_guard_postpone_note(struct store *s, struct str thread, const struct goal_event *e)
{
    struct goal_guard *g;

    store_enter(s);
    g = guard_of(s, thread);
    guard_is_late(s, g);
    guard_add_event(g, *e);
    store_leave(s);
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
