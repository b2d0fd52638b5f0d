/*
 * How long a provider is asked to keep the prefix of requests: the setting promptCaching, per
 * model, and the environment variables that switch it off. Any thread.
 */
#pragma once

#include "llm/dialect/dialect.h"

struct conf;
struct model;

enum cache_ttl cache_wanted(const struct conf *conf, const struct model *model);
