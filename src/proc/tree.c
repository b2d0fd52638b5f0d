/*
 * Reads /proc and signals the processes found. Proc thread and wardens; plain system calls only.
 *
 * One idea: a parent link is read once per process from /proc/<pid>/stat, and "below" is then a
 * matter of arithmetic on the table. A signal goes to a pidfd; that the pidfd is the process of the
 * table is checked by reading its start time again afterwards: a pid that meant the same process
 * before and after opening meant it in between.
 */
#include "proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>

#include "base/mem.h"

#define TREE_FREEZE_PASSES 64 /* then kill anyway: something does not stop, or forks faster */
#define TREE_MAX_DEPTH 256    /* parents that are looked at */

/* Fields of /proc/<pid>/stat, counted from the state (0) after the command's name. */
enum {
    STAT_PPID = 1,
    STAT_PGRP = 2,
    STAT_SESSION = 3,
    STAT_START = 19,
};

static void tree_field(struct tree_proc *p, int field, uint64_t value)
{
    switch (field) {
    case STAT_PPID:
        p->ppid = (pid_t)value;
        break;
    case STAT_PGRP:
        p->pgrp = (pid_t)value;
        break;
    case STAT_SESSION:
        p->session = (pid_t)value;
        break;
    case STAT_START:
        p->start = value;
        break;
    default:
        break;
    }
}

/* "1234 (any ) text) S 1 1234 1234 ...": the name may hold anything, so look from its end. */
static bool tree_parse_stat(const char *text, size_t len, struct tree_proc *p)
{
    size_t at = len;
    int field = 0;

    while (at > 0 && text[at - 1] != ')')
        at--;
    if (at == 0 || at + 2 >= len)
        return false;
    p->state = text[at + 1];
    for (at += 2; at < len && field < STAT_START; at++) {
        uint64_t value = 0;

        if (text[at] != ' ')
            continue;
        field++;
        for (size_t i = at + 1; i < len && text[i] >= '0' && text[i] <= '9'; i++)
            value = value * 10 + (uint64_t)(text[i] - '0');
        tree_field(p, field, value);
    }
    return field == STAT_START;
}

static bool tree_read_stat(int proc_fd, pid_t pid, struct tree_proc *ret)
{
    char path[32];
    char text[1024];
    size_t at = sizeof(path);
    ssize_t len;
    int fd;

    /* Written from the end, since snprintf() is not safe between fork and exec. */
    static const char tail[] = "/stat";
    for (size_t i = sizeof(tail); i > 0; i--)
        path[--at] = tail[i - 1];
    for (pid_t rest = pid; rest > 0; rest /= 10)
        path[--at] = (char)('0' + rest % 10);

    fd = openat(proc_fd, path + at, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, text, sizeof(text));
    close(fd);
    *ret = (struct tree_proc){.pid = pid};
    return len > 0 && tree_parse_stat(text, (size_t)len, ret);
}

static int tree_open_proc(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool tree_grow(struct process_tree *t)
{
    size_t cap = t->cap ? t->cap * 2 : 1024;
    size_t bytes = cap * sizeof(*t->procs);
    void *procs;

    if (t->procs)
        procs = mremap(t->procs, t->cap * sizeof(*t->procs), bytes, MREMAP_MAYMOVE);
    else
        procs = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (procs == MAP_FAILED)
        return false;
    t->procs = procs;
    t->cap = cap;
    return true;
}

static pid_t tree_pid_of(const char *name)
{
    pid_t pid = 0;

    for (; *name >= '0' && *name <= '9'; name++)
        pid = pid * 10 + (*name - '0');
    return *name ? 0 : pid;
}

int tree_read(struct process_tree *t)
{
    _Alignas(struct dirent64) char entries[4096];
    int proc_fd = tree_open_proc();
    ssize_t len;

    t->len = 0;
    if (proc_fd < 0)
        return -1;
    for (;;) {
        len = getdents64(proc_fd, entries, sizeof(entries));
        if (len <= 0)
            break;
        for (ssize_t at = 0; at < len;) {
            struct dirent64 *entry = (struct dirent64 *)(entries + at);
            pid_t pid = tree_pid_of(entry->d_name);

            at += entry->d_reclen;
            if (!pid || (t->len == t->cap && !tree_grow(t)))
                continue;
            if (tree_read_stat(proc_fd, pid, &t->procs[t->len]))
                t->len++;
        }
    }
    close(proc_fd);
    return len < 0 ? -1 : 0;
}

void tree_release(struct process_tree *t)
{
    if (t->procs)
        munmap(t->procs, t->cap * sizeof(*t->procs));
    *t = (struct process_tree){0};
}

void tree_mark_children(struct process_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->procs[i].ppid == pid)
            t->procs[i].marked = true;
    }
}

