/*
 * The proxy between clients and servers on loopback: where it connects, where it does not and its
 * answers then, clients that lie or stall, another upstream proxy, and its end at any moment.
 */
#include "net/proxy.h"

#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/strv.h"
#include "net/host_list.h"
#include "net/test_server.h"
#include "unit.h"

static sem_t stuck_in; /* a lookup of stuck.test has begun, */
static sem_t stuck_go; /* and may go on */
static sem_t stuck_out;

/* Names of the test lead to loopback; no test asks a real name server. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
    struct addrinfo *found;
    struct sockaddr_in *address;
    in_addr_t ip = htonl(INADDR_LOOPBACK);

    (void)hints;
    if (strcmp(node, "stuck.test") == 0) {
        sem_post(&stuck_in);
        sem_wait_long(&stuck_go);
        sem_post(&stuck_out);
        return EAI_AGAIN;
    }
    if (strcmp(node, "localhost") != 0 && strcmp(node, "rebound.test") != 0)
        ip = inet_addr(node);
    if (ip == INADDR_NONE)
        return EAI_NONAME;
    found = calloc(1, sizeof(*found) + sizeof(*address));
    address = (struct sockaddr_in *)(found + 1);
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)strtoul(service, NULL, 10));
    address->sin_addr.s_addr = ip;
    found->ai_family = AF_INET;
    found->ai_socktype = SOCK_STREAM;
    found->ai_addrlen = sizeof(*address);
    found->ai_addr = (struct sockaddr *)address;
    *res = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *res)
{
    free(res);
}

/* ---- helpers ---- */

/* Patterns, parted by spaces; "%d" becomes the port. */
static struct host_list *list_of(enum host_ports ports, const char *patterns, int port)
{
    struct host_list *l = host_list_new(ports);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct str rest = str_of(patterns);
    struct str one;

    while (rest.len && str_cut(&rest, ' ', &one)) {
        struct err err = {0};
        size_t at = str_find(one, STR("%d"));

        buf_clear(&text);
        buf_add(&text, str_first(one, at));
        if (at < one.len)
            buf_addf(&text, "%d", port);
        if (host_list_add(l, buf_str(&text), &err) < 0)
            fail_msg("%s", err.text);
    }
    return l;
}

static struct proxy *proxy_with(const char *allowed, const char *denied, int port)
{
    struct proxy_spec spec = {
        .allowed = list_of(HOST_WEB_PORTS, allowed, port),
        .denied = list_of(HOST_ALL_PORTS, denied, port),
    };

    return proxy_new(&spec);
}

static void send_descriptors(int door, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {0};
    char word[] = "c";
    struct iovec io = {.iov_base = word, .iov_len = 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    struct cmsghdr *c;

    if (count) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    assert_int_equal(sendmsg(door, &m, 0), 1);
}

/* One connection through a door; returns the client's end. */
static int call_at(int door)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    send_descriptors(door, &ends[1], 1);
    close(ends[1]);
    return ends[0];
}

static int open_door(struct proxy *p, struct proxy_door **ret)
{
    struct err err = {0};
    int fd = -1;

    *ret = proxy_open(p, &fd, &err);
    if (!*ret)
        fail_msg("%s", err.text);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void say_target(int fd, const char *fmt, int port)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    size_t at = str_find(str_of(fmt), STR("%d"));

    buf_add(&text, str_first(str_of(fmt), at));
    if (at < strlen(fmt)) {
        buf_addf(&text, "%d", port);
        buf_adds(&text, fmt + at + 2);
    }
    say(fd, buf_cstr(&text));
}

static void read_all(int fd, struct buf *ret)
{
    struct err err = {0};

    assert_int_equal(buf_add_fd(ret, fd, &err), 0);
}

static void read_some(int fd, struct buf *ret, size_t want)
{
    while (ret->len < want) {
        ssize_t n = recv(fd, buf_room(ret, want - ret->len), want - ret->len, 0);

        assert_true(n > 0);
        buf_grown(ret, (size_t)n);
    }
}

