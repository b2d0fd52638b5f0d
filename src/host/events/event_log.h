/*
 * The event log of a session: $TENAX_HOME/events/<session>/events.jsonl, a line per event
 * (event_line.h).
 *
 * A remote observer of the feed on its own thread: nothing ever waits for it. When it falls behind
 * or the disk is full, lines are missing, and the next one counts them; nothing else happens. The
 * file appears with the first turn. When it has grown to EVENT_LOG_MAX it becomes events.1.jsonl,
 * replacing the previous one, so that a session has at most twice that much.
 */
#pragma once

#include <stddef.h>

struct err;
struct event_log;
struct feed;

#define EVENT_LOG_MAX ((size_t)4 << 20)

/* From the feed's first event on. max_bytes: EVENT_LOG_MAX, less in tests. */
struct event_log *event_log_start(struct feed *feed, const char *session, const char *folder,
                                  size_t max_bytes, struct err *err);
/* Writes what has come until now, and ends. NULL is fine. */
void event_log_stop(struct event_log *l);
