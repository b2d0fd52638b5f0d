/*
 * Between fork and exec: session, terminal, directory, signals, and the exec itself.
 *
 * The parent had other threads, any of which may have held any lock at the fork, so that only plain
 * system calls are made here: no heap, no stdio, no logging. The memory is still the warden's,
 * which is suspended.
 */
#include "proc/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "proc/confine_enter.h"
#include "proc/launch.h"

const char *child_lacks(enum child_stage stage)
{
    switch (stage) {
    case CHILD_NAMESPACES:
        return "no private namespaces";
    case CHILD_NETWORK:
        return "no private network";
    case CHILD_OVERLAY:
        return "no overlay can be mounted on these folders";
    case CHILD_MOUNTS:
        return "no private mounts";
    case CHILD_PROCESSES:
        return "no private /proc";
    case CHILD_RIGHTS:
        return "no Landlock, or rights that cannot be dropped";
    default:
        return "no system call filter";
    }
}

void child_close_from(int lowest)
{
    struct rlimit limit;

    if (close_range((unsigned)lowest, ~0U, 0) == 0)
        return;
    /* Before Linux 5.9. Descriptors above the limit exist only if it was lowered after they were
     * opened, which we never do. */
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 1 << 20)
        limit.rlim_cur = 1 << 20;
    for (int fd = lowest; fd < (int)limit.rlim_cur; fd++)
        close(fd);
}

void child_reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    for (int signo = 1; signo < NSIG; signo++)
        sigaction(signo, &action, NULL); /* fails for KILL, STOP and libc's own */
}

CHILD_FN static _Noreturn void child_fail(struct child_failure *ret, enum child_stage stage,
                                          int sys)
{
    *ret = (struct child_failure){true, stage, sys};
    _exit(127);
}

/* As shells look: a file that may not be run is remembered while better ones are looked for, but a
 * folder of PATH that we may not enter says nothing about the program. */
CHILD_FN static int child_try_paths(const struct launch_plan *plan)
{
    bool is_only = !plan->paths[0] || !plan->paths[1];
    int worst = ENOENT;

    for (char *const *path = plan->paths; *path; path++) {
        execve(*path, plan->argv, plan->envp);
        if (errno != EACCES && errno != ENOENT && errno != ENOTDIR)
            return errno;
        if (errno == EACCES && (is_only || access(*path, F_OK) == 0))
            worst = EACCES;
    }
    return worst;
}

CHILD_FN _Noreturn void child_exec(const struct launch_plan *plan, pid_t parent,
                                   struct child_failure *ret)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* it died before the line above; nothing would ever end us */
    if (plan->pty && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
        child_fail(ret, CHILD_TERMINAL, errno);
    if (plan->confine && !confine_drop_rights(plan->confine))
        child_fail(ret, CHILD_RIGHTS, errno);
    /* In brackets because the macro of base/banned.h guards the program's own directory. */
    if (plan->dir && (chdir)(plan->dir) < 0)
        child_fail(ret, CHILD_DIR, errno);
    sigprocmask(SIG_SETMASK, &plan->mask, NULL);
    if (plan->confine && !confine_drop_calls(plan->confine))
        child_fail(ret, CHILD_CALLS, errno);
    child_fail(ret, CHILD_EXEC, child_try_paths(plan));
}
