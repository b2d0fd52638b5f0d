/*
 * An agent: one conversation with a model and the tools it calls.
 *
 * All work is done on the agent's own thread, which takes requests from one mailbox. The thread
 * exists only while a turn runs, input waits or a timer is set: an idle agent costs no thread.
 * Other threads hold a pointer and call the functions below; only agent_free() blocks unless its
 * comment says otherwise. An agent reports what it does only as events (event.h) and asks the user
 * only through asks (ask.h).
 *
 * Inputs are queued. Each one starts its own turn, except INPUT_NEXT, which is added to the running
 * turn between two steps, and INPUT_NOW, which interrupts the running turn.
 *
 * ARCHITECTURE.md walks through one turn. turn.c is the loop, step.c makes one model call and
 * recovers from its errors, batch.c runs the tool calls of a step, call.c runs one of them,
 * history.c keeps the conversation valid, ledger.c adds up the cost.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/input.h"
#include "base/id.h"
#include "base/identity.h"
#include "base/str.h"
#include "base/strv.h"
#include "llm/dialect/dialect.h"

struct agent;
struct asker;
struct buf;
struct call;
struct cancel;
struct conf;
struct crew;
struct err;
struct event;
struct extra_source;
struct hook_news;
struct hook_runner;
struct journal;
struct message;
struct net;
struct mentions;
struct permit;
struct provider;
struct recall;
struct referee;
struct spawner;
struct team;
struct tool_result;
struct tool_entry;
struct toolbox;
struct workspace;

/* Whether to change the first line of the request so that the provider's prompt cache misses. */
enum cache_break {
    CACHE_BREAK_OFF,
    CACHE_BREAK_ONCE, /* for the next model call, then OFF */
    CACHE_BREAK_ALWAYS,
};

/* An instruction file, as reported to hooks. Valid until the next call of loaded(). */
struct agent_loaded {
    const char *path;
    const char *type;         /* "User", "Project", "Local", "Managed" */
    const char *reason;       /* "session_start", "include", "nested_traversal", … */
    const char *parent;       /* the file that imports it, or NULL */
    const char *trigger;      /* the file whose reading loaded it, or NULL */
    const struct strv *globs; /* the paths a rule applies to, or NULL */
};

/* The agent keeps pointers to everything here, so all of it must outlive the agent. Fields marked
 * "copied" are the exception. */
struct agent_spec {
    struct identity identity; /* copied */
    const struct conf *conf;
    struct net *net; /* NULL if no provider needs the network */
    /* The first one is used; the others are fallbacks for when it is overloaded. Copied. */
    const struct provider *providers;
    size_t provider_count;
    struct toolbox *toolbox; /* the agent takes a reference */
    /* Whether a call of this tool fails although the agent has it: a fork. NULL = none. */
    bool (*refuses)(void *arg, const struct tool_entry *e);
    void *refuses_arg;
    struct workspace *workspace;
    struct permit *permit;
    struct sandbox *sandbox; /* where commands run; NULL = unconfined */
    struct crew *crew; /* threads for the agent and its calls; NULL = the agent creates its own */
    struct inputs *inputs;            /* the input queue; NULL = the agent creates its own */
    struct asker *asker;              /* NULL if there is no user to ask */
    struct hook_runner *const *hooks; /* NULL-terminated; NULL = no hooks */
    struct str system;                /* the system prompt */
    struct str plan_steps;            /* instructions for plan mode; empty = the default ones */
    struct str context;               /* reminders that go before the first input; may be empty */
    const char *transcript_path;      /* reported to hooks; "" if the session is not saved */
    const char *own_transcript_path;  /* a subagent's own file; NULL if it is not saved */
    const char *source;        /* how the session started: "startup", "resume", "fork", "clear" */
    const char *prompt_source; /* "user" or "sdk"; NULL if unknown */
    struct recall *recall; /* the conversation to resume, or NULL; used only during agent_new() */
    int64_t last_ms;       /* wall-clock time of the last message; 0 = unknown */
    int64_t max_steps;     /* per turn; 0 = no limit */
    struct spending
        /* The session's costs so far; the agent takes a reference. NULL = start at zero. */
        *spending;
    enum thinking thinking;
    int64_t thinking_budget;
    const atomic_bool *hides_thinking; /* true: do not request thinking text; NULL = request it */
    enum effort effort;
    enum cache_break cache_break;
    /* Numbers the event (seq) and publishes it. Called on the agent's thread and its tool threads.
     * Blocks while the queue of a local observer is full, until cancel is set. */
    void (*emit)(void *arg, struct event *e, struct cancel *cancel);
    void *emit_arg;
    /* Gets the session's title, and sets it when a hook asks for that. Any thread. NULL if the
     * session has no title. */
    void (*title)(void *arg, struct buf *ret);
    void (*rename)(void *arg, struct str title);
    void *title_arg;
    /* Called before each input except the first: appends reminders about what has changed since
     * then (instruction files, the date). NULL = never. Agent thread. */
    void (*news)(void *arg, struct cancel *cancel, struct buf *ret);
    /* Called after a file was read: appends reminders that apply to that file, such as the
     * instruction files of its folder. */
    void (*near)(void *arg, const char *path, struct cancel *cancel, struct buf *ret);
    /* Called after a compaction: appends the current version of the reminders in `context`. If it
     * is NULL or appends nothing, `context` is used again. */
    void (*again)(void *arg, struct cancel *cancel, struct buf *ret);
    /* Gets the next instruction file that was read but not yet reported to hooks; false if there is
     * none. NULL = never any. */
    bool (*loaded)(void *arg, struct agent_loaded *ret);
    /* Called with each input: appends a reminder about what fits it, and its transcript line, or
     * nothing. NULL = nothing ever. Agent thread. */
    void (*fitting)(void *arg, struct str words, struct buf *ret, struct buf *ret_line);
    /* Gets the next transcript line that belongs to the reminders; false if there is none. NULL =
     * never any. */
    bool (*attachment)(void *arg, struct buf *ret);
    /* Appends the files that the text of an input mentions (context/mention.h). NULL = none. Agent
     * thread. */
    void (*mentioned)(struct workspace *w, struct permit *p, bool takes_images, struct str words,
                      struct cancel *cancel, struct mentions *ret);
    void *news_arg; /* passed to news, near, again, loaded, fitting and attachment */
    /* Called before each turn, step and call to apply changed settings. NULL = settings never
     * change. Called on the agent's thread and its call threads. */
    void (*refresh)(void *arg);
    /* Replaces the list of files that hooks want to watch. NULL = no watching. Any thread. */
    void (*watch)(void *arg, const struct strv *paths);
    void *refresh_arg;       /* passed to refresh and watch */
    struct journal *journal; /* writes the conversation to disk; NULL: not stored */
    struct referee *referee; /* head of the chain that is asked whether the turn may end, or NULL */
    struct spawner *spawner; /* lets tools start agents; NULL if they cannot */
    struct extra_source *extra; /* asked for additional tools before each step; NULL = none */
    /* Whether background work is running whose result the agent must still report. If so the agent
     * does not end after agent_finish(); the worker wakes it with agent_nudge(). *io_look_ms: when
     * to ask again anyway (clock_mono_ms()), or -1; may be lowered. NULL = never. Its thread. */
    bool (*awaits)(void *arg, int64_t *io_look_ms);
    void *awaits_arg;
    /* Called when the agent has nothing left to do while a command waits for that (input.h:
     * inputs_put_off()). NULL = nobody waits. Agent thread; must not block. */
    void (*settled)(void *arg);
    void *settled_arg;
    struct team *team;     /* the team and its task list, for tools; NULL if there is no team */
    struct cancel *cancel; /* the process's: ends the turn and the agent */
};

