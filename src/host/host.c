/*
 * host: creates and connects the parts of a session. host_agent.c has the agent. host_new() and
 * host_free() run on one thread; the rest is for any thread.
 */
#include "host/host.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/recall.h"
#include "agent/task.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "conf/plugin.h"
#include "context/surroundings.h"
#include "goal/goal.h"
#include "guard/denied.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "host/asks.h"
#include "host/child.h"
#include "host/connect.h"
#include "host/events/event_log.h"
#include "host/events/feed.h"
#include "host/extra.h"
#include "host/goals.h"
#include "host/host_state.h"
#include "host/hub.h"
#include "host/mcp.h"
#include "host/mcp_ask.h"
#include "host/permission_tool.h"
#include "host/plugins/plugins.h"
#include "host/project.h"
#include "host/record/resumed.h"
#include "host/reload.h"
#include "host/session.h"
#include "host/trust.h"
#include "host/watch.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/provider.h"
#include "mcp/mcp.h"
#include "net/net.h"
#include "store/transcript/load.h"
#include "tasks/agents.h"
#include "tasks/definition.h"
#include "tasks/entries.h"
#include "tasks/team/team.h"
#include "tools/background.h"
#include "tools/search/grep.h"
#include "tools/tools.h"

#define HOST_MAX_SCHEMA ((size_t)1 << 20)
#define HOST_MAX_PROMPT ((size_t)4 << 20)

/* ---- parts ---- */

/* The tools of the table, and the goal's if goals are possible. The list never changes in a session
 * (the start of a request is cached), so plan mode does not remove tools: they refuse then. */
static void host_list_tools(struct host *h)
{
    bool goals = session_is_kept(h->session) && conf_get_bool(h->conf, "goal.enabled", true);

    h->tools.len = 0;
    for (const struct tool_entry *const *e = tools_table(); *e; e++)
        vec_push(&h->tools, *e);
    vec_push(&h->tools, &h->agent_tool);
    vec_push(&h->tools, &tool_task_output_entry);
    vec_push(&h->tools, &tool_task_stop_entry);
    vec_push(&h->tools, &h->message_tool);
    vec_push(&h->tools, &tool_list_agents_entry);
    for (const struct tool_entry *const *e = goal_tools(); goals && *e; e++)
        vec_push(&h->tools, *e);
    VEC_EACH(&h->added, e) {
        vec_push(&h->tools, (const struct tool_entry *)*e);
    }
    for (const struct tool_entry *const *e = team_tools(); *e; e++)
        vec_push(&h->tools, *e);
    vec_push(&h->tools, (const struct tool_entry *)NULL);
}

static int make_toolbox(struct host *h, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct tool_entry *more = arena_zalloc(&arena, (h->more_count + 1) * sizeof(*more));
    struct toolbox_spec spec = {
        .only = h->has_only_tools ? &h->only_tools : NULL,
        .conf = h->conf,
        .aliases = &h->aliases,
        .provider = &h->models.list[0],
        .permit = h->permit,
        .more = more,
        .wants = h->pool.type ? pool_wants : NULL,
        .wants_arg = &h->pool,
        .defers = h->defers && !(h->pool.type && h->pool.type->has_tools),
        .searches = h->mcp && mcp_count(h->mcp) > 0,
    };
    struct toolbox *box = NULL;
    struct toolbox *all = NULL;
    struct toolbox *old, *old_all;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct mcp_tools *servers = h->mcp ? mcp_tools(h->mcp, &notes) : NULL;
    const struct tool_entry *theirs = NULL;
    size_t their_count = 0;

    if (servers) {
        theirs = mcp_tools_rows(servers, &their_count);
        spec.more = more = arena_zalloc(&arena, (h->more_count + their_count + 1) * sizeof(*more));
        spec.release = mcp_tools_free;
        spec.release_arg = servers;
    }
    for (; spec.more_count < h->more_count; spec.more_count++)
        more[spec.more_count] = h->more[spec.more_count];
    if (h->schema.len) {
        if (tool_structured(buf_str(&h->schema), &arena, &more[spec.more_count], err) < 0) {
            mcp_tools_free(servers);
            return -1;
        }
        spec.more_count++;
    }
    for (size_t i = 0; i < their_count; i++)
        more[spec.more_count++] = theirs[i];
    host_list_tools(h);
    spec.table = h->tools.ptr;
    if (toolbox_new(&spec, &all, err) < 0)
        return -1;
    if (!host_coordinates(h)) {
        box = toolbox_ref(all);
    } else if (host_coordinator_tools(h, all, &box, err) < 0) {
        toolbox_unref(all);
        return -1;
    }
    gate_take(&h->gate);
    old = h->toolbox;
    old_all = h->all_tools;
    h->toolbox = box;
    h->all_tools = all;
    gate_give(&h->gate);
    if (h->agent)
        agent_set_toolbox(h->agent, box);
    toolbox_unref(old);
    toolbox_unref(old_all);
    for (size_t i = 0; i < notes.len; i++) {
        if (strv_has(&h->mcp_told, str_of(notes.ptr[i])))
            continue;
        strv_adds(&h->mcp_told, notes.ptr[i]);
        host_notice(h, LEVEL_WARNING, str_of(notes.ptr[i]));
    }
    return 0;
}

