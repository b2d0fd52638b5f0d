/*
 * The pretend model and the real dialects, held against each other without a socket between them: a
 * conversation of several turns, written by the dialect, read and answered by the speaker, decoded
 * by the dialect. The speakers are as strict as the vendors, so this also shows that every later
 * request brings back what it must. The same scenario must give the same events through all four.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "host.h"
#include "http.h"
#include "llm/dialect/dialect.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "llm/scenario/scenario.h"
#include "net/sse.h"
#include "plan.h"

static const struct door {
    const struct dialect *dialect;
    const char *provider;
    const char *model;
} doors[] = {
    {&dialect_anthropic, "anthropic", "claude-sonnet-5"},
    {&dialect_openai_chat, "openai", "gpt-5"},
    {&dialect_openai_responses, "openai", "gpt-5"},
    {&dialect_gemini, "gemini", "gemini-2.5-flash"},
    {&dialect_gemini, "gemini", "gemini-3-pro-preview"}, /* insists on ids and signatures */
};

#define MAX_MESSAGES 16

struct talk {
    const struct door *door;
    struct host host;
    struct model model;
    struct llm_request request;
    struct message *messages[MAX_MESSAGES];
    int status; /* of the last answer */
    struct buf events;
};

static void talk_init(struct talk *t, const struct door *door, const char *scenario, bool stream)
{
    struct err err = {0};

    *t = (struct talk){.door = door};
    host_init(&t->host);
    if (host_load(&t->host, str_of(scenario), "t", &err) < 0)
        fail_msg("%s", err.text);
    model_find(str_of(door->provider), str_of(door->model), &t->model);
    t->request = (struct llm_request){
        .model = &t->model,
        .system = STR("You are a test."),
        .messages = t->messages,
        .show_thinking = true,
        .no_stream = !stream,
    };
    buf_init(&t->events, BUF_NO_LIMIT);
}

static void talk_release(struct talk *t)
{
    for (size_t i = 0; i < t->request.message_count; i++)
        message_unref(t->messages[i]);
    host_release(&t->host);
    buf_release(&t->events);
}

static void talk_add(struct talk *t, struct message *m)
{
    assert_true(t->request.message_count < MAX_MESSAGES);
    t->messages[t->request.message_count++] = m;
}

/* The request as it would leave. */
static void write_request(struct talk *t, struct buf *out)
{
    const struct dialect *d = t->door->dialect;
    CLEANUP(strv_release) struct strv headers = STRV_INIT;
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    if (d->body(&t->request, &body, &err) < 0)
        fail_msg("%s: %s", d->name, err.text);
    d->headers(&t->request, STR("key"), false, &headers);
    buf_adds(out, "POST ");
    d->path(&t->request, out);
    buf_adds(out, " HTTP/1.1\r\n");
    for (size_t i = 0; i < headers.len; i++)
        buf_addf(out, "%s\r\n", headers.ptr[i]);
    buf_addf(out, "Content-Length: %zu\r\n\r\n", body.len);
    buf_add(out, buf_str(&body));
}

/* Status and body of a response as it would arrive. */
static int read_response(struct str in, struct buf *ret_body)
{
    size_t head = str_find(in, STR("\r\n\r\n"));
    int64_t status = 0;
    struct str rest = str_from(in, head + 4);
    bool chunked = str_has(str_first(in, head), STR("transfer-encoding: chunked"));

    assert_int_equal(str_to_i64(str_first(str_from(in, 9), 3), &status, NULL), 0);
    if (!chunked)
        buf_add(ret_body, rest);
    while (chunked) {
        size_t line = str_find(rest, STR("\r\n"));
        size_t n = strtoul(rest.ptr, NULL, 16);

        assert_true(line + 2 + n + 2 <= rest.len);
        buf_add(ret_body, str_first(str_from(rest, line + 2), n));
        rest = str_from(rest, line + 2 + n + 2);
        chunked = n > 0;
    }
    return (int)status;
}

struct decoding {
    const struct dialect *dialect;
    struct decoder *decoder;
    struct llm_fault fault;
};

static int on_event(struct str name, struct str data, void *arg, struct err *err)
{
    struct decoding *d = arg;

    return d->dialect->event(d->decoder, name, data, &d->fault, err);
}

