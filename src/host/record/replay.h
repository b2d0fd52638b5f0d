/*
 * Replays a transcript as events, for front ends that show a session from its beginning. Any
 * thread; reads from disk.
 *
 * For each turn: TURN_STARTED (id: the input's uuid), EVENT_USER, and per answer STEP_STARTED
 * (message_id), BLOCK_STARTED, BLOCK_DELTA and BLOCK_DONE per block, TOOL_DONE per result; then
 * TURN_DONE, with a report when it was interrupted or failed (end, error, api_status). Calls
 * without a result get one that says so. Reminders, summaries and other text for the model are
 * omitted.
 */
#pragma once

struct cancel;
struct err;
struct event;
struct host;

/* The event is valid during the call. */
typedef void (*replay_fn)(void *arg, const struct event *e);

/* Replays everything, including compacted parts. A session without messages has no events. A turn
 * that runs has no TURN_DONE, and its calls without a result have none. */
int replay_session(struct host *h, struct cancel *cancel, replay_fn fn, void *arg, struct err *err);
/* The same for a transcript that is not open here. */
int replay_file(const char *path, const char *session, struct cancel *cancel, replay_fn fn,
                void *arg, struct err *err);
