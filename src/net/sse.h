/*
 * Server-sent events, fed as bytes arrive.
 *
 * Each complete event reaches the callback before sse_feed() returns; a callback that returns -1
 * stops the feed with its error. LF, CRLF and CR end lines; a byte order mark at the start,
 * comments are passed over; `id` and `retry` are kept for a reconnect; several `data` lines are
 * joined by LF; an event without data is not delivered. At most max_bytes of an unfinished event
 * are kept; a longer one fails with ERR_TOO_BIG. One parser serves one stream and one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct sse;

/* name is empty when the event has none. Both slices are lent until the callback returns. */
typedef int (*sse_event_fn)(struct str name, struct str data, void *arg, struct err *err);

struct sse *sse_new(size_t max_bytes, sse_event_fn fn, void *arg);
int sse_feed(struct sse *s, struct str bytes, struct err *err);

/* The stream ended: delivers an event whose last blank line is missing, as several servers leave it
 * out. Whether the stream may end here is for the caller to know. */
int sse_end(struct sse *s, struct err *err);
void sse_free(struct sse *s);

/* The last `id` that came, lent until the next byte (empty: none), and the last `retry` in
 * milliseconds (-1: none). */
struct str sse_last_id(const struct sse *s);
int64_t sse_retry_ms(const struct sse *s);
