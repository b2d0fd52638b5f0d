/*
 * The parts of a goal that only src/goal sees. All of it is read and changed by one thread at a
 * time, which holds the goal (goal_enter()), except fields that are marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/referee.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/argument/argument.h"
#include "goal/check.h"
#include "goal/git/baseline.h"
#include "goal/goal.h"
#include "goal/judge/judge.h"
#include "goal/origin/origin.h"
#include "goal/prompt.h"
#include "goal/wait/wait.h"
#include "llm/spending.h"
#include "store/goals/goals.h"
#include "sync/ticket.h"

struct alarm;
struct jw;
struct room;
struct snapshot;
struct wait_watch;

#define GOAL_ITEMS 40 /* results of tools that are kept for the judge */
#define GOAL_ITEM_TEXT ((size_t)4 << 10)
#define GOAL_ITEM_INPUT ((size_t)1 << 10)
#define GOAL_ITEM_NOTE ((size_t)1 << 9)
#define GOAL_SEEN 64                        /* states of the workspace that are remembered */
#define GOAL_SHOWN 256                      /* and things that tools have shown */
#define GOAL_STATE_HEX 16                   /* characters of their hash */
#define GOAL_BLOCKERS 3                     /* turns with the same blocker that make it blocked */
#define GOAL_ID_SHOWN 8                     /* characters of a goal_id that people see */
#define GOAL_LEDGER_TEXT ((size_t)16 << 10) /* of an objective, in the ledger */
#define STOP_WHY ((size_t)8 << 10)          /* of why it has its status */
#define GOAL_WRAP_UP 2                      /* calls of the model after a limit was reached */

/* What must survive a restart beside the row's own columns. */
struct goal_memory {
    int64_t round;     /* stops of the agent so far */
    int stalls;        /* rounds in a row that changed nothing */
    struct strv seen;  /* states of the workspace so far, newest last */
    struct strv shown; /* what tools have shown, likewise */
    int blockers;      /* turns in a row with the same blocker */
    int64_t blocker_round;
    struct buf blocker;           /* normalised */
    int judge_unread, judge_down; /* verdicts in a row that could not be read, or had */
    int retries;                  /* turns in a row that died of an error that passes */
    int quota_waits;              /* and of a quota that was used up */
    int lost_turns;               /* in a row that ended without a verdict */
    bool told_limit;              /* observers know that a limit is reached */
    bool wrapped_up;              /* the model was asked to wrap up: once per goal */
    unsigned warned;              /* 1 << enum goal_limit */
    struct buf criteria;          /* JSON array of the last verdict */
    struct strv held;             /* hashes of the checks that passed then */
    struct strv changed;          /* protected files that stood against it; some of them */
};

#define LIMIT_NONE (LIMIT_DEADLINE + 1)

/* Use that is not yet in the store, by who spent it. */
struct goal_pending {
    int64_t tokens, output_tokens, steps;
    double usd;
    bool unknown;
    bool any;
};

struct goal_item {
    char *tool, *input, *result;
    char *note; /* of a sensitive one: what in its text makes it so */
    bool is_error;
    bool is_sensitive; /* evidence_is_sensitive() */
    int64_t times;     /* this same call was made */
};

/* Calls that are no longer kept. */
struct goal_left_out {
    char *tool;
    size_t count;
};
#define GOAL_LEFT_OUT 12 /* tools that are counted separately */

/* A claim that was accepted in this turn. */
struct goal_claim {
    bool is_there;
    char goal_id[ID_UUID_LEN + 1];
    char terms[SHA256_HEX + 1];
    char state[SHA256_HEX + 1];
    struct buf reason, criteria;
};

/* The last claim that was refused: the same state is not judged twice. */
struct goal_refused {
    char terms[SHA256_HEX + 1];
    char state[SHA256_HEX + 1]; /* empty: there is none, or it is not known */
    bool by_judge;
    bool is_stale; /* a tool has run since that may have had an effect elsewhere */
    struct buf reason;
};

/* The state in which the goal is complete, recorded with the verdict that found it so. */
struct goal_proof {
    char goal_id[ID_UUID_LEN + 1]; /* "": there is none */
    struct buf text;               /* proof.json; empty: it could not be recorded */
    struct err why;                /* the reason */
};

