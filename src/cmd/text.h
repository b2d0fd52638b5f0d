/*
 * A session as plain text, on standard output and standard error.
 */
#pragma once

#include <stdbool.h>

struct cmd;
struct err;
struct host;
struct slash;

struct text_spec {
    struct cmd *cmd;
    struct host *host;
    struct slash *slash;
    bool for_goal;                            /* how it ended is the goal's to say */
    int (*begin)(void *arg, struct err *err); /* prints the first output */
    void (*begun)(void *arg);                 /* it is on its way */
    void *arg;                                /* of both */
};

/* Begins, and shows what comes of it. The exit code. */
int text_run(const struct text_spec *spec);
