/*
 * Interprets the exit code and output of a command by the rules of the reference.
 *
 * 0 means success, and standard output that begins with '{' is parsed as JSON; 2 objects, with the
 * reason from the JSON or else from standard error; other codes are failures that do not block,
 * unless there is JSON. Pure; any thread.
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
    OUTPUT_FAILED,      /* see err; for handlers other than commands */
};

struct output {
    enum output_end end;
    int code;       /* exit code or signal */
    struct str out; /* standard output */
    struct str err; /* standard error */
    bool cut;       /* more than the limit */
};

enum output_end output_end_of(int how); /* enum proc_how */

/* Whether the first output is {"async": true}, alone or on its own line; *ret_timeout_ms:
 * asyncTimeout, or 0. */
bool output_is_async(struct str out, int64_t *ret_timeout_ms);
struct str
/* the output after that line; all of it if there is no such line */
output_behind_async(struct str out);

/* Merges the output into the outcome. -1 if the handler has failed, which does not block. flags:
 * the handler's. */
int output_merge(const struct output *o, enum hook_event event, unsigned flags,
                 struct hook_outcome *io, struct err *err);

/* Applies an objection for this event. For handlers of any type. */
void output_object(enum hook_event event, struct str reason, struct hook_outcome *io);

/* Reports the end to observers. An objection by exit code is shown as a failure there. */
void output_tell(const struct output *o, enum hook_event event, struct hook_sight *sight);
