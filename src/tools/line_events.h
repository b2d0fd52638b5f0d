/*
 * Lines of a program's output, made into events: lines that come within a fifth of a second are
 * one event. Keys are removed, and an event is cut at 16 KB. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/plain.h"
#include "base/str.h"

#define LINE_EVENTS_JOIN_MS 200
#define LINE_EVENTS_MAX_TEXT ((size_t)16 << 10)
#define LINE_EVENTS_PER_MINUTE 100

struct line_events {
    struct plain plain;
    struct buf text;   /* of the event that is being collected */
    size_t left_out;   /* lines beyond its limit */
    int64_t now_ms;    /* of the bytes that are being fed */
    int64_t due_ms;    /* when it is complete; -1 = there is none */
    int64_t minute_ms; /* start of the minute that is counted */
    int count;         /* events taken in it */
};

void line_events_init(struct line_events *e);
void line_events_release(struct line_events *e);
/* All times are clock_mono_ms(). */
void line_events_feed(struct line_events *e, struct str bytes, int64_t now_ms);
/* The program has ended: an unfinished line counts, and nothing needs to be waited for. */
void line_events_end(struct line_events *e, int64_t now_ms);
/* Moves an event that is due to ret; false if there is none. */
bool line_events_take(struct line_events *e, int64_t now_ms, struct buf *ret);
/* More events than allowed were taken within a minute. */
bool line_events_are_too_many(const struct line_events *e);
