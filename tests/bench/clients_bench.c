/*
 * clients_bench: what an editor waits for.
 *
 *     clients_bench TENAX [RUNS [SESSIONS]]
 *
 * From the start of `tenax acp` to its answer to initialize; then, in one process, sessions that
 * are opened, requests that go there and back, prompts of a scripted model from the request to the
 * first text and to the answer, and the memory that it all takes. Then a model that streams over
 * HTTP writes into each piece of text when it was sent: what passes until the editor has it is all
 * that the kernel, the network thread, the agent and the connection take together. Last, a cancel
 * in the middle of such a text. Nothing here passes or fails.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

/* port: of a model that streams; 0: a scripted one. */
static void peer_start(struct peer *p, const char *tenax, int port)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    int in[2];
    int out[2];

    strv_adds(&argv, "tenax");
    strv_adds(&argv, "acp");
    strv_adds(&argv, "--model");
    if (port)
        strv_adds(&argv, "anthropic/claude-sonnet-4-5");
    else
        strv_addf(&argv, "scripted/%s/scenario", dir);
    strv_addf(&env, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d", port);
    strv_adds(&env, "ANTHROPIC_API_KEY=sk-ant-bench-0123456789");
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

        peer_start(&p, tenax, /*port=*/0);
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

    peer_start(&p, tenax, /*port=*/0);
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

/* ---- A model that streams ---- */

#define PIECES 500
#define PIECE_US 4000 /* between two pieces */

static void put(int fd, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void put(int fd, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    if (fd_write_all(fd, buf_str(&text), NULL) < 0)
        _exit(0); /* it was cancelled */
}

static void stream(int fd)
{
    char request[1 << 16];

    (void)!read(fd, request, sizeof(request)); /* the rest of it stays with the kernel */
    put(fd, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            "event: message_start\ndata: "
            "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":"
            "\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],"
            "\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    for (int i = 0; i < PIECES; i++) {
        usleep(PIECE_US);
        put(fd,
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
            "\"delta\":{\"type\":\"text_delta\",\"text\":\"at=%" PRId64 " \"}}\n\n",
            clock_mono_us());
    }
    put(fd, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
            "\"end_turn\"},\"usage\":{\"output_tokens\":500}}\n\n"
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    shutdown(fd, SHUT_WR);
    (void)!read(fd, request, sizeof(request));
    _exit(0);
}

static pid_t serve(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 16) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        bench_die("listen", "the model's port");
    *ret_port = ntohs(at.sin_port);
    pid = fork();
    if (pid != 0) {
        close(fd);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int one = accept(fd, NULL, NULL);

        if (one >= 0 && fork() == 0)
            stream(one);
        close(one);
    }
}

/* Every piece in the lines that are complete; ms: how old it is. False: the turn is over. */
static bool read_pieces(struct peer *p, double *ms, int *count)
{
    struct str mark = STR("at=");
    char *room = buf_room(&p->text, 1 << 16);
    ssize_t n = read(p->out, room, 1 << 16);
    int64_t now_us = clock_mono_us();
    struct str line;
    size_t len;

    if (n <= 0)
        bench_die("tenax has ended in", "a stream");
    buf_grown(&p->text, (size_t)n);
    while ((len = str_chr(buf_str(&p->text), '\n')) < p->text.len) {
        line = str_first(buf_str(&p->text), len);
        if (str_has(line, STR("\"stopReason\"")) || str_has(line, STR("\"error\"")))
            return false;
        if (!str_has(line, STR("agent_message_chunk")))
            line = STR("");
        for (size_t at; (at = str_find(line, mark)) < line.len && *count < PIECES;) {
            line = str_from(line, at + mark.len);
            ms[(*count)++] = (double)(now_us - strtoll(line.ptr, NULL, 10)) / 1000;
        }
        buf_cut(&p->text, 0, len + 1);
    }
    return true;
}

static void pieces(const char *tenax, int runs)
{
    double ms[PIECES] = {0};
    int count = 0;
    struct peer p;
    int port;
    pid_t model = serve(&port);
    char id[ID_LEN + 1] = "";
    struct str mark = STR("\"sessionId\":\"");
    struct str answer;

    peer_start(&p, tenax, port);
    initialize(&p);
    answer = await_answer(&p, ask(&p, "session/new", "{\"cwd\":\"%s\",\"mcpServers\":[]}", dir));
    memcpy(id, str_from(answer, str_find(answer, mark) + mark.len).ptr, ID_LEN);
    buf_clear(&p.text);
    ask(&p, "session/prompt",
        "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}", id);
    while (read_pieces(&p, ms, &count)) {
    }
    if (!count)
        bench_die("no piece of", "the stream");
    report("a piece of text, from the model to the editor", ms, count);
    for (int i = 0; i < runs && i < PIECES; i++) {
        int64_t began;
        int prompt;

        buf_clear(&p.text);
        prompt = ask(&p, "session/prompt",
                     "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}", id);
        await(&p, "agent_message_chunk");
        began = clock_mono_us();
        if (fd_write_all(p.in,
                         STR("{\"jsonrpc\":\"2.0\",\"method\":\"session/"
                             "cancel\",\"params\":{\"sessionId\":\""),
                         NULL) < 0 ||
            fd_write_all(p.in, str_of(id), NULL) < 0 || fd_write_all(p.in, STR("\"}}\n"), NULL) < 0)
            bench_die("write", "cancel");
        await_answer(&p, prompt);
        ms[i] = (double)(clock_mono_us() - began) / 1000;
    }
    report("a cancel in a text to its answer", ms, runs < PIECES ? runs : PIECES);
    peer_end(&p);
    kill(model, SIGKILL);
    waitpid(model, /*status=*/NULL, 0);
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
    pieces(argv[1], (int)runs);
    free(ms);
    bench_remove(dir);
    return 0;
}
