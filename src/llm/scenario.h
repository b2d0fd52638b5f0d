/*
 * Scenarios: what a pretend model answers, step by step. docs/scenarios.md is the format's manual.
 *
 * Two players share them: the `scripted` provider (no network) and tests/fake (real sockets, every
 * dialect, faults on demand). A scenario is parsed once; a cursor per conversation remembers which
 * steps were played. Errors carry file:line:column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "llm/event.h"
#include "llm/message.h"

struct err;

enum scenario_part_kind {
    PART_TEXT,
    PART_THINKING,
    PART_CALL,  /* name, text: raw JSON input, not checked: bad JSON is a test case */
    PART_PAUSE, /* ms between the parts */
};

struct scenario_part {
    enum scenario_part_kind kind;
    struct str text;
    struct str name;
    int64_t ms;
};

/* A fault plays instead of, or on top of, the answer. Meaningless to `scripted` but for
 * FAULT_ERROR, which fails the call with its text. */
enum fault_kind {
    FAULT_NONE,
    FAULT_STATUS,    /* answer with this status and body */
    FAULT_CUT,       /* close after `at` bytes of the response body */
    FAULT_RESET,     /* same, by RST */
    FAULT_STALL,     /* stop sending after `at` bytes, keep the connection */
    FAULT_GARBAGE,   /* `text` inserted into the stream after `at` bytes */
    FAULT_ERROR,     /* the dialect's error event after the parts so far */
    FAULT_HTML,      /* 200, text/html */
    FAULT_TYPE,      /* the right body with content type `text` */
    FAULT_REDIRECT,  /* `status` to `text` */
    FAULT_GZIP,      /* content-encoding: gzip */
    FAULT_HUGE,      /* one line of `at` bytes */
    FAULT_EMPTY,     /* 200 and no body */
    FAULT_REFUSE,    /* close before the request is read */
    FAULT_HANG_TLS,  /* accept, then never answer the handshake */
    FAULT_HANG_HEAD, /* read the request, never answer */
};

struct scenario_fault {
    enum fault_kind kind;
    int status;
    int64_t at;
    struct str text;
    struct strv_lit {
        const struct str *ptr;
        size_t len;
    } headers; /* "name: value" */
};

struct scenario_step {
    struct str name; /* for messages; may be empty */
    /* Conditions, all must hold: */
    struct str if_result; /* the last tool result contains this */
    struct str if_prompt; /* the last user text contains this */
    bool sticky;          /* may be played again and again */
    const struct scenario_part *parts;
    size_t part_count;
    const struct scenario_fault *faults; /* one per try of this step, in order; then the answer */
    size_t fault_count;
    struct llm_usage usage; /* known is false: made from the lengths */
    enum llm_stop stop;     /* STOP_NONE: tool_use with calls, else end_turn */
    size_t chunk;           /* bytes per delta; 0: whole words */
    int64_t pace_ms;        /* between deltas */
};

struct scenario;

int scenario_parse(struct str text, const char *file, struct scenario **ret, struct err *err);
int scenario_load(const char *file, struct scenario **ret, struct err *err);
void scenario_free(struct scenario *s);
size_t scenario_len(const struct scenario *s);

struct scenario_cursor {
    uint64_t played[16]; /* one bit per step; 1024 steps at most */
    int tries[1024];     /* faults already played of each step */
};

/* The first unplayed (or sticky) step whose conditions hold; NULL when there is none. Does not mark
 * it: scenario_played() does, when the answer (not a fault) was given. */
const struct scenario_step *scenario_next(const struct scenario *s, const struct scenario_cursor *c,
                                          struct str last_result, struct str last_prompt);
/* The fault this try of the step plays, or NULL when the answer is due; counts the try. */
const struct scenario_fault *scenario_try(const struct scenario *s, struct scenario_cursor *c,
                                          const struct scenario_step *step);
void scenario_played(const struct scenario *s, struct scenario_cursor *c,
                     const struct scenario_step *step);

/* Cuts a part's text into deltas as the step says: gives the next piece from *at on, false at the end. */
bool scenario_piece(const struct scenario_step *step, struct str text, size_t *at, struct str *ret);
