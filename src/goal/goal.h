/*
 * The goal of a session: set, worked for, judged and proven.
 *
 * One struct goal lives as long as its host. It is the agent's referee (agent/referee.h); all other
 * requests go through goal_do(). While a process holds the goal, its memory is the truth: a change
 * that another program makes to the row in the store (store/goals/goals.h) is undone, reported, and
 * counts against the next verdict. Other processes send their requests to the holder's control
 * socket.
 *
 *   set.c       sets a goal: gate.c (may there be one?), draft.c (the data recorded before), the
 *   row
 *   change.c    clear, edit, pause, resume, budget, …; criteria.c, queue.c, undo.c
 *   adopt.c     the goal of a resumed session
 *   terms.c     objective, checks, protection and limits, kept from other programs; terms_line.c
 *               keeps a copy in the transcript
 *   referee.c   the agent's referee: what happens at which point of a turn, and when it is idle
 *   ladder.c    the verdict: checks, the clean room (ladder_room.c), the judge (ladder_judge.c)
 *   origin/     the state in which the goal began, what changed since, and the clean room
 *   verdict.c   the consequences of a verdict; milestone.c: verified steps
 *   turn_over.c what the end of a turn means, and how a run ends; alarm.c: the deadline; waiting.c
 *   stall.c     rounds without progress
 *   account.c   tokens, money and time, charged to the goal they were spent for
 *   tools.c     get_goal, create_goal, update_goal
 *   argument/   user input: verbs, options, amounts; report/: output and reports
 *   judge/      the judge; proof/: the proof of a complete goal; wait/: what a goal waits for
 *   git/        git, run without touching the user's state; states of the workspace as commits
 *
 * One thread at a time holds the goal (a ticket, goal_enter()): an outside change and the start of
 * an idle continuation never overlap. It is never held while something runs or waits. Everything
 * here may be called from any thread, except the referee's functions (the agent's thread),
 * goal_new() and goal_free().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/tool.h"
#include "base/buf.h"
#include "base/str.h"
#include "goal/argument/argument.h"
#include "store/goals/goals.h"

struct cancel;
struct conf;
struct err;
struct event;
struct goal;
struct journal;
struct net;
struct permit;
struct provider;
struct referee;
struct sandbox;
struct spending;
struct store;
struct strv;
struct toolbox;
struct workspace;

#define GOAL_JUDGE_SETTINGS " settings:"

/* What the goal needs of its host. Everything is lent and outlives it. */
struct goal_host {
    void *arg; /* of all below */
    /* Numbers the event and shows it to observers. Must not wait long. */
    void (*emit)(void *arg, struct event *e);
    /* Makes the agent look for work; creates it if there is none yet. */
    int (*wake)(void *arg, struct err *err);
    /* The session's Stop hook: there is one with this prompt, or there is none (empty). The host
     * keeps it in the registry of hooks, where it is listed; the referee executes it. */
    void (*arm)(void *arg, struct str objective);
    bool (*is_armed)(void *arg, struct str objective);
    /* The store, which the goal frees. NULL: the connection of the process. */
    int (*store)(void *arg, struct store **ret, struct err *err);
    /* Background commands that still run: how many, their names for display (may be NULL), and
     * when the newest of them began (clock_mono_ms()). */
    size_t (*background)(void *arg, struct buf *names, int64_t *ret_began_ms);
    /* The judge's own provider (goal.judgeModel, else the session's model now). Lent until
     * the next call; asked by one thread at a time. */
    struct provider *(*judge)(void *arg, struct err *err);
    struct net *(*net)(void *arg);
    /* Who judges and by which settings, as text: one of the terms. What follows
     * GOAL_JUDGE_SETTINGS is a digest of the settings. NULL: unknown. */
    void (*judge_name)(void *arg, struct buf *ret);
    /* A title for a session that has none. */
    void (*title)(void *arg, struct str text);
    bool (*is_trusted)(void *arg);
    /* Whether what the session's model costs is known, so that a limit of cost can be kept. NULL:
     * no agent works here. */
    bool (*has_price)(void *arg);
    /* Notifies the user (hook event Notification, with a type of the reference). Must not wait; the
     * agent's thread. NULL: there is no way to. */
    void (*notify)(void *arg, const char *type, struct str message);
};

struct goal_spec {
    struct goal_host host;
    const char *session;       /* uuid */
    const char *folder;        /* the session's */
    const char *home;          /* $TENAX_HOME: the store */
    const char *dir;           /* of the workspace */
    char *const *environ;      /* as tenax was started */
    const struct conf *conf;   /* goal.* */
    struct permit *permit;     /* its mode */
    struct sandbox *sandbox;   /* where checks run; NULL: they are not confined */
    struct spending *spending; /* of the session; all of it is charged. NULL: none is known */
    const struct toolbox *judge_tools;
    bool is_kept;        /* the session is saved */
    bool is_interactive; /* in a terminal: trust counts, resuming asks */
    bool is_fork;
    const char *forked_from;   /* the session it was forked from; NULL */
    int64_t output_tokens;     /* of the session so far */
    struct str anchor;         /* JSON of the newest goal_status of the transcript; empty: none */
    struct str terms, used;    /* JSON of its newest goal-terms and goal-used lines; empty: none */
    bool resumes;              /* a resumed session */
    bool is_outside;           /* no agent works here: the row is only read and changed */
    struct cancel *cancel;     /* of the process */
    const char *store_backend; /* of a store for it alone; NULL: the process's own */
};

