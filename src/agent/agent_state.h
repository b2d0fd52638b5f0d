/*
 * The agent's internal structures; for src/agent only.
 *
 * Everything here belongs to the agent's own thread, except where marked.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/extra_news.h"
#include "agent/hook.h"
#include "agent/hook_lines.h"
#include "agent/journal.h"
#include "agent/referee.h"
#include "base/buf.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "llm/history.h"
#include "llm/spending.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct block;
struct call;
struct jw;
struct model;
struct pace;
struct step;

#define AGENT_MAX_TEXT ((size_t)64 << 20)

/* Why the loop continues with another step; for the log and the tests. */
#define TURN_WHYS(X)                                                                               \
    X(FIRST, "first")                                                                              \
    X(NEXT_TURN, "next_turn")                                                                      \
    X(MORE_TOKENS, "max_output_tokens_escalate")                                                   \
    X(GO_ON, "max_output_tokens_recovery")                                                         \
    X(NO_MEDIA, "media_dropped")                                                                   \
    X(MORE_ROOM, "reactive_compact_retry")                                                         \
    X(FALLBACK, "model_fallback")                                                                  \
    X(PAUSED, "pause_turn")                                                                        \
    X(EMPTY, "empty_answer")                                                                       \
    X(QUEUED_INPUT, "queued_input")                                                                \
    X(STRUCTURED, "structured_output_retry")                                                       \
    X(STOP_HOOK, "stop_hook_blocking")                                                             \
    X(REFEREE, "goal_not_met")

enum turn_why {
#define X(id, name) WHY_##id,
    TURN_WHYS(X)
#undef X
};

/* State of one turn that is carried from step to step. */
struct turn {
    struct cancel
        /* Set to interrupt the turn. The agent's lock guards the pointer to it in struct agent. */
        *cancel;
    enum turn_why why;
    int64_t steps;
    int64_t start_ms, api_ms;
    struct llm_usage usage;
    size_t provider;    /* index; a fallback stays in use for the rest of the turn */
    int64_t max_tokens; /* raised after a cut answer; 0 = the model's default */
    int go_on;          /* consecutive requests to continue a cut answer */
    int final_tries;    /* how often the required tool was called without success or not at all */
    bool is_final;      /* the required tool was called */
    bool asked_again;   /* the request was repeated after an empty answer */
    int made_room;      /* consecutive attempts to make room without an answer in between */
    bool sent_back;     /* Stop hooks made the turn continue */
    int sent_back_row;  /* how often they did so since the last tool call */
    bool overruled;     /* they still object, but their limit is reached */
    bool stopped;       /* a hook returned "continue": false */
    bool pushed;        /* interrupted by INPUT_NOW */
    bool is_announced;  /* TURN_STARTED was emitted */
    bool took_up;       /* a call that was deferred when the session ended has run */
    bool unwritten;     /* something could not be stored; err has the reason */
    enum llm_stop stop;
    bool continues;       /* the next answer continues the last one */
    struct str last_text; /* text of the last answer, in last_arena */
    struct arena last_arena;
    struct buf final_args; /* the required tool's input: JSON */
    struct buf deferred;   /* JSON of a call that a hook has deferred; or empty */
    struct buf denials;    /* JSON objects, comma-separated */
    struct strv heard;     /* uuids of received inputs */
    bool is_notices;       /* it began with a notice */
    char run[32];          /* of the task that the notice is about; or "" */
    struct buf note;       /* why it ended, for the user */
    struct buf tail;       /* text after the history in the next request */
    int64_t most_wait_ms;  /* the longest wait a server may ask for; 0 = default */
    int api_status;
    bool is_overloaded;
    int broken;       /* of the failed call: consecutive answers that broke off */
    int64_t asked_ms; /* of the failed call: how long the server asked to wait, or -1 */
    struct err err;
};

struct agent {
    struct agent_spec spec;
    struct arena arena;         /* owns the identity */
    struct provider *providers; /* a copy of spec.provider_count providers */
    struct buf system_json;     /* the system prompt as sent; made for the first request */
    struct crew *crew;          /* for calls, and for the agent itself */
    struct crew *own_crew;      /* NULL if crew is the caller's */
    struct mailbox *mail;
    struct inputs *inputs, *own_inputs; /* own_inputs is NULL or equal to inputs */

    struct gate gate; /* guards the next three fields */
    int threads;   /* threads working for the agent: normally one, plus one that is about to end */
    bool is_begun; /* agent_begin() was called */
    bool is_over;  /* it was asked to finish, and has finished */

