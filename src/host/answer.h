/*
 * A turn's end with the goal in it, for host.c; host_answer() is declared in host.h.
 */
#pragma once

struct event;
struct goal;

/* TURN_DONE: how the session's goal stands, when it has one. Before others see the event. */
void answer_add_goal(struct goal *goal, struct event *e);
