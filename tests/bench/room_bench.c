/*
 * room_bench: what a clean room costs.
 *
 *     room_bench [FILES...]
 *
 * For repositories of so many files (1000, 10000, 100000), half of them tracked and half ignored:
 * taking an origin, looking at a workspace in which 10 ignored files have changed, opening and
 * removing a room, and the set-up as a whole: look, room, an empty check in it and its removal,
 * less the same check in the workspace. Figures are medians in milliseconds. Nothing here passes or
 * fails.
 */
#include <fcntl.h>
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
#include "goal/check.h"
#include "goal/origin/origin.h"
#include "goal/origin/room.h"
#include "proc/proc.h"

#define RUNS 15
#define CHANGED 10
#define FOLDER_FILES 100 /* in each folder */

static char dir[64]; /* holds work, folder and home */
static char work[80], folder[80], home[80];
extern char **environ;

static void run(const char *command)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = work};
    struct proc_result r;
    struct err err = {0};

    if (proc_run(&spec, NULL, &r, &err) < 0)
        bench_die(command, err.text);
    if (r.code)
        bench_die(command, buf_cstr(&r.err));
    proc_result_release(&r);
}

/* Every second folder is ignored. */
static void write_file(long i, const char *text)
{
    char path[200];
    long at = i / FOLDER_FILES;
    int fd;

    snprintf(path, sizeof(path), "%s/%s%ld", work, at % 2 ? "out" : "src", at);
    if (i % FOLDER_FILES == 0 && mkdir(path, 0755) < 0)
        bench_die("cannot make", path);
    snprintf(path, sizeof(path), "%s/%s%ld/file%ld.c", work, at % 2 ? "out" : "src", at, i);
    fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        bench_die("cannot write", path);
    close(fd);
}

static void make_workspace(long files)
{
    char text[64];

    snprintf(dir, sizeof(dir), "/var/tmp/tenax-room-bench-XXXXXX");
    if (!mkdtemp(dir))
        bench_die("room_bench", "no folder in /var/tmp");
    snprintf(work, sizeof(work), "%s/work", dir);
    snprintf(folder, sizeof(folder), "%s/goal", dir);
    snprintf(home, sizeof(home), "%s/home", dir);
    if (mkdir(work, 0755) < 0 || mkdir(folder, 0755) < 0 || mkdir(home, 0755) < 0)
        bench_die("room_bench", "cannot make folders");
    for (long i = 0; i < files; i++) {
        snprintf(text, sizeof(text), "int f%ld(void) { return %ld; }\n", i, i);
        write_file(i, text);
    }
    run("git init -q . && echo '/out*/' > .gitignore && git add . && "
        "git -c user.name=u -c user.email=u@localhost commit -qm begin");
    usleep(200 * 1000); /* no file is young */
}

static double ms_since(int64_t start_us)
{
    return (double)(clock_mono_us() - start_us) / 1000;
}

static struct origin *take(double *ret_ms)
{
    static struct strv none = STRV_INIT;
    struct origin_spec spec = {.dir = work,
                               .folder = folder,
                               .environ = environ,
                               .globs = &none,
                               .keep = &none,
                               .checks = &none};
    struct strv notes = STRV_INIT;
    struct origin *o = NULL;
    struct err err = {0};
    int64_t start_us = clock_mono_us();

    if (origin_take(&spec, NULL, &o, &notes, &err) < 0)
        bench_die("origin_take", err.text);
    *ret_ms = ms_since(start_us);
    strv_release(&notes);
    return o;
}

static void check(struct room *room)
{
    struct check_spec spec = {
        .command = STR("true"), .dir = work, .environ = environ, .room = room};
    struct check_result r = {0};
    struct err err = {0};

    if (check_run(&spec, NULL, &r, &err) < 0 || !r.passed)
        bench_die("check_run", err.text);
    check_result_release(&r);
}

struct times {
    double look[RUNS], open[RUNS], check[RUNS], removal[RUNS], plain[RUNS], all[RUNS];
};

static void measure(const struct origin *o, struct times *t, int i)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    struct room_spec spec = {.origin = o, .now = &now, .temp = "/var/tmp", .home = home};
    struct room *room = NULL;
    struct err err = {0};
    int64_t start_us = clock_mono_us();

    check(/*room=*/NULL);
    t->plain[i] = ms_since(start_us);
    start_us = clock_mono_us();
    if (origin_look(o, NULL, &now, &err) < 0)
        bench_die("origin_look", err.text);
    t->look[i] = ms_since(start_us);
    if (room_open(&spec, NULL, &room, &err) < 0)
        bench_die("room_open", err.text);
    t->open[i] = ms_since(start_us) - t->look[i];
    check(room);
    t->check[i] = ms_since(start_us) - t->look[i] - t->open[i];
    if (room_hidden(room)->len != CHANGED)
        bench_die("room_bench", "the room does not hide what changed");
    room_free(room);
    t->all[i] = ms_since(start_us) - t->plain[i];
    t->removal[i] = t->all[i] + t->plain[i] - t->look[i] - t->open[i] - t->check[i];
}

static double median(double *values)
{
    bench_sort(values, RUNS);
    return values[RUNS / 2];
}

static void bench(long files)
{
    static struct times t;
    struct origin *o;
    double take_ms;

    make_workspace(files);
    o = take(&take_ms);
    for (long i = 0; i < CHANGED; i++)
        write_file(FOLDER_FILES + i + 1, "changed\n");
    for (int i = 0; i < RUNS; i++)
        measure(o, &t, i);
    printf("%7ld files: take %7.1f   look %6.1f   open %5.1f   check %5.1f (plain %4.1f)   remove "
           "%4.1f   set-up %6.1f ms\n",
           files, take_ms, median(t.look), median(t.open), median(t.check), median(t.plain),
           median(t.removal), median(t.all));
    fflush(stdout);
    origin_free(o);
    bench_remove(dir);
}

int main(int argc, char **argv)
{
    static const long usual[] = {1000, 10000, 100000};

    for (int i = 1; i < argc; i++)
        bench(strtol(argv[i], NULL, 10));
    for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
        bench(usual[i]);
    proc_shutdown();
    return 0;
}
