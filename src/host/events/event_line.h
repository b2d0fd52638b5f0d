/*
 * An event as a line of the event log: its time, the ids that connect it to transcripts and
 * providers, its duration and size. Never any content: no text, input, result or path.
 *
 *   {"time":"2026-11-14T10:00:00.000Z","session":"…","seq":12,"event":"tool_done","agent":"main",
 *    "turn":1,"step":2,"tool":"toolu_01","name":"Edit","ms":14,"bytes":310,"error":false}
 *
 * docs/event-log.md lists the fields of each event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct event;

/* State for events that have started but not ended. */
struct event_line {
    int64_t step_ms; /* wall clock */
};

/* Adds one line, or nothing for parts of a block and progress. */
bool event_line_write(struct event_line *l, const struct event *e, struct buf *out);
/* Records missing events: the log fell behind or could not be written. */
void event_line_gap(const char *session, uint64_t from, uint64_t to, struct buf *out);
