/*
 * What every backend of the goal store promises of a row, rule by rule, run once for each.
 */
#include "store/goals/test_goals.h"
#include "unit.h"

#include <math.h>

/* ---- Set and read ---- */

static void conform_replace(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal full = full_goal();
    struct store_goal bare = make_goal(ID(2), GOAL_PAUSED);
    struct store_goal sent = full;
    struct store_goal got = {.steps = 77};

    assert_int_equal(ANSWER(store_goal_get(s, T, &arena, &got, NULL, err)), 0);
    assert_int_equal(got.steps, 77); /* untouched */

    /* The caller does not set usage and times. */
    sent.objective = STR(" \tcaf\xc3\xa9's \"tests\" pass; DROP TABLE thread_goals \n");
    sent.tokens_used = sent.output_tokens = sent.steps = sent.time_used_seconds = 5;
    sent.iterations = 5;
    sent.cost_usd = 0.5;
    sent.cost_unknown = true;
    sent.created_at_ms = sent.updated_at_ms = 5;
    got = replace(s, &sent, &arena);
    expect_goal(&got, &full);
    got = get(s, &arena);
    expect_goal(&got, &full);

    /* Nothing of the old one stays. */
    assert_int_equal(charge(s,
                            (struct goal_charge){.seconds = 1,
                                                 .tokens = 2,
                                                 .output_tokens = 3,
                                                 .steps = 4,
                                                 .cost_usd = 0.5,
                                                 .cost_unknown = true},
                            &arena, &got),
                     1);
    assert_int_equal(update(s, (struct goal_update){.add_iterations = 3}, &arena, &got), 1);
    assert_int_equal(got.iterations, 3);
    assert_int_equal(ANSWER(store_goal_replace(s, &bare, NOW + 9, NULL, &arena, &got, NULL, err)),
                     0);
    bare.created_at_ms = bare.updated_at_ms = NOW + 9;
    expect_goal(&got, &bare);

    /* A caller that does not want the row passes NULL. */
    assert_int_equal(ANSWER(store_goal_replace(s, &full, NOW, NULL, NULL, NULL, NULL, err)), 0);
    got = get(s, &arena);
    expect_goal(&got, &full);
}

/* A deadline that has passed is a limit that is reached, whatever else. */
static void conform_replace_late(struct store *s)
{
    static const struct {
        enum goal_status status;
        int64_t deadline_ms;
        enum goal_status want;
    } rows[] = {
        {A, 0, A}, {A, NOW + 1, A}, {A, NOW, L}, {A, 1, L}, {P, 1, P}, {C, 1, C}, {L, 0, L},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct store_goal g = make_goal(ID(1), rows[i].status);
        char row[40];

        snprintf(row, sizeof(row), "row %zu", i);
        g.deadline_ms = rows[i].deadline_ms;
        expect_status(row, replace(s, &g, &arena).status, rows[i].want);
    }
}

static void conform_insert(struct store *s)
{
    static const bool done[GOAL_STATUS_COUNT] = {[C] = true};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal new = make_goal(ID(2), GOAL_ACTIVE);
    struct store_goal got = {0};

    (void)ANSWER(store_goal_delete(s, T, STR(""), NOW, NULL, &arena, &got, NULL, err));
    assert_int_equal(ANSWER(store_goal_insert(s, &new, NOW, NULL, &arena, &got, NULL, err)), 1);
    expect_str("goal_id", got.goal_id, STR(ID(2)));
    for (enum goal_status status = 0; status < GOAL_STATUS_COUNT; status++) {
        put(s, status, 10, 0);
        if (ANSWER(store_goal_insert(s, &new, NOW, NULL, &arena, &got, NULL, err)) != done[status])
            fail_msg("insert over %s", goal_status_name(status));
        expect_str("goal_id", got.goal_id, done[status] ? STR(ID(2)) : STR(ID(1)));
        assert_int_equal(got.tokens_used, done[status] ? 0 : 10);
        expect_status("insert", got.status, done[status] ? GOAL_ACTIVE : status);
    }
}

