/*
 * Both ends of the zygote: what the proc thread asks, and the process that obeys.
 *
 * An order is one descriptor: the end of a socket that a new warden shall have. Nothing comes back
 * but what the warden itself says over it, or the end of it, when there is none. The zygote was
 * forked from a program with threads, so its side is made of plain system calls.
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
#include "proc/packet.h"
#include "proc/warden.h"

#define ZYGOTE_SOCKET 0   /* in the zygote */
#define ZYGOTE_LOOK_MS 20 /* between two pushes, should a job have stopped it */
#define ZYGOTE_LOOKS 100  /* then the zygote is replaced */
#define ZYGOTE_TRIES 3    /* at a warden; one for a spare that was killed, one for the zygote */

/* ---- in the zygote ---- */

static void zygote_serve(void)
{
    int socket;
    pid_t pid;

    if (packet_receive(ZYGOTE_SOCKET, &socket, 1) < 0)
        _exit(0); /* tenax is gone, or we are out of descriptors and the next one will do better */
    pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        warden_main(socket);
    close(socket);
}

static _Noreturn void zygote_main(int socket)
{
    sigset_t all;

    setsid(); /* so that a warden is distinguishable from other children of tenax from its first
                 moment on */
    prctl(PR_SET_NAME, "tenax-zygote");
    prctl(PR_SET_PDEATHSIG,
          SIGKILL); /* the socket reports it as well, but not to a stopped process */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    child_reset_signals(); /* wardens inherit it */
    if (dup2(socket, ZYGOTE_SOCKET) < 0)
        _exit(1);
    child_close_from(ZYGOTE_SOCKET + 1);
    for (;;)
        zygote_serve();
}

/* ---- in tenax ---- */

static bool zygote_wants(const struct zygote *z, enum zygote_spare_kind kind)
{
    return kind == ZYGOTE_PLAIN || z->spares[kind].namespaces;
}

