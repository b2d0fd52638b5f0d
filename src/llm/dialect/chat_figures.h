/*
 * The token figures of a chat answer, wherever a server puts them, in Anthropic's meaning.
 */
#pragma once

#include <stdint.h>

struct json;
struct reply;

struct chat_figures {
    int64_t prompt; /* including the cached part; -1: unknown, as in all of them */
    int64_t completion;
    int64_t cached;
    int64_t written;
    int64_t reasoning;
};

#define CHAT_FIGURES_INIT ((struct chat_figures){-1, -1, -1, -1, -1})

/* A usage object; a figure it does not have keeps its value. NULL is fine. */
void chat_figures_usage(struct chat_figures *f, const struct json *usage);
/* llama.cpp's timings: for what usage leaves open. */
void chat_figures_timings(struct chat_figures *f, const struct json *timings);
void chat_figures_tell(const struct chat_figures *f, struct reply *reply);