/* ---- Update ---- */

/* [spent][from][to]: where it lands. No goal is active and spent. */
static const enum goal_status landing[2][GOAL_STATUS_COUNT][GOAL_STATUS_COUNT] = {
    {
        [A] = {A, P, B, U, L, C},
        [P] = {A, P, B, U, L, C},
        [B] = {A, P, B, U, L, C},
        [U] = {A, P, B, U, L, C},
        [L] = {A, L, L, U, L, C},
        [C] = {A, P, B, U, L, C},
    },
    {
        [P] = {L, P, B, U, L, C},
        [B] = {L, P, B, U, L, C},
        [U] = {L, P, B, U, L, C},
        [L] = {L, L, L, U, L, C},
        [C] = {L, P, B, U, L, C},
    },
};

static void conform_update_status(struct store *s)
{
    for (int spent = 0; spent < 2; spent++) {
        for (enum goal_status from = spent; from < GOAL_STATUS_COUNT; from++) {
            for (enum goal_status to = 0; to < GOAL_STATUS_COUNT; to++) {
                CLEANUP(arena_release) struct arena arena = ARENA_INIT;
                struct store_goal got = {0};
                char row[80];

                snprintf(row, sizeof(row), "%s from %s to %s", spent ? "spent" : "unspent",
                         goal_status_name(from), goal_status_name(to));
                put(s, from, 100, spent ? 100 : 101);
                assert_int_equal(
                    update(s, (struct goal_update){.has_status = true, .status = to}, &arena, &got),
                    1);
                expect_status(row, got.status, landing[spent][from][to]);
                expect_status(row, get(s, &arena).status, landing[spent][from][to]);
            }
        }
    }
}

/* Unnamed fields stay. Each field is changed alone. */
static void conform_update_fields(struct store *s)
{
    static const struct str new = STR_INIT("new");
    static const struct {
        struct goal_update u;
        size_t offset; /* of the text that becomes new; 0: none */
    } rows[] = {
        {{.from = 0}, 0},
        {{.objective = &new}, offsetof(struct store_goal, objective)},
        {{.phase = &new}, offsetof(struct store_goal, phase)},
        {{.phase_detail = &new}, offsetof(struct store_goal, phase_detail)},
        {{.last_reason = &new}, offsetof(struct store_goal, last_reason)},
        {{.checks = &new}, offsetof(struct store_goal, checks)},
        {{.protect = &new}, offsetof(struct store_goal, protect)},
        {{.baseline = &new}, offsetof(struct store_goal, baseline)},
        {{.options = &new}, offsetof(struct store_goal, options)},
        {{.memory = &new}, offsetof(struct store_goal, memory)},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct store_goal want = full_goal();
        struct store_goal got;

        got = replace(s, &want, &arena);
        assert_int_equal(update(s, rows[i].u, &arena, &got), 1);
        want.updated_at_ms = NOW + 1;
        if (rows[i].offset)
            memcpy((char *)&want + rows[i].offset, &new, sizeof(new));
        expect_goal(&got, &want);
    }
}

static void conform_update_empties(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal got = full_goal();
    struct str none = STR("");
    struct str spaced = STR("  spaced out\n");

    got = replace(s, &got, &arena);
    assert_int_equal(update(s,
                            (struct goal_update){
                                .objective = &spaced, .phase_detail = &none, .last_reason = &none},
                            &arena, &got),
                     1);
    expect_str("objective", got.objective, STR("spaced out"));
    expect_str("phase", got.phase, STR("working"));
    expect_str("phase_detail", got.phase_detail, STR(""));
    expect_str("last_reason", got.last_reason, STR(""));
    expect_str("goal_id", got.goal_id, STR(ID(7))); /* an edit keeps it */
    assert_int_equal(got.token_budget, 500000);
}

