/*
 * A session's goal, looked at and changed from outside. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "goal/argument/argument.h"

struct cmd;

struct goal_act {
    struct cmd *cmd;
    bool is_list;                  /* all goals of this folder; else: */
    bool is_bare;                  /* no arguments: point to the help when there is no goal */
    struct buf text;               /* as it would be typed after /goal */
    struct goal_argument argument; /* the same, read */
};

/* The exit code. */
int goal_act(struct goal_act *a);
/* `tenax goal verify` and `tenax goal proof` (goal_proof.c). The exit code: 0 reproduced, 1 not. */
int goal_proof_run(struct cmd *c);
