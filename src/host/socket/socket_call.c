/*
 * socket_call: the client side of a control socket, for a command with one request. The caller's
 * thread; waits.
 */
#include "host/socket/socket_call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "host/socket/conn.h"
#include "host/socket/socket.h"
#include "json/json.h"
#include "sync/cancel.h"

#define CALL_ID "call"
#define CALL_MAX_QUEUE ((size_t)2 << 20)
#define CALL_MAX_LINE ((size_t)32 << 20)
#define CALL_NO_ANSWER "the process that works on it does not answer"
#define CALL_HUNG_UP "the process that works on it has hung up"

struct socket_request {
    struct conn conn;
    struct buf *ret;
    struct err *err;
    bool answered;
    bool refused; /* see err */
};

/* Skips events and other lines. */
static void on_line(struct str line, void *arg)
{
    struct socket_request *c = arg;
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    const struct json *response;

    if (line.ptr && !c->answered && json_parse(&arena, line, &v, NULL, NULL) == 0 &&
        str_is(json_get_str(v, "type"), "control_response")) {
        response = json_get(v, "response");
        c->answered = str_is(json_get_str(response, "request_id"), CALL_ID);
        if (c->answered && str_is(json_get_str(response, "subtype"), "success"))
            buf_add(c->ret, json_raw(json_get(response, "response")));
        else if (c->answered) {
            c->refused = true;
            err_set(c->err, ERR_DENIED, "%.*s",
                    STR_ARG(str_clip(json_get_str(response, "error"), 400)));
        }
    }
    arena_release(&arena);
}

static int call_connect(const char *path, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(at.sun_path))
        return err_set(err, ERR_NOT_FOUND, "'%s' is too long for a socket", path);
    memcpy(at.sun_path, path, strlen(path));
    /* Non-blocking: a stopped process does not accept connections, so connecting to it could block.
     */
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    if (fd >= 0 && errno == EAGAIN)
        err_set(err, ERR_TIMEOUT, CALL_NO_ANSWER);
    else
        err_sys(err, ERR_NOT_FOUND, "no process listens on '%s'", path);
    fd_closep(&fd);
    return -1;
}

static int call_round(struct socket_request *c, int64_t due_ms, struct cancel *cancel,
                      struct err *err)
{
    int64_t left_ms = due_ms - clock_mono_ms();
    struct pollfd fds[2] = {
        {.fd = c->conn.in, .events = (short)(POLLIN | (conn_unsent(&c->conn) ? POLLOUT : 0))},
        {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN},
    };

    if (left_ms <= 0)
        return err_set(err, ERR_TIMEOUT, CALL_NO_ANSWER);
    if (poll(fds, ARRAY_LEN(fds), (int)left_ms) < 0 && errno != EINTR)
        return err_sys(err, ERR_IO, "cannot wait");
    if (cancel_check(cancel, err) < 0)
        return -1;
    if ((fds[0].revents & POLLOUT) && conn_flush(&c->conn, err) < 0)
        return err_set(err, ERR_PROTOCOL, CALL_HUNG_UP);
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) &&
        conn_read(&c->conn, on_line, c, err) <= 0 && !c->answered)
        return err_set(err, ERR_PROTOCOL, CALL_HUNG_UP);
    return 0;
}

int socket_call(const char *path, const char *session, struct str request, int64_t timeout_ms,
                struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(fd_closep) int fd = call_connect(path, err);
    CLEANUP(buf_release) struct buf line = BUF_INIT(CALL_MAX_QUEUE);
    struct socket_request c = {.ret = ret, .err = err};
    int64_t due_ms = clock_mono_ms() + timeout_ms;
    int rc;

    if (fd < 0)
        return -1;
    buf_adds(&line, "{\"type\":\"control_request\",\"request_id\":\"" CALL_ID "\",");
    if (session)
        buf_addf(&line, "\"session_id\":\"%s\",", session);
    buf_addf(&line, "\"request\":%.*s}\n", STR_ARG(request));
    if (buf_check(&line, err) < 0)
        return -1;
    conn_init(&c.conn, fd, fd, CALL_MAX_LINE, CALL_MAX_QUEUE);
    c.conn.is_socket = true;
    rc = conn_send(&c.conn, buf_str(&line), err);
    while (rc == 0 && !c.answered)
        rc = call_round(&c, due_ms, cancel, err);
    conn_release(&c.conn);
    return rc < 0 || c.refused ? -1 : 0;
}
