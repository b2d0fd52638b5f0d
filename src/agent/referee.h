/*
 * Who has the last word on "done".
 *
 * Asked when the model wants no more tools, no input waits and no Stop hook objects. The goal
 * engine is one; without a referee the turn ends.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct cancel;
struct err;
struct message;

struct referee {
    /* 1: go on, *ret_feedback says what is missing; 0: it may end; -1: could not tell (the turn
     * ends with that error). */
    int (*judge)(struct referee *self, const struct message *last, struct cancel *cancel,
                 struct buf *ret_feedback, struct err *err);
};
