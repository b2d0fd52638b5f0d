/*
 * Internals of the host; for src/host/host*.c only.
 *
 * host.c creates and connects the parts; host_agent.c has the agent, which is built with the first
 * input; host_event.c emits events for the session; host_hooks.c sets up hooks; host_title.c
 * requests titles; host_rewind.c rewinds; host_choices.c stores choices for the next session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/extra.h"
#include "agent/hook_sight.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "context/prompt.h"
#include "guard/permit.h"
#include "host/briefing.h"
#include "host/host.h"
#include "host/models.h"
#include "llm/spending.h"
#include "sync/thread.h"
#include "sync/ticket.h"
#include "tasks/pool.h"

struct agent;
struct agent_loaded;
struct agents;
struct children;
struct record;
struct task_table;
struct team;
struct tool_entry;

struct host {
    struct hub *hub, *own_hub; /* own_hub is NULL or equal to hub */
    struct conf *conf;
    const struct args *args;
    struct cancel *cancel;
    struct session *session;
    struct goals *goals;
    struct models models;
    struct net *net;
    struct workspace *workspace;
    struct permit *permit;
    struct sandbox *sandbox;
    VEC(const struct tool_entry *) tools; /* that may be offered; NULL-terminated */
    const struct tool_entry *more;        /* beside those */
    size_t more_count;
    VEC(struct tool_entry *) added; /* host_add_tool() */
    struct toolbox *toolbox;        /* the main agent's */
    struct toolbox
        *all_tools; /* the set its children choose from: the same, except in coordinator mode */
    struct strv only_tools;
    bool has_only_tools;
    struct prompt_spec prompt;
    struct briefing briefing;
    struct buf schema, plan_steps;
    struct strv aliases; /* of tools: name, actual tool, … */
    struct strv skills;  /* with has_skills: the only ones for the model */
    bool has_skills;
    struct hook_registry *registry;
    struct runner *runner;
    struct hook_watch aside_watch; /* for background hooks */
    struct reload *reload;
    struct watch *watch;
    struct hook_runner *hooks[HOST_MAX_HOOKS + 1];
    size_t hook_count;
    int64_t max_steps;
    struct spending *spending;
    struct host_past past;
    int64_t opened_ms; /* clock_mono_ms() */
    enum thinking thinking;
    int64_t thinking_budget;
    atomic_bool hides_thinking;
    bool is_interactive;
    atomic_bool gave_first_prompt;
    atomic_bool coordinates;    /* coordinator mode is on */
    bool told_coordinating;     /* the model was told about it */
    bool recorded_coordinating; /* it is recorded in the transcript */
    struct buf coordinator_system;
    char *scratchpad;        /* for coordinator mode; or NULL */
    atomic_bool lacks_model; /* there is no key yet: chosen when it is needed */
    bool only_calls;         /* no model and no MCP servers */
    bool of_run;             /* runs one prompt, then the process exits */
    const char *source;      /* NULL = according to how the session was opened */
    enum effort effort;      /* guarded by the gate, like thinking */
    struct feed *feed;
    struct asks *asks;
    struct permission_tool *permission_tool; /* answers instead of the user; or NULL */
    struct event_log *log;                   /* may be NULL */
    struct surroundings *around;             /* being collected; or NULL */
    struct buf system,
        context;        /* initial context of every agent of the session; made for the first one */
    struct buf opening; /* context and agent types: initial context of the main agent */
    struct strv type_lines; /* the same for the transcript; not written yet */
    struct children *children;
    struct agents *agents;
    struct definitions *types_read; /* where main's own type is; NULL: it has none */
    bool awaits_types, lacks_type;  /* the type that --agent names; a client may bring it */
    struct pool pool;               /* what that leaves of the tools */
    struct tool_entry agent_tool, message_tool; /* with the agents */
    struct task_table *tasks;
    struct team *team;
    struct mcp *mcp;          /* NULL: no servers are configured */
    host_fitting_fn *fitting; /* NULL: nothing */
    void *fitting_arg;
    host_skill_fn *skill; /* NULL: there are none */
    void *skill_arg;
    void (*on_settled)(void *arg); /* host_on_settled() */
    void *on_settled_arg;
    void (*on_settled_release)(void *arg);
    struct strv mcp_told;           /* notes about tools, each said once; under `boxing` */
    struct mcp_desk *mcp_desk;      /* what servers have asked (mcp_ask.h) */
    struct arena mcp_arena;         /* of mcp_servers */
    const struct json *mcp_servers; /* of a client; NULL: none */
    _Atomic uint64_t mcp_seen;      /* the version of servers and tools in the toolbox */
    struct extra_source extra;
    bool defers;             /* MCP tools are deferred */
    bool is_undecided;       /* defers is not decided yet: it depends on the number of tools */
    struct ticket boxing;    /* held while a toolbox is made */
    struct thread *looking;  /* checks whether commands can be sandboxed here */
    struct titling *titling; /* NULL = no title was requested */

    struct agent *agent;                /* the main agent; starts when it is ready */
    struct inputs *inputs, *own_inputs; /* own_inputs is NULL or equal to inputs */

    struct gate gate; /* guards the fields below */
    bool is_ready;    /* everything needed by the first input exists */
    bool is_held;     /* that is being made, or a caller blocks it */
    bool finishing;
    int64_t turn, step; /* of the last event */
    bool in_turn;
    int64_t results; /* number of results reported */
    struct event *last_turn, *last_step;
    struct buf denied; /* calls of other agents that the next result will list: JSON objects with a
                          comma after each */
    struct host_lines lines;
};

