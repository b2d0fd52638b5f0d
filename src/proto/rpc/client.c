/*
 * client: connections, views and the mail between the loop and the sessions.
 */
#include "proto/rpc/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/event.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "goal/goal.h"
#include "host/asks.h"
#include "host/events/feed.h"
#include "host/socket/server.h"
#include "json/json.h"
#include "slash/slash.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define VIEW_GOAL_TRIES 100
#define CLIENT_LAST_MS 1500 /* for pending answers once the input has ended */

struct service {
    struct service_spec spec;
    struct server *server;
    struct live_table *table;
    VEC(struct client *) clients;
};

struct live_table *client_table(const struct client *c)
{
    return c->service->table;
}

struct cancel *client_cancel(const struct client *c)
{
    return c->service->spec.cancel;
}

const struct live_table_spec *client_spec(const struct client *c)
{
    return &c->service->spec.table;
}

static const struct protocol *protocol_of(const struct client *c)
{
    return c->service->spec.protocol;
}

void client_ref(struct client *c)
{
    c->refs++;
}

void client_unref(struct client *c)
{
    if (--c->refs)
        return;
    protocol_of(c)->client_free(c->own);
    vec_release(&c->views);
    mem_freep(&c);
}

struct client_view *client_view(const struct client *c, struct str session)
{
    VEC_EACH(&c->views, v) {
        if (str_is(session, (*v)->live->id))
            return *v;
    }
    return NULL;
}

void client_each(const struct client *c, void (*fn)(struct client *c, void *arg), void *arg)
{
    VEC_EACH(&c->service->clients, it) {
        fn(*it, arg);
    }
}

/* ---- Views ---- */

struct client_view *view_new(struct client *c, struct live *l, uint64_t from)
{
    struct client_view *v = mem_zalloc(sizeof(*v));
    struct mailbox *mailbox = server_mailbox(c->service->server);

    v->client = c;
    v->live = l;
    l->users++;
    v->observer = feed_observe(host_feed(l->host), from, OBSERVER_CHILDREN, mailbox);
    v->front = asks_join(host_asks(l->host), mailbox);
    v->own = protocol_of(c)->view_new(v);
    vec_push(&c->views, v);
    return v;
}

void view_free(struct client_view *v)
{
    struct client *c = v->client;

    for (size_t i = 0; i < c->views.len; i++) {
        if (c->views.ptr[i] == v)
            c->views.ptr[i] = c->views.ptr[--c->views.len];
    }
    ask_front_leave(v->front);
    observer_free(v->observer);
    while (v->asked.len) {
        struct view_ask it = v->asked.ptr[--v->asked.len];

        rpc_take_back(c->rpc, it.request);
    }
    VEC_EACH(&v->put, m) {
        mail_free(&(*m)->mail);
    }
    protocol_of(c)->view_free(v->own);
    v->live->users--;
    vec_release(&v->put);
    vec_release(&v->asked);
    mem_freep(&v);
}

static void view_put_asks(struct client_view *v)
{
    for (size_t i = 0; i < v->put.len; i++) {
        struct ask_mail *m = v->put.ptr[i];

        if (asks_is_waiting(host_asks(v->live->host), m->id))
            protocol_of(v->client)->ask(v, m->id, m->ask);
        mail_free(&m->mail);
    }
    v->put.len = 0;
}

uint64_t view_goal(struct live *l, struct buf *ret)
{
    struct feed *feed = host_feed(l->host);

    for (int tries = 0;; tries++) {
        uint64_t next = feed_next(feed);

        buf_clear(ret);
        goal_thread_json(host_goal(l->host), ret);
        /* Something has happened meanwhile: is it older than the goal or newer? */
        if (feed_next(feed) == next || tries == VIEW_GOAL_TRIES)
            return next;
    }
}

void view_pump_before(struct client_view *v, uint64_t seq)
{
    while (observer_has_before(v->observer, seq)) {
        struct event *e = NULL;
        uint64_t at;

        if (observer_take(v->observer, &e, &at) != OBSERVED_EVENT)
            continue;
        protocol_of(v->client)->event(v, e);
        event_unref(e);
    }
}

