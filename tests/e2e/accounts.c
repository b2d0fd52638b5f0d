/*
 * accounts: what a goal is charged is what the server reported, to the token.
 *
 *     accounts BUILD_DIR RUNS WORKERS [SEED]
 *
 * Each run is a course made from a seed: rounds of tool calls and text with individual figures,
 * calls that are refused or break off first, claims, unreadable verdicts, a judge that looks
 * around, a compaction, and interrupts after which the goal is resumed. All calls are sequential,
 * so that each answer of the scenario is given exactly once, and the sum over it is known: input,
 * cache writes and output, of discarded answers as far as they were reported. The row must have the
 * same sum. Main thread of each worker.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "outcome.h"
#include "stage.h"

#define LIMIT_MS 60000
#define MARK "INTERRUPT-HERE"

struct course {
    struct stage *stage;
    uint64_t random;
    struct buf text; /* the scenario */
    int64_t tokens, output;
    int calls, faults, judged, interrupts, compactions;
};

static int64_t below(struct course *c, int64_t n)
{
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((c->random >> 33) % (uint64_t)n);
}

/* ---- The scenario and its sum ---- */

struct figures {
    int64_t input, output, cache_read, cache_write;
};

static bool tells_early(const struct course *c)
{
    return strcmp(c->stage->dialect, "anthropic") == 0;
}

/* An answer that broke off after its first words: the vendor has reported the input by then, and
 * one token of output; others report figures only at the end. */
static void count_part(struct course *c, const struct figures *f)
{
    if (!tells_early(c))
        return;
    c->tokens += f->input + f->cache_write + 1;
    c->output++;
}

static struct figures begin_step(struct course *c)
{
    struct figures f = {
        .input = 1 + below(c, 2000),
        .output = 2 + below(c, 300),
        .cache_read = below(c, 3) ? below(c, 50000) : 0,
        .cache_write = below(c, 2) ? below(c, 5000) : 0,
    };

    buf_addf(&c->text, "step\n  usage input=%lld output=%lld cache_read=%lld cache_write=%lld\n",
             (long long)f.input, (long long)f.output, (long long)f.cache_read,
             (long long)f.cache_write);
    c->calls++;
    return f;
}

static void count_whole(struct course *c, const struct figures *f)
{
    c->tokens += f->input + f->cache_write + f->output;
    c->output += f->output;
}

/* What goes wrong before the answer comes. */
static void add_faults(struct course *c, const struct figures *f)
{
    switch (below(c, 8)) {
    case 0:
        buf_adds(&c->text, "  fault status 529 \"overloaded\" retry-after-ms=1\n");
        break;
    case 1:
        buf_adds(&c->text, "  fault cut 10\n");
        break;
    case 2:
        buf_adds(&c->text, "  fault reset 5\n  fault status 503 \"later\" retry-after-ms=1\n");
        break;
    default:
        return;
    }
    c->faults++;
    (void)f;
}

static void add_call(struct course *c, const char *tool, const char *input)
{
    struct figures f = begin_step(c);

    add_faults(c, &f);
    /* Told in part, thrown away, asked again. */
    if (below(c, 6) == 0) {
        buf_adds(&c->text, "  text First words.\n  fault error \"overloaded\" "
                           "type=overloaded_error\n");
        c->faults++;
        count_part(c, &f);
    }
    buf_addf(&c->text, "  call %s %s\n", tool, input);
    count_whole(c, &f);
}

static void add_text(struct course *c, const char *words)
{
    struct figures f = begin_step(c);

    add_faults(c, &f);
    buf_addf(&c->text, "  text %s\n", words);
    count_whole(c, &f);
}

static void add_verdict(struct course *c, bool ok)
{
    for (int64_t looks = below(c, 3); looks > 0; looks--)
        add_call(c, "Glob", "{\"pattern\": \"*\"}");
    if (below(c, 5) == 0)
        add_text(c, "I would say that it looks fine.");
    add_text(c, ok ? "{\"ok\": true, \"reason\": \"It holds.\"}"
                   : "{\"ok\": false, \"reason\": \"Not yet.\"}");
    c->judged++;
}

