/*
 * start_bench: what it costs to start, ask and answer, against tests/fake with zero latency.
 *
 *     start_bench TENAX FAKE [RUNS]
 *
 * Prints medians and minima; nothing here passes or fails. The server records when the first byte
 * of each request arrived, on the same monotonic clock that this program reads before it forks.
 * Memory is the largest PSS seen while the answer is held up for a moment by the scenario.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"

struct sample {
    double wall_ms;
    double cpu_ms;
    long max_rss_kb;
    long pss_kb;
    int64_t forked_us;
};

struct bench {
    const char *tenax;
    const char *fake;
    char dir[64];
    char base[64]; /* http://127.0.0.1:port */
    char record[96];
    pid_t server;
};

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die(const char *what)
{
    fprintf(stderr, "start_bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long pss_of(pid_t pid)
{
    char path[64];
    char text[2048];
    char *at;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    at = strstr(text, "\nPss:");
    return at ? strtol(at + 5, NULL, 10) : 0;
}

/* Runs a command with a bare environment; watch: look at its memory all the while. */
static struct sample run(const struct bench *b, char *const *argv, bool watch)
{
    char home[96];
    char anthropic[128];
    char openai[128];
    char gemini[128];
    char *env[] = {home,
                   anthropic,
                   openai,
                   gemini,
                   (char *)"ANTHROPIC_API_KEY=sk-ant-bench-0123456789",
                   (char *)"OPENAI_API_KEY=sk-bench-0123456789",
                   (char *)"GEMINI_API_KEY=bench-0123456789",
                   (char *)"PATH=/usr/bin:/bin",
                   NULL};
    struct sample s = {.forked_us = now_us()};
    struct rusage usage;
    int status;
    pid_t pid;

    snprintf(home, sizeof(home), "HOME=%s", b->dir);
    snprintf(anthropic, sizeof(anthropic), "ANTHROPIC_BASE_URL=%s", b->base);
    snprintf(openai, sizeof(openai), "OPENAI_BASE_URL=%s/v1", b->base);
    snprintf(gemini, sizeof(gemini), "GOOGLE_GEMINI_BASE_URL=%s", b->base);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        dup2(null, 0);
        dup2(null, 1);
        execve(argv[0], argv, env);
        _exit(127);
    }
    if (watch) {
        while (wait4(pid, &status, WNOHANG, &usage) == 0) {
            long pss = pss_of(pid);

            if (pss > s.pss_kb)
                s.pss_kb = pss;
        }
    } else if (wait4(pid, &status, 0, &usage) < 0) {
        die("wait4");
    }
    s.wall_ms = (double)(now_us() - s.forked_us) / 1000;
    s.cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    s.max_rss_kb = usage.ru_maxrss;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "start_bench: '%s %s' failed (status %d)\n", argv[0], argv[1], status);
        exit(1);
    }
    return s;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void row(const char *what, double *values, int n, const char *unit, const char *aim)
{
    qsort(values, (size_t)n, sizeof(*values), by_size);
    printf("%-44s %9.2f %9.2f %-4s %s\n", what, values[n / 2], values[0], unit, aim);
}

/* When the first byte of the last recorded request came in. */
static int64_t last_request_us(const struct bench *b)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 20);
    struct arena arena = ARENA_INIT;
    const struct json *entry = NULL;
    struct err err = {0};
    struct str rest;
    struct str line;
    struct str last = STR("");
    int64_t t;

    if (file_slurp(b->record, text.max, &text, &err) < 0) {
        fprintf(stderr, "start_bench: %s\n", err.text);
        exit(1);
    }
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line))
        last = line.len ? line : last;
    if (json_parse(&arena, last, &entry, NULL, &err) < 0) {
        fprintf(stderr, "start_bench: the server's record: %s\n", err.text);
        exit(1);
    }
    t = json_get_i64(entry, "t_us", -1);
    arena_release(&arena);
    return t;
}