/* Says something through a fresh door and reads all there is to read. */
static void visit(struct proxy *p, const char *request, int port, struct buf *ret,
                  struct strv *ret_refusals)
{
    struct proxy_door *door;
    int door_fd = open_door(p, &door);
    int fd = call_at(door_fd);

    say_target(fd, request, port);
    read_all(fd, ret);
    if (ret_refusals)
        proxy_door_refusals(door, ret_refusals);
    close(fd);
    close(door_fd);
    proxy_door_unref(door);
}

/* ---- servers ---- */

static void serve_echo(struct conn *c)
{
    char bytes[4096];
    ssize_t n;

    while ((n = conn_read(c, bytes, sizeof(bytes))) > 0)
        conn_write(c, str_make(bytes, (size_t)n));
}

struct seen {
    sem_t done;
    struct buf text;
};

/* Answers one request, and stores everything that came with it and after it. */
static void serve_page(struct conn *c)
{
    struct seen *seen = c->server->arg;
    CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);

    if (!conn_request(c, &seen->text, &body))
        return;
    buf_add(&seen->text, buf_str(&body));
    conn_puts(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    sem_post(&seen->done);
}

static void seen_init(struct seen *s)
{
    sem_init(&s->done, 0, 0);
    buf_init(&s->text, 1 << 20);
}

/* ---- tests ---- */

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

