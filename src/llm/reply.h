/*
 * A reply in the making: decoders say what arrived, this builds the message and tells the events.
 *
 * It keeps the promises of event.h for every dialect: indices without gaps, blocks closed before the
 * next opens and at the end, ids made where the vendor has none, deltas only between start and stop,
 * limits on everything that can grow. Tool input split at any byte is joined and parsed once, at
 * reply_close(): text that is not a JSON object is kept, and marked by input_bad for the agent to
 * answer.
 *
 * A decoder keeps vendor state only (which index is which call); it never builds blocks itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "llm/event.h"
#include "llm/message.h"

struct err;
struct reply;

#define REPLY_MAX_BLOCKS 4096
#define REPLY_MAX_BYTES ((size_t)64 << 20)

struct reply *reply_new(llm_event_fn fn, void *arg);
void reply_free(struct reply *r);

int reply_start(struct reply *r, struct str id, struct str model, struct err *err); /* idempotent */

/* Opens a block, closing the open one. Of seed: kind, name, data, media_type, raw are used, and text
 * or input as a first delta. A tool_use gets an id of ours; vendor_id goes to provider_data. */
int reply_open(struct reply *r, const struct block *seed, struct str vendor_id, struct err *err);
bool reply_is_open(const struct reply *r, enum block_kind kind);
int reply_delta(struct reply *r, struct str text, struct err *err); /* to the open block */
void reply_signature(struct reply *r, struct str signature);        /* of the open thinking block */
void reply_citation(struct reply *r, struct str json);              /* to the open text block */

/* A member of the open block's provider_data (json is a JSON value); {"provider","model"} are added
 * at the end. Setting a name again replaces it. */
void reply_data(struct reply *r, const char *name, struct str json);
/* The same on the last block that was closed (Gemini's trailing signature). */
void reply_data_last(struct reply *r, const char *name, struct str json);
int reply_close(struct reply *r, struct err *err); /* no-op when nothing is open */

void reply_usage(struct reply *r,
                 const struct llm_usage *usage); /* the figures known so far; replaces */
const struct llm_usage *reply_usage_get(const struct reply *r);
void reply_stop(struct reply *r, enum llm_stop stop, struct str sequence);
bool reply_has_calls(const struct reply *r);
bool reply_is_finished(const struct reply *r);

/* The vendor's terminal event: closes, MESSAGE_DELTA, MESSAGE_STOP. end_turn with calls becomes
 * tool_use. */
int reply_finish(struct reply *r, struct err *err);

/* After reply_finish(): the message is yours. provider names go into provider_data and message. */
struct message *reply_take(struct reply *r);
void reply_origin(struct reply *r, struct str provider,
                  struct str model); /* before the first block */