static void conform_update_refused(struct store *s)
{
    static const struct {
        struct goal_update u;
        int want;
    } rows[] = {
        {{.expected_goal_id = STR_INIT(ID(1))}, 1},
        {{.expected_goal_id = STR_INIT(ID(2))}, 0},
        {{.expected_goal_id = STR_INIT("0")}, 0},
        {{.from = 1 << A}, 0},
        {{.from = 1 << P}, 1},
        {{.from = 1 << A | 1 << P}, 1},
        {{.from = 0x3f & ~(1 << P)}, 0},
        {{.from = 1 << P, .expected_goal_id = STR_INIT(ID(2))}, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct goal_update u = rows[i].u;
        struct store_goal before, got = {0};

        put(s, P, 10, 20);
        before = get(s, &arena);
        u.has_status = true;
        u.status = GOAL_COMPLETE;
        u.token_budget = (struct goal_limit_change){CHANGE_CLEAR, 0};
        if (update(s, u, &arena, &got) != rows[i].want)
            fail_msg("row %zu: not %d", i, rows[i].want);
        if (rows[i].want)
            expect_status("update", got.status, GOAL_COMPLETE);
        else
            expect_goal(&got, &before);
    }
}

static void conform_none(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal got = full_goal();

    put(s, A, 0, 0);
    assert_int_equal(
        ANSWER(store_goal_delete(s, T, STR(ID(2)), NOW, NULL, &arena, &got, NULL, err)), 0);
    expect_str("goal_id", got.goal_id, STR(ID(1)));
    assert_int_equal(
        ANSWER(store_goal_delete(s, T, STR(ID(1)), NOW, NULL, &arena, &got, NULL, err)), 1);
    expect_str("goal_id", got.goal_id, STR(ID(1)));
    for (int i = 0; i < 5; i++) {
        got = full_goal();
        if (i == 0)
            assert_int_equal(
                ANSWER(store_goal_delete(s, T, STR(""), NOW, NULL, &arena, &got, NULL, err)), 0);
        else if (i == 1)
            assert_int_equal(update(s, (struct goal_update){0}, &arena, &got), 0);
        else if (i == 2)
            assert_int_equal(charge(s, (struct goal_charge){.tokens = 1}, &arena, &got), 0);
        else if (i == 3)
            assert_int_equal(charge(s, (struct goal_charge){0}, &arena, &got), 0);
        else
            assert_int_equal(
                ANSWER(store_goal_pause_active(s, T, NOW, NULL, &arena, &got, NULL, err)), 0);
        assert_int_equal(got.thread_id.len, 0);
    }
    assert_int_equal(ANSWER(store_goal_get(s, T, &arena, &got, NULL, err)), 0);
}

static void conform_stops(struct store *s)
{
    static const struct {
        int paused, limited;
    } want[GOAL_STATUS_COUNT] = {[A] = {1, 1}, [L] = {0, 1}};

    for (enum goal_status from = 0; from < GOAL_STATUS_COUNT; from++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct store_goal got = {0};

        put(s, from, 0, 0);
        assert_int_equal(ANSWER(store_goal_pause_active(s, T, NOW, NULL, &arena, &got, NULL, err)),
                         want[from].paused);
        expect_status("pause_active", got.status, want[from].paused ? GOAL_PAUSED : from);
        put(s, from, 0, 0);
        assert_int_equal(
            ANSWER(store_goal_usage_limit_active(s, T, NOW, NULL, &arena, &got, NULL, err)),
            want[from].limited);
        expect_status("usage_limit_active", got.status,
                      want[from].limited ? GOAL_USAGE_LIMITED : from);
    }
}

/* ---- Limits: the same rules for all four ---- */

enum kind {
    TOKENS,
    TURNS,
    MONEY, /* in quarters of a dollar */
    TIME,  /* in ms from NOW; usage is the present */
    KIND_COUNT,
};

static void set_limit(struct goal_update *u, enum kind kind, enum goal_change what, int64_t n)
{
    if (kind == MONEY) {
        u->max_cost = what;
        u->max_cost_usd = (double)n / 4;
    } else if (kind == TIME) {
        u->deadline_ms = (struct goal_limit_change){what, what == CHANGE_SET ? NOW + n : n};
    } else {
        *(kind == TOKENS ? &u->token_budget : &u->max_turns) = (struct goal_limit_change){what, n};
    }
}

static int64_t get_limit(const struct store_goal *g, enum kind kind)
{
    const int64_t limits[] = {g->token_budget, g->max_turns, (int64_t)(g->max_cost_usd * 4),
                              g->deadline_ms ? g->deadline_ms - NOW : 0};

    return limits[kind];
}

static struct goal_charge make_charge(enum kind kind, int64_t n)
{
    struct goal_charge c = {.mode = CHARGE_ACTIVE_ONLY};

    if (kind == TURNS)
        c.steps = n;
    else if (kind == MONEY)
        c.cost_usd = (double)n / 4;
    else
        c.tokens = n;
    return c;
}

/* A goal in this status that has used so much of this limit (0: none). */
static void put_limited(struct store *s, enum kind kind, enum goal_status status, int64_t used,
                        int64_t limit)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal g = make_goal(ID(1), GOAL_ACTIVE);
    struct goal_charge c = make_charge(kind, used);
    struct goal_update u = {.has_status = true, .status = status};

    if (limit)
        set_limit(&u, kind, CHANGE_SET, limit);
    (void)replace(s, &g, &arena);
    assert_int_equal(ANSWER(store_goal_account(s, T, &c, NOW, NULL, &arena, &g, NULL, err)), 1);
    assert_int_equal(ANSWER(store_goal_update(s, T, &u, NOW, NULL, &arena, &g, NULL, err)), 1);
    expect_status("put", g.status, status);
}

