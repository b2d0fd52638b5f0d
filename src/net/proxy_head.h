/*
 * What a client of the proxy asks for: the head of one request, read strictly.
 *
 *   CONNECT example.com:443 HTTP/1.1       a tunnel
 *   GET http://example.com/x HTTP/1.1      a plain request, passed on as it is
 *
 * A plain request goes out written anew, for its own host alone: with the Host that the line names,
 * without headers for proxies, and asking for the connection to be closed after it. Content-Length
 * must give the length of its body, so that nothing can follow it. Ambiguous requests (bare CRs,
 * folded lines, two lengths, spaces before a colon) are refused. Pure.
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
    int64_t body_bytes;      /* that follow the head; of a tunnel: 0 */
};

/* How long the head is, its empty line included; 0 when its end is not there yet. */
size_t proxy_head_len(struct str bytes);

/* 0, or the status to answer with (400, 411, 501) and why. */
int proxy_head_parse(struct str head, struct proxy_head *ret, struct err *err);

/* The plain request as its server gets it; by_proxy: as another proxy does. Without the empty line
 * that ends it: fields may be added. */
void proxy_head_write(const struct proxy_head *h, bool by_proxy, struct buf *to);

/* "host:port", an IPv6 address in brackets. */
void proxy_head_target(const struct proxy_head *h, struct buf *to);

/* The status of an answer's head; -1 when it is none. */
int proxy_answer_status(struct str head);
