/*
 * Requests that may only go to public addresses: refused by where the connection would really go,
 * whatever the URL calls it. Nothing listens on a public address here, so allowed requests are seen
 * where a proxy takes them.
 */
#include "net/net.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "net/net_stream.h"
#include "net/test_server.h"
#include "unit.h"

#define TEST_NAMES ".example.test"
#include "net/test_names.h"

static void serve_hello(struct conn *c)
{
    while (conn_skip_request(c)) {
        if (!conn_puts(c, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"))
            return;
    }
}

static struct net *new_net(const struct net_options *options)
{
    struct err err = {0};
    struct net *n = net_new(options, &err);

    if (!n)
        fail_msg("%s", err.text);
    return n;
}

static void fetch_host(struct net *n, const char *host, int port, bool public_only,
                       struct answer *a)
{
    char url[300];
    struct net_request r = {.method = "GET",
                            .url = url_of(url, sizeof(url), "http", host, port),
                            .public_only = public_only};

    fetch_with(n, &r, a);
}

static const char *const private_hosts[] = {
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "[::1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "10.1.2.3",
    "169.254.169.254",
    "localhost",
    "0.0.0.0",
    "[::]",
    "rebound.example.test", /* a harmless name with a private address */
};

static void direct(void **state)
{
    static const struct net_options options = {.proxy = ""};
    struct net *n = new_net(&options);
    struct server s;
    struct answer a;

    (void)state;
    server_start(&s, serve_hello, NULL);
    for (size_t i = 0; i < ARRAY_LEN(private_hosts); i++) {
        fetch_host(n, private_hosts[i], s.port, /*public_only=*/true, &a);
        if (a.end.code != ERR_DENIED || !strstr(a.end.text, "private address"))
            fail_msg("%s: %d, '%s'", private_hosts[i], a.end.code, a.end.text);
        assert_true(a.end.before_head);
        answer_release(&a);
    }
    assert_int_equal(atomic_load(&s.accepted), 0);

    fetch_host(n, "rebound.example.test", s.port, /*public_only=*/false, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    answer_release(&a);
    net_free(n);
    server_stop(&s);
}

/* An open connection does not bypass the check. */
static void reused(void **state)
{
    static const struct net_options options = {.proxy = ""};
    struct net *n = new_net(&options);
    struct server s;
    struct answer a;

    (void)state;
    server_start(&s, serve_hello, NULL);
    for (int i = 0; i < 2; i++) {
        fetch_host(n, "rebound.example.test", s.port, /*public_only=*/false, &a);
        assert_int_equal(a.end.code, ERR_NONE);
        answer_release(&a);
        fetch_host(n, "rebound.example.test", s.port, /*public_only=*/true, &a);
        if (a.end.code != ERR_DENIED || a.heads)
            fail_msg("%d, '%s'", a.end.code, a.end.text);
        answer_release(&a);
    }
    net_free(n);
    server_stop(&s);
}

static const struct {
    const char *host;
    const char *exempt;
    int code;
} proxy_cases[] = {
    {"public.invalid", NULL, ERR_NONE}, /* the proxy looks names up, and is itself private */
    {"127.0.0.1", NULL, ERR_DENIED},
    {"127.1", NULL, ERR_DENIED},
    {"[::1]", NULL, ERR_DENIED},
    {"localhost", NULL, ERR_DENIED},
    {"a.internal", NULL, ERR_DENIED},
    {"rebound.example.test", "example.test", ERR_DENIED}, /* goes there itself */
    {"rebound.example.test", ".example.test", ERR_DENIED},
    {"rebound.example.test", "x, rebound.EXAMPLE.test", ERR_DENIED},
    {"rebound.example.test", "*", ERR_DENIED},
    {"rebound.example.test", "bound.example.test", ERR_NONE},
    {"rebound.example.test", "", ERR_NONE},
};

static void by_proxy(void **state)
{
    struct server s;

    (void)state;
    server_start(&s, serve_hello, NULL);
    for (size_t i = 0; i < ARRAY_LEN(proxy_cases); i++) {
        char proxy[60];
        struct net_options options = {.proxy = proxy, .no_proxy = proxy_cases[i].exempt};
        struct net *n;
        struct answer a;

        snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", s.port);
        n = new_net(&options);
        fetch_host(n, proxy_cases[i].host, 80, /*public_only=*/true, &a);
        if (a.end.code != proxy_cases[i].code)
            fail_msg("%s, except %s: %d, '%s'", proxy_cases[i].host, proxy_cases[i].exempt,
                     a.end.code, a.end.text);
        answer_release(&a);
        net_free(n);
    }
    server_stop(&s);
}

UNIT_TEST(net_public)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct),
        cmocka_unit_test(reused),
        cmocka_unit_test(by_proxy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
