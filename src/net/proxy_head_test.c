/*
 * Requests to the proxy: accepted ones, how a plain one is passed on, and ambiguous ones that are
 * refused.
 */
#include "net/proxy_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "unit.h"

struct good_case {
    const char *head;
    bool is_tunnel;
    const char *host;
    int port;
    int64_t body;
    const char *written;  /* a plain request, as its server gets it */
    const char *by_proxy; /* its first line for another proxy */
};

static const struct good_case good_cases[] = {
    {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", true, "example.com", 443,
     0, NULL, NULL},
    {"CONNECT [::1]:8080 HTTP/1.0\n\n", true, "::1", 8080, 0, NULL, NULL},
    {"CONNECT example.com:443 HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n", true,
     "example.com", 443, 0, NULL, NULL},
    {"GET http://Example.com/a?b=c HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: "
     "Keep-Alive\r\nProxy-Authorization: Basic x\r\nAccept: */*\r\n\r\n",
     false, "example.com", 80, 0,
     "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nConnection: close\r\n",
     "GET http://example.com/a?b=c HTTP/1.1\r\n"},
    {"GET http://example.com:8080 HTTP/1.1\r\n\r\n", false, "example.com", 8080, 0,
     "GET / HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\n",
     "GET http://example.com:8080/ HTTP/1.1\r\n"},
    {"GET HTTP://[::1]?q HTTP/1.1\r\nX: y\r\n\r\n", false, "::1", 80, 0,
     "GET /?q HTTP/1.1\r\nHost: [::1]\r\nX: y\r\nConnection: close\r\n",
     "GET http://[::1]/?q HTTP/1.1\r\n"},
    {"POST http://example.com/x HTTP/1.1\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n",
     false, "example.com", 80, 12,
     "POST /x HTTP/1.1\r\nHost: example.com\r\nExpect: 100-continue\r\nContent-Length: "
     "12\r\nConnection: close\r\n",
     "POST http://example.com/x HTTP/1.1\r\n"},
};

static void good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good_cases); i++) {
        const struct good_case *c = &good_cases[i];
        CLEANUP(buf_release) struct buf written = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf by_proxy = BUF_INIT(4096);
        struct proxy_head h;
        struct err err = {0};

        assert_int_equal(proxy_head_len(str_of(c->head)), strlen(c->head));
        if (proxy_head_parse(str_of(c->head), &h, &err))
            fail_msg("%s%s", c->head, err.text);
        assert_int_equal(h.is_tunnel, c->is_tunnel);
        assert_string_equal(h.host.text, c->host);
        assert_int_equal(h.port, c->port);
        assert_int_equal(h.body_bytes, c->body);
        if (h.is_tunnel)
            continue;
        proxy_head_write(&h, /*by_proxy=*/false, &written);
        assert_string_equal(buf_cstr(&written), c->written);
        proxy_head_write(&h, /*by_proxy=*/true, &by_proxy);
        if (!str_starts(buf_str(&by_proxy), str_of(c->by_proxy)))
            fail_msg("%s", buf_cstr(&by_proxy));
    }
}

struct bad_case {
    struct str head;
    int status;
};

static const struct bad_case bad_cases[] = {
    {STR_INIT(""), 400},
    {STR_INIT("\r\n\r\n"), 400},
    {STR_INIT("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), 501}, /* meant for a server */
    {STR_INIT("GET https://example.com/ HTTP/1.1\r\n\r\n"), 501},
    {STR_INIT("GET ftp://example.com/ HTTP/1.1\r\n\r\n"), 501},
    {STR_INIT("CONNECT example.com HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("CONNECT example.com:99999 HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("CONNECT user@example.com:443 HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("CONNECT example.com:443 HTTP/2\r\n\r\n"), 400},
    {STR_INIT("CONNECT example.com:443 HTTP/1.1 x\r\n\r\n"), 400},
    {STR_INIT("CONNECT  example.com:443 HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("CONNECT example.com\0.evil:443 HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com\r.evil/ HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("GET http://a@example.com/ HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com/#x HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("GET http://ex\xc3\xa4mple.com/ HTTP/1.1\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com/ HTTP/1.1\r\nA : b\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com/ HTTP/1.1\r\nA: b\rC: d\r\n\r\n"), 400},
    {STR_INIT("GET http://example.com/ HTTP/1.1\r\nnothing\r\n\r\n"), 400},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: "
              "2\r\n\r\n"),
     400},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nContent-Length: 1,1\r\n\r\n"), 400},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nContent-Length: "
              "99999999999999999999\r\n\r\n"),
     400},
    {STR_INIT("POST http://example.com/ HTTP/1.1\r\nContent-Length:\r\n\r\n"), 400},
};

static void bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_cases); i++) {
        struct proxy_head h;
        struct err err = {0};
        int status = proxy_head_parse(bad_cases[i].head, &h, &err);

        if (status != bad_cases[i].status || !err.text[0])
            fail_msg("row %zu, '%.*s': %d %s", i, STR_ARG(bad_cases[i].head), status, err.text);
    }
}

struct answer_case {
    const char *head;
    int status;
};

static const struct answer_case answer_cases[] = {
    {"HTTP/1.1 200 Connection established\r\n\r\n", 200},
    {"HTTP/1.0 407 x\r\n\r\n", 407},
    {"HTTP/1.1 200", 200},
    {"HTTP/1.1 20", -1},
    {"HTTP/2 200 \r\n", -1},
    {"nonsense", -1},
    {"HTTP/1.1 abc", -1},
    {"HTTP/1.1 -10", -1},
};

static void answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answer_cases); i++) {
        if (proxy_answer_status(str_of(answer_cases[i].head)) != answer_cases[i].status)
            fail_msg("%s", answer_cases[i].head);
    }
}

UNIT_TEST(proxy_head)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
        cmocka_unit_test(answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
