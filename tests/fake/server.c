/*
 * The event loop: accepts, reads requests, plays plans.
 *
 * A connection is a small state machine: HANDSHAKE → READING → PLAYING → READING …, or SILENT until
 * the other side gives up. Everything waits in one epoll; pauses are timers, so that a thousand
 * paced streams cost a thousand small wake-ups and nothing else. A plan without pauses leaves in
 * one write.
 */
#include "server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "host.h"
#include "http.h"
#include "llm/scenario/scenario.h"
#include "plan.h"
#include "record.h"
#include "socket.h"
#include "timers.h"
#include "tls.h"

enum source_kind {
    SOURCE_LISTENER,
    SOURCE_SIGNAL,
    SOURCE_CONNECTION,
};

struct source { /* first member of whatever epoll watches */
    enum source_kind kind;
    int fd;
};

struct listener {
    struct source source;
    bool tls;
};

enum state {
    HANDSHAKE,
    READING,
    PLAYING,
    SILENT,
};

struct connection {
    struct source source;
    uint64_t number;
    enum state state;
    SSL *ssl;
    enum fault_tls spoil; /* with has_spoil: what becomes of the handshake */
    bool has_spoil;
    bool want_write; /* as set in epoll */
    struct buf in;
    bool continued;         /* "100 Continue" was sent for the request being read */
    struct record_times at; /* of the request being read; t_us 0: none yet */
    struct plan plan;
    size_t record; /* number of the request being answered */
    size_t sent;
    size_t next_wait;   /* index into the plan's waits */
    struct timer timer; /* set during a wait */
    bool dead;          /* freed at the end of the round: epoll may still name it */
};

struct server {
    struct host *host;
    struct tls *tls;
    int epoll;
    struct source signals;
    VEC(struct listener *) listeners;
    VEC(struct connection *) connections;
    struct timers timers;
    VEC(struct connection *) graves;
    bool stop;
};

/* ---- connections ---- */

static void watch(struct server *s, struct connection *c, bool want_write)
{
    struct epoll_event ev = {
        .events = EPOLLIN | EPOLLRDHUP | (want_write ? EPOLLOUT : 0),
        .data.ptr = c,
    };

    if (c->want_write == want_write)
        return;
    c->want_write = want_write;
    epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->source.fd, &ev);
}