#define NO_STATUS GOAL_STATUS_COUNT

static const struct limit_case {
    enum goal_status from;
    int64_t limit; /* 100 are used */
    enum goal_change what;
    int64_t value;
    enum goal_status to;
    int64_t want_limit;
    enum goal_status want;
} limit_cases[] = {
    {A, 200, CHANGE_KEEP, 0, NO_STATUS, 200, A},
    {A, 200, CHANGE_CLEAR, 0, NO_STATUS, 0, A},
    {A, 0, CHANGE_SET, 101, NO_STATUS, 101, A},
    {A, 0, CHANGE_SET, 100, NO_STATUS, 100, L}, /* at the limit is spent */
    {A, 200, CHANGE_SET, 99, NO_STATUS, 99, L},
    {A, 200, CHANGE_SET, 100, P, 100, P},
    {A, 200, CHANGE_ADD, 50, NO_STATUS, 250, A},
    {A, 0, CHANGE_ADD, 50, NO_STATUS, 0, A},      /* no limit stays none */
    {P, 200, CHANGE_SET, 100, NO_STATUS, 100, P}, /* stops nothing but an active one */
    {P, 200, CHANGE_SET, 100, A, 100, L},
    {P, 100, CHANGE_KEEP, 0, A, 100, L},
    {U, 100, CHANGE_ADD, 1, A, 101, A},
    {C, 200, CHANGE_SET, 50, NO_STATUS, 50, C},
    {C, 100, CHANGE_KEEP, 0, A, 100, L},
    {L, 100, CHANGE_SET, 200, NO_STATUS, 200, L}, /* raising alone wakes nothing */
    {L, 100, CHANGE_ADD, 200, NO_STATUS, 300, L},
    {L, 100, CHANGE_CLEAR, 0, NO_STATUS, 0, L},
    {L, 100, CHANGE_SET, 200, A, 200, A}, /* raise and resume */
    {L, 100, CHANGE_SET, 200, P, 200, L},
    {L, 100, CHANGE_ADD, 1, A, 101, A},
    {L, 50, CHANGE_ADD, 10, A, 110, A}, /* more than was used, not than was allowed */
    {L, 100, CHANGE_CLEAR, 0, A, 0, A},
    {L, 100, CHANGE_SET, 100, A, 100, L},
    {L, 100, CHANGE_KEEP, 0, A, 100, L},
};

