/*
 * The judge over real sockets, in all four dialects: a look, its result and the verdict survive
 * each of them; the tools, the verdict among them, are offered in every request; the verdict is
 * forced, without thinking, once it is due; and a reply that did not come to its own end is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/toolbox.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "goal/judge/judge.h"
#include "guard/workspace.h"
#include "llm/provider.h"
#include "llm/scenario/canned.h"
#include "llm/test_spending.h"
#include "net/retry.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "tools/tools.h"
#include "unit.h"

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
#define RESPONSES_END(item, event, status)                                                         \
    "data: {'type':'response.created','response':{'id':'r','model':'x'}}\n\n"                      \
    "data: {'type':'response.output_item.done','output_index':0,'item':{" item "}}\n\n"            \
    "data: {'type':'response." event "','response':{'id':'r'," status ",'usage':{"                 \
    "'input_tokens':10,'output_tokens':5}}}\n\n"
#define RESPONSES(item) RESPONSES_END(item, "completed", "'status':'completed'")
#define GEMINI_END(part, reason)                                                                   \
    "data: {'candidates':[{'content':{'role':'model','parts':[{" part                              \
    "}]},'finishReason':'" reason                                                                  \
    "'}],'modelVersion':'x','usageMetadata':{'promptTokenCount':10,'candidatesTokenCount':5}}\n\n"
#define GEMINI(part) GEMINI_END(part, "STOP")

/* One reply of each dialect: a call, or a text. */
#define A_CALL(name, input, stop)                                                                  \
    ANTHROPIC("'type':'tool_use','id':'t1','name':'" name "','input':{}",                          \
              "'type':'input_json_delta','partial_json':'" input "'", stop)
#define A_TEXT(text, stop)                                                                         \
    ANTHROPIC("'type':'text','text':''", "'type':'text_delta','text':'" text "'", stop)
#define C_CALL(name, input, stop)                                                                  \
    CHAT("'tool_calls':[{'index':0,'id':'t1','type':'function','function':{'name':'" name          \
         "','arguments':'" input "'}}]",                                                           \
         stop)
#define C_TEXT(text, stop) CHAT("'content':'" text "'", stop)
#define R_CALL(name, input)                                                                        \
    "'type':'function_call','id':'f','call_id':'t1','name':'" name "','arguments':'" input "'"
#define R_TEXT(text)                                                                               \
    "'type':'message','role':'assistant','content':[{'type':'output_text','text':'" text "'}]"

#define INPUT "{\\'file_path\\':\\'sum.c\\'}"
#define VERDICT "{\\'ok\\':true,\\'reason\\':\\'seen\\'}"

