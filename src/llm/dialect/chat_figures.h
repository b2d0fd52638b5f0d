/*
 * Token counts of a chat answer, from any of the places where servers put them, converted to
 * Anthropic's definitions.
 */
#pragma once

#include <stdint.h>

struct json;
struct reply;

struct chat_figures {
    int64_t prompt; /* including the cached part; -1 = unknown, in all fields */
    int64_t completion;
    int64_t cached;
    int64_t written;
    int64_t reasoning;
};

#define CHAT_FIGURES_INIT ((struct chat_figures){-1, -1, -1, -1, -1})

/* Reads a usage object; counts that it does not have are unchanged. usage may be NULL. */
void chat_figures_usage(struct chat_figures *f, const struct json *usage);
/* Reads llama.cpp's timings for counts that usage does not have. */
void chat_figures_timings(struct chat_figures *f, const struct json *timings);
void chat_figures_tell(const struct chat_figures *f, struct reply *reply);