/* host.c */
int host_make_toolbox(struct host *h, struct err *err);
int host_check_early(struct host *h, struct err *err); /* ERR_UNSUPPORTED: it has begun */
/* No client will bring it any more. ERR_BAD_INPUT: the type that --agent names does not exist. */
int host_need_type(struct host *h, struct err *err);
/* The network, where a model needs it. */
int host_connect(struct host *h, struct err *err);
/* Makes the sandbox of another workspace; the caller frees it. */
struct sandbox *host_sandbox_for(struct host *h, struct workspace *w, struct strv *ret_notes);
struct toolbox *host_toolbox(struct host *h);          /* the caller owns the reference */
struct toolbox *host_children_toolbox(struct host *h); /* the same */

/* host_coordinator.c: coordinator mode as a resumed session or the environment requests it; its
 * transcript line; the main agent's tools in it; its system prompt; a reminder when the mode has
 * changed (true). */
int host_begin_coordinator(struct host *h, struct strv *ret_notes, struct err *err);
void host_record_coordinator(struct host *h);
int host_coordinator_tools(struct host *h, struct toolbox *all, struct toolbox **ret,
                           struct err *err);
struct str host_system(struct host *h);
bool host_coordinator_news(struct host *h, struct buf *ret);

/* mcp.c: starts the servers, waits for them before the first turn, applies changes. */
int host_start_mcp(struct host *h, struct strv *ret_notes, struct err *err);
/* Starts servers of an agent and waits until they have connected. Those whose names the session's
 * servers have are left out. NULL: none is left, or *err is set. */
struct mcp *host_start_own_servers(struct host *h, const struct json *servers,
                                   struct strv *ret_notes, struct err *err);
/* Those of plugins that were loaded since. */
int host_add_plugin_servers(struct host *h, struct err *err);
void host_await_mcp(struct host *h);
/* Who is asked for permissions. */
struct asker *host_asker(struct host *h);
void host_refresh_mcp(struct host *h);

/* host_hooks.c */
void host_make_hooks(struct host *h, struct strv *ret_notes);
/* The session's hooks and those of an agent's definition, which run for that agent only: "hooks" of
 * `file`, in the form of the settings. */
struct agent_hooks;
struct agent_hooks *agent_hooks_new(struct host *h, const struct json *hooks, const char *file,
                                    struct workspace *w, struct spending *spending);
struct hook_runner *const *agent_hooks_list(const struct agent_hooks *a); /* ends with NULL */
void agent_hooks_free(struct agent_hooks *a); /* after the agent; NULL is fine */
/* Callbacks; arg is the host. */
void host_say_model(void *arg, struct buf *ret);
void host_say_title(void *arg, struct buf *ret);
void host_take_title(void *arg, struct str title);
bool host_may_change(void *arg, const char *source, const char *path);
void host_on_file(void *arg, const char *path, const char *event);
void host_on_watch(void *arg, const struct strv *paths);

/* host_team.c */
void host_make_team(struct host *h);
/* Takes over the team that the resumed session led, without its members. */
void host_adopt_team(struct host *h);

/* host_agent.c */
void host_make_agent(struct host *h);
struct agent *host_running(struct host *h);                /* NULL if it has not started */
struct agent *host_agent(struct host *h, struct err *err); /* starts it if necessary */
struct record *host_record(struct host *h);                /* NULL = nothing is saved */
const char *host_entrypoint(const struct host *h);         /* "cli" */
void host_refresh(void *arg);                              /* agent_spec.refresh */
/* Between these two calls the agent does not start. Returns it, or NULL if it has not started: then
 * the caller has the record to itself. */
struct agent *host_hold(struct host *h);
void host_let_go(struct host *h);

/* host_look.c: asks this model a question outside the conversation, at the session's cost. */
int host_ask_of(struct host *h, struct provider *provider, struct str system, struct str question,
                int64_t max_tokens, struct cancel *cancel, struct buf *ret, struct err *err);

/* host_tasks.c: the session's own agent type, in the transcript. */
void host_record_type(struct host *h);

/* host_tasks.c: the listener of the session's tasks, and whether main waits for some of them. */
int host_make_agents(struct host *h, struct strv *ret_notes, struct err *err);
/* agent_spec.news and related callbacks, with the agent types; arg is the host. */
void host_say_types(struct host *h);
void host_news(void *arg, struct cancel *cancel, struct buf *ret);
void host_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret);
void host_again(void *arg, struct cancel *cancel, struct buf *ret);
bool host_loaded(void *arg, struct agent_loaded *ret);
bool host_attachment(void *arg, struct buf *ret);
void host_fitting(void *arg, struct str words, struct buf *ret, struct buf *ret_line);
void host_listen_tasks(struct host *h);
/* Restores the agents of a resumed session; call it once its main agent exists. */
void host_recall_agents(struct host *h);
bool host_awaits_tasks(void *arg, int64_t *io_look_ms);

/* host_title.c: called with user input, which may be used to request a title. */
void host_hear(struct host *h, const struct agent_input *input);
void host_end_titling(struct host *h);

/* host_event.c: callbacks; arg is the host. */
void host_emit(void *arg, struct event *e, struct cancel *cancel);
void host_emit_goal(void *arg, struct event *e);
void host_on_waiting(bool waiting, void *arg);
void host_on_mode(enum permit_mode mode, void *arg);
void host_on_trouble(void *arg, struct str text);