static void conform_limits(struct store *s)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < ARRAY_LEN(limit_cases); i++) {
            const struct limit_case *c = &limit_cases[i];
            CLEANUP(arena_release) struct arena arena = ARENA_INIT;
            struct goal_update u = {.has_status = c->to != NO_STATUS, .status = c->to};
            struct store_goal got = {0};

            put_limited(s, kind, c->from, 100, c->limit);
            set_limit(&u, kind, c->what, c->value);
            assert_int_equal(
                ANSWER(store_goal_update(s, T, &u, NOW + 100, NULL, &arena, &got, NULL, err)), 1);
            if (get_limit(&got, kind) != c->want_limit || got.status != c->want)
                fail_msg("limit %d, row %zu: %s with %lld", (int)kind, i,
                         goal_status_name(got.status), (long long)get_limit(&got, kind));
        }
    }
}

/* Any change of a goal after its deadline detects it. */
static void conform_deadline(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str memory = STR("{}");
    struct goal_update u = {.memory = &memory};
    struct store_goal got = {0};

    put_limited(s, TIME, A, 1, 100);
    expect_status("get", get(s, &arena).status, GOAL_ACTIVE);
    assert_int_equal(ANSWER(store_goal_update(s, T, &u, NOW + 99, NULL, &arena, &got, NULL, err)),
                     1);
    expect_status("before", got.status, GOAL_ACTIVE);
    assert_int_equal(ANSWER(store_goal_account(s, T, &(struct goal_charge){0}, NOW + 100, NULL,
                                               &arena, &got, NULL, err)),
                     0);
    expect_status("a charge of nothing", got.status, GOAL_ACTIVE);
    assert_int_equal(ANSWER(store_goal_update(s, T, &u, NOW + 100, NULL, &arena, &got, NULL, err)),
                     1);
    expect_status("behind", got.status, GOAL_BUDGET_LIMITED);
}

/* ---- Account ---- */

/* [mode][status]: where a charge that reaches a limit lands; '-': it is not charged. */
static const char *const charged[] = {
    [CHARGE_ACTIVE_STATUS_ONLY] = "L-----",
    [CHARGE_ACTIVE_ONLY] = "L---L-",
    [CHARGE_ACTIVE_OR_COMPLETE] = "L---LC",
    [CHARGE_ACTIVE_OR_STOPPED] = "LLLLL-",
};

static void expect_charge(struct store *s, enum kind kind, enum goal_mode mode,
                          enum goal_status status, int64_t limit)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    char landing_place = charged[mode][status];
    bool reached = landing_place != '-';
    struct goal_charge c = make_charge(kind, 10);
    struct store_goal before, got = {0};
    enum goal_status want = status;

    put_limited(s, kind, status, 100, limit);
    before = get(s, &arena);
    c.mode = mode;
    if (limit && limit <= 110 && landing_place == 'L')
        want = GOAL_BUDGET_LIMITED;
    if (ANSWER(store_goal_account(s, T, &c, NOW + 110, NULL, &arena, &got, NULL, err)) != reached ||
        got.status != want)
        fail_msg("limit %d of %lld, mode %d, %s: lands as %s", (int)kind, (long long)limit,
                 (int)mode, goal_status_name(status), goal_status_name(got.status));
    if (reached) {
        before.status = want;
        before.tokens_used += c.tokens;
        before.steps += c.steps;
        before.cost_usd += c.cost_usd;
        before.updated_at_ms = NOW + 110;
    }
    expect_goal(&got, &before);
}

static void conform_modes(struct store *s)
{
    static const int64_t limits[] = {0, 111, 110, 109};

    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (enum goal_mode mode = 0; mode < ARRAY_LEN(charged); mode++) {
            for (enum goal_status status = 0; status < GOAL_STATUS_COUNT; status++) {
                for (size_t i = 0; i < ARRAY_LEN(limits); i++)
                    expect_charge(s, kind, mode, status, limits[i]);
            }
        }
    }
}

