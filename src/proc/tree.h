/*
 * The processes of this machine as one snapshot of /proc, and signals to a marked part of them.
 *
 * Runs in the proc thread and, between fork and exit, in wardens (warden.h): everything here is
 * made of plain system calls, memory comes straight from mmap(), and no function allocates from the
 * heap. A snapshot is not atomic; a caller that must be sure that no process is left takes another
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_proc {
    pid_t pid;
    pid_t ppid;
    pid_t pgrp;
    pid_t session;
    uint64_t start; /* with the pid, names one process for good */
    char state;     /* as in ps: R S D T Z ... */
    bool marked;
};

struct process_tree {
    struct tree_proc *procs; /* by rising pid, as /proc lists them */
    size_t len;
    size_t cap;
};

/* Replaces what t (zeroed at first) holds. -1 when /proc cannot be read; t is then empty. */
int tree_read(struct process_tree *t);
void tree_release(struct process_tree *t);

typedef void (*tree_mark_fn)(struct process_tree *t, void *arg);

/* Marks the children of pid; for use in a tree_mark_fn. */
void tree_mark_children(struct process_tree *t, pid_t pid);

/* Marks everything below marked processes. */
void tree_spread(struct process_tree *t);

/* One process as it is now; false when there is none. Any thread. */
bool tree_look(pid_t pid, struct tree_proc *ret);
bool tree_is_alive(const struct tree_proc *p); /* and not a zombie */
/* Whether it is that one, or was started by it, through however many others. A process that has
 * ended or an endless chain counts as yes; one that exists but cannot be seen belongs to others.
 * Any thread. */
bool tree_is_below(pid_t pid, pid_t above);
/* Through which child of that one, or itself. 0: it is not below; -1: assumed, but not known. */
pid_t tree_branch(pid_t pid, pid_t above);

/* A descriptor that becomes readable when the process ends; yours to close. -1 with ESRCH when the
 * pid is no longer the process that started then, with another errno when the kernel gives none. */
int tree_watch(pid_t pid, uint64_t start);

/* By pidfd, and only when the process is still the one of the snapshot. */
void tree_signal(const struct tree_proc *p, int signo);

/* Ends the processes that mark() marks and everything below: first stops all of it, again and again
 * until no unstopped process is found, so that none can fork away; then kills. Returns the number
 * of processes that were still alive when the kills went out. */
size_t tree_kill(struct process_tree *t, tree_mark_fn mark, void *arg);
