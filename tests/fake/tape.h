/*
 * A body in time: bytes, and the pauses between them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "json/jw.h"

struct tape_wait {
    size_t at; /* before this byte */
    int64_t ms;
};

struct tape {
    struct buf bytes;
    VEC(struct tape_wait) waits; /* in order, one a place */
};

#define TAPE_MAX_BYTES ((size_t)2 << 30)

void tape_init(struct tape *w);
void tape_release(struct tape *w);
void tape_wait(struct tape *w, int64_t ms); /* here */
int64_t tape_total_ms(const struct tape *w);

/* One server-sent event; name may be NULL. Its data is written through the jw. */
void tape_event(struct tape *w, const char *name, struct jw *ret);
void tape_event_end(struct tape *w);

void tape_cut(struct tape *w, size_t at);
void tape_insert(struct tape *w, size_t at, struct str bytes);
