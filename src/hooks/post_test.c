/*
 * Hooks over HTTP against a real server: the request, the meaning of an answer, and time limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/hook.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "hooks/post.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "net/test_server.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "unit.h"

/* A folder, a server that answers one thing, and a session's hooks. */
struct bench {
    char dir[64];
    struct server server;
    const char *answer; /* NULL: none ever comes */
    struct buf head, body;
    struct conf *conf;
    struct net *net;
    struct workspace *workspace;
    struct hook_registry *registry;
    struct runner *runner;
    struct strv warnings;
};

static void serve(struct conn *c)
{
    struct bench *b = c->server->arg;

    if (!conn_request(c, &b->head, &b->body))
        return;
    if (b->answer)
        conn_puts(c, b->answer);
    else
        conn_wait_close(c);
}

static void say_model(void *arg, struct buf *ret)
{
    (void)arg;
    buf_adds(ret, "scripted/none");
}

/* fields: more of the handler; ' stands for ". */
static void bench_begin(struct bench *b, const char *event, const char *answer, const char *fields)
{
    static const struct net_options direct = {.proxy = ""};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(10000);
    struct conf_sources from = {.trusted = true, .etc = "/nowhere"};
    struct runner_spec spec = {.model = say_model};
    CLEANUP(mem_freep) char *home = NULL;
    CLEANUP(mem_freep) char *file = NULL;
    struct err err = {0};

    *b = (struct bench){.dir = "/tmp/hooks-post-XXXXXX", .answer = answer};
    assert_non_null(mkdtemp(b->dir));
    buf_init(&b->head, 100000);
    buf_init(&b->body, 100000);
    server_start(&b->server, serve, b);
    home = path_join(b->dir, ".tenax");
    file = path_join(home, "settings.json");
    assert_int_equal(mkdir(home, 0700), 0);
    buf_addf(&text,
             "{'hooks':{'%s':[{'hooks':[{'type':'http','url':'http://127.0.0.1:%d/x'%s}]}]}}",
             event, b->server.port, fields);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            text.ptr[i] = '"';
    }
    assert_int_equal(file_replace(file, buf_str(&text), 0600, NULL), 0);
    strv_addf(&env, "HOME=%s", b->dir);
    strv_adds(&env, "KEY=k1\r\nX-Evil: yes");
    strv_adds(&env, "OTHER=hidden");
    from.dir = b->dir;
    from.environ = strv_get(&env);
    if (conf_load(&from, &b->conf, &err) < 0)
        fail_msg("%s", err.text);
    b->net = net_new(&direct, &err);
    assert_non_null(b->net);
    b->workspace = workspace_new(b->dir, b->dir, conf_environ(b->conf));
    b->registry = hook_registry_new(HOOK_LIMIT_NONE);
    settings_read(b->conf, b->registry, &b->warnings);
    assert_int_equal(b->warnings.len, 0);
    spec.conf = b->conf;
    spec.registry = b->registry;
    spec.workspace = b->workspace;
    b->runner = runner_new(&spec);
    runner_set_net(b->runner, b->net);
}

static void bench_end(struct bench *b)
{
    const char *argv[] = {"rm", "-rf", b->dir, NULL};
    struct proc_spec remove = {.argv = argv};
    struct proc_result result = {0};

    runner_free(b->runner);
    hook_registry_free(b->registry);
    workspace_unref(b->workspace);
    net_free(b->net);
    conf_unref(b->conf);
    strv_release(&b->warnings);
    server_stop(&b->server);
    buf_release(&b->head);
    buf_release(&b->body);
    assert_int_equal(proc_run(&remove, NULL, &result, NULL), 0);
    proc_result_release(&result);
}

static int bench_run(struct bench *b, enum hook_event event, struct cancel *cancel,
                     struct hook_outcome *ret, struct err *err)
{
    struct hook_runner *r = runner_hooks(b->runner);
    struct hook_input in = {
        .event = event, .subject = STR("Bash"), .json = STR("{\"tool_name\":\"Bash\"}")};

    return r->run(r, &in, cancel, ret, err);
}

#define HTTP(status, body)                                                                         \
    "HTTP/1.1 " status "\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body

