/*
 * Rows of runaways: an agent that never finishes, and how its run must end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    MET = 0,
    FAILED = 1,
    BLOCKED = 10,
    LIMITED = 11,
    NO_QUOTA = 12,
    PAUSED = 13,
};

#define SESSION "11111111-2222-4333-8444-555555555555" /* of every run */

/* The task, and the format of the answer. */
enum form {
    FORM_JSON, /* tenax goal, --output-format json */
    FORM_TEXT,
    FORM_STREAM,
    FORM_PROMPT, /* -p "/goal …", json */
};

struct row {
    const char *name;
    const char *agent;
    const char *judge;       /* NULL: the checks alone decide */
    const char *options[10]; /* of the run */
    const char *settings;    /* more of them, JSON members */
    const char *before;      /* a script that prepares the folder */
    const char *clock;       /* TENAX_TEST_CLOCK=… */
    int code;
    const char *why;           /* named by the reason for the end */
    int most_steps;            /* calls of the agent's model */
    int most_judged;           /* calls of the judge's */
    int least_waits;           /* it has waited so often, */
    int64_t least_waited_ms;   /* so long */
    int least_retries, stalls; /* stalls: prompts of change, and the end */
    enum form form;
    int most_seconds; /* of the run, on the real clock; 0: MOST_SECONDS */
    /* A second run in the same session, and how that ends; NULL: none. */
    const char *then[6];
    enum form then_form;
    int then_code;
};

extern const struct row runaway_rows[];
extern const size_t runaway_count;
