/*
 * A snapshot of all processes from /proc, and signals to a marked part of them.
 *
 * Runs on the proc thread and, between fork and exit, in wardens (warden.h): uses only plain system
 * calls, gets memory from mmap(), and never from the heap. A snapshot is not atomic; a caller that
 * must be sure that no process is left takes another one.
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
    uint64_t start; /* together with the pid identifies one process */
    char state;     /* as in ps: R S D T Z ... */
    bool marked;
};

struct process_tree {
    struct tree_proc *procs; /* sorted by pid, as in /proc */
    size_t len;
    size_t cap;
};

/* Replaces the content of t (zeroed at first). -1 if /proc cannot be read; t is then empty. */
int tree_read(struct process_tree *t);
void tree_release(struct process_tree *t);

typedef void (*tree_mark_fn)(struct process_tree *t, void *arg);

/* Marks the children of pid; for use in a tree_mark_fn. */
void tree_mark_children(struct process_tree *t, pid_t pid);

/* Marks all descendants of marked processes. */
void tree_spread(struct process_tree *t);

/* Looks up one process; false if it does not exist. Any thread. */
bool tree_look(pid_t pid, struct tree_proc *ret);
bool tree_is_alive(const struct tree_proc *p); /* and not a zombie */
/* Whether it is `above` or a descendant of it. True for a process that has ended and for an endless
 * chain; one that exists but is not visible belongs to another user. Any thread. */
bool tree_is_below(pid_t pid, pid_t above);
/* The child of `above` (or `above` itself) that it descends from. 0: it is not below; -1: unknown,
 * assumed to be below. */
pid_t tree_branch(pid_t pid, pid_t above);

/* A descriptor that becomes readable when the process ends; close it. -1 with ESRCH if the pid is
 * not the process that started then any more, with another errno if the kernel cannot provide one.
 */
int tree_watch(pid_t pid, uint64_t start);

/* Signals it by pidfd, if it is still the process of the snapshot. */
void tree_signal(const struct tree_proc *p, int signo);

/* Ends the processes marked by mark() and their descendants: first stops all, repeatedly until no
 * running one is found, so that none can escape by forking; then kills. Returns how many were still
 * alive when the kills were sent. */
size_t tree_kill(struct process_tree *t, tree_mark_fn mark, void *arg);
