/*
 * runaways: agents that never finish. Each ends in the right state, by the guard that is there for
 * it, with few calls of the model; none ends as complete, and waiting costs nothing. Exit code,
 * result line and ledger say the same, and so does another run in the session that has nothing to
 * do.
 *
 *     runaways BUILD_DIR WORKERS [NAME]
 *
 * A row is one such agent, played by the scripted model in a fresh folder: its messages, the
 * judge's, the task, and the allowed progress. Each call of the agent costs 110 tokens, each of the
 * judge 55, so that the bound of calls is a bound of tokens, too. Where hours go by, the clock is
 * made to run fast. NAME: only rows with this in their name.
 *
 * The rows are shared out among workers, processes with a stage each. Main thread of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/json.h"
#include "outcome.h"
#include "runaways.h"
#include "stage.h"

#define LIMIT_MS 60000
#define ALONE_MS 15000
#define MOST_SECONDS 40
#define CALL_TOKENS 110
#define SIDE_CALLS 4 /* tries that broke off, and the summary for a fresh start */
#define JUDGE_TOKENS 55

/* Added up over all workers. */
struct totals {
    int rows, failed;
    int64_t calls, tokens;
};

/* ---- A run ---- */

static int write_scenario(const struct stage *s, const char *name, const char *text,
                          struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->dir, name);

    return file_replace(file, str_of(text), 0600, err);
}

static bool is_given(const struct row *r, const char *option)
{
    for (const char *const *o = r->options; *o; o++) {
        if (strcmp(*o, option) == 0)
            return true;
    }
    return false;
}

static void add_common(const struct stage *s, const struct row *r, enum form form,
                       struct strv *args)
{
    strv_addf(args, "--model=scripted/%s/agent.scenario", s->dir);
    strv_addf(args, "--settings={\"goal\":{\"judgeModel\":\"scripted/%s/judge.scenario\"}%s}",
              s->dir, r->settings ? r->settings : "");
    if (!is_given(r, "--permission-mode"))
        strv_adds(args, "--permission-mode=bypassPermissions");
    if (form == FORM_STREAM) {
        strv_adds(args, "--output-format=stream-json");
        strv_adds(args, "--verbose");
    } else if (form != FORM_TEXT) {
        strv_adds(args, "--output-format=json");
    }
}

static void row_args(const struct stage *s, const struct row *r, struct strv *args)
{
    strv_adds(args, r->form == FORM_PROMPT ? "-p" : "goal");
    strv_adds(args, r->form == FORM_PROMPT ? "/goal the moon is green" : "the moon is green");
    strv_adds(args, "--session-id=" SESSION);
    add_common(s, r, r->form, args);
    for (const char *const *o = r->options; *o; o++)
        strv_adds(args, *o);
}

static const char *status_of(int code)
{
    return code == MET        ? "complete"
           : code == BLOCKED  ? "blocked"
           : code == LIMITED  ? "budget_limited"
           : code == NO_QUOTA ? "usage_limited"
                              : "paused";
}

/* ---- What it says at its end ---- */

static const char *subtype_of(int code, struct str why)
{
    if (code == MET)
        return "success";
    if (code == LIMITED && str_has(why, STR("step limit")))
        return "error_max_turns";
    if (code == LIMITED && (str_has(why, STR("token budget")) || str_has(why, STR("cost limit"))))
        return "error_max_budget_usd";
    return "error_during_execution";
}

/* The last line of the output that is a result. */
static int read_result(struct str out, struct arena *arena, const struct json **ret,
                       struct err *err)
{
    struct str line;

    *ret = NULL;
    while (str_cut(&out, '\n', &line)) {
        if (str_starts(line, STR("{\"type\":\"result\"")) &&
            json_parse(arena, line, ret, /*ret_info=*/NULL, err) < 0)
            return -1;
    }
    return *ret ? 0 : err_set(err, ERR_PROTOCOL, "there is no result");
}

