/*
 * confine_enter: namespaces, network, rights, system calls. Mounts and rules for files have rooms
 * of their own (confine_mounts.h, confine_rules.h).
 *
 * Runs in the warden and in its leader; plain system calls only.
 */
#include "proc/confine_enter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/broker.h"
#include "proc/confine.h"
#include "proc/confine_image.h"
#include "proc/confine_mounts.h"
#include "proc/landlock.h"
#include "proc/observe.h"
#include "proc/packet.h"

#define ENTER_LAST_CAPABILITY 63
#define ENTER_FORWARD 16

static bool enter_write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    bool written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return written;
}

/* Maps each id to itself, and no others. */
static bool enter_write_map(const char *path, unsigned id)
{
    char text[32];
    char digits[12];
    size_t len = 0;
    size_t at = 0;

    do {
        digits[len++] = (char)('0' + id % 10);
        id /= 10;
    } while (id);
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = len; i > 0; i--)
            text[at++] = digits[i - 1];
        text[at++] = ' ';
    }
    memcpy(text + at, "1\n", 3);
    return enter_write_file(path, text);
}

bool confine_enter_namespaces(int flags)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();

    if (flags && unshare(flags) < 0)
        return false;
    if (!(flags & CLONE_NEWUSER))
        return true;
    /* After a change of user, or from a file that cannot be read, our own files in /proc would be
     * root's. Who may look into us is Landlock's business. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return enter_write_file("/proc/self/setgroups", "deny") &&
           enter_write_map("/proc/self/uid_map", uid) && enter_write_map("/proc/self/gid_map", gid);
}

/* Those of a private folder. Mounts come with their own root. */
static bool enter_private(const struct confine_image *image)
{
    if (!image->has_fd[CONFINE_MOUNTS])
        return true;
    if (image->has_fd[CONFINE_USER] && setns(image->fds[CONFINE_USER], CLONE_NEWUSER) < 0)
        return false;
    return setns(image->fds[CONFINE_MOUNTS], CLONE_NEWNS) == 0 &&
           (fchdir)(image->fds[CONFINE_ROOT]) == 0 && chroot(".") == 0;
}

/* ---- network ---- */

static bool enter_raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return up;
}

static bool enter_listen(struct confine_image *image)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons(CONFINE_PROXY_PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    image->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return image->listener >= 0 &&
           bind(image->listener, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
           listen(image->listener, SOMAXCONN) == 0;
}

/* A few at a time: a job that never stops connecting must not keep its warden from ending it. */
void confine_forward(const struct confine_image *image)
{
    for (int i = 0; i < ENTER_FORWARD; i++) {
        int connection = accept4(image->listener, NULL, NULL, SOCK_CLOEXEC);

        if (connection < 0)
            return;
        packet_send(image->fds[CONFINE_PROXY], &connection, 1); /* or it ends here */
        close(connection);
    }
}

/* ---- before a job, and for it ---- */

/* What an exec could give back. As far as we may; where not, no_new_privs keeps them from coming
 * back. */
static void enter_bound_capabilities(uint64_t keep)
{
    for (int i = 0; i <= ENTER_LAST_CAPABILITY; i++) {
        if (!(keep & 1ULL << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            break; /* past the last that there is */
    }
}

void confine_prepare(int namespaces, struct confine_ahead *ret)
{
    if (!confine_enter_namespaces(namespaces & ~CLONE_NEWNS))
        return;
    ret->namespaces = namespaces & ~CLONE_NEWNS;
    if (namespaces & CLONE_NEWNS) {
        enter_bound_capabilities(confine_capabilities());
        ret->is_bound = true;
        (void)confine_rules_make(&ret->rules); /* that it failed shows when they are looked at */
    }
}

/* While paths still lead to the files to be confined, and not to mounts of ours. */
static bool enter_take_rules(struct confine_image *image, struct confine_rules *rules)
{
    bool made = true;

    if (image->is_trial)
        made = confine_rules_make_trial(rules, image);
    else if (image->rules == CONFINE_RULES_FILES)
        made = confine_rules_hold(rules) || confine_rules_make(rules);
    else if (image->rules == CONFINE_RULES_SCOPES)
        made = confine_rules_make_scopes(rules);
    confine_rules_close_watch(rules);
    image->ruleset = rules->fd;
    return made;
}

bool confine_enter(struct confine_image *image, struct confine_ahead *ahead,
                   enum child_stage *ret_stage)
{
    *ret_stage = CHILD_RIGHTS;
    if (!enter_take_rules(image, &ahead->rules))
        return false;
    *ret_stage = CHILD_NAMESPACES;
    if (!enter_private(image) || !confine_enter_namespaces(image->namespaces & ~ahead->namespaces))
        return false;
    if (image->is_view) /* no Landlock keeps other jobs from looking into us */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!image->is_view && !ahead->is_bound)
        enter_bound_capabilities(image->capabilities);
    *ret_stage = CHILD_NETWORK;
    if (image->loopback && !enter_raise_loopback())
        return false;
    if ((image->has_fd[CONFINE_PROXY] || image->is_sealed) && !enter_listen(image))
        return false;
    *ret_stage = CHILD_CALLS;
    if ((!image->is_view || image->has_fd[CONFINE_RECORDS]) &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, image->hand) < 0)
        return false;
    if (image->has_fd[CONFINE_RECORDS] && !observe_init(image))
        return false;
    *ret_stage = CHILD_OVERLAY;
    if (!confine_mounts_overlay(image, &ahead->rules))
        return false;
    *ret_stage = CHILD_MOUNTS;
    return !image->mounts || confine_mounts_take(image, &ahead->rules);
}

void confine_take_asks(struct confine_image *image)
{
    if (image->hand[1] < 0)
        return;
    close(image->hand[1]); /* else a leader that has failed would be waited for */
    image->hand[1] = -1;
    if (packet_receive(image->hand[0], &image->asks, 1) < 0)
        image->asks = -1;
    close(image->hand[0]);
    if (image->observer)
        broker_hurry(image);
}

/* ---- in the leader ---- */

/* Those that we have and that may stay. */
CHILD_FN static bool enter_drop_capabilities(uint64_t keep)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(keep >> 32 * i);
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, data) == 0;
}

CHILD_FN bool confine_drop_rights(const struct confine_image *image)
{
    if (image->is_view)
        return true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    if (!enter_drop_capabilities(image->capabilities))
        return false;
    return image->rules == CONFINE_RULES_NONE || landlock_enter(image->ruleset) == 0;
}

CHILD_FN bool confine_drop_calls(const struct confine_image *image)
{
    const struct sock_fprog program = {
        .len = image->filter_len,
        .filter = (struct sock_filter *)((char *)(uintptr_t)image + image->filter),
    };

    if (image->hand[1] >= 0 && !broker_install(image))
        return false;
    if (image->is_view)
        return true;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
