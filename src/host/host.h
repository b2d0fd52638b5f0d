/*
 * A session put together: everything an agent needs, built from settings and options, and
 * everything others need to take part.
 *
 * The agent starts with the first input, so that a client may still configure it (hooks, prompt,
 * schema). Front ends see its activity through the feed and its questions through the asks, and
 * nothing else. The main agent is "main"; those it starts are found here by their id.
 *
 * Everything may be called from any thread except host_new(), host_free() and the configuration
 * before the first input. host_send() builds the agent when it is the first; nothing else waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "host/session.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"

struct agent_input;
struct agent_tool_use;
struct args;
struct asks;
struct buf;
struct cancel;
struct conf;
struct err;
struct event;
struct feed;
struct goal;
struct hook_registry;
struct hook_runner;
struct agents;
struct host;
struct host_choices;
struct hub;
struct inputs;
struct instructions;
struct json;
struct model;
struct permit;
struct prompt_spec;
struct provider;
struct recall;
struct rewind;
struct sandbox;
struct session;
struct spawner;
struct team;
struct strv;
struct tool_entry;
struct tool_result;
struct workspace;

#define HOST_MAX_HOOKS 4

/* A list for the model, and its changes, before each input: adds a <system-reminder> block and the
 * attachment line that belongs to it, or nothing. known: all reminders of the conversation that
 * starts or is resumed here; NULL: it continues as before. The thread that builds the agent,
 * afterwards the agent's. */
typedef void host_listing_fn(void *arg, const struct str *known, struct buf *ret_blocks,
                             struct buf *ret_attachment);

/* All lent for host_new() alone, except hub, conf, args, inputs and cancel, which outlive the
 * host. */
struct host_spec {
    struct hub *hub;   /* what it shares with other sessions (host/hub.h); NULL: nothing */
    struct conf *conf; /* read again when its files change */
    const struct args *args;
    struct cancel *cancel; /* of the process */
    struct session_spec session;
    struct inputs *inputs;    /* inputs, shared with the previous session; NULL: a new queue */
    struct session *found;    /* session_open() has been called; taken, also on failure; NULL: no */
    const struct strv *tools; /* the only ones to offer; NULL: all */
    /* Tools beside those of the table, offered whatever `tools` says; with what they point to they
     * outlive the host. */
    const struct tool_entry *more;
    size_t more_count;
    const char *permission_tool; /* of an MCP server, asked instead of the user; NULL: none */
    struct str mcp_servers;      /* of a client, beside those of the settings: {"name": entry} */
    struct str output_schema;    /* of the answer; empty: any text */
    int64_t max_steps;           /* of a turn; 0: no limit */
    double max_usd;              /* 0: no limit */
    enum thinking thinking;
    int64_t thinking_budget;
    bool hides_thinking;    /* thinking is not shown: its text is not requested */
    const char *source;     /* how it begins, for hooks: "clear"; NULL: by the command line */
    bool only_calls;        /* no model is chosen: host_call_tool() is all that will be used */
    bool opens_without_key; /* a missing key is a problem of the first prompt, not of host_new() */
    bool has_input;         /* host_send() comes at once: what it needs is begun early */
    bool awaits_types; /* a client may bring the type that the session runs as (host_bring_types())
                        */
    bool is_interactive; /* a user is in front of it: trust counts, an old goal waits for
                            confirmation */
};

/* Chooses models and keys, reads prompts and rules. notes: what the user should know. Fails with
 * ERR_BAD_INPUT, ERR_AUTH, ERR_UNSUPPORTED, …: nothing was sent; or ERR_CANCELLED. */
int host_new(const struct host_spec *spec, struct strv *ret_notes, struct host **ret,
             struct err *err);
/* Why it is about to be freed, for hooks: agent_end_as(). */
void host_end_as(struct host *h, const char *reason);
/* Interrupts what runs, waits for it, frees. NULL is fine. */
void host_free(struct host *h);

const char *host_session(const struct host *h);
struct hub *host_hub(struct host *h);
/* The folder of a session that goes on, when it is another than this one: true. */
bool host_other_folder(const struct host *h, struct buf *ret);
const struct conf *host_conf(const struct host *h);
const char *host_key_source(const struct host *h); /* "ANTHROPIC_API_KEY"; "none" */
struct feed *host_feed(struct host *h);
struct asks *host_asks(struct host *h);
struct permit *host_permit(struct host *h);
struct sandbox *host_sandbox(struct host *h);
struct workspace *host_workspace(struct host *h);
struct team *host_team(struct host *h);           /* tasks/team/team.h */
struct spawner *host_spawner(struct host *h);     /* agents beside the main one; agent/spawn.h */
struct agents *host_agents(struct host *h);       /* tasks/agents.h */
struct task_table *host_tasks(struct host *h);    /* agent/task.h */
struct hook_registry *host_hooks(struct host *h); /* of settings and session; hooks/registry.h */

