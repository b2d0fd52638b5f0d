/*
 * A crowd of agents, begun by a session as the Agent tool begins them, over tests/fake.
 *
 *     crowd FAKE [COUNT [ROUNDS]]
 *
 * COUNT (100) agents work at once in the background, each through ten steps with a call of a tool.
 * All finish; every event carries the name of its agent; the session hears of each end once. They
 * take two threads each at most, none when they have ended, and 512 MB in all; little is kept of
 * one that has ended, in each of ROUNDS (2).
 */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/task.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/identity.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "check.h"
#include "conf/conf.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/host_state.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "tasks/agents.h"

#define STEPS 10
#define MAX_KB (512L << 10)        /* of the process, with 1,000 agents */
#define MAX_KEPT 16384             /* bytes of an agent that has ended */
#define MAX_MORE ((size_t)4 << 20) /* of all else, such as what main has heard */
#define PATIENCE_MS 540000
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MEMORY 0
#else
#define COUNTS_MEMORY 1
#endif

static char dir[] = "/tmp/tenax-crowd-XXXXXX";
static struct bench_server fake;

struct one {
    char id[TASK_ID_MAX + 1];
    int tools, ends, notices;
    double own_ms; /* of a step, without the model and the tools */
};

struct crowd {
    struct args args;
    struct conf *conf;
    struct cancel *cancel;
    struct host *host;
    struct mailbox *mail;
    struct observer *observer;
    struct map by_id;
    struct one *list;
    size_t count, over, notices;
    int most_threads;
    long most_kb;
};

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

/* A file says which one is read next. */
static void write_world(const char *scenario)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    struct err err = {0};

    buf_adds(&text, "step\n  sticky\n  if-prompt \"<task-notification>\"\n  text Heard.\n");
    for (int i = 1; i < STEPS; i++)
        buf_addf(&text,
                 "step\n  sticky\n  if-result \"this is %d.\"\n  call Read {\"file_path\": "
                 "\"f%d\"}\n",
                 i, i + 1);
    buf_addf(&text,
             "step\n  sticky\n  if-result \"this is %d.\"\n  text Done.\n"
             "step\n  sticky\n  if-prompt \"job\"\n  call Read {\"file_path\": \"f1\"}\n",
             STEPS);
    CHECK(file_replace(scenario, buf_str(&text), 0600, &err) == 0, "%s", err.text);
    for (int i = 1; i <= STEPS; i++) {
        char path[100], line[40];

        snprintf(path, sizeof(path), "%s/f%d", dir, i);
        snprintf(line, sizeof(line), "this is %d.\n", i);
        CHECK(file_replace(path, str_of(line), 0600, &err) == 0, "%s", err.text);
    }
}

