/*
 * Which addresses are public: IANA's registries of special-purpose addresses, as two tables. Pure;
 * any thread.
 */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

struct block4 {
    uint32_t start;
    int bits;
};

#define IP4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

static const struct block4 special4[] = {
    {IP4(0, 0, 0, 0), 8},       /* this network */
    {IP4(10, 0, 0, 0), 8},      /* private */
    {IP4(100, 64, 0, 0), 10},   /* shared by a provider's customers */
    {IP4(127, 0, 0, 0), 8},     /* loopback */
    {IP4(169, 254, 0, 0), 16},  /* link-local; clouds keep their secrets there */
    {IP4(172, 16, 0, 0), 12},   /* private */
    {IP4(192, 0, 0, 0), 24},    /* protocol assignments */
    {IP4(192, 0, 2, 0), 24},    /* documentation */
    {IP4(192, 88, 99, 0), 24},  /* 6to4 relays */
    {IP4(192, 168, 0, 0), 16},  /* private */
    {IP4(198, 18, 0, 0), 15},   /* benchmarks */
    {IP4(198, 51, 100, 0), 24}, /* documentation */
    {IP4(203, 0, 113, 0), 24},  /* documentation */
    {IP4(224, 0, 0, 0), 4},     /* multicast */
    {IP4(240, 0, 0, 0), 4},     /* reserved, broadcast */
};

static bool is_public4(uint32_t ip)
{
    for (size_t i = 0; i < ARRAY_LEN(special4); i++) {
        if ((ip ^ special4[i].start) >> (32 - special4[i].bits) == 0)
            return false;
    }
    return true;
}

static bool starts_with(const uint8_t ip[16], const uint8_t prefix[16], int bits)
{
    int bytes = bits / 8;
    int rest = bits % 8;

    return memcmp(ip, prefix, (size_t)bytes) == 0 &&
           (!rest || (ip[bytes] ^ prefix[bytes]) >> (8 - rest) == 0);
}

/* IPv6 addresses that stand for an IPv4 one, and where in them it is. */
static const struct {
    uint8_t prefix[16];
    int bits;
    int at;
} carriers[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12}, /* mapped */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},                   /* NAT64 */
    {{0x20, 0x02}, 16, 2},                                /* 6to4 */
};

/* Parts of 2000::/3, the only public block, that are not. */
static const struct {
    uint8_t prefix[16];
    int bits;
} special6[] = {
    {{0x20, 0x01}, 23},             /* protocol assignments: Teredo, ORCHID, benchmarks */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static bool is_public6(const uint8_t ip[16])
{
    for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
        const uint8_t *v4 = ip + carriers[i].at;

        if (starts_with(ip, carriers[i].prefix, carriers[i].bits))
            return is_public4(IP4(v4[0], v4[1], v4[2], v4[3]));
    }
    for (size_t i = 0; i < ARRAY_LEN(special6); i++) {
        if (starts_with(ip, special6[i].prefix, special6[i].bits))
            return false;
    }
    return ip[0] >> 5 == 1;
}

bool address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return is_public4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return is_public6(((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
    return false;
}

bool address_text_is_public(const char *ip)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, ip, &v4) == 1)
        return is_public4(ntohl(v4.s_addr));
    return inet_pton(AF_INET6, ip, &v6) == 1 && is_public6(v6.s6_addr);
}

static bool is_or_ends(struct str host, struct str name)
{
    return str_eq_nocase(host, name) ||
           (host.len > name.len && host.ptr[host.len - name.len - 1] == '.' &&
            str_eq_nocase(str_from(host, host.len - name.len), name));
}

bool address_host_may_be_public(struct str host)
{
    struct in_addr v4;
    char text[256];

    if (host.len && host.ptr[0] == '[') {
        host = str_from(host, 1);
        host = str_first(host, str_chr(host, ']'));
        host = str_first(host, str_chr(host, '%'));
    }
    while (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (!host.len || host.len >= sizeof(text))
        return false;
    if (is_or_ends(host, STR("localhost")) || is_or_ends(host, STR("local")) ||
        is_or_ends(host, STR("internal")))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (str_chr(host, ':') < host.len)
        return address_text_is_public(text);
    /* Takes the old spellings too, as the connecting code will. */
    return !inet_aton(text, &v4) || is_public4(ntohl(v4.s_addr));
}
