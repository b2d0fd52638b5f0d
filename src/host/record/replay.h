/*
 * A transcript told again as the events that it was once, for front ends that show a session from
 * its beginning. Any thread; waits for the disk.
 *
 * Of each turn: TURN_STARTED (id: the input's uuid), EVENT_USER, and per answer STEP_STARTED
 * (message_id), BLOCK_STARTED, BLOCK_DELTA and BLOCK_DONE per block, TOOL_DONE per result; then
 * TURN_DONE without a report. Calls whose result never came have one that reports it. Reminders,
 * summaries and other text only for the model is left out.
 */
#pragma once

struct cancel;
struct err;
struct event;
struct host;

/* The event is lent. */
typedef void (*replay_fn)(void *arg, const struct event *e);

/* All of it, including compacted parts. A session without messages has no events. */
int replay_session(struct host *h, struct cancel *cancel, replay_fn fn, void *arg, struct err *err);
/* The same of a transcript that is not open here. */
int replay_file(const char *path, const char *session, struct cancel *cancel, replay_fn fn,
                void *arg, struct err *err);
