/*
 * The tools that a subagent gets of its parent's. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

struct definition;
struct tool_entry;

enum pool_kind {
    POOL_FOREGROUND,
    POOL_BACKGROUND,
    POOL_MAIN,        /* everything that the type allows */
    POOL_FORK,        /* everything that the parent has, although some calls will fail */
    POOL_COORDINATOR, /* the main agent in coordinator mode */
    POOL_WORKER,      /* a worker in coordinator mode */
    POOL_BARE_WORKER, /* a worker with --bare */
    POOL_TEAMMATE,    /* a team member */
};

struct pool {
    enum pool_kind kind;
    const struct definition *type; /* NULL = no restriction */
    bool may_start;                /* it may start agents: the depth limit allows it */
    bool plans;                    /* a team member whose lead must approve its plan */
};

bool pool_has(const struct pool *p, const struct tool_entry *e);
/* For toolbox_spec.wants; arg is the pool. */
bool pool_wants(void *arg, const struct tool_entry *e);
/* Whether a call of a tool that it has fails: a fork has its parent's, byte for byte. */
bool pool_refuses(void *arg, const struct tool_entry *e);
