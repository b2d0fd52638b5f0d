/*
 * Attempts to get out of a confinement, and work that must go on inside.
 *
 * An attempt is shell text or a C function. It runs as a confined job, knows the world (world.h) by
 * its environment, and has to be refused: a shell by a failing last command, a function by an
 * errno. What it did or did not reach is looked at from outside, after each of them, and always all
 * of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* In the job. 0: it got through; else the errno that it was refused with. */
typedef int (*attempt_fn)(void);

enum attempt_flags {
    ATTEMPT_MAY_PASS = 1, /* it may succeed, as long as the world stays as it is */
    ATTEMPT_MAY_END = 2,  /* it may end itself by a signal */
    ATTEMPT_TERMINAL = 4, /* on a private terminal */
    ATTEMPT_PROXY = 8,    /* with the network that leads to the proxy */
    ATTEMPT_OPEN = 16,    /* with the network of the machine */
    ATTEMPT_UNIX = 32,    /* with unix sockets */
    /* With one unix socket that is listed (LISTED), one that is missing, and one that could be made
     * in the workspace. */
    ATTEMPT_LISTED = 64,
    /* With rules for links that an earlier job has left (world_plant()), and no other socket. */
    ATTEMPT_PLANTED = 128,
    ATTEMPT_LANDLOCK = 256, /* held by Landlock alone */
};

struct attempt {
    const char *name;
    const char *script; /* or */
    attempt_fn fn;
    unsigned flags;
    const char *program; /* without which it cannot be tried */
};

extern const struct attempt attempts[];
extern const size_t attempt_count;

/* Ordinary work: has to succeed, in the workspace. */
extern const struct attempt chores[];
extern const size_t chore_count;

/* What a function knows of the world; never NULL. */
const char *attempt_env(const char *name);
