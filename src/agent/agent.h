/*
 * An agent: a conversation that works until there is nothing left to do.
 *
 * It waits on one mailbox and only one thread touches it, which exists only while a turn runs,
 * input waits or a timer is set: an idle agent costs no thread. Others hold a pointer and call the
 * functions below, from any thread; none of them blocks except agent_free(). Its activity is
 * visible only as events (event.h); questions to the user are asks (ask.h).
 *
 * Inputs queue up. Each starts a separate turn, except those that are to be read between two steps
 * of the running turn (INPUT_NEXT) or at once (INPUT_NOW, which interrupts it).
 *
 * ARCHITECTURE.md walks one turn. The loop is turn.c; one model call with its recovery is step.c;
 * the calls of a step are batch.c, one of them call.c; the conversation and its invariants are
 * history.c; the money is ledger.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/identity.h"
#include "agent/input.h"
#include "base/id.h"
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
struct permit;
struct provider;
struct recall;
struct referee;
struct spawner;
struct team;
struct tool_result;
struct toolbox;
struct workspace;

/* Whether a new first line of the request keeps the provider's prompt cache from being used. */
enum cache_break {
    CACHE_BREAK_OFF,
    CACHE_BREAK_ONCE, /* the next call of the model; then OFF */
    CACHE_BREAK_ALWAYS,
};

/* A file of instructions, as reported to hooks; lent until the next one is asked for. */
struct agent_loaded {
    const char *path;
    const char *type;         /* "User", "Project", "Local", "Managed" */
    const char *reason;       /* "session_start", "include", "nested_traversal", … */
    const char *parent;       /* that imports it; NULL: none */
    const char *trigger;      /* the file that was read; NULL: none */
    const struct strv *globs; /* of a rule; NULL: none */
};

/* Everything is lent and outlives the agent, except the providers, which are copied. */
struct agent_spec {
    struct identity identity; /* copied */
    const struct conf *conf;
    struct net *net; /* NULL: no provider needs it */
    /* The first is asked; the others are gone to when it is overloaded. */
    const struct provider *providers;
    size_t provider_count;
    struct toolbox *toolbox; /* the agent has its own reference */
    struct workspace *workspace;
    struct permit *permit;
    struct sandbox *sandbox;          /* where commands run; NULL: they are not confined */
    struct crew *crew;                /* threads for it and its calls; NULL: its own */
    struct inputs *inputs;            /* what waits to be heard; NULL: its own */
    struct asker *asker;              /* NULL: no one to ask */
    struct hook_runner *const *hooks; /* NULL-terminated; NULL: none */
    struct str system;                /* the system prompt */
    struct str plan_steps;            /* how plan mode comes to a plan; empty: as it always does */
    struct str context;               /* reminders that go before the first input; may be empty */
    const char *transcript_path;      /* for hooks; "" when nothing is kept */
    const char *own_transcript_path;  /* of a child: its own file; NULL: nothing is kept */
    const char *source;               /* how it begins: "startup", "resume", "fork", "clear" */
    const char *prompt_source;        /* who speaks: "user", "sdk"; NULL: not known */
    struct recall *recall; /* the conversation to resume; NULL: none. Lent for agent_new() alone */
    int64_t last_ms;       /* its last words, wall clock; 0: not known */
    int64_t max_steps;     /* of a turn; 0: no limit */
    struct spending *spending; /* with the costs so far; kept by reference. NULL: a new one */
    enum thinking thinking;
    int64_t thinking_budget;
    const atomic_bool *hides_thinking; /* it is not asked for in words; NULL: it is */
    enum effort effort;
    enum cache_break cache_break;
    /* Takes the event, numbers it (seq) and passes it on, from the agent's thread and from those of
     * its tools. May wait while a local observer is full, but not once cancel is set. */
    void (*emit)(void *arg, struct event *e, struct cancel *cancel);
    void *emit_arg;
    /* What the session is called: told, and set by a hook; any thread. NULL: it has no name. */
    void (*title)(void *arg, struct buf *ret);
    void (*rename)(void *arg, struct str title);
    void *title_arg;
    /* Before each input after the first: appends reminders of changes since (instruction files, the
     * date). NULL: nothing ever changes. Agent thread. */
    void (*news)(void *arg, struct cancel *cancel, struct buf *ret);
    /* After a file was read: the same for what applies to files like it (nested instructions). */
    void (*near)(void *arg, const char *path, struct cancel *cancel, struct buf *ret);
    /* After a compaction: the reminders before the first input, as they would be now. NULL or
     * nothing: context is repeated. */
    void (*again)(void *arg, struct cancel *cancel, struct buf *ret);
    /* The next file of instructions that was read and not yet reported to hooks; false: none. NULL:
     * there are no such files. */
    bool (*loaded)(void *arg, struct agent_loaded *ret);
    /* The next line of the transcript that belongs to the reminders; false: none. NULL: never. */
    bool (*attachment)(void *arg, struct buf *ret);
    void *news_arg; /* of all four */
    /* Settings may have changed: called before each turn, step and call, and what they say counts
     * when it returns. NULL: they never do. The agent's thread and those of its calls. */
    void (*refresh)(void *arg);
    /* Files that a hook wants to watch, in place of those it named before. NULL: no watching. Any
     * thread. */
    void (*watch)(void *arg, const struct strv *paths);
    void *refresh_arg;          /* of both */
    struct journal *journal;    /* writes the conversation to disk; NULL: not stored */
    struct referee *referee;    /* the first link of those asked when the turn would end; or NULL */
    struct spawner *spawner;    /* for tools that start agents; NULL: none can be started */
    struct extra_source *extra; /* asked for its tools before each step; NULL: they are as given */
    /* Whether other work is running whose end it must report before it may end itself, though no
     * more input will come; the worker wakes it (agent_nudge()). NULL: none. Any thread. */
    bool (*awaits)(void *arg);
    void *awaits_arg;
    struct team *team;     /* for tools, its team and task list; NULL: none */
    struct cancel *cancel; /* of the process: ends turn and agent */
};

