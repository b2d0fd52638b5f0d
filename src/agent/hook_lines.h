/*
 * What hooks did, as lines of the transcript: "hook_success" and its like for each handler that
 * printed something or failed, and one "stop_hook_summary" for all Stop hooks of a round.
 *
 * Handlers end on any thread; a journal belongs to the agent's. So lines are noted where they
 * happen and written at the next place where the agent writes anyway.
 */
#pragma once

#include "base/buf.h"
#include "base/strv.h"

struct agent;
struct hook_news;
struct hook_outcome;

#define HOOK_LINES_MAX 1024 /* that wait; later ones are dropped */

struct hook_lines {
    struct strv waiting; /* JSON objects */
    /* Of the Stop hooks that run: */
    struct buf infos, errors; /* members of JSON arrays */
    size_t count;
    bool has_output;
};
#define HOOK_LINES_INIT                                                                            \
    {                                                                                              \
        .waiting = STRV_INIT, .infos = BUF_INIT(HOOK_LINES_MAX_INFOS),                             \
        .errors = BUF_INIT(HOOK_LINES_MAX_INFOS)                                                   \
    }
#define HOOK_LINES_MAX_INFOS ((size_t)1 << 20)
void hook_lines_release(struct hook_lines *l);

/* A handler has ended; out and err: what it printed, without keys and cut. Any thread. */
void hook_lines_note(const struct agent *a, const struct hook_news *news, struct str out,
                     struct str err);
/* Writes the notes; and with an outcome the effect of the Stop hooks on the turn. The agent's
 * thread. A line that cannot be written is kept by the transcript for its next write. */
void hook_lines_write(struct agent *a, const struct hook_outcome *stop);
