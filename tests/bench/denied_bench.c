/*
 * denied_bench: what a deny rule that counts at any depth, Read(.env), adds to a confined command:
 * the look for the files it means, in a tree of folders that has not changed, or by one file,
 * since.
 *
 *     denied_bench [FOLDERS] [ROUNDS]
 *
 * Nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/denied_files.h"
#include "guard/permit.h"
#include "guard/workspace.h"

#define MAX_ROUNDS 10000

/* Eight folders in each, as deep as that goes. */
static void make_tree(const char *dir, int folders)
{
    CLEANUP(strv_release) struct strv made = STRV_INIT;

    strv_adds(&made, dir);
    for (int i = 0; i < folders; i++) {
        char name[16];
        CLEANUP(mem_freep) char *path = NULL;

        snprintf(name, sizeof(name), "folder%d", i % 8);
        path = path_join(made.ptr[i / 8], name);
        if (mkdir(path, 0700) < 0)
            bench_die("denied_bench", path);
        strv_adds(&made, path);
    }
}

static double look(struct denied_files *f, struct permit *permit, const struct strv *dirs)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    int64_t start_us = clock_mono_us();

    (void)denied_files_find(f, permit, dirs, &found);
    return (double)(clock_mono_us() - start_us);
}

static void measure(struct permit *permit, const struct strv *dirs, int rounds)
{
    static double still[MAX_ROUNDS];
    static double changed[MAX_ROUNDS];
    struct denied_files *f = denied_files_new(DENIED_READ);
    CLEANUP(mem_freep) char *file = path_join(dirs->ptr[0], "folder1/new.c");

    printf("  %8.1f us  the first look\n", look(f, permit, dirs));
    usleep(100 * 1000); /* folders that were just made are read again */
    (void)look(f, permit, dirs);
    for (int i = 0; i < rounds; i++) {
        still[i] = look(f, permit, dirs);
        if (file_replace(file, STR("x"), 0600, NULL) < 0 || unlink(file) < 0)
            bench_die("denied_bench", file);
        changed[i] = look(f, permit, dirs);
        usleep(60 * 1000);
        (void)look(f, permit, dirs);
    }
    bench_sort(still, (size_t)rounds);
    bench_sort(changed, (size_t)rounds);
    printf("  %8.1f us  nothing has changed (least %.1f)\n", still[rounds / 2], still[0]);
    printf("  %8.1f us  one folder has (least %.1f)\n", changed[rounds / 2], changed[0]);
    denied_files_free(f);
}

int main(int argc, char **argv)
{
    CLEANUP(args_release) struct args args = {0};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    char dir[] = "/tmp/denied-bench-XXXXXX";
    int folders = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 488;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;
    char *words[] = {(char *)"tenax", (char *)"--settings",
                     (char *)"{\"permissions\":{\"deny\":[\"Read(.env)\"]}}"};
    struct conf_sources from = {.dir = dir, .args = &args, .etc = "/nonexistent", .trusted = true};
    struct workspace *workspace;
    struct permit *permit;
    struct conf *conf;
    struct err err = {0};

    if (folders < 1 || rounds < 1 || rounds > MAX_ROUNDS || !mkdtemp(dir))
        bench_die("denied_bench", "no such numbers, or no /tmp");
    make_tree(dir, folders);
    strv_addf(&env, "HOME=%s", dir);
    from.environ = strv_get(&env);
    if (args_parse(ARRAY_LEN(words), words, &args, &err) < 0 || conf_load(&from, &conf, &err) < 0)
        bench_die("settings", err.text);
    workspace = workspace_new(dir, dir, strv_get(&env));
    if (permit_new(conf, workspace, &warnings, &permit, &err) < 0)
        bench_die("permit", err.text);
    workspace_dirs(workspace, &dirs);
    printf("what Read(.env) denies, looked for in %d folders:\n", folders);
    measure(permit, &dirs, rounds);
    permit_free(permit);
    workspace_unref(workspace);
    conf_unref(conf);
    bench_remove(dir);
    return 0;
}
