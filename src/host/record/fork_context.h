/*
 * The beginning of a fork's transcript: a line that says which part of its parent's conversation
 * it knows, instead of a copy of that part.
 *
 *   {"type":"fork-context-ref","agentId","parentSessionId","parentAgentId"?,"parentLastUuid",
 *    "contextLength"}
 */
#pragma once

#include "base/str.h"

struct buf;
struct cancel;
struct err;
struct recall;
struct session;

struct fork_context {
    const char *agent;  /* the fork's id */
    const char *parent; /* the id of the agent it was copied from; NULL = main */
    const char *session;
};

/* Appends the line for a fork that knows these messages; nothing if they are in no transcript. */
void fork_context_write(const struct fork_context *c, const struct recall *knows, struct buf *ret);

/* Puts what the fork knows of its parent before its own messages in io. path is its transcript. No
 * effect if that does not begin with such a line. ERR_NOT_FOUND: the parent's part is gone. */
int fork_context_read(const char *path, const struct session *s, struct cancel *cancel,
                      struct recall *io, struct err *err);
