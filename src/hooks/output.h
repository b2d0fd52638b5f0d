/*
 * What a command has answered: its exit code and what it printed, by the rules of the reference.
 *
 * 0 is fine, and standard output that begins with '{' is read as JSON; 2 objects, for the reason in
 * the JSON or else on standard error; anything else is a failure that blocks nothing, unless there
 * is JSON. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
#include "base/str.h"

struct err;
struct hook_handler;
struct hook_sight;

#define OUTPUT_MAX_BYTES ((size_t)1 << 20) /* of each stream */

enum output_end {
    OUTPUT_EXITED,
    OUTPUT_SIGNALLED,
    OUTPUT_TIMED_OUT,
    OUTPUT_NOT_STARTED, /* err says why */
    OUTPUT_FAILED,      /* err says how; for other than programs */
};

struct output {
    enum output_end end;
    int code;       /* exit code or signal */
    struct str out; /* standard output */
    struct str err; /* standard error */
    bool cut;       /* more than could be kept */
};

enum output_end output_end_of(int how); /* enum proc_how */

/* Whether its first output asks not to wait for it: {"async": true}, alone or on a separate line;
 * *ret_timeout_ms: asyncTimeout, or 0. */
bool output_is_async(struct str out, int64_t *ret_timeout_ms);
struct str
output_behind_async(struct str out); /* the output after that; all of it if there was none */

/* Merges it into the outcome. -1: the handler has failed, which blocks nothing. flags: those of the
 * handler. */
int output_merge(const struct output *o, enum hook_event event, unsigned flags,
                 struct hook_outcome *io, struct err *err);

/* It objects: what that does at this event. For handlers of any type. */
void output_object(enum hook_event event, struct str reason, struct hook_outcome *io);

/* Ends what others see of the handler. Who says no by an exit code has failed, in their words. */
void output_tell(const struct output *o, enum hook_event event, struct hook_sight *sight);
