/*
 * Events: everything that others can see of an agent.
 *
 * Every view (the terminal, stream-json, a socket, a later web page) is computed from these events
 * and from nothing else. An agent creates an event, the host numbers it without gaps within the
 * session, and from then on it is immutable and shared: event_ref() and event_unref() work on any
 * thread.
 *
 * A turn is TURN_STARTED … TURN_DONE; the hooks that run first (SessionStart, UserPromptSubmit)
 * come before TURN_STARTED. A step is STEP_STARTED; per block BLOCK_STARTED, BLOCK_DELTA…,
 * BLOCK_DONE; then STEP_DONE. Instead of STEP_DONE there may be, at any point, STEP_VOID: all
 * blocks of the step are discarded and a new STEP_STARTED follows or the turn ends; or STEP_CUT:
 * the step was interrupted, its text blocks stay, all others are discarded, and the turn ends. Each
 * call of a step has one TOOL_STARTED (possibly before STEP_DONE) and one TOOL_DONE, except calls
 * that are discarded with their step or deferred by a hook. TOOL_DONE events come after STEP_DONE
 * in the order of the calls. If a call ends before an earlier one, a TOOL_PROGRESS reports its end
 * at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/identity.h"
#include "base/str.h"
#include "llm/event.h"
#include "llm/ledger.h"
#include "llm/message.h"
#include "llm/pace.h"

enum event_kind {
    EVENT_TURN_STARTED,  /* model, mode, text: cwd, json: ["tool names"], id: the input's uuid,
                            data: ["added folders"], name: output style, or empty,
                            show: MCP servers (JSON) */
    EVENT_REQUESTING,    /* a request for the next step is about to go out */
    EVENT_STEP_STARTED,  /* message_id, model, usage so far, ttft_ms, request_id */
    EVENT_BLOCK_STARTED, /* index, block; id and name of a tool_use */
    EVENT_BLOCK_DELTA,   /* index, block, text */
    EVENT_BLOCK_DONE,    /* index, block, json: the whole block in Anthropic's shape; id, name;
                            text: of a text block; aborted: it was cut by an interrupt */
    EVENT_STEP_DONE,     /* message_id, model, stop, data: the stop sequence or empty, usage,
                            request_id, ttft_ms, usd, rate */
    EVENT_STEP_VOID,     /* text: why */
    EVENT_STEP_CUT,      /* message_id, model, request_id */
    EVENT_TOOL_STARTED,  /* id, name, json: the input, expanded */
    EVENT_TOOL_PROGRESS, /* id, name, text: replaces the previous text, duration_ms; ended, and then
                            is_error: it has stopped running, TOOL_DONE follows in order */
    EVENT_TOOL_DONE, /* id, name, is_error, error: ERR_DENIED: it was not allowed to run, json: the
                        tool_result block, text: its text, data: structured result (JSON) or empty,
                        duration_ms; decider and decided_by (agent/call.h); denied_by and show:
                        if it was denied without asking, the
                        reason_type and the reason */
    EVENT_USER,    /* json: a message {"role":"user","content"} that entered the conversation, other
                      than tool results; text; id: uuid of its input; user; show: the files attached to
                      it, one per line, or empty */
    EVENT_WAITING, /* processed, total, cached: the server is reading the prompt */
    EVENT_RETRY,   /* attempt, max_tries, delay_ms, status, error (enum err_code),
                      is_overloaded, text */
    EVENT_STATE,   /* state */
    EVENT_MODE,    /* mode */
    EVENT_MODEL,   /* a front end has changed the model or the effort; host_model() has it */
    EVENT_HOOK_STARTED, /* all handlers of an event: id, name: "PreToolUse:Bash", text:
                           "PreToolUse"; show: status text for the user, or empty */
    EVENT_HOOK_DONE,    /* the same, is_error, duration_ms; show: output for the user's terminal, or
                           empty */
    EVENT_HANDLER_STARTED,  /* one handler of the above, which may outlive HOOK_DONE: id: the
                               handler's, name, text: the same */
    EVENT_HANDLER_PROGRESS, /* the same; json: the tail of its standard output, data: of its
                               standard error; duration_ms */
    EVENT_HANDLER_DONE, /* the same with the head of its output; is_error, error; has_code, code: a
                           command's exit code */
    /* Tasks (agent/task.h). All have id, tool_id, show: description, name: state, data: output
     * file, task. They belong to the session, whichever agent started them. */
    EVENT_TASK_STARTED,  /* text: description */
    EVENT_TASK_PROGRESS, /* of an agent; text: current activity */
    EVENT_TASK_UPDATED, /* json: what has changed: {status?, end_time?, error?, is_backgrounded?} */
    EVENT_TASK_DONE,    /* text: how it ended, or an agent's report */
    EVENT_TASKS,        /* json: an array of all background tasks */
    EVENT_COMPACTING,   /* name: "manual", "auto"; pre_tokens: a summary is being made */
    EVENT_COMPACTED, /* the same; is_error and text: why not; else post_tokens, usage.input is the
                        same, text for the user; duration_ms; uuid: of the boundary */
    EVENT_REWOUND,   /* the conversation was rewound: id: the message it returns to, name: "files",
                        "conversation", "both"; text for the user; uuid: of the line that records it;
                        post_tokens and usage.input: of the rest */
    EVENT_GOAL, /* name: "goal_set", "goal_verdict", …; json: an object with details; data: the
                   goal as it is now (goal_thread_json()), or null */
    EVENT_ACTIVE_GOAL, /* json: {condition, iterations, set_at, tokens_at_start, last_reason?} as it
                          is now, or null; data: the same */
    EVENT_GOAL_ROW,    /* its usage or phase has changed; data: the same */
    EVENT_COMMAND, /* name: of a slash command, text: its output, data: the same with SGR codes or
                      empty, is_markdown: the model wrote it, is_error; state: IDLE: a TURN_DONE
                      with the same text follows, RUNNING: a turn runs or begins */
    EVENT_COMMAND_PROGRESS, /* name: of the running command, text: its latest output, replaces the
                               previous text */
    EVENT_NOTICE, /* level, text: a message for the user; id: the input that was dropped because of
                     it, or empty; name: "model_fallback": data: the model that failed, model: the
                     one that answers now; or empty */
    EVENT_TURN_DONE, /* report; json: the session's goal at that time, or empty */
};

