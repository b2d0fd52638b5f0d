/*
 * Server-sent events, parsed as bytes arrive.
 *
 * Each complete event is passed to the callback before sse_feed() returns; a callback that returns
 * -1 stops the feed with its error. Lines end with LF, CRLF or CR; a byte order mark at the start
 * and comments are ignored; `id` and `retry` are kept for a reconnect; several `data` lines are
 * joined by LF; an event without data is not delivered. At most max_bytes of an incomplete event
 * are kept; a longer one fails with ERR_TOO_BIG. One parser serves one stream and one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct sse;

/* name may be empty. Both slices are valid during the call. */
typedef int (*sse_event_fn)(struct str name, struct str data, void *arg, struct err *err);

struct sse *sse_new(size_t max_bytes, sse_event_fn fn, void *arg);
int sse_feed(struct sse *s, struct str bytes, struct err *err);

/* The stream has ended: delivers an event whose final blank line is missing, as some servers omit
 * it. The caller must know whether the stream may end here. */
int sse_end(struct sse *s, struct err *err);
void sse_free(struct sse *s);

/* The last `id`, valid until the next feed (may be empty), and the last `retry` in milliseconds (-1
 * = none). */
struct str sse_last_id(const struct sse *s);
int64_t sse_retry_ms(const struct sse *s);
