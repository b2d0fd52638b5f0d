/*
 * The queue as steps of those who push, read and take; and all of them at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/input.h"
#include "base/err.h"
#include "llm/message.h"
#include "sync/thread.h"
#include "unit.h"

static struct agent_input say(const char *id, enum input_when when)
{
    struct agent_input in = {.message = message_user_text(str_of(id)), .when = when};

    snprintf(in.uuid, sizeof(in.uuid), "%s", id);
    return in;
}

/* What the queue lists: "a b c". */
static void expect(struct inputs *q, enum inputs_which which, const char *want)
{
    CLEANUP(strv_release) struct strv ids = STRV_INIT;
    CLEANUP(strv_release) struct strv texts = STRV_INIT;
    char got[200] = "";

    inputs_list(q, which, &ids, &texts);
    for (size_t i = 0; i < ids.len; i++) {
        assert_string_equal(ids.ptr[i], texts.ptr[i]);
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "", ids.ptr[i]);
    }
    assert_string_equal(got, want);
}

static void push(struct inputs *q, const char *id)
{
    struct agent_input in = say(id, INPUT_LATER);
    struct err err = {0};

    assert_int_equal(inputs_push(q, &in, &err), 0);
}

static void put(struct inputs *q, const char *id, enum input_when when)
{
    struct agent_input in = say(id, when);

    inputs_put(q, &in);
}

/* A letter is a step: P id: pushed and unread. W id, N id, X id: put, to wait for a turn, for a
 * step, to interrupt. c: claimed; p: passed on; r: run; d: done; u: unread again. B id: taken back,
 * of which ! says that it was not there. n, b: the agent takes the next for a turn, between two
 * steps. k: what it has taken is put back. D: what waits is dropped. R id: is unread again. */
static const struct {
    const char *steps;
    const char *unread, *waiting;
} rows[] = {
    {"Pa Pb Pc", "a b c", ""},
    {"Pa Pb c p", "b", "a"},
    {"Pa Pb c r", "b", ""}, /* a command at work: neither unread nor waiting */
    {"Pa Pb c r d c p", "", "b"},
    {"Pa Pb c u", "a b", ""},
    {"Wa Nb Xc", "", "c a b"},
    {"Pa Wb", "a", "b"}, /* messages of a command do not wait for unread input */
    {"Wa Wb n", "", "b"},
    {"Wa Nb b", "", "a"},
    {"Wa Wb n k", "", "a b"},
    {"Wa Wb Xc n k", "", "c a b"},
    {"Xa Wb n Xc k", "", "c a b"},
    {"Wa n D !k", "", ""}, /* dropped while it was taken */
    {"Wa Wb D", "", ""},
    {"Pa Wb D", "a", ""},
    {"Pa Pb Ba", "b", ""},
    {"Wa Wb Bb", "", "a"},
    {"Pa c Ba !p d", "", ""}, /* taken back while its reader looks at it */
    {"Pa c Ba !r d", "", ""},
    {"Pa c Ba u", "", ""},
    {"Pa c r !Ba", "", ""}, /* it runs */
    {"Pa !Bb", "a", ""},
    {"Pc Wa Wb Rb", "b c", "a"},
    {"Wa !Rb", "", "a"},
};

static void run_step(struct inputs *q, const char *step, struct agent_input **claimed,
                     struct agent_input *taken)
{
    bool want = step[0] != '!';
    const char *what = want ? step : step + 1;
    struct agent_input in = {0};
    struct str id = str_of(what + 1);

    switch (what[0]) {
    case 'P':
        push(q, what + 1);
        return;
    case 'W':
        put(q, what + 1, INPUT_LATER);
        return;
    case 'N':
        put(q, what + 1, INPUT_NEXT);
        return;
    case 'X':
        put(q, what + 1, INPUT_NOW);
        return;
    case 'c':
        *claimed = inputs_claim(q, /*only_orders=*/false, /*settled=*/true);
        assert_non_null(*claimed);
        assert_null(
            inputs_claim(q, /*only_orders=*/false, /*settled=*/true)); /* one reader at a time */
        assert_false(inputs_is_clear(q));
        return;
    case 'p':
        assert_int_equal(inputs_pass(q, *claimed, /*kept=*/false), want);
        return;
    case 'r':
        assert_int_equal(inputs_run(q, *claimed), want);
        return;
    case 'd':
        inputs_done(q, *claimed);
        return;
    case 'u':
        inputs_unread(q, *claimed);
        return;
    case 'B':
        assert_int_equal(inputs_take_back(q, id, &in), want);
        agent_input_release(&in);
        return;
    case 'n':
        assert_true(inputs_next(q, /*between=*/false, taken));
        assert_false(inputs_rests(q));
        return;
    case 'b':
        assert_true(inputs_next(q, /*between=*/true, taken));
        return;
    case 'k':
        assert_int_equal(inputs_put_back(q, taken), want);
        return;
    case 'D':
        inputs_drop(q, INPUTS_WAITING);
        return;
    case 'R':
        assert_int_equal(inputs_return(q, id, &in), want);
        return;
    default:
        fail_msg("no such step: %s", step);
    }
}

