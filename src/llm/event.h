/*
 * Stream events of a model's answer, the same for all providers.
 *
 * The sequence is MESSAGE_START; per block BLOCK_START, BLOCK_DELTA*, BLOCK_STOP; then
 * MESSAGE_DELTA (stop reason and final usage) and MESSAGE_STOP. Blocks do not overlap: index counts
 * from 0 without gaps. RETRY and FALLBACK mean that everything since MESSAGE_START is discarded and
 * the call is repeated. WAITING reports progress before the first token. Slices are valid during
 * the callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct block;
struct json;
struct jw;

/* As defined by Anthropic: input is the part that was neither read from nor written to the cache.
 */
struct llm_usage {
    int64_t input;
    int64_t output;
    int64_t cache_read;
    int64_t cache_write;    /* total */
    int64_t cache_write_1h; /* the part with the price of the one-hour cache */
    int64_t thinking;       /* part of output if the provider reports it, else 0 */
    int64_t web_searches;
    bool known; /* the provider reported figures */
};

/* Reads a vendor's figure. False, leaving *to unchanged, if it is missing or not a count. Values
 * above LLM_FIGURE_MAX are clamped, so that sums cannot overflow. */
#define LLM_FIGURE_MAX INT64_C(1000000000000000)
bool llm_figure(const struct json *v, int64_t *to);

/* In Anthropic's JSON form, as used by streams and transcripts. */
void llm_usage_write(struct jw *w, const struct llm_usage *u);
void llm_usage_read(const struct json *v, struct llm_usage *ret); /* v may be NULL or invalid */

enum llm_stop {
    STOP_NONE,
    STOP_END_TURN,
    STOP_TOOL_USE,
    STOP_MAX_TOKENS,
    STOP_SEQUENCE,
    STOP_PAUSE_TURN,
    STOP_REFUSAL,
    STOP_CONTEXT_FULL, /* the window was full in the middle of the answer */
};
const char *llm_stop_name(enum llm_stop stop); /* "end_turn", …, "model_context_window_exceeded" */
enum llm_stop llm_stop_parse(struct str name); /* STOP_NONE for an unknown name */

enum llm_event_kind {
    LLM_MESSAGE_START, /* id, model, usage so far */
    LLM_BLOCK_START,   /* index, block: kind, and id and name of a tool_use */
    LLM_BLOCK_DELTA,   /* index, text: of the text, the thinking or the tool input */
    LLM_BLOCK_STOP,    /* index, block: complete; replaced: its text differs from the deltas */
    LLM_MESSAGE_DELTA, /* stop, usage, text: the provider's reason for a refusal, if any */
    LLM_MESSAGE_STOP,
    LLM_RETRY,    /* attempt (the one to come), max_tries, delay_ms, status, error, overloaded,
                     text: the reason */
    LLM_FALLBACK, /* text: "model A is overloaded; continuing with B" */
    LLM_WAITING,  /* processed, total, cached prompt tokens, if the server reports them */
};

#define LLM_MAX_SEQUENCE 256 /* stored bytes of a stop sequence, including NUL */

struct llm_event {
    enum llm_event_kind kind;
    size_t index;
    const struct block *block;
    bool replaced;
    struct str text;
    struct str id;
    struct str model;
    enum llm_stop stop;
    struct str stop_sequence;
    bool stop_unclear; /* the provider's reason is unknown; stop is a guess */
    struct llm_usage usage;
    int attempt, max_tries;
    int64_t delay_ms;
    int status;
    enum err_code error;
    bool
        overloaded; /* with ERR_RETRY_LATER: the server is overloaded, as opposed to a rate limit */
    int64_t processed, total, cached;
};

/* Returning -1 ends the call with that error. */
typedef int (*llm_event_fn)(const struct llm_event *ev, void *arg, struct err *err);
