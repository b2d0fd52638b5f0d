/*
 * A stage: a temporary folder with home, temporary folder and work folder, perhaps a pretend model,
 * and the real program run on it and watched from outside.
 *
 * The program is started without proc, whose wardens would clean up after it: its leftover
 * processes fall to us, and stage_alone() sees it, with whatever session, parent and environment.
 * One stage at a time; the process must have no other children. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/strv.h"

struct err;

struct stage {
    const char *build; /* the build folder */
    char dir[64];      /* home, tmp, work, record */
    const char *dialect;
    const char *model; /* of the dialect, for --model */
    struct strv env;
    pid_t server; /* 0: none */
    int server_says;
    uid_t uid;    /* who the program runs as, when not as ourselves; 0: as ourselves */
    bool is_bare; /* it has no capabilities, and can have no user namespaces */
    pid_t spared; /* a process that stage_alone() does not count; 0: none */
};

/* dialect: NULL when there will be no server. */
int stage_open(struct stage *s, const char *build, const char *dialect, struct err *err);
/* Empties home, tmp and work. */
int stage_sweep(struct stage *s, struct err *err);
/* Makes the user `uid` the owner of all folders. */
int stage_give(const struct stage *s, struct err *err);
/* Appends what starts a program as the user `uid`, or bare. */
void stage_add_user(const struct stage *s, struct strv *argv);
/* Ends the server, removes the folder. */
void stage_close(struct stage *s);

/* Starts tests/fake on the scenario; requests are recorded in <dir>/record. */
int stage_serve(struct stage *s, const char *scenario, struct err *err);
/* Ends it; what it complains about (steps that were never played) is appended. */
void stage_unserve(struct stage *s, struct buf *ret_complaints);
int stage_record(const struct stage *s, struct buf *ret, struct err *err);

struct stage_result {
    bool is_stuck; /* past the limit: it was killed; err ends with where its threads were */
    int code;      /* of exit, or -signal */
    struct buf out, err;
    int64_t said_us; /* clock_mono_us() when it last wrote to standard output */
    int64_t exit_us; /* when its end was seen */
};
void stage_result_release(struct stage_result *r);

/* Runs tenax with these arguments in <dir>/work until it ends; extra is one more NAME=value for its
 * environment, or NULL. */
int stage_play(const struct stage *s, const char *const *args, const char *extra, int64_t limit_ms,
               struct stage_result *ret, struct err *err);

/* A run that is talked to while it goes on. */
struct stage_child {
    pid_t pid;
    int in, out, err; /* in -1: nothing to read; err -1: goes where out does */
};
int stage_start(const struct stage *s, const char *const *args, const char *extra,
                struct stage_child *ret, struct err *err);
/* What it says now; a pipe that has ended is closed. */
void stage_read(int *fd, struct buf *to);
/* Waits for its end and closes its pipes: the code of exit, or -signal. */
int stage_end(struct stage_child *c);

/* Waits until nothing runs that was started on the stage; past the limit, says who does and kills
 * them: -1. */
int stage_alone(const struct stage *s, int64_t limit_ms, struct err *err);
/* Nothing lies in home and tmp but $TENAX_HOME, and no socket in that. */
int stage_is_tidy(const struct stage *s, struct err *err);
