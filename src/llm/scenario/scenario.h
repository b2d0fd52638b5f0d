/*
 * Scenarios: what a pretend model answers, step by step. docs/scenarios.md is the format's manual.
 *
 * Two players share them: the `scripted` provider (no network) and tests/fake (real sockets, every
 * dialect, faults on demand). A scenario is parsed once and never changes, so threads may share it;
 * a cursor per conversation remembers which steps were played. Errors carry file:line:column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "llm/event.h"

struct err;

#define SCENARIO_MAX_BYTES ((size_t)16 << 20)
#define SCENARIO_MAX_STEPS 1024
#define SCENARIO_MAX_ITEMS 4096 /* parts, faults, conditions or headers in one place */
#define SCENARIO_MAX_MS ((int64_t)3600 * 1000)
#define SCENARIO_MAX_COUNT ((int64_t)1 << 40) /* bytes and tokens */

enum scenario_part_kind {
    PART_TEXT, /* parts of text that follow each other are one block; so with thinking */
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

/* A fault plays instead of the answer, or on top of it. `scripted` has no bytes to spoil: see
 * scripted.h for what it makes of them. */
enum fault_kind {
    FAULT_STATUS,   /* `status`, with `body`, or else the dialect's error of `type` saying `text` */
    FAULT_CUT,      /* close after `at` bytes of the response body */
    FAULT_RESET,    /* same, by RST */
    FAULT_STALL,    /* stop sending after `at` bytes, keep the connection */
    FAULT_GARBAGE,  /* `text` inserted into the body after `at` bytes */
    FAULT_ERROR,    /* the dialect's error event after the first `at` parts */
    FAULT_HTML,     /* 200, text/html, `text` */
    FAULT_TYPE,     /* the right body with content type `text` */
    FAULT_REDIRECT, /* `status` to `text` */
    FAULT_GZIP,     /* content-encoding: gzip */
    FAULT_HUGE,     /* one line of `at` bytes */
    FAULT_EMPTY,    /* 200 and no body */
    FAULT_SLOW,     /* the right answer, `at` bytes every `ms`, head included */
    FAULT_HANG,     /* read the request, never answer */
    FAULT_REFUSE,   /* reset the connection before the request is read */
    FAULT_TLS,      /* `tls`: spoil the handshake; on a plain connection as FAULT_REFUSE */
};

enum fault_tls {
    TLS_HANG,        /* never answer the handshake */
    TLS_CLOSE,       /* close in the middle of it */
    TLS_GARBAGE,     /* answer in plain text */
    TLS_EXPIRED,     /* the certificate was good last year */
    TLS_SELF_SIGNED, /* the certificate vouches for itself */
    TLS_WRONG_HOST,  /* the certificate is another host's */
};

struct scenario_fault {
    enum fault_kind kind;
    int64_t times; /* tries it plays on, 1 or more */
    int status;
    int64_t at;
    int64_t ms;
    enum fault_tls tls;
    struct str text;
    struct str type;           /* the vendor's error type or code; empty: the usual one */
    struct str body;           /* STATUS: the whole body, as it is */
    const struct str *headers; /* "name: value" */
    size_t header_count;
};

enum scenario_if_kind {
    IF_RESULT, /* what scenario_view calls these */
    IF_PROMPT,
    IF_SYSTEM,
    IF_MODEL,
};

struct scenario_if {
    enum scenario_if_kind kind;
    struct str text; /* must be found in it */
};

enum scenario_usage {
    USAGE_MADE, /* from the lengths, see scenario_usage() */
    USAGE_GIVEN,
    USAGE_NONE, /* the server does not tell */
};

struct scenario_step {
    struct str name; /* for messages; may be empty */
    size_t line;
    const struct scenario_if *ifs; /* all must hold */
    size_t if_count;
    bool sticky; /* may be played again and again */
    const struct scenario_part *parts;
    size_t part_count;
    const struct scenario_fault *faults; /* played in order, one a try; then the answer */
    size_t fault_count;
    enum scenario_usage usage_mode;
    struct llm_usage usage;   /* USAGE_GIVEN */
    enum llm_stop stop;       /* STOP_NONE: tool_use with calls, else end_turn */
    struct str stop_sequence; /* with STOP_SEQUENCE */
    size_t chunk;             /* bytes per delta; 0: whole words */
    int64_t pace_ms;          /* between deltas */
};

struct scenario {
    struct arena arena;
    struct str file;
    const struct scenario_step *steps;
    size_t len;
};

/* scenario_parse.c */
int scenario_parse(struct str text, const char *file, struct scenario **ret, struct err *err);
int scenario_load(const char *file, struct scenario **ret, struct err *err);
void scenario_free(struct scenario *s);
void scenario_freep(struct scenario **s);

/* What a step may look at, the same through every dialect. */
struct scenario_view {
    struct str result; /* the tool results after the last answer, joined by newlines */
    struct str prompt; /* all the user said since the last answer that called no tool, likewise */
    struct str system;
    struct str model;
    size_t bytes; /* of all text in the conversation: user, assistant, results */
};

struct scenario_cursor {
    uint64_t played[SCENARIO_MAX_STEPS / 64]; /* one bit per step */
    int64_t tries[SCENARIO_MAX_STEPS];        /* faults already played of each step */
    size_t calls;                             /* answers given */
};

/* The first unplayed (or sticky) step whose conditions hold; NULL when there is none. Does not mark
 * it: scenario_played() does, when the answer (not a fault) is given. */
const struct scenario_step *scenario_next(const struct scenario *s, const struct scenario_cursor *c,
                                          const struct scenario_view *view);
/* The fault this try of the step plays, or NULL when the answer is due; counts the try. */
const struct scenario_fault *scenario_try(const struct scenario *s, struct scenario_cursor *c,
                                          const struct scenario_step *step);
void scenario_played(const struct scenario *s, struct scenario_cursor *c,
                     const struct scenario_step *step);
/* The connection fault that is due next, whatever the next request may say; counts the try when it
 * is taken. NULL when the next fault is of another kind. */
const struct scenario_fault *scenario_connection(const struct scenario *s,
                                                 struct scenario_cursor *c, bool take);
size_t scenario_left(const struct scenario *s,
                     const struct scenario_cursor *c); /* never played, sticky ones not counted */

/* Cuts a part's text into deltas as the step says: gives the next piece from *at on, false at the
 * end. A piece never ends inside a character. */
bool scenario_piece(const struct scenario_step *step, struct str text, size_t *at, struct str *ret);

/* The figures of a step: as given, or made: a token is four bytes, begun ones count. */
void scenario_usage(const struct scenario_step *step, const struct scenario_view *view,
                    struct llm_usage *ret);
enum llm_stop scenario_stop(const struct scenario_step *step);

/* "no step of x.scenario answers this call (3 of 4 played); it said …", for errors about a missing
 * step. */
void scenario_explain(const struct scenario *s, const struct scenario_cursor *c,
                      const struct scenario_view *view, struct err *err);
