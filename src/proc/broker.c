/*
 * broker: a seccomp filter of a few instructions, and the answers to what it asks. Nothing here
 * waits for long: the warden has a job to end, too.
 */
#include "proc/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "proc/child.h"
#include "proc/confine_image.h"
#include "proc/fence.h"
#include "proc/observe.h"
#include "proc/packet.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define BROKER_WAIT_MS 50
#define BROKER_PAUSE_MS 5
#define BROKER_STATUS_BYTES 512

/* Calls of other machines are refused by the other filter, whatever this one says. From the third
 * instruction on it is one without connect(2). */
static const struct sock_filter broker_filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 3, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

/* The same with observed ones. */
#define BROKER_WITHOUT_CONNECT 2
#ifdef SYS_open
#define BROKER_OPENS 2
#else
#define BROKER_OPENS 0
#endif
static const struct sock_filter broker_filter_observing[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 7 + BROKER_OPENS, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5 + BROKER_OPENS, 0),
#ifdef SYS_open
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 6, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_creat, 5, 0),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

/* For a job on trial: also calls that listen, and those that can send without a connection. Not
 * sendmsg(2), by which the leader sends the descriptor of the filter: resolvers do not use it. */
static const struct sock_filter broker_filter_trial[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 9 + BROKER_OPENS, 0),
#ifdef SYS_open
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 10, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_creat, 9, 0),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 8, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 7, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 6, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_listen, 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmmsg, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

CHILD_FN static struct sock_fprog broker_program(const struct confine_image *image)
{
    size_t skip = image->socket_count ? 0 : BROKER_WITHOUT_CONNECT;
    const struct sock_filter *filter = broker_filter + skip;
    size_t len = sizeof(broker_filter) / sizeof(broker_filter[0]) - skip;

    if (image->is_trial) {
        filter = broker_filter_trial;
        len = sizeof(broker_filter_trial) / sizeof(broker_filter_trial[0]);
    } else if (image->has_fd[CONFINE_RECORDS]) {
        filter = broker_filter_observing + skip;
        len = sizeof(broker_filter_observing) / sizeof(broker_filter_observing[0]) - skip;
    }
    return (struct sock_fprog){
        .len = (unsigned short)len,
        .filter = (struct sock_filter *)(void *)(uintptr_t)filter,
    };
}

CHILD_FN static int broker_listen(const struct sock_fprog *program)
{
    /* A signal must not make a program connect a second time when it is connected already. Before
     * Linux 5.19 it may. */
    long asks =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);

    if (asks < 0 && errno == EINVAL)
        asks = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                       program);
    return (int)asks;
}

CHILD_FN bool broker_install(const struct confine_image *image)
{
    const struct sock_fprog program = broker_program(image);
    int fd = broker_listen(&program);

    /* An ordinary user in a view without a user namespace. */
    if (fd < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        fd = broker_listen(&program);
    if (fd < 0 && !image->socket_count && !image->has_fd[CONFINE_RECORDS])
        return true;
    return fd >= 0 && packet_send(image->hand[1], &fd, 1) == 0;
}

/* ---- who asks ---- */

void broker_proc_path(pid_t pid, const char *name, char ret[static 64])
{
    char digits[12];
    size_t len = 0;
    size_t at = sizeof("/proc/") - 1;

    memcpy(ret, "/proc/", sizeof("/proc/"));
    do {
        digits[len++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid);
    while (len)
        ret[at++] = digits[--len];
    memcpy(ret + at, name, strlen(name) + 1);
}

/* Of most it is the first thread, which a signal that is none tells for less than a file does. Only
 * a process has a pidfd on every kernel. */
pid_t broker_process_of(pid_t thread)
{
    char text[BROKER_STATUS_BYTES];
    char path[64];
    const char *at;
    pid_t pid = 0;
    ssize_t len;
    int fd;

    if (syscall(SYS_tgkill, thread, thread, 0) == 0 || errno != ESRCH)
        return thread;
    broker_proc_path(thread, "/status", path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    at = strstr(text, "\nTgid:\t");
    for (at = at ? at + 7 : ""; *at >= '0' && *at <= '9'; at++)
        pid = pid * 10 + (*at - '0');
    return pid;
}

int broker_take_file(pid_t thread, int fd)
{
    int process = (int)syscall(SYS_pidfd_open, broker_process_of(thread), 0);
    int taken;
    int sys;

    if (process < 0)
        return -1;
    taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    sys = errno;
    close(process);
    errno = sys;
    return taken;
}

/* 0, or the errno that the program gets. */
int broker_read(struct broker_question *q, const struct seccomp_notif *asked)
{
    struct iovec here = {.iov_base = &q->at};
    struct iovec there = {.iov_base = (void *)(uintptr_t)asked->data.args[1]};
    char path[64];
    ssize_t len;

    q->thread = (pid_t)asked->pid;
    q->len = (socklen_t)asked->data.args[2];
    if (q->len > sizeof(q->at))
        return EINVAL;
    here.iov_len = there.iov_len = q->len;
    len = q->len ? process_vm_readv(q->thread, &here, 1, &there, 1, 0) : 0;
    if (len < 0)
        return errno;
    if (len != (ssize_t)q->len)
        return EFAULT;
    q->socket = broker_take_file(q->thread, (int)asked->data.args[0]);
    if (q->socket < 0)
        return errno;
    broker_proc_path(q->thread, "/root", path);
    q->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return q->root < 0 ? errno : 0;
}

/* ---- where to ---- */

int broker_open(int root, const char *path, unsigned resolve)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
    };

    return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* The path that was asked for, from the program's root. */
int broker_path(const struct broker_question *q, char ret[static PATH_MAX])
{
    const char *said = ((const struct sockaddr_un *)&q->at)->sun_path;
    size_t most = q->len > offsetof(struct sockaddr_un, sun_path)
                      ? q->len - offsetof(struct sockaddr_un, sun_path)
                      : 0;
    size_t len = strnlen(said, most);
    char path[64];
    ssize_t at = 0;

    if (!len)
        return EACCES; /* an abstract name */
    if (said[0] != '/') {
        broker_proc_path(q->thread, "/cwd", path);
        at = readlink(path, ret, PATH_MAX - sizeof(q->at) - 2);
        if (at < 0)
            return errno;
        ret[at++] = '/';
    }
    memcpy(ret + at, said, len);
    ret[(size_t)at + len] = '\0';
    return 0;
}

/* The list has no symbolic links any more, and nothing that the job could put something else in the
 * place of. */
static bool broker_is_listed(const struct confine_image *image, int root, const struct stat *asked)
{
    const char *path = (const char *)image + image->sockets;

    for (size_t i = 0; i < image->socket_count; i++, path += strlen(path) + 1) {
        int fd = broker_open(root, path, RESOLVE_NO_SYMLINKS);
        struct stat st;
        bool is_it = fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
                     st.st_dev == asked->st_dev && st.st_ino == asked->st_ino;

        if (fd >= 0)
            close(fd);
        if (is_it)
            return true;
    }
    return false;
}

/* Without a long wait. */
int broker_connect(int socket, const void *at, socklen_t len)
{
    int flags = fcntl(socket, F_GETFL);
    bool waits = !(flags & O_NONBLOCK);
    struct pollfd ready = {.fd = socket, .events = POLLOUT};
    int rc;

    if (waits)
        fcntl(socket, F_SETFL, flags | O_NONBLOCK);
    rc = connect(socket, at, len) < 0 ? errno : 0;
    for (int ms = 0; waits && rc == EAGAIN && ms < BROKER_WAIT_MS; ms += BROKER_PAUSE_MS) {
        poll(NULL, 0, BROKER_PAUSE_MS);
        rc = connect(socket, at, len) < 0 ? errno : 0;
    }
    if (waits && rc == EINPROGRESS) {
        poll(&ready, 1, BROKER_WAIT_MS);
        rc = connect(socket, at, len) < 0 ? errno : 0;
        if (rc == EALREADY)
            rc = ETIMEDOUT;
    }
    if (waits)
        fcntl(socket, F_SETFL, flags);
    return rc;
}

/* To the file that was found, not to what now has its name. */
static int broker_connect_file(int socket, int file)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/proc/self/fd/"};
    size_t len = strlen(at.sun_path);
    char digits[12];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + file % 10);
        file /= 10;
    } while (file);
    while (count)
        at.sun_path[len++] = digits[--count];
    return broker_connect(socket, &at, sizeof(at));
}

