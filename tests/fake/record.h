/*
 * The requests: one JSON object each, appended to a file as a line, and kept for GET /__log.
 *
 *   {"n":1, "t_us":…, "done_us":…, "answered_us":…, "connection":1, "session":"", "method":"POST",
 *    "path":"/v1/messages?x=y", "headers":{…}, "body":{…}}
 *
 * t_us is the monotonic clock when the first byte of the request was read, done_us when the last
 * one was, answered_us when the last byte of the answer before was written on this connection, so
 * that the client's time in between can be distinguished from the server's. A body that is not JSON
 * is given as "body_text". GET /__log adds "end": how the answer ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct err;
struct http_request;
struct json;

enum record_end {
    RECORD_OPEN,   /* still being answered */
    RECORD_SENT,   /* to the end, whatever the end was meant to be */
    RECORD_CLOSED, /* the client went away before */
};

struct record_times {
    int64_t t_us;
    int64_t done_us;
    int64_t answered_us; /* 0: nothing was answered before */
};

#define RECORD_MAX_KEPT 4096
#define RECORD_MAX_BODY ((size_t)1 << 20) /* of an entry kept in memory */

struct record {
    int fd; /* -1: no file */
    size_t count;
    struct {
        char *text; /* without the last brace */
        enum record_end end;
    } kept[RECORD_MAX_KEPT]; /* a ring: number n is at (n - 1) % RECORD_MAX_KEPT */
};

int record_open(struct record *r, const char *file, struct err *err);
void record_release(struct record *r);
void record_clear(struct record *r); /* the memory, not the file */

/* The request's number, from 1. body is NULL when it is no JSON. */
size_t record_add(struct record *r, const struct http_request *http, struct str session,
                  const struct json *body, uint64_t connection, const struct record_times *at);
void record_set_end(struct record *r, size_t n, enum record_end end);
void record_write(const struct record *r, struct buf *out); /* as one array */