/* A set of kinds. */
typedef uint64_t event_set;
#define EVENT_BIT(kind) ((event_set)1 << (kind))
_Static_assert(EVENT_TURN_DONE < 64, "a bit of each kind");

enum event_state {
    STATE_IDLE,
    STATE_RUNNING,
    STATE_REQUIRES_ACTION,
};
const char *event_state_name(enum event_state s); /* "requires_action" */

enum event_level {
    LEVEL_INFO,
    LEVEL_WARNING,
    LEVEL_ERROR,
};

enum event_user {
    USER_INPUT,          /* input from the user or a client */
    USER_APPENDED,       /* the same, kept for a later turn; only for a journal */
    USER_MARKER,         /* "[Request interrupted by user]" */
    USER_ADDED,          /* text made by tenax: reminders, hook feedback */
    USER_NOTICE,         /* a notice (context/notice.h) that began a turn, with its wrapper */
    USER_NOTICE_BETWEEN, /* the same, delivered between two steps */
};

/* Why a turn ended. */
enum turn_end {
    END_COMPLETED,
    END_MAX_TURNS,
    END_BUDGET,
    END_ABORTED_STREAMING,
    END_ABORTED_TOOLS,
    END_PROMPT_TOO_LONG,
    END_API_ERROR,   /* the provider refused the request, and a retry cannot help */
    END_MODEL_ERROR, /* the answer is unusable: empty, cut, refused */
    END_HOOK_STOPPED,
    END_TOOL_DEFERRED, /* a hook deferred a call to the client */
    END_STOP_HOOK_PREVENTED,
    END_CALLED_OFF, /* the referee allows no further model call */
    END_STRUCTURED, /* no answer matched the schema */
};
const char *turn_end_name(enum turn_end end);    /* terminal_reason: "aborted_tools" */
const char *turn_end_subtype(enum turn_end end); /* of the result: "success", "error_max_turns" … */

struct buf;
struct llm_rate;

/* What the end of a turn means for the session's goal; set by the host. */
struct turn_goal {
    const char *status;  /* "blocked"; NULL: there is no goal */
    struct str reason;   /* one line, or empty */
    int exit_code;       /* the process's exit code if the run ends now */
    const char *subtype; /* overrides the result's subtype; NULL = the turn's own */
};

