/*
 * Facts about a session: what fills its window, its instruction files, the conversation so far.
 * Uses only data that any thread may read (settings, files, the agent's counters), so that the
 * caller does not wait for the agent. Any thread.
 */
#include <math.h>

#include "agent/agent.h"
#include "agent/recall.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "context/context.h"
#include "host/host_state.h"
#include "host/session.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/room.h"
#include "net/net.h"
#include "store/transcript/load.h"

#define LOOK_MAX_PROMPT ((size_t)4 << 20)

const char *host_transcript(const struct host *h)
{
    return session_is_kept(h->session) ? session_path(h->session) : "";
}

const char *host_folder(const struct host *h)
{
    return session_folder(h->session);
}

void host_title(struct host *h, struct buf *ret)
{
    session_name(h->session, ret);
}

int host_instructions(struct host *h, struct cancel *cancel, struct instructions *ret,
                      struct err *err)
{
    struct briefing_parts parts = {.workspace = h->workspace, .permit = h->permit};
    struct context_spec spec = briefing_spec(h->conf, h->args, &parts);

    return context_instructions(&spec, cancel, ret, err);
}

/* As counted by the provider, if known. */
static int64_t host_used(struct host *h)
{
    return agent_context_tokens(h->agent);
}

void host_past(struct host *h, struct host_past *ret)
{
    *ret = h->past;
}

int host_fill(struct host *h, struct cancel *cancel, struct host_fill *ret, struct err *err)
{
    CLEANUP(instructions_release) struct instructions files = {0};
    CLEANUP(buf_release) struct buf system = BUF_INIT(LOOK_MAX_PROMPT);
    struct model model;
    struct window_room room;
    int64_t rest;

    if (host_instructions(h, cancel, &files, err) < 0)
        return -1;
    models_figures(&h->models, &model);
    room_of(h->conf, &model, &room);
    prompt_system(&h->prompt, h->conf, &system);
    *ret = (struct host_fill){
        .window = model.window,
        .compact_at = room.automatic ? room.compact_at : 0,
        .used = host_used(h),
        .system = (int64_t)(system.len / ROOM_TOKEN_BYTES),
        .instructions = (int64_t)(files.bytes / ROOM_TOKEN_BYTES),
    };
    gate_take(&h->gate);
    ret->tools = (int64_t)(toolbox_bytes(h->toolbox) / ROOM_TOKEN_BYTES);
    gate_give(&h->gate);
    /* The estimated parts must not exceed the provider's total. */
    rest = ret->system + ret->tools + ret->instructions;
    if (ret->used && rest > ret->used) {
        ret->system = ret->system * ret->used / rest;
        ret->tools = ret->tools * ret->used / rest;
        ret->instructions = ret->instructions * ret->used / rest;
        rest = ret->system + ret->tools + ret->instructions;
    }
    if (ret->used)
        ret->messages = ret->used - rest;
    return 0;
}

int host_recall(struct host *h, struct cancel *cancel, struct recall *ret, struct err *err)
{
    const char *path = host_transcript(h);
    struct load *load = NULL;
    int rc;

    if (!*path)
        return err_set(err, ERR_NOT_FOUND, "this session is not saved");
    if (!file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "the session has no messages yet");
    if (load_open(path, &(struct load_spec){0}, cancel, &load, err) < 0)
        return -1;
    rc = recall_read(load, cancel, ret, err);
    load_free(load);
    return rc;
}

/* Not while another thread does the same to start the agent. */
static int look_connect(struct host *h, struct err *err)
{
    int rc;

    (void)host_hold(h);
    rc = host_connect(h, err);
    host_let_go(h);
    return rc;
}

/* The agent records the session's cost and is started for that; otherwise the cost would be lost if
 * the process does nothing else. */
static void look_paid(struct host *h)
{
    (void)host_agent(h, /*err=*/NULL);
}

int host_ask_of(struct host *h, struct provider *provider, struct str system, struct str question,
                int64_t max_tokens, struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(llm_call_result_release) struct llm_call_result answer = {0};
    CLEANUP(message_unrefp) struct message *message = message_user_text(question);
    struct llm_call_options options = {.provider = provider};
    struct llm_request request = {
        .model = &provider->model,
        .system = system,
        .messages = &message,
        .message_count = 1,
        .max_tokens = max_tokens,
        .effort = EFFORT_LOW,
        .thinking = THINKING_OFF,
        .cache = CACHE_OFF,
    };

    struct spending_call paid;
    int r;

    if (provider->dialect && look_connect(h, err) < 0)
        return -1;
    if (spending_begin(h->spending, SPENT_ASIDE, &request, cancel, &paid, err) < 0)
        return -1;
    r = llm_call_run(h->net, &options, &request, cancel, /*fn=*/NULL, /*arg=*/NULL, &answer, err);
    if (r == 0)
        spending_book_usage(&paid, answer.model, &answer.usage);
    spending_settle(&paid);
    if (r < 0)
        return -1;
    look_paid(h);
    message_text(answer.message, ret);
    return 0;
}

int host_ask_model(struct host *h, struct str system, struct str question, int64_t max_tokens,
                   struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(provider_release) struct provider provider = {0};
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

    host_say_model(h, &name);
    if (provider_select(h->conf, buf_str(&name), cancel, &provider, err) < 0)
        return -1;
    return host_ask_of(h, &provider, system, question, max_tokens, cancel, ret, err);
}
