/*
 * The main agent of a host. host_make_agent() creates it together with the host; host_prepare()
 * starts it with the first input, on the sender's thread. The rest is for any thread.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/journal.h"
#include "agent/recall.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/surroundings.h"
#include "goal/goal.h"
#include "guard/sandbox.h"
#include "hooks/runner.h"
#include "host/asks.h"
#include "host/child.h"
#include "host/events/event_log.h"
#include "host/extra.h"
#include "host/goals.h"
#include "host/host_state.h"
#include "host/hub.h"
#include "host/mentioned.h"
#include "host/record/record.h"
#include "host/record/typed.h"
#include "host/reload.h"
#include "host/session.h"
#include "host/watch.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "store/transcript/load.h"
#include "tasks/definition.h"
#include "tasks/team/team.h"

/* ---- Creation ---- */

/* Runs slow work in parallel, unless host_begin() has started it: git works while libcurl is loaded
 * and files are read. */
static int host_gather(struct host *h, struct err *err)
{
    const struct recall *past = session_recall(h->session);
    struct surroundings *around = TAKE_PTR(h->around);

    h->briefing.parts.sandbox = sandbox_in_force(h->sandbox, h->permit);
    h->briefing.parts.permit = h->permit;
    if (!around)
        around = briefing_start(&h->briefing, past);
    if (host_connect(h, err) < 0) {
        surroundings_free(around);
        return -1;
    }
    return briefing_gather(&h->briefing, past, around, h->cancel, err);
}

/* Until libcurl is loaded no thread can be started (net.h). */
static int host_await_net(struct host *h, struct err *err)
{
    return h->net && models_need_net(&h->models) ? net_loaded(h->net, err) : 0;
}

/* How tenax was started, in the form that viewers of transcripts expect. */
const char *host_entrypoint(const struct host *h)
{
    const char *said = conf_env(h->conf, "CLAUDE_CODE_ENTRYPOINT");

    if (said && *said)
        return said;
    return h->is_interactive ? "cli" : "sdk-cli";
}

struct record *host_record(struct host *h)
{
    return session_begin(h->session, h->workspace, asks_asker(h->asks), host_entrypoint(h),
                         host_on_trouble, h);
}

/* Records the mode in the transcript if it is not there, for a later resume. */
static void host_record_mode(struct host *h)
{
    const struct load_facts *facts = session_facts(h->session);
    const char *now = permit_mode_name(permit_mode(h->permit));
    const char *then = permit_mode_name(MODE_DEFAULT);

    if (facts && facts->permission_mode.len && strcmp(session_source(h->session), "fork") != 0)
        then = buf_cstr(&facts->permission_mode);
    if (strcmp(now, then) != 0)
        session_mode(h->session, str_of(now));
}

/* A failure does not prevent the session. */
static void host_start_log(struct host *h)
{
    CLEANUP(buf_release) struct buf folder = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    if (h->log || !session_is_kept(h->session) || !conf_get_bool(h->conf, "eventLog", true))
        return;
    session_log_folder(h->session, &folder);
    h->log =
        event_log_start(h->feed, session_id(h->session), buf_cstr(&folder), EVENT_LOG_MAX, &err);
    if (!h->log)
        log_debug("host", "no event log: %s", err.text);
}

void host_refresh(void *arg)
{
    struct host *h = arg;

    reload_look(h->reload);
    watch_look(h->watch, host_on_file, h);
    host_refresh_mcp(h);
}

static void host_settled(void *arg)
{
    struct host *h = arg;

    if (h->on_settled)
        h->on_settled(h->on_settled_arg);
}

void host_on_settled(struct host *h, void (*fn)(void *arg), void *arg, void (*release)(void *arg))
{
    h->on_settled = fn;
    h->on_settled_arg = arg;
    h->on_settled_release = release;
}

bool host_has_settled(struct host *h)
{
    struct agent *a = host_running(h);

    return !a || agent_has_settled(a);
}

