/*
 * survive: the course (course.h), ended in the middle at many points; nothing that it had
 * acknowledged is missing afterwards, and it goes on.
 *
 *     survive BUILD_DIR writes|kills|faults COUNT WORKERS [SEED]
 *
 *   writes  the process dies before, in the middle of and after a write (base/disk.h): at COUNT
 *           points of each kind, spread over the whole run; 0: at every write
 *   kills   SIGKILL at COUNT random moments, by time or by bytes of output
 *   faults  a write fails: the disk is full from there on, or it fails once; COUNT as above
 *
 * After each end the session is read as a resumed run would read it and compared with standard
 * output, then really resumed, against tests/fake, which records the requests; then read again.
 * SURVIVE_AT=N tries one write only, and with SURVIVE_KEEP=1 the first failure ends it and leaves
 * the stage as it is. Points are shared out among workers, processes with a stage each. Main thread
 * of each.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acked.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "course.h"
#include "heard.h"
#include "host/project.h"
#include "json/jw.h"
#include "kept.h"
#include "stage.h"

#define SESSION "5e551011-aaaa-4bbb-8ccc-000000000001"
#define LIMIT_MS 120000
#define ALONE_MS 15000

static const char resume_scenario[] = "step\n  sticky\n  text Going on.\n";
static const char *const write_kinds[] = {"kill", "torn", "after"};
static const char *const fault_kinds[] = {"full", "eio"};

struct show {
    struct stage stage;
    char *scenario, *resume, *work, *transcript;
    uint64_t random;
    int64_t writes, bytes, us; /* of a whole run */
    size_t runs, ended, through, lost, resumed, torn, queued;
};

/* When a run is to end; all -1: by itself. */
struct moment {
    int64_t bytes; /* of output */
    int64_t us;    /* from the start, or from there on */
};

/* A run of the course that is over. */
struct run {
    struct buf out, err;
    struct acked acked;
    int code;
    bool is_stuck;
    int64_t us;
};

static void run_release(struct run *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
    acked_release(&r->acked);
}

static uint64_t show_random(struct show *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

static int64_t show_below(struct show *s, int64_t limit)
{
    return limit > 0 ? (int64_t)(show_random(s) % (uint64_t)limit) : 0;
}

/* ---- One run ---- */

static void run_say(struct stage_child *c, struct course *course, struct run *run)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(65536);

    if (c->in < 0)
        return;
    if (course_go_on(course, &run->acked, &lines))
        fd_closep(&c->in);
    else if (lines.len && fd_write_all(c->in, buf_str(&lines), /*err=*/NULL) < 0)
        fd_closep(&c->in); /* it is gone */
}

/* How long to wait for more before it is killed; -1: it is time. */
static int64_t until_moment_us(const struct moment *m, const struct run *run, int64_t *start_us)
{
    if (m->us < 0 || (m->bytes >= 0 && (int64_t)run->out.len < m->bytes))
        return (int64_t)LIMIT_MS * 1000;
    if (m->bytes >= 0 && *start_us == 0)
        *start_us = clock_mono_us();
    if (clock_mono_us() >= *start_us + m->us)
        return -1;
    return *start_us + m->us - clock_mono_us();
}

static int run_listen(struct stage_child *c, const struct moment *m, struct run *run,
                      struct err *err)
{
    int64_t begun_us = clock_mono_us();
    int64_t start_us = m->bytes >= 0 ? 0 : begun_us;
    struct course course = {0};

