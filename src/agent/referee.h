/*
 * Referees decide whether the work is done: the goal, a piece, a workflow. They form one chain, the
 * innermost first, and all follow the same contract. Without a referee a turn ends when the model
 * makes no more calls.
 *
 * Everything here is called on the agent's thread, in this order:
 *
 *   idle() → turn_begins() → { before_call() → tool_done()… }… → may_stop() → … → after_turn()
 *
 * may_stop() is called when the model makes no more calls, no input waits and no Stop hook objects.
 * If a Stop hook objects, sent_back() is called instead, or the turn ends without a verdict
 * (overruled). Outer referees are asked only after all inner ones have agreed, so the outermost
 * decides last; if it objects, sent_back() is called on the inner ones. may_stop() may take long as
 * long as it watches cancel; all others must be quick. Callbacks may be NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/event.h"
#include "agent/tool.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct agent_input;
struct cancel;
struct err;
struct message;

struct referee_tool {
    struct str name, id;
    struct str input; /* JSON, expanded */
    struct str text;  /* what the model is shown */
    bool is_error;
    bool ran;        /* the tool ran; false = it was refused before */
    bool unanswered; /* refused because no user could be asked */
    unsigned flags;
    const char *changed_file; /* absolute; NULL = none known */
};

/* Changes to the next model call. */
struct referee_call {
    struct buf tail;      /* text after the history, for this request only */
    struct buf say;       /* text that is added to the conversation */
    struct buf why;       /* if set, the turn ends here; the reason for the user */
    bool fresh;           /* first replace the conversation by a summary */
    struct buf keep;      /* what that summary must keep */
    int64_t most_wait_ms; /* fail if a server asks to wait longer; 0 = default */
};
#define REFEREE_MAX_TEXT ((size_t)1 << 20)
#define REFEREE_CALL_INIT                                                                          \
    {                                                                                              \
        .tail = BUF_INIT(REFEREE_MAX_TEXT), .say = BUF_INIT(REFEREE_MAX_TEXT),                     \
        .why = BUF_INIT(REFEREE_MAX_TEXT), .keep = BUF_INIT(REFEREE_MAX_TEXT)                      \
    }
void referee_call_release(struct referee_call *c);

struct referee_verdict {
    struct buf feedback; /* if not done: what is missing, for the model */
    bool fresh;          /* first replace the conversation by a summary */
    struct buf keep;     /* what that summary must keep */
};
#define REFEREE_VERDICT_INIT                                                                       \
    {                                                                                              \
        .feedback = BUF_INIT(REFEREE_MAX_TEXT), .keep = BUF_INIT(REFEREE_MAX_TEXT)                 \
    }
void referee_verdict_release(struct referee_verdict *v);

/* How a turn ended. */
struct referee_end {
    enum turn_end end;
    const struct err *err; /* the error, if there was one */
    int api_status;        /* HTTP, 0: none */
    int64_t asked_ms;      /* how long the server asked to wait; <= 0 = it did not */
    int broken;            /* consecutive answers that broke off before their end */
    bool pushed;           /* interrupted by INPUT_NOW */
    bool overruled;        /* Stop hooks still objected when their limit was reached */
};

enum referee_idle {
    IDLE_REST, /* nothing to do: the agent ends if it was asked to finish */
    IDLE_TURN, /* *ret is the next input: a turn begins */
    IDLE_WAIT, /* nothing to do yet: ask again at *ret_until_ms, or when woken (agent_wake()) */
};

struct referee {
    struct referee *outer; /* the next link; NULL: none */
    /* Called when the agent has nothing to do and no user input waits. *ret_until_ms: in
     * clock_mono_ms(), or -1 to wait until woken. */
    enum referee_idle (*idle)(struct referee *self, struct agent_input *ret, int64_t *ret_until_ms);
    /* turn: the referee sets it to end the turn at once. */
    void (*turn_begins)(struct referee *self, struct cancel *turn);
    /* Whether the referee has set it, and the reason for the user. */
    bool (*ended_turn)(struct referee *self, struct buf *ret_why);
    /* Returns 1 to end the turn here, else 0. */
    int (*before_call)(struct referee *self, struct referee_call *ret);
    /* Called during a compaction: appends what the summary must not lose. */
    void (*restate)(struct referee *self, struct buf *ret);
    void (*tool_done)(struct referee *self, const struct referee_tool *t);
    /* 1: continue, with *ret; 0: the turn may end; -1: undecided, the turn ends with this error.
     * last: the model's last message, or NULL. */
    int (*may_stop)(struct referee *self, const struct message *last, struct cancel *cancel,
                    struct referee_verdict *ret, struct err *err);
    /* A Stop hook has objected, and the turn continues. */
    void (*sent_back)(struct referee *self);
    /* Called before observers see the end of the turn. */
    void (*after_turn)(struct referee *self, const struct referee_end *e);
};

/* ---- The chain, called by the agent with its first referee, which may be NULL ---- */

enum referee_idle referee_idle(struct referee *first, struct agent_input *ret,
                               int64_t *ret_until_ms);
void referee_turn_begins(struct referee *first, struct cancel *turn);
bool referee_ended_turn(struct referee *first, struct buf *ret_why);
int referee_before_call(struct referee *first, struct referee_call *ret);
void referee_restate(struct referee *first, struct buf *ret);
void referee_tool_done(struct referee *first, const struct referee_tool *t);
int referee_may_stop(struct referee *first, const struct message *last, struct cancel *cancel,
                     struct referee_verdict *ret, struct err *err);
void referee_sent_back(struct referee *first);
void referee_after_turn(struct referee *first, const struct referee_end *e);
