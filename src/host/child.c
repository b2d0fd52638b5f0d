/*
 * child: an agent started by another one, built from parts of the session; and the table of them.
 * Users of a child pin it, and forget() waits for them before it frees anything. Events of a child
 * are passed on by child_emit(), on its threads.
 */
#include "host/child.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/recall.h"
#include "agent/spawn.h"
#include "agent/task.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "context/reminder.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "host/agent_memory.h"
#include "host/asks.h"
#include "host/extra.h"
#include "host/host_state.h"
#include "host/hub.h"
#include "host/mentioned.h"
#include "host/record/fork_context.h"
#include "host/record/record.h"
#include "host/session.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/spending.h"
#include "mcp/mcp.h"
#include "store/transcript/load.h"
#include "sync/cancel.h"
#include "tasks/agents.h"
#include "tools/search/ignore.h"

struct child {
    struct host *host;
    struct children *all;
    char id[SPAWN_ID_LEN + 1];
    struct arena arena; /* owns its identity */
    struct identity identity;
    struct workspace *workspace;
    struct sandbox *sandbox; /* of its own folder; NULL = the session's */
    struct permit *permit;
    bool has_mode;
    struct agent_hooks *hooks; /* NULL = the session's */
    struct toolbox *toolbox;
    bool has_all_tools; /* the session's, including late ones */
    struct buf model;   /* as requested; empty = the session's */
    enum effort effort;
    struct buf system; /* empty = the session's */
    bool has_briefing;
    struct briefing briefing; /* of its own folder */
    struct record *record;    /* NULL = not saved */
    struct buf transcript;    /* its path; empty if not saved */
    struct buf context;       /* its initial context, if different from the session's */
    struct spending *spending;
    struct agent *agent;
    int64_t start_ms;
    void (*hears)(void *arg, const char *id, const struct event *e);
    void (*rests)(void *arg, const char *id);
    void *rests_arg;

    atomic_size_t pins; /* increased with the table's gate held, decreased with the child's */
    bool is_retiring;   /* guarded by the table's gate: no more input is accepted */
    struct gate gate;   /* guards the fields below */
    uint64_t news;      /* increases whenever waiters must check again */
    bool is_leaving;
    struct event *turn; /* of its last completed turn; or NULL */
    bool in_turn;       /* a turn has begun whose end is not in `turn` yet */
    int64_t tool_uses;
};

struct children {
    struct spawner spawner;
    struct host *host;
    struct gate gate; /* guards the fields below */
    VEC(struct child *) list;
    size_t starting;
    bool is_closed;
};

void spawn_end_release(struct spawn_end *e)
{
    event_unref(e->turn);
    *e = (struct spawn_end){0};
}

/* ---- Finding ---- */

/* The table's gate must be held. */
static struct child *child_find(struct children *all, const char *id)
{
    VEC_EACH(&all->list, c) {
        if (strcmp((*c)->id, id) == 0)
            return *c;
    }
    return NULL;
}

/* NULL if there is none, or it is being removed. */
static struct child *child_pin(struct children *all, const char *id, struct err *err)
{
    struct child *found;

    gate_take(&all->gate);
    found = child_find(all, id);
    if (found && found->is_retiring)
        found = NULL;
    if (found)
        atomic_fetch_add(&found->pins, 1);
    gate_give(&all->gate);
    if (!found)
        err_set(err, ERR_NOT_FOUND, "there is no agent '%.40s'", id);
    return found;
}

static void child_unpinp(struct child **c)
{
    if (!*c)
        return;
    gate_take(&(*c)->gate);
    atomic_fetch_sub(&(*c)->pins, 1);
    gate_wake(&(*c)->gate);
    gate_give(&(*c)->gate);
}

/* Wakes waiting threads. */
static void child_poke(void *arg)
{
    struct child *c = arg;

    gate_take(&c->gate);
    c->news++;
    gate_wake(&c->gate);
    gate_give(&c->gate);
}

