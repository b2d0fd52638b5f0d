/*
 * The subagents of a session: which types exist, how many may run, and the life of each from its
 * start to its report.
 *
 * Each subagent is a task (agent/task.h) and a child of the host (agent/spawn.h). This code adds
 * the queue for free slots, the wait of a foreground call, the move to the background, and the end
 * with its notification. An agent whose own background agents still run has not ended: it waits for
 * them. One that has ended is freed; a message resumes it from its transcript file.
 *
 * Any thread. No lock is held while anything waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/str.h"
#include "llm/effort.h"
#include "llm/event.h"

struct agents;
struct cancel;
struct conf;
struct crew;
struct definition;
struct definitions;
struct err;
struct event;
struct identity;
struct permit;
struct spawner;
struct strv;
struct task_table;
struct team;
struct workspace;

#define AGENTS_PATIENCE_MS 5000 /* of a user whose input waits for a foreground agent */
#define AGENTS_MAX_PROMPT ((size_t)1 << 20)

struct agents_spec {
    const struct conf *conf;
    struct task_table *tasks;
    struct spawner *spawner;
    struct crew *crew;
    const char *session; /* uuid */
    const char *folder;  /* of the session; NULL = nothing is saved */
    bool is_headless;
    /* When the oldest input of the user that waits for main came (clock_mono_ms()); -1 if none
     * waits. NULL: agents are not moved to the background because of it. */
    int64_t (*input_since)(void *arg);
    void *arg;
    bool is_bare; /* --bare: workers of coordinator mode get only the basic tools */
};

/* ERR_BAD_INPUT: --agents is invalid. Everything in spec must outlive *ret. */
int agents_new(const struct agents_spec *spec, struct agents **ret, struct err *err);
/* No agent starts after this, and callers that wait for one return. */
void agents_close(struct agents *a);
void agents_free(struct agents *a); /* NULL is fine */

/* Restores the agents of a resumed session to the task table; dir is its working directory.
 * notice() is called for each agent that ran in the background when the session ended and whose
 * owner was not notified. */
typedef void (*agents_notice_fn)(void *arg, const struct task_view *v, struct str text);
void agents_recall(struct agents *a, const char *transcript, const char *dir,
                   agents_notice_fn notice, void *arg);

/* ---- Types ---- */

/* The current types; the caller owns the reference. */
struct definitions *agents_types(struct agents *a);
/* Replaces the types that an SDK has defined, given as a JSON object. */
int agents_bring(struct agents *a, struct str json, struct err *err);
void agents_brought(struct agents *a, struct buf *ret_json); /* empty: none */
/* In coordinator mode "worker" is the only type and forks are refused. Running agents are not
 * affected. */
void agents_coordinate(struct agents *a, bool on);
bool agents_are_coordinated(struct agents *a);
/* The type of a call that names none. */
const char *agents_default_type(struct agents *a);
/* Appends all types as text for the model; nothing if there are none. */
void agents_list_types(struct agents *a, struct buf *ret);
/* Appends the list of types for the model: all of them (first), or the changes since the last call;
 * nothing if there are none. *ret_json gets the same as a transcript attachment. */
void agents_tell_types(struct agents *a, bool first, struct buf *ret_text, struct buf *ret_json);

/* The permission mode that a definition sets where `permit` counts; empty = none. It may narrow
 * that mode, and one that the user has written may accept edits. */
struct str agents_mode_of(struct permit *permit, const struct definition *type);

/* ---- Starting ---- */

enum agents_road {
    ROAD_FOREGROUND,
    ROAD_BACKGROUND,
    ROAD_FORK,
};

/* Valid during the call. Fields that are empty or 0 default to the definition's or the parent's. */
struct agents_order {
    const struct identity *by;
    struct permit *permit; /* the parent's, for its mode */
    struct workspace *workspace;
    struct str tool_use_id; /* empty if no call started it */
    struct str description, prompt, type, model, isolation, name;
    struct str model_now; /* the caller's model, to be displayed */
    enum effort effort;
    bool in_background;
    struct cancel *cancel;
};

/* The result; call agents_outcome_release(). */
struct agents_outcome {
    bool is_async; /* it continues in the background; the result is not known yet */
    enum task_state state;
    char id[TASK_ID_MAX + 1];
    char *type, *description, *prompt, *model, *output_file;
    char *report; /* its last message; or empty */
    char *cause;  /* reason of a failure; or empty */
    char *note;   /* a qualification of the report: "stopped at its 3-turn limit"; or empty */
    char *denied; /* denied tool calls: "2 (Bash, Write)"; or empty */
    char *worktree, *branch;
    struct llm_usage usage; /* of its last model call */
    struct task_usage total;
};
void agents_outcome_release(struct agents_outcome *o);

/* Starts an agent; in the foreground, waits for its end. ERR_BAD_INPUT: an unknown type (the
 * message lists the types) or an empty prompt; ERR_TOO_BIG: a limit of the session; ERR_CANCELLED:
 * the caller was interrupted, and the agent with it. */
int agents_start(struct agents *a, const struct agents_order *order, struct agents_outcome *ret,
                 struct err *err);

/* Starts a member of the session's team. ret_json is the result of the call. */
int agents_hire(struct agents *a, struct team *t, const struct agents_order *order,
                struct buf *ret_json, struct err *err);
/* Resumes a member whose process died with its conversation; text is its next input. */
int agents_hire_again(struct agents *a, struct team *t, struct str name, struct str text,
                      const struct agents_order *order, struct err *err);

/* Describes a call from its EVENT_TOOL_STARTED: "Read(src/a.c)". */
void agents_describe_call(const struct event *e, struct buf *ret);

/* Moves running foreground agents to the background: those of this call, or all if the id is empty.
 * Returns how many. */
size_t agents_send_away(struct agents *a, struct str tool_use_id);
/* Stops all background agents on behalf of the user. Returns how many. */
size_t agents_stop_background(struct agents *a);

/* Valid during the call. */
struct agents_note {
    const struct identity *by; /* NULL = the user */
    struct permit *permit;     /* the sender's; a resumed agent gets no wider mode */
    struct workspace
        *workspace; /* the sender's; the working directory if the agent's own worktree is gone */
    struct str to, text;
    struct cancel *cancel;
};

/* SendMessage: sends to an agent by id or name. *ret_resumed: it had ended and is resumed. The
 * error text is for the model. */
int agents_message(struct agents *a, const struct agents_note *note, bool *ret_resumed,
                   char ret_id[static TASK_ID_MAX + 1], struct err *err);