/* The user's own proxy gets connections in its protocol, whatever the lists say. */
static void own_proxies(void **state)
{
    static const struct {
        const char *said;
        bool has_http, has_socks;
        const char *answer; /* how it begins */
    } rows[] = {
        {"CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n", true, true, "CONNECT nowhere"},
        {"GET http://nowhere.example/ HTTP/1.1\r\n\r\n", true, false, "GET http://nowhere"},
        {"\5\1\1rest", true, true, "\5\1\1rest"},
        {"\4\1rest", false, true, "\4\1rest"},
        {"CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n", false, true, "HTTP/1.1 403 "},
        {"\5\1\1rest\r\n\r\n", false, false, "HTTP/1.1 400 "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        struct proxy_spec spec = {.allowed = list_of(HOST_WEB_PORTS, "a.example", 0),
                                  .denied = list_of(HOST_ALL_PORTS, "", 0)};
        struct proxy_door *door;
        struct server s;
        struct proxy *p;
        int door_fd;
        int fd;

        server_start(&s, serve_echo, NULL);
        spec.http_port = rows[i].has_http ? s.port : 0;
        spec.socks_port = rows[i].has_socks ? s.port : 0;
        p = proxy_new(&spec);
        door_fd = open_door(p, &door);
        fd = call_at(door_fd);
        say(fd, rows[i].said);
        shutdown(fd, SHUT_WR);
        read_all(fd, &got);
        if (!str_starts(buf_str(&got), str_of(rows[i].answer)))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
        close(fd);
        close(door_fd);
        proxy_door_unref(door);
        proxy_free(p);
        server_stop(&s);
    }
}

static void tunnel(void **state)
{
    enum {
        BIG = 3 << 20
    };
    CLEANUP(buf_release) struct buf got = BUF_INIT(BIG);
    CLEANUP(buf_release) struct buf sent = BUF_INIT(BIG);
    struct proxy_door *door;
    struct proxy *p;
    struct server s;
    int door_fd;
    int fd;

    (void)state;
    server_start(&s, serve_echo, NULL);
    p = proxy_with("127.0.0.1:%d", "", s.port);
    door_fd = open_door(p, &door);
    fd = call_at(door_fd);
    /* The client does not wait for the answer before it speaks on. */
    say_target(fd, "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\nearly", s.port);
    read_some(fd, &got, strlen(ESTABLISHED) + 5);
    assert_string_equal(buf_cstr(&got), ESTABLISHED "early");

    for (size_t i = 0; i < BIG; i++)
        buf_addc(&sent, (char)(i * 7 + i / 1000));
    buf_clear(&got);
    for (size_t at = 0; at < BIG; at += 64 << 10) { /* the echo's buffers would fill up otherwise */
        assert_int_equal(send(fd, sent.ptr + at, 64 << 10, 0), 64 << 10);
        read_some(fd, &got, at + (64 << 10));
    }
    assert_memory_equal(got.ptr, sent.ptr, BIG);
    /* The end of one side is the end the other sees, and the answer still comes back. */
    say(fd, "last");
    shutdown(fd, SHUT_WR);
    buf_clear(&got);
    read_all(fd, &got);
    assert_string_equal(buf_cstr(&got), "last");
    close(fd);
    close(door_fd);
    proxy_door_unref(door);
    proxy_free(p);
    server_stop(&s);
}

static void plain(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct seen seen;
    struct proxy *p;
    struct server s;

    (void)state;
    seen_init(&seen);
    server_start(&s, serve_page, &seen);
    p = proxy_with("127.0.0.1:%d", "", s.port);
    visit(p,
          "POST http://127.0.0.1:%d/x HTTP/1.1\r\nHost: other.test\r\nContent-Length: "
          "4\r\nProxy-Authorization: secret\r\n\r\nbodyGET http://evil.test/ HTTP/1.1\r\n\r\n",
          s.port, &got, NULL);
    sem_wait_long(&seen.done);
    assert_true(str_ends(buf_str(&got), STR("\r\n\r\nhello")));
    assert_true(str_starts(buf_str(&seen.text), STR("POST /x HTTP/1.1\r\nHost: 127.0.0.1:")));
    assert_true(str_ends(buf_str(&seen.text), STR("\r\nConnection: close\r\n\r\nbody")));
    assert_null(strstr(buf_cstr(&seen.text), "evil"));
    assert_null(strstr(buf_cstr(&seen.text), "other"));
    assert_null(strstr(buf_cstr(&seen.text), "secret"));
    proxy_free(p);
    server_stop(&s);
    buf_release(&seen.text);
}

struct list_case {
    const char *allowed, *denied;
    const char *target;
    const char *refused; /* part of the reason; NULL: it goes through */
};

static const struct list_case list_cases[] = {
    {"127.0.0.1:%d", "", "127.0.0.1:%d", NULL},
    {"127.0.0.1:%d", "", "127.1:%d", NULL},
    {"localhost:%d", "", "localhost:%d", NULL}, /* only ever means this machine */
    {"rebound.test:%d", "", "rebound.test:%d", "leads to the private address 127.0.0.1"},
    {"*.test:%d", "", "rebound.test:%d", "leads to the private address 127.0.0.1"},
    {"*:%d", "", "127.0.0.1:%d", "not among the allowed"},
    {"*:%d", "", "[::1]:%d", "not among the allowed"},
    {"rebound.test:%d 127.0.0.1:%d", "", "rebound.test:%d", NULL},
    {"rebound.test:%d 127.0.0.1:%d", "127.0.0.1", "rebound.test:%d", "leads to the denied address"},
    {"localhost:%d", "127.0.0.1", "localhost:%d", "leads to the denied address"},
    {"localhost:%d", "localhost", "localhost:%d", "among the denied"},
    {"*:%d localhost:%d", "*", "localhost:%d", "among the denied"},
    {"other.test", "", "127.0.0.1:%d", "not among the allowed"},
    {"", "", "example.com:443", "not among the allowed"},
    {"example.com", "", "example.com:%d", "not at this port"},
    {"example.com", "", "www.example.com:443", "not among the allowed"},
};

static void lists(void **state)
{
    struct server s;

    (void)state;
    server_start(&s, serve_echo, NULL);
    for (size_t i = 0; i < ARRAY_LEN(list_cases); i++) {
        const struct list_case *c = &list_cases[i];
        struct proxy *p = proxy_with(c->allowed, c->denied, s.port);
        CLEANUP(buf_release) struct buf request = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        CLEANUP(strv_release) struct strv refusals = STRV_INIT;
        struct proxy_door *door;
        int door_fd = open_door(p, &door);
        int fd = call_at(door_fd);

        buf_addf(&request, "CONNECT %s HTTP/1.1\r\n\r\n", c->target);
        say_target(fd, buf_cstr(&request), s.port);
        shutdown(fd, SHUT_WR);
        read_all(fd, &got);
        proxy_door_refusals(door, &refusals);
        if (!c->refused && strcmp(buf_cstr(&got), ESTABLISHED) != 0)
            fail_msg("%s for %s: %s", c->allowed, c->target, buf_cstr(&got));
        if (c->refused &&
            (!str_starts(buf_str(&got), STR("HTTP/1.1 403 ")) ||
             !strstr(buf_cstr(&got), "\r\n\r\nblocked by the sandbox: connection to ") ||
             !strstr(buf_cstr(&got), c->refused) || refusals.len != 1 ||
             !strstr(refusals.ptr[0], c->refused)))
            fail_msg("%s for %s: %s", c->allowed, c->target, buf_cstr(&got));
        if (!c->refused)
            assert_int_equal(refusals.len, 0);
        close(fd);
        close(door_fd);
        proxy_door_unref(door);
        proxy_free(p);
    }
    server_stop(&s);
}

/* No listener, or an unknown name: not reported as blocked by the sandbox. */
static void unreachable(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    CLEANUP(strv_release) struct strv refusals = STRV_INIT;
    struct proxy *p;
    struct server s;

    (void)state;
    server_start(&s, serve_echo, NULL);
    server_stop(&s);
    p = proxy_with("127.0.0.1:%d unknown.test", "", s.port);
    visit(p, "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", s.port, &got, &refusals);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 502 ")));
    buf_clear(&got);
    visit(p, "CONNECT unknown.test:443 HTTP/1.1\r\n\r\n", 0, &got, &refusals);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 502 ")));
    assert_non_null(strstr(buf_cstr(&got), "the name is not known"));
    assert_int_equal(refusals.len, 0);
    proxy_free(p);
}

static void too_slow(void **state)
{
    struct proxy_spec spec = {.head_ms = 100};
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct proxy *p = proxy_new(&spec);

    (void)state;
    visit(p, "GET http://example.com/ HTTP/1.1\r\nslow: ", 0, &got, NULL);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 408 ")));
    proxy_free(p);
}

static void liars(void **state)
{
    struct proxy_spec spec = {0};
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    CLEANUP(buf_release) struct buf huge = BUF_INIT(1 << 20);
    struct proxy *p = proxy_new(&spec);
    struct proxy_door *door;
    int door_fd = open_door(p, &door);
    int pipes[2];
    int two[2];
    int fd;

    (void)state;
    visit(p, "\x16\x03\x01 this is TLS, or not\r\n\r\n", 0, &got, NULL);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 400 ")));
    buf_clear(&got);
    buf_adds(&huge, "GET http://example.com/ HTTP/1.1\r\nhuge: ");
    while (huge.len < 60000)
        buf_addc(&huge, 'x');
    fd = call_at(door_fd);
    say(fd, buf_cstr(&huge));
    read_all(fd, &got);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 431 ")));
    close(fd);

    /* No descriptor, one of another kind, more than one; the door stays open for all of that. */
    send_descriptors(door_fd, NULL, 0);
    assert_int_equal(pipe(pipes), 0);
    send_descriptors(door_fd, &pipes[0], 1);
    close(pipes[0]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
    send_descriptors(door_fd, (int[]){two[1], pipes[1]}, 2);
    close(two[1]);
    close(pipes[1]);
    say(two[0], "CONNECT example.com:443 HTTP/1.1\r\n\r\n");
    buf_clear(&got);
    read_all(two[0], &got);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 403 ")));
    close(two[0]);
    fd = call_at(door_fd);
    close(fd); /* says nothing at all */
    close(door_fd);
    proxy_door_unref(door);
    proxy_free(p);
}

/* More connections than there may be. */
static void crowd(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct proxy *p = proxy_with("", "", 0);
    int fds[PROXY_MAX_CONNS];
    struct proxy_door *door;
    int door_fd = open_door(p, &door);
    int fd;

    (void)state;
    for (size_t i = 0; i < PROXY_MAX_CONNS; i++)
        fds[i] = call_at(door_fd);
    fd = call_at(door_fd);
    read_all(fd, &got);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 503 ")));
    close(fd);
    say(fds[5], "CONNECT example.com:443 HTTP/1.1\r\n\r\n");
    buf_clear(&got);
    read_all(fds[5], &got);
    assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 403 ")));
    for (size_t i = 0; i < PROXY_MAX_CONNS; i++)
        close(fds[i]);
    close(door_fd);
    proxy_door_unref(door);
    proxy_free(p);
}

/* ---- another proxy ---- */

struct upstream_seen {
    struct buf head;
    const char *answer;
};

static void serve_upstream(struct conn *c)
{
    struct upstream_seen *seen = c->server->arg;
    CLEANUP(buf_release) struct buf body = BUF_INIT(10000);

    if (!conn_request(c, &seen->head, &body))
        return;
    conn_puts(c, seen->answer);
}

struct upstream_case {
    const char *request;
    const char *answer;
    const char *seen; /* what the other proxy was asked */
    const char *got;  /* what the client hears begins so */
};

static const struct upstream_case upstream_cases[] = {
    {"CONNECT rebound.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 fine\r\nX: y\r\n\r\nfirst words",
     "CONNECT rebound.test:443 HTTP/1.1\r\nHost: rebound.test:443\r\nProxy-Authorization: Basic "
     "bWU6YUBi\r\n\r\n",
     ESTABLISHED "first words"},
    {"CONNECT rebound.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 407 who are you\r\n\r\n", NULL,
     "HTTP/1.1 502 Bad Gateway\r\n"},
    {"CONNECT rebound.test:443 HTTP/1.1\r\n\r\n", "garbage\r\n\r\n", NULL,
     "HTTP/1.1 502 Bad Gateway\r\n"},
    {"CONNECT rebound.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 cut", NULL,
     "HTTP/1.1 502 Bad Gateway\r\n"},
    {"GET http://rebound.test/x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello",
     "GET http://rebound.test/x HTTP/1.1\r\nHost: rebound.test\r\nConnection: "
     "close\r\nProxy-Authorization: Basic bWU6YUBi\r\n\r\n",
     "HTTP/1.1 200 OK\r\n\r\nhello"},
    {"CONNECT other.test:443 HTTP/1.1\r\n\r\n", "", "", "HTTP/1.1 403 "},
};

static void upstreams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(upstream_cases); i++) {
        const struct upstream_case *c = &upstream_cases[i];
        struct upstream_seen seen = {.head = BUF_INIT(10000), .answer = c->answer};
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        char url[100];
        struct proxy_spec spec = {.upstream = url, .upstream_plain = url};
        struct proxy *p;
        struct server s;

        server_start(&s, serve_upstream, &seen);
        snprintf(url, sizeof(url), "http://me:a%%40b@127.0.0.1:%d/", s.port);
        spec.allowed = list_of(HOST_WEB_PORTS, "rebound.test", 0);
        p = proxy_new(&spec);
        visit(p, c->request, 0, &got, NULL);
        proxy_free(p);
        server_stop(&s);
        if (!str_starts(buf_str(&got), str_of(c->got)))
            fail_msg("%s: %s", c->request, buf_cstr(&got));
        if (c->seen && strcmp(buf_cstr(&seen.head), c->seen) != 0)
            fail_msg("%s: %s", c->request, buf_cstr(&seen.head));
        buf_release(&seen.head);
    }
}