/* Calls of the model since it last stopped: whether they lead anywhere. */
struct goal_stretch {
    struct strv seen;  /* what tools have shown, and states of the workspace: hashes, newest last */
    int calls;         /* since the last look */
    int tools;         /* results since the last call */
    bool tools_act;    /* one of them can have had an effect */
    int claims;        /* refused since the last stop */
    bool claim_counts; /* one of them is a round to be acted on before the next call */
    bool is_new;       /* a tool has shown something new since */
    int stalls;        /* looks in a row that found nothing new */
};

/* The goal's status and use as last written to the transcript. */
struct goal_used {
    int64_t is_there, status, tokens, steps, iterations;
};

struct goal {
    struct referee referee; /* first */
    struct goal_spec spec;
    struct journal *journal;

    struct ticket turn;  /* who may change it now: goal_enter() */
    struct store *store; /* opened on first use */
    struct arena arena;  /* of the row */
    struct store_goal row;
    bool has;
    int64_t read_ms; /* when it was read, clock_mono_ms() */
    struct goal_memory memory;
    struct buf text; /* the objective, whole */
    struct goal_options options;
    int64_t tokens_at_start;
    struct buf bent;  /* what another program changed in the store since the last verdict */
    struct buf lost;  /* why its terms cannot be relied on; empty: they are fine */
    struct buf judge; /* the judge and its settings when the goal was set */
    char kept_terms[SHA256_HEX + 1]; /* digest of the transcript's newest terms; "": none yet */
    struct goal_used kept_used;
    bool is_elsewhere;            /* the present events come from another terminal */
    int broken;                   /* answers in a row that broke off before their end */
    struct buf stop_why;          /* of the last change of status, where it was made here */
    enum goal_status stop_status; /* that it is the reason of */
    struct strv lines;            /* goal_status to be written by the agent's thread */
    const char *notice_type;      /* a notification that is due for the user; NULL: none */
    struct buf notice;

    bool directive_due, updated_due, continuation_due;
    bool next_due;     /* the present one is complete, and another may wait */
    bool next_stuck;   /* it does, and could not begin */
    bool feedback_due; /* the last refusal was not said: it waits since */
    struct buf woken;  /* why it goes on, for the model; empty: nothing special */
    struct buf typed;  /* the user's text after /goal that begins the next turn; may be empty */
    bool held;         /* an interrupt stopped it without pausing it */
    bool halted;       /* it rests because its state cannot be saved; stop_why says what */
    int unsaved;       /* times in a row that the store could not be read or written */
    bool barred;       /* a gate failed on restore: the row stays, and counts as not there */
    bool restored;     /* observers have not been notified yet */
    bool asks;         /* it was active when the session was left: goal_asks() */
    bool closing;
    struct wait wait; /* when phase is waiting or retrying */
    bool waits;
    struct wait_watch *watch;

    /* Accounting. */
    int64_t session_output;          /* tokens, of everybody, since the session began */
    char turn_goal[ID_UUID_LEN + 1]; /* charged for this turn; "": none */
    bool in_turn;
    bool turn_is_own;           /* the running turn, or the last one, has worked for the goal */
    struct cancel *turn_cancel; /* the running turn's; NULL: none runs */
    struct alarm *alarm;        /* of the deadline; NULL: none is running */
    bool rang;                  /* it has ended the running turn */
    bool drives;                /* the running turn is the goal's own */
    int wrap_up;                /* calls left after a limit */
    int64_t clock_ms;           /* time is charged up to here; clock_mono_ms() */
    int64_t carry_ms;           /* of a second */
    struct goal_pending pending[SPENT_COUNT];
    bool denied;            /* a permission request that no user could answer ... */
    struct buf denied_what; /* ... and which */

    /* Evidence. */
    VEC(struct goal_item) items; /* the newest calls */
    VEC(struct goal_item) kept;  /* earlier ones that stay because they are sensitive */
    size_t kept_left_out;        /* of those, gone nevertheless */
    VEC(struct goal_left_out) left_out;
    struct strv wrote; /* files that tools wrote since the last look */
    bool ran;          /* something that may have changed any file */
    struct goal_claim claim;
    struct goal_refused refused;
    struct goal_proof proof;
    struct goal_stretch stretch;
    bool has_shown; /* a tool, something that is new, since the last round */

