/*
 * Transcript lines about hooks: "hook_success" and similar for each handler that printed something
 * or failed, and one "stop_hook_summary" for all Stop hooks of a round.
 *
 * Handlers end on any thread, but a journal belongs to the agent's thread. So lines are queued here
 * and written the next time the agent writes. Implemented in hooks/hook_lines.c.
 */
#pragma once

#include "base/buf.h"
#include "base/strv.h"

struct hook_news;
struct hook_outcome;
struct journal;

#define HOOK_LINES_MAX 1024 /* waiting lines; later ones are dropped */

struct hook_lines {
    struct strv waiting; /* JSON objects */
    /* Of the running Stop hooks: */
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

/* Queues the line of a handler that ended; out and err: its output, truncated and without secrets.
 */
void hook_lines_add(struct hook_lines *l, const struct hook_news *news, struct str out,
                    struct str err);
/* Writes the queued lines, and with an outcome the summary of the Stop hooks. If a write fails, the
 * transcript retries the line with its next write. */
void hook_lines_write(const struct hook_lines *l, struct journal *journal,
                      const struct hook_outcome *stop);
