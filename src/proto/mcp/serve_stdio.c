/*
 * One client over standard input and output, a message a line. Calls of tools get threads of their
 * own, so that pings, answers and cancellations are heard while they run; everything else is
 * answered by the thread that reads. A write waits for the client at most until the token is set.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/socket/conn.h"
#include "json/json.h"
#include "proto/mcp/serve.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/ticket.h"

#define STDIO_PIECE ((size_t)4096) /* a pipe that can be written takes this much */
#define STDIO_MAX_QUEUE ((size_t)1 << 20)

struct serving {
    struct serve_peer *peer;
    struct serve_way way;
    struct cancel *cancel, *over; /* over: our output has no reader */
    struct ticket writing;
    struct gate gate;
    unsigned calls; /* threads; under the gate */
};

/* A call on its thread. */
struct served {
    struct serving *serving;
    struct arena arena;
    const struct json *message;
    struct serve_call *call;
};

static void write_all(struct serving *s, struct str bytes)
{
    while (bytes.len && !cancel_is_set(s->over)) {
        struct pollfd fds[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                                {.fd = cancel_fd(s->over), .events = POLLIN}};
        ssize_t n;

        if (poll(fds, 2, -1) < 0 || !fds[0].revents)
            continue;
        n = write(STDOUT_FILENO, bytes.ptr, str_first(bytes, STDIO_PIECE).len);
        if (n >= 0)
            bytes = str_from(bytes, (size_t)n);
        else if (errno != EINTR && errno != EAGAIN)
            cancel_set(s->over);
    }
}

static void stdio_send(void *arg, struct str message)
{
    struct serving *s = arg;

    if (ticket_take(&s->writing, s->over, NULL) < 0)
        return;
    write_all(s, message);
    write_all(s, STR("\n"));
    ticket_give(&s->writing);
}

static void served_run(void *arg)
{
    struct served *d = arg;
    struct serving *s = d->serving;

    serve_call_run(d->call);
    arena_release(&d->arena);
    mem_freep(&d);
    gate_take(&s->gate);
    s->calls--;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

static void on_call(struct serving *s, struct served *d)
{
    gate_take(&s->gate);
    s->calls++;
    gate_give(&s->gate);
    if (thread_start_loose("mcp call", served_run, d, NULL) < 0)
        served_run(d); /* here, then */
}

static void on_line(struct str line, void *arg)
{
    struct serving *s = arg;
    struct served *d;

    if (!line.ptr) {
        serve_refuse(&s->way, NULL, -32600, "The message is longer than 16 MB");
        return;
    }
    if (!str_trim(line).len)
        return;
    d = mem_zalloc(sizeof(*d));
    d->serving = s;
    if (json_parse_copy(&d->arena, line, &d->message, NULL, NULL) < 0)
        serve_refuse(&s->way, NULL, -32700, "Parse error");
    else if (serve_is_call(d->message))
        d->call = serve_call_new(s->peer, d->message, &s->way);
    else
        serve_take(s->peer, d->message, &s->way);
    if (d->call) {
        on_call(s, d);
        return;
    }
    arena_release(&d->arena);
    mem_freep(&d);
}

int serve_stdio(struct serve *serve, struct cancel *cancel, struct err *err)
{
    struct serving s = {
        .peer = serve_peer_new(serve), .cancel = cancel, .over = cancel_new(cancel)};
    struct conn c;
    int r = 1;

    s.way = (struct serve_way){stdio_send, &s};
    ticket_init(&s.writing);
    gate_init(&s.gate);
    conn_init(&c, STDIN_FILENO, -1, SERVE_MAX_MESSAGE, STDIO_MAX_QUEUE);
    while (r > 0 && cancel_wait_fd(s.over, STDIN_FILENO, /*ms=*/-1, NULL) >= 0)
        r = conn_read(&c, on_line, &s, err);
    conn_release(&c);
    /* The rest still running has no receiver. */
    cancel_set(s.over);
    serve_peer_end(s.peer);
    gate_take(&s.gate);
    while (s.calls)
        (void)gate_wait(&s.gate, /*deadline_ms=*/-1);
    gate_give(&s.gate);
    serve_peer_free(s.peer);
    gate_release(&s.gate);
    ticket_release(&s.writing);
    cancel_unref(s.over);
    return r < 0 ? -1 : 0;
}
