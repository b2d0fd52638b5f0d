/*
 * syscall_filter: rows of calls, made into a program by libseccomp.
 *
 * Arguments are compared by their low 32 bits wherever the kernel looks at no more: a program could
 * otherwise set a high bit and be understood by the kernel but not by the filter.
 */
#include "proc/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/thread.h"

#define FILTER_LOW_BITS 0xffffffffu
#define FILTER_MAX_BYTES ((size_t)64 * 1024)
#define FILTER_SETLEASE 1024 /* F_SETLEASE and F_NOTIFY, which libc hides */
#define FILTER_NOTIFY 1026
#define FILTER_LAST_FAMILY AF_NETLINK /* that may be allowed at all */

/* Refused whatever the arguments are. Names that libseccomp does not know, or that this machine
 * does not have, are left out. */
static const struct {
    const char *name;
    int error;
} filter_calls[] = {
    /* Programs go on without these when they seem not to exist. Their arguments lie in memory,
     * where a filter cannot look. */
    {"clone3", ENOSYS},
    {"openat2", ENOSYS},
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    {"pidfd_getfd", EPERM},
    /* The confinement itself. */
    {"mount", EPERM},
    {"umount", EPERM},
    {"umount2", EPERM},
    {"mount_setattr", EPERM},
    {"move_mount", EPERM},
    {"open_tree", EPERM},
    {"open_tree_attr", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"unshare", EPERM},
    {"setns", EPERM},
    {"open_by_handle_at", EPERM},
    {"fanotify_init", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    /* The kernel, and what all share. */
    {"add_key", EPERM},
    {"request_key", EPERM},
    {"keyctl", EPERM},
    {"bpf", EPERM},
    {"perf_event_open", EPERM},
    {"userfaultfd", EPERM},
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"create_module", EPERM},
    {"syslog", EPERM},
    {"acct", EPERM},
    {"reboot", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"clock_adjtime", EPERM},
    {"adjtimex", EPERM},
    {"stime", EPERM},
    {"sethostname", EPERM},
    {"setdomainname", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"modify_ldt", EPERM},
    {"vm86", EPERM},
    {"vm86old", EPERM},
    {"vhangup", EPERM},
    {"uselib", EPERM},
    {"lookup_dcookie", EPERM},
    {"nfsservctl", EPERM},
    {"_sysctl", EPERM},
};

#define FILTER_NAMESPACES                                                                          \
    (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)

#define FILTER_SET_ID (S_ISUID | S_ISGID)

/* Refused when one bit of an argument is set, and of a second one if there is a second. */
static const struct {
    const char *name;
    unsigned arg;
    unsigned bits; /* each of them alone */
    unsigned arg2;
    unsigned bits2; /* 0: no second */
} filter_bits[] = {
    {"clone", 0, FILTER_NAMESPACES, 0, 0},
    /* A setuid or setgid file would outlive the confinement and run for others without it. */
    {"chmod", 1, FILTER_SET_ID, 0, 0},
    {"fchmod", 1, FILTER_SET_ID, 0, 0},
    {"fchmodat", 2, FILTER_SET_ID, 0, 0},
    {"fchmodat2", 2, FILTER_SET_ID, 0, 0},
    {"mknod", 1, FILTER_SET_ID, 0, 0},
    {"mknodat", 2, FILTER_SET_ID, 0, 0},
    {"creat", 1, FILTER_SET_ID, 0, 0},
    {"open", 2, FILTER_SET_ID, 1, O_CREAT},
    {"openat", 3, FILTER_SET_ID, 2, O_CREAT},
    /* One without a name is given one later. */
    {"open", 2, FILTER_SET_ID, 1, O_TMPFILE & ~O_DIRECTORY},
    {"openat", 3, FILTER_SET_ID, 2, O_TMPFILE & ~O_DIRECTORY},
};

/* Younger than a libseccomp that may be here; their numbers are the same on all machines. */
static const struct {
    const char *name;
    int number;
} filter_numbers[] = {
    {"fchmodat2", 452},
    {"open_tree_attr", 467},
};

