/*
 * A goal's progress, for a user who watches the run: a line per verdict, the current wait, the
 * outcome.
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
    bool in_turn;
    struct buf wait;  /* the current wait; empty: none */
    int64_t until_ms; /* wall clock; 0: unknown */
};

void goal_lines_init(struct goal_lines *l);
void goal_lines_release(struct goal_lines *l);

void goal_lines_event(struct goal_lines *l, const struct event *e); /* EVENT_GOAL */
/* A turn begins: the wait is over; or it is done: a wait may be shown. */
void goal_lines_turn(struct goal_lines *l, bool runs);
/* Renews the line about the wait, on a terminal. Returns when to call again (clock_mono_ms()); -1:
 * no need to. */
int64_t goal_lines_tick(struct goal_lines *l);
/* The engine tells what to type next as "/goal …". In a shell that is "tenax goal …", and going on
 * takes a run: "tenax goal --resume <session>". */
void goal_lines_as_command(struct buf *text, const char *session);
/* How the goal stands when the run is over. */
void goal_lines_end(struct cmd *c, struct host *host);
