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
#define ZYGOTE_LOOKS 100  /* then it is replaced */
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

    setsid(); /* so that a warden is told from other children of tenax from its first moment on */
    prctl(PR_SET_NAME, "tenax-zygote");
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the socket tells as well, but not somebody stopped */
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

/* Asks for a spare and does not wait for it. What goes wrong shows when it is taken. */
static void zygote_order(struct zygote *z)
{
    int sockets[2];

    if (z->pid <= 0 || z->spare >= 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return;
    if (packet_send(z->socket, &sockets[1], 1) == 0)
        z->spare = sockets[0];
    else
        close(sockets[0]);
    close(sockets[1]);
}

void zygote_init(struct zygote *z)
{
    int sockets[2];

    *z = (struct zygote){.socket = -1, .spare = -1, .lost_one = z->lost_one};
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
    zygote_order(z);
}

/* The spare's pid, which it says itself. Waits for microseconds, unless a job has stopped the
 * zygote or it. -1: there is no spare. */
static pid_t zygote_hear_spare(struct zygote *z)
{
    struct pollfd p = {.fd = z->spare, .events = POLLIN};
    struct warden_report report;

    for (int look = 0; z->spare >= 0 && !z->spare_pid && look < ZYGOTE_LOOKS; look++) {
        if (poll(&p, 1, ZYGOTE_LOOK_MS) > 0) {
            ssize_t len = recv(z->spare, &report, sizeof(report), MSG_DONTWAIT);

            z->spare_pid = len > 0 ? report.warden : -1;
        } else {
            kill(z->pid, SIGCONT);
        }
    }
    return z->spare_pid > 0 ? z->spare_pid : -1;
}

bool zygote_is(struct zygote *z, pid_t pid)
{
    return pid == z->pid || pid == zygote_hear_spare(z);
}

static void zygote_reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void zygote_release(struct zygote *z)
{
    pid_t spare = zygote_hear_spare(z);

    z->lost_one = z->lost_one || (z->spare >= 0 && spare < 0);
    fd_closep(&z->socket);
    fd_closep(&z->spare);
    /* Neither is reaped, so both are ours; somebody may have stopped them. */
    if (z->pid > 0)
        kill(z->pid, SIGKILL);
    if (spare > 0)
        kill(spare, SIGKILL);
    zygote_reap(z->pid);
    zygote_reap(spare);
    z->pid = 0;
    z->spare_pid = 0;
}

/* Makes the spare the warden of l. -1: there is none, or it was killed. */
static pid_t zygote_use_spare(struct zygote *z, const struct launch *l, int *ret_socket)
{
    pid_t warden = zygote_hear_spare(z);
    bool is_silent = !z->spare_pid;
    int socket = z->spare;

    z->spare = -1;
    z->spare_pid = 0;
    if (warden > 0)
        kill(warden, SIGCONT); /* a job may have stopped it */
    if (warden > 0 && launch_send(l, socket) == 0) {
        *ret_socket = socket;
        return warden;
    }
    fd_closep(&socket);
    if (warden > 0)
        kill(warden, SIGKILL);
    else
        z->lost_one = true;
    zygote_reap(warden);
    /* It may still obey one day, and its warden, whom nobody expects, would stay for ever when it
     * has ended. Behind a dead zygote either there is one, and a look for strays finds it, or there
     * never will be. */
    if (is_silent)
        zygote_release(z);
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

pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err)
{
    for (int i = 0; i < ZYGOTE_TRIES; i++) {
        pid_t warden;

        zygote_order(z);
        if (z->spare < 0) { /* nobody takes orders */
            zygote_release(z);
            zygote_init(z);
        }
        warden = zygote_use_spare(z, l, ret_socket);
        if (warden > 0) {
            zygote_order(z); /* the next one */
            return warden;
        }
    }
    log_debug("proc", "no warden from the zygote: forking");
    return zygote_fork_here(l, ret_socket, err);
}
