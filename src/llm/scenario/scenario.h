/*
 * Scenarios: the scripted answers of a fake model, step by step. docs/scenarios.md documents the
 * format.
 *
 * Two players use them: the `scripted` provider (no network) and tests/fake (real sockets, every
 * dialect, faults on demand). A scenario is parsed once and immutable, so threads may share it; a
 * cursor per conversation remembers which steps were played. Errors have the form file:line:column.
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
    PART_TEXT, /* adjacent texts are one block; the same for thinking */
    PART_THINKING,
    PART_CALL,  /* name, text: raw JSON input, unchecked, so that invalid JSON can be tested */
    PART_PAUSE, /* ms between parts */
};

struct scenario_part {
    enum scenario_part_kind kind;
    struct str text;
    struct str name;
    int64_t ms;
};

/* A fault is played instead of the answer or in addition to it. `scripted` sends no bytes;
 * scripted.h says what each fault means there. */
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
    FAULT_SLOW,     /* the correct answer, `at` bytes every `ms`, including the head */
    FAULT_HANG,     /* read the request, never answer */
    FAULT_REFUSE,   /* reset the connection before the request is read */
    FAULT_TLS,      /* `tls`: spoil the handshake; on a plain connection as FAULT_REFUSE */
};

enum fault_tls {
    TLS_HANG,        /* never answer the handshake */
    TLS_CLOSE,       /* close in the middle of it */
    TLS_GARBAGE,     /* answer in plain text */
    TLS_EXPIRED,     /* the certificate has expired */
    TLS_SELF_SIGNED, /* the certificate is self-signed */
    TLS_WRONG_HOST,  /* the certificate is for another host */
};

struct scenario_fault {
    enum fault_kind kind;
    int64_t times; /* attempts it is played on, at least 1 */
    int status;
    int64_t at;
    int64_t ms;
    enum fault_tls tls;
    struct str text;
    struct str type;           /* the vendor's error type or code; empty = default */
    struct str body;           /* STATUS: the whole body */
    const struct str *headers; /* "name: value" */
    size_t header_count;
};

enum scenario_if_kind {
    IF_RESULT, /* the fields of scenario_view */
    IF_PROMPT,
    IF_SYSTEM,
    IF_MODEL,
};

struct scenario_if {
    enum scenario_if_kind kind;
    struct str text; /* substring that must occur */
};

enum scenario_usage {
    USAGE_MADE, /* computed from the lengths, see scenario_usage() */
    USAGE_GIVEN,
    USAGE_NONE, /* the server reports none */
};

struct scenario_step {
    struct str name; /* for messages; may be empty */
    size_t line;
    const struct scenario_if *ifs; /* all must hold */
    size_t if_count;
    bool sticky; /* may be played repeatedly */
    const struct scenario_part *parts;
    size_t part_count;
    const struct scenario_fault *faults; /* one per attempt, in order; then the answer */
    size_t fault_count;
    enum scenario_usage usage_mode;
    struct llm_usage usage;   /* USAGE_GIVEN */
    enum llm_stop stop;       /* STOP_NONE = tool_use if there are calls, else end_turn */
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

/* What conditions can test; independent of the dialect. */
struct scenario_view {
    struct str result; /* the tool results after the last answer, joined by newlines */
    struct str prompt; /* user text since the last answer without a call, joined likewise */
    struct str system;
    struct str model;
    size_t bytes; /* of all text in the conversation: user, assistant, results */
};

struct scenario_cursor {
    uint64_t played[SCENARIO_MAX_STEPS / 64]; /* one bit per step */
    int64_t tries[SCENARIO_MAX_STEPS];        /* faults already played, per step */
    size_t calls;                             /* answers given */
};

/* The first unplayed (or sticky) step whose conditions hold, or NULL. Does not mark it as played:
 * call scenario_played() when the answer (not a fault) is given. */
const struct scenario_step *scenario_next(const struct scenario *s, const struct scenario_cursor *c,
                                          const struct scenario_view *view);
/* The fault for this attempt of the step, or NULL if the answer is next; counts the attempt. */
const struct scenario_fault *scenario_try(const struct scenario *s, struct scenario_cursor *c,
                                          const struct scenario_step *step);
void scenario_played(const struct scenario *s, struct scenario_cursor *c,
                     const struct scenario_step *step);
/* The connection fault that comes next, before the request is known; counts the attempt if `take`.
 * NULL if the next fault is of another kind. */
const struct scenario_fault *scenario_connection(const struct scenario *s,
                                                 struct scenario_cursor *c, bool take);
size_t scenario_left(const struct scenario *s,
                     const struct scenario_cursor *c); /* never played, sticky ones not counted */

/* Splits a part's text into deltas as the step says: gets the next piece from *at on; false at the
 * end. A piece never ends inside a character. */
bool scenario_piece(const struct scenario_step *step, struct str text, size_t *at, struct str *ret);

/* The usage of a step: as given, or computed with one token per four bytes, rounded up. */
void scenario_usage(const struct scenario_step *step, const struct scenario_view *view,
                    struct llm_usage *ret);
enum llm_stop scenario_stop(const struct scenario_step *step);

/* Sets the error for a missing step: "no step of x.scenario answers this call (3 of 4 played); …".
 */
void scenario_explain(const struct scenario *s, const struct scenario_cursor *c,
                      const struct scenario_view *view, struct err *err);
