/* What a statusLine command reads: of a session that has not begun, and of one that has worked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <math.h>

#include "agent/agent.h"
#include "base/arena.h"
#include "base/buf.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/message.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "tui/status/statusline.h"
#include "tui/status/statusline_input.h"
#include "unit.h"

struct room {
    struct conf *conf;
    struct args args;
    struct cancel *cancel;
    struct host *host;
    struct arena arena;
};

/* agent: the type that the session runs as; NULL: none */
static void room_open_as(struct room *r, const char *agent)
{
    static char home[600];
    static char model[600];
    static char *environ_of[] = {home, (char *)"PATH=/usr/bin:/bin", NULL};
    char *argv[] = {
        (char *)"tenax",       (char *)"--model", model,        (char *)"--permission-mode",
        (char *)"acceptEdits", (char *)"--agent", (char *)agent};
    struct conf_sources from = {.environ = environ_of, .trusted = true};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct host_spec spec = {0};
    struct err err = {0};

    *r = (struct room){.arena = ARENA_INIT, .cancel = cancel_new(NULL)};
    snprintf(home, sizeof(home), "HOME=%s", scratch("home"));
    snprintf(model, sizeof(model), "scripted/%s", scratch("s.scenario"));
    from.dir = scratch("work");
    from.etc = scratch("etc");
    from.args = &r->args;
    if (args_parse(ARRAY_LEN(argv) - (agent ? 0 : 2), argv, &r->args, &err) < 0 ||
        conf_load(&from, &r->conf, &err) < 0)
        fail_msg("%s", err.text);
    spec.conf = r->conf;
    spec.args = &r->args;
    spec.cancel = r->cancel;
    if (host_new(&spec, &notes, &r->host, &err) < 0)
        fail_msg("%s", err.text);
}

static void room_open(struct room *r)
{
    room_open_as(r, /*agent=*/NULL);
}

static void room_close(struct room *r)
{
    host_free(r->host);
    conf_unref(r->conf);
    args_release(&r->args);
    cancel_unref(r->cancel);
    arena_release(&r->arena);
}

static const struct json *read_input(struct room *r, const char *vim, double usd)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct statusline_seen seen = {.usd = usd};
    const struct json *v;
    struct err err = {0};

    snprintf(seen.vim, sizeof(seen.vim), "%s", vim);
    statusline_input(r->host, &seen, &text);
    assert_true(str_ends(buf_str(&text), STR("}\n")));
    if (json_parse_copy(&r->arena, buf_str(&text), &v, NULL, &err) < 0)
        fail_msg("%s: %s", err.text, buf_cstr(&text));
    return v;
}

/* "key=value": the text or the JSON of it; "key=": it is there; "!key": it is not. */
static void has(const struct json *v, const char *const *rows)
{
    for (; *rows; rows++) {
        struct str key = str_of(*rows);
        struct str want = str_from(key, str_chr(key, '=') + 1);
        bool absent = str_starts(key, STR("!"));
        char path[100];
        const struct json *m;

        key = str_from(str_first(key, str_chr(key, '=')), absent);
        snprintf(path, sizeof(path), "%.*s", STR_ARG(key));
        m = json_path(v, path);
        if (absent ? m != NULL : m == NULL)
            fail_msg("%s: it is %s", path, m ? "there" : "not there");
        if (want.len && !str_eq(json_is(m, JSON_STRING) ? json_str(m) : json_raw(m), want))
            fail_msg("%s is %.*s, and not %.*s", path, STR_ARG(json_raw(m)), STR_ARG(want));
    }
}