/* ---- Events ---- */

/* An agent takes input again before it reports how its turn ended: until then there is nothing to
 * read of the end. */
static bool child_rests(struct child *c)
{
    bool has_reported;

    if (!agent_rests(c->agent))
        return false;
    gate_take(&c->gate);
    has_reported = !c->in_turn;
    gate_give(&c->gate);
    return has_reported;
}

static void child_emit(void *arg, struct event *e, struct cancel *cancel)
{
    struct child *c = arg;
    struct event *over = e->kind == EVENT_TURN_DONE ? event_ref(e) : NULL;
    bool is_idle = e->kind == EVENT_STATE && e->state == STATE_IDLE;
    bool is_running = e->kind == EVENT_STATE && e->state == STATE_RUNNING;

    gate_take(&c->gate);
    c->tool_uses += e->kind == EVENT_TOOL_DONE;
    c->in_turn = (c->in_turn || is_running) && !is_idle;
    gate_give(&c->gate);
    if (c->hears)
        c->hears(c->rests_arg, c->id, e);
    host_emit(c->host, e, cancel);
    if (over) {
        struct event *old;

        gate_take(&c->gate);
        old = c->turn;
        c->turn = over;
        c->in_turn = false;
        gate_give(&c->gate);
        event_unref(old);
    }
    if (!is_idle || !child_rests(c))
        return;
    child_poke(c);
    if (c->rests)
        c->rests(c->rests_arg, c->id);
}

/* ---- Creation ---- */

static void child_free(struct child *c)
{
    if (!c)
        return;
    agent_free(c->agent);
    agent_hooks_free(c->hooks);
    record_free(c->record);
    toolbox_unref(c->toolbox);
    permit_free(c->permit);
    if (c->workspace) /* its commands use the sandbox */
        workspace_clear(c->workspace);
    sandbox_free(c->sandbox);
    workspace_unref(c->workspace);
    briefing_release(&c->briefing);
    buf_release(&c->model);
    buf_release(&c->transcript);
    buf_release(&c->context);
    buf_release(&c->system);
    event_unref(c->turn);
    spending_unref(c->spending);
    gate_release(&c->gate);
    arena_release(&c->arena);
    mem_freep(&c);
}

static struct child *child_new(struct children *all, const struct spawn_spec *spec)
{
    struct child *c = mem_zalloc(sizeof(*c));
    struct identity who = {.session = session_id(all->host->session)};

    c->host = all->host;
    c->all = all;
    if (spec->id)
        snprintf(c->id, sizeof(c->id), "%s", spec->id);
    else
        task_make_id(all->host->tasks, TASK_AGENT, c->id);
    who.agent = c->id;
    c->identity = identity_copy(&c->arena, &who);
    c->identity.type = arena_cstr(&c->arena, spec->type.len ? spec->type : STR("general-purpose"));
    c->identity.parent = spec->tool_id.len ? arena_cstr(&c->arena, spec->tool_id) : NULL;
    c->identity.task = spec->about.len ? arena_cstr(&c->arena, spec->about) : NULL;
    c->identity.member = spec->member.len ? arena_cstr(&c->arena, spec->member) : NULL;
    c->identity.depth = spec->depth;
    c->identity.in_background = spec->in_background;
    c->hears = spec->hears;
    c->briefing = (struct briefing)BRIEFING_INIT;
    buf_init(&c->model, BUF_NO_LIMIT);
    buf_init(&c->transcript, BUF_NO_LIMIT);
    buf_init(&c->context, BUF_NO_LIMIT);
    buf_init(&c->system, BUF_NO_LIMIT);
    gate_init(&c->gate);
    c->start_ms = clock_mono_ms();
    c->rests = spec->rests;
    c->rests_arg = spec->arg;
    return c;
}

/* A permit_spares_fn. */
static bool is_ignored(void *arg, const char *path)
{
    (void)arg;
    return ignore_drops_file(path);
}

