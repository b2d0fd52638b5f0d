/*
 * Turns the output items of a response into consecutive blocks.
 *
 * Deltas are for display; output_item.done is authoritative. One item at a time is live, namely the
 * first that is not done: its deltas become events as they arrive. Deltas of other items are
 * ignored, and items that are done out of order wait for their turn, so that blocks never overlap.
 * A final text that differs from the deltas replaces it in the message. A call whose final
 * arguments differ fails with ERR_PROTOCOL, because it may have been used already.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct err;
struct json;
struct reply;

struct responses_output {
    struct reply *reply;
    struct arena late; /* for the waiting item being read */
    int64_t live;      /* output_index, or -1 */
    int64_t part;      /* of the live item: the content or summary part being shown, or -1 */
    bool is_open;      /* the live item has a block */
    char phase[32];    /* of the live message, as a JSON string; or empty */
    VEC(bool) done;    /* by output_index */
    VEC(struct waiting_item {
        int64_t index;
        char *json;
        size_t len;
    })
    waiting;
    size_t waiting_bytes;
    bool refused;
    int64_t searches;
};

void responses_output_init(struct responses_output *o, struct reply *reply);
void responses_output_release(struct responses_output *o);

/* index is the output_index, from 0 to less than REPLY_MAX_BLOCKS. */
int responses_output_added(struct responses_output *o, int64_t index, const struct json *item,
                           struct err *err);
int responses_output_done(struct responses_output *o, int64_t index, const struct json *item,
                          struct err *err);
/* The stream has ended: closes the open item and emits the waiting ones. */
int responses_output_end(struct responses_output *o, struct err *err);

/* Part of a message's text (if final, all of it), of a call's arguments, or of reasoning. */
int responses_output_text(struct responses_output *o, int64_t index, int64_t part, struct str text,
                          bool refusal, bool final, struct err *err);
int responses_output_arguments(struct responses_output *o, int64_t index, struct str text,
                               bool final, struct err *err);
int responses_output_reasoning(struct responses_output *o, int64_t index, int64_t part,
                               struct str text, struct err *err);
