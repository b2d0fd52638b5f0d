/*
 * Hooks and what must come of them: the rows of hook_conformance.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HOOK_WANTED 8

/* How to make an event happen. In texts ' stands for ". */
struct stimulus {
    const char *event;
    const char *scenario;
    const char *options[6];
    const char *prompt;      /* NULL: "go" */
    const char *before;      /* the prompt of a run before, without hooks; NULL: there is none */
    const char *file;        /* "name\ntext" in the folder; NULL: none */
    const char *told;        /* what the hook reads on standard input, beside the common fields */
    const char *two;         /* the output when it exits with 2 and the text WHY */
    const char *two_not;     /* and what must be absent */
    const char *undisturbed; /* the output without objections */
    int exit, two_exit;      /* of tenax */
};
extern const struct stimulus stimuli[];
extern const size_t stimulus_count;

/* One hook, or several, at an event. */
struct hook_row {
    const char *name;
    const char *event;
    const char *out;   /* standard output; NULL: nothing */
    const char *err;   /* standard error; NULL: nothing */
    int code;          /* of exit */
    const char *body;  /* a shell script in place of these three; its input is in the file told */
    const char *more;  /* more fields of the handler, beginning with a comma; NULL: none */
    const char *hooks; /* the value of "hooks" in place of all that; NULL: one handler */
    const char *settings; /* more settings, beginning with a comma; NULL: none */
    const char *setup;    /* a script that prepares the folder; NULL: none */
    /* In place of the stimulus'. */
    const char *scenario;
    const char *options[6];
    const char *prompt;
    /* Must be present (a '!' before it: absent) in tenax's output, in the hook's input, in the
     * transcript; or in the output of a script afterwards. */
    const char *said[HOOK_WANTED];
    const char *told[HOOK_WANTED];
    const char *kept[HOOK_WANTED];
    const char *after, *shows;
    int exit; /* of tenax */
};
extern const struct hook_row hook_rows[];
extern const size_t hook_row_count;