/* Before the first input; ERR_UNSUPPORTED afterwards. */
int host_set_prompt(struct host *h, const struct str *system, const struct str *append,
                    struct err *err); /* NULL: as it was */
/* Between turns; empty: any text will do. */
int host_set_schema(struct host *h, struct str schema, struct err *err);
/* The initialPrompt of the agent type that a new session runs as: once, then false. */
bool host_take_first_prompt(struct host *h, struct buf *ret);
/* Coordinator mode: the main agent plans, and only workers have tools. From the next step on.
 * ERR_BAD_INPUT: the session runs as an agent type. */
int host_set_coordinator(struct host *h, bool on, struct err *err);
bool host_coordinates(const struct host *h);
int host_set_plan(struct host *h, struct str steps, struct err *err); /* of plan mode */
/* Types of agents as JSON, for this session. The session becomes the one that --agent names. */
int host_bring_types(struct host *h, struct str json, struct err *err);
/* Folders of plugins, as --plugin-dir; of the second list without their MCP servers. */
int host_bring_plugins(struct host *h, const struct strv *dirs, const struct strv *without_mcp,
                       struct err *err);
/* The only skills that the model may use: names, or what stands behind the colon in them. */
int host_set_skills(struct host *h, const struct strv *names, struct err *err);
bool host_offers_skill(const struct host *h, struct str name);
/* Names of tools, each followed by the tool that it stands for when the model uses it. */
int host_set_aliases(struct host *h, const struct strv *names, struct err *err);
void host_set_listing(struct host *h, host_listing_fn *listing, void *arg);
/* The text of a skill that the type of an agent names: the agent has it from the beginning. False:
 * the model may use none of that name. Any thread. */
typedef bool host_skill_fn(void *arg, const char *agent, struct str name, struct buf *ret);
void host_set_skill(struct host *h, host_skill_fn *skill, void *arg);
/* What fits an input, said together with it: as the list, with the same arg. words.ptr NULL: a
 * compaction has removed what was said before, so it may be said again. */
typedef void host_fitting_fn(void *arg, struct str words, struct buf *ret_block,
                             struct buf *ret_attachment);
void host_set_fitting(struct host *h, host_fitting_fn *fitting, void *arg);
/* One more tool, offered if the session may use one of that name. What the row points to is lent
 * until host_free(). */
int host_add_tool(struct host *h, const struct tool_entry *row, struct err *err);
/* Lent. With disableAllHooks it is never called, and a notice reports that. */
int host_add_hooks(struct host *h, struct hook_runner *runner, struct err *err);

/* An interactive front end calls this once it can show an ask: when the folder is not trusted and
 * no answer is stored, the user is asked (host/trust.h), the answer stored, and if it is yes, all
 * of the folder's settings count. again: also when they have declined before. 1 trusted, 0 not, -1:
 * asking or storing failed. */
int host_ask_trust(struct host *h, bool again, struct err *err);

/* SessionStart hooks run now, if there are any: the session will be spoken to, but may have to wait
 * for its first prompt. Once; may take as long as it takes to begin an agent. */
void host_ask_start(struct host *h);

/* The queue of the main agent (agent/input.h). */
struct inputs *host_inputs(struct host *h);
/* A prompt that needs no reading. Takes the content of *input, also on failure. */
int host_send(struct host *h, struct agent_input *input, struct err *err);
/* The same for a prompt that has been read: claimed in the queue, and no longer afterwards. */
int host_pass(struct host *h, struct agent_input *claimed, struct err *err);
/* Stores it as waiting without delivering it: the resumed session has it. */
int host_keep(struct host *h, const struct agent_input *input, struct err *err);
/* The running turn ends; ret_queued gets the uuids of what still waits, unread or for its turn, or,
 * with drop_queued, of what waited and was dropped. */
void host_interrupt(struct host *h, bool drop_queued, struct strv *ret_queued);
/* Ends this turn (struct event), if it is still the running one. */
void host_interrupt_turn(struct host *h, int64_t turn);
/* What waits, unread or for its turn, is taken back; false: it does not (any more). */
bool host_unqueue(struct host *h, struct str uuid);
/* What waits for its turn is unread again, for the session that comes; false: it is not there. */
bool host_return(struct host *h, struct str uuid);
/* A resumed session has something to continue: its last turn was interrupted, or input waits. */
bool host_is_left_open(struct host *h);
/* What waited when the session that goes on was left, and is heard before the first input: uuids
 * and words, in order. Nothing once there has been an input. */
void host_left_waiting(struct host *h, struct strv *ret_uuids, struct strv *ret_texts);
/* A tool is called without a model, for a host with only_calls (agent_call_tool()). */
int host_call_tool(struct host *h, const struct agent_tool_use *use, struct cancel *cancel,
                   struct tool_result *ret, struct err *err);
