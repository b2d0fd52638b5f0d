/*
 * The judge over real sockets, in all four dialects: a look, its result and the verdict survive
 * each of them; the tools are named in every request and no schema is asked for; and the answer
 * that is due is asked for without tools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/toolbox.h"
#include "agent/workspace.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "goal/judge.h"
#include "llm/canned.h"
#include "llm/provider.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "tools/tools.h"

#define ANTHROPIC(block, delta, stop)                                                              \
    "data: {'type':'message_start','message':{'id':'m','model':'x','usage':{'input_tokens':10,"    \
    "'output_tokens':1}}}\n\n"                                                                     \
    "data: {'type':'content_block_start','index':0,'content_block':{" block "}}\n\n"               \
    "data: {'type':'content_block_delta','index':0,'delta':{" delta "}}\n\n"                       \
    "data: {'type':'content_block_stop','index':0}\n\n"                                            \
    "data: {'type':'message_delta','delta':{'stop_reason':'" stop "'},'usage':{'output_tokens':5"  \
    "}}\n\n"                                                                                       \
    "data: {'type':'message_stop'}\n\n"
#define CHAT(delta, stop)                                                                          \
    "data: {'id':'c','model':'x','choices':[{'index':0,'delta':{'role':'assistant'," delta         \
    "},'finish_reason':'" stop "'}]}\n\n"                                                          \
    "data: {'id':'c','model':'x','choices':[],'usage':{'prompt_tokens':10,'completion_tokens':5"   \
    "}}\n\ndata: [DONE]\n\n"
#define RESPONSES(item)                                                                            \
    "data: {'type':'response.created','response':{'id':'r','model':'x'}}\n\n"                      \
    "data: {'type':'response.output_item.done','output_index':0,'item':{" item "}}\n\n"            \
    "data: {'type':'response.completed','response':{'id':'r','status':'completed','usage':{"       \
    "'input_tokens':10,'output_tokens':5}}}\n\n"
#define GEMINI(part)                                                                               \
    "data: {'candidates':[{'content':{'role':'model','parts':[{" part "}]},'finishReason':'STOP'"  \
    "}],'modelVersion':'x','usageMetadata':{'promptTokenCount':10,'candidatesTokenCount':5}}\n\n"

#define INPUT "{\\'file_path\\':\\'sum.c\\'}"
#define VERDICT "{\\'ok\\':true,\\'reason\\':\\'seen\\'}"

/* In all texts of a row ' stands for ". */
static const struct wire_case {
    const char *dialect;
    const char *look;    /* Read sum.c */
    const char *words;   /* no verdict */
    const char *verdict; /* ok */
    const char *tools;   /* in every request */
    const char *none;    /* in the request of the answer that is due */
} wire_cases[] = {
    {
        "anthropic",
        ANTHROPIC("'type':'tool_use','id':'t1','name':'Read','input':{}",
                  "'type':'input_json_delta','partial_json':'" INPUT "'", "tool_use"),
        ANTHROPIC("'type':'text','text':''", "'type':'text_delta','text':'Fine.'", "end_turn"),
        ANTHROPIC("'type':'text','text':''", "'type':'text_delta','text':'" VERDICT "'",
                  "end_turn"),
        "'name':'Read'",
        "'tool_choice':{'type':'none'}",
    },
    {
        "openai-chat",
        CHAT("'tool_calls':[{'index':0,'id':'t1','type':'function','function':{'name':'Read',"
             "'arguments':'" INPUT "'}}]",
             "tool_calls"),
        CHAT("'content':'Fine.'", "stop"),
        CHAT("'content':'" VERDICT "'", "stop"),
        "'name':'Read'",
        "'tool_choice':'none'",
    },
    {
        "openai-responses",
        RESPONSES("'type':'function_call','id':'f','call_id':'t1','name':'Read','arguments':'" INPUT
                  "'"),
        RESPONSES("'type':'message','role':'assistant','content':[{'type':'output_text','text':"
                  "'Fine.'}]"),
        RESPONSES("'type':'message','role':'assistant','content':[{'type':'output_text','text':"
                  "'" VERDICT "'}]"),
        "'name':'Read'",
        "'tool_choice':'none'",
    },
    {
        "gemini",
        GEMINI("'functionCall':{'name':'Read','args':{'file_path':'sum.c'}}"),
        GEMINI("'text':'Fine.'"),
        GEMINI("'text':'" VERDICT "'"),
        "'name':'Read'",
        "'mode':'NONE'",
    },
};

static void add_quoted(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_addc(out, *text == '\'' ? '"' : *text);
}

static bool has(const char *request, const char *quoted)
{
    CLEANUP(buf_release) struct buf want = BUF_INIT(1000);

    add_quoted(&want, quoted);
    return strstr(request, buf_cstr(&want));
}

