/*
 * HTTP/1.1, the server's half: requests read from a growing buffer, heads of responses written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

#define HTTP_MAX_HEAD ((size_t)256 << 10)
#define HTTP_MAX_BODY ((size_t)256 << 20)
#define HTTP_MAX_HEADERS 128

struct http_field {
    struct str name;
    struct str value;
};

/* Slices point into the parsed buffer, except for a chunked body. */
struct http_request {
    struct str method;
    struct str target;
    struct str path; /* of the target */
    struct str query;
    struct http_field fields[HTTP_MAX_HEADERS];
    size_t field_count;
    struct str body;
    struct buf unchunked;
    bool keep_alive;
    bool wants_continue; /* "expect: 100-continue", and the body is not here yet */
    size_t used;         /* bytes of the buffer it took */
};

void http_request_release(struct http_request *r);

/* 1: complete; 0: more is needed (wants_continue is set by then); -1: not HTTP, or too big. Start
 * from a zeroed struct each time. */
int http_parse(struct str in, struct http_request *ret, struct err *err);

/* By lower-case name; empty when absent. */
struct str http_header(const struct http_request *r, const char *name);

const char *http_reason(int status);
