/*
 * Agents without models: the spawner is played, an agent rests when the test says so. What happens
 * when two things meet: a stop and an end, two messages, a free slot and the next in the queue.
 */
#include "tasks/agents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/event.h"
#include "agent/spawn.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "store/scratch_check.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "sync/thread.h"
#include "unit.h"

#define MANY 1000
#define PATIENCE_MS 60000

struct played {
    char id[SPAWN_ID_LEN + 1];
    struct strv said;
    bool rests, was_stopped;
    void (*on_rest)(void *arg, const char *id);
    void *arg;
    int calls; /* of on_rest that have not returned */
};

static struct {
    struct spawner spawner;
    struct gate gate; /* of the following */
    VEC(struct played *) live;
    size_t most, begun;
    struct strv said; /* to all that have ended */
    struct strv notices;
    struct strv over;  /* tasks whose end was reported to all */
    bool ends_at_once; /* each rests as soon as it has begun */
    struct conf *conf;
    struct args args;
    struct workspace *workspace;
    struct permit *permit;
    struct task_table *tasks;
    struct crew *crew;
    struct agents *agents;
    int64_t input_ms; /* when input of the user came; -1: none waits */
} stage;

/* The gate is taken. */
static struct played *played(const char *id)
{
    VEC_EACH(&stage.live, it) {
        if (strcmp((*it)->id, id) == 0)
            return *it;
    }
    return NULL;
}

static int play_start(struct spawner *self, const struct spawn_spec *spec,
                      char ret_id[static SPAWN_ID_LEN + 1], struct err *err)
{
    struct played *p = mem_zalloc(sizeof(*p));
    bool is_double;

    (void)self;
    (void)err;
    snprintf(p->id, sizeof(p->id), "%s", spec->id);
    snprintf(ret_id, SPAWN_ID_LEN + 1, "%s", spec->id);
    strv_add(&p->said, spec->prompt);
    p->on_rest = spec->rests;
    p->arg = spec->arg;
    p->rests = stage.ends_at_once;
    gate_take(&stage.gate);
    is_double = played(p->id) != NULL;
    vec_push(&stage.live, p);
    stage.begun++;
    if (stage.live.len > stage.most)
        stage.most = stage.live.len;
    gate_give(&stage.gate);
    assert_false(is_double); /* or it would be run twice */
    if (stage.ends_at_once)
        spec->rests(spec->arg, spec->id);
    return 0;
}

static void play_end(struct spawn_end *ret)
{
    struct event *e = event_new(EVENT_TURN_DONE);
    struct turn_report *r = arena_zalloc(&e->arena, sizeof(*r));

    r->end = END_COMPLETED;
    r->result = STR("done");
    e->report = r;
    *ret = (struct spawn_end){.turn = e};
}

static int play_wait(struct spawner *self, const char *id, struct cancel *cancel,
                     struct spawn_end *ret, struct err *err)
{
    struct played *p;
    bool rests;

    (void)self;
    (void)cancel;
    gate_take(&stage.gate);
    p = played(id);
    rests = p && p->rests;
    gate_give(&stage.gate);
    if (!rests)
        return err_set(err, ERR_CANCELLED, "it works");
    play_end(ret);
    return 0;
}

static int play_send(struct spawner *self, const char *id, struct str text, enum input_when when,
                     struct err *err)
{
    struct played *p;

    (void)self;
    (void)when;
    gate_take(&stage.gate);
    p = played(id);
    if (p) {
        strv_add(&p->said, text);
        p->rests = false;
    }
    gate_give(&stage.gate);
    return p ? 0 : err_set(err, ERR_NOT_FOUND, "it is gone");
}

static int play_stop(struct spawner *self, const char *id, struct err *err)
{
    struct played *p;

    (void)self;
    gate_take(&stage.gate);
    p = played(id);
    if (p)
        p->rests = p->was_stopped = true;
    gate_give(&stage.gate);
    return p ? 0 : err_set(err, ERR_NOT_FOUND, "it is gone");
}

