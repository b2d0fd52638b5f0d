/*
 * shell_bench: what a command costs through the Bash tool, beside a bare vfork, exec and wait of
 * the same shell.
 *
 *     shell_bench [RUNS]
 *
 * Prints medians and minima of runs that take turns; then time and memory of much output. Nothing
 * here passes or fails.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "bench/bench.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "tools/entries.h"

#define MAX_RUNS 10000

static struct workspace *workspace;
static struct cancel *cancel;

static int64_t run_bare(const char *command)
{
    const char *argv[] = {"/bin/bash", "-c", command, NULL};
    int64_t start_us = clock_mono_us();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, argv[0], NULL, NULL, (char **)argv, environ) != 0)
        BUG("no bash");
    waitpid(pid, &status, 0);
    return clock_mono_us() - start_us;
}

static int64_t run_tool(const char *command)
{
    struct tool_result result = TOOL_RESULT_INIT;
    struct tool_call call = {
        .entry = &tool_bash_entry,
        .id = STR("toolu_bench"),
        .workspace = workspace,
        .cancel = cancel,
    };
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct arena arena = ARENA_INIT;
    struct err err = {0};
    int64_t start_us;

    buf_addf(&text, "{\"command\":\"%s\"}", command);
    if (json_parse(&arena, buf_str(&text), &call.args, NULL, &err) < 0)
        BUG("%s", err.text);
    start_us = clock_mono_us();
    if (tool_bash_entry.run(&call, &result, &err) < 0)
        BUG("%s", err.text);
    start_us = clock_mono_us() - start_us;
    tool_result_release(&result);
    buf_release(&text);
    arena_release(&arena);
    return start_us;
}

static void compare(const char *command, int runs)
{
    static double bare[MAX_RUNS];
    static double tool[MAX_RUNS];

    for (int i = 0; i < runs; i++) {
        bare[i] = (double)run_bare(command);
        tool[i] = (double)run_tool(command);
    }
    bench_sort(bare, (size_t)runs);
    bench_sort(tool, (size_t)runs);
    printf(
        "%-24s bare %5.0f us (min %5.0f)   tool %5.0f us (min %5.0f)   more %5.0f us (min %5.0f)\n",
        command, bare[runs / 2], bare[0], tool[runs / 2], tool[0], tool[runs / 2] - bare[runs / 2],
        tool[0] - bare[0]);
}

static void flood(const char *command)
{
    struct rusage before;
    struct rusage after;
    int64_t us;

    getrusage(RUSAGE_SELF, &before);
    us = run_tool(command);
    getrusage(RUSAGE_SELF, &after);
    printf("%-40s %6.2f s, peak memory %ld KB before, %ld KB after\n", command, (double)us / 1e6,
           before.ru_maxrss, after.ru_maxrss);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-bench-XXXXXX";
    char state[64];
    char clean[128];
    int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 300;

    if (runs < 1 || runs > MAX_RUNS || !mkdtemp(dir))
        return 2;
    snprintf(state, sizeof(state), "%s/state", dir);
    workspace = workspace_new(dir, state, environ);
    cancel = cancel_new(NULL);
    compare("true", runs);
    compare("/bin/true", runs);
    compare("cd . && /bin/true", runs);
    flood("yes | head -c 20000000");
    flood("yes | head -c 2000000000");
    snprintf(clean, sizeof(clean), "rm -rf %s", state);
    run_tool(clean);
    workspace_unref(workspace);
    cancel_unref(cancel);
    proc_shutdown();
    rmdir(dir);
    return 0;
}
