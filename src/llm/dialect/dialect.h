/*
 * A dialect: how to write requests to one family of servers and how to read their answers.
 *
 * One file per dialect (provider_anthropic.c, …), one row in dialect.c. A dialect is pure: no
 * network, clock or environment, so that it can be fuzzed and replayed. To add one: write the file,
 * add the row, add its decoder to tests/fuzz and its replies to tests/fake; the dialects test fails
 * while one of these is missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"
#include "llm/effort.h"
#include "llm/fault.h"

struct buf;
struct err;
struct message;
struct model;
struct reply;

enum thinking {
    THINKING_DEFAULT, /* adaptive if the model supports it, else a budget, else none */
    THINKING_OFF,
    THINKING_BUDGET, /* thinking_budget tokens */
};

enum cache_ttl {
    CACHE_5M,
    CACHE_1H,
    CACHE_OFF,
};

enum tool_choice {
    CHOICE_AUTO,
    CHOICE_NONE,
    CHOICE_ANY,
    CHOICE_NAMED,
};

struct llm_tool {
    struct str name;
    struct str description;
    struct str schema; /* JSON text */
    bool is_clean;     /* it is an object in the form of jw (JW_CLEAN) and is sent unchanged */
    struct str description_json; /* the description as JSON by jw; empty = not cached */
};

/* Lets the provider search the web while it answers. */
struct llm_search {
    const struct strv *allowed; /* domains; NULL = all. Only one of the two lists may be set. */
    const struct strv *blocked;
    int max_uses; /* 0 = the provider's default */
};

struct llm_request {
    const struct model *model;
    struct str system;      /* the constant part */
    struct str system_json; /* as JSON by jw (JW_CLEAN); empty = not cached */
    const struct llm_tool *tools;
    size_t tool_count;
    const struct llm_search *search; /* NULL = no search; only if the dialect supports it */
    struct message *const
        *messages; /* in any order of roles; the dialect merges or splits as needed */
    size_t message_count;
    /* Two requests with the same epoch share all messages but the last of the earlier one, so a
     * dialect may cache more than single messages. 0 = no such guarantee. */
    uint64_t epoch;
    struct str tail;    /* text after the history and the last cache breakpoint; may be empty */
    int64_t max_tokens; /* 0: the model's default */
    enum effort effort;
    enum thinking thinking;
    int64_t thinking_budget;
    bool show_thinking; /* request readable summaries */
    enum cache_ttl cache;
    enum tool_choice choice;
    struct str choice_name;
    bool no_parallel_calls;
    struct str output_schema; /* JSON schema for the answer; may be empty */
    struct str user_id;       /* opaque; empty = not sent */
    bool no_stream;
    bool no_stream_options; /* set after a server refused them */
};

struct decoder;

struct dialect {
    const char *name; /* "anthropic", "openai-chat", "openai-responses", "gemini" */
    /* Supports llm_request.search. Results come in the vendor's form: citations of text blocks
     * (block.raw) and blocks of other kinds. */
    bool searches;
    bool filters_blocked; /* supports search.blocked; all but Gemini support search.allowed */

    /* Path and query after the base URL, e.g. "/v1/messages". */
    void (*path)(const struct llm_request *req, struct buf *out);
    /* Headers besides content-type; key may be empty. bearer: key is a token, not an API key. */
    void (*headers)(const struct llm_request *req, struct str key, bool bearer, struct strv *out);
    int (*body)(const struct llm_request *req, struct buf *out, struct err *err);

    struct decoder *(*decoder_new)(const struct llm_request *req, struct reply *reply);
    /* Handles one server-sent event. ERR_PROTOCOL if it is invalid; an error event of the server
     * fills *fault and returns -1 with its code. */
    int (*event)(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                 struct err *err);
    /* The body has ended. Finishes the reply if the dialect has no terminal event; -1 with
     * ERR_PROTOCOL if the stream was cut. */
    int (*end)(struct decoder *d, struct llm_fault *fault, struct err *err);
    /* True if the answer has its stop reason and only figures may follow; end() would succeed. NULL
     * if the dialect has a terminal event. */
    bool (*is_said)(const struct decoder *d);
    /* Reads a whole answer that was not streamed. */
    int (*whole)(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err);
    void (*decoder_free)(struct decoder *d);

    /* Reads an answer with status >= 400. retry_after and retry_after_ms are header values. */
    void (*fault)(int status, struct str body, struct str retry_after, struct str retry_after_ms,
                  struct str should_retry, struct llm_fault *ret);
};

extern const struct dialect dialect_anthropic;
extern const struct dialect dialect_openai_chat;
extern const struct dialect dialect_openai_responses;
extern const struct dialect dialect_gemini;

const struct dialect *dialect_find(struct str name); /* NULL when unknown */
const struct dialect *const *dialect_table(void);    /* NULL-terminated */