/* Its folder and rules. */
static int child_make_place(struct child *c, const struct spawn_spec *spec, struct child *parent,
                            struct err *err)
{
    struct host *h = c->host;
    enum permit_mode mode = parent ? permit_mode(parent->permit) : MODE_DEFAULT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT; /* already reported for the session */

    if (spec->dir && !file_is_dir(spec->dir))
        return err_set(err, ERR_BAD_INPUT, "%s is not a folder", spec->dir);
    if (spec->mode.len && !permit_mode_parse(spec->mode, &mode))
        return err_set(err, ERR_BAD_INPUT, "there is no permission mode '%.*s'",
                       STR_ARG(str_clip(spec->mode, 100)));
    c->workspace = workspace_branch(parent ? parent->workspace : h->workspace, spec->dir);
    task_table_join(c->workspace, h->tasks, c->id);
    c->permit = permit_branch(h->permit, c->workspace, h->sandbox);
    if (spec->dir || (parent && parent->sandbox)) {
        c->sandbox = host_sandbox_for(h, c->workspace, &warnings);
        permit_set_sandbox(c->permit, c->sandbox);
    }
    if (spec->is_read_only || (parent && permit_is_read_only(parent->permit)))
        permit_set_read_only(c->permit, spec->changes_ignored ? is_ignored : NULL, /*arg=*/NULL);
    c->has_mode = spec->mode.len || (parent && parent->has_mode);
    return c->has_mode ? permit_set_mode(c->permit, mode, err) : 0;
}

/* Live as long as a toolbox that has their tools. */
struct own_servers {
    struct mcp *mcp;
    struct mcp_tools *tools;
};

static void own_servers_free(void *arg)
{
    struct own_servers *own = arg;

    if (!own)
        return;
    mcp_tools_free(own->tools);
    mcp_free(own->mcp);
    mem_freep(&own);
}

static void child_note(struct child *c, const char *what)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "agent %s: %s", c->identity.type, what);
    host_notice(c->host, LEVEL_WARNING, buf_str(&text));
}

/* The servers of its type; an agent also works without them. NULL: it has none. */
static struct own_servers *child_start_servers(struct child *c, const struct spawn_spec *spec)
{
    struct host *h = c->host;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct own_servers *own = NULL;
    struct mcp *m = NULL;
    struct err err = {0};

    for (size_t i = 0; spec->server_names && i < spec->server_names->len; i++) {
        const char *name = spec->server_names->ptr[i];

        if (!h->mcp || mcp_find(h->mcp, str_of(name)) == mcp_count(h->mcp))
            strv_addf(&notes, "there is no MCP server '%s'", name);
    }
    if (spec->servers)
        m = host_start_own_servers(h, spec->servers, &notes, &err);
    if (err.code)
        strv_addf(&notes, "its MCP servers cannot be used: %s", err.text);
    if (m) {
        own = mem_zalloc(sizeof(*own));
        own->mcp = m;
        own->tools = mcp_tools(m, &notes);
    }
    for (size_t i = 0; i < notes.len; i++)
        child_note(c, notes.ptr[i]);
    return own;
}

static int child_make_tools(struct child *c, const struct spawn_spec *spec, struct child *parent,
                            struct toolbox *from, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct own_servers *own = child_start_servers(c, spec);
    const struct tool_entry *theirs = NULL;
    struct tool_entry *more;
    size_t their_count = 0;
    struct toolbox_spec box = {
        .from = from,
        .shows_built_in = !str_is(spec->type, "fork"), /* which sends what its parent sends */
        .only = spec->tools,
        .wants = spec->wants_tool,
        .wants_arg = spec->wants_arg,
        .conf = c->host->conf,
        .provider = &c->host->models.list[0],
        .permit = c->permit,
        .release = own ? own_servers_free : NULL,
        .release_arg = own,
    };

    if (own)
        theirs = mcp_tools_rows(own->tools, &their_count);
    box.more = more = arena_zalloc(&arena, (their_count + 1) * sizeof(*more));
    for (size_t i = 0; i < their_count; i++)
        more[box.more_count++] = theirs[i];
    if (!own && !spec->tools && !spec->wants_tool && !spec->schema.len && !toolbox_owed(from)) {
        c->toolbox = toolbox_ref(from);
        c->has_all_tools = !parent || parent->has_all_tools;
        return 0;
    }
    if (spec->schema.len) {
        if (tool_structured(spec->schema, &arena, &more[box.more_count], err) < 0) {
            own_servers_free(own);
            return -1;
        }
        box.more_count++;
    }
    return toolbox_new(&box, &c->toolbox, err);
}

