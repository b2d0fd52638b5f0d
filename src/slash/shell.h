/*
 * Shell commands that the user, or a command file of theirs, runs.
 *
 * Input after "!" is the user's own act: no rules, no sandbox, as in their shell. The text of a
 * command file may come from others: the permission rules decide without asking, and it is confined
 * like the model's commands. The commands' thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct conf;
struct err;
struct sandbox;
struct workspace;

#define SHELL_MAX_OUTPUT ((size_t)256 << 10) /* of each stream; the rest is left out and told */
#define SHELL_TIMEOUT_MS ((int64_t)600 * 1000)

/* What it has said last, some lines of both streams. */
typedef void (*shell_tail_fn)(void *arg, struct str tail);

struct shell_result {
    shell_tail_fn tell; /* set beforehand: called now and then while it runs; NULL: not needed */
    void *tell_arg;
    struct buf out, err;
    int code; /* exit code, or 128 + signal */
    bool timed_out;
};
#define SHELL_RESULT_INIT                                                                          \
    {                                                                                              \
        .out = BUF_INIT(SHELL_MAX_OUTPUT + 200), .err = BUF_INIT(SHELL_MAX_OUTPUT + 200)           \
    }
void shell_result_release(struct shell_result *r);

/* by_user: they have typed it, and may steer the session by it (proc/descent.h). Secrets and escape
 * sequences are taken out of what it says. ERR_CANCELLED: *ret has what it said by then. */
struct shell_place {
    struct workspace *workspace;
    struct sandbox *sandbox; /* NULL: it is not confined */
    const struct conf *conf;
};
int shell_run(const struct shell_place *at, struct str command, bool by_user, struct cancel *cancel,
              struct shell_result *ret, struct err *err);
