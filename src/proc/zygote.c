/*
 * Both ends of the zygote: what the proc thread asks, and the process that answers.
 *
 * An order is one packet with descriptors: the job's three, the warden's end of its socket, and the
 * launch as an image (launch.h). The answer is the warden's pid, or -1. The zygote was forked from
 * a program with threads, so its side is made of plain system calls.
 */
#include "proc/zygote.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/child.h"
#include "proc/launch.h"
#include "proc/warden.h"

#define ZYGOTE_SOCKET 0       /* in the zygote; a warden puts its job's standard input there */
#define ZYGOTE_LOOK_MS 20     /* between two pushes, should a job have stopped it */
#define ZYGOTE_LOOKS 100      /* then it is replaced */
#define ZYGOTE_SEARCH_MS 2000 /* for the warden of one that died: to its exec, mostly at once */

enum {
    ZYGOTE_FD_STDIO = 0, /* and the two behind it */
    ZYGOTE_FD_WARDEN = 3,
    ZYGOTE_FD_IMAGE,
    ZYGOTE_FDS,
};

/* A packet with room for an order's descriptors. The byte is there because a packet without any
 * looks like the end. */
struct zygote_packet {
    char byte;
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(ZYGOTE_FDS * sizeof(int))];
    struct msghdr message;
};

static void zygote_packet_init(struct zygote_packet *p)
{
    memset(p, 0, sizeof(*p));
    p->part = (struct iovec){&p->byte, sizeof(p->byte)};
    p->message = (struct msghdr){
        .msg_iov = &p->part,
        .msg_iovlen = 1,
        .msg_control = p->control,
        .msg_controllen = sizeof(p->control),
    };
}

/* ---- in the zygote ---- */

static _Noreturn void zygote_become_warden(const int *fds)
{
    struct launch l = {0};

    if (launch_unpack(&l, fds[ZYGOTE_FD_IMAGE], fds + ZYGOTE_FD_STDIO) < 0)
        _exit(1);
    warden_main(&l, fds[ZYGOTE_FD_WARDEN]);
}

static void zygote_serve(void)
{
    struct zygote_packet order;
    struct cmsghdr *head;
    pid_t pid;
    int fds[ZYGOTE_FDS];
    ssize_t len;

    zygote_packet_init(&order);
    len = recvmsg(ZYGOTE_SOCKET, &order.message, MSG_CMSG_CLOEXEC);
    if (len < 0 && errno == EINTR)
        return;
    head = CMSG_FIRSTHDR(&order.message);
    if (len <= 0 || !head || head->cmsg_len != CMSG_LEN(sizeof(fds)))
        _exit(0); /* tenax is gone, or we are out of descriptors and the next one will do better */
    memcpy(fds, CMSG_DATA(head), sizeof(fds));

    pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        zygote_become_warden(fds);
    for (int i = 0; i < ZYGOTE_FDS; i++)
        close(fds[i]);
    send(ZYGOTE_SOCKET, &pid, sizeof(pid), MSG_NOSIGNAL);
}

static _Noreturn void zygote_main(int socket)
{
    sigset_t all;

    setsid(); /* so that a warden is told from other children of tenax from its first moment on */
    prctl(PR_SET_NAME, "tenax-zygote");
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the socket tells as well, but not somebody stopped */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (dup2(socket, ZYGOTE_SOCKET) < 0)
        _exit(1);
    child_close_from(ZYGOTE_SOCKET + 1);
    for (;;)
        zygote_serve();
}

/* ---- in tenax ---- */