    while (c->out >= 0) {
        struct pollfd fds[] = {{c->out, POLLIN, 0}, {c->err, POLLIN, 0}};
        int64_t left_us = until_moment_us(m, run, &start_us);
        struct timespec wait = {left_us / 1000000, left_us % 1000000 * 1000};

        if (left_us < 0 || clock_mono_us() > begun_us + (int64_t)LIMIT_MS * 1000) {
            run->is_stuck = left_us >= 0;
            kill(c->pid, SIGKILL);
            break;
        }
        run_say(c, &course, run);
        if (ppoll(fds, ARRAY_LEN(fds), &wait, /*sigmask=*/NULL) <= 0)
            continue;
        if (fds[0].revents)
            stage_read(&c->out, &run->out);
        if (fds[1].revents)
            stage_read(&c->err, &run->err);
        if (acked_read(&run->acked, buf_str(&run->out), err) < 0)
            return -1;
    }
    while (c->out >= 0) /* what it had said already counts */
        stage_read(&c->out, &run->out);
    while (c->err >= 0)
        stage_read(&c->err, &run->err);
    run->us = clock_mono_us() - begun_us;
    return acked_read(&run->acked, buf_str(&run->out), err);
}

static int show_run(struct show *s, const char *fault, const struct moment *m, struct run *ret,
                    struct err *err)
{
    const char *args[] = {"-p",
                          "--session-id",
                          SESSION,
                          "--input-format",
                          "stream-json",
                          "--output-format",
                          "stream-json",
                          "--verbose",
                          "--replay-user-messages",
                          "--permission-mode",
                          "acceptEdits",
                          "--allowedTools",
                          "Bash",
                          "--model",
                          s->scenario,
                          NULL};
    struct stage_child child;
    int r;

    s->runs++;
    *ret = (struct run){.out = BUF_INIT((size_t)64 << 20), .err = BUF_INIT((size_t)64 << 20)};
    acked_init(&ret->acked);
    if (stage_sweep(&s->stage, err) < 0 || stage_start(&s->stage, args, fault, &child, err) < 0)
        return -1;
    r = run_listen(&child, m, ret, err);
    if (r < 0)
        kill(child.pid, SIGKILL);
    ret->code = stage_end(&child);
    if (r == 0 && ret->is_stuck)
        r = err_set(err, ERR_TIMEOUT, "it does not end");
    if (stage_alone(&s->stage, ALONE_MS, r == 0 ? err : NULL) < 0)
        r = -1;
    return r;
}

/* ---- Going on ---- */

/* Everything that a model must receive is in the last request. */
static int check_request(const struct run *run, const struct kept *kept, struct str record,
                         struct err *err)
{
    struct str last = STR("");
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        if (line.len)
            last = line;
    }
    if (!str_has(last, STR("go on, please")))
        return err_set(err, ERR_PROTOCOL, "the new prompt was not sent");
    VEC_EACH(&run->acked.lines, l) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
        struct jw w;

        jw_init(&w, &json, 0);
        jw_str(&w, l->text);
        if (map_get(&kept->active, l->uuid) && l->text.len && !kept->compacts &&
            !str_has(last, buf_str(&json)))
            return err_set(err, ERR_PROTOCOL, "LOST: the model is not told '%.*s' again",
                           STR_ARG(str_clip(l->text, 60)));
    }
    return 0;
}

/* A compaction that waited changes earlier messages. */
static int check_requests(const struct show *s, const struct kept *kept, struct str record,
                          size_t *ret_requests, struct err *err)
{
    struct str line;
    size_t n;

    if (!kept->compacts)
        return heard_check(record, s->stage.dialect, ret_requests, err);
    *ret_requests = 0;
    while (str_cut(&record, '\n', &line)) {
        if (heard_check(line, s->stage.dialect, &n, err) < 0)
            return -1;
        *ret_requests += n;
    }
    return 0;
}

static int show_resume(struct show *s, const struct run *run, const struct kept *kept,
                       struct err *err)
{
    bool by_id = show_below(s, 4);
    const char *by_id_args[] = {"-p",      "go on, please", "--resume", SESSION,
                                "--model", s->stage.model,  NULL};
    const char *newest_args[] = {"-p",      "go on, please", "--continue",
                                 "--model", s->stage.model,  NULL};
    CLEANUP(stage_result_release) struct stage_result result = {0};
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    size_t requests;
    int r;

