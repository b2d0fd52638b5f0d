/*
 * The registry: its entries, and that removing one leaves the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "hooks/registry.h"
#include "sync/thread.h"
#include "unit.h"

static struct hook_handler *prompt(const char *text, unsigned flags)
{
    return hook_handler_new(
        &(struct handler_spec){.type = HANDLER_PROMPT, .prompt = str_of(text), .flags = flags});
}

static struct hook_handler *command(const char *text)
{
    return hook_handler_new(
        &(struct handler_spec){.type = HANDLER_COMMAND, .command = str_of(text)});
}

static int nothing(void *arg, const struct hook_input *in, struct cancel *cancel,
                   struct buf *ret_reason, struct err *err)
{
    (void)arg;
    (void)in;
    (void)cancel;
    (void)ret_reason;
    (void)err;
    return 0;
}

static void count_free(void *arg)
{
    ++*(int *)arg;
}

static struct hook_handler *function(const char *id, int *freed)
{
    return hook_handler_new(&(struct handler_spec){.type = HANDLER_FUNCTION,
                                                   .id = str_of(id),
                                                   .fn = nothing,
                                                   .arg = freed,
                                                   .arg_free = count_free});
}

/* "Stop/m@root:a,b; …" */
static void show(struct hook_registry *r, struct buf *ret)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *s = hook_registry_get(r);

    buf_clear(ret);
    VEC_EACH(&s->entries, e) {
        buf_addf(ret, "%s/%s%s%s:", hook_event_name(e->event), e->matcher, e->skill_root ? "@" : "",
                 e->skill_root ? e->skill_root : "");
        VEC_EACH(&e->handlers, h) {
            buf_addf(ret, "%.*s,", STR_ARG(hook_handler_title(*h)));
        }
        buf_adds(ret, "; ");
    }
}

static void expect(struct hook_registry *r, const char *wanted)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    show(r, &text);
    assert_string_equal(buf_cstr(&text), wanted);
}

static void add(struct hook_registry *r, struct hook_entry where, struct hook_handler *h)
{
    assert_int_equal(hook_registry_add(r, &where, h, NULL), 0);
}

static void session_entries_are_found_again(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    struct hook_handler *a = command("a");
    struct hook_handler *b = command("b");
    struct hook_handler *c = command("c");
    struct hook_handler *d = command("d");
    struct hook_registry *fresh = hook_registry_new(HOOK_LIMIT_NONE);
    struct err err = {0};

    (void)state;
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = ""}, a);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .skill_root = "/s"}, b);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = ""}, c);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "x"}, d);
    add(r, (struct hook_entry){.event = HOOK_SUBAGENT_STOP, .matcher = ""}, a);
    expect(r, "Stop/:a,c,; Stop/@/s:b,; Stop/x:d,; SubagentStop/:a,; ");
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = ""}, a); /* once is enough */
    expect(r, "Stop/:c,a,; Stop/@/s:b,; Stop/x:d,; SubagentStop/:a,; ");

    assert_true(hook_registry_has(r, HOOK_STOP, a));
    assert_true(hook_registry_remove(r, HOOK_STOP, a));
    assert_false(hook_registry_has(r, HOOK_STOP, a));
    assert_true(hook_registry_has(r, HOOK_SUBAGENT_STOP, a));
    assert_false(hook_registry_remove(r, HOOK_STOP, a));
    expect(r, "Stop/:c,; Stop/@/s:b,; Stop/x:d,; SubagentStop/:a,; ");

    add(fresh, (struct hook_entry){.event = HOOK_STOP, .matcher = "y", .skill_root = "/s"}, b);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .skill_root = "/t"}, b);
    assert_int_equal(hook_registry_renew_skill(r, "/s", fresh, &err), 0);
    expect(r, "Stop/:c,; Stop/x:d,; SubagentStop/:a,; Stop/@/t:b,; Stop/y@/s:b,; ");

    assert_int_equal(hook_registry_remove_skill(r, "/s"), 1);
    assert_int_equal(hook_registry_remove_skill(r, "/s"), 0);
    assert_int_equal(hook_registry_remove_skill(r, "/t"), 1);
    expect(r, "Stop/:c,; Stop/x:d,; SubagentStop/:a,; ");
    hook_registry_free(fresh);
    hook_handler_unref(a);
    hook_handler_unref(b);
    hook_handler_unref(c);
    hook_handler_unref(d);
    hook_registry_free(r);
}

