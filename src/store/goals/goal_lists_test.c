/*
 * What every backend of the goal store promises of lists, the ledger, the queue, and as part of the
 * store; then what only the file can show: the tables, and a database from before there were goals.
 */
#include "store/goals/test_goals.h"

#include "base/buf.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

/* ---- Lists ---- */

static void conform_list(struct store *s)
{
    static const struct {
        const char *thread;
        enum goal_status status;
        int64_t now_ms;
    } made[] = {{"list-a", A, 50}, {"list-b", P, 70}, {"list-c", A, 60}, {"list-d", P, 60}};
    static const struct {
        enum goal_status status;
        size_t max;
        const char *want;
    } rows[] = {
        {GOAL_STATUS_COUNT, 10, "bcda"},
        {GOAL_STATUS_COUNT, 2, "bc"},
        {A, 10, "ca"},
        {P, 10, "bd"},
        {P, 0, ""},
        {C, 10, ""},
    };
    store_goal_vec got = VEC_INIT;

    (void)ANSWER(store_goal_delete(s, T, STR(""), NOW, NULL, NULL, NULL, NULL, err));
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        struct store_goal g = make_goal(ID(1), made[i].status);

        g.thread_id = str_of(made[i].thread);
        (void)ANSWER(store_goal_replace(s, &g, made[i].now_ms, NULL, NULL, NULL, NULL, err));
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        char names[10] = "";

        (void)ANSWER(store_goals(s, rows[i].status, rows[i].max, &arena, &got, NULL, err));
        for (size_t k = 0; k < got.len; k++)
            names[k] = got.ptr[k].thread_id.ptr[got.ptr[k].thread_id.len - 1];
        if (strcmp(names, rows[i].want) != 0)
            fail_msg("row %zu: '%s' instead of '%s'", i, names, rows[i].want);
    }
    vec_release(&got);
}

/* ---- The ledger ---- */

/* "kind:status" of each, separated by blanks. */
static void expect_events(struct store *s, struct str thread, const char *goal_id, int64_t after,
                          size_t max, const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    goal_event_vec got = VEC_INIT;
    int64_t last = after;

    (void)ANSWER(
        store_goal_events(s, thread, str_of(goal_id), after, max, &arena, &got, NULL, err));
    VEC_EACH(&got, e) {
        assert_true(e->id > last);
        last = e->id;
        if (*goal_id)
            expect_str("goal_id", e->goal_id, str_of(goal_id));
        buf_addf(&all, "%s%.*s:%s", all.len ? " " : "", STR_ARG(e->kind),
                 goal_status_name(e->status));
    }
    vec_release(&got);
    assert_string_equal(buf_cstr(&all), want);
}

static void expect_last_events(struct store *s, struct str thread, const char *goal_id, size_t max,
                               const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    goal_event_vec got = VEC_INIT;

    (void)ANSWER(store_goal_last_events(s, thread, str_of(goal_id), max, &arena, &got, NULL, err));
    VEC_EACH(&got, e) {
        buf_addf(&all, "%s%.*s", all.len ? " " : "", STR_ARG(e->kind));
    }
    vec_release(&got);
    assert_string_equal(buf_cstr(&all), want);
}

static int64_t nth_event(struct store *s, struct str thread, size_t n, struct arena *arena,
                         struct goal_event *ret)
{
    goal_event_vec got = VEC_INIT;

    (void)ANSWER(store_goal_events(s, thread, STR(""), 0, 100, arena, &got, NULL, err));
    assert_true(n < got.len);
    *ret = got.ptr[n];
    vec_release(&got);
    return ret->id;
}

