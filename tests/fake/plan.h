/*
 * Plans: the bytes of one response as they leave, when, and what happens to the connection after.
 *
 * A plan is made from a body (struct tape), or from nothing for faults that have none; faults that
 * spoil bytes are applied here, where all bytes are known. The server only plays it.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "tape.h"

struct scenario_fault;

enum plan_end {
    PLAN_KEEP,
    PLAN_CLOSE,
    PLAN_RESET,
    PLAN_SILENT, /* stay open, say nothing more */
};

struct plan {
    struct tape out;
    enum plan_end end;
};

struct plan_head {
    int status;
    const char *type;                   /* content type */
    struct str id_name, id;             /* of the request */
    const struct scenario_fault *fault; /* its headers are added, its spoiling done; may be NULL */
    bool chunked;                       /* else content-length */
    bool keep;                          /* the connection */
};

/* Takes the body's bytes. */
void plan_make(const struct plan_head *head, struct tape *body, struct plan *ret);
void plan_release(struct plan *p);