/* Refused when an argument is one of these. */
static const struct {
    const char *name;
    unsigned arg;
    unsigned value;
} filter_values[] = {
    /* What a terminal would take for typed. */
    {"ioctl", 1, TIOCSTI},
    {"ioctl", 1, TIOCLINUX},
    /* A lease makes any process that opens the file wait, wherever it is; no build needs one. */
    {"fcntl", 1, FILTER_SETLEASE},
    {"fcntl", 1, FILTER_NOTIFY},
};

/* Whether sockets of a family may be made; of pairs there are none but AF_UNIX's. */
static bool filter_allows(bool is_pair, int family, enum confine_net net,
                          enum filter_unix unix_sockets)
{
    if (is_pair)
        return family == AF_UNIX;
    switch (family) {
    case AF_UNIX:
        return unix_sockets != FILTER_UNIX_CLOSED;
    case AF_INET:
    case AF_INET6:
        return net != CONFINE_NET_NONE;
    case AF_NETLINK: /* libc asks it about addresses */
        return net == CONFINE_NET_OPEN;
    default:
        return false;
    }
}

static int filter_number(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    for (size_t i = 0; number == __NR_SCMP_ERROR && i < ARRAY_LEN(filter_numbers); i++) {
        if (strcmp(filter_numbers[i].name, name) == 0)
            number = filter_numbers[i].number;
    }
    return number;
}

static int filter_refuse(scmp_filter_ctx ctx, const char *name, int error,
                         const struct scmp_arg_cmp *args, unsigned count)
{
    int number = filter_number(name);
    int rc;

    if (number == __NR_SCMP_ERROR)
        return 0;
    rc = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)error), number, count, args);
    return rc == -EDOM ? 0 : rc; /* this machine does not have it */
}

static int filter_add_bits(scmp_filter_ctx ctx, size_t row)
{
    int rc = 0;

    for (unsigned bit = 1; rc == 0 && bit; bit <<= 1) {
        const struct scmp_arg_cmp args[] = {
            SCMP_CMP(filter_bits[row].arg, SCMP_CMP_MASKED_EQ, bit, bit),
            SCMP_CMP(filter_bits[row].arg2, SCMP_CMP_MASKED_EQ, filter_bits[row].bits2,
                     filter_bits[row].bits2),
        };

        if (filter_bits[row].bits & bit)
            rc = filter_refuse(ctx, filter_bits[row].name, EPERM, args,
                               filter_bits[row].bits2 ? 2 : 1);
    }
    return rc;
}

/* All families but those that are allowed: from the last of these on by one rule, because each rule
 * costs every job a little when the program is installed. */
static int filter_add_families(scmp_filter_ctx ctx, bool is_pair, enum confine_net net,
                               enum filter_unix unix_sockets)
{
    const char *call = is_pair ? "socketpair" : "socket";
    int last = FILTER_LAST_FAMILY;
    int rc = 0;

    for (; last >= 0 && !filter_allows(is_pair, last, net, unix_sockets); last--)
        continue;
    if (last < 0)
        return filter_refuse(ctx, call, EACCES, NULL, 0);
    for (int family = 0; rc == 0 && family < last; family++) {
        const struct scmp_arg_cmp is =
            SCMP_A0(SCMP_CMP_MASKED_EQ, FILTER_LOW_BITS, (scmp_datum_t)family);

        if (!filter_allows(is_pair, family, net, unix_sockets))
            rc = filter_refuse(ctx, call, EACCES, &is, 1);
    }
    if (rc == 0) {
        const struct scmp_arg_cmp beyond = SCMP_A0(SCMP_CMP_GT, (scmp_datum_t)last);

        rc = filter_refuse(ctx, call, EACCES, &beyond, 1);
    }
    return rc;
}

/* Refuses a family's sockets of every kind but the given ones, which differ from all others in
 * single bits; beside a kind are SOCK_CLOEXEC and others. */
static int filter_add_kinds(scmp_filter_ctx ctx, const char *call, int family, bool has_packets)
{
    static const struct {
        unsigned bit, refused;
        bool is_packets;
    } rows[] = {{1, 0, false}, {2, 2, false}, {4, 4, true}, {8, 8, false}};
    int rc = 0;

    _Static_assert(SOCK_STREAM == 1 && SOCK_SEQPACKET == 5, "the bits of kinds");
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(rows); i++) {
        const struct scmp_arg_cmp args[] = {
            SCMP_A0(SCMP_CMP_MASKED_EQ, FILTER_LOW_BITS, (scmp_datum_t)family),
            SCMP_A1(SCMP_CMP_MASKED_EQ, rows[i].bit, rows[i].refused),
        };

        if (!rows[i].is_packets || !has_packets)
            rc = filter_refuse(ctx, call, EACCES, args, 2);
    }
    return rc;
}

