/*
 * trial_bench: what running a command on trial costs over running it confined.
 *
 *     trial_bench [FILES...]
 *
 * In workspaces of so many files (1000, 100000): `true` in the session's sandbox, and on trial with
 * everything that belongs to it: layers, the run, the look at them and their removal. Both take
 * turns; figures are medians in milliseconds. Nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/sandbox.h"
#include "guard/trial.h"
#include "guard/workspace.h"
#include "proc/confine.h"
#include "proc/proc.h"

#define RUNS 101
#define FOLDER_FILES 100

static char dir[64];
static struct strv env;

static void shell(const char *command)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = dir};
    struct proc_result r = {0};
    struct err err = {0};

    if (proc_run(&spec, NULL, &r, &err) < 0 || r.code)
        bench_die(command, err.text);
    proc_result_release(&r);
}

static void make_files(long count)
{
    char command[300];

    snprintf(
        command, sizeof(command),
        "mkdir -p w h; cd w; git init -q .; for d in $(seq %ld); do mkdir d$d; (cd d$d; for f in "
        "$(seq %d); do echo $f > f$f; done); done",
        count / FOLDER_FILES, FOLDER_FILES);
    shell(command);
}

static void run_job(struct sandbox_job *job, struct workspace *w)
{
    static const char *const argv[] = {"/bin/true", NULL};
    CLEANUP(strv_release) struct strv inside = STRV_INIT;
    struct proc_spec spec = {.argv = argv, .dir = workspace_dir(w)};
    struct proc_result r = {0};
    struct err err = {0};

    sandbox_job_environ(job, strv_get(&env), &inside);
    spec.envp = (const char *const *)strv_get(&inside);
    spec.confine = sandbox_job_confine(job);
    if (proc_run(&spec, NULL, &r, &err) < 0)
        bench_die("trial_bench", err.text);
    proc_result_release(&r);
    sandbox_job_free(job);
}

static double run_confined(struct sandbox *s, struct workspace *w)
{
    int64_t start_us = clock_mono_us();
    struct sandbox_job *job;
    struct err err = {0};

    if (sandbox_enter(s, &job, &err) < 0)
        bench_die("trial_bench", err.text);
    run_job(job, w);
    return (double)(clock_mono_us() - start_us) / 1000;
}

static double run_trial(struct sandbox *s, struct workspace *w)
{
    int64_t start_us = clock_mono_us();
    enum trial_outcome outcome;
    struct sandbox_job *job;
    struct trial *t;
    struct err err = {0};

    if (trial_new(s, &t, &err) < 0 || trial_enter(t, &job, &err) < 0)
        bench_die("trial_bench", err.text);
    run_job(job, w);
    trial_ended(t, NULL, false);
    if (trial_look(t, NULL, &outcome, &err) < 0 || outcome != TRIAL_UNCHANGED)
        bench_die("trial_bench", err.text);
    trial_free(t);
    return (double)(clock_mono_us() - start_us) / 1000;
}

static void measure(long files)
{
    const char *argv[] = {"tenax"};
    struct args args = {0};
    struct conf *conf;
    struct strv warnings = STRV_INIT;
    struct conf_sources from = {.args = &args, .trusted = true};
    struct sandbox_spec spec = {0};
    static double confined[RUNS], trial[RUNS];
    struct workspace *w;
    struct sandbox *s;
    struct err err = {0};
    char *work;
    char *etc;

    snprintf(dir, sizeof(dir), "/var/tmp/tenax-trial-bench-XXXXXX");
    if (!mkdtemp(dir))
        bench_die("trial_bench", "no folder");
    make_files(files);
    work = path_join(dir, "w");
    etc = path_join(dir, "etc");
    strv_clear(&env);
    strv_addf(&env, "HOME=%s/h", dir);
    strv_adds(&env, "PATH=/usr/bin:/bin");
    from.environ = strv_get(&env);
    from.dir = work;
    from.etc = etc;
    if (args_parse(1, (char *const *)argv, &args, &err) < 0 || conf_load(&from, &conf, &err) < 0)
        bench_die("trial_bench", err.text);
    w = workspace_new(work, dir, strv_get(&env));
    spec.conf = conf;
    spec.workspace = w;
    s = sandbox_new(&spec, &warnings);
    for (int i = -3; i < RUNS; i++) {
        double c = run_confined(s, w);
        double t = run_trial(s, w);

        if (i >= 0) {
            confined[i] = c;
            trial[i] = t;
        }
    }
    bench_sort(confined, RUNS);
    bench_sort(trial, RUNS);
    printf("%8ld files   confined %6.2f ms   on trial %6.2f ms   more %+6.2f ms (min %+.2f)\n",
           files, confined[RUNS / 2], trial[RUNS / 2], trial[RUNS / 2] - confined[RUNS / 2],
           trial[0] - confined[0]);
    sandbox_free(s);
    workspace_unref(w);
    conf_unref(conf);
    args_release(&args);
    strv_release(&warnings);
    free(work);
    free(etc);
    shell("rm -rf w h etc");
    rmdir(dir);
}

int main(int argc, char **argv)
{
    static const long usual[] = {1000, 100000};

    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            measure(strtol(argv[i], NULL, 10));
    } else {
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
            measure(usual[i]);
    }
    strv_release(&env);
    proc_shutdown();
    return 0;
}
