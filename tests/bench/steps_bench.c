/*
 * steps_bench: what the harness itself adds to a step, against tests/fake with zero latency.
 *
 *     steps_bench TENAX FAKE [STEPS [LONG]]
 *
 * The model asks for `true` in every step. Own time per step = the median distance between two of
 * its requests, as the server saw them, less that of bare ones: the same bodies over one kept
 * connection with plain sockets, and after each answer a bare fork/exec/wait of `bash -c true`. All
 * exchanges in a row, and all shells, take less, because nothing between two of them touches the
 * caches; that is printed as well. With LONG a second session of that many steps shows whether late
 * steps cost more than early ones beyond the bytes they must send, for windows of twenty steps. The
 * distance of its requests has three parts: tenax and its command (from the last byte of an answer
 * to the first of the next request), the request on its way, and the server, which parses and
 * stores all of it. Beside them stands the processor time of tenax alone less that of a bare
 * exchange of the same bodies, which neither the server nor a busy machine influences. Where strace
 * is installed the system calls of a step are counted, which no noise hides. Prints only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "bench/bench.h"
#include "json/json.h"

#define WINDOW 20
#define WINDOWS 3
#define SAMPLE_NS (1000 * 1000)
#define STRACE "/usr/bin/strace"
#define COUNTED 100 /* steps */

static const char scenario[] = "step\n"
                               "  sticky\n"
                               "  call Bash {\"command\":\"true\"}\n";

struct request {
    int64_t at_us;       /* the server saw its first byte */
    int64_t done_us;     /* and its last */
    int64_t answered_us; /* when the answer before it was sent */
    char *body;          /* NULL: not kept */
    size_t len;
};

/* What a process had used up at some moment. */
struct sample {
    int64_t at_us;
    int64_t cpu_us;
};

struct samples {
    VEC(struct sample) list;
};

struct bench {
    const char *tenax;
    const char *fake;
    char dir[64];
    char record[96];
    char base[64];
    struct bench_server server;
    VEC(struct request) requests;
    size_t windows[WINDOWS]; /* where they begin: bodies of others are not kept */
    bool has_windows;
};

static void die(const char *what)
{
    bench_die(what, strerror(errno));
}

static void server_start(struct bench *b)
{
    char path[96];
    const char *argv[] = {b->fake, "--scenario", path, "--record", b->record, NULL};
    struct err err = {0};

    snprintf(path, sizeof(path), "%s/s.scenario", b->dir);
    /* Half a gigabyte of bodies: a disk would distort the measurement. */
    snprintf(b->record, sizeof(b->record), "%s/%s-record",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : b->dir, strrchr(b->dir, '/') + 1);
    if (file_replace(path, STR(scenario), 0600, &err) < 0)
        bench_die(path, err.text);
    bench_server_start(&b->server, argv);
    snprintf(b->base, sizeof(b->base), "http://127.0.0.1:%d", b->server.port);
}

static void requests_clear(struct bench *b)
{
    VEC_EACH(&b->requests, r) {
        mem_freep(&r->body);
    }
    b->requests.len = 0;
}

static bool is_kept(const struct bench *b, size_t number)
{
    bool kept = !b->has_windows;

    for (size_t i = 0; i < WINDOWS && !kept; i++)
        kept = number >= b->windows[i] && number <= b->windows[i] + WINDOW;
    return kept;
}

static void request_read(struct bench *b, struct str line)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;
    struct request *r;
    struct str body;

    if (json_parse(&arena, line, &v, NULL, NULL) < 0)
        return;
    body = json_raw(json_get(v, "body"));
    if (!body.len)
        return;
    r = vec_add(&b->requests);
    *r = (struct request){.at_us = json_get_i64(v, "t_us", 0),
                          .done_us = json_get_i64(v, "done_us", 0),
                          .answered_us = json_get_i64(v, "answered_us", 0),
                          .len = body.len};
    if (is_kept(b, b->requests.len - 1))
        r->body = mem_dup(body.ptr, body.len);
}

