/*
 * Test helper: a server with canned answers. The n-th request gets the n-th answer, and the last
 * one is repeated; requests are recorded. Use tests/fake to test with a model, and this to control
 * every byte.
 */
#pragma once

#include "net/test_server.h"

#define CANNED_EVENTS "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_7\r\n"
#define CANNED_JSON "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

enum canned_end {
    CANNED_CLOSE,
    CANNED_RESET, /* RST */
    CANNED_HANG,  /* says no more, until the client leaves */
};

struct canned {
    const char *head; /* lines end with CR LF; NULL = none, the connection just ends */
    struct str body;
    enum canned_end end;
};

struct canned_server {
    struct server server;
    const struct canned *answers;
    size_t count;
    struct lock lock; /* guards requests: a connection that hangs has its own thread */
    struct strv requests;
    char url[64];
};

static inline void canned_serve(struct conn *c)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf body = BUF_INIT(100 << 20);
    struct canned_server *s = c->server->arg;
    const struct canned *answer;
    size_t n;

    if (!conn_request(c, &head, &body))
        return;
    buf_add(&head, buf_str(&body));
    lock_take(&s->lock);
    n = s->requests.len;
    strv_add(&s->requests, buf_str(&head));
    lock_give(&s->lock);

    answer = &s->answers[n < s->count ? n : s->count - 1];
    if (answer->head) {
        conn_puts(c, answer->head);
        conn_puts(c, "connection: close\r\n\r\n");
        conn_write(c, answer->body);
    }
    if (answer->end == CANNED_HANG)
        conn_wait_close(c);
    if (answer->end == CANNED_RESET)
        conn_reset(c);
}

static inline void canned_start(struct canned_server *s, const struct canned *answers, size_t count)
{
    *s = (struct canned_server){.answers = answers, .count = count};
    lock_init(&s->lock);
    server_start(&s->server, canned_serve, s);
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d", s->server.port);
}

/* After this the requests may be read. */
static inline void canned_stop(struct canned_server *s)
{
    server_stop(&s->server);
}

static inline const char *canned_request(const struct canned_server *s, size_t i)
{
    return i < s->requests.len ? s->requests.ptr[i] : "";
}

static inline void canned_release(struct canned_server *s)
{
    strv_release(&s->requests);
    lock_release(&s->lock);
}