/* In all texts of a row ' stands for ". */
static const struct wire_case {
    const char *dialect;
    const char *look;    /* Read sum.c */
    const char *words;   /* no verdict */
    const char *verdict; /* ok */
    const char *tool;    /* in every request: how the verdict is offered */
    const char *forced;  /* in the request of the verdict that is due */
    const char *thinks;  /* before that; NULL: not looked at */
    const char *silent;  /* in that request instead; NULL: not looked at */
} wire_cases[] = {
    {
        "anthropic",
        A_CALL("Read", INPUT, "tool_use"),
        A_TEXT("Fine.", "end_turn"),
        A_CALL("verdict", VERDICT, "tool_use"),
        "'name':'verdict','description':'Gives your verdict",
        "'tool_choice':{'type':'tool','name':'verdict'}",
        "'thinking':{'type':'adaptive'}",
        "'thinking':{'type':'disabled'}",
    },
    {
        "openai-chat",
        C_CALL("Read", INPUT, "tool_calls"),
        C_TEXT("Fine.", "stop"),
        C_CALL("verdict", VERDICT, "tool_calls"),
        "{'type':'function','function':{'name':'verdict',",
        "'tool_choice':{'type':'function','function':{'name':'verdict'}}",
        NULL,
        NULL,
    },
    {
        "openai-responses",
        RESPONSES(R_CALL("Read", INPUT)),
        RESPONSES(R_TEXT("Fine.")),
        RESPONSES(R_CALL("verdict", VERDICT)),
        "{'type':'function','name':'verdict',",
        "'tool_choice':{'type':'function','name':'verdict'}",
        NULL,
        NULL,
    },
    {
        "gemini",
        GEMINI("'functionCall':{'name':'Read','args':{'file_path':'sum.c'}}"),
        GEMINI("'text':'Fine.'"),
        GEMINI("'functionCall':{'name':'verdict','args':{'ok':true,'reason':'seen'}}"),
        "{'name':'verdict','description':'Gives your verdict",
        "'functionCallingConfig':{'mode':'ANY','allowedFunctionNames':['verdict']}",
        NULL,
        NULL,
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

/* A provider of that dialect at this address. */
static void open_provider(const char *dialect, const char *url, struct conf **ret_conf,
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
             dialect, url);
    if (file_mkdirs(scratch("home"), 0700, &err) < 0 ||
        file_replace(scratch("home/settings.json"), buf_str(&settings), 0600, &err) < 0 ||
        conf_load(&from, ret_conf, &err) < 0 ||
        provider_select(*ret_conf, STR("local/x"), NULL, ret, &err) < 0)
        fail_msg("%s: %s", dialect, err.text);
}

static void check_requests(const struct wire_case *row, const struct canned_server *s)
{
    assert_int_equal(s->requests.len, 3);
    for (size_t i = 0; i < 3; i++) {
        const char *request = canned_request(s, i);
        bool is_due = i == 2;

        if (!has(request, "'name':'Read'") || !has(request, row->tool) ||
            !strstr(request, "You are the judge of a goal") ||
            !strstr(request, "1| all tests pass"))
            fail_msg("%s: request %zu: %s", row->dialect, i, request ? request : "none");
        /* The whole schema, as it is checked. */
        if (!strstr(request, judge_verdict_schema))
            fail_msg("%s: request %zu lacks the schema: %s", row->dialect, i, request);
        if (strstr(request, "json_schema") || strstr(request, "responseJsonSchema") ||
            strstr(request, "responseSchema"))
            fail_msg("%s: request %zu asks for an answer by schema", row->dialect, i);
        if (has(request, row->forced) != is_due)
            fail_msg("%s: request %zu: %s", row->dialect, i, request);
        if ((row->thinks && has(request, row->thinks) == is_due) ||
            (row->silent && has(request, row->silent) != is_due))
            fail_msg("%s: request %zu: %s", row->dialect, i, request);
        if ((strstr(request, "3| ") && strstr(request, "return a - b")) != (i > 0))
            fail_msg("%s: request %zu: %s", row->dialect, i, request);
    }
    assert_non_null(strstr(canned_request(s, 2), "is no verdict"));
}

/* Asks the judge through a server that gives these answers, the last one again and again. */
struct hearing {
    struct paid paid;
    struct net *net;
    struct canned_server server;
    struct judge_verdict verdict;
    struct err err;
    int result;
};

static void hearing_run(struct hearing *h, const char *dialect, const struct canned *answers,
                        size_t count)
{
    static const struct retry_policy once = {
        .max_tries = 1, .first_ms = 1, .cap_ms = 1, .asked_cap_ms = 1000};
    const struct judge_case the_case = {.objective = STR("all tests pass")};
    struct toolbox_spec tools = {.table = tools_table()};
    CLEANUP(provider_release) struct provider provider = {0};
    struct judge_spec spec = {.net = h->net, .retry = &once};
    struct toolbox *toolbox = NULL;
    struct conf *conf = NULL;

    h->verdict = (struct judge_verdict)JUDGE_VERDICT_INIT;
    h->err = (struct err){0};
    canned_start(&h->server, answers, count);
    open_provider(dialect, h->server.url, &conf, &provider);
    provider.model.thinking = MODEL_THINKS_ADAPTIVE;
    tools.conf = conf;
    tools.provider = &provider;
    if (toolbox_new(&tools, &toolbox, &h->err) < 0)
        fail_msg("%s", h->err.text);
    paid_begin(&h->paid);
    spec.spending = h->paid.spending;
    spec.conf = conf;
    spec.provider = &provider;
    spec.toolbox = toolbox;
    spec.workspace = workspace_new(scratch("w"), scratch("state"), conf_environ(conf));
    h->result = judge_ask(&spec, &the_case, NULL, &h->verdict, &h->err);
    canned_stop(&h->server);
    workspace_unref(spec.workspace);
    toolbox_unref(toolbox);
    conf_unref(conf);
}

static void hearing_end(struct hearing *h)
{
    paid_end(&h->paid);
    canned_release(&h->server);
    judge_verdict_release(&h->verdict);
}

static struct net *new_net(void)
{
    static const struct net_options direct = {.proxy = ""};
    struct net *net = net_new(&direct, NULL);

    assert_non_null(net);
    return net;
}

static void test_dialects(void **state)
{
    struct hearing h = {.net = new_net()};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wire_cases); i++) {
        const struct wire_case *row = &wire_cases[i];
        const char *const bodies[] = {row->look, row->words, row->verdict};
        struct buf said[ARRAY_LEN(bodies)];
        struct canned answers[ARRAY_LEN(bodies)];

        for (size_t k = 0; k < ARRAY_LEN(bodies); k++) {
            buf_init(&said[k], 10000);
            add_quoted(&said[k], bodies[k]);
            answers[k] = (struct canned){CANNED_EVENTS, buf_str(&said[k]), CANNED_CLOSE};
        }
        hearing_run(&h, row->dialect, answers, ARRAY_LEN(answers));
        if (h.result < 0)
            fail_msg("%s: %s", row->dialect, h.err.text);
        check_requests(row, &h.server);
        assert_true(h.verdict.ok);
        assert_string_equal(buf_cstr(&h.verdict.reason), "seen");
        assert_int_equal(h.verdict.steps, 3);
        assert_int_equal(h.paid.list.len, 3);
        VEC_EACH(&h.paid.list, s) {
            assert_int_equal(s->usage.input, 10);
            assert_int_equal(s->usage.output, 5);
        }
        hearing_end(&h);
        for (size_t k = 0; k < ARRAY_LEN(bodies); k++)
            buf_release(&said[k]);
    }
    net_free(h.net);
}