/* It accepts input already, but starts to work only with agent_begin(), which sets the rest of the
 * spec: net, system, context and journal. */
struct agent *agent_new(const struct agent_spec *spec);
void agent_begin(struct agent *a, const struct agent_spec *spec);
/* Interrupts, waits for the thread, frees. NULL is fine. */
void agent_free(struct agent *a);

/* A prompt that needs no reading, and one that has been read (inputs_claim()) and waits for its
 * turn now. Input that has to wait is written to the journal first. Takes the content. */
void agent_send(struct agent *a, struct agent_input *input);
void agent_pass(struct agent *a, struct agent_input *claimed);
struct inputs *agent_inputs(struct agent *a);
/* No turn runs and no input waits. */
bool agent_rests(struct agent *a);
/* The conversation so far, for an agent that begins with it: a copy, in which calls that still run
 * have the result AGENT_TALK_RESULT. Waits for the agent's thread. */
#define AGENT_TALK_RESULT "Fork started."
int agent_talk(struct agent *a, struct cancel *cancel, struct recall *ret, struct err *err);
/* Before it begins: the journal that stores waiting input. */
void agent_keep_in(struct agent *a, struct journal *journal);
/* It was taken back: the journal has it no longer. Takes the content. */
void agent_forget(struct agent *a, struct agent_input *in);
/* A prompt that waits for its turn is unread again, and no longer in this journal; false: it is not
 * there. */
bool agent_return(struct agent *a, struct str uuid);

/* Takes lines of the transcript, by uuid, out of the conversation, when it is idle; a notice says
 * what came of it. */
void agent_snip(struct agent *a, const struct strv *entries);

/* Going back in the conversation, done by the caller's code (host/host_rewind.c), on the agent's
 * thread and between two turns. The request belongs to the caller until done() is called. */
struct agent_rewind {
    bool files, conversation; /* parts that are restored; for the event */
    /* Writes it down, and gives the conversation as it is then, when that is set back. -1: all is
     * as it was. */
    int (*go)(struct agent_rewind *self, struct recall *ret, struct err *err);
    /* Once, after go() and the event, or when the agent ends; err NULL: success. */
    void (*done)(struct agent_rewind *self, const struct err *err);
    /* By go(), for EVENT_REWOUND. */
    char message[ID_UUID_LEN + 1]; /* the message that was restored */
    char line[ID_UUID_LEN + 1];    /* the line that records it */
    struct str text;               /* for the user; lent until done() */
    int64_t turn;                  /* the agent's own */
};
/* ERR_BUSY: a turn runs or something waits for one; done() is not called then. */
int agent_rewind(struct agent *a, struct agent_rewind *order, struct err *err);