/* Asks for a spare and does not wait for it. What goes wrong shows when it is taken. */
static void zygote_order(struct zygote *z, enum zygote_spare_kind kind)
{
    struct zygote_spare *spare = &z->spares[kind];
    const struct warden_order ahead = {WARDEN_PREPARE, spare->namespaces};
    int sockets[2];

    if (z->pid <= 0 || spare->socket >= 0 || !zygote_wants(z, kind) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return;
    if (packet_send(z->socket, &sockets[1], 1) == 0)
        spare->socket = sockets[0];
    else
        close(sockets[0]);
    close(sockets[1]);
    if (spare->socket >= 0 && spare->namespaces)
        send(spare->socket, &ahead, sizeof(ahead), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void zygote_init(struct zygote *z)
{
    int ahead = z->spares[ZYGOTE_CONFINED].namespaces;
    int sockets[2];

    *z = (struct zygote){.socket = -1, .lost_one = z->lost_one};
    for (int kind = 0; kind < ZYGOTE_SPARES; kind++)
        z->spares[kind].socket = -1;
    z->spares[ZYGOTE_CONFINED].namespaces = ahead;
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
    zygote_order(z, ZYGOTE_PLAIN);
}

/* A spare's pid, which it says itself. Waits for microseconds, unless a job has stopped the zygote
 * or it. -1: there is no such spare. */
static pid_t zygote_hear(struct zygote *z, enum zygote_spare_kind kind)
{
    struct zygote_spare *spare = &z->spares[kind];
    struct pollfd p = {.fd = spare->socket, .events = POLLIN};
    struct warden_report report;
    int looks = 0;

    while (spare->socket >= 0 && !spare->pid && !spare->is_late) {
        if (poll(&p, 1, ZYGOTE_LOOK_MS) > 0) {
            ssize_t len = recv(spare->socket, &report, sizeof(report), MSG_DONTWAIT);

            spare->pid = len > 0 ? report.warden : -1;
        } else {
            if (z->pid > 0) /* else it would be everybody of our group */
                kill(z->pid, SIGCONT);
            spare->is_late = ++looks == ZYGOTE_LOOKS;
        }
    }
    return spare->pid > 0 ? spare->pid : -1;
}

bool zygote_is(struct zygote *z, pid_t pid)
{
    bool is = pid == z->pid;

    for (int kind = 0; kind < ZYGOTE_SPARES && !is; kind++)
        is = pid == zygote_hear(z, (enum zygote_spare_kind)kind);
    return is;
}

static void zygote_reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void zygote_end(struct zygote *z)
{
    fd_closep(&z->socket);
    if (z->pid > 0)
        kill(z->pid, SIGKILL);
    zygote_reap(z->pid);
    z->pid = 0;
}

/* It is not reaped, so it is ours; it may have been stopped. */
static void zygote_drop(struct zygote *z, enum zygote_spare_kind kind)
{
    struct zygote_spare *spare = &z->spares[kind];
    pid_t pid = zygote_hear(z, kind);

    z->lost_one = z->lost_one || (spare->socket >= 0 && pid < 0);
    /* If it is not made yet it must not be made later, when nothing waits for it any more. */
    if (spare->is_late)
        zygote_end(z);
    fd_closep(&spare->socket);
    if (pid > 0)
        kill(pid, SIGKILL);
    zygote_reap(pid);
    spare->socket = -1;
    spare->pid = 0;
    spare->is_late = false;
}

void zygote_release(struct zygote *z)
{
    for (int kind = 0; kind < ZYGOTE_SPARES; kind++)
        zygote_drop(z, (enum zygote_spare_kind)kind);
    zygote_end(z);
}

/* Makes a spare the warden of l. -1: there is none, or it was killed. */
static pid_t zygote_use(struct zygote *z, enum zygote_spare_kind kind, const struct launch *l,
                        int *ret_socket)
{
    struct zygote_spare *spare = &z->spares[kind];
    pid_t warden = zygote_hear(z, kind);

    if (warden > 0)
        kill(warden, SIGCONT); /* a job may have stopped it */
    if (warden > 0 && launch_send(l, spare->socket) == 0) {
        *ret_socket = spare->socket;
        spare->socket = -1;
        spare->pid = 0;
        return warden;
    }
    zygote_drop(z, kind);
    return -1;
}

/* Without help: dear, but as good. */
static pid_t zygote_fork_here(const struct launch *l, int *ret_socket, struct err *err)
{
    int sockets[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_sys(err, ERR_IO, "cannot make a socket pair");
    pid = fork();
    if (pid == 0) {
        child_reset_signals();
        warden_main(sockets[1]);
    }
    close(sockets[1]);
    if (pid > 0 && launch_send(l, sockets[0]) == 0) {
        *ret_socket = sockets[0];
        return pid;
    }
    err_sys(err, ERR_IO, "cannot make a process for '%s'", l->name);
    close(sockets[0]); /* which ends a warden, should there be one */
    zygote_reap(pid);
    return -1;
}

static pid_t zygote_use_plain(struct zygote *z, const struct launch *l, int *ret_socket)
{
    for (int i = 0; i < ZYGOTE_TRIES; i++) {
        pid_t warden;

        zygote_order(z, ZYGOTE_PLAIN);
        if (z->spares[ZYGOTE_PLAIN].socket < 0) { /* it takes no orders */
            zygote_release(z);
            zygote_init(z);
        }
        warden = zygote_use(z, ZYGOTE_PLAIN, l, ret_socket);
        if (warden > 0) {
            zygote_order(z, ZYGOTE_PLAIN); /* the next one */
            return warden;
        }
    }
    return -1;
}

pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err)
{
    struct zygote_spare *confined = &z->spares[ZYGOTE_CONFINED];
    int namespaces = launch_namespaces(l);
    pid_t warden = -1;

    if (namespaces && namespaces == confined->namespaces && confined->socket >= 0)
        warden = zygote_use(z, ZYGOTE_CONFINED, l, ret_socket);
    if (warden < 0)
        warden = zygote_use_plain(z, l, ret_socket);
    if (namespaces && namespaces != confined->namespaces) { /* the next one will be as this one */
        zygote_drop(z, ZYGOTE_CONFINED);
        confined->namespaces = namespaces;
    }
    if (namespaces)
        zygote_order(z, ZYGOTE_CONFINED);
    if (warden > 0)
        return warden;
    log_debug("proc", "no warden from the zygote: forking");
    return zygote_fork_here(l, ret_socket, err);
}
