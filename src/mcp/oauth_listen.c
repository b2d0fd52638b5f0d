/*
 * Requests one after the other; none is waited for longer than a few seconds. The caller's thread.
 */
#include "mcp/oauth_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"

#define LISTEN_MS (300 * 1000)
#define LISTEN_HEAD_MS 5000
#define LISTEN_MAX_HEAD ((size_t)16 << 10)

int oauth_listen(int port, int *ret_port, struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    CLEANUP(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof(at);
    int one = 1;
    int ret;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot make a socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return err_sys(err, ERR_IO, "cannot listen on port %d", port);
    *ret_port = ntohs(at.sin_port);
    ret = fd;
    fd = -1;
    return ret;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

void oauth_query_get(struct str query, const char *name, struct buf *ret)
{
    struct str pair;

    while (str_cut(&query, '&', &pair)) {
        size_t at = str_chr(pair, '=');
        struct str value = str_from(pair, at + 1);

        if (!str_is(str_first(pair, at), name))
            continue;
        for (size_t i = 0; i < value.len; i++) {
            int high = value.ptr[i] == '%' && i + 2 < value.len ? hex_digit(value.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(value.ptr[i + 2]) : -1;

            if (low >= 0) {
                buf_addc(ret, (char)(high * 16 + low));
                i += 2;
            } else {
                buf_addc(ret, value.ptr[i] == '+' ? ' ' : value.ptr[i]);
            }
        }
        return;
    }
}

/* Reads the head of a request; false if there is none. */
static bool read_head(int fd, struct cancel *cancel, struct buf *ret)
{
    int64_t until_ms = clock_mono_ms() + LISTEN_HEAD_MS;

    while (str_find(buf_str(ret), STR("\r\n\r\n")) == ret->len) {
        char piece[2048];
        ssize_t n;

        if (ret->over || cancel_wait_fd(cancel, fd, until_ms - clock_mono_ms(), NULL) != 1)
            return false;
        n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (n > 0)
            buf_add(ret, str_make(piece, (size_t)n));
    }
    return true;
}

static void answer(int fd, const char *status, const char *text)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);

    buf_addf(&out,
             "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             status, strlen(text), text);
    (void)send(fd, out.ptr, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
}

/* Whether it is the one that is waited for. */
static bool take_request(int fd, struct str state, struct cancel *cancel, struct buf *ret_query)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(LISTEN_MAX_HEAD);
    CLEANUP(buf_release) struct buf theirs = BUF_INIT(LISTEN_MAX_HEAD);
    struct str path;
    size_t mark;

    if (!read_head(fd, cancel, &head))
        return false;
    path = str_first(buf_str(&head), str_chr(buf_str(&head), '\r'));
    if (!str_starts(path, STR("GET /callback?"))) {
        answer(fd, "404 Not Found", "Nothing is here.");
        return false;
    }
    mark = str_chr(path, '?');
    path = str_from(path, mark + 1);
    path = str_first(path, str_chr(path, ' '));
    oauth_query_get(path, "state", &theirs);
    if (!str_eq(buf_str(&theirs), state)) {
        answer(fd, "400 Bad Request", "This login was not started here.");
        return false;
    }
    answer(fd, "200 OK", "You can close this page and return to tenax.");
    buf_add(ret_query, path);
    return true;
}

int oauth_await(int fd, struct str state, struct cancel *cancel, struct buf *ret_query,
                struct err *err)
{
    int64_t until_ms = clock_mono_ms() + LISTEN_MS;

    for (;;) {
        int64_t left_ms = until_ms - clock_mono_ms();
        int r = left_ms > 0 ? cancel_wait_fd(cancel, fd, left_ms, err) : 0;
        int client;
        bool done;

        if (r < 0)
            return -1;
        if (r == 0)
            return err_set(err, ERR_TIMEOUT, "nobody logged in within five minutes");
        client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        done = take_request(client, state, cancel, ret_query);
        close(client);
        if (done)
            return 0;
    }
}
