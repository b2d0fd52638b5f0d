/*
 * Messages: a role and a list of blocks, in the structure of Anthropic's Messages API.
 *
 * A message has its own arena, is built once and then immutable; agents keep references
 * (message_ref). A block may have provider_data: the vendor's own fields (signatures, encrypted
 * reasoning, the name of the field it came in), as one JSON object {"provider","model",…}. It is
 * sent back only to the same provider and model family. Tool input is kept as the raw bytes that
 * the model sent. A block of unknown type is kept whole in `raw` and sent back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct buf;
struct err;
struct json;
struct model;

enum role {
    ROLE_USER,
    ROLE_ASSISTANT,
};

enum block_kind {
    BLOCK_TEXT,
    BLOCK_THINKING,
    BLOCK_REDACTED_THINKING, /* data */
    BLOCK_TOOL_USE,          /* id, name, input */
    BLOCK_TOOL_RESULT,       /* id, content, is_error */
    BLOCK_IMAGE,             /* media_type and data (base64) or url */
    BLOCK_DOCUMENT,          /* as image; title */
    BLOCK_OTHER,             /* raw */
};

struct block {
    enum block_kind kind;
    struct str text;      /* TEXT, THINKING; DOCUMENT: plain text, instead of data */
    struct str signature; /* THINKING */
    struct str data;      /* REDACTED_THINKING; IMAGE and DOCUMENT: base64 */
    struct str id;        /* TOOL_USE: ours ("toolu_…"); TOOL_RESULT: the call it answers */
    struct str name;      /* TOOL_USE; also TOOL_RESULT (some dialects need it) */
    struct str input;     /* TOOL_USE: JSON text of an object, as sent by the model; "" means {} */
    bool input_bad;       /* TOOL_USE: input is not a JSON object; its result must be an error */
    bool is_error;        /* TOOL_RESULT */
    struct str media_type;
    struct str url;
    struct str title;
    struct str raw;           /* OTHER: the whole block; TEXT: its citations array, if any */
    struct str provider_data; /* JSON object or empty */
    struct str entry;         /* uuid of its transcript line; may be empty */
    struct block *content;    /* TOOL_RESULT: text, image and document blocks */
    size_t content_len;
};

struct message {
    enum role role;
    struct block *blocks;
    size_t len;
    size_t cap;
    struct str id;    /* "msg_…" */
    struct str model; /* assistant: the model that answered */
    struct arena arena;
    int refs;
    struct message_wire *wire; /* cached request JSON, see message_wire_get() */
};

struct message *message_new(enum role role, size_t room); /* room: expected number of blocks */
struct message *message_ref(struct message *m);
void message_unref(struct message *m);
void message_unrefp(struct message **m);

/* Adds a block; slices and content are copied to the message's arena. Only before the message is
 * shared. The returned pointer is valid until the next call. */
struct block *message_add(struct message *m, const struct block *block);
struct message *message_user_text(struct str text);
/* A copy for another agent: the cached JSON of a message belongs to one thread. */
struct message *message_copy(const struct message *m);

/* All text blocks joined. */
void message_text(const struct message *m, struct buf *out);
size_t message_count(const struct message *m, enum block_kind kind);
bool message_is_empty(const struct message *m); /* it has neither text nor a call */
/* Size of a result that is only text, which may be replaced; 0 for any other block. */
size_t block_text_bytes(const struct block *b);
/* The text blocks of an interrupted answer. The others cannot be sent back: thinking without its
 * answer, calls without results, and vendor data attached to a text that refers to these. */
struct message *message_texts(const struct message *m);
/* A message with this text as the result of each call. */
struct message *message_answer_calls(const struct message *calls, struct str with);

/* The transcript's JSON: {"role","content"} and for an assistant id, type and model, in Anthropic's
 * form on one line. Blocks may have keys of ours: provider_data; a tool_result's name; and
 * input_text, the exact bytes of an input that is invalid, has several lines or surrounding space.
 * message_parse() accepts both forms of content (text, list); an image or document with parts that
 * struct block cannot represent is kept whole as BLOCK_OTHER. ERR_BAD_INPUT if it is not a message.
 */
void message_write(const struct message *m, struct buf *out);
void block_write(const struct block *b, struct buf *out); /* one block of it */
/* For transcripts, whose lines other programs may send to their provider: writes a block without
 * our keys; writes what these keys would have, as an array with one object per block (false if
 * there is nothing); and adds that to a message that was read, before it is shared. */
void block_write_plain(const struct block *b, struct buf *out);
bool blocks_write_own(const struct block *blocks, size_t count, struct buf *out);
void message_add_own(struct message *m, const struct json *list);
int message_parse(const struct json *v, struct message **ret, struct err *err);
/* Types that a server's unknown block must not have, because it would later be read as a call, a
 * result or user text. */
bool block_type_is_ours(struct str type);

/* Whether these bytes are not valid tool input: not a JSON object, one after a byte order mark, or
 * one nested too deep to be stored (REPLY_MAX_DEPTH). White space only means {}. */
bool block_input_is_bad(struct str input);

/* Writes a call's input for a request, always an object in clean Unicode: the model's bytes, {} if
 * there were none, {"invalid_json":"…"} if they are not an object (servers reject text that does
 * not parse, and some crash). */
void block_input(const struct block *b, struct buf *out);

/* Writes raw JSON from elsewhere for a request: unchanged if it is clean Unicode, otherwise
 * rewritten, and null if it does not parse. */
void block_raw(struct str json, struct buf *out);

/* The block's provider_data if it may be sent to this model (same provider and family), else NULL.
 * block_is_foreign() is true only if there is provider_data that may not be sent. */
const struct json *block_data(const struct block *b, const struct model *model,
                              struct arena *arena);
bool block_is_foreign(const struct block *b, const struct model *model);

/* The JSON of this message for a dialect's requests, made once per key and kept, so that the cost
 * of a request depends only on its new part. The key has dialect, provider and model; the last few
 * keys are kept. The dialect defines the bytes. Only the agent that owns the message may call
 * these. */
struct str message_wire_get(const struct message *m, struct str key); /* empty when absent */
void message_wire_set(struct message *m, struct str key, struct str json);
/* Moves the bytes kept under key from one message to another and appends more, for bytes that cover
 * a whole conversation and grow with it. The cost depends only on the added part. */
void message_wire_move(struct message *from, struct message *to, struct str key, struct str more);
