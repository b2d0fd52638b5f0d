/*
 * compact_bench: a session that is many times longer than its model's window.
 *
 *     compact_bench [STEPS [BYTES]]
 *
 * A scripted model calls a tool STEPS times (3,000) and gets so many BYTES each time (2,400); the
 * window is that of most models, 200,000 tokens, so that about twelve compactions are due. Prints
 * what the process holds as it goes on: memory that grows from one compaction to the next is a
 * leak. The rules of the conversation are checked after each compaction, and the exit code tells
 * whether the session ended as it should: every step done once, in order, nothing lost that the
 * summary should have carried over.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agent_state.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "sync/cancel.h"

struct bench {
    struct agent *agent;
    int64_t steps, bytes;
    atomic_int_fast64_t counted; /* calls of the tool */
    int64_t start_us;
    int64_t broken; /* conversations that break the rules */
    int compactions, failed;
    double compact_ms;
    long first_kb, last_kb, most_kb;
    enum turn_end end;
    char result[100];
};

static struct bench bench;

static int run_count(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    int64_t n = atomic_fetch_add(&bench.counted, 1) + 1;

    (void)call, (void)err;
    buf_addf(&ret->text, "count %" PRId64 ".\n", n);
    while (ret->text.len < (size_t)bench.bytes)
        buf_addf(&ret->text, "a line of what a tool has to say at %" PRId64 "\n", n);
    return 0;
}

static const struct tool_entry count_entry = {
    "Count", "Counts.", "{\"type\":\"object\",\"properties\":{}}", TOOL_FREE, .run = run_count};
static const struct tool_entry *const table[] = {&count_entry, NULL};

static void check_rules(void)
{
    struct err err = {0};

    if (history_check(bench.agent->history.list.ptr, bench.agent->history.list.len, &err) == 0)
        return;
    bench.broken++;
    printf("  the conversation is broken: %s\n", err.text);
}

static void print_row(const char *what)
{
    long kb = bench_memory_kb(getpid(), "Rss");

    if (!bench.first_kb)
        bench.first_kb = kb;
    bench.last_kb = kb;
    bench.most_kb = kb > bench.most_kb ? kb : bench.most_kb;
    printf("  step %5" PRId64 "  %-12s %7.1f MB  %5zu messages  %6zu KB of text  %6.0f ms\n",
           (int64_t)bench.agent->step, what, (double)kb / 1024, bench.agent->history.list.len,
           bench.agent->history.bytes / 1024, (double)(clock_mono_us() - bench.start_us) / 1000);
}

/* On the agent's thread, and on those of calls for what they begin. */
static void bench_emit(void *arg, struct event *e, struct cancel *cancel)
{
    (void)arg, (void)cancel;
    switch (e->kind) {
    case EVENT_COMPACTING:
        print_row("full");
        break;
    case EVENT_COMPACTED:
        bench.compactions += !e->is_error;
        bench.failed += e->is_error;
        bench.compact_ms += (double)e->duration_ms;
        check_rules();
        print_row(e->is_error ? "failed" : "compacted");
        break;
    case EVENT_TURN_DONE:
        bench.end = e->report->end;
        snprintf(bench.result, sizeof(bench.result), "%.*s", STR_ARG(e->report->result));
        break;
    default:
        break;
    }
    event_unref(e);
}

static void write_scenario(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    struct err err = {0};

    buf_addf(&text,
             "step sum\n"
             "  if-prompt \"Write that summary now\"\n"
             "  sticky\n"
             "  text Counting goes on until %" PRId64 ".\n"
             "step last\n"
             "  if-result \"count %" PRId64 ".\"\n"
             "  text All are counted.\n"
             "step\n"
             "  sticky\n"
             "  think One more.\n"
             "  call Count {}\n",
             bench.steps, bench.steps);
    if (file_replace(path, buf_str(&text), 0600, &err) < 0)
        bench_die(path, err.text);
}

static void run(char *dir)
{
    static char *environ[] = {NULL};
    struct conf_sources from = {.dir = dir, .environ = environ, .etc = dir, .trusted = true};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct agent_input in = {.message = message_user_text(STR("Count."))};
    struct toolbox_spec tools = {.table = table};
    struct agent_spec spec;
    struct provider provider = {0};
    struct toolbox *box = NULL;
    struct permit *permit = NULL;
    struct conf *conf = NULL;
    struct workspace *w;
    struct cancel *cancel = cancel_new(NULL);
    struct err err = {0};
    char model[200];

    snprintf(model, sizeof(model), "scripted/%s/s.scenario", dir);
    write_scenario(model + strlen("scripted/"));
    w = workspace_new(dir, dir, environ);
    if (conf_load(&from, &conf, &err) < 0 ||
        provider_select(conf, str_of(model), NULL, &provider, &err) < 0 ||
        permit_new(conf, w, &notes, &permit, &err) < 0)
        bench_die(dir, err.text);
    tools.conf = conf;
    tools.provider = &provider;
    tools.permit = permit;
    if (toolbox_new(&tools, &box, &err) < 0)
        bench_die(dir, err.text);
    bench.start_us = clock_mono_us();
    spec = (struct agent_spec){
        .identity = {.session = "00000000-0000-4000-8000-000000000000", .agent = IDENTITY_MAIN},
        .conf = conf,
        .providers = &provider,
        .provider_count = 1,
        .toolbox = box,
        .workspace = w,
        .permit = permit,
        .system = STR("You are a benchmark."),
        .emit = bench_emit,
        .cancel = cancel,
    };
    bench.agent = agent_new(&spec);
    agent_begin(bench.agent, &spec);
    id_uuid(in.uuid);
    agent_send(bench.agent, &in);
    agent_finish(bench.agent, NULL, NULL);
    agent_await_end(bench.agent);
    check_rules();
    print_row("end");
    agent_free(bench.agent);
    toolbox_unref(box);
    permit_free(permit);
    workspace_unref(w);
    provider_release(&provider);
    conf_unref(conf);
    cancel_unref(cancel);
    unlink(model + strlen("scripted/"));
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/compact-bench-XXXXXX";
    bool right;

    bench.steps = argc > 1 ? strtol(argv[1], NULL, 10) : 3000;
    bench.bytes = argc > 2 ? strtol(argv[2], NULL, 10) : 2400;
    if (bench.steps < 1 || bench.bytes < 1) {
        fprintf(stderr, "usage: compact_bench [STEPS [BYTES]]\n");
        return 2;
    }
    if (!mkdtemp(dir))
        bench_die(dir, "mkdtemp");
    printf("a session of %" PRId64 " steps, results of %" PRId64 " bytes, in a window of 200,000\n",
           bench.steps, bench.bytes);
    run(dir);
    rmdir(dir);
    right = bench.end == END_COMPLETED && strcmp(bench.result, "All are counted.") == 0 &&
            atomic_load(&bench.counted) == bench.steps && !bench.broken && !bench.failed;
    printf("  %d compactions, %.1f ms each without the model; %.1f MB at the first, %.1f MB at the "
           "end, %.1f MB at most\n",
           bench.compactions, bench.compactions ? bench.compact_ms / bench.compactions : 0,
           (double)bench.first_kb / 1024, (double)bench.last_kb / 1024,
           (double)bench.most_kb / 1024);
    printf("  %s\n", right ? "ended right" : "ENDED WRONG");
    return right ? 0 : 1;
}
