/*
 * Requests about hooks, for control.c.
 *
 * get_hooks_listing: every hook of the settings and the session with its event, matcher, origin and
 * whether it runs, and the events that there are.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_get_hooks_listing(struct control_call *call, struct jw *w, struct err *err);
