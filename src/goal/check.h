/*
 * A check: a command that tenax runs itself and whose exit code decides.
 *
 * It runs in the workspace with the environment tenax was started with (check_environ()), in a
 * plain /bin/sh that reads no startup files: nothing the agent exported, wrote to an rc file or did
 * to its own shell counts. Its standard input is empty. What it starts ends with it: at the time
 * limit, on a cancel, and when the command itself is over. Any thread; waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "goal/origin/trace.h"

struct cancel;
struct err;
struct jw;
struct room;
struct sandbox;

#define CHECK_TIMEOUT_MS ((int64_t)10 * 60 * 1000)
#define CHECK_TAIL ((size_t)4 << 10) /* bytes of the output's end that are kept */
#define CHECK_MAX_COMMAND ((size_t)16 << 10)
#define CHECK_MAX 32 /* checks of a goal */

struct check_spec {
    struct str command;
    const char *dir;
    char *const *environ;    /* as tenax was started */
    int64_t timeout_ms;      /* 0: CHECK_TIMEOUT_MS */
    struct sandbox *sandbox; /* it runs inside; NULL: as the user's own commands do */
    struct room *room;       /* a clean room (origin/room.h); NULL: the workspace itself */
};

struct check_result {
    struct buf command;
    bool passed;
    bool timed_out;
    int code;        /* exit code; 128 + signal */
    int signal;      /* that ended it; 0: none */
    int64_t time_ms; /* wall clock: when it began */
    int64_t wall_ms; /* how long it took */
    size_t bytes;    /* of output, both streams together, in the order in which they came */
    /* Plain text (base/plain.h), from the beginning of a line if there is one; and what the sandbox
     * had to do with a failure. */
    struct buf tail;
    char sha256[SHA256_HEX + 1]; /* of all the output */
    /* In a clean room. */
    struct trace trace;  /* what it did */
    struct strv touched; /* protected files that it changed while it ran */
};
void check_result_release(struct check_result *r);

/* What checks get of an environment: without what makes a shell read files, define functions or
 * change directory elsewhere, and without relative and empty entries of PATH, so that no program of
 * the workspace can stand in for another. PATH is always there. */
void check_environ(char *const *given, struct strv *ret);
/* Entries of that PATH, without "PATH="; lent by the list of check_environ(). */
struct str check_path(const struct strv *env);

/* 0 whatever the command thinks, one that cannot be found included (code 127). A command that the
 * time limit ended has not passed, whatever its exit code. ERR_BAD_INPUT (empty, or a NUL in it),
 * ERR_TOO_BIG, ERR_CANCELLED, ERR_UNSUPPORTED (sandbox.h), or ERR_IO when no shell could be
 * started, the folder being gone included. */
int check_run(const struct check_spec *spec, struct cancel *cancel, struct check_result *ret,
              struct err *err);

/* Why a check is invalid as it is: it names a missing file, or cannot be parsed; also of one that
 * passes, such as `! greb x f`. NULL: it fails because the work is not done. */
const char *check_complaint(const struct check_result *r);
/* For the model and for people: the command, how it ended, and the end of its output. */
void check_explain(const struct check_result *r, struct buf *ret);
/* {"command","passed","exit_code","timed_out","duration_ms","output_sha256","output_bytes","tail"}
 */
void check_write(const struct check_result *r, struct jw *w);
