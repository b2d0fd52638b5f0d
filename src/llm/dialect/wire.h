/*
 * Helpers for writing request bodies.
 *
 * A body consists of pieces: the JSON of each message is made once per dialect, provider and model,
 * and kept in the message (message_wire_get()). A message may depend on an earlier one (a tool
 * result on its call), but that never changes, so the pieces remain valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct block;
struct buf;
struct err;
struct jw;
struct llm_request;
struct llm_tool;

/* No supported provider accepts a larger request. */
#define WIRE_MAX_BYTES ((size_t)32 << 20)

/* The key under which a message keeps its JSON. */
void wire_key(const struct llm_request *req, const char *dialect, struct buf *out);

/* State of the writer of one message. */
struct wire_writer {
    const struct llm_request *req;
    struct arena arena; /* provider_data being read */
    struct jw *w;
};

/* Writes the elements for message number `at` into an open array. */
typedef void (*wire_list_fn)(struct wire_writer *c, size_t at);

/* Those elements without the brackets, kept in the message under `key`: calls `write` only if they
 * are not there yet. */
struct str wire_list(const struct llm_request *req, size_t at, struct str key, wire_list_fn write);

/* The call that the tool result in message number `at` answers, or NULL. */
const struct block *wire_call(const struct llm_request *req, size_t at, struct str id);

/* The vendor's id of a call, if the block came from this provider and family; else empty. */
struct str wire_vendor_id(const struct llm_request *req, const struct block *call,
                          struct arena *arena);

/* Writes a call's name in the form that all servers accept: [A-Za-z0-9_-], 1 to 64 characters. A
 * model may have invented a name, which must not make later requests fail. */
void wire_name(struct jw *w, struct str name);

/* A tool result's text blocks, one per line, and its plain-text documents. */
void wire_result_text(const struct block *result, struct buf *out);

/* That text as a JSON string; an error gets a prefix, for dialects without a field for it. */
void wire_result_str(struct jw *w, const struct block *result, struct str text);

/* True if the image or document has data or a URL and the model accepts it. */
bool wire_takes(const struct llm_request *req, const struct block *b);
/* The text that replaces an unsupported one. */
void wire_left_out(const struct llm_request *req, const struct block *b, struct buf *out);

/* The URL of an image or document, or "data:image/png;base64,…", as a string value. */
void wire_url(struct jw *w, const struct block *b);
/* The file name of a document: its title, or one made from its type. */
struct str wire_file_name(const struct block *b);

/* Writes a schema, ours or from a tool server, in clean form; an empty object schema if it is
 * invalid. */
void wire_schema(struct jw *w, struct str schema);
void wire_tool_schema(struct jw *w, const struct llm_tool *t);

/* These are part of every request and copied if already written. */
void wire_description(struct jw *w, const struct llm_tool *t);
void wire_system(struct jw *w, const struct llm_request *req);
/* Estimated size of everything but the messages, to allocate the buffer at once. */
size_t wire_head_room(const struct llm_request *req);

int64_t wire_max_tokens(const struct llm_request *req); /* 0 = send none */

/* ERR_TOO_BIG if more bytes were added since `start` than a provider accepts. */
int wire_check(const struct buf *out, size_t start, struct err *err);
