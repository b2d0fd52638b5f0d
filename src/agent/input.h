/*
 * The input queue of an agent: everything that waits to be heard, in one order.
 *
 * Any thread pushes, lists, and takes back by uuid. An input is first *unread*: it is not decided
 * yet whether it is a prompt or a command. One reader at a time (src/slash) takes up the first
 * unread input and decides: a command is run while the input stays claimed, a prompt is passed on
 * and waits for its turn. So input after a command waits until the command is done. The agent's
 * thread takes prompts and notes that wait for their turn.
 *
 * A queue may be given from one session to the next (host_spec.inputs): unread inputs stay in it
 * and are read there. Nothing here waits or calls out.
 *
 * To tell an agent about work beside it, agent_send() a notice (is_notice), which is kept through a
 * kill; a note (agent_notify()) is for what means nothing later. To let a client say something,
 * slash_send().
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
    1000 /* unread, and as many that wait for their turn; more are an error. Of                    \
            orders twice as many */

enum input_when {
    INPUT_LATER, /* a separate turn, after those that wait */
    INPUT_NEXT,  /* between two steps of the running turn, else a separate turn */
    INPUT_NOW,   /* interrupts the running turn, then a separate turn, before all others */
};

enum input_origin {
    INPUT_BY_CLIENT,   /* the command line, an SDK, an editor, another program */
    INPUT_BY_TERMINAL, /* typed in front of the session: "!" and "#" at its start mean something */
    INPUT_BY_TASK,     /* work beside the agent: a background command, a child that has ended */
    INPUT_BY_AGENT,    /* another agent */
    INPUT_BY_HOOK,
    INPUT_BY_TENAX, /* the program itself */
};

/* A command of the user's own that an input was made of: who made it, for hooks, and what holds for
 * its turn alone. */
struct agent_command {
    char *name; /* "review" */
    char *args;
    char *source;              /* "user", "project", "managed", "built-in" */
    struct strv allow, deny;   /* permission rules */
    struct strv only;          /* the same: what none of them matches is denied; empty: nothing */
    struct provider *provider; /* asked in the place of the first; NULL: that one */
    enum effort effort;        /* UNSET: the session's */
};
void agent_command_free(struct agent_command *c); /* NULL is fine */

/* A request to the reader that was not typed ("the goal of the command line"): first member of its
 * struct, which only the reader knows. */
struct input_order {
    void (*free)(struct input_order *o);
};

struct agent_input {
    char uuid[ID_UUID_LEN + 1];
    struct message *message; /* taken */
    enum input_when when;
    enum input_origin origin;
    bool is_named;   /* the uuid is the client's, which is notified of the outcome */
    bool no_query;   /* only added to the conversation; no turn */
    bool is_literal; /* "/compact" in it is no command */
    bool go_on;      /* a turn without new text: resumes the interrupted one. No message then */
    bool is_note;    /* tenax's own text, in the place of the user's */
    bool wakes;      /* of a note: it starts a turn when the agent is idle */
    /* Of a note: the first block is the user's command, which was shown when it was typed. In the
     * transcript it is an input, so that the turn can be rewound. */
    bool is_typed;
    /* A notice (agent/notice.h): message is one text, bare. It is stored before it waits, and
     * delivered exactly once: between two steps, or in a turn with all others that wait. */
    bool is_notice;
    char run[32];                  /* of a notice about a task: the task's run; or "" */
    bool kept;                     /* it stands in the journal's queue; set by the agent */
    struct agent_command *command; /* taken; NULL: the user's own text */
    struct input_order *order;     /* taken; NULL: it is text */
    uint64_t drops;                /* of the queue, when it was taken */
};
void agent_input_release(struct agent_input *in);

struct inputs;

struct inputs *inputs_new(void);
void inputs_free(struct inputs *q); /* NULL is fine */

/* ---- Any thread ---- */

/* Unread, after all others. Takes the content, also on failure. ERR_TOO_BIG */
int inputs_push(struct inputs *q, struct agent_input *in, struct err *err);
/* A reminder for the model, which needs no reading. id: of the work it is about, for
 * inputs_take_back(); may be empty. */
void inputs_note(struct inputs *q, enum input_origin origin, struct str id, struct str text,
                 bool wakes);
/* Its content is the caller's then. False: it is not there (any more), or is being run. */
bool inputs_take_back(struct inputs *q, struct str uuid, struct agent_input *ret);

enum inputs_which {
    INPUTS_UNREAD = 1,
    INPUTS_WAITING = 2, /* for their turn */
    INPUTS_ALL = INPUTS_UNREAD | INPUTS_WAITING,
};
/* Prompts and commands of users, in order: uuids, and their texts (ret_texts may be NULL). */
void inputs_list(struct inputs *q, enum inputs_which which, struct strv *ret_uuids,
                 struct strv *ret_texts);
/* The same and notices are dropped; true: one of them stands in the journal. */
bool inputs_drop(struct inputs *q, enum inputs_which which);

/* ---- The reader ---- */

/* Claims the first unread input; lent until inputs_done(), inputs_unread() or inputs_pass(). NULL:
 * there is none, or one is claimed already. only_orders: texts are passed over. */
struct agent_input *inputs_claim(struct inputs *q, bool only_orders);
/* It is run now and cannot be taken back any more; false: it was. */
bool inputs_run(struct inputs *q, struct agent_input *claimed);
void inputs_unread(struct inputs *q, struct agent_input *claimed); /* it is for another reader */
void inputs_done(struct inputs *q, struct agent_input *claimed);   /* removed, freed */
bool inputs_is_clear(struct inputs *q); /* nothing is unread or claimed */
/* From here on texts are not read, orders are: the user is asked something first. */
void inputs_hold(struct inputs *q, bool on);

/* ---- The agent ---- */

/* The claimed input waits for its turn; false: it was taken back, call inputs_done(). */
bool inputs_pass(struct inputs *q, struct agent_input *claimed);
/* Waits for its turn without having been read. Takes the content. */
void inputs_put(struct inputs *q, struct agent_input *in);
/* The next prompt that is due between two steps (INPUT_NEXT), or at the start of a turn: then it is
 * being heard until inputs_heard(). */
bool inputs_next(struct inputs *q, bool between, struct agent_input *ret);
void inputs_heard(struct inputs *q);
/* A prompt that was taken but not used waits again, before all later ones; its content is taken.
 * False: waiting prompts were dropped in the meantime, and this one with them. */
bool inputs_put_back(struct inputs *q, struct agent_input *in);
bool inputs_next_note(struct inputs *q, struct agent_input *ret);
bool inputs_is_woken(struct inputs *q); /* by a note */
bool inputs_rests(struct inputs *q);    /* no prompt waits for its turn or is being heard */
size_t inputs_waiting(struct inputs *q);
/* The agent ends: what waits for its turn is dropped here (the journal has it), and its notes. */
void inputs_leave(struct inputs *q);
/* The prompt that waits for its turn is unread again, for the session that comes; false: it is not
 * there. ret_was: its uuid, and whether it stands in the journal. */
bool inputs_return(struct inputs *q, struct str uuid, struct agent_input *ret_was);
