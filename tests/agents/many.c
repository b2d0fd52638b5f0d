/*
 * Many agents of one session at once, over tests/fake: what they spend, and how they end.
 *
 *     many FAKE [COUNT]
 *
 * COUNT (200) agents share a budget that is enough for some of them: what all have spent passes it
 * by no more than the calls in flight may, and the account is what the server has counted, to the
 * token. Then as many stream at once: they take two threads each at most, and none when they rest;
 * a stop of each, and a cancel of the whole session, ends all of them at once.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/event.h"
#include "agent/spawn.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "check.h"
#include "conf/conf.h"
#include "host/host.h"
#include "host/host_state.h"
#include "llm/spending.h"
#include "proc/proc.h"
#include "sync/cancel.h"

#define MAX_USD 0.5
#define CALL_INPUT 2000 /* tokens that the server counts for each call */
#define CALL_OUTPUT 100
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOP_MS 5000
#else
#define STOP_MS 200 /* for all agents to end */
#endif
#define ROUNDS 5 /* of which the best counts: the machine is not ours alone */

static char dir[] = "/tmp/tenax-many-XXXXXX";
static struct bench_server fake;

static const char scenario[] = "step\n"
                               "  sticky\n"
                               "  if-prompt \"short\"\n"
                               "  usage input=2000 output=100\n"
                               "  text \"Done.\"\n"
                               "step\n"
                               "  sticky\n"
                               "  if-prompt \"long\"\n"
                               "  chunk 4\n"
                               "  pace 300ms\n"
                               "  text \"";

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        count += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return count;
}

/* A figure of the server: "requests", "open". */
static long server_says(const char *name)
{
    static const char request[] = "GET /__stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)fake.port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[4096] = "";
    char key[40];
    size_t len = 0;
    const char *found;
    ssize_t n = 1;

    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "no server");
    CHECK(fd_write_all(fd, STR(request), NULL) == 0, "the server does not listen");
    for (; n > 0 && len + 1 < sizeof(text); len += n > 0 ? (size_t)n : 0)
        n = read(fd, text + len, sizeof(text) - 1 - len);
    close(fd);
    snprintf(key, sizeof(key), "\"%s\":", name);
    found = strstr(text, key);
    CHECK(found, "no %s in %s", name, text);
    return strtol(found + strlen(key), NULL, 10);
}

/* ---- A session and its agents ---- */

struct family {
    struct args args;
    struct conf *conf;
    struct cancel *cancel;
    struct host *host;
    struct spawner *spawner;
    size_t count;
    char (*ids)[SPAWN_ID_LEN + 1];
};

static void family_begin(struct family *s, size_t count, double max_usd)
{
    static char variables[6][300];
    static char *env[7];
    char *argv[] = {(char *)"tenax", (char *)"-p", (char *)"--model", (char *)"claude-sonnet-5",
                    NULL};
    struct conf_sources from = {
        .dir = dir, .etc = dir, .args = &s->args, .environ = env, .trusted = true};
    struct host_spec spec = {.args = &s->args, .session.is_unkept = true, .max_usd = max_usd};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct err err = {0};

    *s = (struct family){.count = count, .cancel = cancel_new(NULL)};
    s->ids = mem_zalloc(count * sizeof(*s->ids));
    snprintf(variables[0], 300, "HOME=%s", dir);
    snprintf(variables[1], 300, "TENAX_HOME=%s/.tenax", dir);
    snprintf(variables[2], 300, "PATH=/usr/local/bin:/usr/bin:/bin");
    snprintf(variables[3], 300, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d", fake.port);
    snprintf(variables[4], 300, "ANTHROPIC_API_KEY=any");
    snprintf(variables[5], 300, "CLAUDE_CODE_MAX_OUTPUT_TOKENS=200");
    for (size_t i = 0; i < 6; i++)
        env[i] = variables[i];
    CHECK(args_parse(4, argv, &s->args, &err) == 0 && conf_load(&from, &s->conf, &err) == 0, "%s",
          err.text);
    spec.conf = s->conf;
    spec.cancel = s->cancel;
    CHECK(host_new(&spec, &notes, &s->host, &err) == 0, "%s", err.text);
    s->spawner = host_spawner(s->host);
}

static void family_end(struct family *s)
{
    host_free(s->host);
    cancel_unref(s->cancel);
    conf_unref(s->conf);
    args_release(&s->args);
    mem_freep(&s->ids);
}

static void family_start(struct family *s, const char *prompt)
{
    struct spawn_spec spec = {.prompt = str_of(prompt)};
    struct err err = {0};

    for (size_t i = 0; i < s->count; i++)
        CHECK(s->spawner->start(s->spawner, &spec, s->ids[i], &err) == 0, "agent %zu: %s", i,
              err.text);
}

static void family_send(struct family *s, const char *prompt)
{
    struct err err = {0};

    for (size_t i = 0; i < s->count; i++)
        CHECK(s->spawner->send(s->spawner, s->ids[i], str_of(prompt), INPUT_LATER, &err) == 0, "%s",
              err.text);
}

/* Until all rest; tokens: those of all. The number that ended without an error. */
static size_t family_await(struct family *s, int64_t *ret_tokens)
{
    size_t done = 0;

    *ret_tokens = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct spawn_end end = {0};
        struct err err = {0};

        CHECK(s->spawner->wait(s->spawner, s->ids[i], NULL, &end, &err) == 0, "%s", err.text);
        CHECK(end.turn, "agent %zu has had no turn", i);
        done += !end.turn->report->is_error;
        *ret_tokens += end.usage.input + end.usage.output;
        spawn_end_release(&end);
    }
    return done;
}

