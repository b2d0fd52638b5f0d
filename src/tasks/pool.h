/*
 * Which of its parent's tools an agent gets. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

struct definition;
struct tool_entry;

enum pool_kind {
    POOL_FOREGROUND,
    POOL_BACKGROUND,
    POOL_MAIN, /* all that the type leaves */
    POOL_FORK, /* all that the parent has: calls of some fail */
};

struct pool {
    enum pool_kind kind;
    const struct definition *type; /* NULL: takes nothing away */
    bool may_start;                /* further agents: the depth allows it */
};

bool pool_has(const struct pool *p, const struct tool_entry *e);
/* As toolbox_spec.wants; arg is the pool. */
bool pool_wants(void *arg, const struct tool_entry *e);