/* A provider of that dialect behind this address. */
static void open_provider(const struct wire_case *row, const char *url, struct conf **ret_conf,
                          struct provider *ret)
{
    static char *environ_[2];
    static char home[300];
    CLEANUP(buf_release) struct buf settings = BUF_INIT(1000);
    struct conf_sources from = {
        .dir = scratch("w"), .environ = environ_, .etc = scratch("etc"), .trusted = true};
    struct err err = {0};

    snprintf(home, sizeof(home), "TENAX_HOME=%s", scratch("home"));
    environ_[0] = home;
    buf_addf(&settings,
             "{\"providers\":{\"local\":{\"dialect\":\"%s\",\"baseUrl\":\"%s\",\"noKey\":true}}}",
             row->dialect, url);
    if (file_mkdirs(scratch("home"), 0700, &err) < 0 ||
        file_replace(scratch("home/settings.json"), buf_str(&settings), 0600, &err) < 0 ||
        conf_load(&from, ret_conf, &err) < 0 ||
        provider_select(*ret_conf, STR("local/x"), NULL, ret, &err) < 0)
        fail_msg("%s: %s", row->dialect, err.text);
}

static void check_requests(const struct wire_case *row, const struct canned_server *s)
{
    assert_int_equal(s->requests.len, 3);
    for (size_t i = 0; i < 3; i++) {
        const char *request = canned_request(s, i);

        if (!has(request, row->tools) || !strstr(request, "You are the judge of a goal") ||
            !strstr(request, "1| all tests pass"))
            fail_msg("%s: request %zu: %s", row->dialect, i, request ? request : "none");
        if (strstr(request, "json_schema") || strstr(request, "responseJsonSchema") ||
            strstr(request, "responseSchema"))
            fail_msg("%s: request %zu has a schema", row->dialect, i);
        if (has(request, row->none) != (i == 2))
            fail_msg("%s: request %zu: %s", row->dialect, i, request);
        if ((strstr(request, "3| ") && strstr(request, "return a - b")) != (i > 0))
            fail_msg("%s: request %zu: %s", row->dialect, i, request);
    }
    assert_non_null(strstr(canned_request(s, 2), "could not be read"));
}

static void test_dialects(void **state)
{
    static const struct net_options direct = {.proxy = ""};
    struct net *net = net_new(&direct, NULL);

    (void)state;
    assert_non_null(net);
    for (size_t i = 0; i < ARRAY_LEN(wire_cases); i++) {
        const struct wire_case *row = &wire_cases[i];
        const char *const bodies[] = {row->look, row->words, row->verdict};
        struct buf said[ARRAY_LEN(bodies)];
        struct canned answers[ARRAY_LEN(bodies)];
        CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
        CLEANUP(provider_release) struct provider provider = {0};
        const struct judge_case the_case = {.objective = STR("all tests pass")};
        struct toolbox_spec tools = {.table = tools_table()};
        struct judge_spec spec = {.net = net};
        struct toolbox *toolbox = NULL;
        struct conf *conf = NULL;
        struct canned_server server;
        struct err err = {0};

        for (size_t k = 0; k < ARRAY_LEN(bodies); k++) {
            buf_init(&said[k], 10000);
            add_quoted(&said[k], bodies[k]);
            answers[k] = (struct canned){CANNED_EVENTS, buf_str(&said[k]), CANNED_CLOSE};
        }
        canned_start(&server, answers, ARRAY_LEN(answers));
        open_provider(row, server.url, &conf, &provider);
        tools.conf = conf;
        tools.provider = &provider;
        if (toolbox_new(&tools, &toolbox, &err) < 0)
            fail_msg("%s", err.text);
        spec.conf = conf;
        spec.provider = &provider;
        spec.toolbox = toolbox;
        spec.workspace = workspace_new(scratch("w"), scratch("state"), conf_environ(conf));
        if (judge_ask(&spec, &the_case, NULL, &v, &err) < 0)
            fail_msg("%s: %s", row->dialect, err.text);
        canned_stop(&server);
        check_requests(row, &server);
        assert_true(v.ok);
        assert_string_equal(buf_cstr(&v.reason), "seen");
        assert_int_equal(v.steps, 3);
        assert_int_equal(v.spends.len, 3);
        VEC_EACH(&v.spends, s) {
            assert_int_equal(s->usage.input, 10);
            assert_int_equal(s->usage.output, 5);
        }
        canned_release(&server);
        workspace_unref(spec.workspace);
        toolbox_free(toolbox);
        conf_unref(conf);
        for (size_t k = 0; k < ARRAY_LEN(bodies); k++)
            buf_release(&said[k]);
    }
    net_free(net);
}

static int setup(void **state)
{
    struct err err = {0};

    (void)state;
    scratch_make();
    if (file_mkdirs(scratch("w"), 0755, &err) < 0 ||
        file_replace(scratch("w/sum.c"), STR("    return a - b;\n"), 0644, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove();
    proc_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dialects)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
