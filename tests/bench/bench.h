/*
 * What benchmarks share: figures put in order, memory of a process, tests/fake as a child.
 */
#pragma once

#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/types.h>

struct rusage;

noreturn void bench_die(const char *what, const char *why);

void bench_remove(char *dir); /* and all that is in it */

/* Least first, so that values[count / 2] is the median. */
void bench_sort(double *values, size_t count);

double bench_cpu_ms(const struct rusage *usage);

/* "Pss" or "Rss" of a process, in kilobytes; 0 when it is gone. */
long bench_memory_kb(pid_t pid, const char *name);

/* The calls in the sums that `strace -c -o PATH` has written; 0: there are none. */
long bench_strace_total(const char *path);

/* The pretend model, argv[0], on a port of its choice; returns when it listens. */
struct bench_server {
    pid_t pid;
    int port;
};

void bench_server_start(struct bench_server *s, const char *const *argv);
void bench_server_stop(struct bench_server *s);
