/*
 * interrupt_everywhere: the workshop, stopped at many points of its way.
 *
 *     interrupt_everywhere BUILD_DIR SCENARIO POINTS [SEED]
 *
 * The waits of a whole run are counted first (sync/wait.h). Then come POINTS runs, spread over all
 * of them, that get SIGINT at one, and a tenth as many each with SIGTERM and SIGKILL. At any point:
 * the run ends soon, reports its end, every call on its output has its result, and no process it
 * has started survives. The model is the scripted one.
 *
 * Most waits of the workshop belong to the command that says 20 MB. A fifth of the points is spread
 * over them all; the others over a copy of the scenario where it says a thousandth of that, so that
 * every call has its share. Main thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "said.h"
#include "stage.h"
#include "workshop_args.h"

#define LIMIT_MS 120000     /* of a whole run: past it, it hangs */
#define END_MS 30000        /* from the signal to the exit; the figures that are printed say more */
#define ALONE_MS 15000      /* an exit leaves no processes; time to reap the last ones */
#define ALONE_KILL_MS 15000 /* a kill leaves wardens, which need a moment */

struct kind {
    const char *point;
    int code; /* of the exit */
};
static const struct kind kind_int = {"interrupt", 130};
static const struct kind kind_term = {"terminate", 143};
static const struct kind kind_kill = {"kill", -SIGKILL};

struct show {
    struct stage stage;
    struct strv args;
    uint64_t random;
    int64_t points;       /* waits of a whole run */
    bool stopped_in[256]; /* by the number of calls that had run until then */
    VEC(int64_t) said_us; /* from a signal to the last line */
    VEC(int64_t) exit_us; /* to the exit */
    VEC(int64_t) gone_us; /* from SIGKILL until no process was left */
    size_t completed;     /* runs that were through before the signal */
    size_t unreached;     /* runs that had fewer waits than the first one */
    size_t failed;
};

/* xorshift64*: the same points for the same seed. */
static uint64_t show_random(struct show *s)
{
    s->random ^= s->random >> 12;
    s->random ^= s->random << 25;
    s->random ^= s->random >> 27;
    return s->random * 0x2545f4914f6cdd1dULL;
}

static int show_play(struct show *s, const char *point, struct stage_result *ret, struct err *err)
{
    if (stage_sweep(&s->stage, err) < 0)
        return -1;
    return stage_play(&s->stage, (const char *const *)strv_get(&s->args), point, LIMIT_MS, ret,
                      err);
}

static int show_count(struct show *s, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result run = {0};
    const char *at;
    long long n;

    if (show_play(s, "TENAX_TEST_POINT=count", &run, err) < 0)
        return -1;
    at = strstr(buf_cstr(&run.err), "wait points: ");
    if (run.code != 0 || !at || sscanf(at, "wait points: %lld", &n) != 1)
        return err_set(err, ERR_PROTOCOL, "the whole run: exit code %d: %s", run.code,
                       buf_cstr(&run.err));
    s->points = n;
    printf("%lld waits\n", n);
    return 0;
}

/* When the signal was sent, or 0: the run had fewer waits. */
static int64_t signal_us(const struct stage_result *run)
{
    const char *at = strstr(buf_cstr(&run->err), "wait point ");
    long long number;
    long long us;

    return at && sscanf(at, "wait point %lld at %lld us", &number, &us) == 2 ? us : 0;
}

/* The last line reports the end, and matches the exit code. */
static int check_end(struct show *s, const struct said *said, const struct kind *kind, int code,
                     struct err *err)
{
    struct str reason = json_get_str(said->result, "terminal_reason");

