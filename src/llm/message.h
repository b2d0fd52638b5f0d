/*
 * Messages: a role and a list of blocks, shaped as Anthropic's Messages API shapes them.
 *
 * A message lives in its own arena, is built once and never changed after; agents keep references
 * (message_ref). Every block may carry provider_data: the vendor's own fields (signatures,
 * encrypted reasoning, the field name it arrived under), as one JSON object {"provider","model",…}.
 * It goes back only to the same provider and model family. Tool input is kept as the raw bytes the
 * model sent. An unknown block type is kept whole in `raw` and echoed.
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
    struct str text;      /* TEXT, THINKING; DOCUMENT: its plain text, instead of data */
    struct str signature; /* THINKING */
    struct str data;      /* REDACTED_THINKING; IMAGE and DOCUMENT: base64 */
    struct str id;        /* TOOL_USE: ours ("toolu_…"); TOOL_RESULT: the call it answers */
    struct str name;      /* TOOL_USE; also TOOL_RESULT (some dialects need it) */
    struct str input; /* TOOL_USE: JSON text of an object, as the model sent it; "" counts as {} */
    bool input_bad;   /* TOOL_USE: input is not a JSON object; it gets an error for a result */
    bool is_error;    /* TOOL_RESULT */
    struct str media_type;
    struct str url;
    struct str title;
    struct str raw;           /* OTHER: the whole block; TEXT: its citations array, if any */
    struct str provider_data; /* JSON object or empty */
    struct str entry;         /* uuid of the transcript's line it stands in; empty: in none */
    struct block *content;    /* TOOL_RESULT: text, image and document blocks */
    size_t content_len;
};

struct message {
    enum role role;
    struct block *blocks;
    size_t len;
    size_t cap;
    struct str id;    /* "msg_…" */
    struct str model; /* assistant: what answered */
    struct arena arena;
    int refs;
    struct message_wire *wire; /* cached request JSON, see message_wire_get() */
};

struct message *message_new(enum role role, size_t room); /* for so many blocks; it grows */
struct message *message_ref(struct message *m);
void message_unref(struct message *m);
void message_unrefp(struct message **m);

/* Adds a block; slices and content are copied into the message's arena. Only before it is shared.
 * The address holds until the next one is added. */
struct block *message_add(struct message *m, const struct block *block);
struct message *message_user_text(struct str text);
/* For another agent: what each remembers with its messages belongs to its own thread. */
struct message *message_copy(const struct message *m);

/* All text blocks joined. */
void message_text(const struct message *m, struct buf *out);
size_t message_count(const struct message *m, enum block_kind kind);

/* The transcript's JSON: {"role","content"} and, of an assistant, id, type and model, in
 * Anthropic's shape and on one line. Blocks may have keys of ours: provider_data; a tool_result's
 * name; and input_text, the exact bytes of an input that is bad, spans lines or has space around
 * it. message_parse() reads both shapes of content (text, list); an image or document with parts
 * that have no place in struct block is kept whole as BLOCK_OTHER. ERR_BAD_INPUT if it is not a
 * message. */
void message_write(const struct message *m, struct buf *out);
void block_write(const struct block *b, struct buf *out); /* one block of it */
/* For transcripts, which other programs send to their provider: a block without keys of ours; what
 * these would say, as an array with an object for each block (false: they say nothing); and that
 * put back into a message that was read, before it is shared. */
void block_write_plain(const struct block *b, struct buf *out);
bool blocks_write_own(const struct block *blocks, size_t count, struct buf *out);
void message_add_own(struct message *m, const struct json *list);
int message_parse(const struct json *v, struct message **ret, struct err *err);
/* Types that a server's unknown block must not have: read again, it would be taken for a call, a
 * result or a user's text. */
bool block_type_is_ours(struct str type);

/* Whether these bytes are not an input for a tool: not a JSON object, one after a byte order mark,
 * or one nested too deep to be stored (REPLY_MAX_DEPTH). White space alone counts as {}. */
bool block_input_is_bad(struct str input);

/* What stands for a call's input in a request, always an object in clean Unicode: the model's own
 * bytes, {} when there were none, {"invalid_json":"…"} when they were no object (servers refuse,
 * and some crash on, text that does not parse). */
void block_input(const struct block *b, struct buf *out);

/* Raw JSON from elsewhere for a request: the same bytes, rewritten only where they are not clean
 * Unicode; null when they do not parse then. */
void block_raw(struct str json, struct buf *out);

/* The block's provider_data, if it may go to this model: same provider, same family. NULL
 * otherwise. block_is_foreign() is true only when there is provider_data and it may not. */
const struct json *block_data(const struct block *b, const struct model *model,
                              struct arena *arena);
bool block_is_foreign(const struct block *b, const struct model *model);

/* A dialect's request JSON of this message, made once per key and kept: so that the cost of a
 * request depends on its new part. The key names dialect, provider and model; the last few keys are
 * kept. The dialect defines the bytes. Only the agent that owns the message calls these. */
struct str message_wire_get(const struct message *m, struct str key); /* empty when absent */
void message_wire_set(struct message *m, struct str key, struct str json);
/* Moves the bytes kept under key from one message to the other, and appends more: for bytes that
 * cover a whole conversation and grow with it. The cost depends on the added part. */
void message_wire_move(struct message *from, struct message *to, struct str key, struct str more);