static int play_retire(struct spawner *self, const char *id, struct spawn_end *ret, struct err *err)
{
    struct played *p;
    bool rests;

    (void)self;
    gate_take(&stage.gate);
    p = played(id);
    while (p && p->calls) /* as a real one, it is not gone while it calls */
        gate_wait(&stage.gate, /*deadline_ms=*/-1);
    rests = p && p->rests;
    for (size_t i = 0; i < stage.live.len && rests; i++) {
        if (stage.live.ptr[i] == p)
            stage.live.ptr[i] = stage.live.ptr[--stage.live.len];
    }
    if (rests)
        strv_add_all(&stage.said, &p->said);
    gate_give(&stage.gate);
    if (!rests)
        return err_set(err, ERR_RETRY_LATER, "it works");
    strv_release(&p->said);
    mem_freep(&p);
    play_end(ret);
    return 0;
}

/* Its turn is over: false: it is not there. */
static bool rest(const char *id)
{
    void (*on_rest)(void *arg, const char *id) = NULL;
    struct played *p;
    void *arg = NULL;

    gate_take(&stage.gate);
    p = played(id);
    if (p) {
        p->rests = true;
        p->calls++;
        on_rest = p->on_rest;
        arg = p->arg;
    }
    gate_give(&stage.gate);
    if (!p)
        return false;
    on_rest(arg, id);
    gate_take(&stage.gate);
    p->calls--;
    gate_wake(&stage.gate);
    gate_give(&stage.gate);
    return true;
}

static void on_event(void *arg, struct event *e)
{
    (void)arg;
    gate_take(&stage.gate);
    if (e->kind == EVENT_TASK_DONE)
        strv_add(&stage.over, e->id);
    gate_give(&stage.gate);
    event_unref(e);
}

static void on_notice(void *arg, const char *owner, const struct task_view *v, struct str text,
                      bool is_quiet)
{
    (void)arg, (void)owner, (void)text;
    if (is_quiet)
        return;
    gate_take(&stage.gate);
    strv_adds(&stage.notices, v->id);
    gate_give(&stage.gate);
}

static int64_t play_input(void *arg)
{
    (void)arg;
    return stage.input_ms;
}

static void begin(const char *at_once)
{
    static char variables[4][600];
    static char *env[] = {variables[0], variables[1], variables[2], variables[3], NULL};
    struct conf_sources from = {.dir = scratch_path, .etc = scratch_path, .environ = env};
    struct task_listener listener = {on_event, on_notice, NULL};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct agents_spec spec;
    struct err err = {0};

    scratch_make();
    snprintf(variables[0], sizeof(variables[0]), "HOME=%s", scratch_dir());
    snprintf(variables[1], sizeof(variables[1]), "TENAX_HOME=%s", scratch_dir());
    snprintf(variables[2], sizeof(variables[2]), "TENAX_MAX_CONCURRENT_SUBAGENTS=%s", at_once);
    snprintf(variables[3], sizeof(variables[3]), "TENAX_MAX_SUBAGENTS_PER_SESSION=5000");
    memset(&stage, 0, sizeof(stage));
    stage.input_ms = -1;
    gate_init(&stage.gate);
    stage.spawner = (struct spawner){.start = play_start,
                                     .wait = play_wait,
                                     .send = play_send,
                                     .stop = play_stop,
                                     .retire = play_retire};
    from.args = &stage.args;
    if (conf_load(&from, &stage.conf, &err) < 0)
        fail_msg("%s", err.text);
    stage.workspace = workspace_new(scratch_dir(), scratch_dir(), env);
    if (permit_new(stage.conf, stage.workspace, &warnings, &stage.permit, &err) < 0)
        fail_msg("%s", err.text);
    stage.tasks = task_table_new();
    task_table_listen(stage.tasks, &listener);
    stage.crew = crew_new();
    spec = (struct agents_spec){.conf = stage.conf,
                                .tasks = stage.tasks,
                                .spawner = &stage.spawner,
                                .crew = stage.crew,
                                .session = "11111111-2222-4333-8444-555555555555",
                                .folder = scratch_dir(),
                                .input_since = play_input};
    if (agents_new(&spec, &stage.agents, &err) < 0)
        fail_msg("%s", err.text);
}

