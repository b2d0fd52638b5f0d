/*
 * context_bench: what it costs to gather the context of a session, git included.
 *
 *     context_bench [FOLDER [RUNS]]
 *
 * The folder is the current one by default; in a git repository the first figure is mostly git's.
 * The parts are measured alone too. Prints medians and the slowest; nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "context/branch.h"
#include "context/context.h"
#include "proc/proc.h"

#define MAX_RUNS 1000

static void report(const char *what, double *ms, size_t runs)
{
    bench_sort(ms, runs);
    printf("%-36s %8.2f ms median, %8.2f ms slowest of %zu\n", what, ms[runs / 2], ms[runs - 1],
           runs);
}

static char *const *environ_of(void *arg)
{
    return conf_environ(arg);
}

int main(int argc, char **argv)
{
    static double ms[MAX_RUNS];
    char *dir = realpath(argc > 1 ? argv[1] : ".", NULL);
    int64_t wanted = 50;
    struct conf_sources from = {.dir = dir, .environ = environ, .trusted = true};
    struct context_spec spec = {0};
    struct context c = {0};
    struct buf news = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct conf *conf;
    size_t runs;

    if (!dir || (argc > 2 && str_to_i64(str_of(argv[2]), &wanted, NULL) < 0) ||
        conf_load(&from, &conf, &err) < 0) {
        fprintf(stderr, "context_bench: %s\n", err.code ? err.text : "bad arguments");
        return 1;
    }
    runs = wanted < 1 ? 1 : wanted > MAX_RUNS ? MAX_RUNS : (size_t)wanted;
    spec.conf = conf;
    spec.dir = dir;
    spec.environ = environ_of;
    spec.arg = conf;
    for (size_t i = 0; i < runs; i++) {
        int64_t start = clock_mono_us();

        context_release(&c);
        if (context_gather(&spec, context_begin(&spec), NULL, &c, &err) < 0)
            return 1;
        ms[i] = (double)(clock_mono_us() - start) / 1000;
        if (i == 0)
            printf("context of %zu bytes; the first, with the proc thread: %.2f ms\n", c.text.len,
                   ms[i]);
    }
    report("gather: git and instruction files", ms, runs);
    for (size_t i = 0; i < runs; i++) {
        int64_t start = clock_mono_us();

        if (context_news(&c, &spec, NULL, &news, &err) < 0)
            return 1;
        ms[i] = (double)(clock_mono_us() - start) / 1000;
    }
    report("news: instruction files alone", ms, runs);
    for (size_t i = 0; i < runs; i++) {
        int64_t start = clock_mono_us();
        struct branch b;

        branch_find(dir, &b);
        branch_release(&b);
        ms[i] = (double)(clock_mono_us() - start) / 1000;
    }
    report("branch: read from .git", ms, runs);
    context_release(&c);
    buf_release(&news);
    conf_unref(conf);
    mem_freep(&dir);
    proc_shutdown();
    return 0;
}
