/*
 * Models: window, output cap, prices and habits, from one data file compiled in (models.def).
 *
 * A name that is not listed is taken for the listed model it begins with ("gpt-5-mini-preview"),
 * except the prices; one that resembles nothing gets safe defaults. In both cases known is false,
 * for a notice to the user. The date after a listed name ("claude-sonnet-4-5-20250929") changes
 * nothing. An unknown price is NAN, never 0: model_cost_usd() then fails, and so does a money cap.
 * Settings may add or change rows:
 *
 *   "models": {"local/qwen": {"window": 65536, "maxOutput": 8192, "images": false,
 *              "thinking": "none|budget|adaptive|always|effort", "efforts": ["low", "high"],
 *              "price": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}}}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct json;
struct llm_usage;
struct nearest;

enum model_thinking {
    MODEL_THINKS_NOT,
    MODEL_THINKS_BUDGET,   /* by a token budget */
    MODEL_THINKS_ADAPTIVE, /* decides itself; adaptive is asked for */
    MODEL_THINKS_ALWAYS,   /* cannot be switched off */
    MODEL_THINKS_EFFORT,   /* by effort only (OpenAI, Gemini 3 levels) */
};

/* US dollars per million tokens; NAN means unknown. */
struct model_price {
    double input, output, cache_read, cache_write, cache_write_1h;
};

struct model {
    struct str provider; /* "anthropic" */
    struct str name;     /* what it is known by */
    struct str sent_as;  /* what goes on the wire in its place (modelOverrides); empty: the name */
    struct str family;   /* provider_data goes back within one family */
    bool known;          /* listed, or described in settings */
    struct str like;     /* not known: the listed model it was taken for; empty: defaults */
    int64_t window;
    int64_t max_output;     /* the cap */
    int64_t default_output; /* the first request's limit */
    enum model_thinking thinking;
    unsigned efforts; /* 1 << enum effort for each level it takes; 0: none is sent */
    bool images;
    bool tools;
    bool system_is_developer;   /* OpenAI reasoning models */
    bool max_completion_tokens; /* instead of max_tokens */
    bool long_output;           /* a larger cap may be asked for after a cut */
    struct model_price price;
};

static inline struct str model_wire_name(const struct model *m)
{
    return m->sent_as.len ? m->sent_as : m->name;
}

/* The row, or defaults under that name. Writes into *ret; slices point into the table or at the
 * arguments. */
void model_find(struct str provider, struct str name, struct model *ret);

/* Lays an entry of the settings' `models` over the model; NULL changes nothing. ERR_BAD_INPUT names
 * the member that makes no sense. */
int model_configure(struct model *m, const struct json *entry, struct err *err);

/* Alias ("sonnet", "gpt", …) → name, per provider; the argument itself when it is none. */
struct str model_alias(struct str provider, struct str name);
/* Alias number i; false past the end. */
bool model_alias_at(size_t i, struct str *ret_provider, struct str *ret_alias,
                    struct str *ret_name);
struct str model_default(struct str provider); /* empty when the provider has none */

/* Whether the provider's rows or aliases name this model; loosely: also as something like one. */
bool model_is_listed(struct str provider, struct str name, bool loosely);
/* Whether it has one that begins with the same word: "gpt-7" is newer than the table. */
bool model_is_kin(struct str provider, struct str name);
/* Offers the provider's names and aliases for what may have been meant. */
void model_offer(struct str provider, struct nearest *near);
/* Row number i, for lists and completion; false past the end. */
bool model_at(size_t i, struct model *ret);

/* -1 with ERR_UNSUPPORTED when a price that is needed is unknown. Cached tokens always have one:
 * that of others, where there is none of their own. */
int model_cost_usd(const struct model *m, const struct llm_usage *u, double *ret, struct err *err);
/* Input and output: the least that a money cap needs. */
bool model_price_known(const struct model *m);
