/*
 * Who is acting: every event, every question to the user and every hook's input carries one.
 */
#pragma once

#include <stdbool.h>

struct arena;

struct identity {
    const char *session; /* uuid */
    const char *agent;   /* "main"; of a child its id */
    const char *type;    /* of a child: "Explore"; NULL: the main agent */
    const char *parent;  /* of a child: the tool_use that started it; NULL: none */
    const char *task;    /* of a child: what it does, in a few words; or NULL */
    int depth;           /* of a child: 1 when main has started it; 0: main */
    bool in_background;  /* of a child: it was started there */
};

#define IDENTITY_MAIN "main"

bool identity_is_main(const struct identity *i);
/* Whether both are the same agent of the same session. */
bool identity_is_same(const struct identity *a, const struct identity *b);
/* A copy whose strings live in the arena. */
struct identity identity_copy(struct arena *arena, const struct identity *i);