static void end(void)
{
    agents_close(stage.agents);
    task_table_listen(stage.tasks, NULL);
    agents_free(stage.agents);
    crew_free(stage.crew);
    task_table_unref(stage.tasks);
    permit_free(stage.permit);
    workspace_unref(stage.workspace);
    conf_unref(stage.conf);
    args_release(&stage.args);
    VEC_EACH(&stage.live, it) {
        strv_release(&(*it)->said);
        mem_freep(it);
    }
    vec_release(&stage.live);
    strv_release(&stage.said);
    strv_release(&stage.notices);
    strv_release(&stage.over);
    gate_release(&stage.gate);
    scratch_remove();
}

static int start_by(const char *by, const char *name, bool background, char *ret_id,
                    struct err *err)
{
    CLEANUP(agents_outcome_release) struct agents_outcome outcome = {0};
    struct identity who = {.agent = by};
    struct agents_order order = {.by = &who,
                                 .permit = stage.permit,
                                 .workspace = stage.workspace,
                                 .description = STR("work"),
                                 .prompt = STR("begin"),
                                 .name = str_of(name),
                                 .in_background = background};

    if (agents_start(stage.agents, &order, &outcome, err) < 0)
        return -1;
    if (ret_id)
        memcpy(ret_id, outcome.id, sizeof(outcome.id));
    return 0;
}

static void start(const char *name, bool background, char *ret_id)
{
    struct err err = {0};

    if (start_by(IDENTITY_MAIN, name, background, ret_id, &err) < 0)
        fail_msg("%s", err.text);
}

static int message(const char *to, const char *text, bool *ret_resumed)
{
    struct identity who = {.agent = IDENTITY_MAIN};
    struct agents_note note = {.by = &who,
                               .permit = stage.permit,
                               .workspace = stage.workspace,
                               .to = str_of(to),
                               .text = str_of(text)};
    char id[TASK_ID_MAX + 1];
    struct err err = {0};

    return agents_message(stage.agents, &note, ret_resumed, id, &err);
}

/* Until nothing of it is left here, either. */
static void await_alone(void)
{
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
    size_t n = 1;

    while (n && clock_mono_ms() < until_ms) {
        gate_take(&stage.gate);
        n = stage.live.len;
        gate_give(&stage.gate);
        (void)cancel_wait(NULL, n ? 1 : 0, NULL);
    }
    assert_int_equal(n, 0);
}

static size_t count_of(const struct strv *list, const char *wanted);

/* Until it has ended so often, and all were notified. */
static void await_ends(const char *id, size_t times)
{
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;

    while (count_of(&stage.over, id) < times && clock_mono_ms() < until_ms)
        (void)cancel_wait(NULL, 1, NULL);
    assert_int_equal(count_of(&stage.over, id), times);
}

static void await_over(const char *id)
{
    await_ends(id, 1);
}

static size_t count_of(const struct strv *list, const char *wanted)
{
    size_t n = 0;

    gate_take(&stage.gate);
    for (size_t i = 0; i < list->len; i++)
        n += strstr(list->ptr[i], wanted) != NULL;
    gate_give(&stage.gate);
    return n;
}

static enum task_state state_of(const char *id)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;

    assert_true(task_look(stage.tasks, str_of(id), &arena, &v));
    return v.state;
}

/* ---- Messages ---- */

#define SENDERS 8

static void send_one(void *arg)
{
    bool resumed;

    assert_int_equal(message("worker", arg, &resumed), 0);
}

