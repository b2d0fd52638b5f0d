/*
 * host: builds a session and keeps it together.
 *
 * The one idea: an agent is only ever built in one place (host_build()), from parts that are all
 * made here and outlive it. Built on the thread that sends the first input; the rest is any thread.
 */
#include "host/host.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/permit.h"
#include "agent/prompt.h"
#include "agent/surroundings.h"
#include "agent/toolbox.h"
#include "agent/workspace.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "goal/goal.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "host/answer.h"
#include "host/asks.h"
#include "host/briefing.h"
#include "host/connect.h"
#include "host/event_log.h"
#include "host/feed.h"
#include "host/goals.h"
#include "host/models.h"
#include "host/project.h"
#include "host/record.h"
#include "host/session.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "store/load.h"
#include "sync/thread.h"
#include "tools/tools.h"

#define HOST_MAX_SCHEMA ((size_t)1 << 20)
#define HOST_MAX_QUEUED 1000
#define HOST_MAX_TOOLS 64
#define HOST_MAX_PROMPT ((size_t)4 << 20)

struct host {
    const struct conf *conf;
    const struct args *args;
    struct cancel *cancel;
    struct session *session;
    struct goals *goals;
    struct models models;
    struct net *net;
    struct workspace *workspace;
    struct permit *permit;
    const struct tool_entry *tools[HOST_MAX_TOOLS + 1];
    struct toolbox *toolbox;
    struct strv only_tools;
    bool has_only_tools;
    struct prompt_spec prompt;
    struct briefing briefing;
    struct buf schema;
    struct hook_registry *registry;
    struct runner *runner;
    struct hook_runner *hooks[HOST_MAX_HOOKS + 1];
    size_t hook_count;
    int64_t max_steps;
    double max_usd;
    enum thinking thinking;
    int64_t thinking_budget;
    struct feed *feed;
    struct asks *asks;
    struct event_log *log;       /* NULL: none */
    struct surroundings *around; /* begun early; NULL: not */

    struct gate gate; /* of what follows */
    struct agent *agent;
    bool building;
    bool finishing;
    int64_t turn, step; /* of the last event */
    bool in_turn;
    struct event *last_turn, *last_step;
};

/* ---- events ---- */

static void keep_event(struct event **place, struct event *e)
{
    struct event *old = *place;

    *place = event_ref(e);
    event_unref(old);
}

/* From the agent's thread and from those of its tools. */
static void host_emit(void *arg, struct event *e, struct cancel *cancel)
{
    struct host *h = arg;

    if (e->kind == EVENT_TURN_DONE)
        answer_add_goal(host_goal(h), e);
    gate_take(&h->gate);
    h->turn = e->turn;
    h->step = e->step;
    if (e->kind == EVENT_TURN_STARTED || e->kind == EVENT_TURN_DONE)
        h->in_turn = e->kind == EVENT_TURN_STARTED;
    if (e->kind == EVENT_TURN_DONE)
        keep_event(&h->last_turn, e);
    if (e->kind == EVENT_STEP_DONE || (e->kind == EVENT_COMPACTED && !e->is_error))
        keep_event(&h->last_step, e);
    gate_give(&h->gate);
    feed_emit(h->feed, e, cancel);
}

/* What the host itself has to say. It never waits: it may be said by an observer's own thread. */
struct event *host_event(struct host *h, int kind)
{
    struct event *e = event_new((enum event_kind)kind);

    gate_take(&h->gate);
    e->session = arena_cstr(&e->arena, str_of(session_id(h->session)));
    e->agent = "main";
    e->turn = h->turn;
    e->step = h->step;
    gate_give(&h->gate);
    return e;
}

bool host_in_turn(struct host *h)
{
    bool in_turn;

    gate_take(&h->gate);
    in_turn = h->in_turn;
    gate_give(&h->gate);
    return in_turn;
}

void host_tools(struct host *h, struct buf *ret)
{
    gate_take(&h->gate);
    buf_add(ret, toolbox_names(h->toolbox));
    gate_give(&h->gate);
}