/* Creates it with what is known at the start; the rest is set with the first input. */
void host_make_agent(struct host *h)
{
    struct provider models[MODELS_MAX] = {{0}};
    struct agent_spec spec = {
        .identity = {.session = session_id(h->session),
                     .agent = IDENTITY_MAIN,
                     .type = h->pool.type ? h->pool.type->name : NULL},
        .conf = h->conf,
        .providers = models,
        .provider_count = models_copy(&h->models, models, MODELS_MAX),
        .toolbox = h->toolbox,
        .workspace = h->workspace,
        .permit = h->permit,
        .sandbox = h->sandbox,
        .crew = hub_crew(h->hub),
        .inputs = h->inputs,
        .asker = host_asker(h),
        .hooks = h->hooks,
        .transcript_path = session_is_kept(h->session) ? session_path(h->session) : "",
        .source = h->source ? h->source : session_source(h->session),
        .prompt_source = h->is_interactive ? "user" : "sdk",
        .recall = session_recall(h->session),
        .last_ms = session_facts(h->session) ? session_facts(h->session)->last_ms : 0,
        .title = host_say_title,
        .rename = host_take_title,
        .title_arg = h,
        .watch = host_on_watch,
        .referee = goal_referee(goals_goal(h->goals)),
        .spawner = children_spawner(h->children),
        .extra = host_extra_source(h),
        .awaits = host_awaits_tasks,
        .awaits_arg = h,
        .settled = host_settled,
        .settled_arg = h,
        .team = h->team,
        .max_steps = h->max_steps,
        .effort = h->effort,
        .thinking = h->thinking,
        .thinking_budget = h->thinking_budget,
        .spending = h->spending,
        .emit = host_emit,
        .emit_arg = h,
        .news = host_news,
        .near = host_near,
        .again = host_again,
        .loaded = host_loaded,
        .attachment = host_attachment,
        .fitting = host_fitting,
        .mentioned = mentioned_add,
        .news_arg = h,
        .refresh = host_refresh,
        .refresh_arg = h,
        .cancel = h->cancel,
        .hides_thinking = &h->hides_thinking,
    };

    h->agent = agent_new(&spec);
    for (size_t i = 0; i < spec.provider_count; i++)
        provider_release(&models[i]);
}

/* Slow preparations that are not needed for a session without messages. */
static int host_prepare(struct host *h, struct err *err)
{
    struct record *record = host_record(h);
    struct agent_spec rest = {
        .journal = record ? record_journal(record) : NULL,
    };

    if (host_need_type(h, err) < 0)
        return -1;
    goal_set_journal(goals_goal(h->goals), rest.journal);
    host_record_mode(h);
    host_record_coordinator(h);
    host_record_type(h);
    if (host_gather(h, err) < 0)
        return -1;
    buf_clear(&h->system);
    buf_clear(&h->coordinator_system);
    buf_clear(&h->context);
    buf_add(&h->context, briefing_text(&h->briefing));
    host_say_types(h);
    runner_set_net(h->runner, h->net);
    if (host_await_net(h, err) < 0)
        return -1;
    host_await_mcp(h);
    rest.net = h->net;
    rest.system = host_system(h);
    rest.plan_steps = buf_str(&h->plan_steps);
    rest.context = buf_str(&h->opening);
    agent_begin(h->agent, &rest);
    host_adopt_team(h);
    host_start_log(h); /* it reads the conversation so far */
    return 0;
}

/* The gate is held on return. */
static void host_await_held(struct host *h)
{
    gate_take(&h->gate);
    while (h->is_held)
        gate_wait(&h->gate, /*deadline_ms=*/-1);
}

struct agent *host_hold(struct host *h)
{
    bool is_ready;

    host_await_held(h);
    h->is_held = true;
    is_ready = h->is_ready;
    gate_give(&h->gate);
    return is_ready ? h->agent : NULL;
}

void host_let_go(struct host *h)
{
    gate_take(&h->gate);
    h->is_held = false;
    gate_wake(&h->gate);
    gate_give(&h->gate);
}

/* Of a session that was opened without a key: there may be one now. */
static int host_need_model(struct host *h, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

    if (!atomic_load(&h->lacks_model))
        return 0;
    reload_look(h->reload); /* it may be in the settings */
    return host_set_model(h, STR(""), &name, err);
}

struct agent *host_agent(struct host *h, struct err *err)
{
    bool is_ready;

    host_await_held(h);
    is_ready = h->is_ready;
    h->is_held = !is_ready;
    gate_give(&h->gate);
    if (is_ready)
        return h->agent;
    is_ready = host_need_model(h, err) == 0 && host_prepare(h, err) == 0;
    gate_take(&h->gate);
    h->is_ready = is_ready;
    gate_give(&h->gate);
    host_let_go(h);
    return is_ready ? h->agent : NULL;
}

