/*
 * Where a conversation is written down as it happens.
 *
 * The agent calls these before it goes on: a user's words before the first byte goes to the
 * provider, an answer before a tool with effects starts, a result before the next call. A failure
 * (disk full) ends the turn with its text: nothing is done that could not be remembered.
 */
#pragma once

#include "base/str.h"

struct block;
struct err;
struct llm_call_result;
struct message;

struct journal {
    /* What was said by a person, a client or tenax itself (is_meta). */
    int (*user)(struct journal *self, const struct block *blocks, size_t count, const char *uuid,
                bool is_meta, struct err *err);
    int (*reply)(struct journal *self, const struct llm_call_result *reply, struct err *err);
    int (*result)(struct journal *self, const struct block *result, struct str data,
                  struct err *err);
};
