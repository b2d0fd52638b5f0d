/*
 * effect_once: an answer with a call that has an effect, cut at each of its bytes, in every
 * dialect: the effect happens exactly once.
 *
 *     effect_once BUILD_DIR STRIDE WORKERS
 *
 * A step per cut: its first try breaks off there, the next one is whole. The call appends a number
 * to a file; calls that may start early stand before it, and more of the answer after it. A cut
 * after everything relevant is no fault: the answer counts, the server sends it once more, and that
 * is another call. STRIDE 1 takes every byte.
 *
 * One more step in each run breaks off a while after its call: a call started early by mistake
 * would have had its effect by then.
 *
 * The places are shared out among workers, processes with a stage and a server each. Between a cut
 * and the next try time passes quicker than it does. A dialect is through when nothing was retried
 * any more. Main thread of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "said.h"
#include "stage.h"

#define BATCH 24 /* cuts in a run */
#define LIMIT_MS 150000
#define ALONE_MS 15000
#define FAST "TENAX_TEST_CLOCK=fast:20"
#define LEAST 500 /* bytes that must have been cut at for this to mean something */
#define MOST 20000
#define LATE 0 /* the number of the call that is broken off late */

static const char *const dialects[] = {"anthropic", "openai-chat", "openai-responses", "gemini"};

/* The share of one worker in one dialect. */
struct share {
    struct stage stage;
    int64_t next, step; /* place of the next cut, and from one to the next */
    int64_t last;       /* the last place where a cut mattered, about */
    size_t cuts;
};

/* A step that fails once, then sends everything. `fault` strikes at a byte, `late` after a
 * silence. */
static void add_step(struct buf *text, const char *fault, int64_t number, const char *late)
{
    buf_addf(text,
             "step\n%s"
             "  text Once more.\n"
             "  call Glob {\"pattern\": \"effects\"}\n"
             "  call Bash {\"command\": \"echo %lld >> effects\"}\n"
             "  call Glob {\"pattern\": \"*.c\"}\n%s",
             fault, (long long)number, late);
}

static int write_scenario(const struct share *s, const char *file, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    buf_adds(&text, "chunk 4096\n");
    for (int i = 0; i < BATCH; i++) {
        int64_t at = s->next + i * s->step;
        char fault[64];

        snprintf(fault, sizeof(fault), "  fault %s %lld\n", at % 3 ? "cut" : "reset",
                 (long long)at);
        add_step(&text, fault, at, "");
    }
    add_step(&text, "", LATE, "  text Hm.\n  pause 700ms\n  fault error \"lost\"\n");
    buf_adds(&text, "step\n  text Done.\n");
    return file_replace(file, buf_str(&text), 0600, err);
}

/* What the calls on standard output should have done: each once, and per step one of them or, when
 * nothing had to be retried, two. */
static int want_effects(const struct share *s, const struct said *said, struct buf *want,
                        struct err *err)
{
    const struct said_call *c = said->calls.ptr;
    const struct said_call *end = c + said->calls.len;
    size_t retries = 0;

    for (int i = 0; i <= BATCH; i++) {
        long long number = i < BATCH ? s->next + i * s->step : LATE;
        char command[64];
        size_t times = 0;

        snprintf(command, sizeof(command), "echo %lld >> effects", number);
        for (; c < end; c++) {
            if (!str_is(c->name, "Bash"))
                continue;
            if (!str_is(json_get_str(c->input, "command"), command))
                break;
            times += 1 + (c->retries - retries);
            retries = c->retries;
            buf_addf(want, "%lld\n", number);
        }
        if (times != 2)
            return err_set(err, ERR_PROTOCOL, "'%s' was asked for %zu times", command, times);
    }
    return 0;
}

static int check_effects(const struct share *s, const struct said *said, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->stage.dir, "work/effects");
    CLEANUP(buf_release) struct buf want = BUF_INIT(65536);
    CLEANUP(buf_release) struct buf came = BUF_INIT(65536);

    if (want_effects(s, said, &want, err) < 0 || file_slurp(file, 65536, &came, err) < 0)
        return -1;
    if (!str_eq(buf_str(&want), buf_str(&came)))
        return err_set(err, ERR_PROTOCOL, "cuts from %lld by %lld: effects not once each",
                       (long long)s->next, (long long)s->step);
    return 0;
}

static int check_run(struct share *s, const struct stage_result *run, size_t *ret_retries,
                     struct err *err)
{
    CLEANUP(said_release) struct said said = {0};

    if (run->is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end");
    if (run->code != 0)
        return err_set(err, ERR_PROTOCOL, "exit code %d: %s", run->code, buf_cstr(&run->err));
    if (stage_alone(&s->stage, ALONE_MS, err) < 0 ||
        said_read(&said, buf_str(&run->out), err) < 0 || check_effects(s, &said, err) < 0)
        return -1;
    *ret_retries = said.retries - 1; /* except the late one */
    return 0;
}

static int share_run(struct share *s, const char *file, size_t *ret_retries, struct err *err)
{
    const char *args[] = {"-p",        "once each",         "--output-format", "stream-json",
                          "--verbose", "--permission-mode", "acceptEdits",     "--allowedTools",
                          "Bash",      "--model",           s->stage.model,    NULL};
    CLEANUP(stage_result_release) struct stage_result run = {0};
    int r;

    if (stage_sweep(&s->stage, err) < 0 || write_scenario(s, file, err) < 0 ||
        stage_serve(&s->stage, file, err) < 0 ||
        stage_play(&s->stage, args, FAST, LIMIT_MS, &run, err) < 0)
        return -1;
    r = check_run(s, &run, ret_retries, err);
    stage_unserve(&s->stage, /*ret_complaints=*/NULL);
    return r;
}

static int share_all(struct share *s, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->stage.dir, "scenario");
    size_t retries = 1;

    while (retries && s->next < MOST) {
        if (share_run(s, file, &retries, err) < 0)
            return -1;
        if (retries)
            s->last = s->next + (int64_t)(retries - 1) * s->step;
        s->cuts += retries;
        s->next += BATCH * s->step;
    }
    if (retries || s->last + s->step < LEAST)
        return err_set(err, ERR_BAD_INPUT, "the answer is too short or too long for this test");
    return 0;
}

static int worker(const char *build, int64_t number, int64_t workers, int64_t stride)
{
    int failed = 0;

    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        struct share s = {.next = 1 + number * stride, .step = workers * stride};
        int64_t start_ms = clock_mono_ms();
        struct err err = {0};
        int r = stage_open(&s.stage, build, dialects[i], &err);

        if (r == 0)
            r = share_all(&s, &err);
        if (r < 0) {
            printf("%s: %s\n", dialects[i], err.text);
            failed = 1;
        } else {
            printf("%s: once each, %zu cuts up to byte %lld (%.1f s)\n", dialects[i], s.cuts,
                   (long long)s.last, (double)(clock_mono_ms() - start_ms) / 1000);
        }
        stage_close(&s.stage);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int64_t stride = 0;
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc != 4 || str_to_i64(str_of(argv[2]), &stride, /*err=*/NULL) < 0 || stride < 1 ||
        str_to_i64(str_of(argv[3]), &workers, /*err=*/NULL) < 0 || workers < 1) {
        fprintf(stderr, "usage: effect_once BUILD_DIR STRIDE WORKERS\n");
        return 2;
    }
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], i, workers, stride));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
