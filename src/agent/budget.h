/*
 * The budget of tool results; for src/agent only.
 *
 * It is counted per message: all results of one step together may have room.results_bytes (200 KB,
 * or a quarter of a small window), so that many medium results are caught as well as one big one
 * (each alone is capped by cap.h already). When they have more, the largest become stubs, the older
 * of two equal ones first, until the rest fits: the beginning, and the file that holds the whole.
 *
 * It is applied once, before the message is first sent: text that the model has seen is never
 * shortened later, and the provider's cache of the prompt holds. The stub is recorded before it is
 * used, and a resumed session has the same bytes. Results that hold images are left alone. Agent
 * thread.
 */
#pragma once

struct agent;
struct err;
struct room;

/* The latest results, before they are sent. -1: a stub could not be stored. */
int budget_apply(struct agent *a, const struct room *room, struct err *err);
