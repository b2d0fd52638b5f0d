/*
 * Parses the head of a proxy request, strictly.
 *
 *   CONNECT example.com:443 HTTP/1.1        a tunnel
 *   GET http://example.com/x HTTP/1.1       a plain request, to be passed on
 *
 * A plain request is rewritten for its own host: with the Host from the request line, without proxy
 * headers, and asking to close the connection afterwards. Content-Length must give the length of
 * its body, so that nothing can follow it. Ambiguous requests (bare CRs, folded lines, two lengths,
 * spaces before a colon) are rejected. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/host_list.h"

struct buf;
struct err;

#define PROXY_MAX_HEAD ((size_t)32 << 10)

struct proxy_head {
    bool is_tunnel;
    struct host_name host;
    int port;
    struct str method, path; /* of a plain request; slices of the head */
    struct str fields;       /* the lines after the first one */
    int64_t body_bytes;      /* size of the body; 0 for a tunnel */
};

/* Length of the head including the empty line; 0 if it is incomplete. */
size_t proxy_head_len(struct str bytes);

/* 0, or the status to answer with (400, 411, 501) and the reason. */
int proxy_head_parse(struct str head, struct proxy_head *ret, struct err *err);

/* Writes the plain request for its server; by_proxy: for another proxy. Without the final empty
 * line, so that fields may be added. */
void proxy_head_write(const struct proxy_head *h, bool by_proxy, struct buf *to);

/* "host:port", an IPv6 address in brackets. */
void proxy_head_target(const struct proxy_head *h, struct buf *to);

/* The status in the head of an answer; -1 if it is not an HTTP answer. */
int proxy_answer_status(struct str head);
