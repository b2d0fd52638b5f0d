/*
 * What a client of `tenax acp` or `tenax app-server` sends, line by line; the first byte chooses
 * the form of the wire. Whatever the lines hold: each line that is sent is one JSON object, each
 * request is answered once, questions of ours end once, and no more than RPC_MAX_CALLS requests
 * wait.
 */
#include "proto/rpc/rpc.h"

#include "base/vec.h"
#include "fuzz.h"
#include "json/json.h"

#define QUESTIONS 3

struct side {
    struct rpc *rpc;
    bool is_bare;
    VEC(struct rpc_call *) calls; /* to be answered later */
    size_t taken, answered;       /* requests; answers to them that were sent */
    int asked[QUESTIONS];         /* how often each was answered */
};

static void on_send(void *arg, struct str line)
{
    struct side *s = arg;
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    FUZZ_CHECK(line.len && line.ptr[line.len - 1] == '\n');
    FUZZ_CHECK(str_chr(line, '\n') == line.len - 1);
    FUZZ_CHECK(json_parse(&arena, line, &v, NULL, NULL) == 0 && json_is(v, JSON_OBJECT));
    FUZZ_CHECK(str_is(json_get_str(v, "jsonrpc"), "2.0") == !s->is_bare);
    if (!json_get(v, "method"))
        FUZZ_CHECK((json_get(v, "result") != NULL) != (json_get(v, "error") != NULL));
    s->answered += json_get(v, "result") != NULL;
    arena_release(&arena);
}

static void on_request(void *arg, struct rpc_call *call)
{
    struct side *s = arg;

    s->taken++;
    FUZZ_CHECK(rpc_open_calls(s->rpc) <= RPC_MAX_CALLS);
    if (str_is(call->method, "now"))
        rpc_answer(call, STR("{\"a\":1}"));
    else if (str_is(call->method, "no"))
        rpc_refuse(call, RPC_METHOD, call->method, STR(""));
    else
        vec_push(&s->calls, call);
}

static void on_notified(void *arg, struct str method, const struct json *params)
{
    struct side *s = arg;

    (void)params;
    if (str_is(method, "next") && s->calls.len)
        rpc_answer(s->calls.ptr[--s->calls.len], STR(""));
}

static void on_taken_back(void *arg, struct rpc_call *call)
{
    (void)arg;
    FUZZ_CHECK(call->is_over);
}

static void on_answer(void *arg, const struct json *result, const struct json *error)
{
    FUZZ_CHECK(!result || !error);
    FUZZ_CHECK(++*(int *)arg == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side s = {0};
    struct rpc_spec spec = {.send = on_send,
                            .request = on_request,
                            .notified = on_notified,
                            .taken_back = on_taken_back,
                            .arg = &s};
    struct str rest;
    struct str line;

    if (!size)
        return 0;
    s.is_bare = spec.is_bare = data[0] & 1;
    s.rpc = rpc_new(&spec);
    for (int i = 0; i < QUESTIONS; i++)
        rpc_ask(s.rpc, "question", STR("{}"), on_answer, &s.asked[i]);
    rest = str_make((const char *)data + 1, size - 1);
    while (str_cut(&rest, '\n', &line))
        rpc_line(s.rpc, line);
    rpc_line(s.rpc, rest);
    FUZZ_CHECK(s.answered <= s.taken);
    FUZZ_CHECK(rpc_open_calls(s.rpc) == s.calls.len);
    rpc_close(s.rpc);
    for (int i = 0; i < QUESTIONS; i++)
        FUZZ_CHECK(s.asked[i] == 1);
    VEC_EACH(&s.calls, call) {
        FUZZ_CHECK((*call)->is_over);
        rpc_answer(*call, STR(""));
    }
    vec_release(&s.calls);
    return 0;
}
