/*
 * Where a turn's time went: reported with the turn and in the debug log. Agent thread, except
 * pace_hook(), which call threads use too, and pace_ask(), which the threads of askers use.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct llm_call_result;

struct turn_pace {
    int64_t calls;    /* of the model */
    int64_t first_ms; /* median time to the first token */
    double tokens_per_s;
    int64_t tool_ms, hook_ms; /* sums: parallel calls count separately */
};

struct pace {
    VEC(int64_t) first_ms; /* time to the first token of each call */
    double tokens;         /* of calls long enough to measure */
    double seconds;        /* streaming time of those calls */
    int64_t tool_ms;       /* sum: parallel calls count separately */
    _Atomic int64_t hook_ms;
    _Atomic int64_t asked_ms;       /* time spent on questions to the user */
    _Atomic int64_t asked_since_ms; /* start of the open question; 0: none */
};

void pace_begin(struct pace *p);
void pace_call(struct pace *p, const struct llm_call_result *r);
void pace_tool(struct pace *p, int64_t ms);
void pace_hook(struct pace *p, int64_t ms);
void pace_ask(struct pace *p, bool on, int64_t now_ms); /* calls with true and false alternate */
int64_t pace_asked(const struct pace *p, int64_t now_ms);
void pace_end(struct pace *p, int64_t turn, struct turn_pace *ret);
void pace_release(struct pace *p);
