/*
 * What the writers of request bodies share.
 *
 * A body is made of pieces: each message has its JSON made once per dialect, provider and model,
 * and kept in the message (message_wire_get()). What one message needs to know of another, namely
 * which call a tool result answers, never changes either, so that the pieces stay good.
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

/* No provider here takes a larger request. */
#define WIRE_MAX_BYTES ((size_t)32 << 20)

/* The name under which a message keeps its JSON. */
void wire_key(const struct llm_request *req, const char *dialect, struct buf *out);

/* State of the writer of one message. */
struct wire_writer {
    const struct llm_request *req;
    struct arena arena; /* provider_data being read */
    struct jw *w;
};

/* Writes the elements that message number `at` becomes, into an array that is open. */
typedef void (*wire_list_fn)(struct wire_writer *c, size_t at);

/* Those elements without the brackets around them, kept in the message under `key`: `write` runs
 * only when they are not there yet. */
struct str wire_list(const struct llm_request *req, size_t at, struct str key, wire_list_fn write);

/* The call that the tool result in message number `at` answers; NULL when there is none. */
const struct block *wire_call(const struct llm_request *req, size_t at, struct str id);

/* What the vendor called a call, when the block came from this provider and family; else empty. */
struct str wire_vendor_id(const struct llm_request *req, const struct block *call,
                          struct arena *arena);

/* The name of a call as every server takes it: [A-Za-z0-9_-], 1 to 64. A model may have called what
 * does not exist, and its words must not make all later requests fail. */
void wire_name(struct jw *w, struct str name);

/* A tool result's text blocks, one a line, and plain-text documents with them. */
void wire_result_text(const struct block *result, struct buf *out);

/* That text as a string value; an error is marked first, where a dialect has no field for it. */
void wire_result_str(struct jw *w, const struct block *result, struct str text);

/* An image or document that can be sent as it is: has data or a URL, and the model takes it. */
bool wire_takes(const struct llm_request *req, const struct block *b);
/* The text in place of one that is not supported. */
void wire_left_out(const struct llm_request *req, const struct block *b, struct buf *out);

/* The URL of an image or document, or "data:image/png;base64,…", as a string value. */
void wire_url(struct jw *w, const struct block *b);
/* The file name of a document: its title, or one made from its type. */
struct str wire_file_name(const struct block *b);

/* A schema of ours or of a foreign tool server: written clean, an empty object schema when it does
 * not parse. */
void wire_schema(struct jw *w, struct str schema);
void wire_tool_schema(struct jw *w, const struct llm_tool *t);

/* Sent with every request: copied where it was written before. */
void wire_description(struct jw *w, const struct llm_tool *t);
void wire_system(struct jw *w, const struct llm_request *req);
/* About as much as all but the messages takes: had at once, it does not grow by and by. */
size_t wire_head_room(const struct llm_request *req);

int64_t wire_max_tokens(const struct llm_request *req); /* 0: say nothing */

/* ERR_TOO_BIG when the bytes added since `start` are more than a provider takes. */
int wire_check(const struct buf *out, size_t start, struct err *err);
