/*
 * A block of a reply while its pieces arrive (see reply.h, which owns these).
 *
 * Gathers bytes and knows nothing of events, limits or order. Strings in it belong to the reply.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "llm/message.h"

/* Follows JSON text byte by byte, only to know when its outermost bracket has closed. */
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
    bool live;                    /* observers know of it */
    bool is_lane;                 /* made by reply_call(); key is its number */
    bool has_vendor_id;
    bool replaced; /* observers have received another text */
    size_t key;
    struct braces braces;
    char held[3]; /* first half of a surrogate pair, waiting for the second */
    size_t held_len;
};

struct part *part_new(size_t max_bytes);
void part_free(struct part *p);

/* Adds text and lends what the part gained by it: less when it ends in half a character, more when
 * it begins with the other half. part_end() gives up waiting for one. */
struct str part_add(struct part *p, struct str text);
struct str part_end(struct part *p);

/* Whether JSON text nests deeper than max. */
bool part_is_deep(struct str json, size_t max);

/* A JSON value under a name; name is a literal. */
void part_set(struct part *p, const char *name, struct str json);

/* Appends {"provider","model",…}; nothing when there is nothing to say. */
void part_write_data(const struct part *p, struct str provider, struct str model, struct buf *out);
