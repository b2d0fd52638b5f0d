/*
 * screen_bench: what the terminal UI costs, through a real pty.
 *
 *     screen_bench BUILD [RUNS]
 *
 * Prints figures; nothing here passes or fails. First paint is from before the fork to the first
 * byte of the frame with the prompt. Wake-ups are switches of all threads, wanted and forced, in
 * ten seconds of nothing.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "tui/window.h"

#define TOKENS 20000

static const char *build;

static void open_window(struct window *w, const char *scenario)
{
    struct window_spec spec = {.build = build, .scenario = scenario};

    window_open(w, &spec);
}

static void quit(struct window *w)
{
    window_type(w, "\x04");
    (void)window_end(w);
    window_close(w);
}

static void first_paint(int runs)
{
    double *ms = mem_zalloc((size_t)runs * sizeof(*ms));

    for (int i = 0; i < runs; i++) {
        int64_t start_us = clock_mono_us();
        struct window w;

        open_window(&w, "step\n  text Hello.\n");
        window_until_raw(&w, "❯", 0);
        ms[i] = (double)(clock_mono_us() - start_us) / 1000;
        window_until(&w, "say what to do");
        quit(&w);
    }
    bench_sort(ms, (size_t)runs);
    printf("first paint               %8.1f ms (least %.1f, of %d)\n", ms[runs / 2], ms[0], runs);
    mem_freep(&ms);
}

static int64_t switches(pid_t pid)
{
    char path[300];
    DIR *tasks;
    int64_t sum = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    for (struct dirent *d = tasks ? readdir(tasks) : NULL; d; d = readdir(tasks)) {
        char line[200];
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, d->d_name);
        f = d->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (f && fgets(line, sizeof(line), f)) {
            const char *n = strstr(line, "ctxt_switches:");

            sum += n ? strtoll(n + strlen("ctxt_switches:"), NULL, 10) : 0;
        }
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static void idle(void)
{
    struct window w;
    int64_t before;

    open_window(&w, "step\n  text Hello.\n");
    window_until(&w, "say what to do");
    window_type(&w, "hi\r");
    window_until(&w, "Hello.");
    window_settle(&w, 3000);
    before = switches(w.pid);
    window_settle(&w, 10000);
    printf("idle, 10 s                %8" PRId64 " wake-ups, %.1f MB PSS (a turn behind it)\n",
           switches(w.pid) - before, (double)bench_memory_kb(w.pid, "Pss") / 1024);
    quit(&w);
}

static void keystrokes(void)
{
    struct window w;
    size_t before;

    open_window(&w, "step\n  text Hello.\n");
    window_until(&w, "say what to do");
    window_settle(&w, 200);
    window_type(&w, "a");
    window_until(&w, "❯ a");
    before = w.raw.len;
    for (int i = 0; i < 60; i++) {
        size_t at = w.raw.len;

        window_type(&w, "b");
        while (w.raw.len == at)
            (void)window_wait(&w, 100);
        window_settle(&w, 20);
    }
    printf("bytes written per key     %8.1f\n", (double)(w.raw.len - before) / 60);
    window_type(&w, "\x03");
    quit(&w);
}

/* User and system time so far, in milliseconds: of all threads, or of the UI's. */
static double cpu_ms(pid_t pid, bool of_ui)
{
    char path[64];
    char text[1000];
    unsigned long user = 0;
    unsigned long sys = 0;
    const char *at;
    FILE *f;
    size_t n;

    if (of_ui)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    at = strrchr(text, ')');
    if (at)
        (void)sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
    return (double)(user + sys) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static void streamed(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    struct window w;
    double before;
    double ui_before;

    buf_adds(&scenario, "chunk words\npace 1ms\nstep\n  text <<END\n");
    for (int i = 0; i < TOKENS / 10; i++)
        buf_addf(&scenario, "    word **two** three `four` five six seven eight nine %d.\n%s", i,
                 i % 8 ? "" : "\n");
    buf_adds(&scenario, "    The end of it.\n    END\n");
    open_window(&w, buf_cstr(&scenario));
    window_until(&w, "say what to do");
    window_settle(&w, 200);
    before = cpu_ms(w.pid, /*of_ui=*/false);
    ui_before = cpu_ms(w.pid, /*of_ui=*/true);
    window_type(&w, "go\r");
    window_until(&w, "The end of it.");
    printf("CPU per 1,000 tokens      %8.1f ms (%.1f of the UI, of %d streamed one by one)\n",
           (cpu_ms(w.pid, /*of_ui=*/false) - before) * 1000 / TOKENS,
           (cpu_ms(w.pid, /*of_ui=*/true) - ui_before) * 1000 / TOKENS, TOKENS);
    window_settle(&w, 200);
    quit(&w);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        bench_die("usage", "screen_bench BUILD [RUNS]");
    build = argv[1];
    printf("the terminal UI\n");
    first_paint(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 15);
    idle();
    keystrokes();
    streamed();
    return 0;
}