    /* One verdict at a time; taken before the goal is held, never while it is. */
    struct ticket bench;
    struct snapshot *snapshot; /* of the bench */
    struct origin *origin;     /* of the bench: where the goal began; NULL: not read yet */
    char origin_sha256[SHA256_HEX + 1];
};

static inline struct goal *goal_of(struct referee *r)
{
    return (struct goal *)r;
}

/* One thread at a time; the others wait in order. Never around checks, files of the workspace or
 * the judge. */
static inline void goal_enter(struct goal *g)
{
    (void)ticket_take(&g->turn, /*cancel=*/NULL, /*err=*/NULL);
}
static inline void goal_leave(struct goal *g)
{
    ticket_give(&g->turn);
}

/* referee.c */
const struct referee *goal_referee_rows(void);
struct goal *goal_in(struct referee *first); /* the link that is a goal; NULL: none is */

/* goal.c: the store and the row. The goal is held. */
int goal_open_store(struct goal *g, struct err *err);
void goal_take_row(struct goal *g,
                   const struct store_goal *row); /* copies; thread_id empty: gone */
int goal_read_row(struct goal *g, struct err *err);
/* Under the present goal_id; 1 done, 0 it was replaced (the row is read again), -1. data: JSON
 * object of the event, kind NULL: none. */
int goal_update(struct goal *g, const struct goal_update *u, const char *kind, struct str data,
                struct err *err);
int goal_remember(struct goal *g, struct err *err); /* the memory goes into the row */
void goal_note(struct goal *g, const char *kind, struct str data); /* into the ledger */
int goal_set_phase(struct goal *g, const char *phase, struct str detail, struct err *err);
/* Sets the status, with why and by whom, and notifies observers. 1, 0, -1 as goal_update(). */
int goal_set_status(struct goal *g, enum goal_status to, unsigned from, struct str why,
                    const char *by, struct err *err);
/* The same with the verdict (ladder_write()) that led to it, in one transaction. */
int goal_set_status_by(struct goal *g, enum goal_status to, unsigned from, struct str why,
                       const char *by, struct str verdict, struct err *err);
/* Notifies observers of a new status; the user, too, if it was not requested. data: of the event.
 */
void goal_tell_status(struct goal *g, enum goal_status to, struct str why, bool by_user,
                      struct str data);
/* The store fails: the goal rests in this process, whatever its row says. */
void goal_halt(struct goal *g, struct str why, const struct err *err);
bool goal_is_active(const struct goal *g);
bool goal_in_plan_mode(const struct goal *g);
struct sandbox *goal_sandbox(const struct goal *g);     /* for checks and waits; NULL: none */
struct goal_words goal_words_now(const struct goal *g); /* good until the row is written */
struct baseline goal_baseline(const struct goal *g);
void goal_checks(const struct goal *g, struct strv *ret);
void goal_write_checks(const struct strv *commands, struct buf *ret); /* the column */

/* goal.c: telling others. */
void goal_tell(struct goal *g, const char *name, struct str json);
void goal_tell_begin(struct goal *g, struct jw *w, struct buf *out); /* the common fields */
/* The same for a change that is about to be written: the status after it. */
void goal_tell_begin_as(struct goal *g, enum goal_status status, struct jw *w, struct buf *out);
void goal_tell_active(struct goal *g);
void goal_tell_row(struct goal *g);
void goal_notice(struct goal *g, enum event_level level, const char *fmt, ...) PRINTF_LIKE(3, 4);
void goal_attach(struct goal *g, bool met, bool sentinel, struct str reason, bool achieved);

/* memory.c */
void memory_init(struct goal_memory *m);
void memory_release(struct goal_memory *m);
void memory_write(const struct goal_memory *m, struct buf *ret);
void memory_read(struct str json, struct goal_memory *ret);

/* gate.c: ERR_DENIED, ERR_UNSUPPORTED, with the code. */
int goal_gate(struct goal *g, const char **ret_code, struct err *err);

