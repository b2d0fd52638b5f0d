/*
 * The inside of an agent; for src/agent only.
 *
 * Except where marked, everything here belongs to the agent's own thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/extra_news.h"
#include "agent/history.h"
#include "agent/hook.h"
#include "agent/hook_lines.h"
#include "agent/journal.h"
#include "agent/referee.h"
#include "agent/spending.h"
#include "base/buf.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct block;
struct call;
struct jw;
struct model;
struct pace;
struct step;

#define AGENT_MAX_TEXT ((size_t)64 << 20)

/* Why the loop goes round once more; for the log and the tests. */
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

/* One turn: the state carried from step to step. */
struct turn {
    struct cancel
        *cancel; /* the agent's lock guards the pointer in struct agent; set by interrupt */
    enum turn_why why;
    int64_t steps;
    int64_t start_ms, api_ms;
    struct llm_usage usage;
    size_t provider;    /* index: fallbacks stay for the turn */
    int64_t max_tokens; /* override after a cut; 0: the model's default */
    int go_on;          /* "go on from where you were cut" rounds, in a row */
    int final_tries;    /* calls of the tool that is owed that failed, and ends without one */
    bool is_final;      /* a final tool was called */
    bool asked_again;   /* after an empty answer */
    int made_room;      /* times in a row, after "too long", without an answer between them */
    bool sent_back;     /* by Stop hooks */
    int sent_back_row;  /* so many times since a tool was called */
    bool overruled;     /* they object still, and are not heard any more */
    bool stopped;       /* a hook said "continue": false */
    bool pushed;        /* by input that wants to be heard at once */
    bool is_announced;  /* TURN_STARTED was emitted */
    bool took_up;       /* a call that was put off when the session ended has run */
    bool unwritten;     /* something could not be stored; err says why */
    enum llm_stop stop;
    bool continues;       /* the next answer continues the last one */
    struct str last_text; /* of the last answer, in last_arena */
    struct arena last_arena;
    struct buf final_args; /* of the final tool: JSON */
    struct buf deferred;   /* JSON of a call that a hook has deferred; or empty */
    struct buf denials;    /* JSON objects, comma-separated */
    struct strv heard;     /* uuids of inputs */
    struct buf note;       /* why it ended, for the user */
    struct buf tail;       /* of the next request, after the history */
    int64_t most_wait_ms;  /* that a server may ask for; 0: as usual */
    int api_status;
    bool is_overloaded;
    int broken;       /* of the call that failed: answers in a row that broke off */
    int64_t asked_ms; /* of the call that failed: how long its server asked to wait; or -1 */
    struct err err;
};

struct agent {
    struct agent_spec spec;
    struct arena arena;         /* of its identity */
    struct provider *providers; /* as many as the spec has */
    struct buf system_json;     /* as it is sent with every request; made for the first one */
    struct crew *crew;          /* for calls, and for the agent itself */
    struct crew *own_crew;      /* NULL: it is lent */
    struct mailbox *mail;
    struct inputs *inputs, *own_inputs; /* the second: NULL, or the same */

    struct gate gate; /* of what follows */
    int threads;      /* that work for it: one, plus perhaps an old one that is about to end */
    bool is_begun;    /* it has all it needs */
    bool is_over;     /* it was asked to finish, and has */

    /* Shared, under the lock. */
    struct lock lock;
    VEC(struct strv) snips;      /* lines to be taken out when idle */
    struct agent_rewind *rewind; /* to be done when idle; NULL: none */
    bool wants_start;            /* SessionStart hooks are to run before any input */
    struct cancel *turn_cancel;  /* of the running turn; NULL: idle */
    bool pushed;                 /* INPUT_NOW caused the interrupt: no marker */
    bool takes_up;               /* what waited in the session before does what "go on" would */
    bool finishing;
    const char *end_reason; /* NULL: none was given */
    void (*done)(void *arg);
    void *done_arg;
    struct provider *new_provider; /* to be taken over before the next call */
    struct toolbox *new_toolbox;   /* to be used from the next step on; NULL: as it was */
    bool new_thinking;
    enum thinking thinking_wanted;
    int64_t thinking_budget_wanted;
    bool new_effort;
    enum effort effort_wanted;
    struct hook_lines hook_lines;
    char prompt_id[ID_UUID_LEN + 1]; /* of the input that is worked for; or "" */

