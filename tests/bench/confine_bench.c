/*
 * confine_bench: what it costs to start a program confined, by each backend that works here, beside
 * the same program through proc without and beside a bare vfork, exec and wait.
 *
 *     confine_bench [RUNS]
 *
 * The confinement is a real one: a workspace with a repository, six things to hide, no network.
 * Blocks of runs take turns. Nothing here passes or fails.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "proc/confine.h"
#include "proc/proc.h"

#define MAX_RUNS 10000
#define BLOCK 10 /* runs of one kind after each other */

static const char *const argv_true[] = {"/bin/true", NULL};

struct way {
    char name[64];
    const struct confinement *confine;
    bool bare;
    double *us;
};

static double run_bare(void)
{
    int64_t start_us = clock_mono_us();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, argv_true[0], NULL, NULL, (char **)argv_true, environ) != 0)
        bench_die("confine_bench", "no /bin/true");
    waitpid(pid, &status, 0);
    return (double)(clock_mono_us() - start_us);
}

static double run_proc(const struct confinement *c)
{
    const struct proc_spec spec = {.argv = argv_true, .confine = c};
    struct proc_result result = {0};
    struct err err = {0};
    int64_t start_us = clock_mono_us();
    double us;

    if (proc_run(&spec, NULL, &result, &err) < 0)
        bench_die("confine_bench", err.text);
    us = (double)(clock_mono_us() - start_us);
    proc_result_release(&result);
    return us;
}

/* The first one is not counted: what comes next is made ready for more of its kind. Between two
 * there is a moment, as there is when a model decides. */
static void run_block(struct way *w, int from, int runs)
{
    const struct timespec moment = {.tv_nsec = 3 * 1000 * 1000};

    for (int i = -1; i < BLOCK && from + i < runs; i++) {
        double us = w->bare ? run_bare() : run_proc(w->confine);

        if (i >= 0)
            w->us[from + i] = us;
        nanosleep(&moment, NULL);
    }
}

static void make_workspace(const char *dir)
{
    static const char *const names[] = {"w", "w/.git", "w/.git/hooks", "w/.claude", "t"};
    static const char *const secrets[] = {"s0", "s1", "s2", "s3", "s4", "s5"};
    char path[128];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        mkdir(path, 0755);
    }
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, secrets[i]);
        mkdir(path, 0700);
    }
}

/* The lists, with their paths in it. */
struct rules {
    char paths[11][128];
    const char *write[3];
    const char *read_only[4];
    const char *hidden[7];
};

static void make_rules(struct rules *r, const char *dir)
{
    static const char *const names[] = {
        "w", "t", "w/.git/hooks/", "w/.claude/", "s0", "s1", "s2", "s3", "s4", "s5"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        snprintf(r->paths[i], sizeof(r->paths[i]), "%s/%s", dir, names[i]);
    for (size_t i = 0; i < 2; i++) {
        r->write[i] = r->paths[i];
        r->read_only[i] = r->paths[i + 2];
    }
    for (size_t i = 0; i < 6; i++)
        r->hidden[i] = r->paths[i + 4];
}

static void print_ways(struct way *ways, size_t count, size_t runs)
{
    const double *plain = ways[1].us;

    for (size_t i = 0; i < count; i++) {
        bench_sort(ways[i].us, runs);
        printf("%-28s median %6.0f us   p99 %6.0f us   min %6.0f us", ways[i].name,
               ways[i].us[runs / 2], ways[i].us[runs * 99 / 100], ways[i].us[0]);
        if (i > 1)
            printf("   over proc %+6.0f us (min %+5.0f)", ways[i].us[runs / 2] - plain[runs / 2],
                   ways[i].us[0] - plain[0]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-bench-XXXXXX";
    struct rules rules = {0};
    struct confinement wanted[8];
    struct way ways[10] = {{"bare spawn", NULL, true}, {"proc, not confined"}};
    size_t count = 2;
    int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 300;

    if (runs < 1 || runs > MAX_RUNS || !mkdtemp(dir))
        return 2;
    make_workspace(dir);
    make_rules(&rules, dir);
    for (size_t i = 0; i + 1 < confine_backend_count; i++) {
        const struct confine_backend *by = &confine_backends[i];
        const char *why;

        if (!confine_works(by, &why)) {
            printf("%s: %s\n", by->name, why);
            continue;
        }
        for (int net = CONFINE_NET_OPEN; net <= CONFINE_NET_NONE; net++) {
            wanted[count] = (struct confinement){
                .write = rules.write,
                .read_only = rules.read_only,
                .hidden = rules.hidden,
                .net = (enum confine_net)net,
                .by = by,
            };
            snprintf(ways[count].name, sizeof(ways[count].name), "%s, network %s", by->name,
                     net == CONFINE_NET_OPEN ? "open" : "closed");
            ways[count].confine = &wanted[count];
            count++;
        }
    }
    for (size_t i = 0; i < count; i++)
        ways[i].us = mem_zalloc((size_t)runs * sizeof(double));
    for (int done = 0; done < runs; done += BLOCK) {
        for (size_t i = 0; i < count; i++)
            run_block(&ways[i], done, runs);
    }
    print_ways(ways, count, (size_t)runs);
    for (size_t i = 0; i < count; i++)
        free(ways[i].us);
    proc_shutdown();
    bench_remove(dir);
    return 0;
}
