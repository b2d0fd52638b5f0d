/*
 * When the command of the status line runs: 300 ms after the last reason, at once when it is
 * another command, and every so often when a refreshInterval is set, which is a reason like any
 * other: never two runs for one moment. Pure: times are handed in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct statusline_plan {
    int64_t due;         /* the next run; -1: none */
    int64_t tick;        /* the timer; -1: none */
    int64_t interval_ms; /* 0: none */
};
#define STATUSLINE_PLAN_INIT                                                                       \
    {                                                                                              \
        .due = -1, .tick = -1                                                                      \
    }

void statusline_plan_happened(struct statusline_plan *p, int64_t now_ms);
/* The settings are others: a timer begins anew, another command runs at once. */
void statusline_plan_settings(struct statusline_plan *p, int64_t now_ms, int64_t interval_ms,
                              bool is_other_command);
void statusline_plan_stop(struct statusline_plan *p);          /* nothing runs any more */
int64_t statusline_plan_next(const struct statusline_plan *p); /* when to call step(); -1: never */
/* Whether it shall run now. */
bool statusline_plan_step(struct statusline_plan *p, int64_t now_ms);