    if (!said->result || !said->is_last)
        return err_set(err, ERR_PROTOCOL, "there is no result line at the end (exit code %d)",
                       code);
    if (str_is(reason, "completed")) { /* the end was reached before the signal was heard */
        s->completed++;
        return code == 0 || code == kind->code
                   ? 0
                   : err_set(err, ERR_PROTOCOL, "completed, exit code %d", code);
    }
    if (!str_is(json_get_str(said->result, "subtype"), "error_during_execution") ||
        !json_get_bool(said->result, "is_error", false) || !str_starts(reason, STR("aborted_")))
        return err_set(err, ERR_PROTOCOL, "the result is %.*s, %.*s",
                       STR_ARG(json_get_str(said->result, "subtype")), STR_ARG(reason));
    if (code != kind->code)
        return err_set(err, ERR_PROTOCOL, "exit code %d", code);
    return 0;
}

static int check_asked(struct show *s, const struct kind *kind, const struct stage_result *run,
                       int64_t sent_us, struct err *err)
{
    CLEANUP(said_release) struct said said = {0};
    size_t ran = 0;

    if (said_read(&said, buf_str(&run->out), err) < 0)
        return -1;
    if (!sent_us) {
        s->unreached++;
        return run->code == 0 ? 0 : err_set(err, ERR_PROTOCOL, "exit code %d", run->code);
    }
    if (check_end(s, &said, kind, run->code, err) < 0 ||
        stage_alone(&s->stage, ALONE_MS, err) < 0 || stage_is_tidy(&s->stage, err) < 0)
        return -1;
    VEC_EACH(&said.calls, c) {
        ran += !str_starts(c->text, STR("Not run"));
    }
    s->stopped_in[ran % ARRAY_LEN(s->stopped_in)] = true;
    vec_push(&s->said_us, run->said_us > sent_us ? run->said_us - sent_us : 0);
    vec_push(&s->exit_us, run->exit_us - sent_us);
    if (run->exit_us - sent_us > END_MS * 1000)
        return err_set(err, ERR_TIMEOUT, "it took %lld ms to end",
                       (long long)(run->exit_us - sent_us) / 1000);
    return 0;
}

static int check_killed(struct show *s, const struct stage_result *run, int64_t sent_us,
                        struct err *err)
{
    if (stage_alone(&s->stage, ALONE_KILL_MS, err) < 0)
        return -1;
    if (sent_us && run->code != kind_kill.code)
        return err_set(err, ERR_PROTOCOL, "exit code %d", run->code);
    if (sent_us)
        vec_push(&s->gone_us, clock_mono_us() - sent_us);
    return 0;
}

static int show_stop(struct show *s, const struct kind *kind, int64_t at, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result run = {0};
    char point[64];
    int64_t sent_us;

    snprintf(point, sizeof(point), "TENAX_TEST_POINT=%s:%lld", kind->point, (long long)at);
    if (show_play(s, point, &run, err) < 0)
        return -1;
    sent_us = signal_us(&run);
    if (run.is_stuck) {
        (void)stage_alone(&s->stage, ALONE_KILL_MS, /*err=*/NULL);
        printf("%sthe last words:\n%.*s\n", buf_cstr(&run.err),
               STR_ARG(str_from(buf_str(&run.out), run.out.len > 3000 ? run.out.len - 3000 : 0)));
        return err_set(err, ERR_TIMEOUT, "it hangs%s", sent_us ? "" : " (no signal was sent)");
    }
    if (kind == &kind_kill)
        return check_killed(s, &run, sent_us, err);
    return check_asked(s, kind, &run, sent_us, err);
}