static void order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct inputs *q = inputs_new();
        struct agent_input *claimed = NULL;
        struct agent_input taken = {0};
        struct str rest = str_of(rows[i].steps);
        struct str step;

        print_message("%s\n", rows[i].steps);
        while (rest.len && str_cut(&rest, ' ', &step)) {
            char text[20];

            snprintf(text, sizeof(text), "%.*s", STR_ARG(step));
            run_step(q, text, &claimed, &taken);
        }
        expect(q, INPUTS_UNREAD, rows[i].unread);
        expect(q, INPUTS_WAITING, rows[i].waiting);
        agent_input_release(&taken);
        inputs_free(q);
    }
}

/* Notes wait beside prompts, and are for the agent that is there now. */
static void notes(void **state)
{
    struct inputs *q = inputs_new();
    struct agent_input in;

    (void)state;
    inputs_note(q, INPUT_BY_HOOK, STR(""), STR("quiet"), /*wakes=*/false);
    assert_false(inputs_is_woken(q));
    assert_true(inputs_rests(q));
    push(q, "a");
    inputs_note(q, INPUT_BY_TASK, STR("bash_1"), STR("done"), /*wakes=*/true);
    assert_true(inputs_is_woken(q));
    expect(q, INPUTS_ALL, "a");
    assert_true(inputs_next_note(q, &in));
    assert_true(str_is(in.message->blocks[0].text, "quiet"));
    agent_input_release(&in);
    assert_true(inputs_take_back(q, STR("bash_1"), &in));
    assert_int_equal(in.origin, INPUT_BY_TASK);
    agent_input_release(&in);
    assert_false(inputs_next_note(q, &in));
    inputs_note(q, INPUT_BY_TASK, STR("bash_2"), STR("done"), /*wakes=*/true);
    put(q, "b", INPUT_LATER);
    inputs_leave(q);
    assert_false(inputs_is_woken(q));
    expect(q, INPUTS_ALL, "a"); /* unread: for the session that comes */
    inputs_free(q);
}

static void limits(void **state)
{
    struct inputs *q = inputs_new();
    struct agent_input in = say("one too many", INPUT_LATER);
    struct err err = {0};

    (void)state;
    for (int i = 0; i < INPUTS_MAX; i++)
        push(q, "x");
    assert_int_equal(inputs_push(q, &in, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_null(in.message); /* taken */
    inputs_hold(q, true);
    assert_null(inputs_claim(q, /*only_orders=*/false, /*settled=*/true));
    inputs_hold(q, false);
    assert_non_null(inputs_claim(q, /*only_orders=*/false, /*settled=*/true));
    inputs_free(q);
}

/* Many push, a reader passes on, the agent takes, others take back: each input is seen once. */
#define EACH 500

static void pusher(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        char id[40];

        snprintf(id, sizeof(id), "%p-%d", (void *)&id, i);
        push(arg, id);
        if (i % 2) {
            struct agent_input in = {0};

            if (inputs_take_back(arg, str_of(id), &in)) {
                agent_input_release(&in);
                put(arg, id, INPUT_LATER);
            }
        }
    }
}

static void reader(void *arg)
{
    struct agent_input *in;

    for (int i = 0; i < 4 * EACH; i++) {
        in = inputs_claim(arg, /*only_orders=*/false, /*settled=*/true);
        if (in && !inputs_pass(arg, in, /*kept=*/false))
            inputs_done(arg, in);
    }
}

static void at_once(void **state)
{
    struct inputs *q = inputs_new();
    struct thread *threads[6];
    struct agent_input in;
    int seen = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("t", i < 3 ? pusher : reader, q, /*err=*/NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    for (struct agent_input *c = inputs_claim(q, false, true); c; c = inputs_claim(q, false, true))
        assert_true(inputs_pass(q, c, /*kept=*/false));
    for (; inputs_next(q, /*between=*/false, &in); seen++)
        agent_input_release(&in);
    assert_int_equal(seen, 3 * EACH);
    inputs_free(q);
}

UNIT_TEST(input)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(notes),
        cmocka_unit_test(limits),
        cmocka_unit_test(at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
