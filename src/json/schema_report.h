/*
 * The words of a failed schema check; for src/json only.
 *
 * Knows where in the value the check is and collects one sentence per problem, at most 8. One
 * report serves one schema_check().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct json;

#define REPORT_MAX_PROBLEMS 8
#define REPORT_PREVIEW 60 /* bytes of a value or key that are shown */

struct report {
    struct buf path;     /* "edits[2].old_string"; empty at the top */
    struct buf problems; /* joined by "; " */
    unsigned written;
    unsigned found; /* with those that were not written */
    unsigned quiet; /* above 0: count only */
};

#define REPORT_INIT                                                                                \
    {                                                                                              \
        .path = BUF_INIT(8192), .problems = BUF_INIT(8192)                                         \
    }

void report_release(struct report *r);

/* Adds a step to the path; returns what report_leave() takes to go back. */
size_t report_enter_key(struct report *r, struct str key);
size_t report_enter_item(struct report *r, size_t i);
void report_leave(struct report *r, size_t len);

bool report_is_full(const struct report *r);

/* Counts a problem at the path and writes "'path'". The caller appends " must be …" to the buffer
 * returned; NULL means that it is not needed. */
struct buf *report_problem(struct report *r);

void report_add_literal(struct buf *out, const struct json *v); /* as JSON, clipped */
void report_add_not(struct buf *out, const struct json *v);     /* ", not the string \"x\"" */
const char *report_joint(size_t i, size_t n); /* what goes before the i-th of n: "a, b or c" */
