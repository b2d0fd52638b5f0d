/*
 * Hooks: points of the agent loop where other programs may observe, object or add context.
 *
 * At each point the agent calls hooks_run() with the event's JSON; the fields are those of the
 * hooks reference. Runners answer: handlers from settings and sessions (hooks/runner.h), callbacks
 * of an SDK (proto). Their answers are merged into one outcome: deny beats defer beats ask beats
 * allow; contexts and messages are concatenated; the first stop wins. A new kind of hook is a new
 * runner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct cancel;
struct err;
struct hook_watch;
struct json;
struct message;
struct rule_subject;
struct workspace;

#define HOOK_EVENTS(X)                                                                             \
    X(SESSION_START, "SessionStart")                                                               \
    X(USER_PROMPT_SUBMIT, "UserPromptSubmit")                                                      \
    X(USER_PROMPT_EXPANSION, "UserPromptExpansion")                                                \
    X(PRE_TOOL_USE, "PreToolUse")                                                                  \
    X(PERMISSION_REQUEST, "PermissionRequest")                                                     \
    X(PERMISSION_DENIED, "PermissionDenied")                                                       \
    X(POST_TOOL_USE, "PostToolUse")                                                                \
    X(POST_TOOL_USE_FAILURE, "PostToolUseFailure")                                                 \
    X(POST_TOOL_BATCH, "PostToolBatch")                                                            \
    X(NOTIFICATION, "Notification")                                                                \
    X(STOP, "Stop")                                                                                \
    X(STOP_FAILURE, "StopFailure")                                                                 \
    X(SUBAGENT_START, "SubagentStart")                                                             \
    X(SUBAGENT_STOP, "SubagentStop")                                                               \
    X(PRE_COMPACT, "PreCompact")                                                                   \
    X(POST_COMPACT, "PostCompact")                                                                 \
    X(TASK_CREATED, "TaskCreated")                                                                 \
    X(TASK_COMPLETED, "TaskCompleted")                                                             \
    X(TEAMMATE_IDLE, "TeammateIdle")                                                               \
    X(INSTRUCTIONS_LOADED, "InstructionsLoaded")                                                   \
    X(CWD_CHANGED, "CwdChanged")                                                                   \
    X(DIRECTORY_ADDED, "DirectoryAdded")                                                           \
    X(FILE_CHANGED, "FileChanged")                                                                 \
    X(CONFIG_CHANGE, "ConfigChange")                                                               \
    X(ELICITATION, "Elicitation")                                                                  \
    X(ELICITATION_RESULT, "ElicitationResult")                                                     \
    X(SESSION_END, "SessionEnd")

enum hook_event {
#define X(id, name) HOOK_##id,
    HOOK_EVENTS(X)
#undef X
    HOOK_EVENT_COUNT,
};
const char *hook_event_name(enum hook_event e);
bool hook_event_parse(struct str name, enum hook_event *ret);

/* How long an ending process waits for all SessionEnd hooks together: the longest timeout among
 * them, but at least HOOK_END_MS and at most HOOK_END_MAX_MS.
 * CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS overrides it. */
#define HOOK_END_MS 1500
#define HOOK_END_MAX_MS 60000

struct hook_input {
    enum hook_event event;
    struct str subject;     /* matched by matchers: the tool's name, the source; or empty */
    struct str json;        /* the whole input object */
    struct str tool_use_id; /* or empty */
    struct str effort;      /* "high"; or empty */
    const struct rule_subject
        *call; /* for permission-rule conditions; NULL if the event is not about a call */
    struct message *const *talk; /* Stop: the conversation, for handlers that ask a model */
    size_t talk_len;
    /* If nonzero, all handlers share one timeout: the longest they ask for, within these limits. 0
     * = each has its own. */
    int64_t least_ms, most_ms;
    struct hook_watch *watch; /* receives the progress of each handler (hook_sight.h); or NULL */
};

enum hook_decision {
    HOOK_SILENT, /* no decision */
    HOOK_ALLOW,
    HOOK_ASK,
    HOOK_DEFER, /* PreToolUse: the turn ends, and its result has the call */
    HOOK_DENY,  /* PreToolUse: denied; Stop: continue the turn; UserPromptSubmit: drop the prompt */
};

#define HOOK_MAX_TEXT ((size_t)1 << 20)
#define HOOK_MAX_WATCH 200 /* files to watch */
#define HOOK_MAX_STRING                                                                            \
    ((size_t)10000) /* characters of one text; a longer one is written to a file ... */
#define HOOK_MAX_TERMINAL ((size_t)4096)
#define HOOK_PREVIEW ((size_t)2000) /* ... and this much of it is shown */

