/*
 * A turn's end with the goal in it, for host.c; host_answer() is declared in host.h.
 */
#pragma once

#include <stdbool.h>

struct event;
struct goal;

/* TURN_DONE: how the session's goal stands, when it has one. Before others see the event. */
void answer_add_goal(struct goal *goal, struct event *e);
/* The same for the end of a turn of the agent: what it means for the result. of_run: the process
 * runs one prompt and exits, so that a goal which is stopped and unfinished is its result, too.
 * index: host_count_result(). */
void answer_end_turn(struct goal *goal, bool of_run, int64_t index, struct event *e);