/* Setting and clearing a goal, again and again, beside everybody else's Stop hooks. */
static void a_goal_touches_nobody_else(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    struct hook_handler *others[] = {prompt("same words", 0), command("check"),
                                     prompt("same words", 0)};
    const struct hook_entry goal_place = {.event = HOOK_STOP, .matcher = ""};
    struct hook_handler *goal = NULL;

    (void)state;
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .source = HOOK_SETTINGS},
        others[0]);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .source = HOOK_MANAGED},
        others[1]);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .skill_root = "/skill"},
        others[2]);
    for (int i = 0; i < 3; i++) {
        struct hook_handler *next = prompt("same words", HANDLER_REFEREE);

        if (goal)
            assert_true(hook_registry_remove(r, HOOK_STOP, goal));
        hook_handler_unref(goal);
        goal = next;
        add(r, goal_place, goal);
        expect(r, "Stop/:same words,; Stop/:check,; Stop/@/skill:same words,; Stop/:same words,; ");
    }
    assert_true(hook_registry_remove(r, HOOK_STOP, goal));
    expect(r, "Stop/:same words,; Stop/:check,; Stop/@/skill:same words,; ");
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_true(hook_registry_has(r, HOOK_STOP, others[i]));
        hook_handler_unref(others[i]);
    }
    hook_handler_unref(goal);
    hook_registry_free(r);
}

/* A reader of the registry keeps the old set; a set without holders is freed. */
static void a_set_stays_as_it_was(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    const struct hook_set *then;
    struct hook_handler *h;
    int freed = 0;
    int freed_too = 0;

    (void)state;
    h = function("watch", &freed);
    add(r, place, h);
    hook_handler_unref(h);
    then = hook_registry_get(r);
    h = function("watch", &freed_too); /* the same id: takes its place */
    add(r, place, h);
    expect(r, "Stop/:watch,; ");
    assert_true(hook_registry_has(r, HOOK_STOP, h));
    assert_int_equal(freed, 0);
    assert_int_equal(then->entries.len, 1);
    assert_ptr_not_equal(then->entries.ptr[0].handlers.ptr[0], h);
    hook_set_unref(then);
    assert_int_equal(freed, 1);
    hook_handler_unref(h);
    hook_registry_free(r);
    assert_int_equal(freed_too, 1);
}

static const struct {
    enum hook_limit limit;
    enum hook_source source;
    enum hook_event event;
    const char *matcher;
    const char *subject;
    bool matches;
} match_rows[] = {
    {HOOK_LIMIT_NONE, HOOK_SETTINGS, HOOK_PRE_TOOL_USE, "Bash|Edit", "Edit", true},
    {HOOK_LIMIT_NONE, HOOK_SETTINGS, HOOK_PRE_TOOL_USE, "Bash|Edit", "MultiEdit", false},
    {HOOK_LIMIT_NONE, HOOK_SETTINGS, HOOK_PRE_TOOL_USE, "mcp__.*", "mcp__memory__x", true},
    {HOOK_LIMIT_NONE, HOOK_SETTINGS, HOOK_PRE_TOOL_USE, "", "Edit", true},
    {HOOK_LIMIT_NONE, HOOK_SETTINGS, HOOK_STOP, "no such thing", "", true}, /* nothing to match */
    {HOOK_LIMIT_MANAGED, HOOK_SETTINGS, HOOK_STOP, "", "", false},
    {HOOK_LIMIT_MANAGED, HOOK_SESSION, HOOK_STOP, "", "", false},
    {HOOK_LIMIT_MANAGED, HOOK_MANAGED, HOOK_STOP, "", "", true},
    {HOOK_LIMIT_DISABLED, HOOK_SETTINGS, HOOK_STOP, "", "", false},
    {HOOK_LIMIT_DISABLED, HOOK_SESSION, HOOK_STOP, "", "", false},
    {HOOK_LIMIT_DISABLED, HOOK_MANAGED, HOOK_STOP, "", "", true},
};