static void before_the_first_turn(void **state)
{
    static const char *const rows[] = {
        "session_id=",
        "transcript_path=",
        "version=" TENAX_VERSION,
        "model.id=",
        "model.display_name=",
        "workspace.added_dirs=[]",
        "output_style.name=default",
        "cost.total_cost_usd=0",
        "cost.total_duration_ms=",
        "cost.total_api_duration_ms=0",
        "cost.total_lines_added=0",
        "cost.total_lines_removed=0",
        "context_window.total_input_tokens=0",
        "context_window.total_output_tokens=0",
        "context_window.context_window_size=",
        "context_window.used_percentage=0",
        "context_window.remaining_percentage=100",
        "context_window.current_usage=null",
        "exceeds_200k_tokens=false",
        "fast_mode=false",
        "thinking.enabled=true",
        "!session_name",
        "!agent",
        "!vim",
        "!worktree",
        "!remote",
        "!effort",
        "!workspace.repo",
        "!rate_limits",
        NULL,
    };
    struct room r;
    const struct json *v;

    (void)state;
    room_open(&r);
    v = read_input(&r, "", NAN);
    has(v, rows);
    assert_true(str_is(json_get_str(v, "cwd"), scratch("work")));
    assert_true(str_is(json_str(json_path(v, "workspace.current_dir")), scratch("work")));
    assert_true(str_is(json_str(json_path(v, "workspace.project_dir")), scratch("work")));
    workspace_set_cwd(host_workspace(r.host), scratch("work/sub")); /* cd */
    workspace_add_dir(host_workspace(r.host), scratch("home"));
    host_set_effort(r.host, EFFORT_HIGH);
    v = read_input(&r, "INSERT", 0.25);
    has(v, (const char *const[]){"vim.mode=INSERT", "cost.total_cost_usd=0.25", "effort.level=high",
                                 "workspace.added_dirs.0=", "!workspace.added_dirs.1", NULL});
    assert_true(str_is(json_get_str(v, "cwd"), scratch("work/sub")));
    assert_true(str_is(json_str(json_path(v, "workspace.project_dir")), scratch("work")));
    room_close(&r);
}

static void of_an_agent(void **state)
{
    struct room r;

    (void)state;
    room_open_as(&r, "general-purpose");
    has(read_input(&r, "", NAN), (const char *const[]){"agent.name=general-purpose", NULL});
    room_close(&r);
}

static int64_t duration(struct room *r)
{
    return json_get_i64(json_get(read_input(r, "", NAN), "cost"), "total_duration_ms", -1);
}

/* A clock in a status line moves while a turn runs, and while none does. */
static void the_clock_runs(void **state)
{
    struct room r;
    int64_t first;

    (void)state;
    room_open(&r);
    first = duration(&r);
    assert_true(first >= 0);
    while (duration(&r) <= first)
        ;
    room_close(&r);
}

static const struct mail_kind done_kind = {.name = "done"};

static void tell_done(void *arg)
{
    static struct mail m;

    m = (struct mail){.kind = &done_kind};
    mailbox_send(arg, &m);
}

static void after_work(void **state)
{
    static const char *const rows[] = {
        "session_name=The engine",
        "cost.total_lines_added=4",
        "cost.total_lines_removed=1",
        "context_window.used_percentage=64",
        "context_window.remaining_percentage=36",
        "context_window.current_usage.input_tokens=128195",
        "context_window.current_usage.output_tokens=3",
        "context_window.current_usage.cache_read_input_tokens=5",
        "context_window.current_usage.cache_creation_input_tokens=0",
        "context_window.total_input_tokens=128215",
        "context_window.total_output_tokens=9",
        NULL,
    };
    struct mailbox *mb = mailbox_new();
    struct agent_input input = {0};
    struct err err = {0};
    const struct json *v;
    struct mail *m;
    struct room r;

    (void)state;
    room_open(&r);
    input.message = message_user_text(STR("go"));
    if (host_send(r.host, &input, &err) < 0)
        fail_msg("%s", err.text);
    host_finish(r.host, tell_done, mb);
    assert_int_equal(mailbox_take(mb, NULL, -1, &m, &err), 0);
    if (host_rename(r.host, STR("The engine"), &err) < 0)
        fail_msg("%s", err.text);
    v = read_input(&r, "", NAN);
    has(v, rows);
    assert_true(str_ends(json_get_str(v, "transcript_path"), STR(".jsonl")));
    room_close(&r);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static int make(void **state)
{
    (void)state;
    scratch_make();
    scratch_setup("dir home;dir work;dir work/sub;dir etc");
    scratch_write("s.scenario",
                  "step\ncall Write {\"file_path\":\"a.txt\",\"content\":\"1\\n2\\n3\\n\"}\n"
                  "usage input=10 output=3 cache_read=5\n"
                  "step\ncall Edit {\"file_path\":\"a.txt\",\"old_string\":\"2\","
                  "\"new_string\":\"two\"}\n"
                  "usage input=10 output=3 cache_read=5\n"
                  "step\ntext done\nusage input=128195 output=3 cache_read=5\n");
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    proc_shutdown();
    scratch_remove();
    return 0;
}

UNIT_TEST(statusline_input)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_turn),
        cmocka_unit_test(of_an_agent),
        cmocka_unit_test(the_clock_runs),
        cmocka_unit_test(after_work),
    };

    return cmocka_run_group_tests(tests, make, unmake);
}