void zygote_init(struct zygote *z)
{
    int sockets[2];

    *z = (struct zygote){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return;
    z->pid = fork();
    if (z->pid == 0)
        zygote_main(sockets[1]);
    close(sockets[1]);
    if (z->pid < 0) {
        close(sockets[0]);
        z->pid = 0;
        return;
    }
    z->socket = sockets[0];
}

void zygote_release(struct zygote *z)
{
    fd_closep(&z->socket);
    if (z->pid <= 0)
        return;
    kill(z->pid, SIGKILL); /* not reaped, so it is ours; somebody may have stopped it */
    while (waitpid(z->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    z->pid = 0;
}

static int zygote_send(struct zygote *z, const struct launch *l, int socket, int image)
{
    struct zygote_packet order;
    const int fds[ZYGOTE_FDS] = {l->stdio[0], l->stdio[1], l->stdio[2], socket, image};
    struct cmsghdr *head;

    zygote_packet_init(&order);
    head = CMSG_FIRSTHDR(&order.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(head), fds, sizeof(fds));
    return sendmsg(z->socket, &order.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* Waits for microseconds, unless a job has stopped it. -1 when it is gone. */
static int zygote_receive(struct zygote *z, pid_t *ret)
{
    struct pollfd p = {.fd = z->socket, .events = POLLIN};

    for (int look = 0; look < ZYGOTE_LOOKS; look++) {
        if (poll(&p, 1, ZYGOTE_LOOK_MS) > 0)
            return recv(z->socket, ret, sizeof(*ret), MSG_DONTWAIT) == sizeof(*ret) ? 0 : -1;
        kill(z->pid, SIGCONT);
    }
    return -1;
}

enum zygote_outcome {
    ZYGOTE_DONE,
    ZYGOTE_DEAD,    /* before it did anything */
    ZYGOTE_REFUSED, /* it, or something on the way to it, could not */
    ZYGOTE_UNSURE,
};

/* The zygote died with an order: has it made the warden? Then the program runs, and must not run a
 * second time. Only that warden can have the other end of the socket, and its first report, which
 * is left where it is, says who it is. */
static enum zygote_outcome zygote_search(int socket, pid_t *ret)
{
    struct pollfd p = {.fd = socket, .events = POLLIN};
    struct warden_report report;
    ssize_t len;

    if (poll(&p, 1, ZYGOTE_SEARCH_MS) <= 0)
        return ZYGOTE_UNSURE;
    len = recv(socket, &report, sizeof(report), MSG_PEEK | MSG_DONTWAIT);
    if (len <= 0)
        return ZYGOTE_DEAD;
    *ret = report.warden;
    return ZYGOTE_DONE;
}

/* One try; all but DONE leave no descriptor. */
static enum zygote_outcome zygote_try(struct zygote *z, const struct launch *l, int image,
                                      pid_t *ret, int *ret_socket)
{
    enum zygote_outcome outcome = ZYGOTE_REFUSED;
    bool sent;
    bool dead;
    int sockets[2];

    if (z->pid <= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return ZYGOTE_REFUSED;
    sent = zygote_send(z, l, sockets[1], image) == 0;
    dead = !sent && (errno == EPIPE || errno == ECONNRESET);
    close(sockets[1]);
    if (sent && zygote_receive(z, ret) == 0) {
        outcome = *ret > 0 ? ZYGOTE_DONE : ZYGOTE_REFUSED;
    } else if (sent || dead) {
        zygote_release(z);
        outcome = sent ? zygote_search(sockets[0], ret) : ZYGOTE_DEAD;
    }
    if (outcome == ZYGOTE_DONE)
        *ret_socket = sockets[0];
    else
        close(sockets[0]); /* which ends a warden, should there be one */
    return outcome;
}

/* Without help: dear, but as good. */
static pid_t zygote_fork_here(const struct launch *l, int *ret_socket, struct err *err)
{
    int sockets[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_sys(err, ERR_IO, "cannot make a socket pair");
    pid = fork();
    if (pid == 0)
        warden_main(l, sockets[1]);
    close(sockets[1]);
    if (pid < 0) {
        close(sockets[0]);
        return err_sys(err, ERR_IO, "cannot fork");
    }
    *ret_socket = sockets[0];
    return pid;
}

pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err)
{
    CLEANUP(fd_closep) int image = launch_pack(l);
    enum zygote_outcome outcome = image < 0 ? ZYGOTE_REFUSED : ZYGOTE_DEAD;
    pid_t warden;

    for (int i = 0; i < 2 && outcome == ZYGOTE_DEAD; i++) {
        if (z->pid <= 0)
            zygote_init(z);
        outcome = zygote_try(z, l, image, &warden, ret_socket);
    }
    if (outcome == ZYGOTE_DONE)
        return warden;
    if (outcome == ZYGOTE_UNSURE)
        return err_set(err, ERR_IO, "cannot start '%s': its warden was lost", l->argv[0]);
    log_debug("proc", "no warden from the zygote: forking");
    return zygote_fork_here(l, ret_socket, err);
}