static void serve(struct bench *b, const char *scenario)
{
    char path[96];
    char port[32];
    char line[64] = "";
    struct err err = {0};
    int out[2];
    size_t len = 0;

    snprintf(path, sizeof(path), "%s/scenario", b->dir);
    if (file_replace(path, str_of(scenario), 0600, &err) < 0) {
        fprintf(stderr, "start_bench: %s\n", err.text);
        exit(1);
    }
    snprintf(b->record, sizeof(b->record), "%s/record", b->dir);
    unlink(b->record);
    if (pipe(out) < 0)
        die("pipe");
    b->server = fork();
    if (b->server < 0)
        die("fork");
    if (b->server == 0) {
        dup2(out[1], 1);
        close(out[0]);
        execl(b->fake, b->fake, "--scenario", path, "--record", b->record, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (len < sizeof(line) - 1 && !memchr(line, '\n', len)) {
        ssize_t n = read(out[0], line + len, sizeof(line) - 1 - len);

        if (n <= 0) {
            fprintf(stderr, "start_bench: the server did not start\n");
            exit(1);
        }
        len += (size_t)n;
    }
    close(out[0]);
    if (sscanf(line, "LISTENING %31[0-9]", port) != 1) {
        fprintf(stderr, "start_bench: the server said '%s'\n", line);
        exit(1);
    }
    snprintf(b->base, sizeof(b->base), "http://127.0.0.1:%s", port);
}

static void stop(struct bench *b)
{
    kill(b->server, SIGTERM);
    waitpid(b->server, NULL, 0);
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"anthropic/claude-sonnet-5", "openai/gpt-5",
                                         "gemini/gemini-2.5-flash"};
    struct bench b = {.tenax = argv[1], .fake = argv[2]};
    int runs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 40;
    double *values = NULL;
    double *wire = NULL;
    char *version[] = {argv[1], (char *)"--version", NULL};
    char what[64];

    if (argc < 3 || runs < 1) {
        fprintf(stderr, "usage: start_bench TENAX FAKE [RUNS]\n");
        return 2;
    }
    values = calloc((size_t)runs, sizeof(*values));
    wire = calloc((size_t)runs, sizeof(*wire));
    snprintf(b.dir, sizeof(b.dir), "/tmp/tenax-bench-XXXXXX");
    if (!values || !wire || !mkdtemp(b.dir))
        die("mkdtemp");
    printf("%-44s %9s %9s\n", "", "median", "least");
    for (int i = 0; i < runs; i++) {
        struct sample s = run(&b, version, false);

        values[i] = s.wall_ms;
        wire[i] = (double)s.max_rss_kb / 1024;
    }
    row("--version, wall", values, runs, "ms", "(aim 3)");
    row("--version, peak RSS", wire, runs, "MB", "");

    serve(&b, "step\n  sticky\n  text Hello.\n");
    for (size_t m = 0; m < ARRAY_LEN(models); m++) {
        char *ask[] = {argv[1],           (char *)"-p",      (char *)"hello",
                       (char *)"--model", (char *)models[m], NULL};

        for (int i = 0; i < runs; i++) {
            struct sample s = run(&b, ask, false);

            values[i] = s.wall_ms;
            wire[i] = (double)(last_request_us(&b) - s.forked_us) / 1000;
        }
        snprintf(what, sizeof(what), "-p hello, start to first request byte (%.9s)", models[m]);
        row(what, wire, runs, "ms", "(aim 10)");
        snprintf(what, sizeof(what), "-p hello, wall (%.9s)", models[m]);
        row(what, values, runs, "ms", "(aim 15)");
    }
    stop(&b);

    serve(&b, "step\n  sticky\n  text Hello\n  pause 60ms\n  text , world.\n");
    for (int i = 0; i < runs && i < 10; i++) {
        char *ask[] = {argv[1], (char *)"-p", (char *)"hello", NULL};

        values[i] = (double)run(&b, ask, true).pss_kb / 1024;
    }
    row("-p hello, peak PSS", values, runs < 10 ? runs : 10, "MB", "(aim 10)");
    stop(&b);

    snprintf(what, sizeof(what), "%s/scenario", b.dir);
    unlink(what);
    unlink(b.record);
    rmdir(b.dir);
    free(values);
    free(wire);
    return 0;
}
