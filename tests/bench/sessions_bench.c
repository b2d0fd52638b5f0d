/*
 * sessions_bench: what a list of many sessions costs, from the start of the program to its end.
 *
 *     sessions_bench TENAX [SESSIONS] [RUNS]
 *
 * Makes so many sessions of one folder, LINES lines each, and lists them: the first time (every
 * file is read), then again (every file is looked at), with one that has grown, and by title.
 * Prints medians and minima, and the processor's time; nothing here passes or fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "host/project.h"

#define LINES 30

struct bench {
    char *tenax;
    char dir[64];
    char home[96];
    char work[96];
    struct buf project; /* the folder with the transcripts */
    char last[ID_UUID_LEN + 1];
    int runs;
};

struct sample {
    double wall_ms, cpu_ms;
};

static struct sample run(const struct bench *b, const char *verb, const char *word)
{
    char *argv[] = {b->tenax,     (char *)"-C", (char *)b->work, (char *)"sessions", (char *)verb,
                    (char *)word, NULL};
    char home[128];
    char *env[] = {home, (char *)"PATH=/usr/bin:/bin", NULL};
    int64_t began_us = clock_mono_us();
    struct rusage usage;
    int status;
    pid_t pid;

    snprintf(home, sizeof(home), "TENAX_HOME=%s", b->home);
    pid = fork();
    if (pid < 0)
        bench_die("fork", strerror(errno));
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        dup2(null, 0);
        dup2(null, 1);
        execve(argv[0], argv, env);
        _exit(127);
    }
    if (wait4(pid, &status, 0, &usage) < 0 || status != 0)
        bench_die("sessions", "failed");
    return (struct sample){(double)(clock_mono_us() - began_us) / 1000, bench_cpu_ms(&usage)};
}

static void add_line(struct buf *out, const char *id, int n)
{
    buf_addf(out,
             "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\","
             "\"sessionId\":\"%s\",\"version\":\"0.1.0\",\"gitBranch\":\"main\",\"type\":\"%s\","
             "\"uuid\":\"00000000-0000-4000-8000-%012d\","
             "\"timestamp\":\"2026-11-%02dT%02d:%02d:00.000Z\",\"message\":{\"role\":\"%s\","
             "\"content\":\"session %s says: %0200d\"}}\n",
             id, n % 2 ? "assistant" : "user", n, 1 + (id[0] & 15), id[1] & 15, (id[2] + n) % 60,
             n % 2 ? "assistant" : "user", id, n);
}

static void append(const struct bench *b, const char *id, struct str text)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    int fd;

    buf_addf(&path, "%s/%s.jsonl", buf_cstr(&b->project), id);
    fd = open(buf_cstr(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text, NULL) < 0)
        bench_die("write", strerror(errno));
    close(fd);
}

static void make_sessions(struct bench *b, int count)
{
    for (int i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        id_uuid(b->last);
        for (int n = 0; n < LINES; n++)
            add_line(&text, b->last, n);
        append(b, b->last, buf_str(&text));
    }
}

static void measure(const struct bench *b, const char *what, const char *verb, const char *word,
                    bool grow)
{
    double *wall = mem_alloc(sizeof(double) * (size_t)b->runs);
    double *cpu = mem_alloc(sizeof(double) * (size_t)b->runs);

    for (int i = 0; i < b->runs; i++) {
        struct sample sample;

        if (grow) {
            CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

            add_line(&line, b->last, i);
            append(b, b->last, buf_str(&line));
        }
        sample = run(b, verb, word);
        wall[i] = sample.wall_ms;
        cpu[i] = sample.cpu_ms;
    }
    bench_sort(wall, (size_t)b->runs);
    bench_sort(cpu, (size_t)b->runs);
    printf("%-44s %9.2f %9.2f %9.2f ms\n", what, wall[b->runs / 2], wall[0], cpu[b->runs / 2]);
    free(wall);
    free(cpu);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5000;
    struct bench b = {.dir = "/tmp/tenax-bench-XXXXXX",
                      .runs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 20,
                      .project = BUF_INIT(BUF_NO_LIMIT)};
    struct sample first;
    char word[80];

    if (argc < 2 || count < 1 || b.runs < 1) {
        fprintf(stderr, "usage: sessions_bench TENAX [SESSIONS] [RUNS]\n");
        return 2;
    }
    b.tenax = realpath(argv[1], NULL);
    if (!b.tenax || !mkdtemp(b.dir))
        bench_die(argv[1], strerror(errno));
    snprintf(b.home, sizeof(b.home), "%s/home", b.dir);
    snprintf(b.work, sizeof(b.work), "%s/work", b.dir);
    buf_addf(&b.project, "%s/projects/", b.home);
    project_key(str_of(b.work), &b.project);
    if (file_mkdirs(b.work, 0700, NULL) < 0 || file_mkdirs(buf_cstr(&b.project), 0700, NULL) < 0)
        bench_die("mkdir", strerror(errno));
    make_sessions(&b, count);

    printf("%d sessions of %d lines %22s %9s %9s %9s\n", count, LINES, "", "median", "least",
           "cpu");
    first = run(&b, "list", NULL);
    printf("%-44s %9.2f %9s %9.2f ms\n", "sessions list, the first time", first.wall_ms, "",
           first.cpu_ms);
    measure(&b, "sessions list", "list", NULL, /*grow=*/false);
    measure(&b, "sessions list, one has grown", "list", NULL, /*grow=*/true);
    measure(&b, "sessions list --json", "list", "--json", /*grow=*/false);
    measure(&b, "sessions show, by id", "show", b.last, /*grow=*/false);
    snprintf(word, sizeof(word), "session %s", b.last);
    measure(&b, "sessions show, by title", "show", word, /*grow=*/false);
    bench_remove(b.dir);
    buf_release(&b.project);
    free(b.tenax);
    return 0;
}
