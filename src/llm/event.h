/*
 * What a model says while it says it: one vocabulary for every provider.
 *
 * MESSAGE_START, then per block BLOCK_START, BLOCK_DELTA*, BLOCK_STOP, then MESSAGE_DELTA (stop
 * reason and final usage) and MESSAGE_STOP. Blocks do not overlap: index counts from 0 without
 * gaps. RETRY and FALLBACK say that everything since MESSAGE_START is void and the call is made
 * again. WAITING reports progress before the first token. Slices are lent for the duration of the
 * callback.
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

/* Anthropic's meaning everywhere: input is the part neither read from nor written to the cache. */
struct llm_usage {
    int64_t input;
    int64_t output;
    int64_t cache_read;
    int64_t cache_write;    /* all of it */
    int64_t cache_write_1h; /* the part of it with the one-hour price */
    int64_t thinking;       /* part of output, where the provider tells; else 0 */
    int64_t web_searches;
    bool known; /* the provider sent figures at all */
};

/* A vendor's figure. False, and *to keeps its value, if it is missing or not a count. An absurdly
 * large figure counts as LLM_FIGURE_MAX, so that a few of them add up without overflow. */
#define LLM_FIGURE_MAX INT64_C(1000000000000000)
bool llm_figure(const struct json *v, int64_t *to);

/* In Anthropic's shape, as streams and transcripts have it. */
void llm_usage_write(struct jw *w, const struct llm_usage *u);
void llm_usage_read(const struct json *v, struct llm_usage *ret); /* NULL and odd ones are fine */

enum llm_stop {
    STOP_NONE,
    STOP_END_TURN,
    STOP_TOOL_USE,
    STOP_MAX_TOKENS,
    STOP_SEQUENCE,
    STOP_PAUSE_TURN,
    STOP_REFUSAL,
    STOP_CONTEXT_FULL, /* the window was full while it spoke */
};
const char *llm_stop_name(enum llm_stop stop); /* "end_turn", …, "model_context_window_exceeded" */
enum llm_stop llm_stop_parse(struct str name); /* STOP_NONE for an unknown name */

enum llm_event_kind {
    LLM_MESSAGE_START, /* id, model, usage so far */
    LLM_BLOCK_START,   /* index, block: kind, and id and name of a tool_use */
    LLM_BLOCK_DELTA,   /* index, text: of the text, the thinking or the tool input */
    LLM_BLOCK_STOP,    /* index, block: complete; replaced: its text is not what the deltas said */
    LLM_MESSAGE_DELTA, /* stop, usage, text: why it refused, where the provider says */
    LLM_MESSAGE_STOP,
    LLM_RETRY,    /* attempt (the one to come), max_tries, delay_ms, status, error, overloaded,
                     text: the reason */
    LLM_FALLBACK, /* text: "model A is overloaded; going on with B" */
    LLM_WAITING,  /* processed, total, cached prompt tokens, where a server reports them */
};

#define LLM_MAX_SEQUENCE 256 /* bytes that are kept of a stop sequence, its NUL included */

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
    bool stop_unclear; /* the provider's reason is not one that is known; stop is a guess */
    struct llm_usage usage;
    int attempt, max_tries;
    int64_t delay_ms;
    int status;
    enum err_code error;
    bool overloaded; /* ERR_RETRY_LATER: the server has too much to do, not you asked too often */
    int64_t processed, total, cached;
};

/* Returning -1 ends the call with that error. */
typedef int (*llm_event_fn)(const struct llm_event *ev, void *arg, struct err *err);
