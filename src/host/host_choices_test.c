/* What a session hands to the next one: each choice alone, and each failure told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/event.h"
#include "base/err.h"
#include "conf/conf.h"
#include "host/events/feed.h"
#include "host/host_state.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "tasks/agents.h"
#include "unit.h"

#define SCHEMA "{\"type\":\"object\"}"

struct window_room {
    struct conf *conf;
    struct args args;
    struct cancel *cancel;
    struct host *host;
};

/* home: a folder with its settings; mode: of the command line. */
static void room_open(struct window_room *r, const char *home, const char *mode)
{
    char place[600];
    char *environ_of[] = {place, (char *)"PATH=/usr/bin:/bin", (char *)"ANTHROPIC_API_KEY=x", NULL};
    char *argv[] = {(char *)"tenax",
                    (char *)"--model",
                    (char *)"anthropic/claude-haiku-4-5",
                    (char *)"--permission-mode",
                    (char *)mode,
                    (char *)"--no-session-persistence"};
    struct conf_sources from = {.environ = environ_of, .trusted = true, .args = &r->args};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct host_spec spec = {0};
    struct err err = {0};

    *r = (struct window_room){.cancel = cancel_new(NULL)};
    snprintf(place, sizeof(place), "HOME=%s", scratch(home));
    from.dir = scratch("work");
    from.etc = scratch("etc");
    if (args_parse(ARRAY_LEN(argv), argv, &r->args, &err) < 0 ||
        conf_load(&from, &r->conf, &err) < 0)
        fail_msg("%s", err.text);
    spec.conf = r->conf;
    spec.args = &r->args;
    spec.cancel = r->cancel;
    if (host_new(&spec, &notes, &r->host, &err) < 0)
        fail_msg("%s", err.text);
}

static void room_close(struct window_room *r)
{
    host_free(r->host);
    conf_unref(r->conf);
    args_release(&r->args);
    cancel_unref(r->cancel);
}

/* The notices so far, one a line. */
static void notices(struct host *h, struct buf *ret)
{
    struct mailbox *mb = mailbox_new();
    struct observer *o = feed_observe(h->feed, 0, OBSERVER_REMOTE, mb);
    struct event *e;
    uint64_t seq;

    while (observer_take(o, &e, &seq) == OBSERVED_EVENT) {
        if (e->kind == EVENT_NOTICE)
            buf_addf(ret, "%.*s\n", STR_ARG(e->text));
        event_unref(e);
    }
    observer_free(o);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void choose(struct window_room *from, const char *model)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct err err = {0};

    if (host_set_model(from->host, str_of(model), &name, &err) < 0 ||
        host_set_schema(from->host, STR(SCHEMA), &err) < 0)
        fail_msg("%s", err.text);
    strv_adds(&names, "X");
    strv_adds(&names, "Bash");
    if (host_bring_types(from->host, STR("{\"o\":{\"description\":\"d\",\"prompt\":\"p\"}}"),
                         &err) < 0 ||
        host_set_plan(from->host, STR("1. Ask."), &err) < 0 ||
        host_set_aliases(from->host, &names, &err) < 0 ||
        host_set_skills(from->host, &names, &err) < 0)
        fail_msg("%s", err.text);
    host_set_effort(from->host, EFFORT_HIGH);
    host_set_thinking(from->host, THINKING_BUDGET, 2048);
}

static void check_rest(struct host *h)
{
    CLEANUP(buf_release) struct buf types = BUF_INIT(BUF_NO_LIMIT);
    int64_t budget;

    agents_brought(h->agents, &types);
    assert_true(types.len > 0);
    assert_string_equal(buf_cstr(&h->plan_steps), "1. Ask.");
    assert_int_equal(h->aliases.len, 2);
    assert_true(host_offers_skill(h, STR("X")));
    assert_false(host_offers_skill(h, STR("tidy")));
    assert_string_equal(buf_cstr(&h->schema), SCHEMA);
    assert_int_equal(host_effort(h), EFFORT_HIGH);
    assert_int_equal(host_thinking(h, &budget), THINKING_BUDGET);
    assert_int_equal(budget, 2048);
}

static void all_of_them(void **state)
{
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf provider = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf model = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(host_choices_freep) struct host_choices *choices = NULL;
    struct window_room from;
    struct window_room to;
    int64_t window;

    (void)state;
    room_open(&from, "home", "acceptEdits");
    room_open(&to, "home", "default");
    choose(&from, "anthropic/claude-sonnet-5");
    choices = host_choices(from.host);
    host_choose(to.host, choices, /*has_own_mode=*/true);
    assert_int_equal(permit_mode(to.host->permit), MODE_DEFAULT);
    host_choose(to.host, choices, /*has_own_mode=*/false);
    assert_int_equal(permit_mode(to.host->permit), MODE_ACCEPT_EDITS);
    host_model(to.host, &provider, &model, &window);
    assert_string_equal(buf_cstr(&model), "claude-sonnet-5");
    check_rest(to.host);
    notices(to.host, &told);
    assert_string_equal(buf_cstr(&told), "");
    room_close(&from);
    room_close(&to);
}

/* Neither the mode nor the model may be had where it goes on. */
static void each_alone(void **state)
{
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(host_choices_freep) struct host_choices *choices = NULL;
    struct window_room from;
    struct window_room to;

    (void)state;
    room_open(&from, "home", "auto");
    room_open(&to, "strict", "default");
    choose(&from, "anthropic/claude-sonnet-5");
    choices = host_choices(from.host);
    host_choose(to.host, choices, /*has_own_mode=*/false);
    assert_int_equal(permit_mode(to.host->permit), MODE_DEFAULT);
    check_rest(to.host);
    notices(to.host, &told);
    assert_true(str_has(buf_str(&told), STR("disableAutoMode")));
    assert_true(str_has(buf_str(&told), STR("availableModels")));
    room_close(&from);
    room_close(&to);
}

static int make(void **state)
{
    (void)state;
    scratch_make();
    scratch_setup("dir home;dir strict;dir strict/.tenax;dir work;dir etc");
    scratch_write("strict/.tenax/settings.json",
                  "{\"disableAutoMode\":\"disable\",\"availableModels\":[\"claude-haiku-4-5\"]}");
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    proc_shutdown();
    scratch_remove();
    return 0;
}

UNIT_TEST(host_choices)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(each_alone),
    };

    return cmocka_run_group_tests(tests, make, unmake);
}
