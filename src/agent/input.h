/*
 * The input queue of an agent.
 *
 * Any thread may push, list, and withdraw inputs by uuid. A new input is *unread*: it is not yet
 * known whether it is a prompt or a command. One reader at a time (src/slash) claims the first
 * unread input and decides. A command runs while its input stays claimed, so that input after a
 * command waits until the command is done. A prompt is passed on and waits for its turn. The
 * agent's thread takes prompts and notes that wait.
 *
 * A queue may move from one session to the next (host_spec.inputs): unread inputs stay in it and
 * are read by the new session. Nothing here blocks or calls out.
 *
 * To tell an agent about background work, agent_send() a notice (is_notice), which survives a kill.
 * Use a note (agent_notify()) for what is pointless later. Clients send prompts with slash_send().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"
#include "base/strv.h"
#include "llm/effort.h"

struct agent_command;
struct err;
struct message;
struct provider;

#define INPUTS_MAX                                                                                 \
    1000 /* Limit of unread inputs, and also of waiting ones; more are an error. Orders may have   \
            twice as many. */

enum input_when {
    INPUT_LATER, /* a separate turn, after those that are queued */
    INPUT_NEXT,  /* added to the running turn between two steps; when idle, a separate turn */
    INPUT_NOW,   /* interrupts the running turn; then a separate turn before all others */
};

enum input_origin {
    INPUT_BY_CLIENT,   /* the command line, an SDK, an editor, another program */
    INPUT_BY_TERMINAL, /* typed into this session: a leading "!" or "#" is special */
    INPUT_BY_TASK,     /* background work: a command or a subagent that has ended */
    INPUT_BY_AGENT,    /* another agent */
    INPUT_BY_HOOK,
    INPUT_BY_TENAX, /* tenax itself */
};

/* The user's own command that an input was expanded from: its origin, for hooks, and the settings
 * that apply to its turn only. */
struct agent_command {
    char *name; /* "review" */
    char *args;
    char *source;            /* "user", "project", "managed", "built-in" */
    struct strv allow, deny; /* permission rules */
    struct strv only; /* permission rules: any call that matches none of them is denied; empty = no
                         restriction */
    struct provider *provider; /* replaces the first provider; NULL = no change */
    enum effort effort;        /* UNSET = the session's */
};
void agent_command_free(struct agent_command *c); /* NULL is fine */

/* A request to the reader that was not typed, such as the goal given on the command line. First
 * member of a struct that only the reader knows. */
struct input_order {
    void (*free)(struct input_order *o);
};

struct agent_input {
    char uuid[ID_UUID_LEN + 1];
    struct message *message; /* owned */
    enum input_when when;
    enum input_origin origin;
    bool is_named;   /* the uuid was chosen by the client, which is notified of the outcome */
    bool no_query;   /* only added to the conversation, without a turn */
    bool is_literal; /* "/compact" is plain text, and so is "@file" */
    bool has_files;  /* but not in this one: "@file" names a file */
    bool go_on;      /* resumes an interrupted turn; has no message */
    bool is_note;    /* text by tenax instead of the user */
    /* Its sender counts results: a command waits until all earlier input has been answered. */
    bool in_order;
    bool wakes; /* of a note: starts a turn when the agent is idle */
    /* Of a note: its first block is the user's command, already shown when it was typed. The
     * transcript records it as input, so that the turn can be rewound. */
    bool is_typed;
    /* A notice (context/notice.h): message is one bare text. It is stored before it is queued, and
     * delivered exactly once: between two steps, or in a turn together with all other waiting
     * notices. */
    bool is_notice;
    char run[32];                  /* of a notice about a task: the task's run id; or "" */
    bool kept;                     /* recorded in the journal's queue; set by the agent */
    struct agent_command *command; /* owned; NULL = the user's own text */
    struct input_order *order;     /* owned; NULL = the input is text */
    uint64_t drops;                /* the queue's drop counter when this was taken */
};
void agent_input_release(struct agent_input *in);

struct inputs;

struct inputs *inputs_new(void);
void inputs_free(struct inputs *q); /* NULL is fine */