/* A whole verdict in a reply that ended in some way. */
static const struct end_case {
    const char *dialect;
    const char *body;
    const char *says; /* NULL: it is a verdict */
} end_cases[] = {
    {"anthropic", A_TEXT(VERDICT, "end_turn"), NULL},
    {"anthropic", A_CALL("verdict", VERDICT, "end_turn"), NULL},
    {"anthropic", A_TEXT(VERDICT, "max_tokens"), "cut off"},
    {"anthropic", A_CALL("verdict", VERDICT, "max_tokens"), "cut off"},
    {"anthropic", A_CALL("verdict", VERDICT, "refusal"), "refused"},
    {"anthropic", A_TEXT(VERDICT, "refusal"), "refused"},
    {"anthropic", A_TEXT(VERDICT, "pause_turn"), "pause_turn"},
    {"anthropic", A_TEXT(VERDICT, "stop_sequence"), "stop_sequence"},
    {"anthropic", A_TEXT(VERDICT, "interrupted"), "does not say why"},
    {"anthropic", A_TEXT("No. It prints " VERDICT, "end_turn"), "not one JSON object"},
    {"openai-chat", C_TEXT(VERDICT, "stop"), NULL},
    {"openai-chat", C_CALL("verdict", VERDICT, "stop"), NULL},
    {"openai-chat", C_TEXT(VERDICT, "eos"), NULL},
    {"openai-chat", C_TEXT(VERDICT, "length"), "cut off"},
    {"openai-chat", C_CALL("verdict", VERDICT, "length"), "cut off"},
    {"openai-chat", C_TEXT(VERDICT, "content_filter"), "refused"},
    {"openai-chat", C_CALL("verdict", VERDICT, "content_filter"), "refused"},
    {"openai-chat", CHAT("'refusal':'" VERDICT "'", "stop"), "refused"},
    {"openai-chat", C_TEXT(VERDICT, "load_shed"), "does not say why"},
    {"openai-chat", C_TEXT("No. It prints " VERDICT, "stop"), "not one JSON object"},
    {"openai-responses", RESPONSES(R_TEXT(VERDICT)), NULL},
    {"openai-responses",
     RESPONSES_END(R_TEXT(VERDICT), "incomplete",
                   "'status':'incomplete','incomplete_details':{'reason':'max_output_tokens'}"),
     "cut off"},
    {"openai-responses",
     RESPONSES_END(R_CALL("verdict", VERDICT), "incomplete",
                   "'status':'incomplete','incomplete_details':{'reason':'content_filter'}"),
     "refused"},
    {"openai-responses",
     RESPONSES("'type':'message','role':'assistant','content':[{'type':'refusal','refusal':"
               "'" VERDICT "'}]"),
     "refused"},
    {"openai-responses", RESPONSES_END(R_TEXT(VERDICT), "completed", "'status':'cancelled'"),
     "does not say why"},
    {"openai-responses", RESPONSES(R_TEXT("No. It prints " VERDICT)), "not one JSON object"},
    {"gemini", GEMINI_END("'text':'" VERDICT "'", "STOP"), NULL},
    {"gemini", GEMINI_END("'text':'" VERDICT "'", "MAX_TOKENS"), "cut off"},
    {"gemini",
     GEMINI_END("'functionCall':{'name':'verdict','args':{'ok':true,'reason':'seen'}}",
                "MAX_TOKENS"),
     "cut off"},
    {"gemini", GEMINI_END("'text':'" VERDICT "'", "SAFETY"), "refused"},
    {"gemini", GEMINI_END("'text':'" VERDICT "'", "PROHIBITED_CONTENT"), "refused"},
    {"gemini", GEMINI_END("'text':'" VERDICT "'", "OTHER"), "does not say why"},
    {"gemini", GEMINI_END("'text':'No. It prints " VERDICT "'", "STOP"), "not one JSON object"},
};