static void conform_ledger(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct str thread = STR("ledger");
    const struct goal_event set = {.kind = STR("set"), .data = STR("{\"by\":\"user\"}")};
    const struct goal_event spent = {.kind = STR("charge"), .data = STR("{}"), .time_ms = 5};
    const struct goal_event status = {.kind = STR("status"), .data = STR("{}")};
    const struct goal_event both = {.kind = STR("verdict"), .data = STR("{}"), .next = &status};
    const struct goal_event nameless = {.data = STR("{}")};
    const struct goal_event broken = {.kind = STR("status"), .data = STR("{}"), .next = &nameless};
    const struct goal_charge some = {.tokens = 60};
    const struct goal_charge stale = {.tokens = 60, .expected_goal_id = STR(ID(9))};
    const struct goal_update resume = {.has_status = true, .status = A, .from = 1 << P};
    struct store_goal g = make_goal(ID(1), GOAL_ACTIVE);
    struct goal_event e;
    int64_t third;

    g.thread_id = thread;
    g.token_budget = 100;
    (void)ANSWER(store_goal_replace(s, &g, NOW, &set, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_account(s, thread, &some, NOW + 1, &spent, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_account(s, thread, &some, NOW + 2, &spent, NULL, NULL, NULL, err));
    expect_events(s, thread, "", 0, 100, "set:active charge:active charge:budget_limited");

    /* What changed nothing leaves no line. */
    (void)ANSWER(store_goal_account(s, thread, &stale, NOW, &spent, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_account(s, thread, &(struct goal_charge){0}, NOW, &spent, NULL, NULL,
                                    NULL, err));
    (void)ANSWER(store_goal_update(s, thread, &resume, NOW, &status, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_pause_active(s, thread, NOW, &status, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_insert(s, &g, NOW, &set, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_delete(s, thread, STR(ID(9)), NOW, &status, NULL, NULL, NULL, err));
    expect_events(s, thread, "", 0, 100, "set:active charge:active charge:budget_limited");

    /* Two at once, or none of them. */
    (void)ANSWER(store_goal_delete(s, thread, STR(ID(9)), NOW, &both, NULL, NULL, NULL, err));
    if (store_goal_update(s, thread, &resume, NOW, &broken, NULL, NULL, NULL,
                          /*err=*/NULL) != -1)
        fail_msg("an event without a kind is taken where it stands behind another");
    expect_events(s, thread, "", 0, 100, "set:active charge:active charge:budget_limited");

    /* The line's goal and time are the row's. */
    third = nth_event(s, thread, 2, &arena, &e);
    expect_str("goal_id", e.goal_id, STR(ID(1)));
    assert_int_equal(e.time_ms, NOW + 2);
    (void)nth_event(s, thread, 0, &arena, &e);
    expect_str("data", e.data, STR("{\"by\":\"user\"}"));

    (void)ANSWER(store_goal_delete(s, thread, STR(""), NOW, &status, NULL, NULL, NULL, err));
    g.goal_id = STR(ID(2));
    g.token_budget = 0;
    (void)ANSWER(store_goal_insert(s, &g, NOW, &set, NULL, NULL, NULL, err));
    (void)ANSWER(store_goal_note(
        s, thread,
        &(struct goal_event){.goal_id = STR(ID(1)), .time_ms = 9, .kind = STR("verdict")}, NULL,
        err));
    (void)nth_event(s, thread, 5, &arena, &e);
    assert_int_equal(e.time_ms, 9);
    expect_events(s, thread, ID(2), 0, 100, "set:active");
    (void)ANSWER(store_goal_update(s, thread,
                                   &(struct goal_update){.has_status = true, .status = C}, NOW,
                                   &both, NULL, NULL, NULL, err));
    expect_events(s, thread, ID(2), 0, 100, "set:active verdict:complete status:complete");
    expect_last_events(s, thread, ID(2), 2, "verdict status");
    expect_last_events(s, thread, ID(1), 100, "set status verdict"); /* no charges */
    expect_events(s, thread, ID(1), third, 100, "status:budget_limited verdict:");
    expect_events(s, thread, "", 0, 2, "set:active charge:active");
    expect_events(s, thread, "", 0, 0, "");
    expect_events(s, STR("other"), "", 0, 100, "");
}

static void conform_bad_events(struct store *s)
{
    const struct {
        struct goal_event e;
        enum err_code code;
    } rows[] = {
        {{.kind = STR("")}, ERR_BAD_INPUT},
        {{.kind = str_make(big_text, 65)}, ERR_BAD_INPUT},
        {{.kind = STR("x"), .data = str_make(big_text, GOAL_MAX_EVENT + 1)}, ERR_TOO_BIG},
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct goal_event wrong_goal = {.kind = STR("x"), .goal_id = STR("x")};
    struct err err = {0};

    put(s, A, 10, 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (store_goal_note(s, T, &rows[i].e, NULL, &err) != -1 || err.code != rows[i].code)
            fail_msg("note, row %zu: %s %s", i, err_code_name(err.code), err.text);
        if (store_goal_pause_active(s, T, NOW, &rows[i].e, NULL, NULL, NULL, &err) != -1 ||
            err.code != rows[i].code)
            fail_msg("pause, row %zu: %s %s", i, err_code_name(err.code), err.text);
    }
    assert_int_equal(store_goal_note(s, T, &wrong_goal, NULL, &err), -1);
    assert_int_equal(
        store_goal_note(s, STR(""), &(struct goal_event){.kind = STR("x")}, NULL, &err), -1);
    expect_status("nothing happened", get(s, &arena).status, GOAL_ACTIVE);
    expect_events(s, T, "", 0, 100, "");
}

/* ---- The queue ---- */

static void expect_queue(struct store *s, const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec got = VEC_INIT;
    char all[GOAL_MAX_NEXT + 1] = "";

    (void)ANSWER(store_goal_next_list(s, T, &arena, &got, NULL, err));
    VEC_EACH(&got, n) {
        all[n - got.ptr] = n->objective.ptr[0];
        expect_str("options", n->options, n->objective);
    }
    vec_release(&got);
    assert_string_equal(all, want);
}

static void add_next(struct store *s, const char *name)
{
    struct goal_next n = {.objective = str_of(name), .options = str_of(name)};

    (void)ANSWER(store_goal_next_add(s, T, &n, NULL, err));
}

static const struct {
    size_t from, to;
    int answer;
    const char *queue; /* after it */
} moves[] = {
    {1, 1, 1, "abcd"},
    {1, 4, 1, "bcda"},
    {4, 1, 1, "abcd"},
    {2, 3, 1, "acbd"},
    {3, 2, 1, "abcd"},
    {4, 2, 1, "adbc"},
    {2, 4, 1, "abcd"},
    {0, 1, 0, "abcd"},
    {5, 1, 0, "abcd"},
    {1, 5, 0, "abcd"},
    {5, 5, 0, "abcd"},
    {5, 0, 0, "abcd"},
    {0, 0, 0, "abcd"},
    {1, SIZE_MAX, 0, "abcd"},
    {SIZE_MAX, 1, 0, "abcd"},
    {2, 0, 1, "acd"},
    {3, 0, 1, "ac"},
    {2, 1, 1, "ca"},
    {1, 0, 1, "a"},
    {1, 0, 1, ""},
    {1, 0, 0, ""},
    {1, 1, 0, ""},
};

/* The one of that name goes, once. */
static void expect_dropped(struct store *s, const char *name, const char *queue)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec list = VEC_INIT;
    int64_t id = 0;

    (void)ANSWER(store_goal_next_list(s, T, &arena, &list, NULL, err));
    VEC_EACH(&list, n) {
        if (str_is(n->objective, name))
            id = n->id;
    }
    vec_release(&list);
    assert_int_equal(ANSWER(store_goal_next_drop(s, T, id, NULL, err)), 1);
    assert_int_equal(ANSWER(store_goal_next_drop(s, T, id, NULL, err)), 0);
    expect_queue(s, queue);
}

static void conform_queue(struct store *s)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_next got = {.id = 77};
    struct err why = {0};

    assert_int_equal(ANSWER(store_goal_next_take(s, T, &arena, &got, NULL, err)), 0);
    assert_int_equal(got.id, 77);
    (void)ANSWER(store_goal_next_add(s, STR("elsewhere"),
                                     &(struct goal_next){.objective = STR("x")}, NULL, err));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_next(s, names[i]);
    expect_queue(s, "abcd");
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        int answer = ANSWER(store_goal_next_move(s, T, moves[i].from, moves[i].to, NULL, err));

        if (answer != moves[i].answer)
            fail_msg("move %zu: %d", i, answer);
        expect_queue(s, moves[i].queue);
    }

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_next(s, names[i]);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(ANSWER(store_goal_next_take(s, T, &arena, &got, NULL, err)), 1);
        expect_str("taken", got.objective, str_of(names[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_next(s, names[i]);
    expect_dropped(s, "b", "acd");
    expect_dropped(s, "d", "ac");
    (void)ANSWER(store_goal_next_move(s, T, 1, 2, NULL, err)); /* still known by its id */
    expect_dropped(s, "a", "c");
    expect_dropped(s, "c", "");
    for (int i = 0; i < GOAL_MAX_NEXT; i++)
        add_next(s, "a");
    assert_int_equal(
        store_goal_next_add(s, T, &(struct goal_next){.objective = STR("x")}, NULL, &why), -1);
    assert_int_equal(why.code, ERR_TOO_BIG);
    assert_int_equal(ANSWER(store_goal_next_take(s, T, &arena, &got, NULL, err)), 1);
    add_next(s, "a");
    assert_int_equal(
        store_goal_next_add(s, T, &(struct goal_next){.objective = STR(" ")}, NULL, &why), -1);
    assert_int_equal(why.code, ERR_BAD_INPUT);
    assert_int_equal(ANSWER(store_goal_next_take(s, STR("elsewhere"), &arena, &got, NULL, err)), 1);
    expect_str("elsewhere", got.objective, STR("x"));
}

static void conform_forget(struct store *s)
{
    const struct goal_event line = {.kind = STR("x")};
    const struct goal_next next = {.objective = STR("x")};

    put(s, A, 0, 0);
    (void)ANSWER(store_goal_note(s, T, &line, NULL, err));
    (void)ANSWER(store_goal_note(s, STR("beside"), &line, NULL, err));
    (void)ANSWER(store_goal_next_add(s, STR("beside"), &next, NULL, err));
    assert_int_equal(ANSWER(store_goals_forget(s, T, NULL, err)), 1);
    assert_int_equal(ANSWER(store_goals_forget(s, T, NULL, err)), 0);
    expect_events(s, T, "", 0, 100, "");
    expect_queue(s, "");
    expect_events(s, STR("beside"), "", 0, 100, "x:");
    assert_int_equal(ANSWER(store_goals_forget(s, STR("beside"), NULL, err)), 1);
}

/* ---- As all of the store ---- */

static void count_change(void *arg, enum store_key key)
{
    assert_int_equal(key, STORE_GOALS);
    ++*(int *)arg;
}

static void conform_watch(struct store *s)
{
    int changes = 0;
    struct store_watch *w;

    put(s, P, 10, 20);
    w = store_watch(s, STORE_GOALS, count_change, &changes);
    assert_int_equal(update(s, (struct goal_update){.from = 1 << A}, NULL, NULL), 0);
    assert_int_equal(charge(s, (struct goal_charge){.tokens = 1}, NULL, NULL), 0);
    (void)ANSWER(store_goal_delete(s, T, STR(ID(9)), NOW, NULL, NULL, NULL, NULL, err));
    assert_int_equal(changes, 0);
    assert_int_equal(update(s, (struct goal_update){.from = 1 << P}, NULL, NULL), 1);
    (void)ANSWER(store_goal_note(s, T, &(struct goal_event){.kind = STR("x")}, NULL, err));
    assert_int_equal(changes, 2);
    store_unwatch(s, w);
}

static void conform_cancel(struct store *s)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct store_goal got = {.steps = 77};
    struct err err = {0};

    put(s, A, 10, 20);
    cancel_set(cancel);
    assert_int_equal(store_goal_pause_active(s, T, NOW, NULL, NULL, &got, cancel, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_int_equal(got.steps, 77);
}

#define CHARGES 100

static void charge_often(void *arg)
{
    for (int i = 0; i < CHARGES; i++) {
        struct goal_charge c = {.mode = CHARGE_ACTIVE_ONLY, .tokens = 1, .cost_usd = 0.25};

        assert_int_equal(ANSWER(store_goal_account(arg, T, &c, NOW, NULL, NULL, NULL, NULL, err)),
                         1);
    }
}

static void conform_threads(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct thread *threads[4];
    struct store_goal got;

    put(s, A, 100, 100 + ARRAY_LEN(threads) * CHARGES);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("charger", charge_often, s, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    got = get(s, &arena);
    assert_int_equal(got.tokens_used, 100 + ARRAY_LEN(threads) * CHARGES);
    expect_number("cost_usd", got.cost_usd, ARRAY_LEN(threads) * CHARGES * 0.25);
    expect_status("exactly spent", got.status, GOAL_BUDGET_LIMITED);
}

static const conform_fn parts[] = {
    conform_list,   conform_ledger, conform_bad_events, conform_queue,
    conform_forget, conform_watch,  conform_cancel,     conform_threads,
};

static void test_sqlite(void **state)
{
    (void)state;
    conform("sqlite", parts, ARRAY_LEN(parts));
}

static void test_memory(void **state)
{
    (void)state;
    conform("memory", parts, ARRAY_LEN(parts));
}

/* ---- The file ---- */

/* SQLite's code; what it selects, joined by commas, is added to ret. */
static int run_sql(const char *sql, struct buf *ret)
{
    CLEANUP(mem_freep) char *path = path_join(test_home, "state.db");
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;
    int code;

    assert_int_equal(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
                     SQLITE_OK);
    if (!ret) {
        code = sqlite.exec(db, sql, NULL, NULL, NULL);
    } else {
        assert_int_equal(sqlite.prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        for (code = sqlite.step(statement); code == SQLITE_ROW; code = sqlite.step(statement))
            buf_addf(ret, "%s%s", ret->len ? "," : "",
                     (const char *)sqlite.column_text(statement, 0));
        sqlite.finalize(statement);
    }
    sqlite.close_v2(db);
    return code;
}

/* Names that others read, and what the table itself forbids. */
static void test_table(void **state)
{
    static const struct {
        const char *sql;
        int want;
    } rows[] = {
        {"UPDATE thread_goals SET status='done'", SQLITE_CONSTRAINT},
        {"UPDATE thread_goals SET status='paused'", SQLITE_OK},
        {"UPDATE thread_goals SET tokens_used=NULL", SQLITE_CONSTRAINT},
        {"UPDATE thread_goals SET time_used_seconds=NULL", SQLITE_CONSTRAINT},
        {"UPDATE thread_goals SET token_budget=NULL", SQLITE_OK},
        {"UPDATE thread_goals SET token_budget=0", SQLITE_CONSTRAINT},
        {"INSERT INTO thread_goals SELECT * FROM thread_goals", SQLITE_CONSTRAINT},
        {"UPDATE goal_events SET data='{}'", SQLITE_CONSTRAINT}, /* append-only */
    };
    CLEANUP(buf_release) struct buf names = BUF_INIT(BUF_NO_LIMIT);
    struct store_goal g = make_goal(ID(1), GOAL_ACTIVE);
    struct store *s;

    (void)state;
    home_clear();
    s = open_store("sqlite");
    (void)ANSWER(store_goal_replace(s, &g, NOW, &(struct goal_event){.kind = STR("set")}, NULL,
                                    NULL, NULL, err));
    store_free(s);
    assert_int_equal(run_sql("SELECT name FROM pragma_table_info('thread_goals')", &names),
                     SQLITE_DONE);
    assert_string_equal(
        buf_cstr(&names),
        "thread_id,goal_id,objective,status,phase,phase_detail,token_budget,max_turns,"
        "max_cost_usd,deadline_ms,tokens_used,output_tokens,steps,time_used_seconds,cost_usd,"
        "cost_unknown,iterations,last_reason,checks,protect,baseline,options,memory,"
        "created_at_ms,updated_at_ms");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int code = run_sql(rows[i].sql, NULL);

        if (code != rows[i].want)
            fail_msg("%s: %d instead of %d", rows[i].sql, code, rows[i].want);
    }
}

/* A file of the second format, as the version before goals made it. */
static void test_older_format(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct store *s;

    (void)state;
    home_clear();
    assert_int_equal(
        run_sql("CREATE TABLE session(project TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,"
                " ai_title TEXT NOT NULL, cwd TEXT NOT NULL, branch TEXT NOT NULL,"
                " first_prompt TEXT NOT NULL, created_ms INTEGER NOT NULL,"
                " last_ms INTEGER NOT NULL, messages INTEGER NOT NULL, cost_usd REAL NOT NULL,"
                " size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,"
                " counted INTEGER NOT NULL, PRIMARY KEY(project, id)) WITHOUT ROWID;"
                "CREATE TABLE trust(dir TEXT PRIMARY KEY NOT NULL, trusted INTEGER NOT NULL,"
                " time_ms INTEGER NOT NULL) WITHOUT ROWID;"
                "CREATE TABLE prompt(number INTEGER PRIMARY KEY AUTOINCREMENT,"
                " project TEXT NOT NULL, text TEXT NOT NULL, time_ms INTEGER NOT NULL);"
                "CREATE INDEX prompt_of_project ON prompt(project, number);"
                "INSERT INTO trust VALUES('/old', 1, 3);"
                "INSERT INTO prompt VALUES(7, '-p', 'typed', 3);"
                "PRAGMA user_version=2",
                NULL),
        SQLITE_OK);
    s = open_store("sqlite");
    put(s, L, 10, 10);
    store_free(s);
    s = open_store("sqlite"); /* it is kept */
    {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        bool trusted = false;

        expect_status("kept", get(s, &arena).status, GOAL_BUDGET_LIMITED);
        assert_int_equal(ANSWER(store_trust_get(s, STR("/old"), &trusted, NULL, err)), 1);
        assert_true(trusted);
    }
    store_free(s);
    (void)run_sql("SELECT text FROM prompt UNION ALL SELECT user_version FROM pragma_user_version",
                  &text);
    assert_string_equal(buf_cstr(&text), "typed,4");
}

UNIT_TEST(goal_lists)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_older_format),
    };

    return cmocka_run_group_tests(tests, goals_setup, home_teardown);
}