static void crowd_begin(struct crowd *c, size_t count)
{
    static char variables[7][300];
    static char *env[8];
    char *argv[] = {(char *)"tenax", (char *)"-p", (char *)"--model", (char *)"claude-sonnet-5",
                    NULL};
    struct conf_sources from = {
        .dir = dir, .etc = dir, .args = &c->args, .environ = env, .trusted = true};
    struct host_spec spec = {.args = &c->args};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct err err = {0};

    *c = (struct crowd){.count = count, .cancel = cancel_new(NULL)};
    c->list = mem_zalloc(count * sizeof(*c->list));
    snprintf(variables[0], 300, "HOME=%s/h", dir);
    snprintf(variables[1], 300, "TENAX_HOME=%s/h/.tenax", dir);
    snprintf(variables[2], 300, "PATH=/usr/local/bin:/usr/bin:/bin");
    snprintf(variables[3], 300, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d", fake.port);
    snprintf(variables[4], 300, "ANTHROPIC_API_KEY=any");
    snprintf(variables[5], 300, "TENAX_MAX_CONCURRENT_SUBAGENTS=1000");
    snprintf(variables[6], 300, "TENAX_MAX_SUBAGENTS_PER_SESSION=10000");
    for (size_t i = 0; i < 7; i++)
        env[i] = variables[i];
    CHECK(args_parse(4, argv, &c->args, &err) == 0 && conf_load(&from, &c->conf, &err) == 0, "%s",
          err.text);
    spec.conf = c->conf;
    spec.cancel = c->cancel;
    CHECK(host_new(&spec, &notes, &c->host, &err) == 0, "%s", err.text);
    c->mail = mailbox_new();
    c->observer = feed_observe(host_feed(c->host), 1, OBSERVER_CHILDREN, c->mail);
}

static void crowd_end(struct crowd *c)
{
    observer_free(c->observer);
    host_free(c->host);
    mailbox_close(c->mail);
    mailbox_unref(c->mail);
    cancel_unref(c->cancel);
    conf_unref(c->conf);
    args_release(&c->args);
    map_release(&c->by_id);
    mem_freep(&c->list);
}

static void crowd_start(struct crowd *c)
{
    struct identity who = {.session = host_session(c->host), .agent = IDENTITY_MAIN};
    struct err err = {0};

    map_release(&c->by_id);
    c->by_id = (struct map){0};
    c->over = c->notices = 0;
    memset(c->list, 0, c->count * sizeof(*c->list));
    for (size_t i = 0; i < c->count; i++) {
        CLEANUP(agents_outcome_release) struct agents_outcome outcome = {0};
        struct agents_order order = {.by = &who,
                                     .permit = c->host->permit,
                                     .workspace = c->host->workspace,
                                     .description = STR("Work"),
                                     .prompt = STR("job"),
                                     .in_background = true};

        CHECK(agents_start(c->host->agents, &order, &outcome, &err) == 0, "agent %zu: %s", i,
              err.text);
        CHECK(outcome.is_async, "agent %zu has ended already", i);
        memcpy(c->list[i].id, outcome.id, sizeof(outcome.id));
        map_set(&c->by_id, str_of(c->list[i].id), (void *)(i + 1));
    }
}

static struct one *crowd_find(struct crowd *c, struct str id)
{
    size_t at = (size_t)map_get(&c->by_id, id);

    return at ? &c->list[at - 1] : NULL;
}

static void hear_child(struct crowd *c, const struct event *e)
{
    struct one *one = crowd_find(c, str_of(e->by.agent));
    const struct turn_report *r = e->report;

    CHECK(one, "an event of %s, which was not started", e->by.agent);
    CHECK(e->kind != EVENT_RETRY, "a call failed: %.*s", STR_ARG(e->text));
    one->tools += e->kind == EVENT_TOOL_DONE;
    CHECK(one->tools <= STEPS, "%s has called %d tools", one->id, one->tools);
    if (e->kind != EVENT_TURN_DONE)
        return;
    CHECK(!r->is_error && str_is(r->result, "Done."), "%s has ended with %.*s", one->id,
          STR_ARG(r->is_error ? r->error : r->result));
    CHECK(one->tools == STEPS, "%s has called %d tools", one->id, one->tools);
    one->ends++;
    one->own_ms = (double)(r->duration_ms - r->duration_api_ms - r->pace.tool_ms) / (STEPS + 1);
}

static void hear(struct crowd *c, const struct event *e)
{
    struct one *one;

    if (!identity_is_main(&e->by))
        hear_child(c, e);
    if (e->kind != EVENT_TASK_DONE)
        return;
    one = crowd_find(c, e->id);
    CHECK(one && str_is(e->name, "completed"), "a task ended: %.*s", STR_ARG(e->name));
    CHECK(++one->notices == 1, "the end of %s is told twice", one->id);
    c->over++;
}

static void crowd_hear(struct crowd *c)
{
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
    int64_t next_ms = 0;

    while (c->over < c->count) {
        struct event *e;
        struct mail *m;
        uint64_t seq;
        enum observed got;

        for (m = mailbox_try(c->mail); m; m = mailbox_try(c->mail))
            mail_free(m);
        while ((got = observer_take(c->observer, &e, &seq)) == OBSERVED_EVENT) {
            hear(c, e);
            event_unref(e);
        }
        CHECK(got == OBSERVED_NOTHING, "the observer was dropped, or has missed something");
        if (clock_mono_ms() >= next_ms) {
            int threads = count_threads();

            long kb = bench_memory_kb(getpid(), "Pss");

            c->most_threads = threads > c->most_threads ? threads : c->most_threads;
            c->most_kb = kb > c->most_kb ? kb : c->most_kb;
            next_ms = clock_mono_ms() + 100;
        }
        CHECK(clock_mono_ms() < until_ms, "%zu of %zu have ended", c->over, c->count);
        (void)cancel_wait(c->cancel, 1, NULL);
    }
    for (size_t i = 0; i < c->count; i++)
        CHECK(c->list[i].ends == 1, "%s has ended %d times", c->list[i].id, c->list[i].ends);
}

/* Until their threads are gone, and main has heard all. */
static void crowd_settle(struct crowd *c, int before)
{
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
    struct event *e;
    uint64_t seq;

    while (clock_mono_ms() < until_ms &&
           (count_threads() > before + 20 || !agent_rests(c->host->agent))) {
        while (observer_take(c->observer, &e, &seq) == OBSERVED_EVENT)
            event_unref(e);
        (void)cancel_wait(c->cancel, 10, NULL);
    }
    CHECK(count_threads() <= before + 20, "%d threads are left", count_threads() - before);
}

static void print_round(struct crowd *c, int64_t start_ms)
{
    double *own = mem_zalloc(c->count * sizeof(*own));

    for (size_t i = 0; i < c->count; i++)
        own[i] = c->list[i].own_ms;
    bench_sort(own, c->count);
    printf("%6zu agents x %d steps %8" PRId64 " ms %6d threads %8ld kB peak; a step without model "
           "and tool: %.2f ms, p99 %.2f\n",
           c->count, STEPS, clock_mono_ms() - start_ms, c->most_threads, c->most_kb,
           own[c->count / 2], own[c->count * 99 / 100]);
    mem_freep(&own);
}

int main(int argc, char **argv)
{
    CLEANUP(mem_freep) char *path = NULL;
    const char *server[] = {argc > 1 ? argv[1] : "", "--scenario", NULL, NULL};
    int64_t count = 100, rounds = 2, start_ms;
    struct crowd c;
    struct err err = {0};
    size_t used = 0;
    int before;

    CHECK(argc >= 2 && mkdtemp(dir), "usage: crowd FAKE [COUNT [ROUNDS]]");
    CHECK(argc < 3 || str_to_i64(str_of(argv[2]), &count, &err) == 0, "%s", err.text);
    CHECK(argc < 4 || str_to_i64(str_of(argv[3]), &rounds, &err) == 0, "%s", err.text);
    path = path_join(dir, "s.scenario");
    write_world(path);
    server[2] = path;
    bench_server_start(&fake, server);
    crowd_begin(&c, (size_t)count);
    before = count_threads();
    for (int64_t i = 0; i < rounds; i++) {
        size_t now;

        start_ms = clock_mono_ms();
        crowd_start(&c);
        crowd_hear(&c);
        print_round(&c, start_ms);
        CHECK(c.most_threads <= 2 * (int)count + 100, "%d threads", c.most_threads);
        CHECK(!COUNTS_MEMORY || count > 1000 || c.most_kb <= MAX_KB, "%ld kB", c.most_kb);
        crowd_settle(&c, before);
        now = mallinfo2().uordblks;
        if (i > 0 && now > used)
            printf("%6zu bytes are kept of each that has ended\n", (now - used) / (size_t)count);
        CHECK(!COUNTS_MEMORY || i == 0 || now <= used + MAX_MORE + MAX_KEPT * (size_t)count,
              "%zu bytes are kept of each", (now - used) / (size_t)count);
        used = now;
    }
    crowd_end(&c);
    proc_shutdown();
    bench_server_stop(&fake);
    bench_remove(dir);
    printf("a crowd of agents: ok\n");
    return 0;
}
