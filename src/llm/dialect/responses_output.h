/*
 * The output items of a response, made into blocks one after the other.
 *
 * Deltas are for display; output_item.done is authoritative. One item at a time is live, the first
 * that is not done: its deltas become events as they arrive. The deltas of any other are skipped,
 * and items done out of order are kept until their turn, so that blocks never overlap whatever the
 * server does. A final text that differs from the deltas replaces it in the message; a call whose
 * final arguments differ is ERR_PROTOCOL, because it may have been used already.
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
    struct arena late; /* a waiting item being read */
    int64_t live;      /* output_index, -1: none */
    int64_t part;      /* of the live item: the content or summary part being shown, -1: none */
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
/* No more will come: closes the open item, emits the waiting ones. */
int responses_output_end(struct responses_output *o, struct err *err);

/* A piece of a message's text (or, when final, all of it), of a call's arguments, of reasoning. */
int responses_output_text(struct responses_output *o, int64_t index, int64_t part, struct str text,
                          bool refusal, bool final, struct err *err);
int responses_output_arguments(struct responses_output *o, int64_t index, struct str text,
                               bool final, struct err *err);
int responses_output_reasoning(struct responses_output *o, int64_t index, int64_t part,
                               struct str text, struct err *err);
