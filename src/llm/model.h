/*
 * Models: window, output limit, prices and properties, compiled in from a data file (models.def).
 *
 * An unlisted name gets the properties of the listed model that it starts with
 * ("gpt-5-mini-preview"), except the prices; a name that resembles none gets safe defaults. In both
 * cases known is false, so that the user can be told. A date after a listed name
 * ("claude-sonnet-4-5-20250929") is ignored. An unknown price is NAN, never 0: model_cost_usd()
 * fails, and so do cost limits. Settings may add or change rows:
 *
 *   "models": {"local/qwen": {"window": 65536, "maxOutput": 8192, "images": false,
 *     "thinking": "none|budget|adaptive|always|effort", "efforts": ["low", "high"],
 *     "price": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}}}
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
    MODEL_THINKS_ADAPTIVE, /* decides itself; adaptive thinking is requested */
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
    struct str sent_as;  /* the name in requests (modelOverrides); empty = name */
    struct str family;   /* provider_data is sent back only within one family */
    bool known;          /* listed, or described in the settings */
    struct str like;     /* if not known: the listed model that it resembles; empty = defaults */
    int64_t window;
    int64_t max_output;     /* the maximum */
    int64_t default_output; /* the first request's limit */
    enum model_thinking thinking;
    unsigned efforts; /* bit 1 << enum effort for each supported level; 0 = none is sent */
    bool images;
    bool tools;
    bool system_is_developer;   /* OpenAI reasoning models */
    bool max_completion_tokens; /* instead of max_tokens */
    bool long_output;           /* a higher limit may be requested after a cut */
    struct model_price price;
};

static inline struct str model_wire_name(const struct model *m)
{
    return m->sent_as.len ? m->sent_as : m->name;
}

/* The row, or defaults for an unlisted name. Slices in *ret point into the table or the arguments.
 */
void model_find(struct str provider, struct str name, struct model *ret);

/* Applies an entry of the settings' `models`; NULL changes nothing. ERR_BAD_INPUT names the invalid
 * member. */
int model_configure(struct model *m, const struct json *entry, struct err *err);

/* Resolves an alias of the provider ("sonnet", "gpt", …); returns other names unchanged. */
struct str model_alias(struct str provider, struct str name);
/* The i-th alias; false after the last one. */
bool model_alias_at(size_t i, struct str *ret_provider, struct str *ret_alias,
                    struct str *ret_name);
struct str model_default(struct str provider); /* empty when the provider has none */

/* Whether the provider's rows or aliases have this model; loosely: also if it resembles one. */
bool model_is_listed(struct str provider, struct str name, bool loosely);
/* Whether the provider has a model that begins with the same word: "gpt-7" may be newer than the
 * table. */
bool model_is_kin(struct str provider, struct str name);
/* Adds the provider's names and aliases, to suggest one for a mistyped name. */
void model_offer(struct str provider, struct nearest *near);
/* The i-th row, for lists and completion; false after the last one. */
bool model_at(size_t i, struct model *ret);

/* -1 with ERR_UNSUPPORTED if a price that is needed is unknown. Cached tokens always have a price:
 * that of other input, if they have none. */
int model_cost_usd(const struct model *m, const struct llm_usage *u, double *ret, struct err *err);
/* Whether input and output prices are known, which cost limits need. */
bool model_price_known(const struct model *m);