/* Called by agents when servers have changed, on their own threads. */
int host_make_toolbox(struct host *h, struct err *err)
{
    int r;

    (void)ticket_take(&h->boxing, /*cancel=*/NULL, /*err=*/NULL);
    r = make_toolbox(h, err);
    ticket_give(&h->boxing);
    return r;
}

struct toolbox *host_toolbox(struct host *h)
{
    struct toolbox *box;

    gate_take(&h->gate);
    box = toolbox_ref(h->toolbox);
    gate_give(&h->gate);
    return box;
}

struct toolbox *host_children_toolbox(struct host *h)
{
    struct toolbox *box;

    gate_take(&h->gate);
    box = toolbox_ref(h->all_tools);
    gate_give(&h->gate);
    return box;
}

/* Notes names in --tools that only Claude Code has. */
static void host_note_missing_tools(const struct host *h, struct strv *ret_notes)
{
    for (size_t i = 0; i < h->only_tools.len; i++) {
        const char *name = h->only_tools.ptr[i];
        bool found = str_starts(str_of(name), STR("mcp__")); /* servers are not connected yet */

        for (size_t j = 0; h->tools.ptr[j] && !found; j++)
            found = strcmp(h->tools.ptr[j]->name, name) == 0;
        if (!found)
            strv_addf(ret_notes, "--tools: there is no tool '%s' here; left out", name);
    }
}

static void host_make_workspace(struct host *h)
{
    const struct recall *past = session_recall(h->session);
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    plugins_environ(h->conf, &env);
    h->workspace = workspace_new(conf_dir(h->conf), session_folder(h->session), strv_get(&env));
    h->briefing.parts.workspace = h->workspace; /* the others follow before it gathers */
    h->briefing.where = briefing_spec(h->conf, h->args, &h->briefing.parts);
    h->briefing.where.since_ms = clock_file_ms();
    task_table_join(h->workspace, h->tasks, IDENTITY_MAIN);
    if (past && past->todos.len) /* observers may look before the agent starts */
        workspace_set_todos(h->workspace, buf_str(&past->todos));
}

/* A resumed session keeps its mode; bypassPermissions must be requested each time. */
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

static bool host_is_frozen(void *arg)
{
    struct host *h = arg;

    return h->goals && goal_is_running(goals_goal(h->goals));
}

static void host_make_reload(struct host *h)
{
    struct reload_spec spec = {
        .conf = h->conf,
        .permit = h->permit,
        .hooks = h->registry,
        .workspace = h->workspace,
        .warn = host_on_trouble,
        .warn_arg = h,
        .is_frozen = host_is_frozen,
        .frozen_arg = h,
    };

    conf_listen(h->conf, host_may_change, h);
    h->reload = reload_new(&spec);
    h->watch = watch_new(h->registry, h->workspace);
}

int host_ask_trust(struct host *h, bool again, struct err *err)
{
    CLEANUP(trust_answer_release) struct trust_answer known = TRUST_ANSWER_INIT;
    int trusted;

    if (conf_is_trusted(h->conf))
        return 1;
    if (trust_look(h->conf, conf_dir(h->conf), h->cancel, &known, err) < 0)
        return -1;
    if (known.trust == TRUST_YES || (known.trust == TRUST_NO && !again))
        trusted = known.trust == TRUST_YES;
    else
        trusted = trust_ask(h->conf, known.trust == TRUST_NO, asks_asker(h->asks), h->cancel, err);
    if (trusted > 0) {
        conf_approve(h->conf, conf_unapproved(h->conf)); /* what the question has shown */
        reload_trust(h->reload);
    }
    return trusted;
}