/* ---- the end ---- */

static void idle(void **state)
{
    struct proxy_spec spec = {.idle_ms = 100};
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct proxy *p;
    struct server s;

    (void)state;
    server_start(&s, serve_echo, NULL);
    spec.allowed = list_of(HOST_WEB_PORTS, "127.0.0.1:%d", s.port);
    p = proxy_new(&spec);
    visit(p, "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", s.port, &got, NULL);
    assert_string_equal(buf_cstr(&got), ESTABLISHED);
    proxy_free(p);
    server_stop(&s);
}

static void serve_and_go(struct conn *c)
{
    char bytes[48 << 10] = "";

    conn_write(c, str_make(bytes, sizeof(bytes)));
    while (conn_read(c, bytes, sizeof(bytes)) > 0)
        continue;
}

/* The server is gone while a client that has nothing more to say does not read: that is no news
 * again and again, but time that passes. */
static void idle_behind_the_end(void **state)
{
    struct proxy_spec spec = {.idle_ms = 100};
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct proxy_door *door;
    struct pollfd client;
    int little = 4096;
    struct proxy *p;
    struct server s;
    int door_fd;
    int ends[2];

    (void)state;
    server_start(&s, serve_and_go, NULL);
    spec.allowed = list_of(HOST_WEB_PORTS, "127.0.0.1:%d", s.port);
    p = proxy_new(&spec);
    door_fd = open_door(p, &door);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
    send_descriptors(door_fd, &ends[1], 1);
    close(ends[1]);
    say_target(ends[0], "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", s.port);
    read_some(ends[0], &got, strlen(ESTABLISHED));
    shutdown(ends[0], SHUT_WR);
    client = (struct pollfd){.fd = ends[0]};
    assert_int_equal(poll(&client, 1, 60000), 1);
    assert_int_equal(client.revents, POLLHUP);
    close(ends[0]);
    close(door_fd);
    proxy_door_unref(door);
    proxy_free(p);
    server_stop(&s);
}

