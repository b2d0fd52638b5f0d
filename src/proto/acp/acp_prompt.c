/*
 * acp_prompt: session/prompt from the request to its one answer. The loop's thread.
 *
 * A prompt waits in the session's queue like any other input. Its turn is known by its uuid; the
 * answer comes after the last update of the turn, and for a prompt that has started a goal, when
 * the goal has come to rest.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/message.h"
#include "proto/acp/acp_state.h"
#include "proto/thread_goal.h"
#include "slash/slash.h"

static void prompt_free(struct acp_prompt *p)
{
    mem_freep(&p);
}

static struct acp_prompt *find_prompt(struct acp_view *v, struct str uuid)
{
    VEC_EACH(&v->prompts, it) {
        if (uuid.len && str_is(uuid, (*it)->uuid))
            return *it;
    }
    return NULL;
}

/* It is answered; the caller has the call. */
static struct rpc_call *take_prompt(struct acp_view *v, struct acp_prompt *p)
{
    struct rpc_call *call = p->call;

    for (size_t i = 0; i < v->prompts.len; i++) {
        if (v->prompts.ptr[i] != p)
            continue;
        memmove(&v->prompts.ptr[i], &v->prompts.ptr[i + 1],
                (v->prompts.len - i - 1) * sizeof(struct acp_prompt *));
        v->prompts.len--;
    }
    prompt_free(p);
    return call;
}

static void answer(struct acp_view *v, struct acp_prompt *p, const char *reason)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
    const struct llm_usage u = p->usage;
    struct rpc_call *call = take_prompt(v, p);
    struct jw w;

    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "stopReason", reason);
    jw_key(&w, "usage");
    jw_object(&w);
    jw_ki64(&w, "totalTokens", u.input + u.output + u.cache_read + u.cache_write);
    jw_ki64(&w, "inputTokens", u.input);
    jw_ki64(&w, "outputTokens", u.output);
    jw_ki64(&w, "cachedReadTokens", u.cache_read);
    jw_ki64(&w, "cachedWriteTokens", u.cache_write);
    jw_object_end(&w);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

static void refuse(struct acp_view *v, struct acp_prompt *p, const struct turn_report *r)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf line = BUF_INIT(ACP_MAX_TEXT);
    bool is_auth = r->api_status == 401 || str_is(r->category, "authentication_failed");
    struct rpc_call *call = take_prompt(v, p);
    struct str text = r->error.len ? r->error : r->result;
    struct jw w;

    jw_init(&w, &data, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "category", r->category.len ? r->category : str_of(turn_end_name(r->end)));
    if (r->api_status)
        jw_ki64(&w, "status", r->api_status);
    jw_object_end(&w);
    buf_add(&line, str_first(text, str_chr(text, '\n')));
    rpc_refuse(call, is_auth ? RPC_AUTH : RPC_INTERNAL,
               line.len ? buf_str(&line) : STR("the turn failed"), buf_str(&data));
}

/* ---- In ---- */

struct prompt_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    struct agent_input input;
    char uuid[ID_UUID_LEN + 1];
};

/* A chore of the session. The user is asked once about a folder whose settings could do harm; an
 * unanswered question counts as no. */
static void send_run(struct call_chore *c)
{
    struct prompt_chore *p = (struct prompt_chore *)c;
    struct host *h = c->live->host;
    struct err err = {0};

    if (conf_lacks_trust(host_conf(h)))
        (void)host_ask_trust(h, /*again=*/false, &err);
    (void)slash_send(c->live->slash, &p->input, &c->err);
}

static void interrupt(struct acp_view *v)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;

    slash_interrupt(v->view->live->slash);
    host_interrupt(v->view->live->host, /*drop_queued=*/false, &queued);
}

/* True: it waited, and is answered now. Otherwise it answers when its turn has ended. */
static bool cancel_prompt(struct acp_view *v, struct acp_prompt *p)
{
    p->is_cancelled = true;
    if (!p->is_taken || p->has_begun || !host_unqueue(v->view->live->host, str_of(p->uuid)))
        return false;
    answer(v, p, "cancelled");
    return true;
}

static void send_answer(struct call_chore *c)
{
    struct prompt_chore *chore = (struct prompt_chore *)c;
    struct client_view *view = client_view(c->client, str_of(chore->session));
    struct acp_view *v = view ? acp_view_of(view) : NULL;
    struct acp_prompt *p = v ? find_prompt(v, str_of(chore->uuid)) : NULL;

    if (!p)
        return;
    p->is_taken = true;
    if (!p->is_cancelled)
        return;
    /* Text from before the cancel arrived: a turn is ended when it is known to be the prompt's. */
    if (!cancel_prompt(v, p))
        slash_interrupt(v->view->live->slash);
}

/* The prompt of a call that could not be sent is answered by its error. */
static void send_release(struct call_chore *c)
{
    struct prompt_chore *chore = (struct prompt_chore *)c;
    struct client_view *view = client_view(c->client, str_of(chore->session));
    struct acp_view *v = view ? acp_view_of(view) : NULL;
    struct acp_prompt *p = v ? find_prompt(v, str_of(chore->uuid)) : NULL;

    agent_input_release(&chore->input);
    if (!p || !c->err.code)
        return;
    if (p->is_cancelled)
        answer(v, p, "cancelled");
    else
        rpc_refuse(take_prompt(v, p), acp_code(&c->err), str_of(c->err.text), STR(""));
}

static void send_failed(struct call_chore *c)
{
    (void)c;
}

