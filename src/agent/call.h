/*
 * One tool call, from what the model sent to the result it gets; for src/agent only.
 *
 *   schema check → PreToolUse hooks (may change the input; schema again) → deny rules → ask rules →
 *   mode → allow rules → check → PermissionRequest hooks → ask the front end → before_edit → run →
 *   PostToolUse or PostToolUseFailure hooks → cap and spill
 *
 * call_new() and call_start() run on the agent's thread, everything from the hooks on runs on a
 * thread of the agent's crew, which sends call_mail when it ends. From call_start() until that mail
 * the call belongs to its thread; before and after, to the agent.
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

enum call_state {
    CALL_READY,   /* may be started */
    CALL_RUNNING, /* belongs to its thread */
    CALL_ENDED,   /* has its result */
};

struct call {
    const struct agent *agent; /* only what never changes */
    int64_t turn, step;
    const char *model; /* "provider/name" */
    struct str id, name;
    struct toolbox *toolbox;        /* that it was made with: a reference */
    const struct tool_entry *entry; /* NULL: there is none */
    bool is_executed;               /* the model has called it by ExecuteExtraTool */
    struct str late_input;          /* its tool is not there yet; what it will be given */
    const struct json *args;
    struct buf expanded; /* the input for hooks, events and asks */
    unsigned flags;
    struct rule_subject subject; /* as the permit was asked about it last */
    bool is_free; /* allowed without asking or hooks: may start while the stream goes on */
    struct cancel *cancel;
    enum call_state state;         /* the agent's view */
    int64_t start_ms, duration_ms; /* without the time spent waiting for permission */
    int64_t run_ms;                /* its handler alone took: without leave and hooks */

    const char *changed_file; /* absolute; NULL: none */
    struct tool_result result;
    struct buf context;     /* what hooks add for the model */
    struct buf stop_reason; /* what hooks tell the user */
    struct buf effects; /* JSON: what it would change or reach (guard/trial.h); empty: not known */
    bool ran;           /* its handler was called */
    bool denied;
    const char *denied_by; /* ask.h's reason_type, where the user was not asked; NULL: the user */
    struct buf denied_why;
    bool unanswered; /* denied because no user could be asked */
    bool stop_turn;  /* a hook said "continue": false */
    bool interrupt;  /* a denial that ends the turn */
    bool is_only;    /* the answer has no other call */
    bool beside;     /* cancelled since a call that ran beside it failed */
    bool deferred; /* by a hook: it has not run, and the client that started the turn takes it up */

    struct arena arena;
    struct mailbox *to;
};

extern const struct mail_kind call_mail_kind;

struct call_mail {
    struct mail mail;
    struct call *call; /* for comparing: not the mail's */
};

/* block: a tool_use. One that cannot run (unknown tool, bad input) is CALL_ENDED at once. cancel:
 * the turn's. */
struct call *call_new(const struct agent *a, const struct block *block, struct mailbox *to,
                      struct cancel *cancel);
void call_start(struct call *c);   /* CALL_READY → CALL_RUNNING, or CALL_ENDED on failure */
void call_collect(struct call *c); /* its mail has come: CALL_ENDED */
/* It has ended, and its result waits for that of others. */
void call_emit_ended(const struct call *c);
/* For one that never ran and never will: TOOL_STARTED, and CALL_ENDED with the reason. */
void call_start_skipped(struct call *c, struct str because);
/* The tool_result for the conversation; slices live in the call. */
void call_result(struct call *c, struct arena *arena, struct block *ret);
void call_free(struct call *c);

bool call_mail_is(const struct mail *m, const struct call *c);

/* Between call.c and call_leave.c: the call's own thread. */
/* 0: it may run; -1: it has its result; 1: the same, and the result is the tool's own: it cannot
 * work, and the user was not asked. */
int call_leave(struct call *c);
/* The user, or hooks that answer in his place. As call_leave(). */
int call_ask(struct call *c, const struct rule_subject *subject, const struct permit_answer *why);
/* Of a command that no rule decides about. */
enum call_tried {
    CALL_UNTRIED, /* it could not be tried: the question is about the command itself */
    CALL_TRIED,   /* it has its result */
    CALL_ALLOWED, /* it may run */
    CALL_REFUSED, /* it has its result: a denial */
};
enum call_tried call_try(struct call *c, const struct rule_subject *subject,
                         struct permit_answer *why);
struct tool_call call_for_tool(struct call *c); /* what its tool sees of it */
void call_fail(struct call *c, const char *fmt, ...) PRINTF_LIKE(2, 3); /* bad news, nothing else */
void call_deny(struct call *c, struct str why);
int call_set_input(struct call *c, struct str json, struct err *err); /* when it fits the schema */
void call_subject(struct call *c, struct rule_subject *ret);
void call_hook_input(const struct call *c, enum hook_event event, struct jw *w);
void call_heed(struct call *c, const struct hook_outcome *o); /* what any hook may say */