/* Only if the agent exists: the caller that sets a goal calls host_wake() when everything is ready.
 */
static int host_nudge(void *arg, struct err *err)
{
    struct agent *a = host_running(arg);

    (void)err;
    if (a)
        agent_nudge(a);
    return 0;
}

/* Called on the agent's own thread, so the agent exists. */
static void host_notify(void *arg, const char *type, struct str message)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_tell(a, type, "tenax", message);
}

static struct net *host_net(void *arg, struct err *err)
{
    struct host *h = arg;

    if (!h->net)
        h->net = hub_net(h->hub, h->conf, err);
    return h->net;
}

static int host_make_goals(struct host *h, struct strv *ret_notes, struct err *err)
{
    struct goals_spec spec = {
        .conf = h->conf,
        .cancel = h->cancel,
        .hub = h->hub,
        .session = h->session,
        .registry = h->registry,
        .workspace = h->workspace,
        .permit = h->permit,
        .sandbox = h->sandbox,
        .models = &h->models,
        .spending = h->spending,
        .is_interactive = h->is_interactive,
        .emit = host_emit_goal,
        .wake = host_nudge,
        .notify = host_notify,
        .net = host_net,
        .arg = h,
    };

    return goals_new(&spec, ret_notes, &h->goals, err);
}

/* Starts the network if a model needs it. Its thread loads libcurl at once, and no thread can be
 * started while a library is loaded: threads that are needed during that time are started before.
 */
int host_connect(struct host *h, struct err *err)
{
    bool for_hooks = h->registry && hook_registry_has_type(h->registry, HANDLER_HTTP);

    if (h->net)
        return 0;
    if (!models_need_net(&h->models)) {
        if (for_hooks) /* hooks report the problem themselves */
            h->net = hub_net(h->hub, h->conf, /*err=*/NULL);
        return 0;
    }
    h->net = hub_net(h->hub, h->conf, err);
    return h->net ? 0 : -1;
}

/* Reads prompt and models. Slow work whose result is needed later is started first: git if there is
 * input already, and a test of the sandbox. libcurl is loaded as soon as it is known to be needed;
 * the session is created at the same time. Not for a resumed session, which does not run git and
 * uses threads to read its file. What fails here is tried again when it is used. */
static int host_begin(struct host *h, const struct host_spec *spec, struct strv *ret_notes,
                      struct err *err)
{
    bool is_early = spec->has_input && !session_resumes(&spec->session);
    struct surroundings_spec place = {.dir = conf_dir(h->conf), .environ = conf_environ(h->conf)};
    struct err why = {0};

    if (is_early)
        h->around = surroundings_start(&place);
    h->looking = sandbox_look_ahead(h->conf);
    if (prompt_spec_options(&h->prompt, h->args, conf_dir(h->conf), err) < 0)
        return -1;
    if (h->only_calls) {
        models_none(&h->models, h->conf);
        return 0;
    }
    if (models_choose(&h->models, h->conf, str_of(args_get(h->args, OPT_MODEL)),
                      spending_max_usd(h->spending), h->cancel, ret_notes, &why) < 0) {
        if (why.code != ERR_AUTH || !spec->opens_without_key)
            return err_set(err, why.code, "%s", why.text);
        models_none(&h->models, h->conf);
        atomic_store(&h->lacks_model, true);
        return 0;
    }
    models_note_names(h->conf, ret_notes);
    models_note_thinking(&h->models, h->thinking, h->effort, ret_notes);
    if (is_early)
        (void)host_connect(h, /*err=*/NULL);
    return 0;
}

/* Reports what the settings require but is not available; other missing parts only if it matters.
 */
static void host_note_sandbox(struct host *h, struct strv *ret_notes)
{
    enum permit_mode mode = permit_mode(h->permit);
    enum sandbox_state state;

    if (!sandbox_in_force(h->sandbox, h->permit) ||
        (mode != MODE_AUTO && !conf_get(h->conf, "sandbox.enabled")))
        return; /* and no caller waits for the answer */
    state = sandbox_state(h->sandbox);
    if (state == SANDBOX_NEEDED)
        strv_addf(ret_notes,
                  "no command can run: sandbox.enabled wants a sandbox, and %s; set it to auto to "
                  "be asked instead",
                  sandbox_why_not(h->sandbox));
    else if (state == SANDBOX_MISSING)
        strv_addf(ret_notes, "commands are not confined, so they ask: %s",
                  sandbox_why_not(h->sandbox));
}