/* Reads the server's records, and drops them. */
static void requests_read(struct bench *b)
{
    FILE *file = fopen(b->record, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    requests_clear(b);
    if (!file)
        die(b->record);
    for (len = getline(&line, &room, file); len > 0; len = getline(&line, &room, file))
        request_read(b, str_make(line, (size_t)len));
    free(line);
    fclose(file);
    if (truncate(b->record, 0) < 0)
        die(b->record);
}

static int64_t cpu_us(clockid_t clock)
{
    struct timespec used = {0};

    (void)clock_gettime(clock, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* While the process lives. */
static void samples_take(struct samples *s, pid_t pid, int *ret_status)
{
    const struct timespec pause = {.tv_nsec = SAMPLE_NS};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0)
        bench_die("clock_getcpuclockid", "no such process");
    while (waitpid(pid, ret_status, WNOHANG) == 0) {
        vec_push(&s->list, ((struct sample){clock_mono_us(), cpu_us(clock)}));
        nanosleep(&pause, NULL);
    }
}

/* The usage up to then, in ms. */
static double samples_at(const struct samples *s, int64_t at_us)
{
    for (size_t i = 1; i < s->list.len; i++) {
        const struct sample *a = &s->list.ptr[i - 1];
        const struct sample *z = &s->list.ptr[i];

        if (z->at_us >= at_us && z->at_us > a->at_us)
            return (double)(a->cpu_us +
                            (z->cpu_us - a->cpu_us) * (at_us - a->at_us) / (z->at_us - a->at_us)) /
                   1000;
    }
    return 0;
}

/* Replaces the process by tenax with so many steps; with a path strace writes its sums there. */
static void become_tenax(const struct bench *b, int steps, const char *sums)
{
    char home[96];
    char url[96];
    char turns[32];
    const char *env[] = {home, url, "ANTHROPIC_API_KEY=sk-ant-bench-0123456789",
                         "PATH=/usr/bin:/bin", NULL};
    const char *argv[] = {STRACE,
                          "-fcqo",
                          sums,
                          b->tenax,
                          "-p",
                          "go",
                          "-C",
                          b->dir,
                          turns,
                          "--permission-mode=bypassPermissions",
                          "--model=anthropic/claude-sonnet-5",
                          NULL};
    const char **from = sums ? argv : argv + 3;
    int null = open("/dev/null", O_RDWR);

    snprintf(home, sizeof(home), "HOME=%s", b->dir);
    snprintf(url, sizeof(url), "ANTHROPIC_BASE_URL=%s", b->base);
    snprintf(turns, sizeof(turns), "--max-turns=%d", steps);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execve(from[0], (char **)from, (char **)env);
    _exit(127);
}

/* Runs tenax for so many steps; *ret_pss, unless NULL, gets the most it held, and samples what it
 * used. */
static double run_tenax(const struct bench *b, int steps, long *ret_pss, struct samples *samples)
{
    int64_t start = clock_mono_us();
    int status;
    pid_t pid = fork();

    if (pid == 0)
        become_tenax(b, steps, /*sums=*/NULL);
    if (ret_pss) {
        while (waitpid(pid, &status, WNOHANG) == 0) {
            long pss = bench_memory_kb(pid, "Pss");

            if (pss > *ret_pss)
                *ret_pss = pss;
        }
    } else if (samples) {
        samples_take(samples, pid, &status);
    } else {
        waitpid(pid, &status, 0);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) /* it ends at --max-turns */
        fprintf(stderr, "steps_bench: tenax ended with status %x\n", (unsigned)status);
    return (double)(clock_mono_us() - start) / 1000;
}

/* Of a run of so many steps, commands included. */
static double count_calls(const struct bench *b, int steps)
{
    char sums[96];
    pid_t pid;

    snprintf(sums, sizeof(sums), "%s/sums", b->dir);
    pid = fork();
    if (pid == 0)
        become_tenax(b, steps, sums);
    waitpid(pid, NULL, 0);
    return (double)bench_strace_total(sums);
}

/* A long run less a short one, so that the start of the program is no part of it. */
static void print_calls(const struct bench *b)
{
    if (access(STRACE, X_OK) != 0)
        return;
    printf("  system calls per step    %7.1f      (some 120 are the shell's)\n",
           (count_calls(b, 20 + COUNTED) - count_calls(b, 20)) / COUNTED);
}

/* fork, exec, wait. */
static void run_bare_shell(void)
{
    char *argv[] = {(char *)"bash", (char *)"-c", (char *)"true", NULL};
    char *env[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    pid_t pid = fork();

    if (pid == 0) {
        execve("/bin/bash", argv, env);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) < 0)
        die("fork");
}

static double run_bare_shells(int n)
{
    int64_t start = clock_mono_us();

    for (int i = 0; i < n; i++)
        run_bare_shell();
    return (double)(clock_mono_us() - start) / 1000;
}

/* Reads one answer in chunks, to its end. */
static void read_answer(int fd)
{
    char text[65536];
    char last[8] = "";
    size_t kept = 0;

    for (;;) {
        ssize_t n = read(fd, text, sizeof(text));
        size_t take;

        if (n <= 0)
            die("the server hung up");
        take = n > 5 ? 5 : (size_t)n;
        if (take < 5 && kept) {
            size_t keep = kept + take > 5 ? 5 - take : kept;

            memmove(last, last + kept - keep, keep);
            kept = keep;
        } else {
            kept = 0;
        }
        memcpy(last + kept, text + n - take, take);
        kept += take;
        if (kept == 5 && memcmp(last, "0\r\n\r\n", 5) == 0)
            return;
    }
}

/* The same bodies once more, by nothing but sockets. */
static double run_bare_exchanges(struct bench *b, size_t from, size_t count, bool with_shells)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)b->server.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    int64_t start = clock_mono_us();

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect");
    for (size_t i = from; i < from + count && i < b->requests.len; i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&out,
                 "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k\r\n"
                 "anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n"
                 "content-length: %zu\r\n\r\n",
                 b->requests.ptr[i].len);
        buf_add(&out, str_make(b->requests.ptr[i].body, b->requests.ptr[i].len));
        if (fd_write_all(fd, buf_str(&out), NULL) < 0)
            die("write");
        read_answer(fd);
        if (with_shells)
            run_bare_shell();
    }
    close(fd);
    return (double)(clock_mono_us() - start) / 1000;
}