static void conform_account(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct goal_charge all = {.seconds = 1,
                                    .tokens = 20,
                                    .output_tokens = 300,
                                    .steps = 4000,
                                    .cost_usd = 0.25,
                                    .expected_goal_id = STR(ID(7))};
    struct goal_charge stale = all;
    struct goal_charge unknown = {.cost_unknown = true};
    struct store_goal g = full_goal();
    struct store_goal got = {0};

    g.max_turns = 8001;
    (void)replace(s, &g, &arena);
    g.updated_at_ms = NOW + 1;
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(charge(s, all, &arena, &got), 1);
        g.time_used_seconds += 1;
        g.tokens_used += 20;
        g.output_tokens += 300;
        g.steps += 4000;
        g.cost_usd += 0.25;
        expect_goal(&got, &g);
    }
    stale.expected_goal_id = STR(ID(8));
    assert_int_equal(charge(s, stale, &arena, &got), 0);
    expect_goal(&got, &g);
    assert_int_equal(charge(s, (struct goal_charge){0}, &arena, &got), 0);
    expect_goal(&got, &g);
    assert_int_equal(charge(s, (struct goal_charge){0}, NULL, NULL), 0);

    /* Once not known, never known again. */
    g.cost_unknown = true;
    assert_int_equal(charge(s, unknown, &arena, &got), 1);
    expect_goal(&got, &g);
    assert_int_equal(charge(s, (struct goal_charge){.seconds = 1}, &arena, &got), 1);
    assert_true(got.cost_unknown);
}

/* Counters and limits stay at the largest number there is. */
static void conform_most(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct goal_charge most = {.mode = CHARGE_ACTIVE_OR_STOPPED,
                                     .seconds = GOAL_MAX_NUMBER,
                                     .tokens = GOAL_MAX_NUMBER,
                                     .output_tokens = GOAL_MAX_NUMBER,
                                     .steps = GOAL_MAX_NUMBER,
                                     .cost_usd = (double)GOAL_MAX_NUMBER};
    struct store_goal got = make_goal(ID(1), GOAL_ACTIVE);
    struct goal_update u = {.add_iterations = GOAL_MAX_NUMBER, .has_status = true, .status = A};

    got.token_budget = GOAL_MAX_NUMBER;
    got = replace(s, &got, &arena);
    assert_int_equal(charge(s, (struct goal_charge){.tokens = GOAL_MAX_NUMBER - 1}, &arena, &got),
                     1);
    expect_status("one below", got.status, GOAL_ACTIVE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(charge(s, most, &arena, &got), 1);
        expect_status("most", got.status, GOAL_BUDGET_LIMITED);
        assert_int_equal(got.tokens_used, GOAL_MAX_NUMBER);
        assert_int_equal(got.output_tokens, GOAL_MAX_NUMBER);
        assert_int_equal(got.steps, GOAL_MAX_NUMBER);
        assert_int_equal(got.time_used_seconds, GOAL_MAX_NUMBER);
        expect_number("cost_usd", got.cost_usd, (double)GOAL_MAX_NUMBER);
    }
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        set_limit(&u, kind, CHANGE_SET, 1);
        assert_int_equal(update(s, u, &arena, &got), 1);
        set_limit(&u, kind, CHANGE_ADD, kind == MONEY ? GOAL_MAX_NUMBER - 3 : GOAL_MAX_NUMBER);
        assert_int_equal(update(s, u, &arena, &got), 1);
        if (get_limit(&got, kind) != (kind == MONEY  ? GOAL_MAX_NUMBER * 4
                                      : kind == TIME ? GOAL_MAX_NUMBER - NOW
                                                     : GOAL_MAX_NUMBER))
            fail_msg("limit %d: %lld", (int)kind, (long long)get_limit(&got, kind));
        set_limit(&u, kind, CHANGE_KEEP, 0);
        assert_int_equal(got.iterations, GOAL_MAX_NUMBER);
        expect_status("nothing is left", got.status, GOAL_BUDGET_LIMITED);
    }
}

/* ---- Bad input ---- */