    if (stage_serve(&s->stage, s->resume, err) < 0)
        return -1;
    r = stage_play(&s->stage, by_id ? by_id_args : newest_args, /*extra=*/NULL, LIMIT_MS, &result,
                   err);
    stage_unserve(&s->stage, /*ret_complaints=*/NULL);
    if (r < 0)
        return -1;
    s->resumed++;
    if (result.is_stuck || result.code != 0)
        return err_set(err, ERR_PROTOCOL, "resumed%s: exit code %d: %s", by_id ? "" : " (newest)",
                       result.code, buf_cstr(&result.err));
    if (!str_is(str_trim(buf_str(&result.out)), "Going on."))
        return err_set(err, ERR_PROTOCOL, "resumed: it says '%s'", buf_cstr(&result.out));
    if (stage_record(&s->stage, &record, err) < 0 ||
        check_requests(s, kept, buf_str(&record), &requests, err) < 0)
        return -1;
    if ((requests > 1 + kept->queued || requests < 1 + kept->queued - kept->notices) &&
        !kept->compacts)
        return err_set(err, ERR_PROTOCOL, "%zu requests with %zu messages that waited", requests,
                       kept->queued);
    return check_request(run, kept, buf_str(&record), err);
}

/* The state left, resumed, and the state then. */
static int show_check(struct show *s, const struct run *run, bool is_exact, struct err *err)
{
    struct kept kept;
    struct kept later;
    int r = kept_files(s->work, &run->acked, err);

    if (r == 0)
        r = kept_check(s->transcript, &run->acked, is_exact, &kept, err);
    if (r < 0)
        return -1;
    s->torn += kept.torn;
    s->queued += kept.queued;
    if (kept.exists && kept.messages) {
        r = show_resume(s, run, &kept, err);
        if (r == 0) {
            r = kept_check(s->transcript, &run->acked, is_exact, &later, err);
            kept_release(&later);
        }
    }
    kept_release(&kept);
    return r;
}

/* ---- Points ---- */

static void show_failed(struct show *s, const char *what, int64_t at, const struct run *run,
                        const struct err *err)
{
    const char *keep = getenv("SURVIVE_KEEP");

    printf("%s %lld: %s\n", what, (long long)at, err->text);
    if (run->err.len)
        printf("--- stderr\n%s---\n", buf_cstr(&run->err));
    if (keep) {
        CLEANUP(mem_freep) char *out = path_join(s->stage.dir, "out");

        (void)file_replace(out, buf_str(&run->out), 0600, /*err=*/NULL);
        printf("kept in %s\n", s->stage.dir);
        fflush(stdout);
        _exit(1);
    }
    fflush(stdout);
    s->lost++;
}

static void show_end_at_write(struct show *s, const char *kind, int64_t at)
{
    static const struct moment never = {-1, -1};
    CLEANUP(run_release) struct run run = {0};
    CLEANUP(buf_release) struct buf fault = BUF_INIT(256);
    struct err err = {0};
    int r;

    buf_addf(&fault, "TENAX_TEST_WRITE=%s:%lld", kind, (long long)at);
    r = show_run(s, buf_cstr(&fault), &never, &run, &err);
    if (r == 0 && run.code != -SIGKILL && run.code != 0)
        r = err_set(&err, ERR_PROTOCOL, "exit code %d", run.code);
    s->ended += run.code == -SIGKILL;
    s->through += run.code == 0;
    if (r == 0)
        r = show_check(s, &run, /*is_exact=*/true, &err);
    if (r < 0)
        show_failed(s, kind, at, &run, &err);
}

static void show_kill(struct show *s, int64_t number)
{
    CLEANUP(run_release) struct run run = {0};
    struct moment m = {-1, show_below(s, s->us)};
    struct err err = {0};
    int r;

    if (number % 3) {
        m.bytes = show_below(s, s->bytes);
        m.us = show_below(s, 3000);
    }
    r = show_run(s, /*fault=*/NULL, &m, &run, &err);
    s->ended += run.code == -SIGKILL;
    s->through += run.code == 0;
    if (r == 0)
        r = show_check(s, &run, /*is_exact=*/true, &err);
    if (r < 0)
        show_failed(s, "SIGKILL", number, &run, &err);
}

