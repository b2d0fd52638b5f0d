/*
 * A dialect: how to ask one family of servers, and how to read their answers.
 *
 * One file per dialect (provider_anthropic.c, …), one row in dialect.c. A dialect is pure: bytes
 * in, bytes out, no network, no clock, no environment; so that it can be fuzzed and replayed. To
 * add one: write the file, add the row, add its decoder to tests/fuzz and its replies to
 * tests/fake; the dialects test fails while one of these is missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/strv.h"

struct arena;
struct buf;
struct err;
struct json;
struct message;
struct model;
struct reply;

enum effort {
    EFFORT_UNSET,
    EFFORT_NONE,
    EFFORT_MINIMAL,
    EFFORT_LOW,
    EFFORT_MEDIUM,
    EFFORT_HIGH,
    EFFORT_XHIGH,
    EFFORT_MAX,
};
const char *effort_name(enum effort e);
bool effort_parse(struct str s, enum effort *ret);
/* The level of the set (model.efforts) nearest to what is wanted, lower first; UNSET when the set
 * is empty or nothing is wanted. */
enum effort effort_fit(unsigned set, enum effort want);

enum thinking {
    THINKING_DEFAULT, /* adaptive where the model has it, else a budget, else nothing */
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
};

struct llm_request {
    const struct model *model;
    struct str system; /* the stable part */
    const struct llm_tool *tools;
    size_t tool_count;
    struct message *const *messages; /* roles as they come; a dialect merges or splits as it must */
    size_t message_count;
    struct str tail; /* stands after the history, behind the last cache breakpoint; may be empty */
    int64_t max_tokens; /* 0: the model's default */
    enum effort effort;
    enum thinking thinking;
    int64_t thinking_budget;
    bool show_thinking; /* ask for readable summaries */
    enum cache_ttl cache;
    enum tool_choice choice;
    struct str choice_name;
    bool no_parallel_calls;
    struct str output_schema; /* JSON schema for the answer; empty: none */
    struct str user_id;       /* opaque; empty: not sent */
    bool no_stream;
    bool no_stream_options; /* set after a server refused them */
};

/* What a failed answer means, filled by the dialect from status, headers and body. */
struct llm_fault {
    enum err_code code; /* RETRY_LATER (429, overloaded), NETWORK (try again), AUTH, QUOTA,
                           CONTEXT_FULL, TOO_BIG, NOT_FOUND, BAD_INPUT, UNSUPPORTED, DENIED */
    bool retry;
    bool overloaded;          /* 529 and its relatives: counts towards the fallback model */
    int64_t wait_ms;          /* asked for by the server, or -1 */
    bool no_tools;            /* this model cannot be given tools */
    bool drop_stream_options; /* the same request may work without stream_options */
    char text[400];           /* what the server said, cleaned to one line */
    char request_id[80];
};

struct decoder;

struct dialect {
    const char *name; /* "anthropic", "openai-chat", "openai-responses", "gemini" */

    /* Path and query behind the base URL, e.g. "/v1/messages". */
    void (*path)(const struct llm_request *req, struct buf *out);
    /* Headers beside content-type; key may be empty. bearer: it is a token, not an API key. */
    void (*headers)(const struct llm_request *req, struct str key, bool bearer, struct strv *out);
    int (*body)(const struct llm_request *req, struct buf *out, struct err *err);

    struct decoder *(*decoder_new)(const struct llm_request *req, struct reply *reply);
    /* One server-sent event. ERR_PROTOCOL for what cannot be; an error event of the server fills
     * *fault and returns -1 with its code. */
    int (*event)(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                 struct err *err);
    /* The body ended. Finishes the reply where the dialect has no terminal event; -1 with
     * ERR_PROTOCOL when the stream was cut. */
    int (*end)(struct decoder *d, struct llm_fault *fault, struct err *err);
    /* A whole, unstreamed answer. */
    int (*whole)(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err);
    void (*decoder_free)(struct decoder *d);

    /* An answer with status >= 400. retry_after and retry_after_ms are header values. */
    void (*fault)(int status, struct str body, struct str retry_after, struct str retry_after_ms,
                  struct str should_retry, struct llm_fault *ret);
};

extern const struct dialect dialect_anthropic;
extern const struct dialect dialect_openai_chat;
extern const struct dialect dialect_openai_responses;
extern const struct dialect dialect_gemini;

const struct dialect *dialect_find(struct str name); /* NULL when unknown */
const struct dialect *const *dialect_table(void);    /* NULL-terminated */

/* Shared by the dialects (fault.c). */

/* Overflow texts of all known servers, any case. */
bool fault_is_context_text(struct str text);
void fault_text(struct llm_fault *f, struct str text); /* cleaned to one line, clipped */

/* The object that holds the error in a body of whatever shape: {"error":{…}}, [{"error":{…}}],
 * flat; NULL when the body is something else. fault_message() is its text, empty when there is
 * none. */
const struct json *fault_find(struct str body, struct arena *arena);
struct str fault_message(const struct json *error);

/* The plain reading of status, headers and body; dialects refine it. Starts from a
 * zeroed struct. */
void fault_from_status(struct llm_fault *f, int status, struct str body, struct str retry_after,
                       struct str retry_after_ms);