struct sandbox *host_sandbox_for(struct host *h, struct workspace *w, struct strv *ret_notes)
{
    struct sandbox_spec spec = {.conf = h->conf, .workspace = w};
    CLEANUP(mem_freep) char *record = path_dirname(session_folder(h->session));
    struct net_options network;

    spec.record = record;
    connect_options(h->conf, &network);
    spec.upstream = network.proxy;
    spec.upstream_plain = network.plain_proxy;
    spec.no_proxy = network.no_proxy;
    return sandbox_new(&spec, ret_notes);
}

static void host_make_sandbox(struct host *h, struct strv *ret_notes)
{
    h->sandbox = host_sandbox_for(h, h->workspace, ret_notes);
    permit_set_sandbox(h->permit, h->sandbox);
    host_note_sandbox(h, ret_notes);
}

static int host_make_parts(struct host *h, struct strv *ret_notes, struct err *err)
{
    host_make_workspace(h);
    if (permit_new(h->conf, h->workspace, ret_notes, &h->permit, err) < 0)
        return -1;
    prompt_spec_style(&h->prompt, h->conf, permit_reading_veto(h->permit), ret_notes);
    if (host_restore_mode(h, err) < 0)
        return -1;
    host_make_sandbox(h, ret_notes);
    if (!h->source) /* only once, not for sessions that replace it */
        grep_note(h->conf, ret_notes);
    if (!h->source) {
        plugins_note(h->conf, ret_notes);
        resumed_note(h->session, h->conf, ret_notes);
    }
    permit_on_mode(h->permit, host_on_mode, h);
    host_make_hooks(h, ret_notes);
    host_make_reload(h);
    host_extra_open(h);
    h->defers = h->defers && !h->only_calls;
    if (host_make_goals(h, ret_notes, err) < 0 || host_make_agents(h, ret_notes, err) < 0 ||
        host_make_toolbox(h, err) < 0)
        return -1;
    host_note_missing_tools(h, ret_notes);
    return h->only_calls ? 0 : host_start_mcp(h, ret_notes, err);
}

/* Before the agent takes the conversation. */
static void host_note_past(struct host *h)
{
    const struct recall *past = session_recall(h->session);
    const struct load_facts *facts = session_facts(h->session);

    if (!past)
        return;
    h->past = (struct host_past){
        .tokens = past->tokens,
        .last_ms = facts ? facts->last_ms : 0,
        .usd = past->ledger.usd,
        .worked_ms = past->ledger.time_ms,
        .cost_unknown = past->ledger.unknown,
    };
}

/* ---- Creation and release ---- */

/* A failed title does not prevent the session. */
static void host_take_name(struct host *h, const char *title, struct strv *ret_notes)
{
    struct err err = {0};

    if (title && *title && host_rename(h, str_of(title), &err) < 0)
        strv_addf(ret_notes, "title: %s", err.text);
}

int host_new(const struct host_spec *spec, struct strv *ret_notes, struct host **ret,
             struct err *err)
{
    struct host *h = mem_zalloc(sizeof(*h));

