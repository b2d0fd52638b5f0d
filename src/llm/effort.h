/*
 * Effort levels: how much a model is asked to think, if it supports that.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum effort {
    EFFORT_UNSET,
    EFFORT_NONE,
    EFFORT_MINIMAL,
    EFFORT_LOW,
    EFFORT_MEDIUM,
    EFFORT_HIGH,
    EFFORT_XHIGH,
    EFFORT_MAX,
};

const char *effort_name(enum effort e);
bool effort_parse(struct str s, enum effort *ret);
/* The level of the set (model.efforts) nearest to `want`, preferring lower ones; UNSET if the set
 * is empty or `want` is UNSET. */
enum effort effort_fit(unsigned set, enum effort want);