/* The running turn ends with aborted_*; nothing when it is idle. drop_queued: and what waits for
 * its turn is dropped. */
void agent_interrupt(struct agent *a, bool drop_queued);
/* The user is being asked, or no longer: the time between is not counted as work of the turn. */
void agent_asks(struct agent *a, bool on);

/* No more input will come: when all is done the agent's thread calls fn(arg), once, and ends. */
void agent_finish(struct agent *a, void (*fn)(void *arg), void *arg);
/* Why it will end, as SessionEnd hooks hear it: "clear", "resume", "prompt_input_exit"; "other"
 * unless said. A string that lives on. */
void agent_end_as(struct agent *a, const char *reason);

/* From the next model call on. Takes the content of *p. */
void agent_set_model(struct agent *a, struct provider *p);
void agent_set_thinking(struct agent *a, enum thinking thinking, int64_t budget);
void agent_set_effort(struct agent *a, enum effort effort);
void agent_set_toolbox(struct agent *a, struct toolbox *t); /* a reference is kept */
void agent_break_cache(struct agent *a, enum cache_break how);
enum cache_break agent_cache_break(const struct agent *a);

/* The size of the last call, as the provider has counted it; an estimate after a compaction, or
 * when a conversation is resumed; 0: unknown yet. */
int64_t agent_context_tokens(const struct agent *a);

/* A call of a tool that belongs to no turn, with hooks, rules and questions as in one. Waits for
 * its end; any thread, several at once. ret: TOOL_RESULT_INIT; a failure is a result that reports
 * it. -1: cancelled. */
struct agent_tool_use {
    struct str id, name, input; /* "toolu_…", "Bash", a JSON object */
};
int agent_call_tool(struct agent *a, const struct agent_tool_use *use, struct cancel *cancel,
                    struct tool_result *ret, struct err *err);

/* Asks the referee again whether there is something to do, when it is idle. */
void agent_nudge(struct agent *a);

/* Tells Notification hooks, and waits for none of them. type: "idle_prompt", "agent_needs_input",
 * … as the reference has them; title: NULL: none. */
void agent_tell(const struct agent *a, const char *type, const char *title, struct str message);

/* Asks the hooks of an event that has its own place (TaskCreated, TeammateIdle), by its name;
 * members: a JSON object, for the input beside the common ones. What they add for the model is
 * heard with the call (NULL: of none), or as a note. 1: one objects, with its reason; 0: none; -1:
 * cancelled. */
int agent_ask_hooks(struct agent *a, const char *event, struct str members, struct call *call,
                    struct cancel *cancel, struct buf *ret_reason, struct err *err);

/* The same for DirectoryAdded: one more folder to work in. source: "slash_command". */
void agent_tell_folder(const struct agent *a, const char *folder, const char *source);

/* The same for FileChanged. event: "add", "change" or "unlink". */
void agent_tell_file(const struct agent *a, const char *path, const char *event);

/* Reports the progress of a hook's handler to observers; the agent's own runs do this themselves.
 * Waits while an observer is full, unless cancel is set or NULL. */
void agent_tell_handler(const struct agent *a, const struct hook_news *news, struct cancel *cancel);

/* Asks ConfigChange hooks whether a settings file that has changed may count. source: as
 * conf_listen() has it. Waits for them, but not once the turn is interrupted. */
bool agent_may_change(struct agent *a, const char *source, const char *path);

/* SessionStart hooks run now, and not with the first input; their additions go with that input. */
void agent_ask_start(struct agent *a);

/* Things said into the running (or next) turn as a reminder, such as the end of a background
 * command (id: of it). wake: starts a turn when idle. */
void agent_notify(struct agent *a, enum input_origin origin, struct str id, struct str text,
                  bool wake);
