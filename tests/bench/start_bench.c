/*
 * start_bench: what it costs to start, ask and answer, against tests/fake with zero latency.
 *
 *     start_bench TENAX FAKE [RUNS]
 *
 * Prints medians and minima; nothing here passes or fails. The server records when the first byte
 * of each request arrived, on the same monotonic clock that this program reads before it forks.
 * Asked once outside of any git checkout, and once in a fresh one with FILES files.
 * Memory is the largest PSS seen while the answer is held up for a moment by the scenario.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "json/json.h"

#define FILES 1200
#define FILES_PER_FOLDER 50

struct sample {
    double wall_ms;
    long max_rss_kb;
    long pss_kb;
    int64_t forked_us;
};

struct bench {
    char *tenax;
    const char *fake;
    int runs;
    double *wall; /* one of each run */
    double *other;
    char dir[64];
    char plain[96]; /* folders to work in */
    char checkout[96];
    char scenario[96];
    char record[96];
    char base[64]; /* http://127.0.0.1:port */
    struct bench_server server;
};

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
    struct sample s = {.forked_us = clock_mono_us()};
    struct rusage usage;
    int status;
    pid_t pid;

    snprintf(home, sizeof(home), "HOME=%s", b->dir);
    snprintf(anthropic, sizeof(anthropic), "ANTHROPIC_BASE_URL=%s", b->base);
    snprintf(openai, sizeof(openai), "OPENAI_BASE_URL=%s/v1", b->base);
    snprintf(gemini, sizeof(gemini), "GOOGLE_GEMINI_BASE_URL=%s", b->base);
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
    if (watch) {
        while (wait4(pid, &status, WNOHANG, &usage) == 0) {
            long pss = bench_memory_kb(pid, "Pss");

            if (pss > s.pss_kb)
                s.pss_kb = pss;
        }
    } else if (wait4(pid, &status, 0, &usage) < 0) {
        bench_die("wait4", strerror(errno));
    }
    s.wall_ms = (double)(clock_mono_us() - s.forked_us) / 1000;
    s.max_rss_kb = usage.ru_maxrss;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "start_bench: '%s %s' failed (status %d)\n", argv[0], argv[1], status);
        exit(1);
    }
    return s;
}

static void row(const char *what, double *values, int n, const char *unit, const char *aim)
{
    bench_sort(values, (size_t)n);
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

    if (file_slurp(b->record, text.max, &text, &err) < 0)
        bench_die(b->record, err.text);
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line))
        last = line.len ? line : last;
    if (json_parse(&arena, last, &entry, NULL, &err) < 0)
        bench_die("the server's record", err.text);
    t = json_get_i64(entry, "t_us", -1);
    arena_release(&arena);
    return t;
}

static void serve(struct bench *b, const char *scenario)
{
    const char *argv[] = {b->fake, "--scenario", b->scenario, "--record", b->record, NULL};
    struct err err = {0};

    if (file_replace(b->scenario, str_of(scenario), 0600, &err) < 0)
        bench_die(b->scenario, err.text);
    unlink(b->record);
    bench_server_start(&b->server, argv);
    snprintf(b->base, sizeof(b->base), "http://127.0.0.1:%d", b->server.port);
}

static void bench_version(const struct bench *b)
{
    char *version[] = {b->tenax, (char *)"--version", NULL};

    for (int i = 0; i < b->runs; i++) {
        struct sample s = run(b, version, /*watch=*/false);

        b->wall[i] = s.wall_ms;
        b->other[i] = (double)s.max_rss_kb / 1024;
    }
    row("--version, wall", b->wall, b->runs, "ms", "(aim 3)");
    row("--version, peak RSS", b->other, b->runs, "MB", "");
}

/* servers: a file of MCP servers, or NULL. */
static void bench_model(const struct bench *b, const char *model, const char *dir,
                        const char *servers)
{
    char *ask[] = {
        b->tenax,        (char *)"-p", (char *)"hello", (char *)"--model",
        (char *)model,   (char *)"-C", (char *)dir,     servers ? (char *)"--mcp-config" : NULL,
        (char *)servers, NULL};
    const char *where = dir == b->checkout ? ", git" : servers ? ", 20 MCP" : "";
    char what[64];

    for (int i = 0; i < b->runs; i++) {
        struct sample s = run(b, ask, /*watch=*/false);

        b->wall[i] = s.wall_ms;
        b->other[i] = (double)(last_request_us(b) - s.forked_us) / 1000;
    }
    snprintf(what, sizeof(what), "-p hello, start to request (%.9s%s)", model, where);
    row(what, b->other, b->runs, "ms", "(aim 10)");
    snprintf(what, sizeof(what), "-p hello, wall (%.9s%s)", model, where);
    row(what, b->wall, b->runs, "ms", "(aim 15)");
}