/* Its models: the requested one, or the parent's; the others are fallbacks. */
static int child_make_models(struct child *c, const struct spawn_spec *spec, struct child *parent,
                             struct provider *ret, size_t *ret_count, struct err *err)
{
    struct provider own = {0};

    buf_add(&c->model, spec->model);
    if (!spec->model.len && parent)
        buf_add(&c->model, buf_str(&parent->model));
    if (c->model.len && host_select(c->host, buf_str(&c->model), &own, err) < 0)
        return -1;
    *ret_count = models_copy(&c->host->models, ret, MODELS_MAX);
    if (c->model.len) {
        provider_release(&ret[0]);
        ret[0] = own;
    }
    return 0;
}

/* Its initial context: the session's, or that of its own folder. */
static int child_make_briefing(struct child *c, const struct spawn_spec *spec, struct err *err)
{
    struct host *h = c->host;

    if (!spec->dir || spec->forks)
        return 0;
    c->briefing.parts = (struct briefing_parts){
        .workspace = c->workspace,
        .permit = c->permit,
        .sandbox = sandbox_in_force(c->sandbox, c->permit),
    };
    c->briefing.where = briefing_spec(h->conf, h->args, &c->briefing.parts);
    c->briefing.where.since_ms = clock_file_ms(); /* a worktree may just have been created */
    c->briefing.notice = host_on_trouble;
    c->briefing.notice_arg = h;
    c->has_briefing = true;
    return briefing_gather(&c->briefing, /*past=*/NULL, briefing_start(&c->briefing, /*past=*/NULL),
                           h->cancel, err);
}

/* The skills that its type names. */
static void child_add_skills(struct child *c, const struct strv *names)
{
    struct host *h = c->host;

    for (size_t i = 0; names && i < names->len; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&text, "The skill %s is loaded:\n\n", names->ptr[i]);
        if (h->skill && h->skill(h->skill_arg, c->id, str_of(names->ptr[i]), &text)) {
            reminder_add(&c->context, buf_str(&text));
            continue;
        }
        buf_clear(&text);
        buf_addf(&text, "agent %s: there is no skill '%s' to begin with", c->identity.type,
                 names->ptr[i]);
        host_notice(h, LEVEL_WARNING, buf_str(&text));
    }
}

/* Writes its initial context: surroundings, instruction files, and the agents it may start. */
static void child_write_context(struct child *c, const struct spawn_spec *spec)
{
    struct host *h = c->host;
    CLEANUP(buf_release) struct buf types = BUF_INIT(BUF_NO_LIMIT);
    struct str all = c->has_briefing ? briefing_text(&c->briefing) : buf_str(&h->context);

    if (spec->omits_instructions) /* the first reminder is that of the surroundings */
        all = str_first(all, str_find(str_from(all, 1), STR("<system-reminder>")) + 1);
    buf_add(&c->context, all);
    if (toolbox_find(c->toolbox, STR("Agent"))) {
        agents_list_types(h->agents, &types);
        reminder_add(&c->context, buf_str(&types));
    }
    child_add_skills(c, spec->skills);
    agent_memory_open(h->conf, c->workspace, spec->memory, str_of(c->identity.type), &c->context);
    if (h->scratchpad && host_coordinates(h)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&text,
                 "You may read and write files in %s without asking; other workers see them.",
                 h->scratchpad);
        reminder_add(&c->context, buf_str(&text));
    }
}