/* Reads the row of a resumed session. notes: for the user, such as that the goal is stopped, or why
 * it cannot be read. */
struct goal *goal_new(const struct goal_spec *spec, struct strv *ret_notes);
/* Whether the user is to be asked about the goal, which rests until then: it was active when the
 * session ended (goal.onResume: ask). Adds the beginning of its objective. */
bool goal_asks(struct goal *g, struct buf *ret_objective);
/* Before the agent is freed: pauses an active goal whose process has to end. */
void goal_close(struct goal *g);
void goal_free(struct goal *g);

struct referee *goal_referee(struct goal *g);
/* Where goal_status lines go; before the agent starts. NULL: nowhere. */
void goal_set_journal(struct goal *g, struct journal *journal);
const struct tool_entry *const *goal_tools(void); /* NULL-terminated */

/* 1 and a copy of the row, 0: there is none, -1. */
int goal_get(struct goal *g, struct arena *arena, struct store_goal *ret, struct err *err);
/* The objective's whole text, also of one that is kept as a file. */
void goal_objective(struct goal *g, const struct store_goal *row, struct buf *ret);
/* {condition, iterations, set_at, tokens_at_start, last_reason?} or null. */
void goal_active_json(struct goal *g, struct buf *ret);
/* As clients of JSON-RPC know it: a ThreadGoal (report/row_json.h) with "phase"?, "iterations" and
 * "lastReason"?, or null. g NULL: null. */
void goal_thread_json(struct goal *g, struct buf *ret);

enum goal_via {
    VIA_USER,
    VIA_MODEL,
    VIA_CLIENT,
    VIA_NEXT,
    VIA_ELSEWHERE, /* the user, in another terminal: a notice is shown here */
};

/* Does what an argument of /goal says. ret_text: the answer for the user. *ret_turn: a turn will
 * begin by itself. Errors: ERR_BAD_INPUT, ERR_NOT_FOUND (no goal), ERR_DENIED (a gate of §4: the
 * text begins with its message; *ret_code its stable code), ERR_UNSUPPORTED (no persistence),
 * ERR_CANCELLED. Nothing is half-set. */
struct goal_answer {
    struct buf text;
    bool turn;
    const char *code; /* of a gate; "" */
    /* Asks whether a check that cannot run as it is shall count: 0 yes; ERR_CANCELLED: no, and
     * nothing is set. NULL: the user cannot be asked; it counts, and the text explains the
     * problem. */
    int (*ask_check)(void *arg, struct str complaint, struct err *err);
    /* Whether scripts that a check ran, and that are no tests by their names, are part of the
     * check: 1 they are, and are protected; 0 they are part of the work, as they
     * are without it. */
    int (*ask_scripts)(void *arg, const struct strv *scripts, struct err *err);
    void *arg;
};
#define GOAL_ANSWER_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT(4 << 20), .code = ""                                                      \
    }
void goal_answer_release(struct goal_answer *a);
int goal_do(struct goal *g, const struct goal_argument *what, enum goal_via via,
            struct cancel *cancel, struct goal_answer *ret, struct err *err);

/* It is active, or a turn that works for it still runs. */
bool goal_is_running(struct goal *g);
/* The text after /goal that begins a turn: the turn's entry in the transcript. */
void goal_was_typed(struct goal *g, struct str args);
/* Where no agent runs that would do it: writes the lines of the transcript that are due. True:
 * there are some. */
bool goal_has_lines(struct goal *g);
void goal_flush_lines(struct goal *g);

/* How a run ends by its goal: 0 complete, 10 blocked, 11 budget_limited, 12 usage_limited, 13
 * paused or still active. */
struct goal_ending {
    enum goal_status status;
    int exit_code;
    const char *subtype; /* of a result line: "success", "error_max_turns", … */
    bool is_own;         /* the last turn worked for it */
    struct str reason;   /* one line */
};
/* False: there is no goal. The reason is in the arena. */
bool goal_ending(struct goal *g, struct arena *arena, struct goal_ending *ret);
int goal_exit_code(struct goal *g); /* -1: there is no goal */

/* The report as Markdown or JSON. which: the beginning of a goal_id, also of one that was cleared
 * or replaced; empty: the present one, else the last there was. ERR_NOT_FOUND, ERR_BAD_INPUT. */
int goal_report(struct goal *g, struct str which, bool json, struct cancel *cancel, struct buf *ret,
                struct err *err);
/* It was written to this file: our own files are no change of the workspace, and /goal undo leaves
 * them alone. */
void goal_report_is_at(struct goal *g, const char *path);