static void bench_memory(const struct bench *b)
{
    char *ask[] = {b->tenax, (char *)"-p", (char *)"hello", (char *)"-C", (char *)b->plain, NULL};
    int runs = b->runs < 10 ? b->runs : 10;

    for (int i = 0; i < runs; i++) {
        struct sample s = run(b, ask, /*watch=*/true);

        b->other[i] = (double)s.pss_kb / 1024;
        b->wall[i] = (double)s.max_rss_kb / 1024;
    }
    row("-p hello, peak PSS", b->other, runs, "MB", "(aim 10)");
    row("-p hello, peak RSS, shared or not", b->wall, runs, "MB", "");
}

/* Ten good servers, five that never answer, five that end at once: no request waits for any. */
static void make_servers(const struct bench *b, char path[static 96])
{
    CLEANUP(mem_freep) char *dir = path_dirname(b->fake);
    CLEANUP(mem_freep) char *good = path_join(dir, "fake-mcp");
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);
    struct err err = {0};

    buf_adds(&text, "{\"mcpServers\":{");
    for (int i = 0; i < 20; i++)
        buf_addf(&text, "%s\"s%d\":{\"command\":\"%s\"%s}", i ? "," : "", i,
                 i < 10   ? good
                 : i < 15 ? "/bin/sleep"
                          : "/bin/false",
                 i < 10 || i >= 15 ? "" : ",\"args\":[\"1000\"]");
    buf_adds(&text, "}}");
    snprintf(path, 96, "%s/servers", b->dir);
    if (file_replace(path, buf_str(&text), 0600, &err) < 0)
        bench_die(path, err.text);
}

/* Runs a shell command in a folder. */
static void shell(const char *dir, const char *command)
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        bench_die("fork", strerror(errno));
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "cd \"$0\" && eval \"$1\"", dir, command, NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        bench_die(command, "failed");
}

static void make_folders(struct bench *b)
{
    struct err err = {0};

    snprintf(b->plain, sizeof(b->plain), "%s/plain", b->dir);
    snprintf(b->checkout, sizeof(b->checkout), "%s/checkout", b->dir);
    if (file_mkdirs(b->plain, 0700, &err) < 0)
        bench_die(b->plain, err.text);
    for (int i = 0; i < FILES; i++) {
        char path[160];
        size_t len =
            (size_t)snprintf(path, sizeof(path), "%s/%d", b->checkout, i / FILES_PER_FOLDER);

        if (i % FILES_PER_FOLDER == 0 && file_mkdirs(path, 0700, &err) < 0)
            bench_die(path, err.text);
        snprintf(path + len, sizeof(path) - len, "/%d.c", i);
        if (file_replace(path, str_of(path), 0600, &err) < 0)
            bench_die(path, err.text);
    }
    /* The files are made older than the index: git takes a second look at those that are not. */
    shell(b->checkout, "find . -type f -exec touch -d '1 hour ago' {} + && git init -q && "
                       "git add . && git -c user.name=a -c user.email=a@b commit -q -m one");
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"anthropic/claude-sonnet-5", "openai/gpt-5",
                                         "gemini/gemini-2.5-flash"};
    struct bench b = {.dir = "/tmp/tenax-bench-XXXXXX"};
    char servers[96];

    b.runs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 40;
    if (argc < 3 || b.runs < 1) {
        fprintf(stderr, "usage: start_bench TENAX FAKE [RUNS]\n");
        return 2;
    }
    b.tenax = argv[1];
    b.fake = argv[2];
    b.wall = mem_zalloc((size_t)b.runs * sizeof(*b.wall));
    b.other = mem_zalloc((size_t)b.runs * sizeof(*b.other));
    if (!mkdtemp(b.dir))
        bench_die("mkdtemp", strerror(errno));
    snprintf(b.scenario, sizeof(b.scenario), "%s/scenario", b.dir);
    snprintf(b.record, sizeof(b.record), "%s/record", b.dir);
    make_folders(&b);

    printf("%-44s %9s %9s\n", "", "median", "least");
    bench_version(&b);
    serve(&b, "step\n  sticky\n  text Hello.\n");
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        bench_model(&b, models[i], b.plain, /*servers=*/NULL);
    bench_model(&b, models[0], b.checkout, /*servers=*/NULL);
    make_servers(&b, servers);
    bench_model(&b, models[0], b.plain, servers);
    bench_server_stop(&b.server);
    serve(&b, "step\n  sticky\n  text Hello\n  pause 60ms\n  text , world.\n");
    bench_memory(&b);
    bench_server_stop(&b.server);

    bench_remove(b.dir);
    free(b.wall);
    free(b.other);
    return 0;
}
