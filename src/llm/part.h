/*
 * A block of a reply while it is being received (used by reply.c).
 *
 * Collects bytes; events, limits and order are the reply's task. Strings in it belong to the reply.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "llm/message.h"

/* Tracks JSON text byte by byte to detect when its outermost bracket is closed. */
struct braces {
    size_t depth;
    bool in_string;
    bool escaped;
    bool done;
};

struct part_member {
    const char *name;
    struct str json;
};

struct part {
    struct block block; /* text, input and provider_data are set when it closes */
    struct buf text;    /* of the text, the thinking or the input, so far */
    struct buf citations;
    VEC(struct part_member) data; /* for provider_data */
    bool live;                    /* its start was reported to observers */
    bool is_lane;                 /* made by reply_call(); key is its number */
    bool has_vendor_id;
    bool replaced; /* the final text differs from the deltas sent to observers */
    size_t key;
    struct braces braces;
    char held[3]; /* first half of a surrogate pair, waiting for the second */
    size_t held_len;
};

struct part *part_new(size_t max_bytes);
void part_free(struct part *p);

/* Adds text and returns what the part gained: less if it ends inside a character, more if it begins
 * with the rest of one. part_end() stops waiting for a rest. */
struct str part_add(struct part *p, struct str text);
struct str part_end(struct part *p);

/* Whether the JSON text is nested deeper than max. */
bool part_is_deep(struct str json, size_t max);

/* A JSON value under a name; name is a literal. */
void part_set(struct part *p, const char *name, struct str json);

/* Appends {"provider","model",…}; nothing if there are no other members. */
void part_write_data(const struct part *p, struct str provider, struct str model, struct buf *out);
