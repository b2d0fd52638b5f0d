/*
 * A reply under construction: decoders report what arrived; this builds the message and emits
 * events.
 *
 * It guarantees the rules of event.h for every dialect: indices without gaps, blocks closed before
 * the next one opens and at the end, ids generated if the vendor has none, deltas only between
 * start and stop, limits on everything that can grow. Tool input split at any byte is joined and
 * parsed once, when its block closes; text that is not a JSON object is kept and marked by
 * input_bad, so that the agent can report it. A surrogate pair split by the vendor becomes one
 * character.
 *
 * A decoder keeps only vendor state (which index is which call); it never builds blocks itself.
 * There are two ways to report what arrived:
 *
 *   Vendors that mark the start and end of a block (Anthropic, Responses) or send it whole
 * (Gemini): reply_open(), reply_delta()…, reply_close(). Opening a block closes the open one.
 *
 *   Vendors that only send pieces (chat): reply_say() for text and thinking, reply_call() and then
 *   reply_delta() for tool calls, in any order. Pieces of parallel calls may be interleaved at any
 *   byte: the first call is streamed; the others wait until the braces of the calls before them are
 *   balanced (or the message ends), and then follow as blocks of their own. Text in between waits
 * in the same queue. So a call with complete arguments closes as soon as anything follows it, and
 * its tool may start while the rest is still streaming.
 *
 * The block that was opened or added to last is the current one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llm/event.h"
#include "llm/message.h"

struct err;
struct reply;

#define REPLY_MAX_BLOCKS 4096
#define REPLY_MAX_BYTES ((size_t)64 << 20)
/* Deeper JSON could be kept, but neither written to a transcript nor sent back. Tool input that is
 * nested deeper is marked as bad; anything else fails with ERR_TOO_BIG. */
#define REPLY_MAX_DEPTH 256

struct reply *reply_new(llm_event_fn fn, void *arg); /* fn may be NULL */
void reply_free(struct reply *r);

/* Sets the provider and model of the request, for provider_data and message.model. Call it before
 * the first block. */
void reply_origin(struct reply *r, struct str provider, struct str model);

/* Sets the vendor's id of the message and the model; either may be empty. The id must be unique,
 * since transcripts distinguish answers by it: decoders for servers that reuse one id omit it, and
 * an id is generated. Only the first call counts; it is made implicitly if a decoder omits it. */
int reply_start(struct reply *r, struct str id, struct str model, struct err *err);
bool reply_is_started(const struct reply *r);

/* Prompt tokens read so far, their total, and how many of them were cached. */
int reply_waiting(struct reply *r, int64_t processed, int64_t total, int64_t cached,
                  struct err *err);

/* Opens a block and closes all open ones. Used fields of seed: kind, name, data, media_type, raw,
 * and text or input as a first delta. A tool_use keeps the id of the Messages API; otherwise it
 * gets one of ours, and vendor_id goes to provider_data as "id". */
int reply_open(struct reply *r, const struct block *seed, struct str vendor_id, struct err *err);
bool reply_is_open(const struct reply *r, enum block_kind kind); /* the current block is of kind */

/* Text (or thinking) of a vendor without start and stop: added to the current block if it is of
 * that kind, else to a new one. */
int reply_say(struct reply *r, enum block_kind kind, struct str text, struct err *err);

/* Makes the call with the decoder's number `key` the current block; opens it if the key is new.
 * name and vendor_id may be empty or repeated; the first non-empty value counts. The block starts
 * once its name is known. */
int reply_call(struct reply *r, size_t key, struct str name, struct str vendor_id, struct err *err);

/* The arguments of that call are balanced: more would belong to another call. */
bool reply_call_is_complete(const struct reply *r, size_t key);

/* Adds to the current block. ERR_PROTOCOL if there is none, or if it is a complete call and text is
 * more than white space. */
int reply_delta(struct reply *r, struct str text, struct err *err);
/* Sets the final text of the current text block: deltas already emitted stay, but the message has
 * this. */
int reply_replace(struct reply *r, struct str text, struct err *err);
/* Sets the whole input of the current call to raw JSON from the vendor's document. Invalid UTF-8
 * becomes U+FFFD, as in every string. */
int reply_input(struct reply *r, struct str json, struct err *err);
/* Text, thinking or input of the current block so far; valid until the next call. */
struct str reply_so_far(const struct reply *r);
void reply_signature(struct reply *r, struct str signature); /* of a thinking block; replaces */
void reply_citation(struct reply *r, struct str json);       /* one more, of a text block */
void reply_raw(struct reply *r, struct str json); /* the whole of an OTHER block; replaces */

/* Sets a member of the current block's provider_data (json is a JSON value), replacing an earlier
 * value; {"provider","model"} are added at the end. Does nothing without a current block. */
void reply_data(struct reply *r, const char *name, struct str json);
/* The same for the block that was closed last (Gemini's trailing signature). */
void reply_data_last(struct reply *r, const char *name, struct str json);
int reply_close(struct reply *r, struct err *err); /* closes everything that is open */

/* The figures known so far; replaces. */
void reply_usage(struct reply *r, const struct llm_usage *usage);
void reply_stop(struct reply *r, enum llm_stop stop, struct str sequence);
void reply_stop_unclear(struct reply *r);             /* the stop reason is a guess */
void reply_explain(struct reply *r, struct str text); /* reason of a refusal; replaces */
bool reply_has_calls(const struct reply *r);
bool reply_is_finished(const struct reply *r);

/* The vendor's terminal event: closes, MESSAGE_DELTA, MESSAGE_STOP. A missing stop reason counts as
 * end_turn, and end_turn with calls becomes tool_use. Does nothing if already finished; all later
 * events fail with ERR_PROTOCOL. */
int reply_finish(struct reply *r, struct err *err);

/* Stops the reply: text in progress ends here and gets its BLOCK_STOP; other open blocks are
 * dropped. Returns the message so far, possibly without blocks, which the caller owns; NULL if it
 * was already taken or the listener has failed. */
struct message *reply_cut(struct reply *r, struct err *err);

/* Returns the message after reply_finish(); the caller owns it. NULL before that and the second
 * time. */
struct message *reply_take(struct reply *r);
