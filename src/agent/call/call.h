/*
 * One tool call, from the block that the model sent to its result; for src/agent only.
 *
 *   schema check → PreToolUse hooks (may change the input; schema again) → deny rules → ask rules →
 *   mode → allow rules → check → PermissionRequest hooks → ask the front end → before_edit → run →
 *   PostToolUse or PostToolUseFailure hooks → cap and spill
 *
 * call_new() and call_start() run on the agent's thread; the hooks and everything after them run on
 * a thread of the agent's crew, which sends call_mail at the end. The call belongs to that thread
 * from call_start() until the mail, and to the agent before and after.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hook.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "sync/mailbox.h"

struct agent;
struct block;
struct call;
struct cancel;
struct event;
struct jw;
struct permit_answer;
struct sandbox_hosts;

enum call_state {
    CALL_READY,   /* may be started */
    CALL_RUNNING, /* belongs to its thread */
    CALL_ENDED,   /* has a result */
};

#define CALL_MAX_RUNS 8 /* of a command: each run is granted one more thing */

struct call {
    const struct agent *agent; /* read only fields that never change */
    int64_t turn, step;
    const char *model; /* "provider/name" */
    struct str id, name;
    struct toolbox *toolbox;        /* the toolbox it was made with: a reference */
    const struct tool_entry *entry; /* NULL = unknown tool */
    bool is_executed;               /* called through ExecuteExtraTool */
    struct str late_input;          /* the input, kept until its tool has been loaded */
    const struct json *args;
    struct buf expanded; /* the input for hooks, events and asks */
    unsigned flags;
    struct rule_subject subject; /* as last passed to the permit */
    bool is_free; /* needs no permission and no hooks: may start while the answer is streaming */
    struct cancel *cancel;
    enum call_state state;         /* the agent's view */
    int64_t start_ms, duration_ms; /* without the time spent waiting for permission */
    int64_t run_ms;                /* time in the tool itself, without permission and hooks */

    const char *changed_file; /* absolute; NULL: none */
    struct tool_result result;
    struct buf context;     /* added by hooks, for the model */
    struct buf stop_reason; /* the hooks' reason for the user */
    struct buf effects; /* JSON: what it would change or reach (guard/trial.h); empty = unknown */
    bool ran;           /* its handler was called */
    bool denied;
    /* who decided that it runs or not: "config", "hook", "user_temporary", "user_reject",
     * "user_abort"; NULL = nobody yet */
    const char *decider;
    const char *decided_by; /* ask.h's reason_type; NULL = the user gave none */
    const char *denied_by; /* the same if it was denied without asking; NULL = the user denied it */
    struct buf denied_why;
    bool unanswered; /* denied because there was no user to ask */
    bool stop_turn;  /* a hook returned "continue": false */
    bool interrupt;  /* a denial that ends the turn */
    bool is_only;    /* the only call of the answer */
    bool beside;     /* cancelled because a call that ran in parallel failed */
    bool deferred; /* by a hook: it did not run; the client that started the turn will handle it */

    struct arena arena;
    struct mailbox *to;
};

extern const struct mail_kind call_mail_kind;

struct call_mail {
    struct mail mail;
    struct call *call; /* for comparison only; not owned */
};

/* block: a tool_use. A call that cannot run (unknown tool, invalid input) is CALL_ENDED at once.
 * cancel: the turn's. */
struct call *call_new(const struct agent *a, const struct block *block, struct mailbox *to,
                      struct cancel *cancel);
void call_start(struct call *c);   /* CALL_READY → CALL_RUNNING, or CALL_ENDED on failure */
void call_collect(struct call *c); /* after its mail: CALL_ENDED */
/* Reports that the call has ended while its result still waits for earlier ones. */
void call_emit_ended(const struct call *c);
/* For a call that never runs: emits TOOL_STARTED and makes it CALL_ENDED with this reason. */
void call_start_skipped(struct call *c, struct str because);
/* Makes the tool_result block for the conversation; its slices belong to the call. */
void call_result(struct call *c, struct arena *arena, struct block *ret);
void call_free(struct call *c);

bool call_mail_is(const struct mail *m, const struct call *c);

/* Shared by call.c and call_leave.c; on the call's own thread. */
/* Decides whether the call may run. 0: yes. -1: no, it has its result. 1: like -1, but the tool's
 * own check found that it cannot work, and the user was not asked. */
int call_leave(struct call *c);
/* Asks PermissionRequest hooks, then the user. Returns the same as call_leave(). */
int call_ask(struct call *c, const struct rule_subject *subject, const struct permit_answer *why);
/* Result of a trial run of a command that no rule decides about. */
enum call_tried {
    CALL_UNTRIED, /* no trial run was possible: decide about the command itself */
    CALL_TRIED,   /* it ran, and has its result */
    CALL_ALLOWED, /* it may run */
    CALL_REFUSED, /* denied, and has its result */
};
/* why: the answer for the command; CALL_UNTRIED: replaced by the one that holds without a trial. */
enum call_tried call_try(struct call *c, const struct rule_subject *subject,
                         struct permit_answer *why);
/* The hosts that a command without a trial reaches. False: the call is none. */
bool call_hosts(const struct call *c, struct sandbox_hosts *ret);
/* After it has run: asks about a connection that was refused. True: the user allows it, and it runs
 * again with these hosts. */
bool call_ask_host(struct call *c, struct sandbox_hosts *hosts);

struct tool_call call_for_tool(struct call *c); /* the part of it that its tool sees */
void call_fail(struct call *c, const char *fmt, ...)
    /* Replaces the result by this error. */
    PRINTF_LIKE(2, 3);
void call_deny(struct call *c, struct str why);
/* Call it after a denial that the user was not asked about. */
void call_tell_denied(struct call *c, const struct permit_answer *answer);
int call_set_input(struct call *c, struct str json,
                   /* Fails if the input does not fit the schema. */
                   struct err *err);
void call_subject(struct call *c, struct rule_subject *ret);
void call_hook_input(const struct call *c, enum hook_event event, struct jw *w);
void call_heed(struct call *c,
               /* Applies what any hook may ask for. */
               const struct hook_outcome *o);
