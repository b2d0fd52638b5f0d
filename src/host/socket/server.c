/*
 * server: the poll() loop and its connections.
 */
#include "host/socket/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "host/socket/conn.h"
#include "proc/descent.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"

#define SERVER_SHORT_MS 100 /* until descriptors may be available again */

struct server_conn {
    struct conn lines;
    int fd; /* closed here; -1 = the descriptors belong to the caller */
    struct mailbox *mailbox;
    void *peer;
    bool busy; /* had too much unsent output; the speaker waits for `ready` */
    bool over;
    bool ended;         /* it sends no more; pending output is still written */
    bool ends;          /* and no further output is accepted */
    int64_t give_up_ms; /* closed then, even with unsent output; -1 = never */
    bool is_own;
};

struct server {
    struct server_spec spec;
    int fd;        /* listening; -1 = none */
    bool is_short; /* no free descriptors: new connections wait */
    struct mailbox *orders;
    VEC(struct server_conn *) conns;
};

/* A request to run on the thread. */
struct server_order {
    struct inquiry inquiry;
    void (*fn)(void *arg);
    void *arg;
};

void server_do(struct server *s, void (*fn)(void *arg), void *arg)
{
    struct server_order o = {.fn = fn, .arg = arg};

    inquiry_send(&o.inquiry, s->orders);
    (void)inquiry_wait(&o.inquiry, /*cancel=*/NULL, /*err=*/NULL);
}

void server_each(struct server *s, void (*fn)(void *peer, void *arg), void *arg)
{
    VEC_EACH(&s->conns, c) {
        fn((*c)->peer, arg);
    }
}

static void server_obey(struct server *s)
{
    struct mail *m = mailbox_try(s->orders);

    for (; m; m = mailbox_try(s->orders)) {
        struct server_order *o = (struct server_order *)inquiry_of(m);

        if (!o) {
            s->spec.speaker->post(s->spec.arg, m);
            continue;
        }
        o->fn(o->arg);
        mail_free(m);
        inquiry_answer(&o->inquiry, 0);
    }
}

struct mailbox *server_mailbox(struct server *s)
{
    return s->orders;
}

void server_conn_send(struct server_conn *c, struct str text)
{
    struct err err = {0};

    if (c->over)
        return;
    if (conn_send(&c->lines, text, &err) < 0) {
        log_debug("server", "connection closed: %s", err.text);
        c->over = true;
        return;
    }
    /* Usually everything is sent here, without another round of poll(). */
    if (c->lines.is_socket && conn_unsent(&c->lines) == text.len && conn_flush(&c->lines, &err) < 0)
        c->over = true;
    /* Noted here, not when the round looks at it: much of it may be written before, and the speaker
     * that has stopped would wait for a `ready` that never comes. */
    if (conn_unsent(&c->lines) >= SERVER_BUSY)
        c->busy = true;
}

bool server_conn_is_own(const struct server_conn *c)
{
    return c->is_own;
}

size_t server_conn_unsent(const struct server_conn *c)
{
    return conn_unsent(&c->lines);
}

struct mailbox *server_conn_mailbox(struct server_conn *c)
{
    return c->mailbox;
}

void server_conn_end(struct server_conn *c, int64_t within_ms)
{
    c->ends = true;
    if (c->give_up_ms < 0)
        c->give_up_ms = clock_mono_ms() + within_ms;
}

static void conn_free(struct server *s, struct server_conn *c)
{
    s->spec.speaker->close(c->peer);
    mailbox_close(c->mailbox);
    mailbox_unref(c->mailbox);
    conn_release(&c->lines);
    fd_closep(&c->fd);
    mem_freep(&c);
}

static struct server_conn *conn_new(struct server *s, int in, int out)
{
    struct server_conn *c = mem_zalloc(sizeof(*c));
    struct stat st;

    c->fd = -1;
    c->give_up_ms = -1;
    c->mailbox = mailbox_new();
    conn_init(&c->lines, in, out, s->spec.max_line, s->spec.max_queue);
    c->lines.is_socket = fstat(out, &st) == 0 && S_ISSOCK(st.st_mode);
    vec_push(&s->conns, c);
    return c;
}

/* The pid of the peer; false if it is another user. */
static bool server_who(int fd, pid_t *ret)
{
    struct ucred who;
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 || who.uid != geteuid())
        return false;
    *ret = who.pid;
    return true;
}

static void server_accept(struct server *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct server_conn *c;
    pid_t pid;

    if (fd < 0) {
        s->is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return;
    }
    if (s->conns.len == SERVER_MAX_CONNS || !server_who(fd, &pid)) {
        log_debug("server", "connection refused");
        fd_closep(&fd);
        return;
    }
    c = conn_new(s, fd, fd);
    c->fd = fd;
    c->is_own = descent_is_agents(pid);
    c->peer = s->spec.speaker->open(c, s->spec.arg);
}

struct line_to {
    struct server *server;
    struct server_conn *conn;
};

static void server_line(struct str line, void *arg)
{
    const struct line_to *to = arg;

    to->server->spec.speaker->line(to->conn->peer, line);
}

