/*
 * What others see of an agent: the only way out.
 *
 * Everything shown anywhere (a terminal, stream-json, a socket, later a web page) is a function of
 * these events and nothing else. An event is made by its agent, numbered by the host without gaps
 * within the session, and then immutable and shared: event_ref() and event_unref() from any thread.
 *
 * A turn is TURN_STARTED … TURN_DONE; the hooks of its beginning (SessionStart, UserPromptSubmit)
 * come before. A step of it is STEP_STARTED, per block BLOCK_STARTED, BLOCK_DELTA…, BLOCK_DONE, and
 * STEP_DONE; or, at any point after STEP_STARTED, STEP_VOID: all of the step's blocks are void, and
 * a new STEP_STARTED follows or the turn ends; or STEP_CUT: it was interrupted, its texts stay and
 * all its other blocks are void, and the turn ends. Each call of a step has one TOOL_STARTED (which
 * may come before STEP_DONE) and one TOOL_DONE, except calls that are void with their step or that
 * a hook has deferred. TOOL_DONE events come in the order of the calls, after STEP_DONE; of a call
 * that has to wait for that a TOOL_PROGRESS reports that it has ended.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/identity.h"
#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"
#include "llm/event.h"
#include "llm/message.h"

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
                            is_error: nothing runs any more, TOOL_DONE comes in its turn */
    EVENT_TOOL_DONE, /* id, name, is_error, error: ERR_DENIED: it was not allowed to run, json: the
                        tool_result block, text: its text, data: structured result (JSON) or empty,
                        duration_ms; denied_by and show: of one denied without asking, the
                        reason_type and the reason */
    EVENT_USER,      /* json: a message {"role":"user","content"} that entered the conversation
                        beside tool results; text; id: uuid of the input it came with; user;
                        show: which files went along with it, a line each, or empty */
    EVENT_WAITING,   /* processed, total, cached: the server reads the prompt */
    EVENT_RETRY,     /* attempt, max_tries, delay_ms, status, error (enum err_code),
                        is_overloaded, text */
    EVENT_STATE,     /* state */
    EVENT_MODE,      /* mode */
    EVENT_HOOK_STARTED, /* all handlers of an event: id, name: "PreToolUse:Bash", text:
                           "PreToolUse"; show: status text for the user, or empty */
    EVENT_HOOK_DONE,    /* the same, is_error, duration_ms; show: output for the user's terminal, or
                           empty */
    EVENT_HANDLER_STARTED,  /* one of them, between those two, or continuing after them: id: the
                               handler's, name, text: the same */
    EVENT_HANDLER_PROGRESS, /* the same; json: the end of what it has printed so far, data: on
                               standard error; duration_ms */
    EVENT_HANDLER_DONE,     /* the same, but of each the beginning; is_error, error; has_code,
                               code: a command's */
    /* Tasks (agent/task.h): id, tool_id, show: what it is, name: its state, data: output file,
     * task. They are the session's, whichever agent has started the task. */
    EVENT_TASK_STARTED,  /* text: what it is */
    EVENT_TASK_PROGRESS, /* of an agent, text: what it does */
    EVENT_TASK_UPDATED, /* json: what has changed: {status?, end_time?, error?, is_backgrounded?} */
    EVENT_TASK_DONE,    /* text: how it ended, or an agent's report */
    EVENT_TASKS,        /* json: an array of all that run in the background */
    EVENT_COMPACTING,   /* name: "manual", "auto"; pre_tokens: the older part is being summed up */
    EVENT_COMPACTED,   /* the same; is_error and text: why not; else post_tokens, usage.input is the
                          same, text for the user; duration_ms; uuid: of the boundary */
    EVENT_REWOUND,     /* the conversation was rewound: id: to before which message, name: "files",
                          "conversation", "both"; text for the user; uuid: of the line that records it;
                          post_tokens and usage.input: of the rest */
    EVENT_GOAL,        /* name: "goal_set", "goal_verdict", …; json: an object that says more */
    EVENT_ACTIVE_GOAL, /* json: {condition, iterations, set_at, tokens_at_start, last_reason?} as
                          it is now, or null */
    EVENT_COMMAND,     /* name: of a slash command, text: its answer, data: the same with SGR
                          codes or empty, is_error; state: IDLE: a TURN_DONE follows that says
                          the same, RUNNING: a turn runs or begins */
    EVENT_COMMAND_PROGRESS, /* name: of the running command, text: its latest output, replaces the
                               previous text */
    EVENT_NOTICE, /* level, text: a message for the user; id: the input that is dropped because of
                     it, or empty; name: "model_fallback": another model answers, data: the one
                     before, model: the one that does; or empty */
    EVENT_TURN_DONE, /* report; json: the session's goal as it stands then, or empty */
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
    USER_INPUT,          /* input of the user or a client */
    USER_APPENDED,       /* the same, for a later turn; only for a journal */
    USER_MARKER,         /* "[Request interrupted by user]" */
    USER_ADDED,          /* reminders, hook feedback, "go on": made by tenax */
    USER_NOTICE,         /* a notice (agent/notice.h) that began a turn; in its wrapping */
    USER_NOTICE_BETWEEN, /* the same, heard between two steps */
};

