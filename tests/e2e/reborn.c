/*
 * reborn: a run for a goal, killed at its writes and at the commits of its store, and taken up
 * again: the goal is still there, becomes complete, and nothing is counted twice. One that was
 * cleared never comes back, wherever the clearing was killed.
 *
 *     reborn BUILD_DIR COUNT WORKERS
 *
 * COUNT points of each kind, spread evenly; 0: all of them. The scripted model begins anew with
 * each process, so the agent goes by what it finds: three files, one a call, and a stop too early
 * on the way. Each of its calls costs 110 tokens, a verdict 55. Main thread of each worker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "outcome.h"
#include "stage.h"

#define LIMIT_MS 60000
#define SESSION "11111111-2222-4333-8444-555555555555"
#define CALL_TOKENS 110
#define JUDGE_TOKENS 55

static const char agent_scenario[] =
    "step early\n  sticky\n  if-result \"two\"\n  usage input=100 output=10\n  text Half way.\n"
    "step done\n  sticky\n  if-result \"three\"\n  usage input=100 output=10\n  text All there.\n"
    "step work\n  sticky\n  usage input=100 output=10\n  call Bash {\"command\": "
    "\"n=$(ls | grep -c ^f); [ $n -lt 3 ] && n=$((n+1)) && touch f$n; "
    "case $n in 1) echo one;; 2) echo two;; 3) echo three;; esac\"}\n";
static const char judge_scenario[] = "step\n  sticky\n  usage input=50 output=5\n"
                                     "  text {\"ok\": true, \"reason\": \"Three files.\"}\n";

struct show {
    struct stage stage;
    char model[128], talker[128], settings[192];
    int64_t writes, commits; /* of a whole run */
    int64_t steps, tokens, iterations;
    size_t points, early, late, resumed, failed;
};

static int play(struct show *s, bool again, const char *fault, struct stage_result *run,
                struct err *err)
{
    const char *args[] = {"goal",
                          again ? "--resume" : "there are three files",
                          again ? SESSION : "--check",
                          again ? "--model" : "test -f f3",
                          again ? s->model : "--session-id",
                          again ? "--settings" : SESSION,
                          again ? s->settings : "--model",
                          again ? "--permission-mode" : s->model,
                          again ? "bypassPermissions" : "--settings",
                          again ? NULL : s->settings,
                          "--permission-mode",
                          "bypassPermissions",
                          NULL};

