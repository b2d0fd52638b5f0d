/*
 * A session's goal while no process works on it: read and changed by the same rules (goal_do()),
 * without an agent. Waits are watched once it is resumed. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "cmd/place.h"

struct cancel;
struct conf;
struct err;
struct goal;

struct goal_outside_spec {
    const char *session, *folder; /* the session's */
    const char *dir;              /* of its workspace */
    const struct conf *conf;
    struct cancel *cancel;
    bool holds; /* no other process works on the session: what its transcript says counts, too */
    bool runs;  /* a command of the goal: confined as in a session */
};

struct goal_outside {
    struct goal *goal;
    struct cmd_place place; /* of what it runs */
    struct buf terms, used; /* lines of the transcript */
};

/* The spec's strings outlive it. */
int goal_outside_open(struct goal_outside *o, const struct goal_outside_spec *spec,
                      struct err *err);
void goal_outside_close(struct goal_outside *o); /* one that was never opened is fine */