static void close_connection(struct server *s, struct connection *c, bool reset)
{
    struct linger now = {.l_onoff = 1};

    if (c->dead)
        return;
    c->dead = true;
    timers_stop(&s->timers, &c->timer);
    if (reset)
        setsockopt(c->source.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    else if (c->ssl && c->state == PLAYING)
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    close(c->source.fd);
    buf_release(&c->in);
    plan_release(&c->plan);
    s->host->open--;
    vec_push(&s->graves, c);
}

static void bury(struct server *s)
{
    VEC_EACH(&s->graves, grave) {
        for (size_t i = 0; i < s->connections.len; i++) {
            if (s->connections.ptr[i] == *grave) {
                s->connections.ptr[i] = s->connections.ptr[--s->connections.len];
                break;
            }
        }
        free(*grave);
    }
    s->graves.len = 0;
}

static void plan_done(struct server *s, struct connection *c)
{
    enum plan_end end = c->plan.end;

    record_set_end(&s->host->record, c->record, RECORD_SENT);
    c->record = 0;
    switch (end) {
    case PLAN_SILENT:
        watch(s, c, false);
        c->state = SILENT;
        return;
    case PLAN_CLOSE:
    case PLAN_RESET:
        close_connection(s, c, end == PLAN_RESET);
        return;
    case PLAN_KEEP:
        break;
    }
    plan_release(&c->plan);
    watch(s, c, false);
    c->state = READING;
    c->at = (struct record_times){.answered_us = clock_mono_us()};
    c->continued = false;
}

/* Sends until the next wait, the end, or a full socket. */
static void play(struct server *s, struct connection *c)
{
    struct tape *out = &c->plan.out;

    for (;;) {
        bool pausing = c->next_wait < out->waits.len;
        size_t stop = pausing ? out->waits.ptr[c->next_wait].at : out->bytes.len;
        ssize_t n;

        if (c->sent < stop) {
            n = socket_write(c->source.fd, c->ssl,
                             str_make(out->bytes.ptr + c->sent, stop - c->sent));
            if (n < 0) {
                record_set_end(&s->host->record, c->record, RECORD_CLOSED);
                close_connection(s, c, false);
                return;
            }
            if (n == 0) {
                watch(s, c, true);
                return;
            }
            c->sent += (size_t)n;
            continue;
        }
        if (!pausing) {
            plan_done(s, c);
            return;
        }
        watch(s, c, false);
        timers_start(&s->timers, &c->timer, clock_mono_ms() + out->waits.ptr[c->next_wait++].ms);
        return;
    }
}

/* One request out of the buffer; false when none is complete. */
static bool take_request(struct server *s, struct connection *c)
{
    struct http_request r = {0};
    struct err err = {0};
    int complete;

    complete = http_parse(buf_str(&c->in), &r, &err);
    if (complete < 0) {
        fprintf(stderr, "fake: %s\n", err.text);
        close_connection(s, c, false);
    } else if (complete > 0) {
        c->state = PLAYING;
        c->sent = c->next_wait = 0;
        c->at.done_us = clock_mono_us();
        c->record = host_answer(s->host, &r, c->number, &c->at, &c->plan);
        buf_cut(&c->in, 0, r.used);
        play(s, c);
    } else if (r.wants_continue && !c->continued) {
        c->continued = true;
        socket_write(c->source.fd, c->ssl, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    }
    http_request_release(&r);
    return complete > 0;
}

/* All that are complete: a client may have sent the next one while the last was answered. */
static void take_requests(struct server *s, struct connection *c)
{
    do {
        if (c->dead || c->state != READING || !c->in.len)
            return;
        if (!c->at.t_us)
            c->at.t_us = clock_mono_us();
    } while (take_request(s, c));
}

static void read_requests(struct server *s, struct connection *c)
{
    for (;;) {
        char *room = buf_room(&c->in, 65536);
        ssize_t n = room ? socket_read(c->source.fd, c->ssl, room, 65536) : -1;

        if (n < 0) {
            close_connection(s, c, false);
            return;
        }
        if (n == 0)
            break;
        if (!c->at.t_us)
            c->at.t_us = clock_mono_us();
        buf_grown(&c->in, (size_t)n);
    }
    take_requests(s, c);
}

/* The client may leave, or speak out of turn, while it is being answered. */
static void watch_out(struct server *s, struct connection *c)
{
    char *room = buf_room(&c->in, 4096);
    ssize_t n = room ? socket_read(c->source.fd, c->ssl, room, 4096) : -1;

    if (n > 0) {
        buf_grown(&c->in, (size_t)n);
    } else if (n < 0) {
        record_set_end(&s->host->record, c->record, RECORD_CLOSED);
        close_connection(s, c, false);
    }
}

/* The client has spoken first, as it must; now break off or talk nonsense. */
static void spoil_handshake(struct server *s, struct connection *c)
{
    char hello[4096];

    if (read(c->source.fd, hello, sizeof(hello)) <= 0 || c->spoil != TLS_GARBAGE) {
        close_connection(s, c, false);
        return;
    }
    send(c->source.fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
    close_connection(s, c, false);
}

static void shake_hands(struct server *s, struct connection *c)
{
    int r;

    if (c->has_spoil && (c->spoil == TLS_CLOSE || c->spoil == TLS_GARBAGE)) {
        spoil_handshake(s, c);
        return;
    }
    r = SSL_accept(c->ssl);
    if (r == 1) {
        c->state = READING;
        watch(s, c, false);
        read_requests(s, c);
        return;
    }
    r = SSL_get_error(c->ssl, r);
    if (r == SSL_ERROR_WANT_READ || r == SSL_ERROR_WANT_WRITE) {
        watch(s, c, r == SSL_ERROR_WANT_WRITE);
        return;
    }
    close_connection(s, c, false);
}

static void silent_event(struct server *s, struct connection *c)
{
    char drop[4096];
    ssize_t n = recv(c->source.fd, drop, sizeof(drop), 0);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_connection(s, c, false);
}

static void connection_event(struct server *s, struct connection *c, uint32_t events)
{
    if (c->dead)
        return;
    switch (c->state) {
    case HANDSHAKE:
        shake_hands(s, c);
        break;
    case READING:
        read_requests(s, c);
        break;
    case PLAYING:
        if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            watch_out(s, c);
        if (!c->dead && (events & EPOLLOUT) && !c->timer.place)
            play(s, c);
        break;
    case SILENT:
        silent_event(s, c);
        break;
    }
    take_requests(s, c);
}

/* ---- accepting ---- */

static void start_connection(struct server *s, struct connection *c, bool tls,
                             const struct scenario_fault *fault)
{
    SSL_CTX *context;

    if (fault && (fault->kind == FAULT_REFUSE || !tls)) {
        close_connection(s, c, true);
        return;
    }
    if (!tls)
        return;
    c->state = HANDSHAKE;
    c->has_spoil = fault != NULL;
    if (fault) {
        c->spoil = fault->tls;
        if (fault->tls == TLS_HANG)
            c->state = SILENT;
    }
    context = fault ? tls_bad(s->tls, fault->tls) : tls_good(s->tls);
    c->ssl = SSL_new(context);
    if (!c->ssl || !SSL_set_fd(c->ssl, c->source.fd))
        BUG("SSL_new");
}

static void accept_all(struct server *s, const struct listener *l)
{
    for (;;) {
        int fd = accept4(l->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
        struct connection *c;
        int on = 1;

        if (fd < 0)
            return; /* EAGAIN; and what else there is concerns the client */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        c = mem_zalloc(sizeof(*c));
        c->source = (struct source){SOURCE_CONNECTION, fd};
        c->number = ++s->host->connections;
        c->state = READING;
        c->timer.owner = c;
        buf_init(&c->in, HTTP_MAX_HEAD + HTTP_MAX_BODY + 65536);
        if (++s->host->open > s->host->most_open)
            s->host->most_open = s->host->open;
        vec_push(&s->connections, c);
        ev.data.ptr = c;
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
        start_connection(s, c, l->tls, host_connection(s->host));
    }
}

static int watch_source(struct server *s, struct source *source, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, source->fd, &ev) < 0)
        return err_sys(err, ERR_IO, "epoll_ctl");
    return 0;
}

int server_listen(struct server *s, const char *address, int port, bool tls, int *ret_port,
                  struct err *err)
{
    int fd = socket_listen(address, port, ret_port, err);
    struct listener *l;

    if (fd < 0)
        return -1;
    l = mem_zalloc(sizeof(*l));
    *l = (struct listener){.source = {SOURCE_LISTENER, fd}, .tls = tls};
    vec_push(&s->listeners, l);
    return watch_source(s, &l->source, err);
}

/* ---- the loop ---- */

struct server *server_new(struct host *host, struct tls *tls, struct err *err)
{
    struct server *s = mem_zalloc(sizeof(*s));
    struct rlimit files;
    sigset_t ends;

    s->host = host;
    s->tls = tls;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    s->signals = (struct source){SOURCE_SIGNAL, signalfd(-1, &ends, SFD_CLOEXEC)};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (s->epoll < 0 || s->signals.fd < 0) {
        err_sys(err, ERR_IO, "cannot make the event loop");
    } else if (watch_source(s, &s->signals, err) == 0) {
        return s;
    }
    server_free(s);
    return NULL;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    VEC_EACH(&s->connections, it)
        close_connection(s, *it, false);
    bury(s);
    VEC_EACH(&s->listeners, it) {
        close((*it)->source.fd);
        free(*it);
    }
    vec_release(&s->listeners);
    vec_release(&s->connections);
    timers_release(&s->timers);
    vec_release(&s->graves);
    fd_closep(&s->signals.fd);
    fd_closep(&s->epoll);
    free(s);
}

/* Continues exchanges that have waited long enough; returns how long until the next one, -1:
 * none. */
static int run_timers(struct server *s)
{
    int64_t now = clock_mono_ms();
    struct timer *due;

    for (;;) {
        due = timers_first(&s->timers);
        if (!due)
            return -1;
        if (due->deadline_ms > now)
            return (int)(due->deadline_ms - now);
        timers_stop(&s->timers, due);
        play(s, due->owner);
        take_requests(s, due->owner);
    }
}

int server_run(struct server *s, struct err *err)
{
    struct epoll_event events[256];

    while (!s->stop) {
        int n = epoll_wait(s->epoll, events, ARRAY_LEN(events), run_timers(s));

        if (n < 0 && errno != EINTR)
            return err_sys(err, ERR_IO, "epoll_wait");
        for (int i = 0; i < n; i++) {
            struct source *source = events[i].data.ptr;

            if (source->kind == SOURCE_LISTENER)
                accept_all(s, (struct listener *)source);
            else if (source->kind == SOURCE_CONNECTION)
                connection_event(s, (struct connection *)source, events[i].events);
            else
                s->stop = true;
        }
        bury(s);
    }
    return 0;
}