/* set.c */
int goal_set(struct goal *g, struct str text, const struct goal_options *o, enum goal_via via,
             struct cancel *cancel, struct goal_answer *ret, struct err *err);
/* A limit of cost needs a price. */
int goal_check_price(const struct goal *g, double max_usd, struct err *err);
/* create_goal: only where there is no unfinished one. */
int goal_create(struct goal *g, struct str objective, int64_t budget, struct cancel *cancel,
                struct goal_answer *ret, struct err *err);
/* The queue's first takes the place of one that is complete, when next_due: 1; 0: it does not. The
 * goal is not held: checks are run and files are read. One that cannot be set stays in the queue.
 */
int goal_start_next(struct goal *g, struct cancel *cancel, struct err *err);
/* Forgets the present goal. The goal is held. */
void goal_close_old(struct goal *g, bool say_cleared);
/* If the checks alone decide, there must be one. ERR_BAD_INPUT. */
int goal_check_referee(const struct goal_options *o, struct err *err);

/* draft.c. A text that is too long becomes a file if the user wrote it; from programs and models it
 * is refused. */
static inline bool goal_may_keep(enum goal_via via)
{
    return via != VIA_MODEL && via != VIA_CLIENT;
}
/* Another text for a goal: the columns objective and options. The goal is held. */
int goal_reword(struct goal *g, struct str old_options, struct str text, bool may_keep,
                struct buf *ret_objective, struct buf *ret_options, const char **ret_code,
                struct err *err);
size_t goal_count_points(struct str s);

/* change.c: the row as it is now; ERR_NOT_FOUND, with usage. The goal is held, as below. */
int goal_need(struct goal *g, struct err *err);
void goal_say_turn(struct goal *g, struct goal_answer *ret);
/* Resets the counters against stalls: who resumes a goal has seen why it stopped. */
void goal_forget_guards(struct goal *g);

/* queue.c */
int change_next(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                struct goal_answer *ret, struct err *err);
int change_queue(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err);

/* undo.c: the goal is not held. */
int change_undo(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                struct goal_answer *ret, struct err *err);

/* criteria.c */
int change_check(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err);
int change_check_rm(struct goal *g, size_t number, struct goal_answer *ret, struct err *err);
int change_protect(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                   struct goal_answer *ret, struct err *err);
int change_accept(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                  struct goal_answer *ret, struct err *err);

/* adopt.c: the goal of a resumed session. The goal is held. */
void goal_adopt(struct goal *g, struct strv *ret_notes);
/* Memory, options and text of the row. -1: the file of the text was changed. */
int goal_adopt_parts(struct goal *g, struct strv *ret_notes);

/* terms.c: the goal is held. Changes of another program that the store has undone are reported
 * once and count against the next verdict. */
struct ladder;
void terms_look(struct goal *g);
/* Of these terms; judge: who judges, and by which settings. */
void terms_digest(const struct store_goal *row, struct str text, struct str judge,
                  char ret[static SHA256_HEX + 1]);
/* The whole text, where the objective is no more than a reference to it; else empty. */
struct str terms_text(const struct goal *g);
/* Turns a "met" into "not met" after such a change; 1: there was one. */
int terms_object(struct goal *g, struct ladder *l);

/* terms_line.c: the goal is held. The terms go into the transcript, and are on disk when this
 * returns, unless they are there already. */
int terms_keep(struct goal *g, struct err *err);
int terms_keep_cleared(struct goal *g, struct err *err); /* before the row goes */
void terms_keep_used(struct goal *g);                    /* status and use, where they changed */
/* The row of a resumed session, held against the transcript: restored, or g->lost says why it
 * cannot be relied on. anchor_has_terms: a goal_status line says that there were terms. */
void terms_adopt(struct goal *g, bool anchor_has_terms, struct strv *ret_notes);
void terms_are_kept(struct goal *g);               /* nothing is to be written before they change */
int terms_accept(struct goal *g, struct err *err); /* the user takes the row as it is */

/* waiting.c: the goal is held. Takes the content of *w. */
void goal_wait_for(struct goal *g, struct wait *w, const char *phase, struct err *err);
void goal_keep_wait(struct goal *g, const char *phase, struct err *err); /* into the row */
void goal_end_wait(struct goal *g, const char *why);