/* The agent accepts input after agent_new(), but starts to work only with agent_begin(), which sets
 * the rest of the spec: net, system, context and journal. */
struct agent *agent_new(const struct agent_spec *spec);
void agent_begin(struct agent *a, const struct agent_spec *spec);
/* Interrupts the turn, waits for the thread and frees the agent. NULL is fine. */
void agent_free(struct agent *a);

/* Both take the content of the input. agent_send() queues a new prompt; agent_pass() queues one
 * that the caller took from the queue with inputs_claim(). An input that has to wait is first
 * recorded in the journal. */
void agent_send(struct agent *a, struct agent_input *input);
void agent_pass(struct agent *a, struct agent_input *claimed);
struct inputs *agent_inputs(struct agent *a);
/* True if no turn runs and no input waits. */
bool agent_rests(struct agent *a);
/* True if the agent's thread has found nothing more to do: also no turn that a goal or background
 * work is about to begin. */
bool agent_has_settled(struct agent *a);
/* Copies the conversation so far, to start another agent with it. Calls that are still running get
 * the result AGENT_TALK_RESULT in the copy. Waits for the agent's thread. */
#define AGENT_TALK_RESULT "Fork started."
int agent_talk(struct agent *a, struct cancel *cancel, struct recall *ret, struct err *err);
/* Sets the journal that records waiting input. Call it before agent_begin(). */
void agent_keep_in(struct agent *a, struct journal *journal);
/* Removes a withdrawn input from the journal. Takes its content. */
void agent_forget(struct agent *a, struct agent_input *in);
/* Moves a prompt that waits for its turn back to unread and removes it from the journal. False if
 * it is not waiting. */
bool agent_return(struct agent *a, struct str uuid);

/* Removes transcript lines, given by uuid, from the conversation once the agent is idle. A notice
 * reports the result. */
void agent_snip(struct agent *a, const struct strv *entries);

/* A rewind of the conversation. The caller's code (host/host_rewind.c) does it in go(), on the
 * agent's thread between two turns. The caller must keep this struct until done() is called. */