void acp_prompt(struct acp *a, struct rpc_call *call)
{
    struct acp_view *v = acp_view_for(a, call);
    struct prompt_chore *c;
    struct message *message;
    struct acp_prompt *p;
    struct err err = {0};

    if (!v)
        return;
    if (acp_content(json_get(call->params, "prompt"), &message, &err) < 0) {
        rpc_refuse(call, RPC_PARAMS, str_of(err.text), STR(""));
        return;
    }
    p = mem_zalloc(sizeof(*p));
    p->call = call;
    id_uuid(p->uuid);
    vec_push(&v->prompts, p);
    c = call_chore_new(sizeof(*c), a->client, /*call=*/NULL, v->view->live, send_run);
    memcpy(c->uuid, p->uuid, sizeof(p->uuid));
    memcpy(c->session, v->view->live->id, sizeof(c->session));
    memcpy(c->input.uuid, p->uuid, sizeof(p->uuid));
    c->input.message = message;
    c->base.answer = send_answer;
    c->base.failed = send_failed;
    c->base.release = send_release;
    call_chore_start(c);
}

/* ---- Cancelled ---- */

void acp_cancel(struct acp_view *v)
{
    if (!v->prompts.len && !v->in_turn && !v->is_running)
        return;
    /* The first one last: those that wait must not begin when it ends. */
    for (size_t i = v->prompts.len; i > 1; i--)
        v->prompts.ptr[i - 1]->is_cancelled = true;
    if (v->prompts.len)
        v->prompts.ptr[0]->is_cancelled = true;
    interrupt(v);
    for (size_t i = v->prompts.len; i > 0; i--)
        (void)cancel_prompt(v, v->prompts.ptr[i - 1]);
    interrupt(v);
    acp_asks_refuse(v); /* not before: with a no, the agent would ask the model what now */
    view_take_back_asks(v->view);
}

void acp_prompt_taken_back(struct acp_view *v, struct rpc_call *call)
{
    VEC_EACH(&v->prompts, it) {
        struct acp_prompt *p = *it;

        if (p->call != call)
            continue;
        if (!cancel_prompt(v, p) && p->has_begun)
            interrupt(v);
        return;
    }
}

/* ---- What becomes of it ---- */

bool acp_prompt_heard(struct acp_view *v, struct str uuid)
{
    struct acp_prompt *p = find_prompt(v, uuid);

    buf_clear(&v->user);
    buf_add(&v->user, uuid);
    if (p)
        p->has_begun = true;
    return p;
}

void acp_prompt_turn_started(struct acp_view *v, const struct event *e)
{
    struct acp_prompt *p = find_prompt(v, e->id);

    v->in_turn = true;
    acp_say_state(v, /*is_running=*/true);
    acp_say_options(v);
    if (!p)
        return;
    p->has_begun = true;
    /* It was cancelled after it had left the queue and before its turn began. Only that turn ends:
     * another one may be running by now. */
    if (p->is_cancelled)
        host_interrupt_turn(v->view->live->host, e->turn);
}

/* A command that has answered while a turn ran: it begins none. */
void acp_prompt_command(struct acp_view *v, const struct event *e)
{
    struct acp_prompt *p = find_prompt(v, buf_str(&v->user));

    if (p)
        p->is_command = true;
    if (p && e->state == STATE_RUNNING && v->in_turn)
        answer(v, p, p->is_cancelled ? "cancelled" : "end_turn");
}

static const char *stop_reason(const struct turn_report *r)
{
    if (r->end == END_ABORTED_STREAMING || r->end == END_ABORTED_TOOLS)
        return "cancelled";
    if (r->end == END_MAX_TURNS)
        return "max_turn_requests";
    if (r->stop == STOP_REFUSAL)
        return "refusal";
    if (r->end == END_BUDGET || r->stop == STOP_MAX_TOKENS || r->stop == STOP_CONTEXT_FULL)
        return "max_tokens";
    if (r->goal.subtype || !r->is_error) /* a goal that has stopped is no failure of the turn */
        return "end_turn";
    return NULL;
}

/* The running one; NULL: the turn belongs to no prompt. */
static struct acp_prompt *running(struct acp_view *v)
{
    VEC_EACH(&v->prompts, it) {
        if ((*it)->has_begun)
            return *it;
    }
    return NULL;
}

static void add_usage(struct llm_usage *to, const struct llm_usage *u)
{
    to->input += u->input;
    to->output += u->output;
    to->cache_read += u->cache_read;
    to->cache_write += u->cache_write;
}

void acp_prompt_turn_done(struct acp_view *v, const struct event *e)
{
    struct acp_prompt *p = running(v);
    const struct turn_report *r = e->report;
    const char *reason = stop_reason(r);

    v->in_turn = false;
    acp_say_title(v);
    if (!p) {
        acp_say_state(v, /*is_running=*/false);
        if (r->is_error && r->error.len)
            acp_say_notice(v, "error", r->error);
        return;
    }
    add_usage(&p->usage, &r->usage);
    if (!p->is_cancelled && thread_goal_goes_on(v->view->live->host, r))
        return;
    acp_say_state(v, /*is_running=*/false);
    if (p->is_cancelled)
        answer(v, p, "cancelled");
    else if (reason || p->is_command)
        answer(v, p, reason ? reason : "end_turn");
    else
        refuse(v, p, r);
}

/* The client is gone, or the session is: no answer is needed, or it is this one. */
void acp_prompts_free(struct acp_view *v)
{
    while (v->prompts.len)
        answer(v, v->prompts.ptr[0], "cancelled");
    vec_release(&v->prompts);
}