/* account.c: the goal is held. */
void account_begin(struct goal *g); /* a turn */
void account_limit(struct goal *g); /* limits others to the rest, from here on */
/* Writes pending use to the store. */
int account_flush(struct goal *g, enum goal_mode mode, struct err *err);
void account_attach(struct goal *g); /* the present goal is charged from here on */
/* The goal has ended: further costs of the turn are not charged to it, and few calls are left. */
void account_detach(struct goal *g);
void account_end(struct goal *g);
void account_warn(struct goal *g);
/* spending_fn: charged to the goal that the turn works for, or that is active between turns. Any
 * thread that does not hold the goal. */
void account_spend(void *goal, const struct spend *s);

/* evidence.c */
void evidence_add(struct goal *g, const struct referee_tool *t);
void evidence_clear(struct goal *g);
void evidence_release(struct goal *g);
/* The call may have bent what the goal is judged by: it touched protected, test, configuration,
 * ignored or git-state files or files outside the workspace, or its text names such a file or
 * changes git's state. */
bool evidence_is_sensitive(const struct goal *g, const struct referee_tool *t);

/* ladder.c: the goal is not held; waits. */
enum ladder_end {
    LADDER_MET,
    LADDER_UNMET,
    LADDER_IMPOSSIBLE,
    LADDER_WAITS,   /* for what runs in the background */
    LADDER_UNKNOWN, /* err says why */
};

struct ladder {
    /* The case. */
    char goal_id[ID_UUID_LEN + 1];
    struct str claim;           /* the agent's words */
    bool is_claim;              /* update_goal(complete) */
    bool is_confirmed;          /* the judge has already said yes to the claim */
    char terms[SHA256_HEX + 1]; /* goal_terms() when it began */
    struct buf objective;       /* whole, of then */
    /* The result. */
    enum ladder_end end;
    const char *by; /* "check", "protect", "judge", "checks", "self", "terms" */
    struct buf reason, criteria;
    struct buf step; /* why this state is worth keeping; empty: it is not */
    VEC(struct check_result) checks;
    objection_vec objections;
    struct strv unrun;     /* what checks ran when the goal was set and do not now, in part */
    struct strv hidden;    /* files that the clean room left out */
    struct origin_now now; /* the workspace as it was compared */
    const char *where;     /* checks were confirmed: "overlay", "copy", "workspace" */
    bool is_observed;
    int steps;
    char model[128];
    char state[SHA256_HEX + 1]; /* of the workspace, before */
    struct err err;
    int64_t asked_ms; /* of the judge's server, with err: to wait so long; <= 0: it did not */
};
/* All terms as one digest. A verdict counts for no other. The goal is held. */
void goal_terms(const struct goal *g, char ret[static SHA256_HEX + 1]);
void ladder_init(struct ladder *l);
void ladder_release(struct ladder *l);
/* -1: ERR_CANCELLED. */
int ladder_climb(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err);
/* {"round","by","met",…} for the ledger and for observers; with_text: also what may not leave. */
void ladder_write(struct goal *g, const struct ladder *l, bool stale, struct buf *ret);
/* ladder_room.c: checks that pass, confirmed in a clean room, and what changed since the goal was
 * set. 1: nothing speaks against it; 0: something does, the reason says what; -1. */
int ladder_confirm(struct goal *g, struct ladder *l, const struct strv *commands, struct str column,
                   struct cancel *cancel, struct err *err);
/* Where the goal began, by the column of the row. The bench is held. */
int goal_origin(struct goal *g, struct str column, struct origin **ret, struct err *err);
/* After the judge has said yes: nothing that counts changed since the verdict began. As above. */
int ladder_still_holds(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err);
/* Takes it, for the goal whose row has this column. The bench is held. */
void goal_keep_origin(struct goal *g, struct origin **o, struct str column);
/* The folder of a goal below $TENAX_HOME/goals. Yours to free. */
char *goal_folder(const struct goal *g, const char *goal_id);
/* {"manifest","sha256","count","globs","none"?}: the column; the origin is written. */
int goal_write_origin(const struct origin *o, struct buf *ret_column, struct err *err);
/* What changed since the goal was set, as baseline_diff() tells it; also of ignored files that
 * changed, when now names them. spare: a file that does not count, may be NULL. Not for two threads
 * of one process at a time. ERR_UNSUPPORTED: there is no git. */
