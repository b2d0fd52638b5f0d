/*
 * foreground: one child in our own group, with the signal mask and dispositions tenax was started
 * with. The proc thread leaves it alone as long as it is waited for here.
 */
#include "proc/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/loop.h"
#include "sync/cancel.h"
#include "sync/signals.h"

#define FOREGROUND_GRACE_MS 2000

static atomic_int foreground_count; /* from before it starts until it is reaped */

bool foreground_is_running(void)
{
    return atomic_load(&foreground_count) > 0;
}

/* Until it has ended, or is made to. Without a pidfd (before Linux 5.3) it ends when it likes. */
static void foreground_watch(pid_t pid, struct cancel *cancel)
{
    CLEANUP(fd_closep) int fd = pidfd_open(pid, 0);

    if (fd < 0 || cancel_wait_fd(cancel, fd, /*ms=*/-1, /*err=*/NULL) >= 0)
        return;
    kill(pid, SIGTERM); /* not waited for yet, so the number is still its own */
    kill(pid, SIGCONT); /* one that is stopped hears nothing */
    if (cancel_wait_fd(/*c=*/NULL, fd, FOREGROUND_GRACE_MS, /*err=*/NULL) <= 0)
        kill(pid, SIGKILL);
}

static int foreground_wait(pid_t pid, struct cancel *cancel, int *ret_code, struct err *err)
{
    siginfo_t info = {0};
    int r;

    foreground_watch(pid, cancel);
    do {
        r = waitid(P_PID, (id_t)pid, &info, WEXITED);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return err_sys(err, ERR_IO, "cannot wait for it");
    *ret_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    return 0;
}

/* The proc thread checks for leftover processes. */
static void foreground_over(void)
{
    struct order *order = mem_zalloc(sizeof(*order));

    order->what = ORDER_GUESTS;
    loop_send(order);
}

static void foreground_detach(const struct foreground *f, posix_spawn_file_actions_t *actions)
{
    posix_spawn_file_actions_adddup2(actions, f->input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, /*mode=*/0);
    posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, /*mode=*/0);
}

int foreground_run(const struct foreground *f, int *ret_code, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    struct termios mode;
    bool has_mode = !f->input && tcgetattr(STDIN_FILENO, &mode) == 0;
    short own = f->input ? POSIX_SPAWN_SETSID : 0;
    sigset_t usual;
    pid_t pid = -1;
    int failed;
    int r;

    sigfillset(&usual);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | own);
    posix_spawnattr_setsigmask(&attr, signals_original());
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawn_file_actions_init(&actions);
    if (f->input)
        foreground_detach(f, &actions);
    if (f->dir)
        posix_spawn_file_actions_addchdir_np(&actions, f->dir);
    atomic_fetch_add(&foreground_count, 1);
    failed = posix_spawnp(&pid, f->argv[0], &actions, &attr, (char *const *)f->argv, f->envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    if (failed) {
        atomic_fetch_sub(&foreground_count, 1);
        return err_set(err, failed == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot start '%s': %s",
                       f->argv[0], strerror(failed));
    }
    r = foreground_wait(pid, f->cancel, ret_code, err);
    atomic_fetch_sub(&foreground_count, 1);
    if (has_mode) /* one that was killed has not tidied up */
        tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
    foreground_over();
    return r;
}