bool host_has_tool(struct host *h, struct str name);
bool host_tool_is_shared(struct host *h, struct str name); /* it may run beside others */
/* What it offers: a JSON array of {"name","description","inputSchema","annotations"}. */
void host_write_tools(struct host *h, struct buf *ret);
/* Takes lines of the transcript, by uuid, out of the conversation when it is idle (agent_snip()). A
 * notice says what came of it; here only ERR_NOT_FOUND, for a session that has not begun. */
int host_snip(struct host *h, const struct strv *entries, struct err *err);
/* fn is called when the main agent has nothing left to do while a command waits for that
 * (inputs_put_off()). Its thread; must not wait. Only once, before there is an agent; arg is
 * released with the host. */
void host_on_settled(struct host *h, void (*fn)(void *arg), void *arg, void (*release)(void *arg));
bool host_has_settled(struct host *h); /* it has nothing left to do */
/* No more input: fn(arg) is called once all is done, on some thread; at once when nothing was ever
 * sent. Only once. */
void host_finish(struct host *h, void (*fn)(void *arg), void *arg);

/* A model and its key, as host_set_model() would take it, for a turn. Release it. */
int host_select(struct host *h, struct str want, struct provider *ret, struct err *err);
/* Empty or "default": the one the session started with. *ret_name is the name that is sent. */
int host_set_model(struct host *h, struct str want, struct buf *ret_name, struct err *err);
/* Lets the other front ends of the session see that one has changed the model or the effort. */
void host_model_changed(struct host *h);
void host_set_thinking(struct host *h, enum thinking thinking, int64_t budget);
void host_hide_thinking(struct host *h, bool hides);
enum thinking host_thinking(struct host *h, int64_t *ret_budget);
void host_model(struct host *h, struct buf *ret_provider, struct buf *ret_name,
                int64_t *ret_window);
/* From the next call on; UNSET: the model's own. */
void host_set_effort(struct host *h, enum effort effort);
enum effort host_effort(struct host *h);
void host_break_cache(struct host *h, int how); /* enum cache_break, agent/agent.h */
int host_cache_break(struct host *h);
/* The known properties of the model in use: figures and habits, no names. */
void host_figures(struct host *h, struct model *ret);

/* The title that lists of sessions show. */
int host_rename(struct host *h, struct str title, struct err *err);
/* One more folder to work in, for this session or, saved, for later ones of the project too;
 * DirectoryAdded hooks run. source: "slash_command", "register_repo_root". Warnings are added to
 * the list. */
int host_add_folder(struct host *h, struct str folder, bool save, const char *source,
                    struct strv *ret_warnings, struct err *err);
void host_title(struct host *h, struct buf *ret); /* nothing when it has none */

/* What settings files say now counts when it returns. */
void host_reload(struct host *h);
/* The same for which plugins are loaded. ERR_BUSY: a goal runs. */
int host_reload_plugins(struct host *h, struct err *err);
/* fn is called at the end of every such look, the agent's own included, one at a time. Only once,
 * before there is an agent; released with the host. */
void host_on_reload(struct host *h, void (*fn)(void *arg), void *arg, void (*release)(void *arg));
/* Whether ConfigChange hooks watch this source, and whether one of them blocks a change in a file:
 * such a change waits for them. Any thread. */
bool host_wants_change(struct host *h, const char *source);
bool host_ask_change(struct host *h, const char *source, const char *path);
/* A client's settings, over all others but managed ones (conf_lay_over()); model and effort are
 * taken over with the next call. -1: nothing has changed. */
int host_lay_over(struct host *h, const struct json *settings, struct err *err);
/* What a program that embeds us forbids, at the managed level; ret_dropped: keys that could permit
 * something, left out. */
int host_set_policy(struct host *h, const struct json *settings, struct strv *ret_dropped,
                    struct err *err);

/* Choices made in a session, by the user or a client (mode, model, effort, thinking, prompt, the
 * form of answers), also apply to the one that replaces it; so does the rest of max_usd. Choices
 * that cannot apply there are reported, a notice each. Before that one's first input; choices NULL:
 * none. has_own_mode: it is a resumed session that keeps its own mode. */
struct host_choices *host_choices(struct host *h);
void host_choose(struct host *h, const struct host_choices *choices, bool has_own_mode);
void host_choices_freep(struct host_choices **choices);

/* ---- What there is to know of a session (host_look.c). None of these changes it. ---- */

const char *host_transcript(const struct host *h); /* its file; "" when nothing is kept */
const char *host_folder(const struct host *h);     /* of the files kept beside it */

/* Lines that tools have written and taken away since the host was made. */
struct host_lines {
    int64_t added, removed;
};
void host_lines(struct host *h, struct host_lines *ret);