/* Loads the conversation that it resumes from its file. */
static int child_recall(struct child *c, struct recall *past, struct buf *ret_leaf, struct err *err)
{
    struct host *h = c->host;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct load_spec spec = {0};
    struct load *load = NULL;
    int rc;

    if (!session_is_kept(h->session))
        return err_set(err, ERR_UNSUPPORTED, "the session keeps nothing on disk");
    record_agent_path(session_folder(h->session), c->id, &path);
    if (load_open(buf_cstr(&path), &spec, h->cancel, &load, err) < 0)
        return -1;
    rc = recall_read(load, h->cancel, past, err);
    buf_add(ret_leaf, load_leaf(load));
    load_free(load);
    if (rc == 0 && !past->messages.len)
        return err_set(err, ERR_NOT_FOUND, "its conversation is empty");
    return rc < 0 ? -1 : fork_context_read(buf_cstr(&path), h->session, h->cancel, past, err);
}

static struct journal *child_make_record(struct child *c, struct str leaf, struct str seed)
{
    struct host *h = c->host;

    if (!session_is_kept(h->session))
        return NULL;
    record_agent_path(session_folder(h->session), c->id, &c->transcript);
    c->record = session_begin_agent(h->session, buf_cstr(&c->transcript), c->id, seed, c->workspace,
                                    asks_asker(h->asks), host_entrypoint(h), host_on_trouble, h);
    if (leaf.len)
        record_go_on_from(c->record, leaf);
    return record_journal(c->record);
}

static void child_make_hooks(struct child *c, const struct spawn_spec *spec)
{
    if (spec->hooks)
        c->hooks =
            agent_hooks_new(c->host, spec->hooks, spec->hooks_file, c->workspace, c->spending);
}

static int child_start_agent(struct child *c, const struct spawn_spec *spec, struct child *parent,
                             struct agent *asks, struct err *err)
{
    struct host *h = c->host;
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(buf_release) struct buf leaf = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf seed = BUF_INIT(BUF_NO_LIMIT);
    struct provider models[MODELS_MAX] = {{0}};
    struct agent_spec agent = {
        .identity = c->identity,
        .conf = h->conf,
        .net = h->net,
        .providers = models,
        .toolbox = c->toolbox,
        .workspace = c->workspace,
        .permit = c->permit,
        .sandbox = c->sandbox ? c->sandbox : h->sandbox,
        .crew = hub_crew(h->hub),
        .asker = spec->asker ? spec->asker : host_asker(h),
        .hooks = c->hooks ? agent_hooks_list(c->hooks) : h->hooks,
        .transcript_path = session_is_kept(h->session) ? session_path(h->session) : "",
        .refuses = spec->refuses_tool,
        .refuses_arg = spec->wants_arg,
        .max_steps = spec->max_steps,
        .effort = spec->effort ? spec->effort
                  : parent     ? parent->effort
                               : host_effort(h),
        .emit = child_emit,
        .emit_arg = c,
        .refresh = host_refresh,
        .refresh_arg = h,
        .spawner = &c->all->spawner,
        .extra = c->has_all_tools ? host_extra_source(h) : NULL,
        .team = h->team,
        .spending = c->spending,
        .cancel = h->cancel,
        .hides_thinking = &h->hides_thinking,
    };

