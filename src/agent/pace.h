/*
 * Where a turn's time went: told with its report and in the debug log; for src/agent only. The
 * agent's thread, but for pace_hook(), which the threads of calls use too, and pace_ask(), which
 * those of whoever asks use.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct llm_call_result;
struct turn_pace;

struct pace {
    VEC(int64_t) first_ms; /* to the first token, of each call */
    double tokens;         /* of those calls that took long enough to tell ... */
    double seconds;        /* ... and how long they spoke */
    int64_t tool_ms;       /* added up: calls beside each other count each */
    _Atomic int64_t hook_ms;
    _Atomic int64_t asked_ms;       /* somebody was asked meanwhile */
    _Atomic int64_t asked_since_ms; /* and is: since then; 0: nobody is */
};

void pace_begin(struct pace *p);
void pace_call(struct pace *p, const struct llm_call_result *r);
void pace_tool(struct pace *p, int64_t ms);
void pace_hook(struct pace *p, int64_t ms);
void pace_ask(struct pace *p, bool on, int64_t now_ms); /* one side after the other */
int64_t pace_asked(const struct pace *p, int64_t now_ms);
void pace_end(struct pace *p, int64_t turn, struct turn_pace *ret);
void pace_release(struct pace *p);
