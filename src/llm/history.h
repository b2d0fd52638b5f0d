/*
 * The conversation as it is sent to the model, and its invariants:
 *
 *   - user and assistant messages alternate;
 *   - every tool_use has exactly one tool_result, in the next user message, with the results first
 *     and in the order of the calls;
 *   - a message of the model is never changed, only left out.
 *
 * Everything on the user's side between two model calls (results, input, reminders) is collected in
 * a draft, which becomes a message when the next call is made. A caller that breaks an invariant
 * hits BUG(); nothing that a model sends can break one. Agent thread.
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
    VEC(struct message *) list; /* without the draft */
    struct message *draft;      /* the next user message; NULL = still empty */
    struct strv open;           /* ids of calls without a result, in order */
    uint64_t epoch;             /* llm_request.epoch; set at the first call */
    size_t bytes;               /* approximate size of all texts, for estimates */
    size_t media;               /* images and documents in results */
};

void history_release(struct history *h);

/* Sets a loaded conversation (recall.h); takes a reference to each message. It must satisfy the
 * invariants. If the last message is the user's, it becomes the draft. */
void history_restore(struct history *h, struct message *const *list, size_t count);

/* Appends a block to the draft, as a copy. Consecutive texts remain separate blocks. */
void history_say(struct history *h, const struct block *block);
void history_say_text(struct history *h, struct str text);
/* Adds the result of the first open call; any other id is a BUG(). */
void history_answer(struct history *h, const struct block *result);

/* Messages for a model call: the draft becomes the last one. There must be a draft and no open
 * call. */
struct message *const *history_messages(struct history *h, size_t *ret_count);

/* Appends the model's message and takes a reference. Its calls are open from here on. */
void history_reply(struct history *h, struct message *reply);
const struct message *history_last_reply(const struct history *h); /* or NULL */

/* ---- Images and documents (history_media.c) ---- */

enum history_media {
    MEDIA_NONE,
    MEDIA_OF_TOOL, /* in results */
    MEDIA_OF_USER,
};

/* A removed part. The slices are valid until the history changes again. */
struct history_drop {
    struct str entry;       /* uuid of its transcript line */
    struct str tool_use_id; /* the result it was in; empty = user input */
    size_t index;           /* in the line's content */
    struct str text;        /* the text that replaces it */
};

struct history_drops {
    VEC(struct history_drop) list;
};

/* Where the newest images or documents come from. If a message has both kinds: MEDIA_OF_TOOL. */
enum history_media history_newest_media(const struct history *h);
/* Replaces the media of this kind in the newest message that has any by text, because the model or
 * its provider rejects them. Does not touch the draft. Returns how many were replaced. */
size_t history_drop_media(struct history *h, enum history_media of, struct history_drops *ret);

size_t history_result_media(const struct block *result); /* number in one result */
size_t history_count_media(const struct message *m);     /* number in all results of a message */

/* ---- Changes of earlier messages (history_change.c); each begins a new epoch ---- */

/* Turns the draft, if any, into a message. No call may be open. */
void history_seal(struct history *h);
/* Recomputes the counts and starts a new epoch after the messages were replaced. */
void history_recount(struct history *h);

/* The start of the newest part that has at most max_bytes and may follow another user message. It
 * begins with an answer and the results of its calls, or with user text that answers no call. User
 * text at the very end always belongs to the part, since it is the current task. Returns list.len
 * if there is no such part, 0 if it is the whole history. */
size_t history_tail(struct history *h, size_t max_bytes);
/* Size of the messages from `first` on and of the draft; an image counts as 6000. */
size_t history_bytes(const struct history *h, size_t first);
size_t message_bytes(const struct message *m);
/* Whether one of the messages from `first` on calls this tool with an input that contains the text.
 */
bool history_has_call(const struct history *h, size_t first, const char *tool, struct str input);
/* The uuids of their transcript lines, each once, in order. */
void history_entries(const struct history *h, size_t first, struct strv *ret);

/* Replaces the messages before `first`, which must come from history_tail(), by these blocks. */
void history_compact(struct history *h, const struct block *blocks, size_t count, size_t first);

/* Replaces the whole conversation including the draft, as history_restore(). No call may be open.
 */
void history_replace(struct history *h, struct message *const *list, size_t count);

/* Replaces a text result in the draft. The draft has not been sent, so the epoch stays. */
void history_stub(struct history *h, struct str tool_use_id, struct str text);

/* Removes lines from the middle. history_snip_check() changes nothing: it adds the lines that must
 * be removed as well (an answer goes as a whole, with the results of its calls). ERR_NOT_FOUND, or
 * ERR_BAD_INPUT if the rest would not be a valid conversation. */
int history_snip_check(struct history *h, struct strv *io_entries, struct err *err);
void history_snip(struct history *h, const struct strv *entries);

/* Checks the invariants of any message list; ERR_BAD_INPUT names the first one that is broken. */
int history_check(struct message *const *list, size_t count, struct err *err);