    if (spec->forks && agent_talk(asks, h->cancel, &past, err) < 0)
        return -1;
    if (spec->forks) {
        struct fork_context from = {.agent = c->id,
                                    .parent = parent ? parent->id : NULL,
                                    .session = session_id(h->session)};

        fork_context_write(&from, &past, &seed);
    }
    if (spec->resumes && child_recall(c, &past, &leaf, err) < 0)
        return -1;
    if (child_make_models(c, spec, parent, models, &agent.provider_count, err) < 0)
        return -1;
    c->effort = agent.effort;
    agent.thinking = host_thinking(h, &agent.thinking_budget);
    buf_add(&c->system, spec->system.len ? spec->system
                        : parent         ? buf_str(&parent->system)
                                         : STR(""));
    if (spec->system_end.len) {
        if (!c->system.len)
            buf_add(&c->system, buf_str(&h->system));
        buf_addf(&c->system, "\n\n%.*s", STR_ARG(spec->system_end));
    }
    agent.system = c->system.len ? buf_str(&c->system) : buf_str(&h->system);
    child_write_context(c, spec);
    agent.context = buf_str(&c->context);
    agent.mentioned = mentioned_add;
    if (c->has_briefing) {
        agent.news = briefing_news;
        agent.near = briefing_near;
        agent.again = briefing_again;
        agent.loaded = briefing_loaded;
        agent.news_arg = &c->briefing;
    }
    if (past.messages.len)
        agent.recall = &past;
    agent.journal = child_make_record(c, buf_str(&leaf), buf_str(&seed));
    if (agent.journal)
        agent.own_transcript_path = buf_cstr(&c->transcript);
    c->agent = agent_new(&agent);
    agent_begin(c->agent, &agent);
    for (size_t i = 0; i < agent.provider_count; i++)
        provider_release(&models[i]);
    if (spec->forks)
        workspace_know(c->workspace, parent ? parent->workspace : h->workspace);
    return 0;
}

static int prompt_check(struct str text, struct err *err)
{
    if (text.len > SPAWN_MAX_PROMPT)
        return err_set(err, ERR_TOO_BIG, "the prompt has more than %zu bytes", SPAWN_MAX_PROMPT);
    if (!str_trim(text).len)
        return err_set(err, ERR_BAD_INPUT, "the prompt is empty");
    return 0;
}

static void child_say(struct child *c, struct str text, enum input_when when)
{
    struct agent_input in = {.when = when, .is_literal = true};

    in.message = message_user_text(text);
    id_uuid(in.uuid);
    agent_send(c->agent, &in);
}

/* ---- struct spawner ---- */

static bool children_enter(struct children *all, struct err *err)
{
    bool is_closed, is_full;

    gate_take(&all->gate);
    is_closed = all->is_closed;
    is_full = all->list.len + all->starting >= SPAWN_MAX;
    all->starting += !is_closed && !is_full;
    gate_give(&all->gate);
    if (is_closed)
        err_set(err, ERR_CANCELLED, "the session ends");
    else if (is_full)
        err_set(err, ERR_TOO_BIG, "there are %d agents already", SPAWN_MAX);
    return !is_closed && !is_full;
}

/* c: NULL if it could not be created. */
static void children_leave(struct children *all, struct child *c)
{
    gate_take(&all->gate);
    all->starting--;
    if (c)
        vec_push(&all->list, c);
    gate_wake(&all->gate);
    gate_give(&all->gate);
}

static int spawn_make(struct children *all, const struct spawn_spec *spec, struct child *parent,
                      struct child **ret, struct err *err)
{
    struct agent *main = host_agent(all->host, err);
    struct toolbox *from = NULL;
    struct child *c;
    int rc;

    if (!main)
        return -1;
    c = child_new(all, spec);
    from = parent ? toolbox_ref(parent->toolbox) : host_children_toolbox(all->host);
    c->spending = spending_branch(parent ? parent->spending : all->host->spending);
    rc = child_make_place(c, spec, parent, err);
    if (rc == 0)
        rc = child_make_tools(c, spec, parent, from, err);
    if (rc == 0)
        rc = child_make_briefing(c, spec, err);
    if (rc == 0)
        child_make_hooks(c, spec);
    if (rc == 0)
        rc = child_start_agent(c, spec, parent, parent ? parent->agent : main, err);
    toolbox_unref(from);
    if (rc < 0)
        child_free(c);
    else
        *ret = c;
    return rc;
}