struct agent *host_running(struct host *h)
{
    bool is_ready;

    gate_take(&h->gate);
    is_ready = h->is_ready;
    gate_give(&h->gate);
    return is_ready ? h->agent : NULL;
}

/* ---- Input ---- */

void host_ask_start(struct host *h)
{
    const char *source = h->source ? h->source : session_source(h->session);
    struct err err = {0};
    struct agent *a;

    if (!hooks_want(h->hooks, HOOK_SESSION_START, str_of(source)))
        return;
    a = host_agent(h, &err);
    if (a)
        agent_ask_start(a);
    else
        log_debug("host", "no SessionStart: %s", err.text); /* the first prompt will fail, too */
}

int host_wake(struct host *h, struct err *err)
{
    struct agent *a = host_agent(h, err);

    if (a)
        agent_nudge(a);
    return a ? 0 : -1;
}

/* The agent for this input; NULL if it cannot be started. */
static struct agent *host_listener(struct host *h, const struct agent_input *input, struct err *err)
{
    struct agent *a;
    bool ending;

    gate_take(&h->gate);
    ending = h->finishing;
    gate_give(&h->gate);
    if (ending) {
        err_set(err, ERR_UNSUPPORTED, "the session is about to end");
        return NULL;
    }
    a = host_agent(h, err);
    if (a && inputs_waiting(h->inputs) >= INPUTS_MAX && !input->go_on) {
        err_set(err, ERR_TOO_BIG, "%d messages wait already", INPUTS_MAX);
        return NULL;
    }
    if (a)
        host_hear(h, input);
    return a;
}

int host_send(struct host *h, struct agent_input *input, struct err *err)
{
    struct agent *a = host_listener(h, input, err);

    if (a)
        agent_send(a, input);
    else
        agent_input_release(input);
    return a ? 0 : -1;
}

int host_pass(struct host *h, struct agent_input *claimed, struct err *err)
{
    struct agent *a = host_listener(h, claimed, err);

    if (a)
        agent_pass(a, claimed);
    else
        inputs_done(h->inputs, claimed);
    return a ? 0 : -1;
}

int host_keep(struct host *h, const struct agent_input *input, struct err *err)
{
    struct record *record;
    int r;

    (void)host_hold(h);
    record = host_record(h);
    r = record ? record_keep(record, input, err) : 0;
    host_let_go(h);
    return r;
}

void host_interrupt(struct host *h, bool drop_queued, struct strv *ret_queued)
{
    struct agent *a = host_running(h);

    inputs_list(h->inputs, a ? INPUTS_ALL : INPUTS_UNREAD, ret_queued, /*ret_texts=*/NULL);
    if (drop_queued)
        (void)inputs_drop(h->inputs, INPUTS_UNREAD);
    if (a)
        agent_interrupt(a, drop_queued);
}

void host_interrupt_turn(struct host *h, int64_t turn)
{
    struct agent *a = host_running(h);

    if (a)
        agent_interrupt_turn(a, turn);
}

int host_snip(struct host *h, const struct strv *entries, struct err *err)
{
    struct agent *a = host_running(h);

    if (!a)
        return err_set(err, ERR_NOT_FOUND, "the session has no messages yet");
    agent_snip(a, entries);
    return 0;
}

bool host_is_left_open(struct host *h)
{
    const struct recall *past = session_recall(h->session);

    return past && (past->state != RECALL_COMPLETE || inputs_waiting(h->inputs));
}

void host_left_waiting(struct host *h, struct strv *ret_uuids, struct strv *ret_texts)
{
    CLEANUP(strv_release) struct strv texts = STRV_INIT;

    if (host_running(h))
        return;
    inputs_list(h->inputs, INPUTS_WAITING, ret_uuids, &texts);
    for (size_t i = 0; i < texts.len; i++) {
        CLEANUP(buf_release) struct buf typed = BUF_INIT(BUF_NO_LIMIT);
        struct str text = str_of(texts.ptr[i]);

        strv_add(ret_texts, typed_find(text, &typed) ? buf_str(&typed) : text);
    }
}

