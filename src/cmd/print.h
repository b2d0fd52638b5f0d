/*
 * A session without a screen: what `tenax -p` and `tenax goal` share. Main thread.
 */
#pragma once

#include <stdbool.h>

struct cmd;
struct goal_argument;

/* Beside the options. */
struct print_order {
    /* The session works for a goal: its way of ending decides on the exit code. */
    bool for_goal;
    struct goal_argument *goal; /* what to set; taken. NULL: the session's own goes on */
    const char *resume;         /* the session whose it is; NULL: as the options say */
};

/* The exit code. */
int print_run(struct cmd *c, const struct print_order *order);