static void add_interrupt(struct course *c)
{
    struct figures f = begin_step(c);

    buf_adds(&c->text, "  text " MARK " and some more words\n  pause 50s\n  text never\n");
    count_part(c, &f);
    c->interrupts++;
}

/* The window is full after this call: the next one asks for a summary. */
static void add_compaction(struct course *c)
{
    struct figures f = {.input = 160000 + below(c, 1000), .output = 20};

    buf_addf(&c->text,
             "step\n  usage input=%lld output=20\n  call Bash {\"command\": \"seq 3000\"}\n",
             (long long)f.input);
    c->calls++;
    count_whole(c, &f);
    add_text(c, "The gist of it.");
    c->compactions++;
}

static void add_work(struct course *c)
{
    char input[128];

    snprintf(input, sizeof(input), "{\"command\": \"echo %d >> work.txt\"}", c->calls);
    add_call(c, "Bash", input);
}

/* After some work: a claim for a state that was refused before would not be judged again. */
static void add_claim(struct course *c, bool ok)
{
    add_work(c);
    add_call(c, "update_goal", "{\"status\": \"complete\", \"reason\": \"done\"}");
    add_verdict(c, ok);
}

static void add_round(struct course *c, bool last)
{
    for (int64_t calls = below(c, 4); calls > 0; calls--)
        add_work(c);
    if (tells_early(c) && !c->compactions && below(c, 3) == 0)
        add_compaction(c);
    if (below(c, 4) == 0)
        add_claim(c, /*ok=*/false);
    if (below(c, 3) == 0)
        add_interrupt(c);
    if (last && below(c, 2)) { /* an accepted claim needs no second verdict */
        add_claim(c, /*ok=*/true);
        add_text(c, "That was it.");
        return;
    }
    add_text(c, "Done, I think.");
    add_verdict(c, last);
}

/* ---- The run ---- */

/* Until it ends, or says the mark: then it is interrupted. */
static int play_part(struct course *c, const char *const *args, int *ret_code, struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf errors = BUF_INIT(BUF_NO_LIMIT);
    struct stage_child child;
    int64_t until_ms = clock_mono_ms() + LIMIT_MS;
    bool told = false, stuck = false;

    if (stage_start(c->stage, args, "TENAX_TEST_CLOCK=fast:20", &child, err) < 0)
        return -1;
    fd_closep(&child.in);
    while (child.out >= 0 || child.err >= 0) {
        struct pollfd fds[] = {{child.out, POLLIN, 0}, {child.err, POLLIN, 0}};
        int64_t left = until_ms - clock_mono_ms();

        if (left <= 0 || poll(fds, 2, (int)left) <= 0) {
            stuck = true;
            kill(child.pid, SIGKILL);
            break;
        }
        if (fds[0].revents)
            stage_read(&child.out, &out);
        if (fds[1].revents)
            stage_read(&child.err, &errors);
        if (!told && str_has(buf_str(&out), STR(MARK))) {
            told = true;
            kill(child.pid, SIGINT);
        }
    }
    *ret_code = stage_end(&child);
    if (stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end:\n%s\n%.*s", buf_cstr(&errors),
                       STR_ARG(str_from(buf_str(&out), out.len > 2000 ? out.len - 2000 : 0)));
    if (*ret_code != 0 && *ret_code != 13)
        return err_set(err, ERR_PROTOCOL, "exit code %d:\n%s", *ret_code, buf_cstr(&errors));
    return 0;
}

static int play_all(struct course *c, struct err *err)
{
    CLEANUP(buf_release) struct buf settings = BUF_INIT(4096);
    const char *first[] = {"goal",
                           "the file is as it should be",
                           "--model",
                           c->stage->model,
                           "--settings",
                           NULL,
                           "--permission-mode",
                           "bypassPermissions",
                           "--output-format",
                           "stream-json",
                           "--verbose",
                           "--include-partial-messages",
                           NULL};
    const char *again[] = {"goal",
                           "--continue",
                           "--model",
                           c->stage->model,
                           "--settings",
                           NULL,
                           "--permission-mode",
                           "bypassPermissions",
                           "--output-format",
                           "stream-json",
                           "--verbose",
                           "--include-partial-messages",
                           NULL};
    int code = 13;

    buf_addf(&settings,
             "{\"goal\":{\"judgeModel\":\"%s\"},"
             "\"models\":{\"claude-sonnet-5\":{\"window\":200000}}}",
             c->stage->model);
    first[5] = again[5] = buf_cstr(&settings);
    for (int i = 0; i <= c->interrupts; i++) {
        if (code != 13)
            return err_set(err, ERR_PROTOCOL, "it ended before interrupt %d", i);
        if (play_part(c, i ? again : first, &code, err) < 0)
            return -1;
    }
    if (code != 0)
        return err_set(err, ERR_PROTOCOL, "it was not completed: exit code %d", code);
    return 0;
}