/* All at once to one that has ended: it is resumed once, and has them all. */
static void resumed_once(void **state)
{
    struct thread *threads[SENDERS];
    char words[SENDERS][40];
    char id[TASK_ID_MAX + 1];
    struct err err = {0};

    (void)state;
    begin("20");
    start("worker", true, id);
    for (int round = 0; round < 20; round++) {
        CLEANUP(mem_freep) char *folder = path_join(scratch_dir(), "subagents");

        assert_true(rest(id));
        await_ends(id, (size_t)round + 1);
        await_alone();
        assert_int_equal(count_of(&stage.notices, id), (size_t)round + 1);
        if (round == 0) { /* a conversation to resume, which the played spawner does not keep */
            CLEANUP(buf_release) struct buf path = BUF_INIT(1000);

            buf_addf(&path, "%s/agent-%s.jsonl", folder, id);
            assert_int_equal(file_replace(buf_cstr(&path), STR("{}\n"), 0600, &err), 0);
        }
        for (int i = 0; i < SENDERS; i++) {
            snprintf(words[i], sizeof(words[i]), "word %d-%d.", round, i);
            threads[i] = thread_start("sender", send_one, words[i], &err);
            assert_non_null(threads[i]);
        }
        for (int i = 0; i < SENDERS; i++)
            thread_join(threads[i]);
    }
    assert_true(rest(id));
    await_ends(id, 21);
    await_alone();
    assert_int_equal(stage.begun, 21);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < SENDERS; i++) {
            snprintf(words[i], sizeof(words[i]), "word %d-%d.", round, i);
            assert_int_equal(count_of(&stage.said, words[i]), 1);
        }
    }
    end();
}

/* One whose starter has ended is not resumed, and keeps what it has said. */
static void orphan(void **state)
{
    char parent[TASK_ID_MAX + 1], child[TASK_ID_MAX + 1];
    CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
    struct err err = {0};
    bool resumed;

    (void)state;
    begin("4");
    start("parent", true, parent);
    assert_int_equal(start_by(parent, "child", true, child, &err), 0);
    while (!rest(child))
        (void)cancel_wait(NULL, 1, NULL);
    await_over(child);
    while (!rest(parent))
        (void)cancel_wait(NULL, 1, NULL);
    await_over(parent);
    await_alone();
    buf_addf(&path, "%s/subagents/agent-%s.jsonl", scratch_dir(), child);
    assert_int_equal(file_replace(buf_cstr(&path), STR("{}\n"), 0600, &err), 0);
    assert_int_equal(message("child", "once more", &resumed), -1);
    assert_int_equal(state_of(child), TASK_COMPLETED);
    assert_int_equal(stage.begun, 2);
    end();
}

/* One that waits for a slot has not ended, and is not waited for: it begins with the message. */
static void message_to_one_that_waits(void **state)
{
    char first[TASK_ID_MAX + 1], second[TASK_ID_MAX + 1];
    bool resumed;

    (void)state;
    begin("1");
    start("first", true, first);
    start("second", true, second);
    assert_int_equal(state_of(second), TASK_PENDING);
    assert_int_equal(message("second", "mind the gap", &resumed), 0);
    assert_false(resumed);
    assert_int_equal(count_of(&stage.said, "mind the gap"), 0);
    assert_true(rest(first));
    await_over(first);
    while (!rest(second))
        (void)cancel_wait(NULL, 1, NULL);
    await_over(second);
    await_alone();
    assert_int_equal(count_of(&stage.said, "mind the gap"), 1);
    assert_int_equal(stage.begun, 2);
    end();
}

/* A message as it ends: it is heard by the one that works, or by the one that is resumed. */
static void rest_one(void *arg)
{
    (void)rest(arg);
}

static void message_as_it_ends(void **state)
{
    (void)state;
    begin("20");
    for (int round = 0; round < 100; round++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
        char id[TASK_ID_MAX + 1], name[20];
        struct thread *ends;
        struct err err = {0};
        bool resumed;

        snprintf(name, sizeof(name), "n%d", round);
        start(name, true, id);
        buf_addf(&path, "%s/subagents/agent-%s.jsonl", scratch_dir(), id);
        assert_int_equal(file_replace(buf_cstr(&path), STR("{}\n"), 0600, &err), 0);
        ends = thread_start("rests", rest_one, id, &err);
        assert_int_equal(message(name, "late word", &resumed), 0);
        thread_join(ends);
        while (!task_is_over(state_of(id))) {
            (void)rest(id);
            (void)cancel_wait(NULL, 1, NULL);
        }
        await_alone();
    }
    assert_int_equal(count_of(&stage.said, "late word"), 100);
    end();
}

/* ---- Stopped ---- */