static void conform_bad_goals(struct store *s)
{
    static char long_objective[GOAL_MAX_OBJECTIVE * 3 + 4];
    const struct store_goal ok = full_goal();
    const struct str big = str_make(big_text, sizeof(big_text));
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal rows[20];
    enum err_code codes[ARRAY_LEN(rows)];
    size_t n = 0;

    for (size_t i = 0; i <= GOAL_MAX_OBJECTIVE; i++)
        memcpy(long_objective + 3 * i, "\xe2\x82\xac", 3);
#define ROW(code, field, ...)                                                                      \
    rows[n] = ok;                                                                                  \
    rows[n].field = __VA_ARGS__;                                                                   \
    codes[n++] = ERR_##code
    ROW(BAD_INPUT, thread_id, STR(""));
    ROW(BAD_INPUT, goal_id, STR(""));
    ROW(BAD_INPUT, goal_id, STR("no uuid"));
    ROW(BAD_INPUT, objective, STR(""));
    ROW(BAD_INPUT, objective, STR(" \n\t "));
    ROW(BAD_INPUT, objective, STR("\xff"));
    ROW(TOO_BIG, objective, str_make(long_objective, (GOAL_MAX_OBJECTIVE + 1) * 3));
    ROW(BAD_INPUT, status, GOAL_STATUS_COUNT);
    ROW(BAD_INPUT, token_budget, -1);
    ROW(BAD_INPUT, token_budget, GOAL_MAX_NUMBER + 1);
    ROW(BAD_INPUT, token_budget, INT64_MIN);
    ROW(BAD_INPUT, max_turns, -1);
    ROW(BAD_INPUT, deadline_ms, -1);
    ROW(BAD_INPUT, max_cost_usd, -0.01);
    ROW(BAD_INPUT, max_cost_usd, (double)NAN);
    ROW(BAD_INPUT, max_cost_usd, (double)INFINITY);
    ROW(BAD_INPUT, max_cost_usd, 1e30);
    ROW(TOO_BIG, checks, big);
    ROW(TOO_BIG, memory, big);
    ROW(TOO_BIG, last_reason, big);
#undef ROW
    assert_int_equal(n, ARRAY_LEN(rows));
    put(s, C, 0, 0);
    for (size_t i = 0; i < n; i++) {
        struct store_goal got = {.steps = 77};
        struct err err = {0};

        if (store_goal_replace(s, &rows[i], NOW, NULL, &arena, &got, NULL, &err) != -1 ||
            err.code != codes[i])
            fail_msg("replace, row %zu: %s %s", i, err_code_name(err.code), err.text);
        if (store_goal_insert(s, &rows[i], NOW, NULL, &arena, &got, NULL, &err) != -1 ||
            err.code != codes[i])
            fail_msg("insert, row %zu: %s %s", i, err_code_name(err.code), err.text);
        assert_int_equal(got.steps, 77);
        expect_str("goal_id", get(s, &arena).goal_id, STR(ID(1)));
    }
    /* Just not too long. */
    rows[0] = ok;
    rows[0].objective = str_make(long_objective, GOAL_MAX_OBJECTIVE * 3);
    rows[0].protect = str_make(big_text, GOAL_MAX_TEXT);
    rows[0] = replace(s, &rows[0], &arena);
    assert_int_equal(rows[0].objective.len, GOAL_MAX_OBJECTIVE * 3);
    assert_int_equal(rows[0].protect.len, GOAL_MAX_TEXT);
}