struct turn_report {
    enum turn_end end;
    bool is_error; /* the turn's own; turn_report_is_error() also considers the goal */
    struct turn_goal goal;
    struct str result;   /* text of the last answer, or the error of an API failure */
    struct str error;    /* the error to show to the user; or empty */
    struct str category; /* of an API failure: "rate_limit", "authentication_failed", …; or empty */
    int api_status;      /* HTTP, 0: none */
    enum llm_stop stop;
    int64_t duration_ms, duration_api_ms;
    int64_t worked_ms; /* without the time spent waiting for the user's answers */
    struct turn_pace pace;
    int64_t steps;                    /* num_turns */
    struct llm_usage usage;           /* of this turn */
    int64_t total_ms, total_api_ms;   /* of all turns of the session, this one included */
    double total_usd;                 /* of the session; only what has a known price */
    bool cost_unknown;                /* a model with unknown prices was used */
    const struct model_spent *models; /* of the session */
    size_t model_count;
    struct str denials;     /* JSON array of {tool_name, tool_use_id, tool_input} */
    struct str deferred;    /* JSON {id, name, input} of the call, with END_TOOL_DEFERRED */
    struct str structured;  /* JSON that fits the schema; or empty */
    struct str inputs;      /* JSON array: uuids of the named inputs it has received, in order */
    struct str first_input; /* the uuid of the one that started it; or empty */
    const char *notice_run; /* it began with a notice about this run of a task, or ""; NULL: with
                               any other input */
    size_t queued;          /* inputs still waiting */
    int64_t index;          /* number of this result in this process, from 0 */
};

/* The answer's text for programs and transcripts. For an API failure it begins as in Claude Code:
 * "API Error: 400 …". */
void turn_report_text(const struct turn_report *r, struct buf *ret);
const char *turn_report_subtype(const struct turn_report *r);
bool turn_report_is_error(const struct turn_report *r);

/* For events about a task. */
struct event_task {
    const char *run;   /* id of this run of it */
    const char *kind;  /* "local_agent" */
    const char *type;  /* of an agent; or NULL */
    const char *owner; /* the agent that started it: "main", or its id */
    int depth;
    bool is_agent, is_background, has_usage;
    struct str prompt; /* with TASK_STARTED, of an agent */
    struct str tool;   /* its last tool call; or empty */
    int64_t tokens, tool_uses, duration_ms;
};

struct event {
    uint64_t seq; /* from 1 */
    char uuid[ID_UUID_LEN + 1];
    struct identity by; /* lives as long as the event */
    int64_t turn, step; /* from 1; 0 = outside a turn or step */
    int64_t time_ms;    /* wall clock */
    enum event_kind kind;

    struct str message_id, request_id;
    struct str model;
    size_t index;
    enum block_kind block;
    struct str id, tool_id, name;
    struct str text, json, data;
    struct str show;   /* of hooks, tasks and input: text for the user */
    struct str agents; /* with TURN_STARTED: JSON array of the agent types that can be started */
    bool is_error, aborted, ended;
    bool is_markdown;
    bool is_named; /* of an input: its uuid was chosen by the client */
    bool has_code; /* of a hook's command */
    int code;
    enum event_user user;
    enum event_state state;
    enum event_level level;
    const char *mode;
    const char *denied_by; /* as ask.h's reason_type; NULL: not denied, or by the user */
    const char *decider, *decided_by;
    enum llm_stop stop;
    struct llm_usage usage;
    int64_t ttft_ms, duration_ms, delay_ms;
    double usd; /* of the session so far; NAN = a price is unknown */
    int attempt, max_tries, status;
    enum err_code error;
    bool is_overloaded;
    int64_t processed, total, cached;
    int64_t pre_tokens, post_tokens; /* estimates */
    const struct turn_report *report;
    const struct event_task *task;
    const struct llm_rate *rate; /* NULL = the server reports no limits */

    atomic_int refs;    /* from here on fields are not copied */
    struct arena arena; /* owns all slices */
};

struct event *event_new(enum event_kind kind);
struct event *event_ref(struct event *e);
void event_unref(struct event *e);
/* Approximate memory use in a queue. */
size_t event_bytes(const struct event *e);
/* Merges a delta with an earlier one of the same agent, step and index into a new event with the
 * later seq. NULL if they cannot be merged. */
struct event *event_merge(const struct event *a, const struct event *b);
