/*
 * listen: a client of the control socket. The socket's thread.
 */
#include "proto/listen.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/host.h"
#include "host/socket.h"
#include "json/jw.h"
#include "proto/peer.h"

static void on_send(void *arg, struct str lines)
{
    socket_conn_send(arg, lines);
}

/* Nobody looks at our standard error here: the client itself is told. */
static void on_complain(void *arg, const char *text)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(8192);
    struct jw w;

    jw_init(&w, &line, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "system");
    jw_kcstr(&w, "subtype", "informational");
    jw_kcstr(&w, "content", text);
    jw_kcstr(&w, "level", "error");
    jw_object_end(&w);
    buf_addc(&line, '\n');
    socket_conn_send(arg, buf_str(&line));
}

struct listener {
    struct peer *peer;
    struct socket_conn *conn;
};

static void pump(struct listener *l)
{
    while (socket_conn_unsent(l->conn) < SOCKET_BUSY && peer_pump(l->peer))
        continue;
}

static void *on_open(struct socket_conn *c, void *arg)
{
    struct listener *l = mem_zalloc(sizeof(*l));
    struct peer_spec spec = {
        .session = arg,
        .mailbox = socket_conn_mailbox(c),
        .looks_only = socket_conn_is_own(c),
        .send = on_send,
        .complain = on_complain,
        .arg = c,
    };

    l->conn = c;
    l->peer = peer_new(&spec);
    return l;
}

static void on_line(void *arg, struct str line)
{
    struct listener *l = arg;

    peer_line(l->peer, line);
    pump(l);
}

static void on_mail(void *arg, struct mail *m)
{
    struct listener *l = arg;

    if (!peer_is_withdrawal(m))
        pump(l); /* what a question is about comes before the question */
    peer_mail(l->peer, m);
}

static void on_ready(void *arg)
{
    pump(arg);
}

static void on_close(void *arg)
{
    struct listener *l = arg;

    peer_stop_asks(l->peer);
    peer_free(l->peer);
    mem_freep(&l);
}

static const struct socket_speaker listen_speaker = {on_open, on_line, on_mail, on_ready, on_close};

int listen_start(struct peer_session *session, struct socket **ret, struct err *err)
{
    return socket_start(conf_home(host_conf(session->host)), &listen_speaker, session, ret, err);
}

struct ear {
    struct peer_session session;
    struct socket *socket;
};

struct ear *ear_new(struct host *h, struct slash *slash)
{
    struct ear *e = mem_zalloc(sizeof(*e));
    struct stream_json_options show = {0};
    struct err err = {0};

    peer_session_init(&e->session, h, slash, &show);
    if (listen_start(&e->session, &e->socket, &err) == 0)
        return e;
    log_debug("proto", "no control socket: %s", err.text);
    ear_free(e);
    return NULL;
}

void ear_free(struct ear *e)
{
    if (!e)
        return;
    socket_stop(e->socket);
    peer_session_release(&e->session); /* without an owner there are no hooks for the host */
    mem_freep(&e);
}