/* Why a turn ended. */
enum turn_end {
    END_COMPLETED,
    END_MAX_TURNS,
    END_BUDGET,
    END_ABORTED_STREAMING,
    END_ABORTED_TOOLS,
    END_PROMPT_TOO_LONG,
    END_API_ERROR,   /* the provider said no, for good */
    END_MODEL_ERROR, /* the model's answer cannot be used: empty, cut, refused */
    END_HOOK_STOPPED,
    END_TOOL_DEFERRED, /* a hook wants the call to be taken up by others */
    END_STOP_HOOK_PREVENTED,
    END_CALLED_OFF, /* the referee wants no further call */
    END_STRUCTURED, /* no answer fitted the schema */
};
const char *turn_end_name(enum turn_end end);    /* terminal_reason: "aborted_tools" */
const char *turn_end_subtype(enum turn_end end); /* of the result: "success", "error_max_turns" … */

struct buf;
struct llm_rate;

struct model_spent {
    struct str model;
    struct llm_usage usage;
    double usd; /* NAN: prices unknown */
    int64_t window, max_output;
};

/* Where a turn's time went. */
struct turn_pace {
    int64_t calls;    /* of the model */
    int64_t first_ms; /* to the first token, the median of them */
    double tokens_per_s;
    int64_t tool_ms, hook_ms; /* added up: calls beside each other count each */
};

/* What the session's goal makes of the end of a turn; the host adds it. */
struct turn_goal {
    const char *status;  /* "blocked"; NULL: there is no goal */
    struct str reason;   /* one line, or empty */
    int exit_code;       /* of a run that ends now */
    const char *subtype; /* of the result, in place of the turn's own; NULL: the turn's own */
};

struct turn_report {
    enum turn_end end;
    bool is_error; /* the turn's own; turn_report_is_error() heeds the goal, too */
    struct turn_goal goal;
    struct str result;   /* the last answer's text; of an API failure its error */
    struct str error;    /* what to show the user if it failed; or empty */
    struct str category; /* of an API failure: "rate_limit", "authentication_failed", …; or empty */
    int api_status;      /* HTTP, 0: none */
    enum llm_stop stop;
    int64_t duration_ms, duration_api_ms;
    int64_t worked_ms; /* without the time that questions waited for their answers */
    struct turn_pace pace;
    int64_t steps;                    /* num_turns */
    struct llm_usage usage;           /* of this turn */
    int64_t total_ms, total_api_ms;   /* of all turns of the session, this one included */
    double total_usd;                 /* of the session; the known part */
    bool cost_unknown;                /* a model without prices had a part in it */
    const struct model_spent *models; /* of the session */
    size_t model_count;
    struct str denials;     /* JSON array of {tool_name, tool_use_id, tool_input} */
    struct str deferred;    /* JSON {id, name, input} of the call, with END_TOOL_DEFERRED */
    struct str structured;  /* JSON that fits the schema; or empty */
    struct str inputs;      /* JSON array: uuids of the named inputs it has heard, in order */
    struct str first_input; /* the one that it answers; or empty */
    size_t queued;          /* inputs that wait */
    int64_t index;          /* of all results of the session in this process, from 0 */
};

/* The answer's text, for programs and transcripts; of an API failure it begins as others know it:
 * "API Error: 400 …". */
void turn_report_text(const struct turn_report *r, struct buf *ret);
const char *turn_report_subtype(const struct turn_report *r);
bool turn_report_is_error(const struct turn_report *r);

/* Of events about a task. */
struct event_task {
    const char *run;   /* id of this run of it */
    const char *kind;  /* "local_agent" */
    const char *type;  /* of an agent; or NULL */
    const char *owner; /* the agent that started it: "main", or its id */
    int depth;
    bool is_agent, is_background, has_usage;
    struct str prompt; /* with TASK_STARTED, of an agent */
    struct str tool;   /* that it called last; or empty */
    int64_t tokens, tool_uses, duration_ms;
};

struct event {
    uint64_t seq; /* from 1 */
    char uuid[ID_UUID_LEN + 1];
    struct identity by; /* lives as long as the event */
    int64_t turn, step; /* from 1; 0: outside */
    int64_t time_ms;    /* wall clock */
    enum event_kind kind;

    struct str message_id, request_id;
    struct str model;
    size_t index;
    enum block_kind block;
    struct str id, tool_id, name;
    struct str text, json, data;
    struct str show;   /* of hooks, tasks and input: for people */
    struct str agents; /* with TURN_STARTED: JSON array, the types that can be started */
    bool is_error, aborted, ended;
    bool is_named; /* of an input: its uuid is the client's own */
    bool has_code; /* of a hook's command */
    int code;
    enum event_user user;
    enum event_state state;
    enum event_level level;
    const char *mode;
    const char *denied_by; /* as ask.h's reason_type; NULL: not denied, or by the user */
    enum llm_stop stop;
    struct llm_usage usage;
    int64_t ttft_ms, duration_ms, delay_ms;
    double usd; /* of the session so far; NAN: something has no price */
    int attempt, max_tries, status;
    enum err_code error;
    bool is_overloaded;
    int64_t processed, total, cached;
    int64_t pre_tokens, post_tokens; /* about */
    const struct turn_report *report;
    const struct event_task *task;
    const struct llm_rate *rate; /* NULL: the server says nothing of limits */

    atomic_int refs;    /* from here on the event's own: a copy has nothing of it */
    struct arena arena; /* of all slices */
};

/* What the reference calls a failure of the provider: "rate_limit", "overloaded", … The HTTP status
 * cannot tell these two apart: both also come inside an answer that began with 200. */
const char *event_error_name(enum err_code code, bool is_overloaded);

struct event *event_new(enum event_kind kind);
struct event *event_ref(struct event *e);
void event_unref(struct event *e);
/* What it takes in a queue, about. */
size_t event_bytes(const struct event *e);
/* Merges a delta with an earlier one (same agent, step and index): a new event with the seq of the
 * later one. NULL when they do not go together. */
struct event *event_merge(const struct event *a, const struct event *b);
