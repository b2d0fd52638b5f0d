/*
 * What becomes of a goal, as one line for somebody who watches: the words of EVENT_GOAL events, the
 * same in every front end. Pure; what others wrote is made harmless (display.h).
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

/* "✗ not met: 2 of 40 tests fail". False: this event has nothing to tell, or is told elsewhere (a
 * wait: below; what a person has just done by a command: its answer). */
bool goal_told(struct str name, const struct json *data, struct buf *ret, enum told_tone *ret_tone);
/* Of "goal_waiting": "waiting: pid 4242", "trying again: the server is down". How long is left is
 * counted by whoever shows it, to until_ms of the data. */
void goal_told_wait(const struct json *data, struct buf *ret);