static void decode(struct talk *t, struct str body, struct decoding *d)
{
    struct sse *sse = sse_new(1 << 20, on_event, d);
    struct err err = {0};
    int r;

    if (t->request.no_stream) {
        r = d->dialect->whole(d->decoder, body, &d->fault, &err);
    } else {
        r = sse_feed(sse, body, &err);
        if (r == 0)
            r = sse_end(sse, &err);
        if (r == 0)
            r = d->dialect->end(d->decoder, &d->fault, &err);
    }
    sse_free(sse);
    if (r < 0)
        buf_addf(&t->events, "failed %s\n", d->fault.retry ? "retry" : "for good");
}

/* What only one vendor has is left out: the model's name and the signature. */
static void keep_common(struct str events, struct buf *out)
{
    struct str line;

    while (str_cut(&events, '\n', &line)) {
        size_t signature = str_find(line, STR(" signature="));

        if (!line.len || str_starts(line, STR("start ")))
            continue;
        buf_add(out, str_first(line, signature));
        buf_addc(out, '\n');
    }
}

/* One call; the answer is added to the conversation, its events to t->events. */
static void ask(struct talk *t)
{
    CLEANUP(buf_release) struct buf wire = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    struct event_check check = EVENT_CHECK_INIT;
    struct reply *reply = reply_new(event_check_fn, &check);
    struct decoding d = {.dialect = t->door->dialect};
    struct http_request http = {0};
    struct plan plan = {0};
    struct err err = {0};

    write_request(t, &wire);
    assert_int_equal(http_parse(buf_str(&wire), &http, &err), 1);
    host_answer(&t->host, &http, 1, &(struct record_times){0}, &plan);
    t->status = read_response(buf_str(&plan.out.bytes), &body);
    if (t->status == 200) {
        reply_origin(reply, str_of(t->door->provider), str_of(t->door->model));
        d.decoder = d.dialect->decoder_new(&t->request, reply);
        decode(t, buf_str(&body), &d);
        keep_common(buf_str(&check.text), &t->events);
        if (reply_is_finished(reply))
            talk_add(t, reply_take(reply));
        d.dialect->decoder_free(d.decoder);
    } else {
        buf_addf(&t->events, "%d %s\n", t->status, buf_cstr(&body));
    }
    http_request_release(&http);
    plan_release(&plan);
    reply_free(reply);
    event_check_release(&check);
}

/* Answers every call of the last message with `text`. */
static void give_results(struct talk *t, const char *text)
{
    const struct message *last = t->messages[t->request.message_count - 1];
    struct message *m = message_new(ROLE_USER, last->len);

    for (size_t i = 0; i < last->len; i++) {
        struct block inside = {.kind = BLOCK_TEXT, .text = str_of(text)};
        struct block result = {
            .kind = BLOCK_TOOL_RESULT,
            .id = last->blocks[i].id,
            .name = last->blocks[i].name,
            .content = &inside,
            .content_len = 1,
        };

        if (last->blocks[i].kind == BLOCK_TOOL_USE)
            message_add(m, &result);
    }
    talk_add(t, m);
}

static void check_events(const struct talk *t, const char *expected)
{
    if (!str_is(buf_str(&t->events), expected))
        fail_msg("%s %s%s\n--- got\n%s--- expected\n%s", t->door->dialect->name, t->door->model,
                 t->request.no_stream ? " unstreamed" : "", buf_cstr(&t->events), expected);
}