    _Atomic int cache_break; /* enum cache_break; any thread */

    /* Hooks that nothing waits for. */
    atomic_int asides;
    struct cancel *aside_cancel;

    /* The agent's thread's. */
    struct provider *turn_provider; /* of the command that the turn is for; NULL: none */
    enum effort turn_effort;        /* the same; UNSET: none. Written under the lock */
    bool has_lent;                  /* permission rules, for the turn */
    struct history history;
    bool said_context;
    bool asked_start;         /* SessionStart hooks were */
    bool start_stops;         /* one of them wants no turn, */
    struct buf start_note;    /* and why */
    struct buf start_context; /* their additions, until they are sent */
    struct buf start_words;   /* their text in place of the user's, before the first input */
    struct message
        *deferred; /* the last answer, whose call runs before anything else; NULL: none */
    enum turn_end last_end;
    bool left_open;                    /* the last turn of the process before was cut off */
    bool is_recalled;                  /* the conversation began before this process */
    enum permit_mode told_mode;        /* the mode the model knows of */
    bool told_guess;                   /* that figures are estimates */
    struct extra_news extra;           /* what the model knows of extra tools */
    _Atomic int64_t turn, step;        /* read by calls' threads for their events */
    _Atomic int64_t last_input_tokens; /* of the last call, all of them; with history bytes then */
    size_t last_bytes;
    int compact_failures;          /* in a row */
    bool compacted_before;         /* unasked, the last time */
    int64_t calls_since;           /* then */
    VEC(struct call *) stragglers; /* calls that still run after a cancel */
    struct pace *pace;             /* of the running turn */
    int64_t idle_since_ms;         /* the end of the last turn */
    bool told_idle;                /* since then */
};