/* ---- Any thread ---- */

/* Appends an unread input. Takes the content, also on failure. ERR_TOO_BIG if the queue is full. */
int inputs_push(struct inputs *q, struct agent_input *in, struct err *err);
/* Queues a reminder for the model; the reader does not see it. id: of the work it is about, for
 * inputs_take_back(); may be empty. */
void inputs_note(struct inputs *q, enum input_origin origin, struct str id, struct str text,
                 bool wakes);
/* Withdraws an input and hands its content to the caller. False if it is not queued (any more) or
 * is being run. */
bool inputs_take_back(struct inputs *q, struct str uuid, struct agent_input *ret);

enum inputs_which {
    INPUTS_UNREAD = 1,
    INPUTS_WAITING = 2, /* for their turn */
    INPUTS_ALL = INPUTS_UNREAD | INPUTS_WAITING,
};
/* The users' prompts and commands in order: uuids, and texts (ret_texts may be NULL). */
void inputs_list(struct inputs *q, enum inputs_which which, struct strv *ret_uuids,
                 struct strv *ret_texts);
/* When the oldest of those came (clock_mono_ms()); -1 if there is none. */
int64_t inputs_oldest_ms(struct inputs *q, enum inputs_which which);
/* Drops those, and notices. True if one of them is recorded in the journal. */
bool inputs_drop(struct inputs *q, enum inputs_which which);

/* ---- The reader ---- */

/* Claims the first unread input; it is lent until inputs_done(), inputs_unread() or inputs_pass().
 * NULL if there is none or one is already claimed. only_orders: skip texts. settled: the agent has
 * nothing to do; otherwise an input that was put off, and those in_order after it, are skipped. */
struct agent_input *inputs_claim(struct inputs *q, bool only_orders, bool settled);
/* Leaves the claimed input unread until the agent has nothing to do. */
void inputs_put_off(struct inputs *q, struct agent_input *claimed);
bool inputs_has_put_off(struct inputs *q);
/* Marks the claimed input as running, so that it cannot be withdrawn any more. False if it already
 * was withdrawn. */
bool inputs_run(struct inputs *q, struct agent_input *claimed);
void inputs_unread(struct inputs *q, struct agent_input *claimed); /* leaves it to another reader */
void inputs_done(struct inputs *q, struct agent_input *claimed);   /* removes and frees it */
bool inputs_is_clear(struct inputs *q); /* nothing is unread or claimed */
/* While on, only orders are read, not texts: a question to the user comes first. */
void inputs_hold(struct inputs *q, bool on);

/* ---- The agent ---- */

/* Queues the claimed input for its turn. False if it was withdrawn: call inputs_done(). kept: it is
 * recorded in the journal's queue. */
bool inputs_pass(struct inputs *q, struct agent_input *claimed, bool kept);
/* Queues a prompt for its turn without reading it. Takes the content. */
void inputs_put(struct inputs *q, struct agent_input *in);
/* Takes the next prompt that is due: between two steps only INPUT_NEXT, else at the start of a
 * turn. In the second case it counts as in progress until inputs_heard(). */
bool inputs_next(struct inputs *q, bool between, struct agent_input *ret);
void inputs_heard(struct inputs *q);
/* Puts a prompt that was taken but not used back before all later ones; takes its content. False if
 * the waiting prompts were dropped in the meantime: this one is dropped as well. */
bool inputs_put_back(struct inputs *q, struct agent_input *in);
bool inputs_next_note(struct inputs *q, struct agent_input *ret);
bool inputs_is_woken(struct inputs *q); /* by a note */
bool inputs_rests(struct inputs *q);    /* no prompt waits for its turn or is in progress */
size_t inputs_waiting(struct inputs *q);
/* The agent ends: drops waiting prompts (the journal has them) and notes. */
void inputs_leave(struct inputs *q);
/* Makes a prompt that waits for its turn unread again, for the next session; false if it is not
 * waiting. ret_was: its uuid, and whether the journal has it. */
bool inputs_return(struct inputs *q, struct str uuid, struct agent_input *ret_was);