    /* Shared; guarded by the lock. */
    struct lock lock;
    VEC(struct strv) snips;      /* lines to remove when idle */
    struct agent_rewind *rewind; /* to run when idle, or NULL */
    bool wants_start;            /* run SessionStart hooks before any input */
    struct cancel *turn_cancel;  /* of the running turn; NULL = idle */
    bool pushed;                 /* INPUT_NOW caused the interrupt: write no marker */
    bool takes_up; /* input left over from an earlier process resumes the session, so no extra
                      "continue" is needed */
    bool finishing;
    const char *end_reason; /* NULL: none was given */
    void (*done)(void *arg);
    void *done_arg;
    struct provider *new_provider; /* replaces the first provider before the next call */
    struct toolbox *new_toolbox;   /* used from the next step on; NULL = no change */
    bool has_new_system;
    struct str new_system; /* system prompt, from the next step on */
    bool new_thinking;
    enum thinking thinking_wanted;
    int64_t thinking_budget_wanted;
    bool new_effort;
    enum effort effort_wanted;
    struct hook_lines hook_lines;
    char prompt_id[ID_UUID_LEN + 1]; /* of the input being processed; or "" */

    /* Wake-ups so far, and how many of them had come when the agent last found nothing to do. */
    _Atomic uint64_t wakes, settled;

    _Atomic int cache_break; /* enum cache_break; any thread */

    /* Hooks that run in the background. */
    atomic_int asides;
    struct cancel *aside_cancel;

    /* Agent thread only. */
    struct provider *turn_provider; /* set by the current turn's command, or NULL */
    enum effort turn_effort;        /* the same; UNSET = none. Written under the lock */
    bool has_lent;                  /* the turn has its own permission rules */
    struct history history;
    bool said_context;
    bool asked_start;         /* SessionStart hooks have run */
    bool start_stops;         /* one of them prevents the turn */
    struct buf start_note;    /* its reason */
    struct buf start_context; /* context they added, until it is sent */
    struct buf start_words;   /* their text that replaces the user's first input */
    struct message
        /* The last answer if it has a deferred call, which runs before anything else. */
        *deferred;
    enum turn_end last_end;
    bool left_open;             /* the previous process stopped in the middle of its last turn */
    bool is_recalled;           /* the conversation began in an earlier process */
    enum permit_mode told_mode; /* the mode the model was last told */
    bool told_guess;            /* the user was told that figures are estimates */
    struct extra_news extra;    /* the deferred tools the model knows about */
    _Atomic int64_t turn, step; /* read by call threads for their events */
    _Atomic int64_t last_input_tokens; /* tokens and history bytes of the last request */
    size_t last_bytes;
    int compact_failures;          /* consecutive */
    bool compacted_before;         /* the last automatic compaction succeeded */
    int64_t calls_since;           /* model calls since that compaction */
    VEC(struct call *) stragglers; /* calls still running after a cancel */
    struct pace *pace;             /* of the running turn */
    int64_t idle_since_ms;         /* when the last turn ended */
    bool told_idle;                /* the user was told that the agent is idle */
};