/* Runs `count` times, each at a point somewhere in its own part of the way. */
static void show_spread(struct show *s, const struct kind *kind, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t from = i * s->points / count;
        int64_t width = (i + 1) * s->points / count - from;
        int64_t at = 1 + from + (width ? (int64_t)(show_random(s) % (uint64_t)width) : 0);
        struct err err = {0};

        if (show_stop(s, kind, at, &err) == 0)
            continue;
        printf("%s at point %lld: %s\n", kind->point, (long long)at, err.text);
        fflush(stdout);
        s->failed++;
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_times(const char *what, int64_t *us, size_t n)
{
    if (!n)
        return;
    qsort(us, n, sizeof(*us), by_size);
    printf("%-22s %4zu runs: median %.1f ms, 90 %% %.1f, 99 %% %.1f, most %.1f\n", what, n,
           (double)us[n / 2] / 1000, (double)us[n * 9 / 10] / 1000, (double)us[n * 99 / 100] / 1000,
           (double)us[n - 1] / 1000);
}

static void show_report(struct show *s)
{
    size_t places = 0;

    for (size_t i = 0; i < ARRAY_LEN(s->stopped_in); i++)
        places += s->stopped_in[i];
    printf("stopped behind %zu different calls; %zu runs were through before the signal, %zu had "
           "fewer waits\n",
           places, s->completed, s->unreached);
    print_times("signal to last line:", s->said_us.ptr, s->said_us.len);
    print_times("signal to exit:", s->exit_us.ptr, s->exit_us.len);
    print_times("kill to nobody left:", s->gone_us.ptr, s->gone_us.len);
}

/* The scenario with little to say, as <stage>/quiet.scenario. */
static int write_quiet(const struct show *s, const char *scenario, struct err *err)
{
    static const char loud[] = "head -c 20000000";
    CLEANUP(mem_freep) char *file = path_join(s->stage.dir, "quiet.scenario");
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    size_t at;

    if (file_slurp(scenario, 1 << 20, &text, err) < 0)
        return -1;
    at = str_find(buf_str(&text), STR(loud));
    if (at >= text.len)
        return err_set(err, ERR_BAD_INPUT, "'%s' is not in the scenario", loud);
    buf_cut(&text, at + strlen("head -c 20000"), strlen("000"));
    return file_replace(file, buf_str(&text), 0600, err);
}

static int show_choose(struct show *s, const char *scenario, struct err *err)
{
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);

    buf_addf(&model, "scripted/%s", scenario);
    strv_clear(&s->args);
    workshop_args(&s->args, buf_cstr(&model));
    return show_count(s, err);
}

static int show_run(struct show *s, const char *scenario, int64_t count, struct err *err)
{
    CLEANUP(mem_freep) char *quiet = path_join(s->stage.dir, "quiet.scenario");
    int64_t few = count / 10 > 1 ? count / 10 : 2;
    int64_t loud = count / 5;

    if (write_quiet(s, scenario, err) < 0 || show_choose(s, quiet, err) < 0)
        return -1;
    show_spread(s, &kind_int, count - loud);
    show_spread(s, &kind_term, few);
    show_spread(s, &kind_kill, few);
    if (show_choose(s, scenario, err) < 0)
        return -1;
    show_spread(s, &kind_int, loud);
    show_report(s);
    if (s->failed)
        return err_set(err, ERR_PROTOCOL, "%zu runs failed", s->failed);
    return 0;
}

int main(int argc, char **argv)
{
    struct show s = {.random = 20260101};
    struct err err = {0};
    int64_t count = 0;
    int64_t seed;
    int r;

    if (argc < 4 || str_to_i64(str_of(argv[3]), &count, /*err=*/NULL) < 0 || count < 1) {
        fprintf(stderr, "usage: interrupt_everywhere BUILD_DIR SCENARIO POINTS [SEED]\n");
        return 2;
    }
    signal(SIGINT,
           SIG_DFL); /* ignored in the background of a script, and then tenax ignores it too */
    if (argc > 4 && str_to_i64(str_of(argv[4]), &seed, /*err=*/NULL) == 0 && seed)
        s.random = (uint64_t)seed;
    r = stage_open(&s.stage, argv[1], /*dialect=*/NULL, &err);
    if (r == 0)
        r = show_run(&s, argv[2], count, &err);
    if (r < 0)
        printf("%s\n", err.text);
    stage_close(&s.stage);
    strv_release(&s.args);
    vec_release(&s.said_us);
    vec_release(&s.exit_us);
    vec_release(&s.gone_us);
    return r < 0;
}