    h->own_hub = spec->hub ? NULL : hub_new();
    h->hub = spec->hub ? spec->hub : h->own_hub;
    h->own_inputs = spec->inputs ? NULL : inputs_new();
    h->inputs = spec->inputs ? spec->inputs : h->own_inputs;
    h->conf = spec->conf;
    h->args = spec->args;
    h->cancel = spec->cancel;
    h->session = spec->found;
    h->max_steps = spec->max_steps;
    h->spending = spending_new();
    spending_limit(h->spending, spec->max_usd);
    h->thinking = spec->thinking;
    h->thinking_budget = spec->thinking_budget;
    h->hides_thinking = spec->hides_thinking;
    h->is_interactive = spec->is_interactive;
    h->awaits_types = spec->awaits_types;
    h->only_calls = spec->only_calls;
    h->opened_ms = clock_mono_ms();
    h->of_run = spec->has_input && !spec->is_interactive;
    h->source = spec->source;
    effort_parse(conf_get_str(h->conf, "effortLevel"), &h->effort);
    h->prompt = (struct prompt_spec)PROMPT_SPEC_INIT;
    h->briefing = (struct briefing)BRIEFING_INIT;
    h->briefing.notice = host_on_trouble;
    h->briefing.notice_arg = h;
    gate_init(&h->gate);
    ticket_init(&h->boxing);
    models_init(&h->models);
    buf_init(&h->system, HOST_MAX_PROMPT);
    buf_init(&h->coordinator_system, HOST_MAX_PROMPT);
    buf_init(&h->context, BUF_NO_LIMIT);
    buf_init(&h->opening, BUF_NO_LIMIT);
    buf_init(&h->denied, BUF_NO_LIMIT);
    h->children = children_new(h);
    h->tasks = task_table_new();
    buf_init(&h->schema, HOST_MAX_SCHEMA);
    buf_init(&h->plan_steps, HOST_MAX_SCHEMA);
    buf_add(&h->schema, spec->output_schema);
    h->more = spec->more;
    h->more_count = spec->more_count;
    if (spec->mcp_servers.len)
        (void)json_parse_copy(&h->mcp_arena, spec->mcp_servers, &h->mcp_servers,
                              /*ret_info=*/NULL, /*err=*/NULL);
    h->has_only_tools = spec->tools;
    if (spec->tools)
        strv_add_all(&h->only_tools, spec->tools);
    h->feed = feed_new(/*limits=*/NULL);
    h->asks = asks_new(host_on_waiting, h);
    if (spec->permission_tool)
        h->permission_tool = permission_tool_new(h, spec->permission_tool);
    if (host_begin(h, spec, ret_notes, err) < 0 ||
        (!h->session &&
         session_open(h->conf, &spec->session, h->cancel, ret_notes, &h->session, err) < 0) ||
        host_make_parts(h, ret_notes, err) < 0) {
        host_free(h);
        return -1;
    }
    host_note_past(h);
    host_listen_tasks(h);
    if (session_recall(h->session))
        spending_recall(h->spending, &session_recall(h->session)->ledger);
    host_make_team(h);
    host_make_agent(h);
    host_recall_agents(h);
    if (hub_add(h->hub, h, err) < 0) {
        host_free(h);
        return -1;
    }
    host_take_name(h, spec->session.title, ret_notes);
    *ret = h;
    return 0;
}

void host_free(struct host *h)
{
    if (!h)
        return;
    hub_remove(h->hub, h);
    task_table_listen(h->tasks, /*l=*/NULL);
    host_end_titling(h); /* it books its cost to the agent */
    if (h->goals)
        goal_close(goals_goal(h->goals));
    if (h->runner)
        runner_mute(h->runner);
    agents_close(h->agents);
    team_close(h->team);
    children_free(h->children); /* their costs are reported to the main agent */
    agent_free(h->agent);
    if (h->on_settled_release)
        h->on_settled_release(h->on_settled_arg);
    agents_free(h->agents);
    definitions_unref(h->types_read);
    inputs_free(h->own_inputs);
    team_free(h->team);
    /* Verified work must not be changed: a command that would undo it on SIGTERM is killed. */
    if (h->goals && h->workspace && goal_exit_code(goals_goal(h->goals)) == 0)
        background_kill_all(h->workspace);
    conf_unlisten(h->conf, host_may_change, h);
    goals_free(h->goals);
    runner_free(h->runner);
    spending_unref(h->spending);
    reload_free(h->reload);
    watch_free(h->watch);
    hook_registry_free(h->registry);
    event_log_stop(h->log);
    surroundings_free(h->around);
    thread_join(h->looking);
    toolbox_unref(h->toolbox);
    toolbox_unref(h->all_tools);
    mcp_free(h->mcp); /* after the rows that use its servers */
    host_free_desk(h);
    strv_release(&h->mcp_told);
    arena_release(&h->mcp_arena);
    vec_release(&h->tools);
    permit_free(h->permit);
    if (h->workspace) /* its commands use the sandbox, and the session's record still refers to it
                       */
        workspace_clear(h->workspace);
    sandbox_free(h->sandbox);
    workspace_unref(h->workspace);
    task_table_unref(h->tasks);
    session_free(h->session);
    models_release(&h->models);
    permission_tool_free(h->permission_tool);
    asks_free(h->asks);
    feed_unref(h->feed);
    event_unref(h->last_turn);
    event_unref(h->last_step);
    briefing_release(&h->briefing);
    prompt_spec_release(&h->prompt);
    VEC_EACH(&h->added, e) {
        mem_freep(e);
    }
    vec_release(&h->added);
    strv_release(&h->only_tools);
    buf_release(&h->schema);
    buf_release(&h->plan_steps);
    strv_release(&h->aliases);
    strv_release(&h->skills);
    buf_release(&h->system);
    buf_release(&h->coordinator_system);
    mem_freep(&h->scratchpad);
    buf_release(&h->context);
    strv_release(&h->type_lines);
    buf_release(&h->opening);
    buf_release(&h->denied);
    gate_release(&h->gate);
    ticket_release(&h->boxing);
    hub_free(h->own_hub);
    mem_freep(&h);
}