bool host_unqueue(struct host *h, struct str uuid)
{
    struct agent_input in = {0};

    if (!inputs_take_back(h->inputs, uuid, &in))
        return false;
    if (in.kept && !host_hold(h)) { /* it waited when the session was left, and is in its file */
        struct record *record = host_record(h);

        agent_keep_in(h->agent, record ? record_journal(record) : NULL);
    }
    if (in.kept)
        host_let_go(h);
    agent_forget(h->agent, &in);
    return true;
}

bool host_return(struct host *h, struct str uuid)
{
    struct agent *a = host_running(h);

    return a && agent_return(a, uuid);
}

void host_finish(struct host *h, void (*fn)(void *arg), void *arg)
{
    bool is_ready;

    host_await_held(h);
    h->finishing = true;
    is_ready = h->is_ready;
    gate_give(&h->gate);
    if (is_ready)
        agent_finish(h->agent, fn, arg);
    else
        fn(arg);
}

void host_write_goal(struct host *h)
{
    struct goal *goal = goals_goal(h->goals);
    struct agent *a;
    struct record *record;

    if (!goal_has_lines(goal))
        return;
    a = host_hold(h); /* the thread that prepares the agent also creates the record */
    record = a ? NULL : host_record(h);
    if (a)
        agent_nudge(a);
    if (record) {
        goal_set_journal(goal, record_journal(record));
        goal_flush_lines(goal);
    }
    host_let_go(h);
}

/* ---- The model ---- */

int host_select(struct host *h, struct str want, struct provider *ret, struct err *err)
{
    CLEANUP(provider_release) struct provider p = {0};

    if (!want.len || str_is(want, "default"))
        want = str_of(args_get(h->args, OPT_MODEL));
    if (provider_select(h->conf, want, h->cancel, &p, err) < 0 ||
        models_check(h->conf, &p.model, err) < 0)
        return -1;
    if (p.dialect && !models_need_net(&h->models) && !atomic_load(&h->lacks_model))
        return err_set(err, ERR_UNSUPPORTED, "this session was started without a network");
    if (spending_max_usd(h->spending) > 0 && !model_price_known(&p.model))
        return err_set(err, ERR_UNSUPPORTED,
                       "the price of %.*s is unknown, so --max-budget-usd cannot be kept",
                       STR_ARG(p.model.name));
    *ret = p;
    p = (struct provider){0};
    return 0;
}

int host_set_model(struct host *h, struct str want, struct buf *ret_name, struct err *err)
{
    CLEANUP(provider_release) struct provider p = {0};
    struct provider own;

    if (host_select(h, want, &p, err) < 0)
        return -1;
    buf_add(ret_name, p.model.name);
    models_note(&h->models, &p.model);
    provider_copy(&p, &own);
    models_replace_first(&h->models, &own);
    agent_set_model(h->agent, &p);
    atomic_store(&h->lacks_model, false);
    /* Which tools are offered may depend on it; later a request's beginning is cached. */
    return host_running(h) ? 0 : host_make_toolbox(h, err);
}

void host_set_thinking(struct host *h, enum thinking thinking, int64_t budget)
{
    gate_take(&h->gate);
    h->thinking = thinking;
    h->thinking_budget = budget;
    gate_give(&h->gate);
    agent_set_thinking(h->agent, thinking, budget);
}

void host_hide_thinking(struct host *h, bool hides)
{
    h->hides_thinking = hides;
}

enum thinking host_thinking(struct host *h, int64_t *ret_budget)
{
    enum thinking thinking;

    gate_take(&h->gate);
    thinking = h->thinking;
    *ret_budget = h->thinking_budget;
    gate_give(&h->gate);
    return thinking;
}

void host_set_effort(struct host *h, enum effort effort)
{
    gate_take(&h->gate);
    h->effort = effort;
    gate_give(&h->gate);
    agent_set_effort(h->agent, effort);
}

enum effort host_effort(struct host *h)
{
    enum effort effort;

    gate_take(&h->gate);
    effort = h->effort;
    gate_give(&h->gate);
    return effort;
}

void host_break_cache(struct host *h, int how)
{
    agent_break_cache(h->agent, (enum cache_break)how);
}

int host_cache_break(struct host *h)
{
    return (int)agent_cache_break(h->agent);
}

void host_figures(struct host *h, struct model *ret)
{
    models_figures(&h->models, ret);
}

void host_model(struct host *h, struct buf *ret_provider, struct buf *ret_name, int64_t *ret_window)
{
    models_now(&h->models, ret_provider, ret_name, ret_window);
}
