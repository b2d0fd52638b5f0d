/*
 * The conversation as the model gets it, and its invariants, in one place.
 *
 *   - user and assistant take turns;
 *   - every tool_use has exactly one tool_result, in the user message behind it, results first and
 *     in the order of the calls;
 *   - what the model said is never changed.
 *
 * Whatever is said on the user's side between two model calls (results, input, reminders) is
 * gathered in a draft, which becomes a message when the next call is made. Breaking a rule from
 * inside is a BUG(); nothing a model sends can. Agent thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"
#include "base/vec.h"
#include "llm/message.h"

struct err;

struct history {
    VEC(struct message *) list; /* the draft is not in it */
    struct message *draft;      /* of the user; NULL: nothing said yet */
    struct strv open;           /* ids of calls that have no result yet, in order */
    uint64_t epoch;             /* llm_request.epoch; made with the first call */
    size_t bytes;               /* of all texts, about: for estimates */
    size_t media;               /* images and documents in results */
};

void history_release(struct history *h);

/* On the user's side. Blocks are copied. A text that follows a text stays a block of its own. */
void history_say(struct history *h, const struct block *block);
void history_say_text(struct history *h, struct str text);
/* The answer to the first open call; any other id is a BUG(). */
void history_answer(struct history *h, const struct block *result);

/* For a model call: the draft becomes the last message. There must be one, and no call open. */
struct message *const *history_messages(struct history *h, size_t *ret_count);

/* What the model said; takes a reference. Its calls are open from here on. */
void history_reply(struct history *h, struct message *reply);
const struct message *history_last_reply(const struct history *h); /* or NULL */

/* Images and documents of the newest results that have some become a line of text: the model or its
 * provider does not take them. How many; 0: no result has any. Not what is still in the draft. */
size_t history_drop_media(struct history *h);

/* The rules above, checked from the outside: ERR_BAD_INPUT names the first one broken. */
int history_check(struct message *const *list, size_t count, struct err *err);