int goal_diff(const struct origin *o, const struct origin_now *now, const char *spare,
              struct cancel *cancel, struct buf *ret_stat, size_t max_stat, struct buf *ret_hunks,
              size_t max_hunks, struct err *err);
/* A room for checks; NULL and a note in `ret_why` where there can be none. */
int goal_room(struct goal *g, const struct origin *o, const struct origin_now *now,
              bool hides_built, bool on_disk, struct cancel *cancel, struct room **ret,
              struct buf *ret_why, struct err *err);
/* ladder_judge.c: the last step. */
int ladder_ask(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err);
/* The state of the workspace, for claims. */
/* The content of the workspace, for progress: a state that comes back is the same. */
int ladder_content(struct goal *g, struct cancel *cancel, char ret[SHA256_HEX + 1],
                   struct err *err);
int ladder_state(struct goal *g, struct cancel *cancel, char ret[SHA256_HEX + 1], struct err *err);

/* stall.c: the goal is held, except for stall_call(). The number of rounds in a row without
 * progress, this one included. */
int stall_round(struct goal *g, const struct ladder *l);
/* The consequence: at 3 another strategy (in say), at 5 a fresh start, at 8 it is blocked: returns
 * 0, with why. 1: it continues. what: "rounds". */
int stall_act(struct goal *g, int stalls, const char *what, struct buf *say, bool *ret_fresh,
              struct buf *keep, struct buf *why);
/* The same for calls inside of one turn: before each; the goal is not held, may look at the
 * workspace. 1: the goal is blocked, with ret->why. */
int stall_call(struct goal *g, struct referee_call *ret);
void stall_effect(struct goal *g, const struct referee_tool *t); /* a tool has shown something */
void stall_claim(struct goal *g, const struct ladder *l);        /* one was refused */
void stall_stop(struct goal *g); /* it wants to stop: the round counts, not the calls */
/* update_goal(blocked): in how many turns in a row. */
int stall_blocker(struct goal *g, struct str reason);

/* milestone.c. Checks and criteria that hold now and did not at the verdict before, one a line
 * (ret_new may be NULL). The next verdict is compared with this one. The goal is held. */
void milestone_look(struct goal *g, const struct ladder *l, struct buf *ret_new);
/* The workspace as it is now stays reachable for git, when l->step says why. The goal is not held.
 */
void milestone_keep(struct goal *g, const struct ladder *l);

/* proof_take.c: the goal is not held. Records the state that the verdict is about. */
void proof_take(struct goal *g, const struct ladder *l, struct cancel *cancel);
/* Where the goal is complete by this verdict: its proof is written and named in the ledger. */
void proof_keep(struct goal *g, const struct ladder *l, struct cancel *cancel);

/* alarm.c: the running turn ends at the deadline. alarm_start() and goal_is_overdue() while the
 * goal is held, alarm_stop() while it is not. */
void alarm_start(struct goal *g);
void alarm_stop(struct goal *g);
bool goal_is_overdue(const struct goal *g);

/* turn_over.c: the goal is held. */
void goal_after_turn(struct goal *g, const struct referee_end *e);
/* An account has nothing left, the agent's or the judge's: with --auto-resume the goal waits until
 * it has (asked_ms: so the server says; <= 0: unknown), else it is usage_limited. */
void goal_out_of_quota(struct goal *g, struct str why, int64_t asked_ms);
/* A server that asks to wait so long has no quota left for us. */
bool goal_is_quota(const struct goal *g, int64_t asked_ms);

/* verdict.c: struct referee's; and a claim, judged on the tool's own thread: 1 it holds, 0 not. */
int goal_judge(struct referee *self, const struct message *last, struct cancel *cancel,
               struct referee_verdict *ret, struct err *err);
int goal_claim_complete(struct goal *g, struct str reason, struct cancel *cancel,
                        struct tool_result *ret, struct err *err);