/* ---- Access ---- */

struct inputs *host_inputs(struct host *h)
{
    return h->inputs;
}

const char *host_session(const struct host *h)
{
    return session_id(h->session);
}

/* Sessions belong to their folder; a fork belongs to this one. */
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

struct hub *host_hub(struct host *h)
{
    return h->hub;
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

struct asker *host_asker(struct host *h)
{
    return h->permission_tool ? permission_tool_asker(h->permission_tool) : asks_asker(h->asks);
}

struct asks *host_asks(struct host *h)
{
    return h->asks;
}

struct permit *host_permit(struct host *h)
{
    return h->permit;
}

struct sandbox *host_sandbox(struct host *h)
{
    return h->sandbox;
}

struct workspace *host_workspace(struct host *h)
{
    return h->workspace;
}

struct spawner *host_spawner(struct host *h)
{
    return children_spawner(h->children);
}

struct agents *host_agents(struct host *h)
{
    return h->agents;
}

struct task_table *host_tasks(struct host *h)
{
    return h->tasks;
}

struct hook_registry *host_hooks(struct host *h)
{
    return h->registry;
}

struct goal *host_goal(struct host *h)
{
    return goals_goal(h->goals);
}

/* A new session has no file before the first input; the title is written with that. */
int host_rename(struct host *h, struct str title, struct err *err)
{
    struct agent *a = host_hold(h);
    bool is_later = !a && !session_recall(h->session) && session_is_kept(h->session);

    if (!a && strcmp(session_source(h->session), "resume") == 0)
        (void)host_record(h);
    host_let_go(h);
    if (!is_later)
        return session_rename(h->session, title, err);
    if (session_check_title(title, err) < 0)
        return -1;
    session_title(h->session, title);
    return 0;
}

/* ---- before the first input ---- */

int host_check_early(struct host *h, struct err *err)
{
    bool late;

    gate_take(&h->gate);
    late = h->is_ready || h->is_held;
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

int host_set_plan(struct host *h, struct str steps, struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    buf_clear(&h->plan_steps);
    buf_add(&h->plan_steps, steps);
    return buf_check(&h->plan_steps, err);
}

int host_set_aliases(struct host *h, const struct strv *names, struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    strv_clear(&h->aliases);
    strv_add_all(&h->aliases, names);
    return host_make_toolbox(h, err);
}

int host_set_skills(struct host *h, const struct strv *names, struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    strv_clear(&h->skills);
    strv_add_all(&h->skills, names);
    h->has_skills = true;
    return 0;
}

bool host_offers_skill(const struct host *h, struct str name)
{
    return !h->has_skills || strv_has(&h->skills, name) ||
           strv_has(&h->skills, str_from(name, str_chr(name, ':') + 1));
}

int host_set_schema(struct host *h, struct str schema, struct err *err)
{
    if (host_in_turn(h))
        return err_set(err, ERR_UNSUPPORTED, "a turn is running");
    if (str_eq(schema, buf_str(&h->schema)))
        return 0;
    buf_clear(&h->schema);
    buf_add(&h->schema, schema);
    if (buf_check(&h->schema, err) == 0 && host_make_toolbox(h, err) == 0)
        return 0;
    buf_clear(&h->schema);
    return -1;
}

void host_set_skill(struct host *h, host_skill_fn *skill, void *arg)
{
    h->skill = skill;
    h->skill_arg = arg;
}

void host_set_listing(struct host *h, host_listing_fn *listing, void *arg)
{
    h->briefing.listing = listing;
    h->briefing.listing_arg = arg;
}

void host_set_fitting(struct host *h, host_fitting_fn *fitting, void *arg)
{
    h->fitting = fitting;
    h->fitting_arg = arg;
}

void host_fitting(void *arg, struct str words, struct buf *ret, struct buf *ret_line)
{
    struct host *h = arg;

    if (h->fitting && words.len)
        h->fitting(h->fitting_arg, words, ret, ret_line);
}

int host_add_tool(struct host *h, const struct tool_entry *row, struct err *err)
{
    struct tool_entry *own;

    if (host_check_early(h, err) < 0)
        return -1;
    own = mem_alloc(sizeof(*own));
    *own = *row;
    vec_push(&h->added, own);
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