static void matchers_and_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(match_rows); i++) {
        struct hook_set s = {.limit = match_rows[i].limit};
        struct hook_entry e = {.event = match_rows[i].event,
                               .source = match_rows[i].source,
                               .matcher = match_rows[i].matcher};

        if (hook_entry_matches(&s, &e, e.event, str_of(match_rows[i].subject)) !=
            match_rows[i].matches)
            fail_msg("row %zu: '%s' and '%s'", i, e.matcher, match_rows[i].subject);
        assert_false(hook_entry_matches(&s, &e, HOOK_NOTIFICATION, STR("")));
    }
}

static void there_is_a_limit(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = "", .source = HOOK_SETTINGS};
    struct hook_handler *h = command("a");
    struct err err = {0};

    (void)state;
    for (int i = 0; i < REGISTRY_MAX_HANDLERS; i++)
        add(r, place, h);
    assert_int_equal(hook_registry_add(r, &place, h, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    hook_handler_unref(h);
    hook_registry_free(r);
}

/* --- from several threads ------------------------------------------------------------------- */

static void churn(void *arg)
{
    struct hook_registry *r = arg;

    for (int i = 0; i < 200; i++) {
        struct hook_handler *h = command("mine");
        const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
        const struct hook_set *s;

        add(r, place, h);
        s = hook_registry_get(r);
        assert_true(s->entries.len);
        hook_set_unref(s);
        assert_true(hook_registry_remove(r, HOOK_STOP, h));
        hook_handler_unref(h);
    }
}

static void any_thread(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    struct hook_handler *stays = command("stays");
    struct thread *threads[4];

    (void)state;
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = ""}, stays);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        threads[i] = thread_start("churn", churn, r, NULL);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    expect(r, "Stop/:stays,; ");
    hook_handler_unref(stays);
    hook_registry_free(r);
}

/* New settings take the place of the old ones, and of nothing else. */
static void settings_are_renewed(void **state)
{
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
    struct hook_registry *fresh = hook_registry_new(HOOK_LIMIT_MANAGED);
    struct hook_handler *a = command("a");
    struct hook_handler *b = command("b");
    struct hook_handler *c = command("c");
    const struct hook_set *before;

    (void)state;
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .source = HOOK_SETTINGS}, a);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "m"}, b);
    add(r, (struct hook_entry){.event = HOOK_STOP, .matcher = "", .source = HOOK_MANAGED}, a);
    add(fresh, (struct hook_entry){.event = HOOK_STOP, .matcher = "n", .source = HOOK_MANAGED}, c);
    before = hook_registry_get(r);
    hook_registry_renew(r, fresh);
    hook_registry_free(fresh);
    expect(r, "Stop/n:c,; Stop/m:b,; ");
    assert_int_equal(hook_registry_limit(r), HOOK_LIMIT_MANAGED);
    assert_int_equal(before->entries.len, 3); /* a run that has begun continues with those */
    hook_set_unref(before);
    hook_handler_unref(a);
    hook_handler_unref(b);
    hook_handler_unref(c);
    hook_registry_free(r);
}

UNIT_TEST(registry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_entries_are_found_again),
        cmocka_unit_test(a_goal_touches_nobody_else),
        cmocka_unit_test(a_set_stays_as_it_was),
        cmocka_unit_test(matchers_and_limits),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(any_thread),
        cmocka_unit_test(settings_are_renewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