static int filter_add_sockets(scmp_filter_ctx ctx, enum confine_net net,
                              enum filter_unix unix_sockets)
{
    int rc = filter_add_families(ctx, /*is_pair=*/false, net, unix_sockets);

    if (rc == 0)
        rc = filter_add_families(ctx, /*is_pair=*/true, net, unix_sockets);
    /* Through the proxy go streams; the rest would have nowhere to go, and DNS would wait for it.
     */
    if (rc == 0 && net == CONFINE_NET_PROXY)
        rc = filter_add_kinds(ctx, "socket", AF_INET, /*has_packets=*/false);
    if (rc == 0 && net == CONFINE_NET_PROXY)
        rc = filter_add_kinds(ctx, "socket", AF_INET6, /*has_packets=*/false);
    /* Through a pair of datagram sockets, too, any name could be sent to. */
    if (rc == 0 && unix_sockets == FILTER_UNIX_ASKED)
        rc = filter_add_kinds(ctx, "socket", AF_UNIX, /*has_packets=*/true);
    if (rc == 0 && unix_sockets != FILTER_UNIX_OPEN)
        rc = filter_add_kinds(ctx, "socketpair", AF_UNIX, /*has_packets=*/true);
    return rc;
}

/* Limits of others: tenax would be ended by one on CPU time. One's own are asked for as 0. */
static int filter_add_limits(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp args[] = {SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0)};

    return filter_refuse(ctx, "prlimit64", EPERM, args, 2);
}

static int filter_fill(scmp_filter_ctx ctx, enum confine_net net, enum filter_unix unix_sockets)
{
    int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree; only speed depends on it */
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(filter_calls); i++)
        rc = filter_refuse(ctx, filter_calls[i].name, filter_calls[i].error, NULL, 0);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(filter_bits); i++)
        rc = filter_add_bits(ctx, i);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(filter_values); i++) {
        const struct scmp_arg_cmp is = SCMP_CMP(filter_values[i].arg, SCMP_CMP_MASKED_EQ,
                                                FILTER_LOW_BITS, filter_values[i].value);

        rc = filter_refuse(ctx, filter_values[i].name, EPERM, &is, 1);
    }
    if (rc == 0)
        rc = filter_add_limits(ctx);
    return rc == 0 ? filter_add_sockets(ctx, net, unix_sockets) : rc;
}

static int filter_export(scmp_filter_ctx ctx, struct buf *ret)
{
    CLEANUP(fd_closep) int fd = memfd_create("tenax-filter", MFD_CLOEXEC);

    if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    return buf_add_fd(ret, fd, NULL);
}

static int filter_make(enum confine_net net, enum filter_unix unix_sockets, struct buf *ret)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int rc = -1;

    if (ctx && filter_fill(ctx, net, unix_sockets) == 0)
        rc = filter_export(ctx, ret);
    seccomp_release(ctx);
    return rc;
}

static struct buf filter_made[CONFINE_NET_TRIAL + 1][FILTER_UNIX_OPEN + 1];
static struct lock filter_lock = LOCK_INIT;

static bool filter_find(struct buf *at, struct str *ret)
{
    lock_take(&filter_lock);
    *ret = buf_str(at);
    lock_give(&filter_lock);
    return ret->len > 0;
}

int syscall_filter_get(enum confine_net net, enum filter_unix unix_sockets, struct str *ret,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf made = BUF_INIT(FILTER_MAX_BYTES);
    struct buf *at = &filter_made[net][unix_sockets];

    if (filter_find(at, ret))
        return 0;
    if (filter_make(net, unix_sockets, &made) < 0)
        return err_set(err, ERR_IO, "cannot make the system call filter");
    lock_take(&filter_lock);
    if (!at->len) /* two threads may have made it; the first one's stays where it is */
        buf_move(at, &made);
    lock_give(&filter_lock);
    filter_find(at, ret);
    return 0;
}
