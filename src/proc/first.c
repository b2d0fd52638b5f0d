/*
 * first: a mount, a clone, and a loop of waits. Runs in a separate process, which never execs.
 */
#include "proc/first.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/confine_image.h"
#include "proc/confine_rules.h"
#include "proc/launch.h"
#include "proc/warden.h"

struct first_leader {
    const struct launch_plan *plan;
    int old_proc; /* that of the warden */
    pid_t pid;    /* as it says */
    struct child_failure failure;
};

/* The kernel ends us with the warden from now on; false: it has ended already. */
static bool first_follow_warden(const int started[static 2])
{
    struct pollfd warden = {.fd = started[1]};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(started[0]); /* ours, so that only the warden reads */
    return poll(&warden, 1, 0) == 0;
}

/* In mounts of our own, because the warden goes on needing the old one. Where a part of /proc is
 * covered, as in most containers, no other can be mounted; Landlock then keeps the job from looking
 * into the processes that the old one shows. */
static bool first_mount_proc(const struct confine_image *image)
{
    const struct confine_rules rules = {
        .fd = image->ruleset, .is_trial = image->is_trial, .mounts = -1};
    bool is_writable = image->is_view || image->all_writable;
    bool allowed = true;
    int at;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    if (mount("proc", "/proc", "proc",
              MS_NOSUID | MS_NODEV | MS_NOEXEC | (is_writable ? 0 : MS_RDONLY), NULL) < 0)
        return errno == EPERM && image->rules != CONFINE_RULES_NONE;
    if (image->rules == CONFINE_RULES_FILES) {
        at = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        allowed =
            at >= 0 && confine_rules_add(&rules, at, /*is_dir=*/true, /*is_writable=*/is_writable);
        if (at >= 0)
            close(at);
    }
    return allowed;
}

CHILD_FN static pid_t first_own_number(int old_proc)
{
    char digits[12];
    ssize_t len = readlinkat(old_proc, "self", digits, sizeof(digits));
    pid_t pid = 0;

    for (ssize_t i = 0; i < len; i++)
        pid = pid * 10 + (digits[i] - '0');
    return pid;
}

CHILD_FN static int first_become_leader(void *arg)
{
    struct first_leader *leader = arg;

    leader->pid = first_own_number(leader->old_proc);
    child_exec(leader->plan, /*parent=*/1, &leader->failure);
}

/* The leader is reaped only when it is known where it was. */
static void first_wait(const struct launch_plan *plan, pid_t leader, struct first_report *ret)
{
    siginfo_t info;

    do {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0)
            continue; /* interrupted */
        if (info.si_pid == leader && plan->tell_dir &&
            (syscall(SYS_getcwd, ret->dir, sizeof(ret->dir)) < 0 || ret->dir[0] != '/'))
            ret->dir[0] = '\0';
        waitid(P_PID, (id_t)info.si_pid, &info, WEXITED);
    } while (info.si_pid != leader);
    ret->code = info.si_code;
    ret->status = info.si_status;
    do {
        info.si_pid = 0;
        ret->alone = waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0;
    } while (info.si_pid);
}

_Noreturn void first_main(const struct launch_plan *plan, const int started[static 2],
                          const int over[static 2], char *stack_end, struct first_report *ret)
{
    struct first_leader leader = {.plan = plan,
                                  .old_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (plan->tell_dir ? CLONE_FS : 0);
    pid_t pid = -1;

    if (!first_follow_warden(started))
        _exit(0);
    warden_drop_fds();
    if (!first_mount_proc(plan->confine))
        leader.failure = (struct child_failure){true, CHILD_PROCESSES, errno};
    else
        pid = clone(first_become_leader, stack_end, flags, &leader);
    if (pid < 0 && !leader.failure.failed)
        leader.failure = (struct child_failure){true, CHILD_FORK, errno};
    ret->failure = leader.failure;
    ret->leader = leader.pid;
    /* The job's pipes and `started` go; `over` stays until the end is known. */
    dup2(over[1], 0);
    child_close_from(1);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (pid < 0)
        _exit(0);
    first_wait(plan, pid, ret);
    ret->is_over = true;
    close(0);
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    _exit(0);
}
