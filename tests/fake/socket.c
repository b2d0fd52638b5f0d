/* Sockets that never block. */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/err.h"

static int parse_address(const char *address, int port, struct sockaddr_storage *ret,
                         socklen_t *ret_len, struct err *err)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    *ret = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *ret_len = sizeof(*v4);
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *ret_len = sizeof(*v6);
        return 0;
    }
    return err_set(err, ERR_BAD_INPUT, "not a numeric address: '%s'", address);
}

int socket_listen(const char *address, int port, int *ret_port, struct err *err)
{
    CLEANUP(fd_closep) int fd = -1;
    struct sockaddr_storage where;
    socklen_t len;
    int on = 1, got;

    if (parse_address(address, port, &where, &len, err) < 0)
        return -1;
    fd = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, ERR_IO, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&where, len) < 0 || listen(fd, 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&where, &len) < 0)
        return err_sys(err, ERR_IO, "cannot listen on %s port %d", address, port);
    *ret_port = ntohs(where.ss_family == AF_INET ? ((struct sockaddr_in *)&where)->sin_port
                                                 : ((struct sockaddr_in6 *)&where)->sin6_port);
    got = fd;
    fd = -1;
    return got;
}

/* What OpenSSL says after a call that moved nothing. */
static ssize_t tls_verdict(SSL *ssl, int result)
{
    int why = SSL_get_error(ssl, result);

    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

ssize_t socket_read(int fd, SSL *ssl, char *out, size_t n)
{
    ssize_t got;
    int r;

    if (ssl) {
        r = SSL_read(ssl, out, (int)n);
        return r > 0 ? r : tls_verdict(ssl, r);
    }
    got = read(fd, out, n);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return got > 0 ? got : -1;
}

ssize_t socket_write(int fd, SSL *ssl, struct str bytes)
{
    ssize_t put;
    int r;

    if (ssl) {
        r = SSL_write(ssl, bytes.ptr, bytes.len > (1 << 30) ? 1 << 30 : (int)bytes.len);
        return r > 0 ? r : tls_verdict(ssl, r);
    }
    put = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return put;
}
