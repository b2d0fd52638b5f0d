/*
 * The pretend model itself: which request gets which answer. Knows nothing of sockets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "record.h"

struct err;
struct http_request;
struct plan;
struct scenario;
struct scenario_cursor;
struct scenario_fault;

struct host {
    struct scenario *scenario;
    struct map sessions; /* name → struct scenario_cursor, "" is the default one */
    struct record record;
    uint64_t serial; /* of answers */
    const char *key; /* NULL: any key will do, none too */
    bool lenient;    /* no complaints about what a request says */
    size_t connections, open, most_open;
};

void host_init(struct host *h);
void host_release(struct host *h);
int host_load(struct host *h, struct str text, const char *file, struct err *err);
void host_reset(struct host *h); /* as if nothing had been asked */

/* The fault a new connection plays, or NULL. */
const struct scenario_fault *host_connection(struct host *h);

/* Makes the response. Returns the request's number in the record, 0 for control requests. */
size_t host_answer(struct host *h, const struct http_request *http, uint64_t connection,
                   const struct record_times *at, struct plan *ret);

/* Steps never played, one a line; how many. */
size_t host_leftovers(struct host *h, struct buf *out);