/* At the end everything is closed: a tunnel, a client that has said nothing, and one whose name is
 * still looked up, which is not waited for. */
static void end(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct proxy_door *door;
    struct proxy *p;
    struct server s;
    int door_fd;
    int fds[3];

    (void)state;
    server_start(&s, serve_echo, NULL);
    p = proxy_with("127.0.0.1:%d stuck.test", "", s.port);
    door_fd = open_door(p, &door);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = call_at(door_fd);
    say_target(fds[0], "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", s.port);
    read_some(fds[0], &got, strlen(ESTABLISHED));
    say(fds[1], "CONNECT stuck.test:443 HTTP/1.1\r\n\r\n");
    sem_wait_long(&stuck_in);
    proxy_free(p);
    buf_clear(&got);
    read_all(fds[0], &got);
    read_all(fds[2], &got);
    assert_int_equal(got.len, 0);
    sem_post(&stuck_go);
    read_all(fds[1], &got); /* it leaves by itself, without another word */
    assert_int_equal(got.len, 0);
    sem_wait_long(&stuck_out);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    close(door_fd);
    proxy_door_unref(door);
    server_stop(&s);
}

/* Doors without a user make room for others. */
static void many_doors(void **state)
{
    struct proxy *p = proxy_with("", "", 0);

    (void)state;
    for (int i = 0; i < 4 * PROXY_MAX_DOORS; i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);

        visit(p, "CONNECT example.com:443 HTTP/1.1\r\n\r\n", 0, &got, NULL);
        assert_true(str_starts(buf_str(&got), STR("HTTP/1.1 403 ")));
    }
    proxy_free(p);
}

UNIT_TEST(proxy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tunnel),
        cmocka_unit_test(plain),
        cmocka_unit_test(lists),
        cmocka_unit_test(too_slow),
        cmocka_unit_test(liars),
        cmocka_unit_test(crowd),
        cmocka_unit_test(unreachable),
        cmocka_unit_test(idle),
        cmocka_unit_test(upstreams),
        cmocka_unit_test(end),
        cmocka_unit_test(many_doors),
        cmocka_unit_test(own_proxies),
        cmocka_unit_test(idle_behind_the_end),
    };

    sem_init(&stuck_in, 0, 0);
    sem_init(&stuck_go, 0, 0);
    sem_init(&stuck_out, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