static int spawn_start(struct spawner *self, const struct spawn_spec *spec,
                       char ret_id[static SPAWN_ID_LEN + 1], struct err *err)
{
    struct children *all = (struct children *)self;
    bool by_child = spec->by && !identity_is_main(spec->by);
    CLEANUP(child_unpinp) struct child *parent = NULL;
    CLEANUP(child_unpinp) struct child *c = NULL;

    if (by_child) {
        parent = child_pin(all, spec->by->agent, err);
        if (!parent)
            return -1;
    }
    if (prompt_check(spec->prompt, err) < 0 || !children_enter(all, err))
        return -1;
    if (spawn_make(all, spec, parent, &c, err) == 0) {
        memcpy(ret_id, c->id, sizeof(c->id));
        atomic_fetch_add(&c->pins, 1);
    }
    children_leave(all, c);
    if (!c)
        return -1;
    child_say(c, spec->prompt, INPUT_LATER); /* it can be found: its tools may start agents */
    return 0;
}

/* Gets the end of its last turn. */
static void child_read_end(struct child *c, struct spawn_end *ret)
{
    gate_take(&c->gate);
    *ret = (struct spawn_end){
        .turn = c->turn ? event_ref(c->turn) : NULL,
        .tool_uses = c->tool_uses,
        .duration_ms = clock_mono_ms() - c->start_ms,
    };
    gate_give(&c->gate);
    ret->usd = spending_usd(c->spending, &ret->cost_unknown);
    spending_usage(c->spending, &ret->usage);
}

static int spawn_wait(struct spawner *self, const char *id, struct cancel *cancel,
                      struct spawn_end *ret, struct err *err)
{
    CLEANUP(child_unpinp) struct child *c = child_pin((struct children *)self, id, err);
    struct cancel_hook *hook;
    bool rests, is_leaving;
    uint64_t seen;

    if (!c)
        return -1;
    hook = cancel ? cancel_on(cancel, child_poke, c) : NULL;
    for (;;) {
        gate_take(&c->gate);
        seen = c->news;
        is_leaving = c->is_leaving;
        gate_give(&c->gate);
        rests = child_rests(c);
        if (rests || is_leaving || cancel_is_set(cancel))
            break;
        gate_take(&c->gate);
        while (c->news == seen)
            gate_wait(&c->gate, /*deadline_ms=*/-1);
        gate_give(&c->gate);
    }
    cancel_off(hook);
    if (!rests)
        return err_set(err, ERR_CANCELLED, "%s",
                       is_leaving ? "the agent has ended" : "interrupted");
    child_read_end(c, ret);
    return 0;
}

static int spawn_send(struct spawner *self, const char *id, struct str text, enum input_when when,
                      struct err *err)
{
    CLEANUP(child_unpinp) struct child *c = child_pin((struct children *)self, id, err);

    if (!c || prompt_check(text, err) < 0)
        return -1;
    child_say(c, text, when);
    return 0;
}

bool children_send(struct children *all, const char *id, struct agent_input *input)
{
    CLEANUP(child_unpinp) struct child *c = child_pin(all, id, /*err=*/NULL);

    if (c)
        agent_send(c->agent, input);
    return c != NULL;
}

static int spawn_stop(struct spawner *self, const char *id, struct err *err)
{
    CLEANUP(child_unpinp) struct child *c = child_pin((struct children *)self, id, err);

    if (c)
        agent_interrupt(c->agent, /*drop_queued=*/true);
    return c ? 0 : -1;
}

static int spawn_set_mode(struct spawner *self, const char *id, struct str mode, struct err *err)
{
    CLEANUP(child_unpinp) struct child *c = child_pin((struct children *)self, id, err);
    enum permit_mode m;

    if (!c)
        return -1;
    if (!mode.len) {
        permit_follow_mode(c->permit);
        return 0;
    }
    if (!permit_mode_parse(mode, &m))
        return err_set(err, ERR_BAD_INPUT, "there is no permission mode '%.*s'",
                       STR_ARG(str_clip(mode, 100)));
    return permit_set_mode(c->permit, m, err);
}