/* A failed write was reported, with the file and the reason. Runs differ by a few writes: towards
 * the end a point may not be reached. */
static int check_told(const struct show *s, const struct run *run, const char *kind, int64_t at,
                      struct err *err)
{
    const char *cause =
        strcmp(kind, "full") == 0 ? "No space left on device" : "Input/output error";
    bool is_told =
        str_has(buf_str(&run->out), str_of(cause)) || str_has(buf_str(&run->err), str_of(cause));

    if (!is_told && at < s->writes * 9 / 10)
        return err_set(err, ERR_PROTOCOL, "'%s' was not told", cause);
    if (is_told && !str_has(buf_str(&run->out), str_of(s->stage.dir)))
        return err_set(err, ERR_PROTOCOL, "'%s' was told without the file", cause);
    return 0;
}

static void show_fail_write(struct show *s, const char *kind, int64_t at)
{
    static const struct moment never = {-1, -1};
    CLEANUP(run_release) struct run run = {0};
    CLEANUP(buf_release) struct buf fault = BUF_INIT(256);
    struct err err = {0};
    int r;

    buf_addf(&fault, "TENAX_TEST_WRITE=%s:%lld", kind, (long long)at);
    r = show_run(s, buf_cstr(&fault), &never, &run, &err);
    s->ended += run.acked.errors > 0;
    s->through += run.acked.errors == 0;
    if (r == 0 && run.code < 0)
        r = err_set(&err, ERR_PROTOCOL, "ended by signal %d", -run.code);
    if (r == 0)
        r = check_told(s, &run, kind, at, &err);
    if (r == 0)
        r = show_check(s, &run, /*is_exact=*/false, &err);
    if (r < 0)
        show_failed(s, kind, at, &run, &err);
}

/* ---- All of them ---- */

/* A whole run: how many writes, bytes and how much time it takes. */
static int show_count(struct show *s, struct err *err)
{
    static const struct moment never = {-1, -1};
    CLEANUP(run_release) struct run run = {0};
    const char *told;
    long long writes = 0;

    if (show_run(s, "TENAX_TEST_WRITE=count", &never, &run, err) < 0)
        return -1;
    told = strstr(buf_cstr(&run.err), "writes: ");
    if (run.code != 0 || run.acked.errors || !told || sscanf(told, "writes: %lld", &writes) != 1)
        return err_set(err, ERR_PROTOCOL, "the run without faults: exit code %d\n%s", run.code,
                       buf_cstr(&run.err));
    for (int i = 1; i <= COURSE_MESSAGES; i++) {
        if (!run.acked.said[i])
            return err_set(err, ERR_PROTOCOL, "message %d was not taken up", i);
    }
    for (int i = 0; i < COURSE_ROUNDS; i++) {
        if (run.acked.changes[i] != COURSE_ALL)
            return err_set(err, ERR_PROTOCOL, "the file of round %d: only %#x", i,
                           run.acked.changes[i]);
    }
    s->writes = writes;
    s->bytes = (int64_t)run.out.len;
    s->us = run.us;
    return show_check(s, &run, /*is_exact=*/true, err);
}

static int show_open(struct show *s, const char *build, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    CLEANUP(mem_freep) char *home = NULL;

    if (stage_open(&s->stage, build, "anthropic", err) < 0)
        return -1;
    home = path_join(s->stage.dir, "home/.tenax");
    s->work = path_join(s->stage.dir, "work");
    s->resume = path_join(s->stage.dir, "resume.scenario");
    buf_addf(&path, "scripted/%s/course.scenario", s->stage.dir);
    s->scenario = buf_take(&path);
    buf_init(&path, 4096);
    project_session_dir(str_of(home), str_of(s->work), STR(SESSION), &path);
    buf_adds(&path, ".jsonl");
    s->transcript = buf_take(&path);
    course_scenario(&text);
    if (file_replace(s->scenario + strlen("scripted/"), buf_str(&text), 0600, err) < 0 ||
        file_replace(s->resume, STR(resume_scenario), 0600, err) < 0)
        return -1;
    return show_count(s, err);
}