struct hook_outcome {
    enum hook_decision decision;
    struct workspace *workspace; /* where long texts are written; lent; NULL = they are cut */
    bool stop;                   /* "continue": false, ends the turn in any case */
    struct buf reason;           /* of the decision; for the model */
    struct buf stop_reason;      /* for the user */
    struct buf context;          /* additionalContext, for the model */
    struct buf message;          /* systemMessage, for the user */
    struct buf terminal;         /* the permitted part of terminalSequence */
    struct buf input;            /* updatedInput, JSON object; or empty */
    struct buf output;           /* PostToolUse: replaces the result for the model; or empty */
    bool output_is_data;         /* output is JSON in the form of the tool's structured result */
    struct buf permissions;      /* PermissionRequest: updatedPermissions, JSON array; or empty */
    struct buf form;    /* Elicitation, ElicitationResult: {"action","content"?}; or empty */
    bool interrupt;     /* PermissionRequest: denied, and the turn is to end */
    bool retry;         /* PermissionDenied: the model may try again */
    bool hides_prompt;  /* UserPromptSubmit: suppressOriginalPrompt */
    struct buf title;   /* SessionStart, UserPromptSubmit: the session title */
    struct buf first;   /* SessionStart: initialUserMessage */
    struct buf shell;   /* CLAUDE_ENV_FILE: shell lines for later commands */
    bool watches;       /* SessionStart, CwdChanged, FileChanged: watchPaths was set */
    struct strv watch;  /* its paths, at most HOOK_MAX_WATCH */
    struct arena arena; /* owns their names */
};
#define HOOK_OUTCOME_INIT                                                                          \
    {                                                                                              \
        .reason = BUF_INIT(HOOK_MAX_TEXT), .stop_reason = BUF_INIT(HOOK_MAX_TEXT),                 \
        .context = BUF_INIT(HOOK_MAX_TEXT), .message = BUF_INIT(HOOK_MAX_TEXT),                    \
        .terminal = BUF_INIT(HOOK_MAX_TERMINAL), .input = BUF_INIT(HOOK_MAX_TEXT),                 \
        .output = BUF_INIT(HOOK_MAX_TEXT), .permissions = BUF_INIT(HOOK_MAX_TEXT),                 \
        .form = BUF_INIT(HOOK_MAX_TEXT), .title = BUF_INIT(HOOK_MAX_TEXT),                         \
        .first = BUF_INIT(HOOK_MAX_TEXT), .shell = BUF_INIT(HOOK_MAX_TEXT)                         \
    }
void hook_outcome_release(struct hook_outcome *o);

/* Merges a handler's JSON output by the rules above. ERR_BAD_INPUT if it does not match the
 * reference; the outcome is unchanged in that case. */
int hook_outcome_merge(struct hook_outcome *o, enum hook_event event, const struct json *output,
                       struct err *err);

/* The same without JSON. The reason is appended if the decision equals the current one; a weaker
 * decision changes nothing. */
void hook_outcome_decide(struct hook_outcome *o, enum hook_decision decision, struct str reason);
void hook_outcome_stop(struct hook_outcome *o, struct str reason);
/* Appends a line to one of the outcome's texts. If the text is too long, appends its beginning and
 * the path of a file with all of it. */
void hook_outcome_say(struct hook_outcome *o, struct buf *to, struct str text);

/* True if the sequence has only what hooks may send to a terminal: titles (OSC 0, 1, 2),
 * notifications (OSC 9, 99, 777), each ended by BEL or ST, and BEL (hook_terminal.c). */
bool hook_terminal_is_fine(struct str sequence);

/* Matches the reference's matchers: "", "*", "Bash|Edit", or a regular expression (hook_match.c).
 * Which matchers count as plain names depends on the event. */
bool hook_matches(enum hook_event event, struct str matcher, struct str subject);
/* an invalid one matches nothing */
bool hook_matcher_is_valid(enum hook_event event, struct str matcher);

struct hook_runner {
    /* Called before the input is written; must be fast and without side effects. */
    bool (*wants)(struct hook_runner *self, enum hook_event event, struct str subject);
    /* Runs all matching handlers, in parallel where possible, reports each to the input's watch,
     * and merges the answers. On an error the agent logs it and continues, except for ERR_CANCELLED
     * and ERR_DENIED (which blocks if the event can be blocked). Any thread, several at once. */
    int (*run)(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
               struct hook_outcome *io, struct err *err);
    /* Gets the statusMessage of the first handler that has one. NULL if no handler of this runner
     * has one. */
    void (*status)(struct hook_runner *self, const struct hook_input *in, struct buf *ret);
};

/* runners: NULL-terminated; may be NULL. */
bool hooks_want(struct hook_runner *const *runners, enum hook_event event, struct str subject);
int hooks_run(struct hook_runner *const *runners, const struct hook_input *in,
              struct cancel *cancel, struct hook_outcome *io, struct err *err);
void hooks_status(struct hook_runner *const *runners, const struct hook_input *in, struct buf *ret);