void view_pump(struct client_view *v)
{
    while (!v->is_held && !v->live->holds && server_conn_unsent(v->client->conn) < SERVER_BUSY) {
        struct event *e = NULL;
        uint64_t seq;

        switch (observer_take(v->observer, &e, &seq)) {
        case OBSERVED_EVENT:
            protocol_of(v->client)->event(v, e);
            event_unref(e);
            break;
        case OBSERVED_GAP:
            break;
        case OBSERVED_NOTHING:
        case OBSERVED_DROPPED: /* only remote ones are */
            view_put_asks(v);
            return;
        }
    }
}

void view_asked(struct client_view *v, uint64_t id, int64_t request)
{
    vec_push(&v->asked, ((struct view_ask){id, request}));
}

uint64_t view_take_asked(struct client_view *v, int64_t request)
{
    for (size_t i = 0; i < v->asked.len; i++) {
        uint64_t id = v->asked.ptr[i].id;

        if (v->asked.ptr[i].request != request)
            continue;
        v->asked.ptr[i] = v->asked.ptr[--v->asked.len];
        return id;
    }
    return 0;
}

void view_answer(struct client_view *v, uint64_t id, struct ask_answer *answer)
{
    if (!asks_answer(host_asks(v->live->host), v->front, id, answer))
        log_debug("rpc", "an answer came too late");
}

/* Answered elsewhere, or no longer needed. */
static void view_withdraw(struct client_view *v, uint64_t id)
{
    for (size_t i = 0; i < v->put.len; i++) {
        if (v->put.ptr[i]->id != id)
            continue;
        mail_free(&v->put.ptr[i]->mail);
        memmove(&v->put.ptr[i], &v->put.ptr[i + 1],
                (v->put.len - i - 1) * sizeof(struct ask_mail *));
        v->put.len--;
        return;
    }
    for (size_t i = 0; i < v->asked.len; i++) {
        int64_t request = v->asked.ptr[i].request;

        if (v->asked.ptr[i].id != id)
            continue;
        v->asked.ptr[i] = v->asked.ptr[--v->asked.len];
        rpc_take_back(v->client->rpc, request);
        if (protocol_of(v->client)->withdrawn)
            protocol_of(v->client)->withdrawn(v, request);
        return;
    }
}

void view_take_back_asks(struct client_view *v)
{
    size_t i = 0;

    while (i < v->asked.len) {
        uint64_t id = v->asked.ptr[i].id;

        if (asks_is_waiting(host_asks(v->live->host), id))
            i++;
        else
            view_withdraw(v, id);
    }
}

/* ---- Mail about a view ---- */

static void view_mail_free(struct mail *m)
{
    struct view_mail *v = (struct view_mail *)m;

    v->release(v);
}

const struct mail_kind view_mail_kind = {"about a view", view_mail_free};

uint64_t view_number(const struct client_view *v)
{
    return ask_front_number(v->front);
}

struct mailbox *client_mailbox(const struct client *c)
{
    return server_mailbox(c->service->server);
}

/* ---- Calls that take a chore ---- */

static void call_chore_done(struct chore *e, void *arg)
{
    struct call_chore *c = (struct call_chore *)e;
    enum rpc_code code = c->code ? c->code(&c->err) : RPC_INTERNAL;

    (void)arg;
    if (c->err.code && c->failed)
        c->failed(c);
    else if (c->err.code)
        rpc_refuse(TAKE_PTR(c->call), code, str_of(c->err.text), STR(""));
    else if (c->answer)
        c->answer(c);
    else
        rpc_answer(TAKE_PTR(c->call), buf_str(&c->result));
}

static void call_chore_free(struct chore *e)
{
    struct call_chore *c = (struct call_chore *)e;

    if (c->release)
        c->release(c);
    if (c->call)
        rpc_refusef(c->call, RPC_INTERNAL, "it could not be done");
    buf_release(&c->result);
    client_unref(c->client);
    mem_freep(&c);
}

static void call_chore_run(struct chore *e)
{
    struct call_chore *c = (struct call_chore *)e;

    c->run(c);
}

