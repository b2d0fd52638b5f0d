/*
 * agents_bench: agents of one session that have nothing to do.
 *
 *     agents_bench [COUNT]
 *
 * Starts COUNT agents (1,000) beside the main one, lets each answer a short prompt of a scripted
 * model, and prints what the process has when all of them rest: threads, and memory for each. Then
 * all get a second prompt at once.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/event.h"
#include "agent/spawn.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "host/host.h"
#include "proc/proc.h"
#include "sync/cancel.h"

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

static void print_row(const char *what, int64_t since_us, long before_kb, int64_t count)
{
    long kb = bench_memory_kb(getpid(), "Pss");

    printf("%-22s %6d threads %8ld kB %8.1f kB each %8.1f ms\n", what, count_threads(), kb,
           count ? (double)(kb - before_kb) / (double)count : 0.0,
           (double)(clock_mono_us() - since_us) / 1000);
}

static void await_all(struct spawner *s, char (*ids)[SPAWN_ID_LEN + 1], int64_t count)
{
    struct err err = {0};

    for (int64_t i = 0; i < count; i++) {
        struct spawn_end end = {0};

        if (s->wait(s, ids[i], NULL, &end, &err) < 0 || end.turn->report->is_error)
            bench_die("wait", err.text);
        spawn_end_release(&end);
    }
}

int main(int argc, char **argv)
{
    int64_t count = 1000;
    char dir[] = "/tmp/tenax-agents-XXXXXX";
    char variables[3][200];
    char *env[] = {variables[0], variables[1], variables[2], NULL};
    char model[200];
    char *options[] = {(char *)"tenax", (char *)"--model", model,
                       (char *)"--no-session-persistence", NULL};
    struct args args = {0};
    struct conf_sources from = {
        .dir = dir, .environ = env, .etc = dir, .args = &args, .trusted = true};
    struct host_spec spec = {.args = &args, .session = {.is_unkept = true}};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct spawn_spec child = {.prompt = STR("Say something.")};
    char(*ids)[SPAWN_ID_LEN + 1];
    struct err err = {0};
    struct host *host;
    struct spawner *s;
    int64_t start_us;
    long before_kb;

    if (argc > 1 && (str_to_i64(str_of(argv[1]), &count, NULL) < 0 || count < 1))
        bench_die(argv[1], "not a number of agents");
    ids = mem_zalloc((size_t)count * sizeof(*ids));
    if (!mkdtemp(dir))
        bench_die(dir, "no folder");
    snprintf(variables[0], sizeof(variables[0]), "HOME=%s", dir);
    snprintf(variables[1], sizeof(variables[1]), "TENAX_HOME=%s/.tenax", dir);
    snprintf(variables[2], sizeof(variables[2]), "PATH=/usr/bin:/bin");
    snprintf(model, sizeof(model), "scripted/%s/s.scenario", dir);
    spec.cancel = cancel_new(NULL);
    if (file_replace(model + strlen("scripted/"), STR("step\n  sticky\n  text Something.\n"), 0600,
                     &err) < 0 ||
        args_parse(4, options, &args, &err) < 0 || conf_load(&from, &spec.conf, &err) < 0 ||
        host_new(&spec, &notes, &host, &err) < 0)
        bench_die("session", err.text);
    s = host_spawner(host);
    if (s->start(s, &child, ids[0], &err) < 0)
        bench_die("agent", err.text);
    await_all(s, ids, 1);
    before_kb = bench_memory_kb(getpid(), "Pss");
    start_us = clock_mono_us();
    print_row("one agent", start_us, before_kb, 0);
    for (int64_t i = 1; i < count; i++) {
        if (s->start(s, &child, ids[i], &err) < 0)
            bench_die("agent", err.text);
    }
    await_all(s, ids, count);
    (void)cancel_wait(spec.cancel, 50, NULL); /* threads that are about to go */
    print_row("all rest", start_us, before_kb, count);
    start_us = clock_mono_us();
    for (int64_t i = 0; i < count; i++) {
        if (s->send(s, ids[i], STR("And again."), INPUT_LATER, &err) < 0)
            bench_die("send", err.text);
    }
    await_all(s, ids, count);
    print_row("after a second prompt", start_us, before_kb, count);
    start_us = clock_mono_us();
    host_free(host);
    print_row("ended", start_us, before_kb, 0);
    conf_unref(spec.conf);
    args_release(&args);
    cancel_unref(spec.cancel);
    mem_freep(&ids);
    proc_shutdown();
    bench_remove(dir);
    return 0;
}
