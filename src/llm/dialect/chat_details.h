/*
 * reasoning_details: a list of objects that arrives in pieces and must be sent back unchanged.
 *
 * Consecutive pieces with the same type and index form one object: its long text (text, summary or
 * data) is concatenated, and of other members the last non-null value is used.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct err;
struct json;

struct chat_detail {
    struct str type;
    int64_t index;
    const char *text_key; /* NULL = no long text */
    struct buf text;
    VEC(struct chat_member {
        struct str key;
        struct str json;
    })
    members;
};

struct chat_details {
    struct arena arena;
    VEC(struct chat_detail) list;
    size_t bytes;
};

void chat_details_release(struct chat_details *d);
/* Adds one piece; *ret_text is its readable text, valid as long as the piece. ERR_TOO_BIG. */
int chat_details_add(struct chat_details *d, const struct json *piece, struct str *ret_text,
                     struct err *err);
void chat_details_write(const struct chat_details *d, struct buf *out); /* the JSON array */
