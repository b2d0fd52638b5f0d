/*
 * Properties of hook events: one row per event, the only place in this folder that depends on the
 * event. A new event is a row here and a name in agent/hook.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
#include "hooks/handler.h"

enum point_flags {
    POINT_MATCHES = 1,  /* has a subject for matchers */
    POINT_CALL = 2,     /* is about a tool call: "if" is allowed */
    POINT_PROMPTS = 4,  /* a model may be asked */
    POINT_LISTENS = 8,  /* plain text on standard output is for the model */
    POINT_GUARDED = 16, /* "onFailure": "block" is allowed */
    POINT_SHELL = 32,   /* CLAUDE_ENV_FILE: lines for later commands */
    POINT_LOCAL = 64,   /* commands only: nothing is sent anywhere */
};

/* Effect of exit code 2. */
enum point_block {
    BLOCK_NOTHING,
    BLOCK_DENIES,     /* like a denial with a reason */
    BLOCK_TELLS_USER, /* too late to block: the user is notified */
};

/* Effect of a model's "ok": false. */
enum point_judged {
    JUDGED_NOTHING,
    JUDGED_DENIES,      /* the model gets the reason */
    JUDGED_ENDS,        /* the turn ends */
    JUDGED_ENDS_UNLESS, /* the turn ends, unless continueOnBlock: then the model gets the reason */
};

struct point {
    unsigned flags;
    enum point_block block;
    enum point_judged judged;
    int64_t timeout_ms; /* of commands and functions; 0 = default */
};

const struct point *point_of(enum hook_event event);
int64_t point_timeout_ms(enum hook_event event, const struct handler_spec *h);
/* Whether it is an event of the reference without a row here. */
bool point_comes_later(struct str name);
/* The known event nearest to a mistyped one; empty if none is near. */
struct str point_nearest(struct str name);
