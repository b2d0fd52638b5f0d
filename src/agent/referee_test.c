/* referee: links of one chain, each with the same contract; the outermost decides last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/referee.h"
#include "base/err.h"
#include "unit.h"

/* A link that gives prepared answers, and records its calls: "a?" may it stop, "a<" sent back, "a."
 * the turn is over, "a!" before a call. */
struct link {
    struct referee referee; /* first */
    char name;
    struct buf *log;
    int may_stop, before_call;
    enum referee_idle idle;
    int64_t until_ms, most_wait_ms;
};

static void note(const struct referee *self, char what)
{
    const struct link *l = (const struct link *)self;

    buf_addf(l->log, "%c%c ", l->name, what);
}

static enum referee_idle link_idle(struct referee *self, struct agent_input *ret,
                                   int64_t *ret_until_ms)
{
    struct link *l = (struct link *)self;

    (void)ret;
    *ret_until_ms = l->until_ms;
    return l->idle;
}

static int link_before_call(struct referee *self, struct referee_call *ret)
{
    struct link *l = (struct link *)self;

    note(self, '!');
    buf_addf(&ret->tail, "%c", l->name);
    ret->most_wait_ms = l->most_wait_ms;
    return l->before_call;
}

static int link_may_stop(struct referee *self, const struct message *last, struct cancel *cancel,
                         struct referee_verdict *ret, struct err *err)
{
    struct link *l = (struct link *)self;

    (void)last;
    (void)cancel;
    note(self, '?');
    if (l->may_stop > 0)
        buf_addf(&ret->feedback, "%c objects", l->name);
    return l->may_stop < 0 ? err_set(err, ERR_IO, "cannot tell") : l->may_stop;
}

static void link_sent_back(struct referee *self)
{
    note(self, '<');
}

static void link_after_turn(struct referee *self, const struct referee_end *e)
{
    (void)e;
    note(self, '.');
}

static const struct {
    int answers[3]; /* from the innermost */
    int want;
    const char *log, *feedback;
} stop_rows[] = {
    {{0, 0, 0}, 0, "a? b? c? ", ""},          {{1, 0, 0}, 1, "a? ", "a objects"},
    {{0, 1, 0}, 1, "a? b? a< ", "b objects"}, {{0, 0, 1}, 1, "a? b? c? a< b< ", "c objects"},
    {{1, 1, 1}, 1, "a? ", "a objects"},       {{0, -1, 1}, -1, "a? b? ", ""},
};

static void chain_make(struct link links[3], struct buf *log)
{
    for (int i = 0; i < 3; i++) {
        links[i] = (struct link){
            .referee =
                {
                    .outer = i < 2 ? &links[i + 1].referee : NULL,
                    .idle = link_idle,
                    .before_call = link_before_call,
                    .may_stop = link_may_stop,
                    .sent_back = link_sent_back,
                    .after_turn = link_after_turn,
                },
            .name = (char)('a' + i),
            .log = log,
        };
    }
}

static void the_outermost_decides_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stop_rows); i++) {
        CLEANUP(buf_release) struct buf log = BUF_INIT(1000);
        CLEANUP(referee_verdict_release) struct referee_verdict v = REFEREE_VERDICT_INIT;
        struct link links[3];
        struct err err = {0};

        chain_make(links, &log);
        for (int k = 0; k < 3; k++)
            links[k].may_stop = stop_rows[i].answers[k];
        assert_int_equal(referee_may_stop(&links[0].referee, NULL, NULL, &v, &err),
                         stop_rows[i].want);
        assert_string_equal(buf_cstr(&log), stop_rows[i].log);
        assert_string_equal(buf_cstr(&v.feedback), stop_rows[i].feedback);
    }
}

static void each_link_speaks_before_a_call(void **state)
{
    CLEANUP(buf_release) struct buf log = BUF_INIT(1000);
    CLEANUP(referee_call_release) struct referee_call call = REFEREE_CALL_INIT;
    struct link links[3];

    (void)state;
    chain_make(links, &log);
    links[0].most_wait_ms = 500;
    links[1].most_wait_ms = 900;
    assert_int_equal(referee_before_call(&links[0].referee, &call), 0);
    assert_string_equal(buf_cstr(&call.tail), "abc");
    assert_int_equal(call.most_wait_ms, 500);
    links[1].before_call = 1;
    assert_int_equal(referee_before_call(&links[0].referee, &call), 1);
    referee_after_turn(&links[0].referee, &(struct referee_end){.end = END_CALLED_OFF});
    assert_string_equal(buf_cstr(&log), "a! b! c! a! b! a. b. c. ");
}

static const struct {
    enum referee_idle idle[3];
    int64_t until_ms[3];
    enum referee_idle want;
    int64_t want_ms;
} idle_rows[] = {
    {{IDLE_REST, IDLE_REST, IDLE_REST}, {0}, IDLE_REST, -1},
    {{IDLE_REST, IDLE_WAIT, IDLE_REST}, {0, 70, 0}, IDLE_WAIT, 70},
    {{IDLE_WAIT, IDLE_WAIT, IDLE_REST}, {90, 70, 0}, IDLE_WAIT, 70},
    {{IDLE_WAIT, IDLE_WAIT, IDLE_WAIT}, {-1, 70, -1}, IDLE_WAIT, 70},
    {{IDLE_WAIT, IDLE_TURN, IDLE_REST}, {90, 0, 0}, IDLE_TURN, 90},
};

static void the_first_that_has_work_gets_the_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(idle_rows); i++) {
        CLEANUP(buf_release) struct buf log = BUF_INIT(1000);
        struct link links[3];
        int64_t until_ms;

        chain_make(links, &log);
        for (int k = 0; k < 3; k++) {
            links[k].idle = idle_rows[i].idle[k];
            links[k].until_ms = idle_rows[i].until_ms[k];
        }
        assert_int_equal(referee_idle(&links[0].referee, NULL, &until_ms), idle_rows[i].want);
        assert_int_equal(until_ms, idle_rows[i].want_ms);
    }
}

/* Without a referee a turn ends when the model wants nothing more. */
static void no_link_at_all(void **state)
{
    CLEANUP(referee_call_release) struct referee_call call = REFEREE_CALL_INIT;
    CLEANUP(referee_verdict_release) struct referee_verdict v = REFEREE_VERDICT_INIT;
    struct referee deaf = {0};
    int64_t until_ms;

    (void)state;
    for (struct referee *r = NULL;; r = &deaf) {
        assert_int_equal(referee_idle(r, NULL, &until_ms), IDLE_REST);
        assert_int_equal(referee_before_call(r, &call), 0);
        assert_int_equal(referee_may_stop(r, NULL, NULL, &v, NULL), 0);
        assert_false(referee_ended_turn(r, NULL));
        if (r)
            break;
    }
}

UNIT_TEST(referee)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_decides_last),
        cmocka_unit_test(each_link_speaks_before_a_call),
        cmocka_unit_test(the_first_that_has_work_gets_the_turn),
        cmocka_unit_test(no_link_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