    if (stage_play(&s->stage, args, fault, LIMIT_MS, run, err) < 0)
        return -1;
    if (run->is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end: %s", buf_cstr(&run->err));
    return 0;
}

/* 1: there is a goal; 0: there is none; -1. */
static int has_goal(struct show *s, struct err *err)
{
    static const char *const args[] = {"goal", "status", "--json", "--session", SESSION, NULL};
    CLEANUP(stage_result_release) struct stage_result run = {0};

    if (stage_play(&s->stage, args, /*extra=*/NULL, LIMIT_MS, &run, err) < 0)
        return -1;
    if (run.code == 0)
        return str_has(buf_str(&run.out), STR("\"objective\""));
    if (run.code != 1)
        return err_set(err, ERR_PROTOCOL, "status: exit code %d: %s", run.code, buf_cstr(&run.err));
    return 0;
}

/* Nothing twice, and no more lost than the call that was under way. */
static int check_counters(const struct show *s, const struct outcome *o, struct err *err)
{
    int64_t judged = o->judge_tokens / JUDGE_TOKENS;

    if (o->verdicts_met != 1) /* with the status, or not at all */
        return err_set(err, ERR_PROTOCOL, "met %lld times", (long long)o->verdicts_met);
    if (o->tokens - o->judge_tokens != o->steps * CALL_TOKENS)
        return err_set(err, ERR_PROTOCOL, "%lld tokens for %lld calls",
                       (long long)(o->tokens - o->judge_tokens), (long long)o->steps);
    if (judged < 0 || judged > 2 || o->judge_tokens % JUDGE_TOKENS)
        return err_set(err, ERR_PROTOCOL, "%lld tokens of the judge", (long long)o->judge_tokens);
    /* A lost call may have been the one after which it stops too early. */
    if (o->steps < s->steps - 2 || o->steps > s->steps + 2)
        return err_set(err, ERR_PROTOCOL, "%lld calls, where %lld do", (long long)o->steps,
                       (long long)s->steps);
    if (o->iterations > s->iterations + 1)
        return err_set(err, ERR_PROTOCOL, "sent back %lld times", (long long)o->iterations);
    return 0;
}

static int check_complete(struct show *s, struct err *err)
{
    CLEANUP(outcome_release) struct outcome o = {0};

    if (outcome_read(&s->stage, SESSION, &o, err) < 0)
        return -1;
    if (!str_is(o.status, "complete"))
        return err_set(err, ERR_PROTOCOL, "it is %.*s: %.*s", STR_ARG(o.status), STR_ARG(o.why));
    return check_counters(s, &o, err);
}

/* Complete already? */
static int is_complete(struct show *s, struct err *err)
{
    CLEANUP(outcome_release) struct outcome o = {0};

    if (outcome_read(&s->stage, SESSION, &o, err) < 0)
        return -1;
    return str_is(o.status, "complete");
}

static int kill_and_resume(struct show *s, const char *fault, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result first = {0};
    CLEANUP(stage_result_release) struct stage_result second = {0};
    int r;

    if (stage_sweep(&s->stage, err) < 0 || play(s, /*again=*/false, fault, &first, err) < 0 ||
        stage_alone(&s->stage, 5000, err) < 0)
        return -1;
    r = has_goal(s, err);
    if (r < 0)
        return -1;
    if (r == 0) { /* killed before it was set, and then it was not said to be */
        s->early++;
        return str_has(buf_str(&first.err), STR("Goal set"))
                   ? err_set(err, ERR_PROTOCOL, "it was set, and is gone")
                   : 0;
    }
    r = is_complete(s, err);
    if (r < 0)
        return -1;
    s->late += (size_t)r;
    if (r == 0) {
        s->resumed++;
        if (play(s, /*again=*/true, /*fault=*/NULL, &second, err) < 0)
            return -1;
        if (second.code != 0)
            return err_set(err, ERR_PROTOCOL, "taken up again: exit code %d: %s", second.code,
                           buf_cstr(&second.err));
    }
    return check_complete(s, err);
}

/* ---- A goal that is cleared ---- */

/* Killed while it is cleared, then the session is resumed: the goal is as it was, or gone for good.
 * *ret_over: the clearing was not killed any more. */
static int clear_and_resume(struct show *s, const char *fault, bool *ret_over, struct err *err)
{
    const char *set[] = {"goal",
                         "there are three files",
                         "--session-id",
                         SESSION,
                         "--referee",
                         "self",
                         "--max-turns",
                         "1",
                         "--model",
                         s->model,
                         "--permission-mode",
                         "bypassPermissions",
                         NULL};
    static const char *const clear[] = {"goal", "clear", "--session", SESSION, NULL};
    const char *talk[] = {"-p", "hello", "--resume", SESSION, "--model", s->talker, NULL};
    CLEANUP(stage_result_release) struct stage_result first = {0};
    CLEANUP(stage_result_release) struct stage_result second = {0};
    CLEANUP(stage_result_release) struct stage_result third = {0};
    int before, after;

    if (stage_sweep(&s->stage, err) < 0 ||
        stage_play(&s->stage, set, /*extra=*/NULL, LIMIT_MS, &first, err) < 0 ||
        stage_play(&s->stage, clear, fault, LIMIT_MS, &second, err) < 0)
        return -1;
    if (first.code != 11)
        return err_set(err, ERR_PROTOCOL, "exit code %d: %s", first.code, buf_cstr(&first.err));
    before = has_goal(s, err);
    if (before < 0 || stage_play(&s->stage, talk, /*extra=*/NULL, LIMIT_MS, &third, err) < 0)
        return -1;
    after = has_goal(s, err);
    *ret_over = second.code == 0;
    if (after < 0)
        return -1;
    /* A goal that was not cleared is still at its limit, or is paused because only the transcript
     * shows that it was; the run reports it. */
    if (third.code != 0 && (second.code == 0 || (third.code != 11 && third.code != 13)))
        return err_set(err, ERR_PROTOCOL, "resumed: exit code %d: %s", third.code,
                       buf_cstr(&third.err));
    if (second.code == 0 && before)
        return err_set(err, ERR_PROTOCOL, "cleared, and still there");
    if (before != after)
        return err_set(err, ERR_PROTOCOL, before ? "gone by itself" : "it came back");
    return 0;
}

/* ---- All of them ---- */

static void show_point(struct show *s, const char *kind, int64_t at)
{
    char fault[80];
    struct err err = {0};

    snprintf(fault, sizeof(fault), "TENAX_TEST_WRITE=%s:%lld", kind, (long long)at);
    s->points++;
    if (kill_and_resume(s, fault, &err) == 0)
        return;
    printf("FAILED %s: %s\n", fault, err.text);
    s->failed++;
}

static void show_clearing(struct show *s, const char *kind)
{
    bool is_over = false;

    for (int at = 1; !is_over && at < 100; at++) {
        char fault[80];
        struct err err = {0};

        snprintf(fault, sizeof(fault), "TENAX_TEST_WRITE=%s:%d", kind, at);
        s->points++;
        if (clear_and_resume(s, fault, &is_over, &err) < 0) {
            printf("FAILED clearing, %s: %s\n", fault, err.text);
            s->failed++;
            return;
        }
    }
}

/* A whole run: what there is to be killed at. */
static int show_count(struct show *s, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result run = {0};
    CLEANUP(outcome_release) struct outcome o = {0};
    long long writes = 0, commits = 0;
    const char *told;

    if (play(s, /*again=*/false, "TENAX_TEST_WRITE=count", &run, err) < 0 ||
        outcome_read(&s->stage, SESSION, &o, err) < 0)
        return -1;
    told = strstr(buf_cstr(&run.err), "writes: ");
    if (run.code != 0 || !told ||
        sscanf(told, "writes: %lld commits: %lld", &writes, &commits) != 2 || commits < 10)
        return err_set(err, ERR_PROTOCOL, "the run without a kill: exit code %d: %s", run.code,
                       buf_cstr(&run.err));
    s->writes = writes;
    s->commits = commits;
    s->steps = o.steps;
    s->tokens = o.tokens;
    s->iterations = o.iterations;
    return check_complete(s, err);
}

static int show_open(struct show *s, const char *build, struct err *err)
{
    CLEANUP(mem_freep) char *agent = NULL;
    CLEANUP(mem_freep) char *judge = NULL;

    if (stage_open(&s->stage, build, /*dialect=*/NULL, err) < 0)
        return -1;
    agent = path_join(s->stage.dir, "agent.scenario");
    judge = path_join(s->stage.dir, "judge.scenario");
    snprintf(s->model, sizeof(s->model), "scripted/%s", agent);
    snprintf(s->talker, sizeof(s->talker), "scripted/%s", judge);
    snprintf(s->settings, sizeof(s->settings), "{\"goal\":{\"judgeModel\":\"scripted/%s\"}}",
             judge);
    if (file_replace(agent, STR(agent_scenario), 0600, err) < 0 ||
        file_replace(judge, STR(judge_scenario), 0600, err) < 0)
        return -1;
    return show_count(s, err);
}

static int worker(const char *build, int64_t count, int64_t number, int64_t workers)
{
    static const char *const kinds[] = {"kill", "torn", "after", "commit", "committed"};
    struct show s = {0};
    int64_t start_ms = clock_mono_ms();
    struct err err = {0};

    if (show_open(&s, build, &err) < 0) {
        printf("%s\n", err.text);
        stage_close(&s.stage);
        return 1;
    }
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        int64_t all = k < 3 ? s.writes : s.commits;
        int64_t points = count && count < all ? count : all;

        for (int64_t i = number; i < points; i += workers)
            show_point(&s, kinds[k], 1 + i * all / points + (int64_t)k % (all / points));
        if ((int64_t)k % workers == number)
            show_clearing(&s, kinds[k]);
    }
    printf("%lld writes, %lld commits a run; %zu points: %zu before it was set, %zu behind its "
           "end, %zu taken up again; %zu failures (%.1f s)\n",
           (long long)s.writes, (long long)s.commits, s.points, s.early, s.late, s.resumed,
           s.failed, (double)(clock_mono_ms() - start_ms) / 1000);
    if (!getenv("REBORN_KEEP"))
        stage_close(&s.stage);
    return s.failed || !s.resumed ? 1 : 0;
}

int main(int argc, char **argv)
{
    int64_t count = -1, workers = 0;
    int failed = 0;
    int status;

    if (argc != 4 || str_to_i64(str_of(argv[2]), &count, /*err=*/NULL) < 0 || count < 0 ||
        str_to_i64(str_of(argv[3]), &workers, /*err=*/NULL) < 0 || workers < 1) {
        fprintf(stderr, "usage: reborn BUILD_DIR COUNT WORKERS\n");
        return 2;
    }
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], count, i, workers));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
