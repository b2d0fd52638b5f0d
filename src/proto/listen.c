/*
 * listen: a client of the control socket. The socket's thread.
 */
#include "proto/listen.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "host/host.h"
#include "host/socket/server.h"
#include "host/socket/socket.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"

static void on_send(void *arg, struct str lines)
{
    server_conn_send(arg, lines);
}

/* Our standard error is not read here: the client itself gets the message. */
static void on_complain(void *arg, const char *text)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(64 << 10);
    struct jw w;

    jw_init(&w, &line, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "system");
    jw_kcstr(&w, "subtype", "informational");
    jw_kstr(&w, "content", str_clip(str_of(text), 8000));
    jw_kcstr(&w, "level", "error");
    jw_object_end(&w);
    buf_addc(&line, '\n');
    server_conn_send(arg, buf_str(&line));
}

struct listen {
    struct socket *socket;
    VEC(struct peer_session *) sessions; /* the socket's thread's, except the first at the start */
};

/* A connection, and who it is to each session that it has spoken to. */
struct rpc_listener {
    struct listen *all;
    struct server_conn *conn;
    bool is_named; /* it has named a session */
    VEC(struct peer *) peers;
    VEC(struct peer_session *) sessions; /* of the peer with the same index */
};

static struct peer *listener_peer(struct rpc_listener *l, struct peer_session *session)
{
    struct peer_spec spec = {
        .session = session,
        .mailbox = server_conn_mailbox(l->conn),
        .looks_only = server_conn_is_own(l->conn),
        .is_named = &l->is_named,
        .send = on_send,
        .complain = on_complain,
        .arg = l->conn,
    };

    for (size_t i = 0; i < l->peers.len; i++) {
        if (l->sessions.ptr[i] == session)
            return l->peers.ptr[i];
    }
    vec_push(&l->sessions, session);
    vec_push(&l->peers, peer_new(&spec));
    return l->peers.ptr[l->peers.len - 1];
}

static void pump(struct rpc_listener *l)
{
    bool more = true;

    while (more && server_conn_unsent(l->conn) < SERVER_BUSY) {
        more = false;
        VEC_EACH(&l->peers, p) {
            more = peer_pump(*p) || more;
        }
    }
}

static void *on_open(struct server_conn *c, void *arg)
{
    struct rpc_listener *l = mem_zalloc(sizeof(*l));

    l->all = arg;
    l->conn = c;
    return l;
}

/* Which session a line is for; NULL: it is a request for one that is not here, which is answered.
 */
static struct peer_session *line_session(struct rpc_listener *l, struct str line)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT(8192);
    struct peer_session *first = l->all->sessions.len ? l->all->sessions.ptr[0] : NULL;
    struct err err = {0};
    const struct json *v;
    struct str id;

    if (!line.ptr || !str_has(line, STR("\"session_id\"")) ||
        json_parse(&arena, line, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return first;
    id = json_get_str(v, "session_id");
    VEC_EACH(&l->all->sessions, s) {
        if (!str_is(id, host_session((*s)->host)))
            continue;
        l->is_named = true;
        return *s;
    }
    if (!id_is_uuid(id) || !str_is(json_get_str(v, "type"), "control_request"))
        return first;
    err_set(&err, ERR_NOT_FOUND, "this session is not open in this process");
    control_respond(json_get_str(v, "request_id"), STR(""), &err, &out);
    server_conn_send(l->conn, buf_str(&out));
    return NULL;
}

static void on_line(void *arg, struct str line)
{
    struct rpc_listener *l = arg;
    struct peer_session *session = line_session(l, line);

    if (session)
        peer_line(listener_peer(l, session), line);
    pump(l);
}

static void on_mail(void *arg, struct mail *m)
{
    struct rpc_listener *l = arg;
    bool is_line = m->kind == &line_mail_kind;

    if (!peer_is_withdrawal(m))
        pump(l); /* what a question is about comes before the question */
    for (size_t i = 0; i < l->peers.len && !(is_line && i); i++)
        peer_hear(l->peers.ptr[i], m);
    mail_free(m);
}

static void on_ready(void *arg)
{
    pump(arg);
}

static void on_close(void *arg)
{
    struct rpc_listener *l = arg;

    VEC_EACH(&l->peers, p) {
        peer_stop_asks(*p);
        peer_free(*p);
    }
    vec_release(&l->peers);
    vec_release(&l->sessions);
    mem_freep(&l);
}

static const struct speaker listen_speaker = {
    .open = on_open, .line = on_line, .mail = on_mail, .ready = on_ready, .close = on_close};

int listen_start(struct peer_session *session, struct listen **ret, struct err *err)
{
    struct listen *l = mem_zalloc(sizeof(*l));

    vec_push(&l->sessions, session);
    if (socket_start(conf_home(host_conf(session->host)), &listen_speaker, l, &l->socket, err) <
        0) {
        vec_release(&l->sessions);
        mem_freep(&l);
        return -1;
    }
    *ret = l;
    return 0;
}

/* One that comes or goes, on the socket's thread. */
struct listen_change {
    struct listen *listen;
    struct peer_session *session;
};

static void listen_come(void *arg)
{
    struct listen_change *c = arg;

    vec_push(&c->listen->sessions, c->session);
}

void listen_add(struct listen *l, struct peer_session *session)
{
    struct listen_change c = {l, session};

    server_do(socket_server(l->socket), listen_come, &c);
}

static void listener_forget(void *peer, void *arg)
{
    struct rpc_listener *l = peer;
    size_t kept = 0;

    for (size_t i = 0; i < l->peers.len; i++) {
        if (l->sessions.ptr[i] == arg) {
            peer_stop_asks(l->peers.ptr[i]);
            peer_free(l->peers.ptr[i]);
            continue;
        }
        l->peers.ptr[kept] = l->peers.ptr[i];
        l->sessions.ptr[kept++] = l->sessions.ptr[i];
    }
    l->peers.len = l->sessions.len = kept;
}

static void listen_go(void *arg)
{
    struct listen_change *c = arg;
    size_t kept = 0;

    VEC_EACH(&c->listen->sessions, s) {
        if (*s != c->session)
            c->listen->sessions.ptr[kept++] = *s;
    }
    c->listen->sessions.len = kept;
    server_each(socket_server(c->listen->socket), listener_forget, c->session);
}

void listen_remove(struct listen *l, struct peer_session *session)
{
    struct listen_change c = {l, session};

    server_do(socket_server(l->socket), listen_go, &c);
}

void listen_stop(struct listen *l)
{
    if (!l)
        return;
    socket_stop(l->socket);
    vec_release(&l->sessions);
    mem_freep(&l);
}

struct ear {
    struct peer_session session;
    struct listen *listen;
};

struct ear *ear_new(struct host *h, struct slash *slash)
{
    struct ear *e = mem_zalloc(sizeof(*e));
    struct stream_json_options show = {0};
    struct err err = {0};

    peer_session_init(&e->session, h, slash, &show);
    if (listen_start(&e->session, &e->listen, &err) == 0)
        return e;
    log_debug("proto", "no control socket: %s", err.text);
    ear_free(e);
    return NULL;
}

void ear_free(struct ear *e)
{
    if (!e)
        return;
    listen_stop(e->listen);
    peer_session_release(&e->session); /* without an owner there are no hooks for the host */
    mem_freep(&e);
}
