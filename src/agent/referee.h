/*
 * Who has the last word on "done": the goal, a piece, a workflow. Each is a link of one chain, the
 * innermost first, and all have the same contract. Without a link a turn ends when the model wants
 * nothing more.
 *
 * Everything here is called on the agent's thread, in this order:
 *
 *   idle() → turn_begins() → { before_call() → tool_done()… }… → may_stop() → … → after_turn()
 *
 * may_stop() is asked when the model wants no more tools, no input waits and no Stop hook objects;
 * when one does, sent_back() is called instead, or the turn ends without a verdict (overruled). An
 * outer link is asked after all within it have agreed, so the outermost decides last; when it
 * objects, those within it are sent back. may_stop() may take its time as long as it watches the
 * cancel; all others must be quick. A callback that is NULL has nothing to say.
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
    bool ran;        /* its handler ran; else it was refused before */
    bool unanswered; /* refused because no user could be asked */
    unsigned flags;
    const char *changed_file; /* absolute; NULL: none that is known */
};

/* What to add to the next call of the model. */
struct referee_call {
    struct buf tail;      /* after the history of this request, and not kept */
    struct buf say;       /* said into the conversation, for good */
    struct buf why;       /* why the turn ends here instead, for the user */
    bool fresh;           /* the conversation shall begin anew from a summary first */
    struct buf keep;      /* what that summary must keep */
    int64_t most_wait_ms; /* a server that asks to wait longer has failed; 0: as usual */
};
#define REFEREE_MAX_TEXT ((size_t)1 << 20)
#define REFEREE_CALL_INIT                                                                          \
    {                                                                                              \
        .tail = BUF_INIT(REFEREE_MAX_TEXT), .say = BUF_INIT(REFEREE_MAX_TEXT),                     \
        .why = BUF_INIT(REFEREE_MAX_TEXT), .keep = BUF_INIT(REFEREE_MAX_TEXT)                      \
    }
void referee_call_release(struct referee_call *c);

struct referee_verdict {
    struct buf feedback; /* continue: what is missing, for the model */
    bool fresh;          /* the conversation shall begin anew from a summary first */
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
    const struct err *err; /* why, where it is an error */
    int api_status;        /* HTTP, 0: none */
    int64_t asked_ms;      /* how long the server asked to wait; <= 0: it did not */
    int broken;            /* answers in a row that broke off before their end */
    bool pushed;           /* by input that wanted to be heard at once */
    bool overruled;        /* Stop hooks objected to the end, more often than they are heard */
};

enum referee_idle {
    IDLE_REST, /* nothing to do: the agent ends when it was asked to finish */
    IDLE_TURN, /* *ret is what to say: a turn begins */
    IDLE_WAIT, /* nothing to do yet: asked again at *ret_until_ms, or when woken (agent_wake()) */
};

struct referee {
    struct referee *outer; /* the next link; NULL: none */
    /* The agent has nothing to do and no user input waits. until_ms: clock_mono_ms(), -1: only when
     * woken. */
    enum referee_idle (*idle)(struct referee *self, struct agent_input *ret, int64_t *ret_until_ms);
    /* turn: set by the referee when the turn has to end at once. */
    void (*turn_begins)(struct referee *self, struct cancel *turn);
    /* Whether the referee has set it: the reason, for the user. */
    bool (*ended_turn)(struct referee *self, struct buf *ret_why);
    /* 0, or 1: the turn ends here. */
    int (*before_call)(struct referee *self, struct referee_call *ret);
    /* The conversation is being summed up: what must not be lost by that is added. */
    void (*restate)(struct referee *self, struct buf *ret);
    void (*tool_done)(struct referee *self, const struct referee_tool *t);
    /* 1: go on, *ret says how; 0: it may end; -1: could not tell (the turn ends with that error).
     * last: what the model said; NULL: nothing. */
    int (*may_stop)(struct referee *self, const struct message *last, struct cancel *cancel,
                    struct referee_verdict *ret, struct err *err);
    /* A Stop hook has objected, and the turn goes on. */
    void (*sent_back)(struct referee *self);
    /* Before observers are notified. */
    void (*after_turn)(struct referee *self, const struct referee_end *e);
};

/* ---- The chain: what the agent calls, with its first link; NULL: there is none ---- */

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
