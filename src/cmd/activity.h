/*
 * The activity of tools, in a few lines each, for a user who watches.
 *
 *     • Edit stats.c  +3 -1
 *       -    return v[n / 2];
 *       +    if (n % 2 == 0)
 *
 * On standard error, where that is a terminal, or anywhere with --verbose. Main thread.
 */
#pragma once

#include <stdbool.h>

struct event;

struct activity {
    bool shown; /* it is displayed */
    bool color;
    const char *dir; /* paths below it are shown without it */
};

void activity_init(struct activity *a, bool verbose, const char *dir);
void activity_started(const struct activity *a, const struct event *e); /* TOOL_STARTED */
void activity_done(const struct activity *a, const struct event *e);    /* TOOL_DONE */