static void test_same_through_all(void **state)
{
    static const char scenario[] = "chunk 3\n"
                                   "step one\n"
                                   "  if-prompt hello\n"
                                   "  if-system \"a test\"\n"
                                   "  think Let me see: caf\xc3\xa9.\n"
                                   "  text I will look.\n"
                                   "  call Bash {\"command\": \"ls -l\"}\n"
                                   "  call Read {\"file_path\": \"/a\"}\n"
                                   "  usage input=12 output=7 cache_read=3 thinking=2\n"
                                   "step two\n"
                                   "  if-result \"FAILED\"\n"
                                   "  if-prompt hello\n"
                                   "  think Again.\n"
                                   "  call Bash {\"n\": 1}\n"
                                   "  usage input=20 output=5 thinking=1\n"
                                   "step three\n"
                                   "  if-result \"passed\"\n"
                                   "  text Done \xf0\x9f\x98\x80.\n"
                                   "  usage input=30 output=4 cache_read=10\n"
                                   "step four\n"
                                   "  if-prompt thanks\n"
                                   "  text Welcome.\n"
                                   "  stop max_tokens\n"
                                   "  usage input=1 output=1\n";
    static const char expected[] = "0 thinking [Let me see: caf\xc3\xa9.]\n"
                                   "1 text [I will look.]\n"
                                   "2 tool_use Bash [{\"command\": \"ls -l\"}]\n"
                                   "3 tool_use Read [{\"file_path\": \"/a\"}]\n"
                                   "stop tool_use in=12 out=7 read=3 write=0/0 think=2\n"
                                   "0 thinking [Again.]\n"
                                   "1 tool_use Bash [{\"n\": 1}]\n"
                                   "stop tool_use in=20 out=5 read=0 write=0/0 think=1\n"
                                   "0 text [Done \xf0\x9f\x98\x80.]\n"
                                   "stop end_turn in=30 out=4 read=10 write=0/0 think=0\n"
                                   "0 text [Welcome.]\n"
                                   "stop max_tokens in=1 out=1 read=0 write=0/0 think=0\n";

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(doors); i++) {
        CLEANUP(buf_release) struct buf left = BUF_INIT(1000);
        struct talk t;

        talk_init(&t, &doors[i / 2], scenario, i % 2 == 0);
        talk_add(&t, message_user_text(STR("hello")));
        ask(&t);
        give_results(&t, "2 tests FAILED");
        ask(&t);
        give_results(&t, "all passed");
        ask(&t);
        talk_add(&t, message_user_text(STR("thanks")));
        ask(&t);
        check_events(&t, expected);
        assert_int_equal(host_leftovers(&t.host, &left), 0);
        talk_release(&t);
    }
}

static const struct stop_case {
    const char *stop;
    const char *expected[4]; /* by dialect, as in the table of doors; NULL: as the first */
} stop_cases[] = {
    {"end_turn", {"end_turn", NULL, NULL, NULL}},
    {"max_tokens", {"max_tokens", NULL, NULL, NULL}},
    {"refusal", {"refusal", NULL, NULL, NULL}},
    {"pause_turn", {"pause_turn", "end_turn", "end_turn", "end_turn"}},
    {"stop_sequence \"##\"", {"stop_sequence [##]", "end_turn", "end_turn", "end_turn"}},
    {"model_context_window_exceeded",
     {"model_context_window_exceeded", NULL, "max_tokens", "max_tokens"}},
};

static void test_stops(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stop_cases); i++) {
        for (size_t k = 0; k < 4; k++) {
            const struct stop_case *c = &stop_cases[i];
            const char *word = c->expected[k] ? c->expected[k] : c->expected[0];
            CLEANUP(buf_release) struct buf scenario = BUF_INIT(1000);
            struct str line, all;
            struct talk t;

            buf_addf(&scenario, "step\n text x\n stop %s\n", c->stop);
            talk_init(&t, &doors[k], buf_cstr(&scenario), true);
            talk_add(&t, message_user_text(STR("hello")));
            ask(&t);
            all = buf_str(&t.events);
            str_cut(&all, '\n', &line);
            str_cut(&all, '\n', &line);
            line = str_from(line, 5);
            if (!str_starts(line, str_of(word)))
                fail_msg("%s through %s: got '%s', expected '%s'", c->stop, doors[k].dialect->name,
                         buf_cstr(&t.events), word);
            talk_release(&t);
        }
    }
}

/* An error in the middle is worth a retry everywhere, and the retry succeeds. */
static void test_error_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(doors); i++) {
        struct talk t;

        talk_init(&t, &doors[i], "step\n text Hello\n fault error \"boom\"\n text !\n", true);
        talk_add(&t, message_user_text(STR("hello")));
        ask(&t);
        assert_true(str_ends(buf_str(&t.events), STR("failed retry\n")));
        buf_clear(&t.events);
        ask(&t);
        assert_true(str_starts(buf_str(&t.events), STR("0 text [Hello!]\nstop end_turn ")));
        talk_release(&t);
    }
}