/* What lies between two requests, and what it is made of. */
enum part {
    PART_ALL,
    PART_SERVER, /* the first one is complete; its answer is sent */
    PART_OWN,    /* the next one begins: tenax, and the command of the step */
    PART_WAY,    /* it is there as a whole */
};

static int64_t part_us(const struct request *r, enum part part)
{
    switch (part) {
    case PART_SERVER:
        return r[1].answered_us - r[0].done_us;
    case PART_OWN:
        return r[1].at_us - r[1].answered_us;
    case PART_WAY:
        return r[1].done_us - r[1].at_us;
    case PART_ALL:
        break;
    }
    return r[1].at_us - r[0].at_us;
}

/* The median of a part, in ms, of so many requests from one on. */
static double gap_ms(const struct bench *b, size_t from, size_t count, enum part part)
{
    double *gaps = mem_zalloc((count + 1) * sizeof(*gaps));
    double median;

    for (size_t i = 0; i < count; i++)
        gaps[i] = (double)part_us(&b->requests.ptr[from + i], part) / 1000;
    bench_sort(gaps, count);
    median = gaps[count / 2];
    free(gaps);
    return median;
}

/* What goes out with every request. */
static void print_fixed(const struct bench *b)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;

    if (!b->requests.len ||
        json_parse(&arena, str_make(b->requests.ptr[0].body, b->requests.ptr[0].len), &v, NULL,
                   NULL) < 0)
        return;
    printf("  in every request         %7.1f KB of tools, %.1f KB of system prompt\n",
           (double)json_raw(json_get(v, "tools")).len / 1024,
           (double)json_raw(json_get(v, "system")).len / 1024);
}

