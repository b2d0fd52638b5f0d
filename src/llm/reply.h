/*
 * A reply in the making: decoders say what arrived, this builds the message and tells the events.
 *
 * It keeps the promises of event.h for every dialect: indices without gaps, blocks closed before
 * the next opens and at the end, ids made where the vendor has none, deltas only between start and
 * stop, limits on everything that can grow. Tool input split at any byte is joined and parsed once,
 * when its block closes: text that is not a JSON object is kept, and marked by input_bad for the
 * agent to answer. A surrogate pair cut in two by the vendor is one character again.
 *
 * A decoder keeps vendor state only (which index is which call); it never builds blocks itself.
 * There are two ways to say what arrived:
 *
 *   Vendors that name the start and the end of a block (Anthropic, Responses) or send it whole
 *   (Gemini): reply_open(), reply_delta()…, reply_close(). Opening one closes the open one.
 *
 *   Vendors that only send pieces (chat): reply_say() for text and thinking, reply_call() and then
 *   reply_delta() for tool calls, in whatever order they come. Pieces of parallel calls may be
 *   interleaved at any byte: the first call streams, the others are held back until the braces of
 *   the ones before them are balanced (or the message ends), and then follow as blocks of their
 * own. Text that comes between waits in the same queue. So a call whose arguments are complete
 * closes as soon as anything follows it, and its tool may start while the rest streams.
 *
 * The block last opened or spoken to is the current one.
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
/* Deeper JSON could be kept, but neither written into a transcript nor sent back. A tool's input
 * that nests deeper is bad input; anywhere else it fails the answer with ERR_TOO_BIG. */
#define REPLY_MAX_DEPTH 256

struct reply *reply_new(llm_event_fn fn, void *arg); /* fn may be NULL */
void reply_free(struct reply *r);

/* The provider and model asked; provider_data and message.model name them. Before the first
 * block. */
void reply_origin(struct reply *r, struct str provider, struct str model);

/* What the vendor calls the message and the model; either may be empty. The id must be this
 * answer's alone, for transcripts tell answers apart by it: decoders of vendors with servers that
 * call all of them the same leave it out, and one is made. Only the first call counts, and it is
 * made for decoders that leave it out. */
int reply_start(struct reply *r, struct str id, struct str model, struct err *err);
bool reply_is_started(const struct reply *r);

/* Prompt tokens read so far, of how many, and how many of them were cached. */
int reply_waiting(struct reply *r, int64_t processed, int64_t total, int64_t cached,
                  struct err *err);

/* Opens a block, closing all that is open. Of seed: kind, name, data, media_type, raw are used, and
 * text or input as a first delta. A tool_use keeps the id that the Messages API gave it; else it
 * gets one of ours, and vendor_id goes to provider_data as "id". */
int reply_open(struct reply *r, const struct block *seed, struct str vendor_id, struct err *err);
bool reply_is_open(const struct reply *r, enum block_kind kind); /* the current block is of kind */

/* Text (or thinking) of a vendor without starts and stops: goes to the current block if it is of
 * that kind, else to a new one. */
int reply_say(struct reply *r, enum block_kind kind, struct str text, struct err *err);

/* Makes the call with the decoder's number `key` the current block, opening it when the key is new.
 * name and vendor_id may be empty or repeated; the first that is not empty counts. A block starts
 * when its name is known. */
int reply_call(struct reply *r, size_t key, struct str name, struct str vendor_id, struct err *err);

/* The arguments of that call are balanced: more of them would belong to another one. */
bool reply_call_is_complete(const struct reply *r, size_t key);

/* To the current block. ERR_PROTOCOL when there is none, or when it is a call that was complete and
 * more than white space comes. */
int reply_delta(struct reply *r, struct str text, struct err *err);
/* The current block is text, and this is its final form: deltas already emitted are not taken back,
 * but the message has this. */
int reply_replace(struct reply *r, struct str text, struct err *err);
/* The whole input of the current call as raw JSON of the vendor's document. Bytes in it that are no
 * UTF-8 become U+FFFD, as they do in every string. */
int reply_input(struct reply *r, struct str json, struct err *err);
/* What the current block has of text, thinking or input so far; lent until the next call. */
struct str reply_so_far(const struct reply *r);
void reply_signature(struct reply *r, struct str signature); /* of a thinking block; replaces */
void reply_citation(struct reply *r, struct str json);       /* one more, of a text block */
void reply_raw(struct reply *r, struct str json); /* the whole of an OTHER block; replaces */

/* A member of the current block's provider_data (json is a JSON value); {"provider","model"} are
 * added at the end. Setting a name again replaces it. Without a current block: no-op. */
void reply_data(struct reply *r, const char *name, struct str json);
/* The same on the last block that was closed (Gemini's trailing signature). */
void reply_data_last(struct reply *r, const char *name, struct str json);
int reply_close(struct reply *r, struct err *err); /* all that is open; no-op when nothing is */

/* The figures known so far; replaces. */
void reply_usage(struct reply *r, const struct llm_usage *usage);
void reply_stop(struct reply *r, enum llm_stop stop, struct str sequence);
void reply_stop_unclear(struct reply *r);             /* the stop reason is a guess */
void reply_explain(struct reply *r, struct str text); /* why it refused; replaces */
bool reply_has_calls(const struct reply *r);
bool reply_is_finished(const struct reply *r);

/* The vendor's terminal event: closes, MESSAGE_DELTA, MESSAGE_STOP. No stop reason counts as
 * end_turn, and end_turn with calls becomes tool_use. No-op when finished; everything else that
 * comes later is refused with ERR_PROTOCOL. */
int reply_finish(struct reply *r, struct err *err);

/* Stops the reply: a text in progress ends here, and its BLOCK_STOP is emitted; other open blocks
 * are dropped. The message so far is yours, perhaps with no block in it; NULL: it was taken before,
 * or the listener has failed. */
struct message *reply_cut(struct reply *r, struct err *err);

/* After reply_finish(): the message is yours. NULL before, and the second time. */
struct message *reply_take(struct reply *r);
