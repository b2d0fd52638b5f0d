/*
 * A session without a screen: what `tenax -p` and `tenax goal` share. Main thread.
 */
#pragma once

#include <stdbool.h>

struct cmd;
struct err;
struct goal_argument;

/* Beside the options. */
struct print_order {
    /* The session works for a goal: its way of ending decides on the exit code. */
    bool for_goal;
    struct goal_argument *goal; /* what to set; taken. NULL: the session's own goes on */
    const char *resume;         /* the session whose it is; NULL: as the options say */
};

/* The exit code. */
/* A session that could not begin: why, on standard error and, with --output-format json or
 * stream-json, as the result that the caller waits for. */
void print_failed(struct cmd *c, const struct err *err);

int print_run(struct cmd *c, const struct print_order *order);
