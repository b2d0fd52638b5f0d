/*
 * The points of the loop, as hooks see them: one row for each event, and nothing about events
 * anywhere else in this room. An event that comes later is a row here and a name in agent/hook.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
#include "hooks/handler.h"

enum point_flags {
    POINT_MATCHES = 1,  /* there is something that a matcher looks at */
    POINT_CALL = 2,     /* about a tool call: "if" makes sense */
    POINT_PROMPTS = 4,  /* a model may be asked */
    POINT_LISTENS = 8,  /* plain words on standard output are for the model */
    POINT_IDLE = 16,    /* named, but this version never comes there */
    POINT_GUARDED = 32, /* "onFailure": "block" makes sense */
    POINT_SHELL = 64,   /* CLAUDE_ENV_FILE: lines for the commands that come */
    POINT_LOCAL = 128,  /* only commands: nothing is sent anywhere */
};

/* What exit code 2 does. */
enum point_block {
    BLOCK_NOTHING,
    BLOCK_DENIES,     /* the reason goes where that of a decision goes */
    BLOCK_TELLS_USER, /* too late to block anything: the user is notified */
};

/* What "ok": false of a model does. */
enum point_judged {
    JUDGED_NOTHING,
    JUDGED_DENIES,      /* the reason is what the model hears next */
    JUDGED_ENDS,        /* the turn ends */
    JUDGED_ENDS_UNLESS, /* the turn ends, unless continueOnBlock: then the model hears it */
};

struct point {
    unsigned flags;
    enum point_block block;
    enum point_judged judged;
    int64_t timeout_ms; /* of commands and functions; 0: the usual */
};

const struct point *point_of(enum hook_event event);
int64_t point_timeout_ms(enum hook_event event, const struct handler_spec *h);
/* An event of the reference that has no row yet; false: unknown. */
bool point_comes_later(struct str name);
/* The known event nearest to a mistyped one; empty: none is near. */
struct str point_nearest(struct str name);
