/*
 * The commands' run functions, for the table in slash.c.
 */
#pragma once

struct err;
struct slash_call;

int slash_goal_run(struct slash_call *call, struct err *err);
