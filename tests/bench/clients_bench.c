/*
 * clients_bench: what an editor waits for.
 *
 *     clients_bench TENAX [RUNS [SESSIONS]]
 *
 * From the start of `tenax acp` to its answer to initialize; then, in one process, sessions that
 * are opened, requests that go there and back, prompts of a scripted model from the request to the
 * first text and to the answer, and the memory that it all takes. Nothing here passes or fails.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "bench/bench.h"

#define ID_LEN 36

struct peer {
    pid_t pid;
    int in, out;
    struct buf text;
    int next;
};

static char dir[] = "/tmp/tenax-clients-XXXXXX";

static void peer_start(struct peer *p, const char *tenax)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    int in[2];
    int out[2];

    strv_adds(&argv, "tenax");
    strv_adds(&argv, "acp");
    strv_adds(&argv, "--model");
    strv_addf(&argv, "scripted/%s/scenario", dir);
    strv_addf(&env, "HOME=%s", dir);
    strv_adds(&env, "PATH=/usr/bin:/bin");
    *p = (struct peer){.text = BUF_INIT(BUF_NO_LIMIT)};
    if (pipe(in) < 0 || pipe(out) < 0)
        bench_die("pipe", tenax);
    p->pid = fork();
    if (p->pid < 0)
        bench_die("fork", tenax);
    if (p->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 32; fd++)
            close(fd);
        execve(tenax, argv.ptr, env.ptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    p->out = out[0];
}

static void peer_end(struct peer *p)
{
    close(p->in);
    close(p->out);
    waitpid(p->pid, /*status=*/NULL, 0);
    buf_release(&p->text);
}

static int ask(struct peer *p, const char *method, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int ask(struct peer *p, const char *method, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
    va_list args;

    buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":", ++p->next,
             method);
    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    buf_adds(&line, "}\n");
    if (fd_write_all(p->in, buf_str(&line), NULL) < 0)
        bench_die("write", method);
    return p->next;
}

/* Reads up to a line with the text in it, which it returns until the next call. */
static struct str await(struct peer *p, const char *text)
{
    for (;;) {
        struct str all = buf_str(&p->text);
        size_t at = str_find(all, str_of(text));
        char *room;
        ssize_t n;

        if (at < all.len && str_chr(str_from(all, at), '\n') < all.len - at)
            return str_from(all, at);
        room = buf_room(&p->text, 1 << 16);
        n = read(p->out, room, 1 << 16);
        if (n <= 0)
            bench_die("tenax has ended before", text);
        buf_grown(&p->text, (size_t)n);
    }
}

static struct str await_answer(struct peer *p, int id)
{
    char text[32];

    snprintf(text, sizeof(text), "\"id\":%d,\"result\"", id);
    return await(p, text);
}

static void report(const char *what, double *ms, int count)
{
    bench_sort(ms, (size_t)count);
    printf("%-46s median %8.3f ms   p99 %8.3f ms   worst %8.3f ms\n", what, ms[count / 2],
           ms[count * 99 / 100], ms[count - 1]);
}

static void initialize(struct peer *p)
{
    await_answer(p, ask(p, "initialize", "{\"protocolVersion\":1}"));
}

static void starts(const char *tenax, int runs, double *ms)
{
    for (int i = 0; i < runs; i++) {
        int64_t began = clock_mono_us();
        struct peer p;

        peer_start(&p, tenax);
        initialize(&p);
        ms[i] = (double)(clock_mono_us() - began) / 1000;
        peer_end(&p);
    }
    report("start to initialize answered", ms, runs);
}

static void round_trips(struct peer *p, const char *id, int runs, double *ms)
{
    for (int i = 0; i < runs; i++) {
        int64_t began = clock_mono_us();

        buf_clear(&p->text);
        await_answer(
            p, ask(p, "session/set_mode", "{\"sessionId\":\"%s\",\"modeId\":\"default\"}", id));
        ms[i] = (double)(clock_mono_us() - began) / 1000;
    }
    report("a request there and back", ms, runs);
}

static void prompts(struct peer *p, const char *id, int runs, double *ms)
{
    double *first = malloc((size_t)runs * sizeof(double));

    for (int i = 0; i < runs; i++) {
        int64_t began = clock_mono_us();
        int prompt;

        buf_clear(&p->text);
        prompt = ask(p, "session/prompt",
                     "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}", id);
        await(p, "agent_message_chunk");
        first[i] = (double)(clock_mono_us() - began) / 1000;
        await_answer(p, prompt);
        ms[i] = (double)(clock_mono_us() - began) / 1000;
    }
    report("a prompt to its first text", first, runs);
    report("a prompt to its answer", ms, runs);
    free(first);
}

static void sessions(const char *tenax, int runs, int count, double *ms)
{
    char(*ids)[ID_LEN + 1] = calloc((size_t)count, sizeof(*ids));
    struct peer p;
    long before;

    peer_start(&p, tenax);
    initialize(&p);
    before = bench_memory_kb(p.pid, "Pss");
    for (int i = 0; i < count; i++) {
        int64_t began = clock_mono_us();
        struct str mark = STR("\"sessionId\":\"");
        struct str answer;

        buf_clear(&p.text);
        answer =
            await_answer(&p, ask(&p, "session/new", "{\"cwd\":\"%s\",\"mcpServers\":[]}", dir));
        ms[i] = (double)(clock_mono_us() - began) / 1000;
        memcpy(ids[i], str_from(answer, str_find(answer, mark) + mark.len).ptr, ID_LEN);
    }
    report("a session opened", ms, count);
    round_trips(&p, ids[0], runs * 10, ms);
    prompts(&p, ids[0], runs, ms);
    for (int i = 1; i < count; i++) {
        buf_clear(&p.text);
        await_answer(&p,
                     ask(&p, "session/prompt",
                         "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}",
                         ids[i]));
    }
    printf(
        "memory (Pss): %ld KB after initialize, %ld KB with %d sessions that have had a prompt\n",
        before, bench_memory_kb(p.pid, "Pss"), count);
    peer_end(&p);
    free(ids);
}

int main(int argc, char **argv)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    int64_t runs = 100;
    int64_t count = 20;
    double *ms;

    if (argc < 2 || (argc > 2 && str_to_i64(str_of(argv[2]), &runs, NULL) < 0) ||
        (argc > 3 && str_to_i64(str_of(argv[3]), &count, NULL) < 0) || runs < 1 || count < 1)
        bench_die("usage", "clients_bench TENAX [RUNS [SESSIONS]]");
    if (!mkdtemp(dir))
        bench_die("mkdtemp", dir);
    (void)signal(SIGPIPE, SIG_IGN);
    buf_addf(&path, "%s/scenario", dir);
    if (file_replace(buf_cstr(&path), STR("step\n sticky\n text Here it is.\n"), 0600, NULL) < 0)
        bench_die("scenario", buf_cstr(&path));
    ms = malloc((size_t)(runs * 10 + count) * sizeof(double));
    starts(argv[1], (int)runs, ms);
    sessions(argv[1], (int)runs, (int)count, ms);
    free(ms);
    bench_remove(dir);
    return 0;
}
