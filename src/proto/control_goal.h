/*
 * Requests about the session's goal, for control.c.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_goal(struct control_call *call, struct jw *w, struct err *err);