struct stopping {
    char id[TASK_ID_MAX + 1];
    int rc;
};

static void stop_one(void *arg)
{
    struct stopping *s = arg;
    struct err err = {0};

    s->rc = task_stop(stage.tasks, IDENTITY_MAIN, str_of(s->id), &err);
}

/* Who stops it learns whether that came in time; a report that was finished first is not lost. */
static void stop_meets_end(void **state)
{
    (void)state;
    begin("20");
    for (int round = 0; round < 200; round++) {
        struct stopping s = {.rc = 1};
        struct thread *t;
        struct err err = {0};

        start("", true, s.id);
        t = thread_start("stops", stop_one, &s, &err);
        assert_non_null(t);
        (void)rest(s.id);
        thread_join(t);
        await_over(s.id);
        await_alone();
        assert_int_equal(state_of(s.id), s.rc == 0 ? TASK_KILLED : TASK_COMPLETED);
        assert_int_equal(count_of(&stage.notices, s.id), s.rc == 0 ? 0 : 1);
    }
    end();
}

/* A stopped one starts no more, which would never be stopped. */
static void stopped_starts_none(void **state)
{
    char id[TASK_ID_MAX + 1], below[TASK_ID_MAX + 1];
    struct err err = {0};

    (void)state;
    begin("20");
    start("parent", true, id);
    assert_int_equal(start_by(id, "below", true, below, &err), 0);
    assert_int_equal(task_stop(stage.tasks, NULL, str_of(id), &err), 0);
    if (start_by(id, "late", true, NULL, &err) == 0)
        assert_true(task_is_over(state_of(id))); /* its end was faster: then main's */
    else
        assert_int_equal(err.code, ERR_CANCELLED);
    await_over(id);
    await_over(below);
    assert_int_equal(state_of(below), TASK_KILLED);
    end();
}

/* ---- Slots ---- */

static void start_hundred(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        start("", false, NULL);
}

/* A slot that becomes free while another one is about to wait for it. */
static void no_slot_is_lost(void **state)
{
    struct thread *threads[4];
    struct err err = {0};

    (void)state;
    begin("1");
    stage.ends_at_once = true;
    for (int i = 0; i < 4; i++) {
        threads[i] = thread_start("starts", start_hundred, NULL, &err);
        assert_non_null(threads[i]);
    }
    for (int i = 0; i < 4; i++)
        thread_join(threads[i]);
    await_alone();
    assert_int_equal(stage.begun, 400);
    assert_int_equal(stage.most, 1);
    end();
}

/* All begin and end, no more than may at a time, and each end is reported once. */
static void a_thousand(void **state)
{
    static char ids[MANY][TASK_ID_MAX + 1];

    (void)state;
    begin("20");
    stage.ends_at_once = true;
    for (int i = 0; i < MANY; i++)
        start("", true, ids[i]);
    for (int i = 0; i < MANY; i++)
        await_over(ids[i]);
    await_alone();
    assert_int_equal(stage.begun, MANY);
    assert_true(stage.most <= 20);
    assert_int_equal(stage.notices.len, MANY);
    end();
}

/* A user who has waited long enough gets the main agent back: what it waits for moves to the
 * background. */
static void input_moves_agents(void **state)
{
    char id[TASK_ID_MAX + 1];

    (void)state;
    begin("20");
    stage.input_ms = clock_mono_ms() - AGENTS_PATIENCE_MS;
    start("", /*background=*/false, id);
    assert_int_equal(state_of(id), TASK_RUNNING);
    assert_true(rest(id));
    await_over(id);
    await_alone();
    assert_int_equal(count_of(&stage.notices, id), 1);
    end();
}

UNIT_TEST(agents)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_once),
        cmocka_unit_test(orphan),
        cmocka_unit_test(message_to_one_that_waits),
        cmocka_unit_test(message_as_it_ends),
        cmocka_unit_test(stop_meets_end),
        cmocka_unit_test(stopped_starts_none),
        cmocka_unit_test(no_slot_is_lost),
        cmocka_unit_test(a_thousand),
        cmocka_unit_test(input_moves_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
