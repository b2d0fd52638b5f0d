/*
 * Which hosts a list has, and which patterns make no sense.
 */
#include "net/host_list.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "unit.h"

struct has_case {
    const char *pattern;
    const char *host;
    int port;
    bool allowed; /* by a list of allowed hosts */
    bool denied;  /* by a list of denied ones, where no port means all */
};

static const struct has_case has_cases[] = {
    {"example.com", "example.com", 443, true, true},
    {"example.com", "example.com", 80, true, true},
    {"example.com", "example.com", 22, false, true},
    {"example.com", "EXAMPLE.com.", 443, true, true},
    {"Example.COM", "example.com", 443, true, true},
    {"example.com", "example.com..", 443, false, false}, /* is no host */
    {"*", "example.com..", 443, false, false},
    {"example.com", "www.example.com", 443, false, false},
    {"example.com", "notexample.com", 443, false, false},
    {"example.com", "example.com.evil.test", 443, false, false},
    {"*.example.com", "www.example.com", 443, true, true},
    {"*.example.com", "a.b.example.com", 443, true, true},
    {"*.example.com", "example.com", 443, false, false},
    {"*.example.com", "notexample.com", 443, false, false},
    {"*.example.com", ".example.com", 443, false, false}, /* is no host */
    {"example.com:8443", "example.com", 8443, true, true},
    {"example.com:8443", "example.com", 443, false, false},
    {"*.example.com:22", "git.example.com", 22, true, true},
    {"*", "anything.test", 443, true, true},
    {"*", "anything.test", 25, false, true},
    {"*:25", "anything.test", 25, true, true},
    {"*", "10.0.0.1", 443, false, false}, /* addresses only when they are listed */
    {"*", "[::1]", 443, false, false},
    {"127.0.0.1", "127.0.0.1", 80, true, true},
    {"127.0.0.1", "127.1", 80, true, true},
    {"127.0.0.1", "0x7f000001", 80, true, true},
    {"127.0.0.1", "2130706433", 80, true, true},
    {"127.1", "127.0.0.1", 80, true, true},
    {"127.0.0.1", "127.0.0.2", 80, false, false},
    {"127.0.0.1", "[::ffff:127.0.0.1]", 80, true, true}, /* where it leads */
    {"127.0.0.1", "[::ffff:7f00:1]", 80, true, true},
    {"[::ffff:10.0.0.1]", "10.0.0.1", 80, true, true},
    {"127.0.0.1", "[::127.0.0.1]", 80, false, false},
    {"[::1]", "[0:0:0:0:0:0:0:1]", 80, true, true},
    {"[::1]:8080", "[::1]", 8080, true, true},
    {"[::1]:8080", "[::1]", 80, false, false},
};

static bool list_has(enum host_ports ports, const struct has_case *c)
{
    struct host_list *l = host_list_new(ports);
    struct host_name host;
    struct err err = {0};
    bool has;

    assert_true(host_list_is_empty(l));
    if (host_list_add(l, str_of(c->pattern), &err) < 0)
        fail_msg("%s: %s", c->pattern, err.text);
    assert_false(host_list_is_empty(l));
    has = host_name_parse(str_of(c->host), &host, &err) == 0 && host_list_has(l, &host, c->port);
    host_list_free(l);
    return has;
}

static void has(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(has_cases); i++) {
        const struct has_case *c = &has_cases[i];

        if (list_has(HOST_WEB_PORTS, c) != c->allowed)
            fail_msg("%s allows %s:%d?", c->pattern, c->host, c->port);
        if (list_has(HOST_ALL_PORTS, c) != c->denied)
            fail_msg("%s denies %s:%d?", c->pattern, c->host, c->port);
    }
}

static const char *const bad_patterns[] = {
    "",
    ".",
    "https://example.com",
    "exa mple.com",
    "example.com/path",
    "ex*.com",
    "*example.com",
    "www.*.com",
    "example.com:0",
    "example.com:65536",
    "example.com:",
    "*.127.0.0.1",
    "[::1",
    "[::1]8",
    "[fe80::1%eth0]",
    "a..b",
    "user@example.com",
    "[]",
    "*:x",
};

static void bad(void **state)
{
    struct host_list *l = host_list_new(HOST_WEB_PORTS);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_patterns); i++) {
        struct err err = {0};

        if (host_list_add(l, str_of(bad_patterns[i]), &err) == 0)
            fail_msg("'%s' was taken", bad_patterns[i]);
        assert_int_equal(err.code, ERR_BAD_INPUT);
    }
    assert_true(host_list_is_empty(l));
    host_list_free(l);
}

/* An address that a name leads to, as the lists see it. */
static void found(void **state)
{
    static const char *const rows[][2] = {
        {"::ffff:10.0.0.1", "10.0.0.1"},
        {"2606:4700:0::1111", "2606:4700::1111"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sockaddr_in6 at = {.sin6_family = AF_INET6};
        struct host_name host;

        assert_int_equal(inet_pton(AF_INET6, rows[i][0], &at.sin6_addr), 1);
        assert_true(host_name_of((const struct sockaddr *)&at, &host));
        assert_true(host.is_address);
        assert_string_equal(host.text, rows[i][1]);
    }
}

UNIT_TEST(host_list)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has),
        cmocka_unit_test(bad),
        cmocka_unit_test(found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
