#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/syscall_filter.h"
#include "unit.h"

/* An installed filter costs the kernel about 0.3 us an instruction. */
#define MAX_INSTRUCTIONS 300

#if defined(__x86_64__)
#define MACHINE 0xc000003e
#elif defined(__aarch64__)
#define MACHINE 0xc00000b7
#else
#define MACHINE 0
#endif

/* What the kernel would do: the error a call gets, 0 for none. */
static int ask(struct str program, const struct seccomp_data *call)
{
    const struct sock_filter *code = (const struct sock_filter *)(const void *)program.ptr;
    size_t len = program.len / sizeof(*code);
    uint32_t a = 0;

    for (size_t i = 0; i < len; i++) {
        bool is = false;

        switch (code[i].code) {
        case BPF_LD | BPF_W | BPF_ABS:
            memcpy(&a, (const char *)call + code[i].k, sizeof(a));
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= code[i].k;
            continue;
        case BPF_RET | BPF_K:
            return code[i].k == SECCOMP_RET_ALLOW ? 0 : (int)(code[i].k & SECCOMP_RET_DATA);
        case BPF_JMP | BPF_JA:
            i += code[i].k;
            continue;
        case BPF_JMP | BPF_JEQ | BPF_K:
            is = a == code[i].k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            is = a > code[i].k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            is = a >= code[i].k;
            break;
        default:
            fail_msg("instruction %zu is none of ours: %#x", i, code[i].code);
        }
        i += is ? code[i].jt : code[i].jf;
    }
    fail_msg("no answer");
    return -1;
}

static int ask_call(struct str program, long nr, uint64_t arg0, uint64_t arg1)
{
    const struct seccomp_data call = {
        .nr = (int)nr, .arch = MACHINE, .args = {arg0, arg1, 0, 0, 0, 0}};

    return ask(program, &call);
}

static struct str filter(enum confine_net net, enum filter_unix unix_sockets)
{
    struct err err = {0};
    struct str program;

    assert_int_equal(syscall_filter_get(net, unix_sockets, &program, &err), 0);
    return program;
}

/* As confine.h has it. */
static bool may_socket(int family, int kind, enum confine_net net, enum filter_unix unix_sockets)
{
    switch (family) {
    case AF_UNIX:
        return unix_sockets == FILTER_UNIX_OPEN ||
               (unix_sockets == FILTER_UNIX_ASKED &&
                (kind == SOCK_STREAM || kind == SOCK_SEQPACKET));
    case AF_INET:
    case AF_INET6:
        return net == CONFINE_NET_OPEN || (net == CONFINE_NET_PROXY && kind == SOCK_STREAM);
    case AF_NETLINK:
        return net == CONFINE_NET_OPEN;
    default:
        return false;
    }
}

static bool may_pair(int family, int kind, enum filter_unix unix_sockets)
{
    return family == AF_UNIX &&
           (unix_sockets == FILTER_UNIX_OPEN || kind == SOCK_STREAM || kind == SOCK_SEQPACKET);
}

static void check_sockets(enum confine_net net, enum filter_unix unix_sockets)
{
    /* A high half, which the kernel does not look at, opens nothing. */
    static const uint64_t highs[] = {0, 1ULL << 32, 0xffffffffULL << 32};
    static const int beside[] = {0, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC};
    struct str program = filter(net, unix_sockets);

    for (int i = 0; i < 80 * 16 * 9; i++) {
        int family = i / (16 * 9) < 79 ? i / (16 * 9) : -1;
        int kind = i / 9 % 16;
        uint64_t high = highs[i % 3];
        uint64_t arg0 = (uint32_t)family | high;
        uint64_t arg1 = (uint32_t)(kind | beside[i / 3 % 3]) | high;
        bool socket_open = ask_call(program, SYS_socket, arg0, arg1) == 0;
        bool pair_open = ask_call(program, SYS_socketpair, arg0, arg1) == 0;
        bool may = may_socket(family, kind, net, unix_sockets);
        bool may_both = may_pair(family, kind, unix_sockets);

        if ((socket_open && !may) || (pair_open && !may_both) ||
            (!high && (socket_open != may || pair_open != may_both)))
            fail_msg("net %d, unix %d: family %d, kind %d, high %llx: socket %d, pair %d", net,
                     unix_sockets, family, kind, (unsigned long long)high, socket_open, pair_open);
    }
}

static void sockets_by_family_and_kind(void **state)
{
    (void)state;
    if (!MACHINE)
        skip();
    for (int net = CONFINE_NET_OPEN; net <= CONFINE_NET_PROXY; net++) {
        for (int by = FILTER_UNIX_CLOSED; by <= FILTER_UNIX_OPEN; by++)
            check_sockets((enum confine_net)net, (enum filter_unix)by);
    }
}

static const struct {
    long nr;
    uint64_t arg0, arg1;
    int error;
} call_cases[] = {
    {SYS_read, 0, 0, 0},
    {SYS_connect, 0, 0, 0},
    {SYS_mount, 0, 0, EPERM},
    {SYS_unshare, 0, 0, EPERM},
    {SYS_clone3, 0, 0, ENOSYS},
    {SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0},
    {SYS_clone, CLONE_NEWUSER, 0, EPERM},
    {SYS_clone, CLONE_VM | CLONE_NEWNET, 0, EPERM},
    {SYS_fchmod, 3, 0755, 0},
    {SYS_fchmod, 3, 0755 | S_ISUID, EPERM},
    {SYS_ioctl, 0, 0x5412, EPERM}, /* TIOCSTI */
    {SYS_ioctl, 0, 0x5412 | 1ULL << 32, EPERM},
    {SYS_ioctl, 0, 0x5413, 0},
};

static void calls_by_argument(void **state)
{
    struct str program = filter(CONFINE_NET_NONE, FILTER_UNIX_CLOSED);

    (void)state;
    if (!MACHINE)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(call_cases); i++) {
        int error = ask_call(program, call_cases[i].nr, call_cases[i].arg0, call_cases[i].arg1);

        if (error != call_cases[i].error)
            fail_msg("row %zu: %d", i, error);
    }
}

static void short_enough_to_start_fast(void **state)
{
    (void)state;
    for (int net = CONFINE_NET_OPEN; net <= CONFINE_NET_PROXY; net++) {
        for (int by = FILTER_UNIX_CLOSED; by <= FILTER_UNIX_OPEN; by++) {
            struct str program = filter((enum confine_net)net, (enum filter_unix)by);

            assert_in_range(program.len / sizeof(struct sock_filter), 1, MAX_INSTRUCTIONS);
        }
    }
}

UNIT_TEST(syscall_filter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_by_family_and_kind),
        cmocka_unit_test(calls_by_argument),
        cmocka_unit_test(short_enough_to_start_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