void *call_chore_new(size_t size, struct client *client, struct rpc_call *call, struct live *l,
                     void (*run)(struct call_chore *c))
{
    struct call_chore *c = chore_new(size, call_chore_run, call_chore_done, call_chore_free);

    client_ref(client);
    c->run = run;
    c->client = client;
    c->call = call;
    c->live = l;
    buf_init(&c->result, RPC_MAX_OUT);
    return c;
}

void call_chore_start(void *chore)
{
    struct call_chore *c = chore;

    if (c->live)
        live_do(c->live, chore);
    else
        live_do_beside(client_table(c->client), chore);
}

/* ---- Connections ---- */

static void on_send(void *arg, struct str line)
{
    struct client *c = arg;

    server_conn_send(c->conn, line);
}

static void on_request(void *arg, struct rpc_call *call)
{
    struct client *c = arg;

    protocol_of(c)->request(c, call);
}

static void on_notified(void *arg, struct str method, const struct json *params)
{
    struct client *c = arg;

    protocol_of(c)->notified(c, method, params);
}

static void on_taken_back(void *arg, struct rpc_call *call)
{
    struct client *c = arg;

    if (protocol_of(c)->taken_back)
        protocol_of(c)->taken_back(c, call);
}

static void *on_open(struct server_conn *conn, void *arg)
{
    struct service *s = arg;
    struct client *c = mem_zalloc(sizeof(*c));
    struct rpc_spec spec = {
        .is_bare = s->spec.protocol->is_bare,
        .send = on_send,
        .request = on_request,
        .notified = on_notified,
        .taken_back = on_taken_back,
        .arg = c,
    };

    c->service = s;
    c->conn = conn;
    c->refs = 1;
    c->rpc = rpc_new(&spec);
    c->own = s->spec.protocol->client_new(c);
    vec_push(&s->clients, c);
    return c;
}

/* All that it has begun ended: nothing more will be said to it. */
static void client_end_when_done(struct client *c)
{
    if (c->is_ended && !rpc_open_calls(c->rpc))
        server_conn_end(c->conn, /*within_ms=*/CLIENT_LAST_MS);
}

static void client_pump(struct client *c)
{
    for (size_t i = 0; i < c->views.len; i++)
        view_pump(c->views.ptr[i]);
    client_end_when_done(c);
}

/* Browsers, and clients that expect a WebSocket here, get an answer that they understand. */
static bool is_http(struct str line)
{
    return str_ends(str_trim(line), STR(" HTTP/1.1")) || str_ends(str_trim(line), STR(" HTTP/1.0"));
}

static void refuse_http(struct client *c)
{
    static const char text[] = "this socket takes JSON-RPC, one message a line, without HTTP\n";
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);

    buf_addf(&out,
             "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n%s",
             strlen(text), text);
    server_conn_send(c->conn, buf_str(&out));
    server_conn_end(c->conn, CLIENT_LAST_MS);
}

static void on_line(void *peer, struct str line)
{
    struct client *c = peer;

    if (c->service->spec.socket && is_http(line)) {
        refuse_http(c);
        return;
    }
    rpc_line(c->rpc, line);
    client_pump(c);
}

static void on_ready(void *peer)
{
    client_pump(peer);
}

static void on_mail(void *peer, struct mail *m)
{
    (void)peer;
    mail_free(m);
}

static void on_ended(void *peer)
{
    struct client *c = peer;

    c->is_ended = true;
    protocol_of(c)->ended(c);
    if (rpc_open_calls(c->rpc))
        server_conn_end(c->conn, CLIENT_LAST_MS);
    client_end_when_done(c);
}

static void on_close(void *peer)
{
    struct client *c = peer;
    struct service *s = c->service;

    if (!c->is_ended)
        protocol_of(c)->ended(c);
    c->is_ended = c->is_closed = true;
    while (c->views.len) {
        struct live *l = c->views.ptr[0]->live;

        view_free(c->views.ptr[0]);
        if (!l->users)
            live_close(l, /*fn=*/NULL, /*arg=*/NULL);
    }
    rpc_close(c->rpc);
    for (size_t i = 0; i < s->clients.len; i++) {
        if (s->clients.ptr[i] == c)
            s->clients.ptr[i] = s->clients.ptr[--s->clients.len];
    }
    client_unref(c);
}

/* ---- Mail ---- */

