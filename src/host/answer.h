/*
 * Adds the goal to the end of a turn, for host.c; host_answer() is declared in host.h.
 */
#pragma once

#include <stdbool.h>

struct event;
struct goal;

/* Adds the state of the session's goal, if any, to TURN_DONE before others see the event. */
void answer_add_goal(struct goal *goal, struct event *e);
/* The same for the agent's own end of a turn: what it means for the result. of_run: the process
 * runs one prompt and exits, so that a goal that is stopped and unfinished is its result, too.
 * index: host_count_result(). */
void answer_end_turn(struct goal *goal, bool of_run, int64_t index, struct event *e);
