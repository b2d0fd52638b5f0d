/*
 * Slash commands: what may be said in the place of words for the model.
 *
 * They need a host and never a screen. To add one: write slash/<name>.c with its run function and
 * add a row to the table in slash.c; lists of commands (system/init, initialize) print the rows.
 *
 * A command may take its time (a goal's checks are run when it is set), so all of a session's run
 * on one thread, one after the other, and nobody who reads lines waits for them. What is said
 * behind a command that has not answered yet waits too: order is kept. How it ended is told to
 * observers (host_answer()).
 *
 * slash_send() and slash_finish() may be called from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct agent_input;
struct cancel;
struct conf;
struct goal_argument;
struct host;
struct slash;

/* One command at work. */
struct slash_call {
    struct host *host;
    struct str args; /* behind the name, trimmed */
    /* Of /goal, when somebody has read the argument already; NULL: `args` counts. */
    struct goal_argument *goal;
    bool is_client; /* a program asks (slash_ask()), not a person */
    struct cancel *cancel;
    struct buf text; /* the answer */
    bool goes_on;    /* a turn will begin by itself */
};

struct slash_command {
    const char *name;    /* "goal" */
    const char *hint;    /* "[<condition> | clear]" */
    const char *summary; /* one sentence, no full stop */
    const char *setting; /* false hides it from lists; NULL: always there */
    int (*run)(struct slash_call *call, struct err *err);
};

size_t slash_count(void);
const struct slash_command *slash_at(size_t i);
bool slash_is_listed(const struct slash_command *c, const struct conf *conf);
/* The command that a text means ("/goal", "/goal all tests pass"); NULL: it is for the model. */
const struct slash_command *slash_find(struct str text, struct str *ret_args);

struct slash *slash_new(struct host *h, struct cancel *cancel);
/* Cancels the command that runs and waits for it. Before host_free(); NULL is fine. */
void slash_free(struct slash *s);

/* What a person or a client says: a command is taken up, everything else is host_send(). Takes the
 * content of *input, also on failure. */
int slash_send(struct slash *s, struct agent_input *input, struct err *err);
/* The command /goal with an argument that was read already; takes its content. */
int slash_goal(struct slash *s, struct goal_argument *goal, struct err *err);
/* The same for somebody who wants the answer for himself: fn(arg, …) is called with it, once, on
 * the commands' thread, in the place of host_answer(). err NULL: it was done. */
typedef void (*slash_answer_fn)(void *arg, const struct slash_call *call, const struct err *err);
int slash_ask(struct slash *s, const struct slash_command *command, struct str args,
              slash_answer_fn fn, void *arg, struct err *err);
/* host_finish() behind all commands. */
void slash_finish(struct slash *s, void (*fn)(void *arg), void *arg);

/* How commands went so far: the last failure's code (ERR_NONE: there was none), and whether one has
 * set turns going. */
struct slash_end {
    enum err_code failed;
    bool goes_on;
};
struct slash_end slash_end(struct slash *s);
