/*
 * streams_bench: many model streams at once over TLS, through the one network thread.
 *
 *     streams_bench FAKE [STREAMS [PAUSE_MS]]
 *
 * Each answer of tests/fake rests for PAUSE_MS after its first words, so that all streams are open
 * together. Prints what a stream costs; fails when one of them does not arrive whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "bench/bench.h"
#include "net/net.h"
#include "net/sse.h"

static const char body[] = "{\"model\":\"claude-sonnet-5\",\"max_tokens\":100,\"stream\":true,"
                           "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";

struct server {
    const char *program;
    char dir[64];
    char scenario[96];
    char ca_file[96];
    char url[96];
    struct bench_server fake;
};

struct one {
    struct net_stream *stream;
    struct sse *sse;
    int events;
    bool open;    /* the head and some of the body are here */
    bool stopped; /* its last event is here */
    bool whole;   /* and then it ended as it should */
};

static double cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return bench_cpu_ms(&u);
}

/* The server. */

static void server_write_scenario(struct server *s, int pause_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct err err = {0};

    buf_adds(&text, "step first\n  text Hello.\n"); /* see main() */
    buf_addf(&text, "step\n  sticky\n  text Hello\n  pause %dms\n  text ", pause_ms);
    for (int i = 0; i < 100; i++)
        buf_addf(&text, ", word %d", i);
    buf_adds(&text, ".\n");
    snprintf(s->scenario, sizeof(s->scenario), "%s/scenario", s->dir);
    snprintf(s->ca_file, sizeof(s->ca_file), "%s/ca.pem", s->dir);
    if (file_replace(s->scenario, buf_str(&text), 0600, &err) < 0)
        bench_die("scenario", err.text);
}

static void server_start(struct server *s)
{
    const char *argv[] = {s->program, "--scenario", s->scenario, "--tls",
                          "--ca-out", s->ca_file,   NULL};

    bench_server_start(&s->fake, argv);
    snprintf(s->url, sizeof(s->url), "https://127.0.0.1:%d/v1/messages", s->fake.port);
}

static void server_stop(struct server *s)
{
    bench_server_stop(&s->fake);
    unlink(s->scenario);
    unlink(s->ca_file);
    rmdir(s->dir);
}

/* The streams. */

static int on_event(struct str name, struct str data, void *arg, struct err *err)
{
    struct one *one = arg;

    (void)data;
    (void)err;
    one->events++;
    one->stopped = str_is(name, "message_stop");
    return 0;
}

static void one_start(struct one *one, struct net *n, const char *url, struct mailbox *mb)
{
    struct net_request r = {.method = "POST", .url = url, .body = BUF_INIT(sizeof(body))};
    struct err err = {0};

    strv_adds(&r.headers, "content-type: application/json");
    strv_adds(&r.headers, "anthropic-version: 2023-06-01");
    strv_adds(&r.headers, "x-api-key: sk-ant-bench-0123456789");
    r.connect_ms = 120 * 1000; /* a thousand handshakes take turns */
    buf_adds(&r.body, body);
    one->sse = sse_new(1 << 20, on_event, one);
    one->stream = net_start(n, &r, mb, &err);
    if (!one->stream)
        bench_die("net_start", err.text);
}

static void one_release(struct one *one)
{
    net_stream_unref(one->stream);
    sse_free(one->sse);
}

struct run {
    struct one *streams;
    int count;
    int open;
    int most_open;
    int ended;
    int whole;
    long pss_kb; /* the most seen: when all were open, or when the first one ended */
    long rss_kb;
    struct map by_stream; /* its address → struct one */
    char fault[300];
};

static struct str address_of(struct net_stream *const *stream)
{
    return str_make((const char *)stream, sizeof(*stream));
}

static void look_at_memory(struct run *r)
{
    long pss_kb = bench_memory_kb(getpid(), "Pss");

    if (pss_kb < r->pss_kb)
        return;
    r->pss_kb = pss_kb;
    r->rss_kb = bench_memory_kb(getpid(), "Rss");
}

