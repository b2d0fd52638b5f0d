/*
 * observe_bench: the cost of observing a job that compiles, compared with the same job without, and
 * the cost of a view (an overlay and private processes).
 *
 *     observe_bench SOURCE [RUNS]
 *
 * SOURCE is the root of this project, of which 20 files are compiled one after the other. The ways
 * take turns; figures are medians over the runs. Time of the processor is that of all processes of
 * the job and of its warden. Then the start of an empty program in each way. Nothing here passes or
 * fails.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "proc/confine.h"
#include "proc/proc.h"

#define MAX_RUNS 200
#define WAYS 4

static const char script[] =
    "set -e; for f in base/arena base/buf base/clock base/err base/file base/id base/log base/map"
    " base/mem base/plain base/sha256 base/str base/strv base/utf8 json/json proc/broker"
    " proc/confine_image proc/confine_map proc/job proc/launch; do"
    " test -f src/$f.c || continue;"
    " cc -std=gnu11 -O2 -D_GNU_SOURCE -Isrc -include src/base/banned.h -c -o \"$0\" src/$f.c; done";

struct way {
    const char *name;
    struct confinement confine;
    double *wall_ms;
    double *cpu_ms;
    double *start_us;
};

struct folders {
    char dir[32];
    char upper[48];
    char work[48];
    char object[48];
};

static void make_folders(struct folders *f)
{
    snprintf(f->dir, sizeof(f->dir), "/var/tmp/tenax-bench-XXXXXX");
    if (!mkdtemp(f->dir))
        bench_die("observe_bench", "no folder in /var/tmp");
    snprintf(f->upper, sizeof(f->upper), "%s/upper", f->dir);
    snprintf(f->work, sizeof(f->work), "%s/work", f->dir);
    snprintf(f->object, sizeof(f->object), "%s/x.o", f->dir);
    mkdir(f->upper, 0755);
    mkdir(f->work, 0755);
}

static double cpu_of_children(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return bench_cpu_ms(&usage);
}

static void run(const struct proc_spec *spec)
{
    struct proc_result result = {0};
    struct err err = {0};

    if (proc_run(spec, NULL, &result, &err) < 0)
        bench_die("observe_bench", err.text);
    if (result.how != PROC_EXITED || result.code != 0)
        bench_die("observe_bench", buf_cstr(&result.err));
    proc_result_release(&result);
}

/* All children are reaped afterwards, or their time would not count. */
static void measure(struct way *w, int i, const char *source, const char *object)
{
    const char *argv[] = {"/bin/sh", "-c", script, object, NULL};
    const char *argv_true[] = {"/bin/true", NULL};
    const struct confinement *confine = confine_is_asked(&w->confine) ? &w->confine : NULL;
    double cpu_ms;
    int64_t start_us;

    proc_shutdown();
    confine_reap(/*waits=*/true);
    cpu_ms = cpu_of_children();
    start_us = clock_mono_us();
    run(&(struct proc_spec){.argv = argv, .dir = source, .confine = confine});
    w->wall_ms[i] = (double)(clock_mono_us() - start_us) / 1000;
    proc_shutdown();
    w->cpu_ms[i] = cpu_of_children() - cpu_ms;
    run(&(struct proc_spec){.argv = argv_true, .dir = source, .confine = confine});
    start_us = clock_mono_us();
    run(&(struct proc_spec){.argv = argv_true, .dir = source, .confine = confine});
    w->start_us[i] = (double)(clock_mono_us() - start_us);
}

static void print_ways(struct way *ways, int runs)
{
    for (int i = 0; i < WAYS; i++) {
        bench_sort(ways[i].wall_ms, (size_t)runs);
        bench_sort(ways[i].cpu_ms, (size_t)runs);
        bench_sort(ways[i].start_us, (size_t)runs);
        printf(
            "%-28s wall %7.1f ms (%+5.1f %%)   processor %7.1f ms (%+5.1f %%)   start %6.0f us\n",
            ways[i].name, ways[i].wall_ms[runs / 2],
            (ways[i].wall_ms[runs / 2] / ways[0].wall_ms[runs / 2] - 1) * 100,
            ways[i].cpu_ms[runs / 2],
            (ways[i].cpu_ms[runs / 2] / ways[0].cpu_ms[runs / 2] - 1) * 100,
            ways[i].start_us[runs / 2]);
    }
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 7;
    const char *source = argc > 1 ? argv[1] : ".";
    CLEANUP(mem_freep) char *real = realpath(source, NULL);
    const char *lower[] = {real, NULL};
    const char *observed[] = {real, "/usr", "/opt", NULL}; /* as in a clean room */
    struct folders f;
    struct confine_overlay overlay;
    struct stat st;
    struct way ways[WAYS] = {{"plain"}, {"observed"}, {"view"}, {"view, observed"}};
    const char *why = "";
    int fd;

    if (runs < 1 || runs > MAX_RUNS || !real)
        return 2;
    if (!confine_overlay_works(&why) || !confine_observe_works(&why)) {
        printf("observe_bench: %s\n", why);
        return 0;
    }
    make_folders(&f);
    fd = open(f.dir, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_die("observe_bench", "no file for records");
    overlay =
        (struct confine_overlay){.at = real, .lower = lower, .upper = f.upper, .work = f.work};
    for (int i = 0; i < WAYS; i++) {
        struct confinement *c = &ways[i].confine;

        c->is_view = true;
        if (i % 2) {
            c->observe = fd;
            c->observed = observed;
        }
        if (i / 2) {
            c->overlays = &overlay;
            c->overlay_count = 1;
            c->own_processes = true;
        }
        ways[i].wall_ms = mem_zalloc((size_t)runs * sizeof(double));
        ways[i].cpu_ms = mem_zalloc((size_t)runs * sizeof(double));
        ways[i].start_us = mem_zalloc((size_t)runs * sizeof(double));
    }
    for (int i = 0; i < runs; i++) {
        for (int k = 0; k < WAYS; k++)
            measure(&ways[k], i, real, f.object);
    }
    print_ways(ways, runs);
    if (fstat(fd, &st) == 0)
        printf("records: %.0f kB per run\n", (double)st.st_size / 2 / runs / 1000);
    proc_shutdown();
    for (int i = 0; i < WAYS; i++) {
        free(ways[i].wall_ms);
        free(ways[i].cpu_ms);
        free(ways[i].start_us);
    }
    close(fd);
    bench_remove(f.dir);
    return 0;
}
