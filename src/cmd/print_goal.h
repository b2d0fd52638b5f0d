/*
 * What only a run that works for a goal needs: its argument, what must be said before it may begin,
 * and how it ends. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "goal/argument/argument.h"

struct args;
struct cmd;
struct conf;
struct host;
struct print_order;
struct slash;

struct print_goal {
    bool is_on;
    bool has_argument;             /* else the session's goal goes on */
    struct goal_argument argument; /* empty once it has begun */
    bool works;                    /* the run works for it; else it only looks or changes */
    const struct args *args;
    enum err_code failed; /* why it could not begin */
};

void print_goal_init(struct print_goal *g, const struct args *args,
                     const struct print_order *order);
void print_goal_release(struct print_goal *g);

/* Those of the command line, over the existing ones. ERR_BAD_INPUT. */
int print_goal_options(const struct args *args, struct goal_options *o, struct err *err);
/* The same for a goal that goes on: what can be given to it on top. */
int print_goal_check_changes(const struct args *args, struct err *err);
/* Whether the prompt is "/goal …"; g->is_on then. Options of goals without one are an error. */
int print_goal_read(struct print_goal *g, struct cmd *c, struct str prompt, struct err *err);
/* Whether it may begin in this session: permissions, the folder. */
int print_goal_check(struct print_goal *g, const struct conf *conf, struct host *host,
                     struct err *err);
int print_goal_begin(struct print_goal *g, struct host *host, struct slash *slash, struct err *err);
/* Says how it ended (as_text), writes --report; the exit code. code: what it would be without a
 * goal. */
int print_goal_end(struct print_goal *g, struct cmd *c, struct host *host, struct slash *slash,
                   bool as_text, int code);
/* The same for a run that was given a separate prompt, or none: an incomplete goal of the session
 * decides the exit code. */
int print_goal_left(struct cmd *c, struct host *host, bool as_text, int code);