static const struct tree_proc *tree_find(const struct process_tree *t, pid_t pid)
{
    size_t low = 0;
    size_t high = t->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->procs[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->len && t->procs[low].pid == pid ? &t->procs[low] : NULL;
}

void tree_spread(struct process_tree *t)
{
    bool changed = true;

    /* Parents mostly have the smaller pid, so one round and one to see that nothing changes. */
    while (changed) {
        changed = false;
        for (size_t i = 0; i < t->len; i++) {
            struct tree_proc *p = &t->procs[i];
            const struct tree_proc *parent = p->marked ? NULL : tree_find(t, p->ppid);

            if (parent && parent->marked) {
                p->marked = true;
                changed = true;
            }
        }
    }
}

bool tree_look(pid_t pid, struct tree_proc *ret)
{
    CLEANUP(fd_closep) int proc_fd = tree_open_proc();

    return pid > 0 && proc_fd >= 0 && tree_read_stat(proc_fd, pid, ret);
}

pid_t tree_branch(pid_t pid, pid_t above)
{
    pid_t branch = pid;
    pid_t at = pid;

    for (int i = 0; i < TREE_MAX_DEPTH && at > 0; i++) {
        struct tree_proc p;

        if (at == above) /* which may be the first of all, in a container */
            return branch;
        branch = at;
        if (tree_look(at, &p))
            at = p.ppid;
        else if (kill(at, 0) < 0 && errno == ESRCH)
            at = pid; /* its children went to a process above it */
        else
            return 0;
    }
    return at > 0 ? -1 : 0;
}

bool tree_is_below(pid_t pid, pid_t above)
{
    return tree_branch(pid, above) != 0;
}

int tree_watch(pid_t pid, uint64_t start)
{
    int fd = pidfd_open(pid, 0);
    struct tree_proc now;

    if (fd < 0)
        return -1;
    if (tree_look(pid, &now) && now.start == start)
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

void tree_signal(const struct tree_proc *p, int signo)
{
    int proc_fd = tree_open_proc();
    int pid_fd = pidfd_open(p->pid, 0);
    bool no_pidfd = pid_fd < 0 && errno == ENOSYS; /* before Linux 5.3: the check alone */
    struct tree_proc now;

    if ((pid_fd >= 0 || no_pidfd) && tree_read_stat(proc_fd, p->pid, &now) &&
        now.start == p->start) {
        if (no_pidfd)
            kill(p->pid, signo);
        else
            pidfd_send_signal(pid_fd, signo, NULL, 0);
    }
    fd_closep(&pid_fd);
    fd_closep(&proc_fd);
}

bool tree_is_alive(const struct tree_proc *p)
{
    return p->state != 'Z' && p->state != 'X';
}

/* Stopped, or asleep in the kernel where it cannot fork until it gets to see our signal. */
static bool tree_is_still(const struct tree_proc *p)
{
    return !tree_is_alive(p) || p->state == 'T' || p->state == 't' || p->state == 'D';
}

size_t tree_kill(struct process_tree *t, tree_mark_fn mark, void *arg)
{
    size_t alive = 0;

    for (int pass = 0; pass < TREE_FREEZE_PASSES; pass++) {
        size_t moving = 0;

        tree_read(t);
        mark(t, arg);
        tree_spread(t);
        for (size_t i = 0; i < t->len; i++) {
            if (t->procs[i].marked && !tree_is_still(&t->procs[i])) {
                tree_signal(&t->procs[i], SIGSTOP);
                moving++;
            }
        }
        if (!moving)
            break;
    }
    for (size_t i = 0; i < t->len; i++) {
        if (t->procs[i].marked && tree_is_alive(&t->procs[i])) {
            tree_signal(&t->procs[i], SIGKILL);
            alive++;
        }
    }
    return alive;
}
