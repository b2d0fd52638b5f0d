/*
 * Hooks: the points of the loop where others may look, object or add.
 *
 * The agent calls hooks_run() at each point with the event's JSON (reference hooks: the exact stdin
 * fields). Runners answer: the handlers of settings and sessions (hooks/runner.h), the callbacks of
 * an SDK (proto). What they say is merged into one outcome: any deny beats defer beats ask beats
 * allow; contexts and messages are joined; the first stop counts. To add a kind of hook: one
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
    X(SESSION_END, "SessionEnd")

enum hook_event {
#define X(id, name) HOOK_##id,
    HOOK_EVENTS(X)
#undef X
    HOOK_EVENT_COUNT,
};
const char *hook_event_name(enum hook_event e);
bool hook_event_parse(struct str name, enum hook_event *ret);

/* SessionEnd: a process that ends waits this long for all of them together, or as long as one of
 * them asks for, up to the limit. CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS says otherwise. */
#define HOOK_END_MS 1500
#define HOOK_END_MAX_MS 60000

struct hook_input {
    enum hook_event event;
    struct str subject;     /* what matchers look at: the tool's name, the source; or empty */
    struct str json;        /* the whole input object */
    struct str tool_use_id; /* or empty */
    struct str effort;      /* "high"; or empty */
    const struct rule_subject *call; /* what rules look at; NULL: it is about no call */
    struct message *const *talk; /* Stop: the conversation so far; for handlers that ask a model */
    size_t talk_len;
    /* Where all handlers have one time together: what they ask for, but not less than the first and
     * not more than the second. 0: each its own. */
    int64_t least_ms, most_ms;
    struct hook_watch *watch; /* receives the progress of each handler (hook_sight.h); NULL: none */
};

enum hook_decision {
    HOOK_SILENT, /* no opinion */
    HOOK_ALLOW,
    HOOK_ASK,
    HOOK_DEFER, /* PreToolUse: not now; the turn ends, and the result names the call */
    HOOK_DENY,  /* PreToolUse: no; Stop: go on; UserPromptSubmit: drop the prompt */
};

#define HOOK_MAX_TEXT ((size_t)1 << 20)
#define HOOK_MAX_WATCH 200              /* files that hooks ask to be watched */
#define HOOK_MAX_STRING ((size_t)10000) /* characters of one text; the rest goes to a file ... */
#define HOOK_MAX_TERMINAL ((size_t)4096)
#define HOOK_PREVIEW ((size_t)2000) /* ... and these are shown of it */

struct hook_outcome {
    enum hook_decision decision;
    struct workspace *workspace; /* where long texts are kept; lent; NULL: they are cut */
    bool stop;                   /* "continue": false: the turn ends regardless of the rest */
    struct buf reason;           /* of the decision; for the model */
    struct buf stop_reason;      /* for the user */
    struct buf context;          /* additionalContext, for the model */
    struct buf message;          /* systemMessage, for the user */
    struct buf terminal;         /* terminalSequence, what of it a terminal may be sent */
    struct buf input;            /* updatedInput, JSON object; empty: none */
    struct buf output;           /* PostToolUse: another text for the model; empty: none */
    bool output_is_data;         /* it is JSON in the shape of the tool's structured result */
    struct buf permissions; /* PermissionRequest: updatedPermissions, JSON array; empty: none */
    bool interrupt;         /* PermissionRequest: denied, and the turn shall end */
    bool retry;             /* PermissionDenied: the model may try again */
    bool hides_prompt;      /* UserPromptSubmit: suppressOriginalPrompt */
    struct buf title;       /* SessionStart, UserPromptSubmit: what the session is called */
    struct buf first;       /* SessionStart: initialUserMessage */
    struct buf shell;       /* lines of CLAUDE_ENV_FILE, for the commands that come */
    bool watches;           /* SessionStart, CwdChanged, FileChanged: watchPaths was set */
    struct strv watch;      /* and what it has, at most HOOK_MAX_WATCH */
    struct arena arena;     /* of their names */
};
#define HOOK_OUTCOME_INIT                                                                          \
    {                                                                                              \
        .reason = BUF_INIT(HOOK_MAX_TEXT), .stop_reason = BUF_INIT(HOOK_MAX_TEXT),                 \
        .context = BUF_INIT(HOOK_MAX_TEXT), .message = BUF_INIT(HOOK_MAX_TEXT),                    \
        .terminal = BUF_INIT(HOOK_MAX_TERMINAL), .input = BUF_INIT(HOOK_MAX_TEXT),                 \
        .output = BUF_INIT(HOOK_MAX_TEXT), .permissions = BUF_INIT(HOOK_MAX_TEXT),                 \
        .title = BUF_INIT(HOOK_MAX_TEXT), .first = BUF_INIT(HOOK_MAX_TEXT),                        \
        .shell = BUF_INIT(HOOK_MAX_TEXT)                                                           \
    }
void hook_outcome_release(struct hook_outcome *o);

/* Merges a handler's JSON output by the rules above. ERR_BAD_INPUT when it does not have the form
 * of the reference; nothing is changed then. */
int hook_outcome_merge(struct hook_outcome *o, enum hook_event event, const struct json *output,
                       struct err *err);

/* The same for callers without JSON. Reasons are joined when the decision equals the current one; a
 * weaker one changes nothing. */
void hook_outcome_decide(struct hook_outcome *o, enum hook_decision decision, struct str reason);
void hook_outcome_stop(struct hook_outcome *o, struct str reason);
/* On a new line of one of the outcome's texts; of one that is too long, the beginning and where the
 * whole is. */
void hook_outcome_say(struct hook_outcome *o, struct buf *to, struct str text);

/* Whether all of it is what a hook may send to a terminal: titles (OSC 0, 1, 2), notifications (OSC
 * 9, 99, 777), each ended by BEL or ST, and BEL (hook_terminal.c). */
bool hook_terminal_is_fine(struct str sequence);

/* A matcher of the reference: "", "*", "Bash|Edit", or a regular expression (hook_match.c). What
 * counts as plain names depends on the event. */
bool hook_matches(enum hook_event event, struct str matcher, struct str subject);
bool hook_matcher_is_valid(enum hook_event event, struct str matcher); /* else nothing matches it */

struct hook_runner {
    /* Cheap and without side effects: asked before the input is written. */
    bool (*wants)(struct hook_runner *self, enum hook_event event, struct str subject);
    /* Runs everything that matches, in parallel where it can, reports each to the input's watch,
     * and merges. An error is that of the machinery; the agent notes it and continues, except for
     * ERR_CANCELLED and ERR_DENIED (which blocks where blocking makes sense). Any thread, several
     * at once. */
    int (*run)(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
               struct hook_outcome *io, struct err *err);
    /* The text shown while they run (statusMessage), of the first that has one; NULL: no handler
     * has one. */
    void (*status)(struct hook_runner *self, const struct hook_input *in, struct buf *ret);
};

/* runners: NULL-terminated; NULL: none. */
bool hooks_want(struct hook_runner *const *runners, enum hook_event event, struct str subject);
int hooks_run(struct hook_runner *const *runners, const struct hook_input *in,
              struct cancel *cancel, struct hook_outcome *io, struct err *err);
void hooks_status(struct hook_runner *const *runners, const struct hook_input *in, struct buf *ret);