static const struct {
    const char *name;
    enum hook_event event;
    const char *fields;
    const char *answer;
    int rc;
    enum hook_decision decision;
    const char *text; /* of the reason, or of the error */
} rows[] = {
    {"nothing to say", HOOK_PRE_TOOL_USE, "", HTTP("204 No Content", ""), 0, HOOK_SILENT, ""},
    {"an empty body", HOOK_PRE_TOOL_USE, "", HTTP("200 OK", ""), 0, HOOK_SILENT, ""},
    {"a decision", HOOK_PRE_TOOL_USE, "",
     HTTP("200 OK", "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
                    "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}}"),
     0, HOOK_DENY, "no"},
    {"a decision, at the end", HOOK_STOP, "",
     HTTP("201 Created", "{\"decision\":\"block\",\"reason\":\"go on\"}"), 0, HOOK_DENY, "go on"},
    {"no JSON", HOOK_PRE_TOOL_USE, "", HTTP("200 OK", "fine"), -1, HOOK_SILENT,
     "the server's answer is no JSON object"},
    {"a list", HOOK_PRE_TOOL_USE, "", HTTP("200 OK", "[]"), -1, HOOK_SILENT,
     "the server's answer is no JSON object"},
    {"JSON that is cut", HOOK_PRE_TOOL_USE, "", HTTP("200 OK", "{\"decision\":"), -1, HOOK_SILENT,
     "its JSON cannot be used"},
    {"a status cannot object", HOOK_PRE_TOOL_USE, "",
     HTTP("403 Forbidden", "{\"decision\":\"block\",\"reason\":\"x\"}"), -1, HOOK_SILENT,
     "the server answered with HTTP 403"},
    {"a redirect is not followed", HOOK_PRE_TOOL_USE, "",
     "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\n\r\n", -1,
     HOOK_SILENT, "the server answered with HTTP 302"},
    {"onFailure", HOOK_PRE_TOOL_USE, ",'onFailure':'block'", HTTP("500 Oops", ""), 0, HOOK_DENY,
     "the server answered with HTTP 500"},
    {"too late", HOOK_PRE_TOOL_USE, ",'timeout':0.2", NULL, -1, HOOK_SILENT,
     "it took too long and was ended"},
};

static void answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
        struct err err = {0};
        struct bench b;
        int rc;

        bench_begin(&b, hook_event_name(rows[i].event), rows[i].answer, rows[i].fields);
        rc = bench_run(&b, rows[i].event, NULL, &o, &err);
        if (rc != rows[i].rc || o.decision != rows[i].decision ||
            !str_has(rc < 0 ? str_of(err.text) : buf_str(&o.reason), str_of(rows[i].text)))
            fail_msg("%s: %d, decision %d, %s%s", rows[i].name, rc, (int)o.decision, err.text,
                     buf_cstr(&o.reason));
        bench_end(&b);
    }
}

/* The event is the body; variables are filled in where they are allowed, and stay in their line. */
static void what_is_sent(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    struct err err = {0};
    struct bench b;
    struct str head;

    (void)state;
    bench_begin(&b, "PreToolUse", HTTP("200 OK", ""),
                ",'headers':{'X-Key':'a ${KEY} b','X-Other':'[$OTHER]','X-Price':'$5 $ ${KEY'},"
                "'allowedEnvVars':['KEY']");
    assert_int_equal(bench_run(&b, HOOK_PRE_TOOL_USE, NULL, &o, &err), 0);
    head = buf_str(&b.head);
    assert_true(str_starts(head, STR("POST /x HTTP/1.1\r\n")));
    assert_true(str_has(head, STR("\r\nX-Key: a k1X-Evil: yes b\r\n")));
    assert_true(str_has(head, STR("\r\nX-Other: []\r\n")));
    assert_true(str_has(head, STR("\r\nX-Price: $5 $ ${KEY\r\n")));
    assert_true(str_has(head, STR("\r\nContent-Type: application/json\r\n")));
    assert_false(str_has(head, STR("hidden")));
    assert_string_equal(buf_cstr(&b.body), "{\"tool_name\":\"Bash\"}");
    bench_end(&b);
}

static void without_a_network(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_begin(&b, "Stop", HTTP("200 OK", ""), "");
    runner_set_net(b.runner, NULL);
    assert_int_equal(bench_run(&b, HOOK_STOP, NULL, &o, &err), -1);
    assert_true(str_has(str_of(err.text), STR("this session was started without a network")));
    bench_end(&b);
}

static void cancelled(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_begin(&b, "Stop", NULL, "");
    cancel_set(cancel);
    assert_int_equal(bench_run(&b, HOOK_STOP, cancel, &o, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    bench_end(&b);
}

UNIT_TEST(post)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(what_is_sent),
        cmocka_unit_test(without_a_network),
        cmocka_unit_test(cancelled),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    proc_shutdown();
    return failed;
}