static void host_on_waiting(bool waiting, void *arg)
{
    struct host *h = arg;
    struct event *e = host_event(h, EVENT_STATE);

    e->state = waiting ? STATE_REQUIRES_ACTION : STATE_RUNNING;
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

static void host_on_mode(enum permit_mode mode, void *arg)
{
    struct host *h = arg;
    struct event *e = host_event(h, EVENT_MODE);

    e->mode = permit_mode_name(mode);
    feed_emit(h->feed, e, /*cancel=*/NULL);
    session_mode(h->session, str_of(permit_mode_name(mode)));
}

/* A session that goes on is in the mode it was in; what lifts all limits must be said each time. */
static int host_restore_mode(struct host *h, struct err *err)
{
    const struct load_facts *facts = session_facts(h->session);
    enum permit_mode mode;

    if (!facts || h->args->given[OPT_PERMISSION_MODE] ||
        h->args->given[OPT_DANGEROUSLY_SKIP_PERMISSIONS] ||
        !permit_mode_parse(buf_str(&facts->permission_mode), &mode) ||
        (mode != MODE_PLAN && mode != MODE_ACCEPT_EDITS))
        return 0;
    return permit_set_mode(h->permit, mode, err);
}

int host_rename(struct host *h, struct str title, struct err *err)
{
    return session_rename(h->session, title, err);
}

void host_notice(struct host *h, int level, struct str text)
{
    struct event *e = host_event(h, EVENT_NOTICE);

    e->level = (enum event_level)level;
    e->text = arena_str(&e->arena, text);
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

static void host_on_trouble(void *arg, struct str text)
{
    host_notice(arg, LEVEL_WARNING, text);
}

/* The agent if there is one. */
static struct agent *host_running(struct host *h)
{
    struct agent *a;

    gate_take(&h->gate);
    a = h->agent;
    gate_give(&h->gate);
    return a;
}

static struct event *host_last(struct host *h, struct event *const *place)
{
    struct event *e;

    gate_take(&h->gate);
    e = *place ? event_ref(*place) : NULL;
    gate_give(&h->gate);
    return e;
}

struct event *host_last_turn(struct host *h)
{
    return host_last(h, &h->last_turn);
}

struct event *host_last_step(struct host *h)
{
    return host_last(h, &h->last_step);
}

/* ---- parts ---- */

/* The tools of the table, and the goal's where a goal can be. */
static void host_list_tools(struct host *h)
{
    bool goals = session_is_kept(h->session) && conf_get_bool(h->conf, "goal.enabled", true) &&
                 permit_mode(h->permit) != MODE_PLAN;
    size_t n = 0;

    for (const struct tool_entry *const *e = tools_table(); *e && n < HOST_MAX_TOOLS; e++)
        h->tools[n++] = *e;
    for (const struct tool_entry *const *e = goal_tools(); goals && *e && n < HOST_MAX_TOOLS; e++)
        h->tools[n++] = *e;
    h->tools[n] = NULL;
}

static int host_make_toolbox(struct host *h, struct err *err)
{
    struct toolbox_spec spec = {
        .table = h->tools,
        .only = h->has_only_tools ? &h->only_tools : NULL,
        .conf = h->conf,
        .provider = &h->models.list[0],
        .permit = h->permit,
        .output_schema = buf_str(&h->schema),
    };
    struct toolbox *box = NULL;
    struct toolbox *old;

    host_list_tools(h);
    if (toolbox_new(&spec, &box, err) < 0)
        return -1;
    gate_take(&h->gate);
    old = h->toolbox;
    h->toolbox = box;
    gate_give(&h->gate);
    toolbox_free(old);
    return 0;
}

static void host_make_workspace(struct host *h)
{
    h->workspace =
        workspace_new(conf_dir(h->conf), session_folder(h->session), conf_environ(h->conf));
    h->briefing.where =
        (struct context_spec){.conf = h->conf, .args = h->args, .workspace = h->workspace};
}

/* The model that a hook's question goes by, as --model takes it. */
static void host_say_model(void *arg, struct buf *ret)
{
    struct host *h = arg;
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
    int64_t window;

    models_now(&h->models, ret, &name, &window);
    buf_addc(ret, '/');
    if (h->models.list[0].scenario) /* a name alone does not find the file again */
        buf_adds(ret, h->models.list[0].scenario);
    else
        buf_add(ret, buf_str(&name));
}

/* Hooks of settings and session come first, those of clients behind them. */
static void host_make_hooks(struct host *h, struct strv *ret_notes)
{
    struct runner_spec spec = {
        .conf = h->conf,
        .workspace = h->workspace,
        .model = host_say_model,
        .model_arg = h,
    };

    h->registry = hook_registry_new(settings_limit(h->conf));
    settings_read(h->conf, h->registry, ret_notes);
    spec.registry = h->registry;
    h->runner = runner_new(&spec);
    h->hooks[h->hook_count++] = runner_hooks(h->runner);
}

/* ---- the goal ---- */

static void host_emit_goal(void *arg, struct event *e)
{
    struct host *h = arg;

    gate_take(&h->gate);
    e->turn = h->turn;
    e->step = h->step;
    gate_give(&h->gate);
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

/* Only an agent that is there: whoever sets a goal calls host_wake() when all is ready. */
static int host_nudge(void *arg, struct err *err)
{
    struct agent *a = host_running(arg);

    (void)err;
    if (a)
        agent_nudge(a);
    return 0;
}

static struct net *host_net(void *arg, struct err *err)
{
    struct host *h = arg;

    if (!h->net)
        h->net = connect_net(h->conf, err);
    return h->net;
}

static int host_make_goals(struct host *h, struct strv *ret_notes, struct err *err)
{
    struct goals_spec spec = {
        .conf = h->conf,
        .cancel = h->cancel,
        .session = h->session,
        .registry = h->registry,
        .workspace = h->workspace,
        .permit = h->permit,
        .models = &h->models,
        .emit = host_emit_goal,
        .wake = host_nudge,
        .net = host_net,
        .arg = h,
    };

    return goals_new(&spec, ret_notes, &h->goals, err);
}

struct goal *host_goal(struct host *h)
{
    return goals_goal(h->goals);
}

/* The network, where a model needs it. Its thread loads libcurl at once, and while a library is
 * being loaded nobody can start a thread: whoever is needed meanwhile is started before. */
static int host_connect(struct host *h, struct err *err)
{
    if (!models_need_net(&h->models) || h->net)
        return 0;
    h->net = connect_net(h->conf, err);
    return h->net ? 0 : -1;
}

/* Prompt and models. Early: git starts to work before them, and libcurl to be loaded as soon as it
 * is known to be needed; the session is made meanwhile. Not for one that goes on: it asks git
 * nothing, and threads read its file. What fails here early is tried again when it is used. */
static int host_begin(struct host *h, bool is_early, struct strv *ret_notes, struct err *err)
{
    struct surroundings_spec place = {.dir = conf_dir(h->conf), .environ = conf_environ(h->conf)};

    if (is_early)
        h->around = surroundings_start(&place);
    if (prompt_spec_options(&h->prompt, h->args, conf_dir(h->conf), err) < 0)
        return -1;
    if (models_choose(&h->models, h->conf, str_of(args_get(h->args, OPT_MODEL)), h->max_usd,
                      h->cancel, ret_notes, err) < 0)
        return -1;
    if (is_early)
        (void)host_connect(h, /*err=*/NULL);
    return 0;
}

static int host_make_parts(struct host *h, struct strv *ret_notes, struct err *err)
{
    host_make_workspace(h);
    if (permit_new(h->conf, h->workspace, ret_notes, &h->permit, err) < 0)
        return -1;
    if (host_restore_mode(h, err) < 0)
        return -1;
    permit_on_mode(h->permit, host_on_mode, h);
    host_make_hooks(h, ret_notes);
    if (host_make_goals(h, ret_notes, err) < 0)
        return -1;
    return host_make_toolbox(h, err);
}

int host_new(const struct host_spec *spec, struct strv *ret_notes, struct host **ret,
             struct err *err)
{
    struct host *h = mem_zalloc(sizeof(*h));

    h->conf = spec->conf;
    h->args = spec->args;
    h->cancel = spec->cancel;
    h->max_steps = spec->max_steps;
    h->max_usd = spec->max_usd;
    h->thinking = spec->thinking;
    h->thinking_budget = spec->thinking_budget;
    h->prompt = (struct prompt_spec)PROMPT_SPEC_INIT;
    h->briefing = (struct briefing)BRIEFING_INIT;
    h->briefing.notice = host_on_trouble;
    h->briefing.notice_arg = h;
    gate_init(&h->gate);
    models_init(&h->models);
    buf_init(&h->schema, HOST_MAX_SCHEMA);
    buf_add(&h->schema, spec->output_schema);
    h->has_only_tools = spec->tools;
    if (spec->tools)
        strv_add_all(&h->only_tools, spec->tools);
    h->feed = feed_new(/*limits=*/NULL);
    h->asks = asks_new(host_on_waiting, h);
    if (host_begin(h, spec->has_input && !session_wants_past(h->args), ret_notes, err) < 0 ||
        session_open(h->conf, h->args, spec->session, h->cancel, ret_notes, &h->session, err) < 0 ||
        host_make_parts(h, ret_notes, err) < 0) {
        host_free(h);
        return -1;
    }
    *ret = h;
    return 0;
}

void host_free(struct host *h)
{
    if (!h)
        return;
    if (h->goals)
        goal_close(goals_goal(h->goals));
    agent_free(h->agent);
    goals_free(h->goals);
    runner_free(h->runner);
    hook_registry_free(h->registry);
    event_log_stop(h->log);
    surroundings_free(h->around);
    toolbox_free(h->toolbox);
    permit_free(h->permit);
    workspace_unref(h->workspace);
    session_free(h->session);
    models_release(&h->models);
    net_free(h->net);
    asks_free(h->asks);
    feed_unref(h->feed);
    event_unref(h->last_turn);
    event_unref(h->last_step);
    briefing_release(&h->briefing);
    prompt_spec_release(&h->prompt);
    strv_release(&h->only_tools);
    buf_release(&h->schema);
    gate_release(&h->gate);
    mem_freep(&h);
}

const char *host_session(const struct host *h)
{
    return session_id(h->session);
}

/* Sessions are filed by their folder; a fork is at home here. */
bool host_other_folder(const struct host *h, struct buf *ret)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf here = BUF_INIT(BUF_NO_LIMIT);
    const struct load_facts *facts = session_facts(h->session);

    project_key(str_of(conf_dir(h->conf)), &key);
    buf_addf(&here, "/projects/%s/%s.jsonl", buf_cstr(&key), session_id(h->session));
    if (!facts || !facts->cwd.len || str_ends(str_of(session_path(h->session)), buf_str(&here)))
        return false;
    buf_add(ret, buf_str(&facts->cwd));
    return true;
}

const struct conf *host_conf(const struct host *h)
{
    return h->conf;
}

const char *host_key_source(const struct host *h)
{
    return h->models.key_source;
}

struct feed *host_feed(struct host *h)
{
    return h->feed;
}

struct asks *host_asks(struct host *h)
{
    return h->asks;
}

struct permit *host_permit(struct host *h)
{
    return h->permit;
}

struct workspace *host_workspace(struct host *h)
{
    return h->workspace;
}

struct hook_registry *host_hooks(struct host *h)
{
    return h->registry;
}

/* ---- before the first input ---- */

static int host_check_early(struct host *h, struct err *err)
{
    bool late;

    gate_take(&h->gate);
    late = h->agent || h->building;
    gate_give(&h->gate);
    if (late)
        return err_set(err, ERR_UNSUPPORTED, "the session has begun already");
    return 0;
}

int host_set_prompt(struct host *h, const struct str *system, const struct str *append,
                    struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    if (system)
        prompt_spec_replace(&h->prompt, *system);
    if (append)
        prompt_spec_append(&h->prompt, *append);
    return 0;
}

int host_set_schema(struct host *h, struct str schema, struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    buf_clear(&h->schema);
    buf_add(&h->schema, schema);
    if (buf_check(&h->schema, err) < 0)
        return -1;
    return host_make_toolbox(h, err);
}

int host_add_hooks(struct host *h, struct hook_runner *runner, struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    if (hook_registry_limit(h->registry) == HOOK_LIMIT_DISABLED) {
        host_notice(h, LEVEL_WARNING, STR("disableAllHooks: the client's hooks are not run"));
        return 0;
    }
    if (h->hook_count == HOST_MAX_HOOKS)
        return err_set(err, ERR_TOO_BIG, "too many kinds of hooks");
    h->hooks[h->hook_count++] = runner;
    return 0;
}

/* ---- the agent ---- */

/* What takes its time, all at once, unless host_begin() has begun it: git works while libcurl is
 * loaded and files are read. */
static int host_gather(struct host *h, struct err *err)
{
    const struct recall *past = session_recall(h->session);
    struct surroundings *around = TAKE_PTR(h->around);

    if (!around)
        around = briefing_start(&h->briefing, past);
    if (host_connect(h, err) < 0) {
        surroundings_free(around);
        return -1;
    }
    if (briefing_gather(&h->briefing, past, around, h->cancel, err) < 0)
        return -1;
    return h->net ? net_ready(h->net, err) : 0;
}

/* How tenax was started, as viewers of transcripts know it. */
static const char *host_entrypoint(const struct host *h)
{
    const char *said = conf_env(h->conf, "CLAUDE_CODE_ENTRYPOINT");

    return said && *said ? said : "sdk-cli";
}

static struct record *host_record(struct host *h)
{
    return session_begin(h->session, h->workspace, asks_asker(h->asks), host_entrypoint(h),
                         host_on_trouble, h);
}

/* The mode that the session is in from here on, where its file does not say so: whoever goes on
 * finds it there. */
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

/* Its failure is no reason not to work. */
static void host_start_log(struct host *h)
{
    struct err err = {0};

    if (h->log || !session_is_kept(h->session) || !conf_get_bool(h->conf, "eventLog", true))
        return;
    h->log = event_log_start(h->feed, session_id(h->session), session_folder(h->session),
                             EVENT_LOG_MAX, &err);
    if (!h->log)
        log_debug("host", "no event log: %s", err.text);
}

static struct agent *host_build(struct host *h, struct err *err)
{
    CLEANUP(buf_release) struct buf system = BUF_INIT(HOST_MAX_PROMPT);
    struct record *record = host_record(h);
    struct agent_spec spec = {
        .session = session_id(h->session),
        .name = "main",
        .conf = h->conf,
        .providers = h->models.list,
        .provider_count = h->models.count,
        .toolbox = h->toolbox,
        .workspace = h->workspace,
        .permit = h->permit,
        .asker = asks_asker(h->asks),
        .hooks = h->hooks,
        .transcript_path = session_is_kept(h->session) ? session_path(h->session) : "",
        .source = session_source(h->session),
        .recall = session_recall(h->session),
        .journal = record ? record_journal(record) : NULL,
        .referee = goal_referee(goals_goal(h->goals)),
        .max_steps = h->max_steps,
        .max_usd = h->max_usd,
        .thinking = h->thinking,
        .thinking_budget = h->thinking_budget,
        .emit = host_emit,
        .emit_arg = h,
        .news = briefing_news,
        .near = briefing_near,
        .again = briefing_again,
        .news_arg = &h->briefing,
        .cancel = h->cancel,
    };

    goal_set_journal(goals_goal(h->goals), spec.journal);
    host_record_mode(h);
    effort_parse(conf_get_str(h->conf, "effortLevel"), &spec.effort);
    if (host_gather(h, err) < 0)
        return NULL;
    host_start_log(h); /* a thread: not before libcurl is there. It reads what was said so far */
    prompt_system(&h->prompt, h->conf, &system);
    spec.net = h->net;
    runner_set_net(h->runner, h->net);
    spec.system = buf_str(&system);
    spec.context = briefing_text(&h->briefing);
    return agent_start(&spec, err);
}

static void host_built(struct host *h, struct agent *a)
{
    gate_take(&h->gate);
    h->agent = a;
    h->building = false;
    gate_wake(&h->gate);
    gate_give(&h->gate);
}

/* The agent, built when it is not there; NULL with the reason. */
static struct agent *host_agent(struct host *h, struct err *err)
{
    struct agent *a;

    gate_take(&h->gate);
    while (h->building)
        gate_wait(&h->gate, /*deadline_ms=*/-1);
    a = h->agent;
    h->building = !a;
    gate_give(&h->gate);
    if (a)
        return a;
    a = host_build(h, err);
    host_built(h, a);
    return a;
}

int host_wake(struct host *h, struct err *err)
{
    struct agent *a = host_agent(h, err);

    if (a)
        agent_nudge(a);
    return a ? 0 : -1;
}

int host_send(struct host *h, struct agent_input *input, struct err *err)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;
    struct agent *a = NULL;
    bool ending;

    gate_take(&h->gate);
    ending = h->finishing;
    gate_give(&h->gate);
    if (ending)
        err_set(err, ERR_UNSUPPORTED, "the session is about to end");
    else
        a = host_agent(h, err);
    if (!a) {
        message_unrefp(&input->message);
        return -1;
    }
    agent_queued(a, &queued);
    if (queued.len >= HOST_MAX_QUEUED && !input->go_on) {
        message_unrefp(&input->message);
        return err_set(err, ERR_TOO_BIG, "%d messages wait already", HOST_MAX_QUEUED);
    }
    agent_send(a, input);
    return 0;
}

void host_interrupt(struct host *h, bool drop_queued, struct strv *ret_queued)
{
    struct agent *a = host_running(h);

    if (!a)
        return;
    agent_queued(a, ret_queued);
    agent_interrupt(a, drop_queued);
}

int host_snip(struct host *h, const struct strv *entries, struct err *err)
{
    struct agent *a = host_running(h);

    if (!a)
        return err_set(err, ERR_NOT_FOUND, "nothing has been said yet");
    agent_snip(a, entries);
    return 0;
}

bool host_unqueue(struct host *h, struct str uuid)
{
    struct agent *a = host_running(h);

    return a && agent_unqueue(a, uuid);
}

void host_finish(struct host *h, void (*fn)(void *arg), void *arg)
{
    struct agent *a;

    gate_take(&h->gate);
    while (h->building)
        gate_wait(&h->gate, /*deadline_ms=*/-1);
    h->finishing = true;
    a = h->agent;
    gate_give(&h->gate);
    if (a)
        agent_finish(a, fn, arg);
    else
        fn(arg);
}

/* ---- the model ---- */

int host_set_model(struct host *h, struct str want, struct buf *ret_name, struct err *err)
{
    CLEANUP(provider_release) struct provider p = {0};
    struct agent *a = host_running(h);

    if (!want.len || str_is(want, "default"))
        want = str_of(args_get(h->args, OPT_MODEL));
    if (provider_select(h->conf, want, h->cancel, &p, err) < 0)
        return -1;
    if (p.dialect && !models_need_net(&h->models))
        return err_set(err, ERR_UNSUPPORTED, "this session was started without a network");
    if (h->max_usd > 0 && !model_price_known(&p.model))
        return err_set(err, ERR_UNSUPPORTED,
                       "the price of %.*s is unknown, so --max-budget-usd cannot be kept",
                       STR_ARG(p.model.name));
    buf_add(ret_name, p.model.name);
    models_note(&h->models, &p.model);
    if (a) {
        agent_set_model(a, &p);
        return 0;
    }
    models_replace_first(&h->models, &p);
    return host_make_toolbox(h, err);
}

void host_set_thinking(struct host *h, enum thinking thinking, int64_t budget)
{
    struct agent *a = host_running(h);

    if (a) {
        agent_set_thinking(a, thinking, budget);
        return;
    }
    h->thinking = thinking;
    h->thinking_budget = budget;
}

void host_model(struct host *h, struct buf *ret_provider, struct buf *ret_name, int64_t *ret_window)
{
    models_now(&h->models, ret_provider, ret_name, ret_window);
}

/* ---- Going back ---- */

int host_rewind_files(struct host *h, struct str uuid, bool dry_run, bool force,
                      struct rewind **ret, struct err *err)
{
    struct agent *a;
    int rc;

    /* Whoever builds the agent makes the record, too: one at a time. */
    gate_take(&h->gate);
    while (h->building)
        gate_wait(&h->gate, /*deadline_ms=*/-1);
    a = h->agent;
    h->building = true;
    gate_give(&h->gate);
    rc = session_rewind_files(h->session, dry_run ? NULL : host_record(h), uuid, force, h->cancel,
                              ret, err);
    host_built(h, a);
    return rc;
}
