/*
 * What a run said on standard output as stream-json: its calls, their results, and how it ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct err;
struct json;

struct said_call {
    struct str id, name;
    const struct json *input;
    size_t retries; /* tries of the model that had failed before, in all */
    size_t results; /* how many it got */
    bool is_error;
    bool has_image;
    struct str text; /* of its result */
};

/* Everything lives in the arena and in the output. */
struct said {
    struct arena arena;
    VEC(struct said_call) calls;
    const struct json *init;   /* the first system/init line */
    const struct json *result; /* the last line of that type; NULL: none came */
    bool is_last;              /* nothing follows it */
    size_t retries;
};

/* Fails when a line is no JSON object, when a result belongs to no call or comes out of order, and
 * when a call has not exactly one result. */
int said_read(struct said *s, struct str out, struct err *err);
void said_release(struct said *s);