/* plain: a run without a goal, or one that only asks. */
static int check_result(const struct stage_result *run, enum form form, int code, bool plain,
                        struct str why, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v, *goal;
    struct str subtype;

    if (run->is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end: %s", buf_cstr(&run->err));
    if (run->code != code)
        return err_set(err, ERR_PROTOCOL, "exit code %d: %s", run->code, buf_cstr(&run->err));
    if (form == FORM_TEXT)
        return 0;
    if (read_result(buf_str(&run->out), &arena, &v, err) < 0)
        return -1;
    goal = json_get(v, "goal");
    subtype = json_get_str(v, "subtype");
    if (json_get_bool(v, "is_error", code == MET) != (code != MET))
        return err_set(err, ERR_PROTOCOL, "is_error is wrong for exit code %d", code);
    if (!str_is(subtype, subtype_of(code, why)))
        return err_set(err, ERR_PROTOCOL, "the result is %.*s: %.*s", STR_ARG(subtype),
                       STR_ARG(why));
    if (!plain && (!str_is(json_get_str(goal, "status"), status_of(code)) ||
                   json_get_i64(goal, "exit_code", -1) != code ||
                   (code != MET && !json_get_str(goal, "reason").len)))
        return err_set(err, ERR_PROTOCOL, "the goal in the result is %.*s",
                       STR_ARG(json_raw(goal)));
    return 0;
}

static int check_row(const struct row *r, const struct outcome *o, struct err *err)
{
    int64_t main_tokens = o->tokens - o->judge_tokens;

    if (!str_is(o->status, status_of(r->code)))
        return err_set(err, ERR_PROTOCOL, "it is %.*s: %.*s", STR_ARG(o->status), STR_ARG(o->why));
    if (!str_has(o->why, str_of(r->why)))
        return err_set(err, ERR_PROTOCOL, "ended for another reason: %.*s", STR_ARG(o->why));
    if (r->code != MET && o->verdicts_met)
        return err_set(err, ERR_PROTOCOL, "a verdict says that it is met");
    if (o->steps > r->most_steps)
        return err_set(err, ERR_PROTOCOL, "%lld calls of the model", (long long)o->steps);
    if (r->most_judged >= 0 && (o->judge_tokens > (int64_t)r->most_judged * JUDGE_TOKENS ||
                                main_tokens > (int64_t)(r->most_steps + SIDE_CALLS) * CALL_TOKENS))
        return err_set(err, ERR_PROTOCOL, "%lld tokens, and %lld of the judge",
                       (long long)main_tokens, (long long)o->judge_tokens);
    if (o->waits < r->least_waits || o->waited_ms < r->least_waited_ms)
        return err_set(err, ERR_PROTOCOL, "%lld waits, %lld ms", (long long)o->waits,
                       (long long)o->waited_ms);
    if (o->retries < r->least_retries || o->stalls < r->stalls)
        return err_set(err, ERR_PROTOCOL, "%lld retries, %lld stalls", (long long)o->retries,
                       (long long)o->stalls);
    return 0;
}

/* ---- One row ---- */

static int play(const struct stage *s, const struct row *r, const struct strv *args,
                struct stage_result *ret, struct err *err)
{
    int64_t limit_s = r->most_seconds ? r->most_seconds : MOST_SECONDS;
    int64_t start_ms = clock_mono_ms();
    char clock[64];

    snprintf(clock, sizeof(clock), "TENAX_TEST_CLOCK=%s", r->clock ? r->clock : "fast:1");
    if (stage_play(s, (const char *const *)strv_get(args), clock, LIMIT_MS, ret, err) < 0)
        return -1;
    if (!ret->is_stuck && clock_mono_ms() - start_ms > limit_s * 1000)
        return err_set(err, ERR_TIMEOUT, "it took %lld ms",
                       (long long)(clock_mono_ms() - start_ms));
    return 0;
}

/* Another run in the session: what the row wants; else one without a prompt, which must end as the
 * first did. */
static int play_again(struct stage *s, const struct row *r, struct str why, struct err *err)
{
    static const char *const nothing[] = {"-p", "--resume", SESSION, NULL};
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    CLEANUP(stage_result_release) struct stage_result run = {0};
    const char *const *then = r->then[0] ? r->then : nothing;
    int code = r->then[0] ? r->then_code : r->code;

    if (!r->then[0] && r->code == MET)
        return 0;
    for (const char *const *a = then; *a; a++)
        strv_adds(&args, *a);
    add_common(s, r, r->then_form, &args);
    if (play(s, r, &args, &run, err) < 0 ||
        check_result(&run, r->then_form, code, /*plain=*/code == MET, why, err) < 0)
        return err_prefix(err, "again");
    return 0;
}

static int play_row(struct stage *s, const struct row *r, struct outcome *o, struct err *err)
{
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    CLEANUP(stage_result_release) struct stage_result run = {0};

    if (stage_sweep(s, err) < 0 || write_scenario(s, "agent.scenario", r->agent, err) < 0 ||
        write_scenario(s, "judge.scenario", r->judge ? r->judge : "step\n  text no\n", err) < 0)
        return -1;
    if (r->before && outcome_shell(s, r->before, err) != 0)
        return err_set(err, ERR_PROTOCOL, "its folder could not be prepared: %s", err->text);
    row_args(s, r, &args);
    if (play(s, r, &args, &run, err) < 0)
        return -1;
    if (run.is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end: %s", buf_cstr(&run.err));
    if (stage_alone(s, ALONE_MS, err) < 0 || outcome_read(s, SESSION, o, err) < 0)
        return -1;
    if (check_row(r, o, err) < 0 ||
        check_result(&run, r->form, r->code, /*plain=*/false, o->why, err) < 0 ||
        play_again(s, r, o->why, err) < 0)
        return -1;
    return stage_is_tidy(s, err);
}

static int worker(const char *build, int64_t number, int64_t workers, const char *only,
                  struct totals *totals)
{
    struct stage s;
    struct err err = {0};

    if (stage_open(&s, build, /*dialect=*/NULL, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    for (size_t i = (size_t)number; i < runaway_count; i += (size_t)workers) {
        CLEANUP(outcome_release) struct outcome o = {0};
        const struct row *r = &runaway_rows[i];
        int64_t start_ms = clock_mono_ms();

        if (only && !strstr(r->name, only))
            continue;
        err_clear(&err);
        totals->rows++;
        if (play_row(&s, r, &o, &err) < 0) {
            printf("FAILED %s: %s\n", r->name, err.text);
            totals->failed++;
        } else {
            printf("%s: %.*s, %lld calls, %lld tokens, %lld waits (%.1f s)\n", r->name,
                   STR_ARG(o.status), (long long)o.steps, (long long)o.tokens, (long long)o.waits,
                   (double)(clock_mono_ms() - start_ms) / 1000);
            totals->calls += o.steps;
            totals->tokens += o.tokens;
        }
        fflush(stdout);
    }
    if (!getenv("RUNAWAYS_KEEP"))
        stage_close(&s);
    else
        printf("kept: %s\n", s.dir);
    return totals->failed ? 1 : 0;
}

static void print_totals(const struct totals *each, int64_t workers, int64_t start_ms)
{
    struct totals all = {0};

    for (int64_t i = 0; i < workers; i++) {
        all.rows += each[i].rows;
        all.failed += each[i].failed;
        all.calls += each[i].calls;
        all.tokens += each[i].tokens;
    }
    printf("runaways: %d rows, %d failed, %lld calls of the model, %lld tokens, %.1f s\n", all.rows,
           all.failed, (long long)all.calls, (long long)all.tokens,
           (double)(clock_mono_ms() - start_ms) / 1000);
}

int main(int argc, char **argv)
{
    int64_t start_ms = clock_mono_ms();
    int64_t workers = 0;
    struct totals *totals;
    int failed = 0;
    int status;

    if (argc < 3 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1 ||
        workers > 100) {
        fprintf(stderr, "usage: runaways BUILD_DIR WORKERS [NAME]\n");
        return 2;
    }
    totals = mmap(NULL, (size_t)workers * sizeof(*totals), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (totals == MAP_FAILED)
        return 2;
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], i, workers, argc > 3 ? argv[3] : NULL, &totals[i]));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    print_totals(totals, workers, start_ms);
    return failed ? 1 : 0;
}
