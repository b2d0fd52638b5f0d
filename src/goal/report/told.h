/*
 * Progress of a goal, as one line for the user: the text of EVENT_GOAL events, the same in every
 * front end. Pure; text of others is made harmless (display.h).
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct json;

enum told_tone {
    TOLD_PLAIN,
    TOLD_FAINT,
    TOLD_GOOD,
    TOLD_WARNING,
    TOLD_BAD,
};

/* "✗ not met: 2 of 40 tests fail". False: this event has no line, or is reported elsewhere (a wait:
 * below; a command of the user: its answer). */
bool goal_told(struct str name, const struct json *data, struct buf *ret, enum told_tone *ret_tone);
/* Of "goal_waiting": "waiting: pid 4242", "trying again: the server is down". The display counts
 * the time left, to until_ms of the data. */
void goal_told_wait(const struct json *data, struct buf *ret);