/* agent.c */
struct event *agent_event(const struct agent *a, enum event_kind kind);
void agent_emit(const struct agent *a, struct event *e, struct cancel *cancel);
void agent_notice(const struct agent *a, enum event_level level, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
struct provider *agent_provider(const struct agent *a, size_t i);
size_t agent_provider_count(const struct agent *a);
void agent_take_over(struct agent *a);     /* applies pending changes such as set_model */
void agent_wake(struct agent *a);          /* any thread */
void agent_await_end(struct agent *a);     /* after agent_finish(), from another thread */
void agent_refresh(const struct agent *a); /* applies changed settings, see agent_spec */
void agent_remind(struct agent *a, struct str text);
void agent_say_reminders(struct agent *a,
                         /* blocks: made by reminder.h; may be empty. */
                         struct str blocks);
/* The same with the line for the transcript (JSON) that records it; or empty. */
void agent_say_line(struct agent *a, struct str line, struct str blocks);
struct extra_view agent_extra(struct agent *a); /* holds until the toolbox is replaced */
/* Handles mail without a waiting receiver: the end of a straggler, wake-ups, leftovers of a
 * cancelled call. */
void agent_reap(struct agent *a, struct mail *m);

/* inbox.c */
/* Records that an input was taken or withdrawn and has left the journal's queue. */
void agent_unkeep(struct agent *a, enum journal_queue what, const struct agent_input *in);

/* takeback.c: does one of the removals and rewinds that other threads requested; false if there was
 * none. */
bool agent_take_back(struct agent *a);
void agent_drop_takebacks(struct agent *a); /* when the agent ends: notifies waiting callers */
/* Takes over a loaded conversation. */
void agent_adopt(struct agent *a, const struct recall *past);

/* hooking.c: the common input fields of hooks, and running them with their events. Any thread.
 * call: the call that the hooks are about, on that call's thread; or NULL. */
void agent_hook_begin(const struct agent *a, struct jw *w, enum hook_event event);
void agent_hook_title(const struct agent *a,
                      struct jw *w); /* "session_title", if the session has one */
bool agent_hook_wanted(const struct agent *a, enum hook_event event, struct str subject);
/* The same for events that only the main agent has: session, prompt and end events. */
bool agent_session_hook_wanted(const struct agent *a, enum hook_event event, struct str subject);
int agent_hook_run(const struct agent *a, enum hook_event event, struct str subject,
                   struct str json, struct call *call, struct cancel *cancel,
                   struct hook_outcome *io, struct err *err);

/* Writes the transcript lines of hooks that ended; stop: as for hook_lines_write(). Agent thread.
 */
void agent_write_hooks(struct agent *a, const struct hook_outcome *stop);

/* aside.c: hooks that run in the background, like agent_tell(). InstructionsLoaded, for each file
 * read since the last call. Agent thread. */
void agent_tell_loaded(struct agent *a);
void agent_await_asides(struct agent *a, int64_t ms); /* agent thread */

/* Runs SessionEnd hooks, which have little time. Agent thread. */
void agent_tell_end(struct agent *a);

/* refereeing.c: what the referee is told and asked. */
void agent_tell_tool(struct agent *a, const struct call *c, const struct block *result);
/* Call it before each model call. True if the turn ends here; t->note has the reason. */
bool turn_is_called_off(struct agent *a, struct turn *t);
/* 1: the turn continues; 0: it may end; -1: undecided, with t->err set. */
int turn_ask_referee(struct agent *a, struct turn *t);

/* turn.c */
/* Emits TURN_STARTED once: after the hooks that see the input first, before any output. */
void turn_announce(struct agent *a, struct turn *t, const struct agent_input *in);
void turn_run(struct agent *a, struct agent_input *input);
void turn_again(struct turn *t, enum turn_why why); /* continues the loop with another step */
/* Adds the answer to the conversation and writes it. */
int turn_keep_reply(struct agent *a, struct turn *t, struct step *s);

/* turn_recover.c: unusable answers. These return true if the loop must make another call. */
/* An answer cut at the output limit. First the request is repeated with a higher limit, then the
 * model is asked for the rest. A call that stays incomplete gets a result that says so. */
bool turn_after_cut(struct agent *a, struct turn *t, struct step *s);
bool turn_is_cut_for_good(const struct turn *t); /* calls were cut too many times in a row */
/* An empty answer: the request is repeated once. Returns true if the answer was empty; if it was
 * not the first, *ret_again is false and t->err is set. */
bool turn_after_nothing(struct agent *a, struct turn *t, struct step *s, bool *ret_again);
/* The provider rejected an image or a file. The newest ones are the likely cause, since older ones
 * were accepted before. Media that a tool has read are left out and the call is repeated. The
 * user's media are left out as well, but the turn ends, so that the user learns about it and the
 * next prompt works. */
bool turn_drops_media(struct agent *a, struct turn *t, const struct step *s);
void agent_keep_drops(struct agent *a, const struct history_drops *drops); /* in the journal */
/* The request was too long for the model: compacts once, without showing the error, and repeats the
 * call. */
bool turn_makes_room(struct agent *a, struct turn *t, struct step *s);

/* turn_say.c: the user's side. */
void agent_emit_user(const struct agent *a, const struct block *blocks, size_t count,
                     const char *uuid, enum event_user user, struct cancel *cancel);
/* Adds a user message to the conversation and writes it. */
int agent_keep_user(struct agent *a, const struct block *blocks, size_t count, const char *uuid,
                    enum event_user user, struct err *err);
/* -1 if a hook blocked the input (t->note has the reason) or it could not be stored (t->err). */
int turn_take_input(struct agent *a, struct turn *t, struct agent_input *in);
/* Applies what the command grants and forbids for this turn only; turn_return() undoes it. Fails if
 * a ban cannot be applied. */
int turn_lend(struct agent *a, struct agent_command *c, struct err *err);
void turn_return(struct agent *a);
int turn_say_text(struct agent *a, struct turn *t, struct str text, enum event_user user);
/* Runs the SessionStart hooks once; context they add is sent with the first input. */
void turn_ask_start(struct agent *a, struct turn *t);
void agent_run_start(struct agent *a); /* the same outside a turn */
/* Runs SessionStart hooks; source: startup, compact. They may add context for the model, and text
 * that replaces the user's first input (ret_first; NULL = not allowed now). */
void turn_ask_start_hooks(struct agent *a, struct turn *t, struct str source,
                          struct buf *ret_context, struct buf *ret_first);
/* Takes input that is due between two steps. True if it added text to the conversation. */
bool turn_take_mail(struct agent *a, struct turn *t);

/* turn_report.c */
void turn_report(struct agent *a, struct turn *t, enum turn_end end);
/* Writes all costs outside the conversation since its last turn to the journal. */
void agent_record_spends(struct agent *a);
/* Runs StopFailure hooks. A turn that ends in an API error or with a cut answer runs no Stop hooks.
 */
void turn_tell_failure(struct agent *a, struct turn *t, const char *category, const char *text);