static struct client_view *find_view(struct service *s, const struct observer *observer,
                                     uint64_t front)
{
    VEC_EACH(&s->clients, c) {
        VEC_EACH(&(*c)->views, v) {
            if (observer ? (*v)->observer == observer : ask_front_number((*v)->front) == front)
                return *v;
        }
    }
    return NULL;
}

/* True: it was kept. */
static bool take_ask(struct service *s, struct ask_mail *m)
{
    struct client_view *v = find_view(s, /*observer=*/NULL, m->front);

    if (!v)
        return false;
    if (m->what == ASK_WITHDRAWN) {
        view_withdraw(v, m->id);
        return false;
    }
    vec_push(&v->put, m);
    view_pump(v);
    return true;
}

static void on_post(void *arg, struct mail *m)
{
    struct service *s = arg;

    if (m->kind == &chore_mail_kind) {
        live_chore(s->table, m);
    } else if (m->kind == &observer_mail_kind) {
        const struct observer *observer = ((struct observer_mail *)m)->observer;
        struct client_view *v = find_view(s, observer, /*front=*/0);

        if (v)
            view_pump(v);
        else
            live_observed(s->table, observer);
        mail_free(m);
    } else if (m->kind == &view_mail_kind) {
        struct view_mail *about = (struct view_mail *)m;
        struct client_view *v = find_view(s, /*observer=*/NULL, about->view);

        if (v)
            about->run(v, about);
        mail_free(m);
    } else if (m->kind != &ask_mail_kind || !take_ask(s, (struct ask_mail *)m)) {
        mail_free(m);
    }
    VEC_EACH(&s->clients, c) {
        client_end_when_done(*c);
    }
}

static void on_live_closed(void *arg, const char *id)
{
    struct service *s = arg;

    VEC_EACH(&s->clients, c) {
        if (s->spec.protocol->closed)
            s->spec.protocol->closed(*c, str_of(id));
    }
}

/* ---- Life ---- */

static const struct speaker service_speaker = {
    .open = on_open,
    .line = on_line,
    .mail = on_mail,
    .ready = on_ready,
    .close = on_close,
    .ended = on_ended,
    .post = on_post,
};

/* A socket of this name that does not answer is replaced. */
static int service_bind(const char *path, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CLEANUP(fd_closep) int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat st;
    int r;

    if (strlen(path) >= sizeof(at.sun_path))
        return err_set(err, ERR_BAD_INPUT, "'%s' is too long for a socket", path);
    memcpy(at.sun_path, path, strlen(path));
    if (fd < 0 || other < 0)
        return err_sys(err, ERR_IO, "cannot make a socket");
    if (connect(other, (struct sockaddr *)&at, sizeof(at)) == 0 || errno == EAGAIN)
        return err_set(err, ERR_BUSY, "another process listens on '%s'", path);
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        (void)unlink(path);
    /* The socket's name gets the mode of the descriptor: no other user can connect to it, from its
     * first moment on. */
    if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        chmod(path, 0600) < 0 || listen(fd, 16) < 0)
        return err_sys(err, ERR_IO, "cannot listen on '%s'", path);
    r = fd;
    fd = -1;
    return r;
}

int service_run(const struct service_spec *spec, struct err *err)
{
    struct service s = {.spec = *spec};
    struct server_spec server = {
        .speaker = &service_speaker,
        .arg = &s,
        .max_line = RPC_MAX_LINE,
        .max_queue = BUF_NO_LIMIT,
        .stop = spec->cancel,
    };
    CLEANUP(fd_closep) int fd = -1;

    if (spec->socket) {
        fd = service_bind(spec->socket, err);
        if (fd < 0)
            return -1;
    }
    s.server = server_new(&server);
    s.spec.table.back = server_mailbox(s.server);
    s.spec.table.closed = on_live_closed;
    s.spec.table.closed_arg = &s;
    s.table = live_table_new(&s.spec.table);
    if (fd >= 0)
        server_listen(s.server, fd);
    else
        server_attach(s.server, STDIN_FILENO, STDOUT_FILENO);
    server_run(s.server);
    live_table_free(s.table);
    server_free(s.server);
    vec_release(&s.clients);
    if (fd >= 0)
        (void)unlink(spec->socket);
    return 0;
}