static int check_sum(struct course *c, struct err *err)
{
    CLEANUP(outcome_release) struct outcome o = {0};

    if (outcome_read(c->stage, /*session=*/NULL, &o, err) < 0)
        return -1;
    if (!str_is(o.status, "complete"))
        return err_set(err, ERR_PROTOCOL, "it is %.*s", STR_ARG(o.status));
    if (o.tokens != c->tokens || o.output != c->output)
        return err_set(err, ERR_PROTOCOL,
                       "%lld tokens are charged, %lld of output; the server told %lld and %lld",
                       (long long)o.tokens, (long long)o.output, (long long)c->tokens,
                       (long long)c->output);
    return 0;
}

static int run_course(struct course *c, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(c->stage->dir, "scenario");
    CLEANUP(buf_release) struct buf complaints = BUF_INIT(65536);
    int r;

    for (int64_t rounds = 2 + below(c, 4); rounds > 0; rounds--)
        add_round(c, rounds == 1);
    if (stage_sweep(c->stage, err) < 0 || file_replace(file, buf_str(&c->text), 0600, err) < 0 ||
        stage_serve(c->stage, file, err) < 0)
        return -1;
    r = play_all(c, err);
    stage_unserve(c->stage, &complaints);
    if (r == 0 && complaints.len)
        r = err_set(err, ERR_PROTOCOL, "not all was played: %s", buf_cstr(&complaints));
    return r == 0 ? check_sum(c, err) : -1;
}

static int worker(const char *build, int64_t number, int64_t workers, int64_t runs, int64_t seed)
{
    static const char *const dialects[] = {"anthropic", "openai-chat"};
    int64_t tokens = 0;
    int failed = 0, calls = 0, faults = 0, judged = 0, interrupts = 0, compactions = 0;

    for (int64_t i = number; i < runs; i += workers) {
        struct stage s;
        struct course c = {
            .stage = &s,
            .random = (uint64_t)(seed + i) * 0x9e3779b97f4a7c15u,
            .text = BUF_INIT(1 << 20),
        };
        struct err err = {0};

        if (stage_open(&s, build, dialects[i / workers % 2], &err) < 0 ||
            run_course(&c, &err) < 0) {
            printf("FAILED seed %lld (%s): %s\n", (long long)(seed + i), dialects[i / workers % 2],
                   err.text);
            if (getenv("ACCOUNTS_SHOW"))
                printf("%s", buf_cstr(&c.text));
            failed = 1;
        }
        calls += c.calls;
        faults += c.faults;
        judged += c.judged;
        interrupts += c.interrupts;
        compactions += c.compactions;
        tokens += c.tokens;
        stage_close(&s);
        buf_release(&c.text);
    }
    printf("%d calls, %d faults, %d verdicts, %d interrupts, %d compactions, %lld tokens\n", calls,
           faults, judged, interrupts, compactions, (long long)tokens);
    return failed;
}

int main(int argc, char **argv)
{
    int64_t runs = 0, workers = 0, seed = 20261115;
    int failed = 0;
    int status;

    if (argc > 4)
        (void)str_to_i64(str_of(argv[4]), &seed, /*err=*/NULL);
    if (argc < 4 || str_to_i64(str_of(argv[2]), &runs, /*err=*/NULL) < 0 || runs < 1 ||
        str_to_i64(str_of(argv[3]), &workers, /*err=*/NULL) < 0 || workers < 1) {
        fprintf(stderr, "usage: accounts BUILD_DIR RUNS WORKERS [SEED]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], i, workers, runs, seed));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