struct agent_rewind {
    bool files, conversation; /* what is restored; for the event */
    /* Records the rewind. If the conversation is rewound, *ret gets what remains of it. On -1
     * nothing has changed. */
    int (*go)(struct agent_rewind *self, struct recall *ret, struct err *err);
    /* Called once: after go() and the event, or when the agent ends. err is NULL on success. */
    void (*done)(struct agent_rewind *self, const struct err *err);
    /* Set by go() for EVENT_REWOUND. */
    char message[ID_UUID_LEN + 1]; /* the message to which the conversation returns */
    char line[ID_UUID_LEN + 1];    /* the transcript line that records the rewind */
    struct str text;               /* message for the user; valid until done() */
    int64_t turn;                  /* set by the agent */
};
/* ERR_BUSY if a turn runs or an input waits; done() is not called in that case. */
int agent_rewind(struct agent *a, struct agent_rewind *order, struct err *err);

/* Ends the running turn with aborted_*. Does nothing when the agent is idle. drop_queued: also
 * drops the inputs that wait for their turn. */
void agent_interrupt(struct agent *a, bool drop_queued);
/* Ends the turn with this number (struct event). Does nothing if another turn is running. */
void agent_interrupt_turn(struct agent *a, int64_t turn);
/* Marks the time during which the user is being asked; it does not count as working time. */
void agent_asks(struct agent *a, bool on);

/* Announces that no more input will come. When all work is done, the agent's thread calls fn(arg)
 * once and ends. */
void agent_finish(struct agent *a, void (*fn)(void *arg), void *arg);
/* Sets the reason that SessionEnd hooks receive: "clear", "resume", "prompt_input_exit". The
 * default is "other". reason must be a string literal. */
void agent_end_as(struct agent *a, const char *reason);

/* These take effect with the next model call. agent_set_model() takes the content of *p. */
void agent_set_model(struct agent *a, struct provider *p);
void agent_set_thinking(struct agent *a, enum thinking thinking, int64_t budget);
void agent_set_effort(struct agent *a, enum effort effort);
void agent_set_toolbox(struct agent *a, struct toolbox *t); /* a reference is kept */
void agent_set_system(struct agent *a, struct str system);  /* lent as long as the agent exists */
void agent_break_cache(struct agent *a, enum cache_break how);
enum cache_break agent_cache_break(const struct agent *a);

/* Tokens of the last request as counted by the provider. An estimate after a compaction or a
 * resume. 0 = unknown. */
int64_t agent_context_tokens(const struct agent *a);

/* Runs a tool call outside any turn, with the usual hooks, rules and questions, and waits for it.
 * Several threads may do so at once. *ret starts as TOOL_RESULT_INIT; a failed call is a result
 * that says so. -1 only if cancelled. */
struct agent_tool_use {
    struct str id, name, input; /* "toolu_…", "Bash", a JSON object */
};
int agent_call_tool(struct agent *a, const struct agent_tool_use *use, struct cancel *cancel,
                    struct tool_result *ret, struct err *err);

/* If the agent is idle, asks the referee again whether there is work to do. */
void agent_nudge(struct agent *a);

/* Runs Notification hooks without waiting for them. type: "idle_prompt", "agent_needs_input" and
 * the others that the hooks reference lists. title may be NULL. */
void agent_tell(const struct agent *a, const char *type, const char *title, struct str message);

/* Runs the hooks of an event that is not tied to the turn loop (TaskCreated, TeammateIdle).
 * members: a JSON object that is merged into the hooks' input. Context that they add for the model
 * goes with the call's result, or is sent as a note if call is NULL. Returns 1 if a hook objects,
 * with the reason in *ret_reason, 0 if none does, -1 if cancelled. */
int agent_ask_hooks(struct agent *a, const char *event, struct str members, struct call *call,
                    struct cancel *cancel, struct buf *ret_reason, struct err *err);

/* Like agent_tell(), for DirectoryAdded: a working directory was added. source: "slash_command". */
void agent_tell_folder(const struct agent *a, const char *folder, const char *source);

/* Like agent_tell(), for FileChanged. event: "add", "change" or "unlink". */
void agent_tell_file(const struct agent *a, const char *path, const char *event);

/* Reports the progress of a hook handler to observers. Runs started by the agent itself report it
 * without this. Blocks while an observer's queue is full; cancel (may be NULL) ends the wait. */
void agent_tell_handler(const struct agent *a, const struct hook_news *news, struct cancel *cancel);

/* Asks ConfigChange hooks whether a changed settings file may take effect. source: as in
 * conf_listen(). Waits for the hooks unless the turn is interrupted. */
bool agent_may_change(struct agent *a, const char *source, const char *path);

/* Runs Elicitation hooks (a form of an MCP server is to be shown) or, with_answer,
 * ElicitationResult hooks. members: their input as a JSON object. ret_answer:
 * {"action","content"?}, or nothing when no hook decides. Any thread. */
void agent_ask_form(struct agent *a, bool with_answer, struct str server, struct str members,
                    struct cancel *cancel, struct buf *ret_answer);

/* Runs SessionStart hooks now instead of with the first input. The context they add is sent with
 * that input. */
void agent_ask_start(struct agent *a);

/* Adds a reminder to the running (or next) turn, for example that a background command has ended;
 * id is the command's. wake: start a turn if the agent is idle. */
void agent_notify(struct agent *a, enum input_origin origin, struct str id, struct str text,
                  bool wake);