static void show_close(struct show *s)
{
    stage_close(&s->stage);
    mem_freep(&s->scenario);
    mem_freep(&s->resume);
    mem_freep(&s->work);
    mem_freep(&s->transcript);
}

typedef void show_point_fn(struct show *s, const char *kind, int64_t at);

/* This worker's share of the points, each somewhere in its own part of the way. */
static void show_spread(struct show *s, show_point_fn *point, const char *kind, int64_t count,
                        int64_t worker, int64_t workers)
{
    const char *only = getenv("SURVIVE_AT"); /* for finding out */
    int64_t one;

    if (only && str_to_i64(str_of(only), &one, /*err=*/NULL) == 0) {
        point(s, kind, one);
        return;
    }
    if (count == 0 || count > s->writes)
        count = s->writes;
    for (int64_t i = worker; i < count; i += workers) {
        int64_t from = i * s->writes / count;
        int64_t width = (i + 1) * s->writes / count - from;

        point(s, kind, 1 + from + show_below(s, width));
    }
}

static int worker(const char *build, const char *mode, int64_t count, int64_t number,
                  int64_t workers, int64_t seed)
{
    struct show s = {.random = (uint64_t)seed * 0x9e3779b97f4a7c15u + (uint64_t)number + 1};
    int64_t start_ms = clock_mono_ms();
    struct err err = {0};

    if (show_open(&s, build, &err) < 0) {
        printf("%s\n", err.text);
        s.lost++;
    } else if (strcmp(mode, "kills") == 0) {
        for (int64_t i = number; i < count; i += workers)
            show_kill(&s, i);
    } else if (strcmp(mode, "faults") == 0) {
        for (size_t i = 0; i < ARRAY_LEN(fault_kinds); i++)
            show_spread(&s, show_fail_write, fault_kinds[i], count, number, workers);
    } else {
        for (size_t i = 0; i < ARRAY_LEN(write_kinds); i++)
            show_spread(&s, show_end_at_write, write_kinds[i], count, number, workers);
    }
    printf("%s: %lld writes a run; %zu runs, %zu %s, %zu through before; %zu resumed, %zu torn "
           "lines, %zu messages that waited; %zu failures (%.1f s)\n",
           mode, (long long)s.writes, s.runs, s.ended,
           strcmp(mode, "faults") == 0 ? "with an error" : "killed", s.through, s.resumed, s.torn,
           s.queued, s.lost, (double)(clock_mono_ms() - start_ms) / 1000);
    if (!getenv("SURVIVE_KEEP"))
        show_close(&s);
    return s.lost ? 1 : 0;
}

int main(int argc, char **argv)
{
    int64_t count = -1;
    int64_t workers = 0;
    int64_t seed = 20261115;
    int failed = 0;
    int status;

    if (argc > 5)
        (void)str_to_i64(str_of(argv[5]), &seed, /*err=*/NULL);
    if (argc < 5 || str_to_i64(str_of(argv[3]), &count, /*err=*/NULL) < 0 || count < 0 ||
        str_to_i64(str_of(argv[4]), &workers, /*err=*/NULL) < 0 || workers < 1 ||
        (strcmp(argv[2], "writes") != 0 && strcmp(argv[2], "kills") != 0 &&
         strcmp(argv[2], "faults") != 0)) {
        fprintf(stderr, "usage: survive BUILD_DIR writes|kills|faults COUNT WORKERS [SEED]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], argv[2], count, i, workers, seed));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
