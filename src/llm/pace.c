/*
 * pace: sums, and a median computed at the end.
 */
#include "llm/pace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "llm/llm_call.h"

void pace_begin(struct pace *p)
{
    p->first_ms.len = 0;
    p->tokens = 0;
    p->seconds = 0;
    p->tool_ms = 0;
    atomic_store(&p->hook_ms, 0);
    atomic_store(&p->asked_ms, 0);
}

void pace_call(struct pace *p, const struct llm_call_result *r)
{
    vec_push(&p->first_ms, r->first_token_ms);
    if (r->tokens_per_s > 0) {
        p->tokens += (double)r->usage.output;
        p->seconds += (double)r->usage.output / r->tokens_per_s;
    }
}

void pace_tool(struct pace *p, int64_t ms)
{
    p->tool_ms += ms;
}

void pace_hook(struct pace *p, int64_t ms)
{
    atomic_fetch_add(&p->hook_ms, ms);
}

void pace_ask(struct pace *p, bool on, int64_t now_ms)
{
    int64_t since_ms = atomic_exchange(&p->asked_since_ms, on ? now_ms : 0);

    if (since_ms)
        atomic_fetch_add(&p->asked_ms, now_ms - since_ms);
}

int64_t pace_asked(const struct pace *p, int64_t now_ms)
{
    int64_t since_ms = atomic_load(&p->asked_since_ms);

    return atomic_load(&p->asked_ms) + (since_ms ? now_ms - since_ms : 0);
}

static int compare_ms(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void pace_end(struct pace *p, int64_t turn, struct turn_pace *ret)
{
    size_t n = p->first_ms.len;

    if (n)
        qsort(p->first_ms.ptr, n, sizeof(p->first_ms.ptr[0]), compare_ms);
    *ret = (struct turn_pace){
        .calls = (int64_t)n,
        .first_ms = n ? p->first_ms.ptr[n / 2] : 0,
        .tokens_per_s = p->seconds > 0 ? p->tokens / p->seconds : 0,
        .tool_ms = p->tool_ms,
        .hook_ms = atomic_load(&p->hook_ms),
    };
    log_debug("agent",
              "turn %" PRId64 ": %" PRId64 " calls, first token after %" PRId64
              " ms (median), %.0f tokens/s, tools %" PRId64 " ms, hooks %" PRId64 " ms",
              turn, ret->calls, ret->first_ms, ret->tokens_per_s, ret->tool_ms, ret->hook_ms);
}

void pace_release(struct pace *p)
{
    vec_release(&p->first_ms);
}
