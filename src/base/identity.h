/*
 * The origin of an event, a question to the user or a hook's input: which session and which agent.
 */
#pragma once

#include <stdbool.h>

struct arena;

struct identity {
    const char *session; /* uuid */
    const char *agent;   /* "main", or a subagent's id */
    const char *type;    /* a subagent's type: "Explore"; NULL for the main agent */
    const char *parent;  /* the tool_use that started the subagent; or NULL */
    const char *task;    /* a short description of the subagent's task; or NULL */
    const char *member;  /* its name as a member of the session's team; or NULL */
    int depth;           /* 0 for main, 1 for a subagent started by main, … */
    bool in_background;  /* the subagent was started in the background */
};

#define IDENTITY_MAIN "main"

bool identity_is_main(const struct identity *i);
/* Whether both are the same agent of the same session. */
bool identity_is_same(const struct identity *a, const struct identity *b);
/* A copy whose strings live in the arena. */
struct identity identity_copy(struct arena *arena, const struct identity *i);
