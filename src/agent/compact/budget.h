/*
 * The size limit for the tool results of one step; for src/agent only.
 *
 * All results of a step together may have room.results_bytes (200 KB, or a quarter of a small
 * window). This catches many medium results, while cap.h limits each single one. If the sum is
 * larger, the largest results are replaced by stubs (the start of the text, and the path of a file
 * with all of it) until the rest fits; of two equal results the older one goes first.
 *
 * This happens once, before the message is first sent. Text that the model has seen is never
 * shortened later, so that the provider's prompt cache stays valid. A stub is recorded in the
 * transcript before it is used, so that a resumed session sends the same bytes. Results with images
 * are never replaced. Agent thread.
 */
#pragma once

struct agent;
struct err;
struct window_room;

/* Applies the limit to the newest, unsent results. -1 if a stub could not be stored. */
int budget_apply(struct agent *a, const struct window_room *room, struct err *err);