/* agent.c */
struct event *agent_event(const struct agent *a, enum event_kind kind);
void agent_emit(const struct agent *a, struct event *e, struct cancel *cancel);
void agent_notice(const struct agent *a, enum event_level level, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
struct provider *agent_provider(const struct agent *a, size_t i);
size_t agent_provider_count(const struct agent *a);
void agent_take_over(struct agent *a); /* applies pending changes such as set_model */
void agent_wake(struct agent *a);      /* any thread */
void agent_await_end(struct agent *a); /* after agent_finish(); any other thread */
/* Says something to the model that is not the user's: a <system-reminder>. */
void agent_refresh(const struct agent *a); /* the settings, see agent_spec */
void agent_remind(struct agent *a, struct str text);
void agent_say_reminders(struct agent *a, struct str blocks); /* made by reminder.h; may be empty */
/* Mail without a waiting receiver: the end of a straggler, wake-ups, the rest of a cancelled
 * call. */
void agent_reap(struct agent *a, struct mail *m);

/* inbox.c */
/* Input that was taken up, or back, no longer stands in the journal's queue. */
void agent_unkeep(struct agent *a, enum journal_queue what, const struct agent_input *in);

/* takeback.c: what others have asked to be taken back is, one of it; false: there was nothing. */
bool agent_take_back(struct agent *a);
void agent_drop_takebacks(struct agent *a); /* at the end; waiting callers are notified */
/* A conversation that was remembered is this agent's from here on. */
void agent_adopt(struct agent *a, const struct recall *past);

/* hooking.c: the common fields of a hook's input, and a run with its events. Any thread. call: the
 * one it is about, on that call's thread; NULL: none. */
void agent_hook_begin(const struct agent *a, struct jw *w, enum hook_event event);
void agent_hook_title(const struct agent *a,
                      struct jw *w); /* "session_title", where there is one */
bool agent_hook_wanted(const struct agent *a, enum hook_event event, struct str subject);
/* The same for an event of the session, its user's prompts and its end: of its main agent alone. */
bool agent_session_hook_wanted(const struct agent *a, enum hook_event event, struct str subject);
int agent_hook_run(const struct agent *a, enum hook_event event, struct str subject,
                   struct str json, struct call *call, struct cancel *cancel,
                   struct hook_outcome *io, struct err *err);

/* aside.c: hooks that nothing waits for; agent_tell() is another. InstructionsLoaded, for each file
 * read since. The agent's thread. */
void agent_tell_loaded(struct agent *a);
void agent_await_asides(struct agent *a, int64_t ms); /* the agent's thread */

/* The session ends; SessionEnd hooks have a short time to run. Agent thread. */
void agent_tell_end(struct agent *a);

/* refereeing.c: what the referee receives and is asked. */
void agent_tell_tool(struct agent *a, const struct call *c, const struct block *result);
/* Before each call of the model; true: the turn ends here (the note says why). */
bool turn_is_called_off(struct agent *a, struct turn *t);
/* 1 go on, 0 may end, -1 could not tell. */
int turn_ask_referee(struct agent *a, struct turn *t);

/* turn.c */
/* TURN_STARTED, once: after the hooks that see the input first, before any output. */
void turn_announce(struct agent *a, struct turn *t, const struct agent_input *in);
void turn_run(struct agent *a, struct agent_input *input);
void turn_again(struct turn *t, enum turn_why why); /* the loop goes round once more */
/* The answer enters the conversation. */
int turn_keep_reply(struct agent *a, struct turn *t, struct step *s);

/* turn_recover.c: answers that are no good. True: this one does not count, or counts for a part of
 * one; the loop goes round once more. */
/* Cut at the output limit: more room for the same request, then a request for the rest. A call in
 * it that is and stays incomplete has a result that reports it. */
bool turn_after_cut(struct agent *a, struct turn *t, struct step *s);
bool turn_is_cut_for_good(const struct turn *t); /* calls were, too many times in a row */
/* Empty: asked again, once. True: it was; if not, the turn's err gives the reason. */
bool turn_after_nothing(struct agent *a, struct turn *t, struct step *s, bool *ret_again);
/* The provider would not take an image or a file: one that a tool has read is left out, and the
 * call made again. Newest first: the older ones were taken before. One of the user's is left out,
 * too, but the turn ends: who sent it is to know, and the next prompt is to be heard. */
bool turn_drops_media(struct agent *a, struct turn *t, const struct step *s);
void agent_keep_drops(struct agent *a, const struct history_drops *drops); /* in the journal */
/* Too long for the model: the error is not shown, the conversation compacted once, and the call
 * made again. */
bool turn_makes_room(struct agent *a, struct turn *t, struct step *s);

/* turn_say.c: the user's side. */
void agent_emit_user(const struct agent *a, const struct block *blocks, size_t count,
                     const char *uuid, enum event_user user, struct cancel *cancel);
/* Into the conversation and onto the disk. */
int agent_keep_user(struct agent *a, const struct block *blocks, size_t count, const char *uuid,
                    enum event_user user, struct err *err);
/* -1: a hook blocked the input (the turn's note says why), or it could not be stored (the turn's
 * err). */
int turn_take_input(struct agent *a, struct turn *t, struct agent_input *in);
/* The turn is over: what only held for it does no longer. */
/* What holds for this turn alone: turn_return() takes it back. Fails when what the command forbids
 * cannot be forbidden. */
int turn_lend(struct agent *a, struct agent_command *c, struct err *err);
void turn_return(struct agent *a);
int turn_say_text(struct agent *a, struct turn *t, struct str text, enum event_user user);
/* SessionStart hooks of the beginning, once; their additions go with the first input. */
void turn_ask_start(struct agent *a, struct turn *t);
void agent_run_start(struct agent *a); /* the same before there is a turn */
/* SessionStart hooks; source: startup, compact. They may add context for the model, and input in
 * place of the user's before the first one (ret_first; NULL: not now). */
void turn_ask_start_hooks(struct agent *a, struct turn *t, struct str source,
                          struct buf *ret_context, struct buf *ret_first);
/* Takes input that is to be read now. True when text was passed to the model. */
bool turn_take_mail(struct agent *a, struct turn *t);

/* turn_report.c */
void turn_report(struct agent *a, struct turn *t, enum turn_end end);
/* Afterwards all costs outside the conversation since its last turn are in the journal. */
void agent_record_spends(struct agent *a);
/* A turn that ended in an API error, or with a cut answer, runs no Stop hooks, but StopFailure
 * hooks are run. */
void turn_tell_failure(struct agent *a, struct turn *t, const char *category, const char *text);