/* As strict as the vendors: what a client must not do, and a part of the complaint. */
static const struct strict_case {
    const char *request; /* with ' for " */
    const char *complaint;
} strict_cases[] = {
    {"/v1/messages {'model':'m','messages':[{'role':'user','content':'x'}]}", "max_tokens"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[]}", "at least one message"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'assistant','content':'x'}]}",
     "first message"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'user','content':[{'type':"
     "'text','text':''}]}]}",
     "non-empty"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'user','content':'x'},{'role':"
     "'assistant','content':[{'type':'tool_use','id':'a','name':'B','input':{}}]},{'role':'user',"
     "'content':'y'}]}",
     "without `tool_result`"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'user','content':[{'type':"
     "'tool_result','tool_use_id':'a','content':'y'}]}]}",
     "unexpected `tool_use_id`"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'user','content':'x'},{'role':"
     "'assistant','content':[{'type':'thinking','thinking':'hm','signature':'forged'}]}]}",
     "Invalid `signature`"},
    {"/v1/messages "
     "{'model':'m','max_tokens':9999,'thinking':{'type':'enabled','budget_tokens':2000},"
     "'messages':[{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'tool_use',"
     "'id':'a','name':'B','input':{}}]},{'role':'user','content':[{'type':'tool_result',"
     "'tool_use_id':'a','content':'y'}]}]}",
     "must start with a thinking block"},
    {"/v1/messages {'model':'m','max_tokens':1,'messages':[{'role':'user','content':'x'},{'role':"
     "'assistant','content':'y'}]}",
     "must end with a user message"},
    {"/v1/chat/completions {'model':'m','messages':[]}", "too short"},
    {"/v1/chat/completions {'model':'m','messages':[{'role':'tool','tool_call_id':'a','content':"
     "'x'}]}",
     "preceding message"},
    {"/v1/chat/completions {'model':'m','messages':[{'role':'assistant','content':null,"
     "'tool_calls':[{'id':'a','type':'function','function':{'name':'B','arguments':'{}'}}]},"
     "{'role':'user','content':'x'}]}",
     "must be followed by tool messages"},
    {"/v1/responses {'model':'m','input':[{'type':'function_call_output','call_id':'a','output':"
     "'x'}]}",
     "No tool call found"},
    {"/v1/responses {'model':'m','input':[{'type':'function_call','call_id':'a','name':'B',"
     "'arguments':'{}'}]}",
     "No tool output found"},
    {"/v1/responses {'model':'m','input':[{'role':'user','content':'x'},{'type':'reasoning',"
     "'summary':[]}]}",
     "required following item"},
    {"/v1beta/models/gemini-3:generateContent {'contents':[{'role':'user','parts':[{'text':'x'}]},"
     "{'role':'model','parts':[{'functionCall':{'name':'B','args':{}}}]},{'role':'user','parts':[{"
     "'functionResponse':{'name':'B','response':{'output':'y'}}}]}]}",
     "missing a thought_signature"},
    {"/v1beta/models/m:generateContent {'contents':[{'role':'user','parts':[{'text':'x'}]},{'role':"
     "'model','parts':[{'functionCall':{'name':'B','args':{}}}]},{'role':'user','parts':[{'text':"
     "'y'}]}]}",
     "equal to the number of function call parts"},
    {"/v1/messages nonsense", "not a JSON object"},
};

static void test_strict(void **state)
{
    static struct host host;

    (void)state;
    host_init(&host);
    for (size_t i = 0; i < ARRAY_LEN(strict_cases); i++) {
        const struct strict_case *c = &strict_cases[i];
        CLEANUP(buf_release) struct buf in = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf body = BUF_INIT(10000);
        struct str rest = str_of(c->request), path;
        struct http_request http = {0};
        struct plan plan = {0};
        int status;

        str_cut(&rest, ' ', &path);
        buf_addf(&in, "POST %.*s HTTP/1.1\r\nanthropic-version: x\r\ncontent-length: %zu\r\n\r\n",
                 STR_ARG(path), rest.len);
        buf_add(&in, rest);
        for (char *p = in.ptr; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        assert_int_equal(http_parse(buf_str(&in), &http, NULL), 1);
        host_answer(&host, &http, 1, &(struct record_times){0}, &plan);
        status = read_response(buf_str(&plan.out.bytes), &body);
        if (status != 400 || !str_has(buf_str(&body), str_of(c->complaint)))
            fail_msg("row %zu: %d %s\nexpected %s", i, status, buf_cstr(&body), c->complaint);
        plan_release(&plan);
        http_request_release(&http);
    }
    host_release(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_through_all),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_error_event),
        cmocka_unit_test(test_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
