/*
 * The token figures of a chat answer. Pure.
 */
#include "llm/dialect/chat_figures.h"

#include "json/json.h"
#include "llm/reply.h"

static void take_figure(const struct json *object, const char *dotted, int64_t *to)
{
    llm_figure(json_path(object, dotted), to);
}

void chat_figures_usage(struct chat_figures *f, const struct json *usage)
{
    int64_t hit = -1, miss = -1;

    take_figure(usage, "prompt_tokens", &f->prompt);
    take_figure(usage, "completion_tokens", &f->completion);
    take_figure(usage, "cached_tokens", &f->cached); /* Kimi */
    take_figure(usage, "prompt_tokens_details.cached_tokens", &f->cached);
    take_figure(usage, "prompt_tokens_details.cache_write_tokens", &f->written);
    take_figure(usage, "completion_tokens_details.reasoning_tokens", &f->reasoning);
    take_figure(usage, "prompt_cache_hit_tokens", &hit); /* DeepSeek */
    take_figure(usage, "prompt_cache_miss_tokens", &miss);
    if (hit >= 0)
        f->cached = hit;
    if (hit >= 0 && miss >= 0)
        f->prompt = hit + miss;
}

/* prompt_n is the part processed now, cache_n the cached part. */
void chat_figures_timings(struct chat_figures *f, const struct json *timings)
{
    int64_t cached = -1, prompt = -1;

    take_figure(timings, "cache_n", &cached);
    take_figure(timings, "prompt_n", &prompt);
    if (f->cached < 0)
        f->cached = cached;
    if (f->prompt < 0 && prompt >= 0)
        f->prompt = prompt + (cached > 0 ? cached : 0);
    if (f->completion < 0)
        take_figure(timings, "predicted_n", &f->completion);
}

static int64_t at_least_0(int64_t n)
{
    return n > 0 ? n : 0;
}

void chat_figures_tell(const struct chat_figures *f, struct reply *reply)
{
    int64_t cached = at_least_0(f->cached), written = at_least_0(f->written);

    if (f->prompt < 0 && f->completion < 0)
        return;
    reply_usage(reply, &(struct llm_usage){.input = at_least_0(f->prompt - cached - written),
                                           .output = at_least_0(f->completion),
                                           .cache_read = cached,
                                           .cache_write = written,
                                           .thinking = at_least_0(f->reasoning),
                                           .known = true});
}