static void test_ends(void **state)
{
    struct hearing h = {.net = new_net()};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(end_cases); i++) {
        const struct end_case *row = &end_cases[i];
        CLEANUP(buf_release) struct buf said = BUF_INIT(10000);
        struct canned answer = {CANNED_EVENTS, STR(""), CANNED_CLOSE};

        add_quoted(&said, row->body);
        answer.body = buf_str(&said);
        hearing_run(&h, row->dialect, &answer, 1);
        if (!row->says && (h.result < 0 || !h.verdict.ok || h.verdict.steps != 1))
            fail_msg("%s, row %zu: %s", row->dialect, i, h.err.text);
        if (row->says && (h.result == 0 || h.verdict.ok || !h.verdict.is_unread ||
                          h.verdict.steps != 2 || !strstr(h.err.text, row->says)))
            fail_msg("%s, row %zu: %d, ok %d, %d steps: %s", row->dialect, i, h.result,
                     h.verdict.ok, h.verdict.steps, h.err.text);
        hearing_end(&h);
    }
    net_free(h.net);
}

#define REFUSES(text) "{'error':{'type':'invalid_request_error','message':'" text "'}}"

/* A server that refuses to be forced is asked without force; one without tools, for text. */
static void test_refuses(void **state)
{
    static const struct {
        const char *bodies[3]; /* of an error where it begins with a brace */
        size_t requests;
        const char *last; /* in the last request */
        bool is_there;
    } rows[] = {
        {{C_TEXT("Fine.", "stop"), REFUSES("tool_choice is not supported"),
          C_CALL("verdict", VERDICT, "tool_calls")},
         3,
         "'tool_choice'",
         false},
        {{C_TEXT("Fine.", "stop"), REFUSES("tool_choice is not supported"),
          C_TEXT(VERDICT, "stop")},
         3,
         "'name':'verdict'",
         true},
        {{REFUSES("this model does not support tools"), C_TEXT(VERDICT, "stop"), NULL},
         2,
         "'tools'",
         false},
        {{REFUSES("this model does not support tools"), C_TEXT("Fine.", "stop"),
          C_TEXT(VERDICT, "stop")},
         3,
         "as one JSON object",
         true},
    };
    struct hearing h = {.net = new_net()};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf said[3];
        struct canned answers[3];

        for (size_t k = 0; k < 3; k++) {
            const char *body = rows[i].bodies[k] ? rows[i].bodies[k] : "";

            buf_init(&said[k], 10000);
            add_quoted(&said[k], body);
            answers[k] = (struct canned){
                body[0] == '{' ? "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
                               : CANNED_EVENTS,
                buf_str(&said[k]), CANNED_CLOSE};
        }
        hearing_run(&h, "openai-chat", answers, ARRAY_LEN(answers));
        if (h.result < 0 || !h.verdict.ok || h.server.requests.len != rows[i].requests)
            fail_msg("row %zu: %s, %zu requests", i, h.err.text, h.server.requests.len);
        if (has(canned_request(&h.server, rows[i].requests - 1), rows[i].last) != rows[i].is_there)
            fail_msg("row %zu: %s", i, canned_request(&h.server, rows[i].requests - 1));
        hearing_end(&h);
        for (size_t k = 0; k < 3; k++)
            buf_release(&said[k]);
    }
    net_free(h.net);
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

UNIT_TEST(judge_wire)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_refuses),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
