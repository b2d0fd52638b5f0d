/*
 * A complete line of a transcript: messages, thinking, calls and results. Nothing is folded. Lines
 * that only programs read (snapshots, queues, titles) have no rows. Pure. UI thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "tui/screen/line.h"

struct buf;
struct view;

/* Of a result that does not stand below its call, because several ran beside each other. */
struct transcript_calls {
    /* The line with the call of this id. False: the result stands right below it, or it is not to
     * be found. */
    bool (*find)(void *arg, struct str id, struct buf *ret);
    void *arg;
};

/* calls: NULL: a result is shown without a word about its call. */
void transcript_entry_draw(struct str line, const struct transcript_calls *calls,
                           const struct view *v, struct lines *ret);