static int broker_connect_unix(const struct confine_image *image, const struct broker_question *q)
{
    char path[PATH_MAX];
    struct stat st;
    int file;
    int rc = broker_path(q, path);

    if (rc)
        return rc;
    file = broker_open(q->root, path, 0);
    if (file < 0)
        return errno;
    if (fstat(file, &st) < 0 || !broker_is_listed(image, q->root, &st))
        rc = EACCES;
    else
        rc = broker_connect_file(q->socket, file);
    close(file);
    return rc;
}

static int broker_decide(const struct confine_image *image, const struct broker_question *q)
{
    socklen_t len = sizeof(int);
    int family = -1;

    if (getsockopt(q->socket, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0)
        return errno;
    if (family != AF_UNIX)
        return broker_connect(q->socket, &q->at, q->len);
    if (q->len < sizeof(sa_family_t) || q->at.ss_family != AF_UNIX)
        return EINVAL;
    return broker_connect_unix(image, q);
}

void broker_question_release(struct broker_question *q)
{
    if (q->socket >= 0)
        close(q->socket);
    if (q->root >= 0)
        close(q->root);
}

/* Whether it may connect, which is done for it: 0, or the errno that the program gets. */
int broker_answer_connect(const struct confine_image *image, const struct seccomp_notif *asked)
{
    struct broker_question q = {.socket = -1, .root = -1};
    int rc = broker_read(&q, asked);

    /* Its number may belong to another process now. */
    if (rc == 0 && ioctl(image->asks, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id) == 0)
        rc = broker_decide(image, &q);
    broker_question_release(&q);
    return rc;
}

void broker_hurry(const struct confine_image *image)
{
    ioctl(image->asks, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

bool broker_answer(struct confine_image *image)
{
    struct seccomp_notif asked;
    struct seccomp_notif_resp answer = {0};
    bool is_observed;

    memset(&asked, 0, sizeof(asked)); /* or the kernel refuses */
    if (ioctl(image->asks, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return errno == ENOENT || errno == EINTR; /* the asking process is gone */
    if (asked.data.nr == SYS_flock && !image->is_view) {
        broker_lock_answer(image, &asked);
        return true;
    }
    if (image->is_trial)
        return fence_answer(image, &asked);
    is_observed = image->observer && !(asked.data.nr == SYS_connect && image->socket_count);
    answer.id = asked.id;
    if (is_observed) {
        observe_look(image, &asked);
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        answer.error = -broker_answer_connect(image, &asked);
    }
    /* Fails when the process no longer waits. */
    if (ioctl(image->asks, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 && is_observed)
        observe_keep(image);
    return true;
}
