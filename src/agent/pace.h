/*
 * Where a turn's time went: part of its report and in the debug log; for src/agent only. The
 * agent's thread, except pace_hook(), which the threads of calls use too, and pace_ask(), which
 * those of the askers use.
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
    _Atomic int64_t asked_ms;       /* time spent on questions to the user */
    _Atomic int64_t asked_since_ms; /* start of the open question; 0: none */
};

void pace_begin(struct pace *p);
void pace_call(struct pace *p, const struct llm_call_result *r);
void pace_tool(struct pace *p, int64_t ms);
void pace_hook(struct pace *p, int64_t ms);
void pace_ask(struct pace *p, bool on, int64_t now_ms); /* one side after the other */
int64_t pace_asked(const struct pace *p, int64_t now_ms);
void pace_end(struct pace *p, int64_t turn, struct turn_pace *ret);
void pace_release(struct pace *p);