static void server_read(struct server *s, struct server_conn *c)
{
    struct line_to to = {s, c};
    struct err err = {0};
    int r = conn_read(&c->lines, server_line, &to, &err);

    c->ended = r == 0;
    c->over = c->over || r < 0;
    if (r == 0 && s->spec.speaker->ended)
        s->spec.speaker->ended(c->peer);
    else if (r == 0)
        c->ends = true;
}

static void server_serve(struct server *s, struct server_conn *c, short in, short out)
{
    struct err err = {0};
    short failed = POLLERR | (c->lines.in == c->lines.out ? 0 : POLLHUP);

    if ((out & POLLOUT) && conn_flush(&c->lines, &err) < 0)
        c->over = true;
    if (!c->over && !c->ended && (in & (POLLIN | POLLHUP | POLLERR)))
        server_read(s, c);
    /* A pipe without a reader reports POLLERR even if no event is requested. */
    if ((out & failed) || ((in & POLLHUP) && c->ended && c->fd >= 0))
        c->over = true;
}

static void server_mail(struct server *s, struct server_conn *c)
{
    struct mail *m = mailbox_try(c->mailbox);

    for (; m; m = mailbox_try(c->mailbox))
        s->spec.speaker->mail(c->peer, m);
    if (c->busy && conn_unsent(&c->lines) < SERVER_BUSY / 2) {
        c->busy = false;
        s->spec.speaker->ready(c->peer);
    }
}

static bool conn_is_over(const struct server_conn *c)
{
    return c->over || (c->ends && !conn_unsent(&c->lines)) ||
           (c->give_up_ms >= 0 && clock_mono_ms() >= c->give_up_ms);
}

/* Time until the first ending connection is given up; -1 = none. */
static int server_timeout(const struct server *s)
{
    int64_t until = INT64_MAX;
    int64_t left;

    VEC_EACH(&s->conns, c) {
        if ((*c)->give_up_ms >= 0 && (*c)->give_up_ms < until)
            until = (*c)->give_up_ms;
    }
    if (until == INT64_MAX)
        return s->is_short ? SERVER_SHORT_MS : -1;
    left = until - clock_mono_ms();
    return left > 0 ? (int)left : 0;
}

static void server_round(struct server *s)
{
    struct pollfd fds[3 + 3 * SERVER_MAX_CONNS];
    size_t count = s->conns.len;
    int timeout_ms = server_timeout(s);
    bool is_short = s->is_short;

    s->is_short = false;
    fds[0] = (struct pollfd){.fd = cancel_fd(s->spec.stop), .events = POLLIN};
    /* A connection that cannot be accepted would be reported again at once. */
    fds[1] = (struct pollfd){.fd = is_short ? -1 : s->fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = mailbox_fd(s->orders), .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        struct server_conn *c = s->conns.ptr[i];
        bool hears = !c->ended || c->fd >= 0;
        short events = conn_unsent(&c->lines) ? POLLOUT : 0;

        fds[3 + 3 * i] =
            (struct pollfd){.fd = hears ? c->lines.in : -1, .events = c->ended ? 0 : POLLIN};
        fds[4 + 3 * i] = (struct pollfd){.fd = c->lines.out, .events = events};
        fds[5 + 3 * i] = (struct pollfd){.fd = mailbox_fd(c->mailbox), .events = POLLIN};
    }
    if (poll(fds, 3 + 3 * count, timeout_ms) < 0)
        return; /* EINTR */
    server_obey(s);
    for (size_t i = 0; i < count; i++) {
        if (fds[3 + 3 * i].revents || fds[4 + 3 * i].revents)
            server_serve(s, s->conns.ptr[i], fds[3 + 3 * i].revents, fds[4 + 3 * i].revents);
        server_mail(s, s->conns.ptr[i]);
    }
    for (size_t i = count; i > 0; i--) {
        struct server_conn *c = s->conns.ptr[i - 1];

        if (!conn_is_over(c))
            continue;
        conn_free(s, c);
        s->conns.ptr[i - 1] = s->conns.ptr[--s->conns.len];
    }
    if (fds[1].revents)
        server_accept(s);
}

void server_run(struct server *s)
{
    while (!cancel_is_set(s->spec.stop) && (s->fd >= 0 || s->conns.len))
        server_round(s);
    VEC_EACH(&s->conns, it) {
        struct err err = {0};

        (void)conn_flush(&(*it)->lines, &err); /* sends as much as possible */
        conn_free(s, *it);
    }
    vec_release(&s->conns);
}

struct server *server_new(const struct server_spec *spec)
{
    struct server *s = mem_zalloc(sizeof(*s));

    s->spec = *spec;
    s->fd = -1;
    s->orders = mailbox_new();
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    mailbox_close(s->orders);
    mailbox_unref(s->orders);
    mem_freep(&s);
}

void server_listen(struct server *s, int fd)
{
    s->fd = fd;
}

void server_attach(struct server *s, int in, int out)
{
    struct server_conn *c = conn_new(s, in, out);

    c->peer = s->spec.speaker->open(c, s->spec.arg);
}
