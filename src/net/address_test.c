/*
 * Public addresses and all the others, at the edges of every block.
 */
#include "net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"
#include "unit.h"

static const struct {
    const char *ip;
    bool is_public;
} ip_cases[] = {
    {"8.8.8.8", true},
    {"1.0.0.0", true},
    {"0.255.255.255", false},
    {"0.0.0.0", false},
    {"9.255.255.255", true},
    {"10.0.0.0", false},
    {"10.255.255.255", false},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.64.0.0", false},
    {"100.127.255.255", false},
    {"100.128.0.0", true},
    {"126.255.255.255", true},
    {"127.0.0.1", false},
    {"127.255.255.255", false},
    {"128.0.0.0", true},
    {"169.253.255.255", true},
    {"169.254.169.254", false},
    {"169.255.0.0", true},
    {"172.15.255.255", true},
    {"172.16.0.0", false},
    {"172.31.255.255", false},
    {"172.32.0.0", true},
    {"192.0.0.8", false},
    {"192.0.1.0", true},
    {"192.0.2.1", false},
    {"192.88.99.1", false},
    {"192.167.255.255", true},
    {"192.168.0.0", false},
    {"192.168.255.255", false},
    {"192.169.0.0", true},
    {"198.17.255.255", true},
    {"198.18.0.0", false},
    {"198.19.255.255", false},
    {"198.20.0.0", true},
    {"198.51.100.7", false},
    {"203.0.113.7", false},
    {"223.255.255.255", true},
    {"224.0.0.1", false},
    {"239.255.255.255", false},
    {"240.0.0.0", false},
    {"255.255.255.255", false},
    {"2606:4700::1111", true},
    {"2000::", true},
    {"3ffe:ffff::1", true},
    {"::", false},
    {"::1", false},
    {"::7f00:1", false},
    {"::8.8.8.8", false}, /* the old "compatible" form leads nowhere good */
    {"::ffff:127.0.0.1", false},
    {"::ffff:10.1.2.3", false},
    {"::ffff:8.8.8.8", true},
    {"::fffe:8.8.8.8", false},
    {"64:ff9b::10.0.0.1", false},
    {"64:ff9b::8.8.8.8", true},
    {"64:ff9b:1::8.8.8.8", false},
    {"2002:7f00:1::", false},
    {"2002:c0a8:101::1", false},
    {"2002:808:808::1", true},
    {"100::1", false},
    {"2001::1", false},
    {"2001:1ff:ffff::", false},
    {"2001:200::", true},
    {"2001:db8::1", false},
    {"3fff::1", false},
    {"4000::1", false},
    {"5f00::1", false},
    {"fc00::1", false},
    {"fd12:3456::1", false},
    {"fe80::1", false},
    {"fec0::1", false},
    {"ff02::1", false},
    {"example.com", false},
    {"", false},
};

static void addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ip_cases); i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        bool is_public = ip_cases[i].is_public;

        if (address_text_is_public(ip_cases[i].ip) != is_public)
            fail_msg("%s as text", ip_cases[i].ip);
        if (inet_pton(AF_INET, ip_cases[i].ip, &v4.sin_addr) == 1 &&
            address_is_public((struct sockaddr *)&v4) != is_public)
            fail_msg("%s", ip_cases[i].ip);
        if (inet_pton(AF_INET6, ip_cases[i].ip, &v6.sin6_addr) == 1 &&
            address_is_public((struct sockaddr *)&v6) != is_public)
            fail_msg("%s", ip_cases[i].ip);
    }
    assert_false(
        address_is_public((struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}));
}

static const struct {
    const char *host;
    bool may_be;
} host_cases[] = {
    {"example.com", true},
    {"localhost.example.com", true},
    {"internal.example.com", true},
    {"8.8.8.8", true},
    {"[2606:4700::1111]", true},
    {"localhost", false},
    {"LocalHost.", false},
    {"a.localhost", false},
    {"printer.local", false},
    {"metadata.google.internal", false},
    {"127.0.0.1", false},
    {"127.0.0.1.", false},
    {"127.1", false},
    {"2130706433", false},
    {"0x7f000001", false},
    {"0177.0.0.1", false},
    {"[::1]", false},
    {"[::ffff:127.0.0.1]", false},
    {"[fe80::1%25eth0]", false},
    {"", false},
    {".", false},
};

static void hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(host_cases); i++) {
        if (address_host_may_be_public(str_of(host_cases[i].host)) != host_cases[i].may_be)
            fail_msg("%s", host_cases[i].host);
    }
}

UNIT_TEST(address)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
