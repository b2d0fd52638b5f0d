/*
 * A check: a command that tenax runs itself and whose exit code decides.
 *
 * It runs in the workspace with the environment tenax was started with, in a plain /bin/sh that
 * reads no startup files: nothing the agent exported, wrote to an rc file or did to its own shell
 * counts. Relative entries of PATH are left out, so that no program of the workspace can stand in
 * for another. Any thread; waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"

struct cancel;
struct confinement;
struct err;
struct json;
struct jw;

#define CHECK_TIMEOUT_MS ((int64_t)10 * 60 * 1000)
#define CHECK_TAIL ((size_t)4 << 10) /* bytes of the output's end that are kept */
#define CHECK_MAX_COMMAND ((size_t)16 << 10)
#define CHECK_MAX 32 /* checks of a goal */

struct check_spec {
    struct str command;
    const char *dir;
    char *const *environ;              /* as tenax was started */
    int64_t timeout_ms;                /* 0: CHECK_TIMEOUT_MS */
    const struct confinement *confine; /* NULL: none */
};

struct check_result {
    struct buf command;
    bool passed;
    bool timed_out;
    int code;   /* exit code; 128 + signal */
    int signal; /* that ended it; 0: none */
    int64_t time_ms, wall_ms;
    size_t bytes; /* of output, both streams together */
    struct buf tail;
    char sha256[SHA256_HEX + 1]; /* of all the output */
};
void check_result_release(struct check_result *r);

/* 0 whatever the command thinks, one that cannot be found included (code 127); ERR_CANCELLED, or
 * ERR_IO when no shell could be started, the folder being gone included. */
int check_run(const struct check_spec *spec, struct cancel *cancel, struct check_result *ret,
              struct err *err);

/* For the model and for people: the command, how it ended, and the end of its output. */
void check_explain(const struct check_result *r, struct buf *ret);
/* {"command","passed","exit_code","timed_out","duration_ms","output_sha256","output_bytes","tail"}
 */
void check_write(const struct check_result *r, struct jw *w);
