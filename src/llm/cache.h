/*
 * How long a provider is asked to keep the prefix of requests: the setting promptCaching, per
 * model, and the environment variables that switch it off. Any thread.
 */
#pragma once

#include <stdint.h>

#include "llm/dialect/dialect.h"

struct conf;
struct jw;
struct model;

enum cache_ttl cache_wanted(const struct conf *conf, const struct model *model);

/* Writes for hooks whether what was cached has expired after this time, and what it costs to send
 * these tokens again. seconds: -1 = unknown. */
void cache_write_past(const struct conf *conf, const struct model *model, int64_t tokens,
                      int64_t seconds, struct jw *w);
