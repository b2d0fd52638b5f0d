/*
 * The conversation as the model gets it, and its invariants, in one place.
 *
 *   - user and assistant take turns;
 *   - every tool_use has exactly one tool_result, in the next user message, results first and in
 *     the order of the calls;
 *   - what the model said is never changed, only left out.
 *
 * Everything on the user's side between two model calls (results, input, reminders) is gathered in
 * a draft, which becomes a message when the next call is made. Breaking a rule from inside is a
 * BUG(); nothing a model sends can. Agent thread.
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

/* A conversation that was remembered (recall.h): takes a reference to each. It must keep the
 * rules; the last message may be the user's, and is added to then. */
void history_restore(struct history *h, struct message *const *list, size_t count);

/* On the user's side. Blocks are copied. A text after a text stays a separate block. */
void history_say(struct history *h, const struct block *block);
void history_say_text(struct history *h, struct str text);
/* The answer to the first open call; any other id is a BUG(). */
void history_answer(struct history *h, const struct block *result);

/* For a model call: the draft becomes the last message. There must be one, and no call open. */
struct message *const *history_messages(struct history *h, size_t *ret_count);

/* What the model said; takes a reference. Its calls are open from here on. */
void history_reply(struct history *h, struct message *reply);
const struct message *history_last_reply(const struct history *h); /* or NULL */

/* ---- Images and documents (history_media.c) ---- */

enum history_media {
    MEDIA_NONE,
    MEDIA_OF_TOOL, /* in results */
    MEDIA_OF_USER,
};

/* The removed parts; slices live as long as the history is not changed again. */
struct history_drop {
    struct str entry;       /* uuid of the line */
    struct str tool_use_id; /* whose result; empty: it was the user's */
    size_t index;           /* in the line's content */
    struct str text;        /* what stands in its place */
};

struct history_drops {
    VEC(struct history_drop) list;
};

/* Whose are those of the newest message that has some? A tool's first. */
enum history_media history_newest_media(const struct history *h);
/* Replaces those of the newest message that has some of that kind by text, because the model or its
 * provider does not take them. Returns how many; 0: there are none. The draft is left alone. */
size_t history_drop_media(struct history *h, enum history_media of, struct history_drops *ret);

size_t history_result_media(const struct block *result); /* how many a result has */
size_t history_count_media(const struct message *m);     /* all results of a message */

/* ---- Changes of earlier messages (history_change.c); each begins a new epoch ---- */

/* The draft becomes a message, if there is one; no call may be open. */
void history_seal(struct history *h);
/* The messages are others now: counts, and the epoch. */
void history_recount(struct history *h);

/* The start of the newest part that has at most max_bytes and can follow another user message: an
 * answer with the results of its calls, or user text that answers no call. User text at the very
 * end always belongs to it: it is the task. list.len: there is no such part; 0: all of it. */
size_t history_tail(struct history *h, size_t max_bytes);
/* Of the messages from there on, and of the draft; an image counts as 6000. */
size_t history_bytes(const struct history *h, size_t first);
size_t message_bytes(const struct message *m);
/* The lines they stand in, each once, in order. */
void history_entries(const struct history *h, size_t first, struct strv *ret);

/* What stands before message `first`, which history_tail() has found, is gone, and these blocks
 * stand in its place. */
void history_compact(struct history *h, const struct block *blocks, size_t count, size_t first);

/* Another conversation stands in the place of this one, draft and all (history_restore()). No call
 * may be open. */
void history_replace(struct history *h, struct message *const *list, size_t count);

/* Replaces a text result of the draft. The epoch stays: the draft has not been sent. */
void history_stub(struct history *h, struct str tool_use_id, struct str text);

/* Takes lines out of the middle. The check adds what must go with them (an answer goes whole, with
 * the results of its calls) and changes nothing. ERR_NOT_FOUND; ERR_BAD_INPUT when the rest would
 * not be a conversation: two answers in a row, or one to nothing. */
int history_snip_check(struct history *h, struct strv *io_entries, struct err *err);
void history_snip(struct history *h, const struct strv *entries);

/* The rules above, checked from the outside: ERR_BAD_INPUT names the first one broken. */
int history_check(struct message *const *list, size_t count, struct err *err);
