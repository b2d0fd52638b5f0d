/*
 * A goal, for somebody who watches the run: a line per verdict, what is waited for, how it ended.
 *
 *     ✗ not met: 2 of 40 tests fail
 *     … waiting: pid 4242
 *     ✓ goal complete · 3 rounds · 12m · 48.2K tokens · $0.42
 *
 * On standard error. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct cmd;
struct event;
struct host;

struct goal_lines {
    bool color;
    struct buf wait;  /* what is waited for; empty: nothing */
    int64_t until_ms; /* wall clock; 0: nobody knows */
};

void goal_lines_init(struct goal_lines *l);
void goal_lines_release(struct goal_lines *l);

void goal_lines_event(struct goal_lines *l, const struct event *e); /* EVENT_GOAL */
/* Something else is shown: the wait is over. */
void goal_lines_moved(struct goal_lines *l);
/* Renews the line of what is waited for, on a terminal. Returns when to call again
 * (clock_mono_ms()); -1: no need to. */
int64_t goal_lines_tick(struct goal_lines *l);
/* How the goal stands when the run is over. */
void goal_lines_end(struct cmd *c, struct host *host);