/* It must not be in the list any more. */
static void child_end(struct child *c)
{
    agent_interrupt(c->agent, /*drop_queued=*/true);
    gate_take(&c->gate);
    c->is_leaving = true;
    c->news++;
    gate_wake(&c->gate);
    while (atomic_load(&c->pins))
        gate_wait(&c->gate, /*deadline_ms=*/-1);
    gate_give(&c->gate);
    child_free(c);
}

static int spawn_forget(struct spawner *self, const char *id, struct err *err)
{
    struct children *all = (struct children *)self;
    struct child *found = NULL;

    gate_take(&all->gate);
    for (size_t i = 0; i < all->list.len && !found; i++) {
        if (strcmp(all->list.ptr[i]->id, id) != 0)
            continue;
        found = all->list.ptr[i];
        all->list.ptr[i] = all->list.ptr[--all->list.len];
    }
    gate_give(&all->gate);
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.40s'", id);
    child_end(found);
    return 0;
}

/* From here on no input is accepted; senders that had begun are waited for. */
static struct child *child_close(struct children *all, const char *id)
{
    struct child *c;

    gate_take(&all->gate);
    c = child_find(all, id);
    if (c && !c->is_retiring)
        c->is_retiring = true;
    else
        c = NULL;
    gate_give(&all->gate);
    if (!c)
        return NULL;
    gate_take(&c->gate);
    while (atomic_load(&c->pins))
        gate_wait(&c->gate, /*deadline_ms=*/-1);
    gate_give(&c->gate);
    return c;
}

static int spawn_retire(struct spawner *self, const char *id, struct spawn_end *ret,
                        struct err *err)
{
    struct children *all = (struct children *)self;
    struct child *c = child_close(all, id);
    bool rests = c && child_rests(c);

    if (!c)
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.40s'", id);
    gate_take(&all->gate);
    c->is_retiring = rests;
    for (size_t i = 0; i < all->list.len && rests; i++) {
        if (all->list.ptr[i] == c)
            all->list.ptr[i] = all->list.ptr[--all->list.len];
    }
    gate_give(&all->gate);
    if (!rests)
        return err_set(err, ERR_RETRY_LATER, "the agent %s works", id);
    child_read_end(c, ret);
    child_end(c);
    return 0;
}

/* ---- All of them ---- */

struct children *children_new(struct host *h)
{
    struct children *all = mem_zalloc(sizeof(*all));

    all->spawner = (struct spawner){.start = spawn_start,
                                    .wait = spawn_wait,
                                    .send = spawn_send,
                                    .stop = spawn_stop,
                                    .set_mode = spawn_set_mode,
                                    .retire = spawn_retire,
                                    .forget = spawn_forget};
    all->host = h;
    gate_init(&all->gate);
    return all;
}

int children_ask_hooks(struct children *all, const char *id, const char *event, struct str members,
                       struct cancel *cancel, struct buf *ret_reason, struct err *err)
{
    CLEANUP(child_unpinp) struct child *c = child_pin(all, id, /*err=*/NULL);

    return c ? agent_ask_hooks(c->agent, event, members, /*call=*/NULL, cancel, ret_reason, err)
             : 0;
}

struct spawner *children_spawner(struct children *all)
{
    return &all->spawner;
}

void children_free(struct children *all)
{
    if (!all)
        return;
    gate_take(&all->gate);
    all->is_closed = true;
    while (all->starting) /* starting one may need its parent, which still exists */
        gate_wait(&all->gate, /*deadline_ms=*/-1);
    gate_give(&all->gate);
    VEC_EACH(&all->list, c) {
        agent_interrupt((*c)->agent, /*drop_queued=*/true);
    }
    while (all->list.len)
        (void)spawn_forget(&all->spawner, all->list.ptr[0]->id, /*err=*/NULL);
    vec_release(&all->list);
    gate_release(&all->gate);
    mem_freep(&all);
}
