#include "net/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "net/net.h"
#include "unit.h"

static void good(void **state)
{
    static const struct {
        const char *text;
        bool tls;
        const char *host;
        int port;
    } rows[] = {
        {"http://localhost", false, "localhost", 80},
        {"https://api.example.com", true, "api.example.com", 443},
        {"HTTPS://API.example.com/", true, "API.example.com", 443},
        {"http://127.0.0.1:8080/v1/messages", false, "127.0.0.1", 8080},
        {"http://h?key=a@b:c/d", false, "h", 80},
        {"http://h/a@b:c", false, "h", 80},
        {"http://[::1]", false, "[::1]", 80},
        {"https://[::1]:8443/x", true, "[::1]", 8443},
        {"http://[fe80::1%25eth0]:1/", false, "[fe80::1%25eth0]", 1},
        {"http://[::ffff:1.2.3.4]/", false, "[::ffff:1.2.3.4]", 80},
        {"http://my_host-1.local.:65535", false, "my_host-1.local.", 65535},
        {"https://b\xc3\xbc"
         "cher.example/",
         true,
         "b\xc3\xbc"
         "cher.example",
         443},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct url url;
        struct err err = {0};

        if (url_parse(str_of(rows[i].text), &url, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        if (url.tls != rows[i].tls || !str_is(url.host, rows[i].host) || url.port != rows[i].port)
            fail_msg("%s: %d '%.*s' %d", rows[i].text, url.tls, STR_ARG(url.host), url.port);
    }
}

static void bad(void **state)
{
    static const struct {
        struct str text;
        const char *says;
    } rows[] = {
        {STR_INIT(""), "empty"},
        {STR_INIT("api.example.com"), "'api.example.com' is not an http"},
        {STR_INIT("ftp://example.com"), "is not an http"},
        {STR_INIT("file:///etc/passwd"), "is not an http"},
        {STR_INIT("http:/x"), "is not an http"},
        {STR_INIT("http://"), "names no host"},
        {STR_INIT("https:///path"), "names no host"},
        {STR_INIT("http://:80/"), "names no host"},
        {STR_INIT("http://user:hunter2@host/"), "user name or password"},
        {STR_INIT("http://host:80@evil/"), "user name or password"},
        {STR_INIT("http://a b/"), "a space"},
        {STR_INIT("http://a/b c"), "a space"},
        {STR_INIT("http://a/\r\nX: y"), "a control character"},
        {STR_INIT("http://a/\0"), "a control character"},
        {STR_INIT("http://a\\@b/"), "a backslash"},
        {STR_INIT("http://a/#frag"), "fragment"},
        {STR_INIT("http://a#b/"), "fragment"},
        {STR_INIT("http://a:0/"), "'0' is not a port"},
        {STR_INIT("http://a:65536/"), "'65536' is not a port"},
        {STR_INIT("http://a:+80/"), "'+80' is not a port"},
        {STR_INIT("http://a:/"), "'' is not a port"},
        {STR_INIT("http://a:80x/"), "is not a port"},
        {STR_INIT("http://a:999999999999999999999/"), "is not a port"},
        {STR_INIT("http://[::1/"), "is not an IPv6 address"},
        {STR_INIT("http://[/"), "is not an IPv6 address"},
        {STR_INIT("http://[]/"), "is not an IPv6 address"},
        {STR_INIT("http://[1.2.3.4]/"), "is not an IPv6 address"},
        {STR_INIT("http://[::1]x/"), "is not a port"},
        {STR_INIT("http://::1/"), "names no host"},
        {STR_INIT("http://a%2e/"), "is not a host name"},
        {STR_INIT("http://a,b/"), "is not a host name"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};

        if (net_check_url(rows[i].text, &err) == 0)
            fail_msg("%s is taken", rows[i].text.ptr);
        if (err.code != ERR_BAD_INPUT || !str_has(str_of(err.text), str_of(rows[i].says)))
            fail_msg("%s: %s", rows[i].text.ptr, err.text);
    }
}

static void texts_show_no_secrets(void **state)
{
    static const char *const urls[] = {
        "ftp://u:hunter2@h/", "u:hunter2@h",         "http://?key=hunter2",
        "x?key=hunter2",      "http://u:hunter2@h/", "http://u@hunter2:hunter2/",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct err err = {0};

        assert_int_equal(net_check_url(str_of(urls[i]), &err), -1);
        if (str_has(str_of(err.text), STR("hunter2")))
            fail_msg("%s: %s", urls[i], err.text);
    }
}

static void proxies(void **state)
{
    static const struct {
        const char *text;
        const char *says; /* NULL: it is good */
        const char *password;
    } rows[] = {
        {"proxy", NULL, ""},
        {"proxy:3128", NULL, ""},
        {"http://proxy:3128/", NULL, ""},
        {"HTTPS://joe@proxy", NULL, ""},
        {"socks5h://joe:hunter2@[::1]:1080", NULL, "hunter2"},
        {"joe:hun%40ter2@proxy:1", NULL, "hun%40ter2"},
        {"ftp://joe:hunter2@proxy", "scheme", "hunter2"},
        {"http://joe:hunter2@proxy:99999999", "port", "hunter2"},
        {"http://joe:hunter2@proxy: 80", "port", "hunter2"},
        {"http://joe:hunter2@pro xy:80", "names no host", "hunter2"},
        {"http://joe:hunter2@:80", "names no host", "hunter2"},
        {"http://joe:hun@ter2@proxy:80", "%40", "hun@ter2"},
        {"http://joe:hun/ter2@proxy:80", "%2F", "hun/ter2"},
        {"http://joe:hunter2 @proxy:80", "%20", "hunter2 "},
        {"http://", "names no host", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = str_of(rows[i].text);
        struct err err = {0};
        int rc = url_check_proxy(text, &err);

        if (rc != (rows[i].says ? -1 : 0) || strstr(err.text, "ter2") ||
            (rc < 0 && !strstr(err.text, rows[i].says)))
            fail_msg("%s: %d %s", rows[i].text, rc, err.text);
        if (!str_is(url_proxy_password(text), rows[i].password))
            fail_msg("%s: password %.*s", rows[i].text, STR_ARG(url_proxy_password(text)));
    }
}

static void very_long(void **state)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(100000);
    struct err err = {0};

    (void)state;
    buf_adds(&url, "http://");
    while (url.len < 300)
        buf_addc(&url, 'a');
    assert_int_equal(net_check_url(buf_str(&url), &err), -1);
    while (url.len < 9000)
        buf_addc(&url, '/');
    assert_int_equal(net_check_url(buf_str(&url), &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
}

UNIT_TEST(url)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
        cmocka_unit_test(texts_show_no_secrets),
        cmocka_unit_test(proxies),
        cmocka_unit_test(very_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