static void bench_steps(struct bench *b, int steps)
{
    enum {
        ROUNDS = 9
    };
    double own[ROUNDS];
    double wall[ROUNDS];
    double step[ROUNDS];
    double bare[ROUNDS];
    double apart[ROUNDS];
    double own_apart[ROUNDS];
    long pss = 0;

    for (int i = 0; i < ROUNDS; i++) {
        wall[i] = run_tenax(b, steps, NULL, NULL) / steps;
        requests_read(b);
        if (!b->requests.len)
            bench_die("tenax", "no request came");
        step[i] = gap_ms(b, 0, b->requests.len - 1, PART_ALL);
        apart[i] = (run_bare_shells(steps) +
                    run_bare_exchanges(b, 0, (size_t)steps, /*with_shells=*/false)) /
                   steps;
        if (truncate(b->record, 0) < 0)
            die(b->record);
        run_bare_exchanges(b, 0, (size_t)steps, /*with_shells=*/true);
        requests_read(b);
        bare[i] = gap_ms(b, 0, b->requests.len - 1, PART_ALL);
        own[i] = step[i] - bare[i];
        own_apart[i] = step[i] - apart[i];
    }
    run_tenax(b, steps, &pss, NULL);
    requests_read(b);
    bench_sort(own, ROUNDS);
    bench_sort(wall, ROUNDS);
    bench_sort(step, ROUNDS);
    bench_sort(bare, ROUNDS);
    bench_sort(apart, ROUNDS);
    bench_sort(own_apart, ROUNDS);
    printf("%d steps of `true`, %d rounds   median    min\n", steps, ROUNDS);
    printf("  wall / steps             %7.2f ms %6.2f ms   (start of the program included)\n",
           wall[ROUNDS / 2], wall[0]);
    printf("  a step                   %7.2f ms %6.2f ms\n", step[ROUNDS / 2], step[0]);
    printf("  bare shell and exchange  %7.2f ms %6.2f ms\n", bare[ROUNDS / 2], bare[0]);
    printf("  own time per step        %7.2f ms %6.2f ms   (aim 0.5)\n", own[ROUNDS / 2], own[0]);
    printf("  bare, each in a row      %7.2f ms %6.2f ms   (own time by that %.2f ms)\n",
           apart[ROUNDS / 2], apart[0], own_apart[ROUNDS / 2]);
    printf("  and its share of the start %5.2f ms\n", wall[ROUNDS / 2] - step[ROUNDS / 2]);
    printf("  PSS, at most             %7.1f MB\n", (double)pss / 1024);
    print_fixed(b);
    print_calls(b);
    requests_clear(b);
    if (truncate(b->record, 0) < 0)
        die(b->record);
}

/* One row: what lies between the requests of a window, and what the same ones cost made barely. */
static void bench_window(struct bench *b, size_t from, const struct samples *samples)
{
    const struct request *r = &b->requests.ptr[from];
    double own = samples_at(samples, r[WINDOW].at_us) - samples_at(samples, r[0].at_us);
    int64_t before_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
    double bare;

    run_bare_exchanges(b, from, WINDOW + 1, /*with_shells=*/false);
    bare = (double)(cpu_us(CLOCK_PROCESS_CPUTIME_ID) - before_us) / 1000 / (WINDOW + 1);
    own /= WINDOW;
    printf("  around step %-6zu %7.2f %7.2f %7.2f %7.2f ms %8.2f %7.2f %7.2f ms %6.0f KB\n",
           from + WINDOW / 2, gap_ms(b, from, WINDOW, PART_ALL), gap_ms(b, from, WINDOW, PART_OWN),
           gap_ms(b, from, WINDOW, PART_WAY), gap_ms(b, from, WINDOW, PART_SERVER), own, bare,
           own - bare, (double)r[0].len / 1024);
}

static void bench_flat(struct bench *b, int steps)
{
    struct samples samples = {.list = VEC_INIT};

    b->windows[0] = 10;
    b->windows[1] = (size_t)steps / 2;
    b->windows[2] = (size_t)steps - WINDOW - 2;
    b->has_windows = true;
    run_tenax(b, steps, NULL, &samples);
    requests_read(b);
    if (b->requests.len < (size_t)steps) {
        printf("the session ended after %zu steps\n", b->requests.len);
    } else {
        printf("a session of %d steps   wall   tenax  sending  server     own CPU    bare    rest"
               "    body\n",
               steps);
        for (size_t i = 0; i < WINDOWS; i++)
            bench_window(b, b->windows[i], &samples);
    }
    vec_release(&samples.list);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int steps = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 50;
    int many = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0;

    if (argc < 3 || steps < 1) {
        fprintf(stderr, "usage: steps_bench TENAX FAKE [STEPS [LONG]]\n");
        return 2;
    }
    b.tenax = argv[1];
    b.fake = argv[2];
    snprintf(b.dir, sizeof(b.dir), "/tmp/steps-bench-XXXXXX");
    if (!mkdtemp(b.dir))
        die("mkdtemp");
    server_start(&b);
    bench_steps(&b, steps);
    if (many > 2 * WINDOW)
        bench_flat(&b, many);
    bench_server_stop(&b.server);
    requests_clear(&b);
    vec_release(&b.requests);
    (void)unlink(b.record);
    bench_remove(b.dir); /* tenax has left its home in it */
    return 0;
}
