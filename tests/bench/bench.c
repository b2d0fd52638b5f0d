/*
 * bench: plain system calls, so that nothing of tenax is measured by accident. One thread.
 */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

noreturn void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

void bench_remove(char *dir)
{
    char *argv[] = {(char *)"rm", (char *)"-rf", dir, NULL};
    char *env[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    pid_t pid;
    int status;

    if (posix_spawnp(&pid, "rm", NULL, NULL, argv, env) == 0)
        waitpid(pid, &status, 0);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_size);
}

double bench_cpu_ms(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

long bench_memory_kb(pid_t pid, const char *name)
{
    char path[64];
    char line[32];
    char text[4096];
    const char *at;
    ssize_t n;
    int fd;

    snprintf(line, sizeof(line), "\n%s:", name); /* there is a SwapPss: too */
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    at = strstr(text, line);
    return at ? strtol(at + strlen(line), NULL, 10) : 0;
}

long bench_strace_total(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[256];
    long calls = 0;

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        if (strstr(line, " total"))
            (void)sscanf(line, "%*s %*s %*s %ld", &calls);
    }
    fclose(file);
    return calls;
}

void bench_server_start(struct bench_server *s, const char *const *argv)
{
    char line[200] = "";
    size_t len = 0;
    int out[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        bench_die("pipe2", strerror(errno));
    s->pid = fork();
    if (s->pid < 0)
        bench_die("fork", strerror(errno));
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever reads our output waits for its end */
        dup2(out[1], 1);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(out[1]);
    while (len < sizeof(line) - 1 && !memchr(line, '\n', len)) {
        ssize_t n = read(out[0], line + len, sizeof(line) - 1 - len);

        if (n <= 0)
            bench_die(argv[0], "did not start");
        len += (size_t)n;
    }
    close(out[0]);
    if (sscanf(line, "LISTENING %d", &s->port) != 1)
        bench_die(argv[0], line);
}

void bench_server_stop(struct bench_server *s)
{
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
}
