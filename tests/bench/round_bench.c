/*
 * round_bench: what a goal costs per round, beside the judge's call and the walk over the files.
 *
 *     round_bench [ROUNDS]
 *
 * The engine as the agent has it: a call of the model is announced, its cost told, a tool's end
 * told, a stop judged (mode self, no checks: the verdict is "go on"), the next round. A real
 * database on disk. For comparison the same agent without a goal. Prints the median and the slow
 * end; nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/event.h"
#include "agent/referee.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "llm/spending.h"

#define MAX_ROUNDS 100000
#define SESSION "11111111-2222-4333-8444-555555555555"

static void emit(void *arg, struct event *e)
{
    (void)arg;
    event_unref(e);
}

static int wake(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    return 0;
}

static void arm(void *arg, struct str objective)
{
    (void)arg;
    (void)objective;
}

static bool is_armed(void *arg, struct str objective)
{
    (void)arg;
    (void)objective;
    return true;
}

static size_t background(void *arg, struct buf *names, int64_t *ret_last_ms)
{
    (void)arg;
    (void)names;
    *ret_last_ms = 0;
    return 0;
}

static void title(void *arg, struct str text)
{
    (void)arg;
    (void)text;
}

static struct spending *paid;

/* One round of an agent: a call, a tool, a stop. */
static void round_of(struct referee *r)
{
    struct llm_usage usage = {.input = 1000, .output = 200, .cache_read = 9000, .known = true};
    struct spend spend = {.model = STR("m"), .usage = usage, .usd = 0.01, .is_step = true};
    struct referee_tool tool = {
        .name = STR("Read"),
        .id = STR("toolu_1"),
        .input = STR("{\"file_path\":\"/tmp/a\"}"),
        .text = STR("     1\tint main(void)"),
        .ran = true,
        .flags = TOOL_READ_ONLY,
    };
    struct referee_call call = REFEREE_CALL_INIT;
    struct referee_verdict verdict = REFEREE_VERDICT_INIT;
    struct err err = {0};

    if (r->before_call(r, &call) != 0)
        bench_die("round_bench", "the turn was called off");
    spending_book(&(struct spending_call){.spending = paid}, &spend);
    r->tool_done(r, &tool);
    if (r->may_stop(r, /*last=*/NULL, /*cancel=*/NULL, &verdict, &err) < 0)
        bench_die("round_bench", err.text);
    referee_call_release(&call);
    referee_verdict_release(&verdict);
}

static void measure(struct goal *g, const char *what, size_t count)
{
    struct referee *r = goal_referee(g);
    double *us = mem_alloc(count * sizeof(*us));
    struct err err = {0};

    r->turn_begins(r, /*turn=*/NULL);
    for (size_t i = 0; i < count; i++) {
        int64_t start_us = clock_mono_us();

        round_of(r);
        us[i] = (double)(clock_mono_us() - start_us);
    }
    r->after_turn(r, &(struct referee_end){.end = END_CALLED_OFF, .err = &err});
    bench_sort(us, count);
    printf("  %-16s %8.0f us p50 %8.0f us p99 %8.0f us most\n", what, us[count / 2],
           us[count * 99 / 100], us[count - 1]);
    mem_freep(&us);
}

/* A stalled goal is blocked after eight rounds, which is not measured; a new one each time is not
 * either, so the guards are fresh for every seven. */
static void measure_goal(struct goal *g, size_t count)
{
    struct referee *r = goal_referee(g);
    double *us = mem_alloc(count * sizeof(*us));
    struct goal_argument set = GOAL_ARGUMENT_INIT;
    struct err err = {0};

    if (goal_argument_read(STR("--referee self --protect none the bench is done"), clock_wall_ms(),
                           &set, &err) < 0)
        bench_die("round_bench", err.text);
    for (size_t i = 0; i < count; i++) {
        int64_t start_us;

        if (i % 7 == 0) {
            struct goal_answer answer = GOAL_ANSWER_INIT;

            if (goal_do(g, &set, VIA_USER, /*cancel=*/NULL, &answer, &err) < 0)
                bench_die("round_bench", err.text);
            goal_answer_release(&answer);
            r->turn_begins(r, /*turn=*/NULL);
        }
        start_us = clock_mono_us();
        round_of(r);
        us[i] = (double)(clock_mono_us() - start_us);
    }
    bench_sort(us, count);
    printf("  %-16s %8.0f us p50 %8.0f us p99 %8.0f us most\n", "with a goal", us[count / 2],
           us[count * 99 / 100], us[count - 1]);
    goal_argument_release(&set);
    mem_freep(&us);
}

int main(int argc, char **argv)
{
    char folder[] = "/var/tmp/tenax-round-XXXXXX"; /* /tmp may be memory */
    char *none[] = {NULL};
    struct err err = {0};
    struct conf *conf = NULL;
    struct permit *permit = NULL;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct conf_sources from = {.environ = none, .trusted = true};
    struct goal_spec spec = {
        .host = {.emit = emit,
                 .wake = wake,
                 .arm = arm,
                 .is_armed = is_armed,
                 .background = background,
                 .title = title},
        .session = SESSION,
        .environ = environ,
        .is_kept = true,
    };
    CLEANUP(mem_freep) char *home = NULL, *dir = NULL;
    struct workspace *workspace;
    struct goal *g;
    int64_t count = 350;

    if ((argc > 1 && str_to_i64(str_of(argv[1]), &count, NULL) < 0) || count < 1 ||
        count > MAX_ROUNDS || !mkdtemp(folder))
        bench_die("round_bench", "bad arguments");
    home = path_join(folder, "home");
    dir = path_join(folder, "work");
    if (file_mkdirs(home, 0700, &err) < 0 || file_mkdirs(dir, 0700, &err) < 0)
        bench_die("round_bench", err.text);
    from.dir = dir;
    if (conf_load(&from, &conf, &err) < 0)
        bench_die("round_bench", err.text);
    workspace = workspace_new(dir, home, none);
    if (permit_new(conf, workspace, &notes, &permit, &err) < 0)
        bench_die("round_bench", err.text);
    spec.conf = conf;
    spec.permit = permit;
    spec.spending = paid = spending_new();
    spec.folder = spec.home = home;
    spec.dir = dir;
    g = goal_new(&spec, &notes);
    printf("goal, a round without judge and walk, %d times\n", (int)count);
    measure(g, "without a goal", (size_t)count);
    measure_goal(g, (size_t)count);
    goal_free(g);
    spending_unref(paid);
    permit_free(permit);
    workspace_unref(workspace);
    conf_unref(conf);
    bench_remove(folder);
    return 0;
}
