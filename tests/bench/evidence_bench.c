/*
 * evidence_bench: what the hard evidence of a goal costs.
 *
 *     evidence_bench [FILES...]
 *
 * For workspaces of so many files (100, 10000, 100000), in git: the first look of a snapshot, a
 * look with a walk when nothing and when ten files have changed, a look without a walk, a state in
 * git. Then a check that does nothing, beside a bare shell. room_bench has the rest. Nothing here
 * passes or fails.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "goal/check.h"
#include "goal/git/baseline.h"
#include "goal/git/staging.h"
#include "goal/origin/origin.h"
#include "goal/snapshot.h"
#include "proc/proc.h"

#define RUNS 15
#define CHECKS 300
#define FOLDER_FILES 100 /* in each folder */

static char dir[300];

static void run(const char *command)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = dir};
    struct proc_result r;
    struct err err = {0};

    if (proc_run(&spec, NULL, &r, &err) < 0)
        bench_die(command, err.text);
    if (r.code)
        bench_die(command, buf_cstr(&r.err));
    proc_result_release(&r);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        bench_die("cannot write", path);
    close(fd);
}

static const char *path_of(long i)
{
    static char path[400];

    snprintf(path, sizeof(path), "%s/src-%ld/file-%ld.c", dir, i / FOLDER_FILES, i);
    return path;
}

/* Files of about 2 KB. */
static void make_files(long count)
{
    char text[2048];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (long i = 0; i < count; i++) {
        if (i % FOLDER_FILES == 0) {
            char folder[400];

            snprintf(folder, sizeof(folder), "%s/src-%ld", dir, i / FOLDER_FILES);
            mkdir(folder, 0755);
        }
        snprintf(text, 40, "/* file %ld */", i);
        write_file(path_of(i), text);
    }
}

static double look(struct snapshot *s, const struct origin *o, bool walk, const struct strv *wrote)
{
    char state[SHA256_HEX + 1];
    bool whole;
    struct err err = {0};
    int64_t start_us = clock_mono_us();

    if (snapshot_look(s, o, walk, wrote, NULL, state, &whole, &err) < 0)
        bench_die("look", err.text);
    return (double)(clock_mono_us() - start_us) / 1000;
}

static double median(double *values, size_t count)
{
    bench_sort(values, count);
    return values[count / 2];
}

static struct origin *take(long files)
{
    static const struct strv none = STRV_INIT;
    char folder[400];
    struct strv notes = STRV_INIT;
    struct origin_spec spec = {.dir = dir,
                               .folder = folder,
                               .environ = environ,
                               .globs = &none,
                               .keep = &none,
                               .checks = &none};
    struct origin *o = NULL;
    struct err err = {0};

    snprintf(folder, sizeof(folder), "%s-goal-%ld", dir, files);
    if (origin_take(&spec, NULL, &o, &notes, &err) < 0)
        bench_die("origin", err.text);
    strv_release(&notes);
    return o;
}

static void measure_snapshot(long files)
{
    struct snapshot *s = snapshot_new(dir, environ);
    struct origin *o = take(files);
    struct strv wrote = STRV_INIT;
    double first = look(s, o, true, NULL);
    double same[RUNS];
    double changed[RUNS];
    double written[RUNS];

    usleep(100 * 1000); /* files are older than a tick of their clock */
    look(s, o, true, NULL);
    for (int i = 0; i < RUNS; i++)
        same[i] = look(s, o, true, NULL);
    for (int i = 0; i < RUNS; i++) {
        char text[40];

        snprintf(text, sizeof(text), "changed %d", i);
        for (long k = 0; k < 10; k++)
            write_file(path_of(k * 7 % files), text);
        changed[i] = look(s, o, true, NULL);
    }
    strv_adds(&wrote, path_of(1));
    for (int i = 0; i < RUNS; i++) {
        char text[40];

        snprintf(text, sizeof(text), "written %d", i);
        write_file(path_of(1), text);
        written[i] = look(s, o, false, &wrote);
    }
    printf(
        "%7ld files: first look %8.2f ms, walk %7.2f ms, with 10 changes %7.2f ms, no walk %6.3f "
        "ms\n",
        files, first, median(same, RUNS), median(changed, RUNS), median(written, RUNS));
    strv_release(&wrote);
    snapshot_free(s);
    origin_free(o);
}

static void measure_baseline(long files)
{
    char folder[300];
    struct baseline b = {.dir = dir, .session = "bench", .folder = folder, .environ = environ};
    char id[GIT_ID];
    double later[RUNS];
    int64_t start_us = clock_mono_us();
    double first;
    struct err err = {0};

    snprintf(folder, sizeof(folder), "%.290s-session", dir);
    if (baseline_keep(&b, "base", STR("bench"), NULL, id, NULL, &err) < 0)
        bench_die("baseline", err.text);
    first = (double)(clock_mono_us() - start_us) / 1000;
    for (int i = 0; i < RUNS; i++) {
        start_us = clock_mono_us();
        if (staging_tree(&b, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, id, &err) < 0)
            bench_die("baseline", err.text);
        later[i] = (double)(clock_mono_us() - start_us) / 1000;
    }
    printf("%7ld files: state in git, kept first %.1f ms, looked at later %.1f ms\n", files, first,
           median(later, RUNS));
    bench_remove(folder);
}

static double bare_shell(void)
{
    const char *argv[] = {"/bin/sh", "-c", "true", NULL};
    int64_t start_us = clock_mono_us();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, argv[0], NULL, NULL, (char **)argv, environ) != 0)
        bench_die("posix_spawn", argv[0]);
    waitpid(pid, &status, 0);
    return (double)(clock_mono_us() - start_us);
}

static double check(void)
{
    struct check_spec spec = {.command = STR("true"), .dir = dir, .environ = environ};
    struct check_result r = {0};
    struct err err = {0};
    int64_t start_us = clock_mono_us();

    if (check_run(&spec, NULL, &r, &err) < 0)
        bench_die("check", err.text);
    start_us = clock_mono_us() - start_us;
    check_result_release(&r);
    return (double)start_us;
}

static void measure_check(void)
{
    static double bare[CHECKS];
    static double checked[CHECKS];

    for (int i = 0; i < CHECKS; i++) {
        bare[i] = bare_shell();
        checked[i] = check();
    }
    printf("a check of 'true': bare shell %.0f us, check %.0f us\n", median(bare, CHECKS),
           median(checked, CHECKS));
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"100", "10000", "100000"};
    const char *const *counts = argc > 1 ? (const char *const *)argv + 1 : usual;
    size_t count = argc > 1 ? (size_t)argc - 1 : ARRAY_LEN(usual);
    char top[] = "/tmp/tenax-bench-XXXXXX";

    if (!mkdtemp(top))
        return 2;
    for (size_t i = 0; i < count; i++) {
        long files = strtol(counts[i], NULL, 10);

        if (files < 10 || files > 400000)
            bench_die("not from 10 to 400000", counts[i]);
        snprintf(dir, sizeof(dir), "%s/%ld", top, files);
        mkdir(dir, 0755);
        make_files(files);
        run("git init -q && git add -A && git -c user.name=b -c user.email=b@b -c gc.auto=0 commit "
            "-qm "
            "x");
        measure_snapshot(files);
        measure_baseline(files);
    }
    snprintf(dir, sizeof(dir), "%s/small", top);
    mkdir(dir, 0755);
    measure_check();
    proc_shutdown();
    bench_remove(top);
    return 0;
}