static void take_mail(struct run *r, const struct net_mail *m)
{
    struct one *one = map_get(&r->by_stream, address_of(&m->stream));

    if (m->what == NET_BYTES) {
        if (!one->open) {
            one->open = true;
            r->open++;
            r->most_open = r->open > r->most_open ? r->open : r->most_open;
            if (r->open == r->count)
                look_at_memory(r);
        }
        sse_feed(one->sse, buf_str(&m->bytes), NULL);
        net_used(m->stream, m->bytes.len);
    } else if (m->what == NET_END) {
        if (!r->ended)
            look_at_memory(r);
        one->whole = m->status == 200 && m->end.code == ERR_NONE && one->stopped;
        if (!one->whole)
            snprintf(r->fault, sizeof(r->fault), "status %d, %d events, '%s'", m->status,
                     one->events, m->end.text);
        r->open -= one->open;
        r->whole += one->whole;
        r->ended++;
    }
}

static void run_streams(struct run *r, struct net *n, const char *url)
{
    struct mailbox *mb = mailbox_new();

    r->streams = mem_zalloc((size_t)r->count * sizeof(*r->streams));
    for (int i = 0; i < r->count; i++) {
        struct one *one = &r->streams[i];

        one_start(one, n, url, mb);
        map_set(&r->by_stream, address_of(&one->stream), one);
    }
    while (r->ended < r->count) {
        struct err err = {0};
        struct mail *m;

        if (mailbox_take(mb, NULL, clock_mono_ms() + 120 * 1000, &m, &err) < 0)
            bench_die("waiting", err.text);
        take_mail(r, (struct net_mail *)m);
        mail_free(m);
    }
    for (int i = 0; i < r->count; i++)
        one_release(&r->streams[i]);
    map_release(&r->by_stream);
    free(r->streams);
    mailbox_unref(mb);
}

static void raise_limits(int streams)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < (rlim_t)streams + 100)
        bench_die("open files", "the limit is too low (ulimit -n)");
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
    int pause_ms = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5000;
    struct server server = {.dir = "/tmp/tenax-streams-XXXXXX"};
    struct net_options options = {.ca_file = server.ca_file, .proxy = ""};
    struct run warm = {.count = 1};
    struct run run = {.count = count};
    struct err err = {0};
    struct net *n;
    long base_pss_kb;
    double base_cpu_ms;
    int64_t start_ms;
    int64_t took_ms;

    if (argc < 2 || count < 1) {
        fprintf(stderr, "usage: streams_bench FAKE [STREAMS [PAUSE_MS]]\n");
        return 2;
    }
    raise_limits(count);
    server.program = argv[1];
    if (!mkdtemp(server.dir))
        bench_die("mkdtemp", strerror(errno));
    server_write_scenario(&server, pause_ms);
    server_start(&server);
    n = net_new(&options, &err);
    if (!n)
        bench_die("net_new", err.text);
    run_streams(&warm, n, server.url); /* what the first one loads is not the price of a stream */
    base_pss_kb = bench_memory_kb(getpid(), "Pss");
    base_cpu_ms = cpu_ms();
    start_ms = clock_mono_ms();
    run_streams(&run, n, server.url);
    took_ms = clock_mono_ms() - start_ms;

    printf("streams             %d over TLS, %d whole, at most %d open at once\n", count, run.whole,
           run.most_open);
    printf("wall                %.2f s, of which %.2f s pause\n", (double)took_ms / 1000,
           (double)pause_ms / 1000);
    printf("CPU of the client   %.0f ms, %.2f ms a stream\n", cpu_ms() - base_cpu_ms,
           (cpu_ms() - base_cpu_ms) / count);
    printf("memory              PSS %ld KB (%.1f KB a stream), RSS %ld KB\n", run.pss_kb,
           (double)(run.pss_kb - base_pss_kb) / count, run.rss_kb);
    if (run.whole < count)
        printf("one that failed     %s\n", run.fault);
    net_free(n);
    server_stop(&server);
    return run.whole == count ? 0 : 1;
}