/* How long the session has been open, in processes before this one the time it worked, and how much
 * of it the model took. Both move while a turn runs. */
struct host_times {
    int64_t total_ms, api_ms;
};
void host_times(struct host *h, struct host_times *ret);

/* The past of a resumed session; all 0: a new one. Before its first input. */
struct host_past {
    int64_t tokens;  /* of the conversation, as the provider has counted them */
    int64_t last_ms; /* when its last message was written, by the wall clock */
    double usd;
    int64_t worked_ms;
    bool cost_unknown; /* some of it has no price */
};
void host_past(struct host *h, struct host_past *ret);

/* What fills the window, in tokens. `used` is as the provider has counted the last call; what it
 * consists of is measured in bytes and an estimate. */
struct host_fill {
    int64_t window;
    int64_t compact_at; /* 0: it is only compacted on request */
    int64_t used;       /* 0: nothing was sent yet */
    int64_t system, tools, instructions, messages;
};
int host_fill(struct host *h, struct cancel *cancel, struct host_fill *ret, struct err *err);
/* The instruction files that a session begun now would read. Release them. */
int host_instructions(struct host *h, struct cancel *cancel, struct instructions *ret,
                      struct err *err);
/* The conversation as it stands on the disk: ret is RECALL_INIT, release it. ERR_NOT_FOUND: nothing
 * has been said yet, or nothing is kept. */
int host_recall(struct host *h, struct cancel *cancel, struct recall *ret, struct err *err);
/* One question to the session's model that is no part of the conversation; its cost is the
 * session's. */
int host_ask_model(struct host *h, struct str system, struct str question, int64_t max_tokens,
                   struct cancel *cancel, struct buf *ret, struct err *err);

/* Going back to before a message of the user (host/record/rewind.h): the files that tools have
 * changed since, the conversation, or both; what commands did is not covered. */
struct host_rewind {
    struct str message; /* its uuid */
    bool files, conversation;
    bool force; /* files that others have changed since, too */
};
/* What would happen to files: rewind_planned(), rewind_free(). ERR_NOT_FOUND: no such message;
 * ERR_UNSUPPORTED: nothing is kept of the session. */
int host_rewind_plan(struct host *h, const struct host_rewind *what, struct rewind **ret,
                     struct err *err);
/* r: what happened to files (lent); line: the uuid of the line that records it; going back to that
 * undoes it. err: nothing was done. */
typedef void (*host_rewound_fn)(void *arg, struct rewind *r, const char *line,
                                const struct err *err);
/* fn is called once, before this returns or on the agent's thread; not when it fails here.
 * ERR_BUSY: the conversation does not go back while a turn runs. */
int host_rewind(struct host *h, const struct host_rewind *what, host_rewound_fn fn, void *arg,
                struct err *err);

/* The session's goal (goal/goal.h). */
struct goal *host_goal(struct host *h);
/* The agent shall look whether there is something to do; it is made when there is none yet. */
int host_wake(struct host *h, struct err *err);

/* A message for the user, as an event. */
void host_notice(struct host *h, int level, struct str text);

/* For those who say something in the session's name: an event as the host itself makes it, for
 * feed_emit(); whether a turn runs; the names of the tools, a JSON array. */
struct event *host_event(struct host *h, int kind);
/* Adds to a TURN_STARTED which MCP servers and agent types the session has. */
void host_add_offers(struct host *h, struct event *e);
bool host_in_turn(struct host *h);
void host_tools(struct host *h, struct buf *ret);

/* A slash command has answered. Observers see its text (EVENT_COMMAND) and, when no turn runs or
 * will begin because of it, a turn without steps around them, so that clients that wait for a
 * result get one. */
struct host_answer {
    const struct agent_input *input; /* the typed input; its message may be NULL */
    const char *command;             /* "goal" */
    struct str text;
    struct str color; /* the same with SGR codes; empty: it has none */
    bool is_markdown; /* the model has written it */
    bool is_error;
    bool goes_on; /* a turn will begin by itself */
    bool counts;  /* it has a result, even if a turn has begun by itself meanwhile */
};
void host_answer(struct host *h, const struct host_answer *a);
int64_t host_count_result(struct host *h); /* the number of the next result, from 0 */
/* A command has changed the goal: its lines go into the transcript now, also where no agent runs.
 */
void host_write_goal(struct host *h);
/* All turns are over and the process is about to exit: where the last TURN_DONE does not say how
 * the goal stands now (it was stopped while it waited, or no turn has run), another one does. */
void host_settle(struct host *h);

/* The last TURN_DONE, and the last STEP_DONE, COMPACTED or REWOUND: what the context holds; NULL
 * when there was none. Yours: event_unref(). */
struct event *host_last_turn(struct host *h);
struct event *host_last_step(struct host *h);