static void await_open(long count)
{
    int64_t until_ms = clock_mono_ms() + 240000;

    while (server_says("open") - 1 < count) { /* our own question is one */
        CHECK(clock_mono_ms() < until_ms, "%ld of %ld streams are open", server_says("open") - 1,
              count);
        usleep(10000);
    }
}

/* ---- What they show ---- */

static void spends_no_more_than_it_may(size_t count)
{
    struct family s;
    struct llm_usage all = {0};
    int64_t of_agents;
    size_t done;
    double usd, call_usd;
    long requests;

    family_begin(&s, count, MAX_USD);
    family_start(&s, "short");
    done = family_await(&s, &of_agents);
    requests = server_says("requests");
    usd = spending_usd(s.host->spending, NULL);
    call_usd = usd / (double)done;
    spending_usage(s.host->spending, &all);
    printf("budget: %zu of %zu agents could pay; %.4f of %.2f USD spent\n", done, count, usd,
           MAX_USD);
    CHECK(done > 0 && done < count, "%zu of %zu agents could pay", done, count);
    CHECK((size_t)requests == done, "%ld requests for %zu answers", requests, done);
    CHECK(of_agents == requests * (CALL_INPUT + CALL_OUTPUT),
          "the agents have %" PRId64 " tokens, the server %ld", of_agents,
          requests * (CALL_INPUT + CALL_OUTPUT));
    CHECK(all.input + all.output == of_agents,
          "the session has %" PRId64 " tokens, its agents %" PRId64, all.input + all.output,
          of_agents);
    CHECK(usd <= MAX_USD + call_usd, "%.4f USD are spent of %.2f", usd, MAX_USD);
    CHECK(usd > MAX_USD / 2, "only %.4f USD are spent of %.2f", usd, MAX_USD);
    family_end(&s);
}

static void stops_at_once(size_t count)
{
    struct family s;
    int64_t best_ms = INT64_MAX;
    int64_t start_ms, tokens;
    int before, busy;
    struct err err = {0};

    family_begin(&s, count, 0);
    before = count_threads();
    family_start(&s, "long");
    for (int round = 0; round < ROUNDS; round++) {
        await_open((long)count);
        busy = count_threads() - before;
        CHECK(busy <= 2 * (int)count + 20, "%d threads for %zu agents", busy, count);
        start_ms = clock_mono_ms();
        for (size_t i = 0; i < count; i++)
            CHECK(s.spawner->stop(s.spawner, s.ids[i], &err) == 0, "%s", err.text);
        (void)family_await(&s, &tokens);
        best_ms = clock_mono_ms() - start_ms < best_ms ? clock_mono_ms() - start_ms : best_ms;
        printf("stop: %zu agents with %d threads ended in %" PRId64 " ms\n", count, busy,
               clock_mono_ms() - start_ms);
        family_send(&s, "long");
    }
    CHECK(best_ms <= STOP_MS, "they took %" PRId64 " ms at best", best_ms);
    await_open((long)count);
    for (size_t i = 0; i < count; i++)
        CHECK(s.spawner->stop(s.spawner, s.ids[i], &err) == 0, "%s", err.text);
    (void)family_await(&s, &tokens);
    for (int i = 0; i < 1000 && count_threads() > before + 20; i++)
        usleep(10000);
    CHECK(count_threads() <= before + 20, "%d threads are left for agents that rest",
          count_threads() - before);
    family_end(&s);
}

/* The end of a session: one token for all of them. */
static int64_t cancel_once(size_t count)
{
    struct family s;
    int64_t start_ms, took_ms, tokens;

    family_begin(&s, count, 0);
    family_start(&s, "long");
    await_open((long)count);
    start_ms = clock_mono_ms();
    cancel_set(s.cancel);
    (void)family_await(&s, &tokens);
    took_ms = clock_mono_ms() - start_ms;
    printf("cancel: %zu agents ended in %" PRId64 " ms\n", count, took_ms);
    family_end(&s);
    return took_ms;
}

static void cancelled_at_once(size_t count)
{
    int64_t best_ms = INT64_MAX;

    for (int round = 0; round < ROUNDS && best_ms > STOP_MS; round++) {
        int64_t ms = cancel_once(count);

        best_ms = ms < best_ms ? ms : best_ms;
    }
    CHECK(best_ms <= STOP_MS, "a cancel took %" PRId64 " ms at best", best_ms);
}

int main(int argc, char **argv)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    const char *server[] = {argc > 1 ? argv[1] : "", "--scenario", NULL, NULL};
    int64_t count = 200;
    struct err err = {0};

    CHECK(argc >= 2 && mkdtemp(dir), "usage: many FAKE [COUNT]");
    CHECK(argc < 3 || str_to_i64(str_of(argv[2]), &count, &err) == 0, "%s", err.text);
    path = path_join(dir, "s.scenario");
    buf_adds(&text, scenario);
    for (int i = 0; i < 2000; i++)
        buf_adds(&text, "word ");
    buf_adds(&text, "\"\n");
    CHECK(file_replace(path, buf_str(&text), 0600, &err) == 0, "%s", err.text);
    server[2] = path;
    bench_server_start(&fake, server);
    spends_no_more_than_it_may((size_t)count);
    stops_at_once((size_t)count);
    cancelled_at_once((size_t)count);
    proc_shutdown();
    bench_server_stop(&fake);
    bench_remove(dir);
    printf("many agents: ok\n");
    return 0;
}
