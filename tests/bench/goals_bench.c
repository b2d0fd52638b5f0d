/*
 * goals_bench: what an operation of the goal store costs.
 *
 *     goals_bench [OPERATIONS]
 *
 * One thread, one database on disk: a goal as it is in the middle of a session, then one that
 * protects many files (a row of 64 KB). Changes write their line into the ledger, as the engine's
 * do. Prints the median and the slow end of each operation; nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "store/goals/goals.h"
#include "store/store.h"

#define MAX_OPERATIONS 1000000
#define OTHERS 200 /* goals of other sessions */
#define BIG_BYTES ((size_t)64 << 10)
#define THREAD STR("11111111-2222-4333-8444-555555555555")
#define NOW 1763000000000

struct bench {
    struct store *store;
    struct arena arena;
    struct err err;
};

typedef int (*bench_fn)(struct bench *b, size_t i);

static const struct goal_event line = {
    .kind = STR_INIT("charge"),
    .data =
        STR_INIT("{\"by\":\"agent\",\"tokens\":1234,\"output_tokens\":321,\"cost_usd\":0.0123}"),
};

static int bench_get(struct bench *b, size_t i)
{
    struct store_goal g;

    (void)i;
    return store_goal_get(b->store, THREAD, &b->arena, &g, NULL, &b->err);
}

static int bench_update(struct bench *b, size_t i)
{
    struct str reason = STR("The test 'parser rejects bad input' still fails with exit code 2.");
    struct goal_update u = {.add_iterations = 1, .last_reason = &reason};
    struct store_goal g;

    return store_goal_update(b->store, THREAD, &u, NOW + (int64_t)i, &line, &b->arena, &g, NULL,
                             &b->err);
}

static int bench_account(struct bench *b, size_t i)
{
    struct goal_charge c = {.mode = CHARGE_ACTIVE_ONLY,
                            .seconds = 3,
                            .tokens = 1234,
                            .output_tokens = 321,
                            .steps = 1,
                            .cost_usd = 0.0123};
    struct store_goal g;

    return store_goal_account(b->store, THREAD, &c, NOW + (int64_t)i, &line, &b->arena, &g, NULL,
                              &b->err);
}

static int bench_note(struct bench *b, size_t i)
{
    struct goal_event e = line;

    e.time_ms = NOW + (int64_t)i;
    return store_goal_note(b->store, THREAD, &e, NULL, &b->err);
}

static void measure(struct bench *b, const char *name, bench_fn fn, size_t count)
{
    double *us = mem_alloc(count * sizeof(*us));

    for (size_t i = 0; i < count; i++) {
        int64_t start_us = clock_mono_us();

        arena_reset(&b->arena);
        if (fn(b, i) < 0)
            bench_die("goals_bench", b->err.text);
        us[i] = (double)(clock_mono_us() - start_us);
    }
    bench_sort(us, count);
    printf("  %-8s %8.0f us p50 %8.0f us p99 %8.0f us most\n", name, us[count / 2],
           us[count * 99 / 100], us[count - 1]);
    mem_freep(&us);
}

static void put(struct bench *b, struct str thread, struct str protect)
{
    struct store_goal g = {
        .thread_id = thread,
        .goal_id = STR("00000001-0000-4000-8000-000000000000"),
        .objective = STR("all tests pass and the new parser is documented"),
        .status = GOAL_ACTIVE,
        .phase = STR("working"),
        .checks = STR("[{\"command\":\"make test\"},{\"command\":\"make lint\"}]"),
        .protect = protect,
        .baseline = STR("{\"commit\":\"0123456789abcdef0123456789abcdef01234567\"}"),
        .options = STR("{\"referee\":\"judge\",\"tokens_at_start\":12345}"),
        .memory = STR("{\"stalls\":0,\"fingerprint\":\"0123456789abcdef\"}"),
    };

    if (store_goal_replace(b->store, &g, NOW, NULL, NULL, NULL, NULL, &b->err) < 0)
        bench_die("goals_bench", b->err.text);
}

static void measure_all(struct bench *b, const char *what, struct str protect, size_t count)
{
    printf("goal store, %s, %zu times\n", what, count);
    put(b, THREAD, protect);
    measure(b, "get", bench_get, count);
    measure(b, "update", bench_update, count);
    measure(b, "account", bench_account, count);
    measure(b, "note", bench_note, count);
}

int main(int argc, char **argv)
{
    char folder[] = "/var/tmp/tenax-goals-XXXXXX"; /* /tmp may be memory */
    CLEANUP(mem_freep) char *big = mem_zalloc(BIG_BYTES);
    struct bench b = {0};
    int64_t count = 10000;

    if ((argc > 1 && str_to_i64(str_of(argv[1]), &count, NULL) < 0) || count < 1 ||
        count > MAX_OPERATIONS || !mkdtemp(folder))
        bench_die("goals_bench", "bad arguments");
    if (store_open("sqlite", folder, NULL, &b.store, &b.err) < 0)
        bench_die("goals_bench", b.err.text);
    for (int i = 0; i < OTHERS; i++) {
        char thread[20];

        snprintf(thread, sizeof(thread), "other-%d", i);
        put(&b, str_of(thread), STR("{}"));
    }
    memset(big, 'x', BIG_BYTES);
    measure_all(&b, "a usual goal", STR("{\"Makefile\":\"0123456789abcdef\"}"), (size_t)count);
    measure_all(&b, "64 KB of protected files", str_make(big, BIG_BYTES), (size_t)(count + 9) / 10);
    store_free(b.store);
    arena_release(&b.arena);
    bench_remove(folder);
    return 0;
}