static void conform_bad_updates(struct store *s)
{
    static const struct str none = STR_INIT(" ");
    const struct str big = str_make(big_text, sizeof(big_text));
    const struct {
        struct goal_update u;
        enum err_code code;
    } rows[] = {
        {{.token_budget = {CHANGE_SET, 0}}, ERR_BAD_INPUT},
        {{.token_budget = {CHANGE_SET, -5}}, ERR_BAD_INPUT},
        {{.token_budget = {CHANGE_SET, GOAL_MAX_NUMBER + 1}}, ERR_BAD_INPUT},
        {{.token_budget = {CHANGE_ADD, 0}}, ERR_BAD_INPUT},
        {{.max_turns = {CHANGE_SET, 0}}, ERR_BAD_INPUT},
        {{.max_turns = {CHANGE_ADD, INT64_MAX}}, ERR_BAD_INPUT},
        {{.deadline_ms = {CHANGE_SET, 0}}, ERR_BAD_INPUT},
        {{.max_cost = CHANGE_SET, .max_cost_usd = 0}, ERR_BAD_INPUT},
        {{.max_cost = CHANGE_ADD, .max_cost_usd = -1}, ERR_BAD_INPUT},
        {{.max_cost = CHANGE_SET, .max_cost_usd = (double)NAN}, ERR_BAD_INPUT},
        {{.add_iterations = -1}, ERR_BAD_INPUT},
        {{.has_status = true, .status = GOAL_STATUS_COUNT}, ERR_BAD_INPUT},
        {{.objective = &none}, ERR_BAD_INPUT},
        {{.memory = &big}, ERR_TOO_BIG},
        {{.phase = &big}, ERR_TOO_BIG},
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal before;

    put(s, A, 10, 20);
    before = get(s, &arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_goal got = {.steps = 77};
        struct err err = {0};

        if (store_goal_update(s, T, &rows[i].u, NOW, NULL, &arena, &got, NULL, &err) != -1 ||
            err.code != rows[i].code)
            fail_msg("row %zu: %s %s", i, err_code_name(err.code), err.text);
        assert_int_equal(got.steps, 77);
        got = get(s, &arena);
        expect_goal(&got, &before);
    }
}

static void conform_bad_charges(struct store *s)
{
    static const struct goal_charge rows[] = {
        {.seconds = -1},
        {.tokens = -1, .seconds = 5},
        {.output_tokens = INT64_MIN},
        {.steps = -1},
        {.cost_usd = -0.5},
        {.tokens = GOAL_MAX_NUMBER + 1},
        {.tokens = 1, .mode = CHARGE_ACTIVE_OR_STOPPED + 1},
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal before, got;
    struct err err = {0};

    put(s, A, 10, 20);
    before = get(s, &arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (store_goal_account(s, T, &rows[i], NOW, NULL, &arena, &got, NULL, &err) != -1 ||
            err.code != ERR_BAD_INPUT)
            fail_msg("row %zu: %s %s", i, err_code_name(err.code), err.text);
        got = get(s, &arena);
        expect_goal(&got, &before);
    }
    assert_int_equal(store_goal_account(s, T, &(struct goal_charge){.cost_usd = (double)NAN}, NOW,
                                        NULL, &arena, &got, NULL, &err),
                     -1);
    assert_int_equal(store_goal_pause_active(s, STR(""), NOW, NULL, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
}

static const conform_fn parts[] = {
    conform_replace,       conform_replace_late,   conform_insert,         conform_update_status,
    conform_update_fields, conform_update_empties, conform_update_refused, conform_none,
    conform_stops,         conform_limits,         conform_deadline,       conform_modes,
    conform_account,       conform_most,           conform_bad_goals,      conform_bad_updates,
    conform_bad_charges,
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

static void test_status_names(void **state)
{
    enum goal_status got = GOAL_BLOCKED;

    (void)state;
    assert_string_equal(goal_status_name(GOAL_USAGE_LIMITED), "usage_limited");
    assert_string_equal(goal_status_name(GOAL_STATUS_COUNT), "");
    for (enum goal_status s = 0; s < GOAL_STATUS_COUNT; s++) {
        assert_true(goal_status_parse(str_of(goal_status_name(s)), &got));
        assert_int_equal(got, s);
    }
    assert_false(goal_status_parse(STR("Active"), &got));
    assert_false(goal_status_parse(STR(""), &got));
    assert_int_equal(got, GOAL_COMPLETE);
}

UNIT_TEST(goals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names),
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, goals_setup, home_teardown);
}
