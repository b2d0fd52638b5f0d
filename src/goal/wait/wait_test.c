/*
 * Waits: how they are written, kept and shown; and watches, that each wake exactly once and stop at
 * once. The tests after clock_make_virtual() run last: there is no way back from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/wait/wait.h"
#include "proc/proc.h"
#include "proc/tree.h"
#include "store/scratch_check.h"
#include "sync/thread.h"
#include "unit.h"

#define MINUTE_MS ((int64_t)60000)
#define HOUR_MS (60 * MINUTE_MS)

static char plain_path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char *const plain_env[] = {plain_path, NULL};

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(scratch_dir(), name);
    struct err err = {0};

    if (file_replace(path, str_of(text), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static void drop(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(scratch_dir(), name);

    assert_int_equal(unlink(path), 0);
}

/* A process that lives until its pipe is closed. */
struct child {
    pid_t pid;
    int fd;
};

static struct child child_start(void)
{
    int fds[2];
    struct child c;

    assert_int_equal(pipe(fds), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        char byte;

        close(fds[1]);
        _exit(read(fds[0], &byte, 1) != 0);
    }
    close(fds[0]);
    c.fd = fds[1];
    return c;
}

static void child_end(const struct child *c)
{
    close(c->fd);
}

static void child_reap(const struct child *c)
{
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* ---- As they are written ---- */

static const struct parse_case {
    const char *text;
    enum err_code code;
    enum wait_on on;
    const char *kept;
    int64_t ms;
} parse_cases[] = {
    {"90s", ERR_NONE, WAIT_TIME, "", 90000},
    {" 2h30m ", ERR_NONE, WAIT_TIME, "", 150 * MINUTE_MS},
    {"1d", ERR_NONE, WAIT_TIME, "", 24 * HOUR_MS},
    {"0s", ERR_BAD_INPUT, 0, "", 0},
    {"9999999d", ERR_BAD_INPUT, 0, "", 0},
    {"30m1h", ERR_BAD_INPUT, 0, "", 0},
    {"there", ERR_NONE, WAIT_FILE, "there", 0},
    {"with blank", ERR_NONE, WAIT_FILE, "with blank", 0},
    {".", ERR_NONE, WAIT_FILE, ".", 0},
    {"build/done.flag", ERR_NONE, WAIT_FILE, "build/done.flag", 0},
    {"/nonexistent/x", ERR_NONE, WAIT_FILE, "/nonexistent/x", 0},
    {"~/nonexistent-x", ERR_NONE, WAIT_FILE, "~/nonexistent-x", 0},
    {"not-there", ERR_NONE, WAIT_COMMAND, "not-there", 0},
    {"test -f x && make", ERR_NONE, WAIT_COMMAND, "test -f x && make", 0},
    {"build/run.sh|grep", ERR_NONE, WAIT_COMMAND, "build/run.sh|grep", 0},
    {"./run.sh quickly", ERR_NONE, WAIT_COMMAND, "./run.sh quickly", 0},
    {"make\ntest", ERR_NONE, WAIT_COMMAND, "make\ntest", 0},
    {"pids 12", ERR_NONE, WAIT_COMMAND, "pids 12", 0},
    {"pid x", ERR_NONE, WAIT_COMMAND, "pid x", 0},
    {"-5s", ERR_NONE, WAIT_COMMAND, "-5s", 0},
    {"", ERR_BAD_INPUT, 0, "", 0},
    {" \n ", ERR_BAD_INPUT, 0, "", 0},
    {"a\xff/b", ERR_BAD_INPUT, 0, "", 0},
    {"0", ERR_NOT_FOUND, 0, "", 0},
    {"pid 0", ERR_NOT_FOUND, 0, "", 0},
    {"2147483647", ERR_NOT_FOUND, 0, "", 0},
    {"99999999999999999999999999", ERR_NOT_FOUND, 0, "", 0},
};

static void test_parse(void **state)
{
    const int64_t now = 1700000000000;

    (void)state;
    put("there", "x");
    put("with blank", "x");
    for (size_t i = 0; i < ARRAY_LEN(parse_cases); i++) {
        const struct parse_case *row = &parse_cases[i];
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        struct err err = {0};
        int r = wait_parse(str_of(row->text), scratch_dir(), now, &w, &err);

        if ((r < 0) != (row->code != ERR_NONE) || err.code != row->code)
            fail_msg("%s: %d %s", row->text, r, err.text);
        if (r < 0)
            continue;
        if (w.on != row->on || strcmp(buf_cstr(&w.text), row->kept) != 0)
            fail_msg("%s: on %s, [%s]", row->text, wait_on_name(w.on), buf_cstr(&w.text));
        if (w.until_ms != (row->ms ? now + row->ms : 0) || w.since_ms != now)
            fail_msg("%s: until %lld", row->text, (long long)w.until_ms);
        if (w.check_in_ms != (row->on == WAIT_TIME ? 0 : now + 30 * MINUTE_MS))
            fail_msg("%s: a check-in at %lld", row->text, (long long)w.check_in_ms);
    }
    drop("there");
    drop("with blank");
}

static void test_parse_process(void **state)
{
    static const char *const forms[] = {"%d", "pid %d", "PID: %d", " pid\t%d "};
    struct child c = child_start();
    struct tree_proc p;
    struct err err = {0};
    char text[40];

    (void)state;
    assert_true(tree_look(c.pid, &p));
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof(text), forms[i], (int)c.pid);
#pragma GCC diagnostic pop
        if (wait_parse(str_of(text), scratch_dir(), 1000, &w, &err) < 0)
            fail_msg("%s: %s", text, err.text);
        assert_int_equal(w.on, WAIT_PROCESS);
        assert_int_equal(w.pid, c.pid);
        assert_int_equal(w.pid_start, p.start);
    }
    child_end(&c);
    /* Ended, but its exit code is not collected yet; then gone. */
    assert_int_equal(waitid(P_PID, (id_t)c.pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    for (int gone = 0; gone < 2; gone++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;

        snprintf(text, sizeof(text), "%d", (int)c.pid);
        assert_int_equal(wait_parse(str_of(text), scratch_dir(), 1000, &w, &err), -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
        if (!gone)
            child_reap(&c);
    }
    snprintf(text, sizeof(text), "%d", (int)getpid());
    {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;

        assert_int_equal(wait_parse(str_of(text), scratch_dir(), 1000, &w, &err), -1);
        assert_int_equal(err.code, ERR_BAD_INPUT);
    }
}

static void test_too_long(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct err err = {0};

    (void)state;
    while (text.len < WAIT_MAX_TEXT)
        buf_adds(&text, "echo ");
    assert_int_equal(wait_parse(buf_str(&text), scratch_dir(), 1, &w, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    buf_clear(&text);
    while (text.len < WAIT_MAX_TEXT - 10)
        buf_adds(&text, "echo ");
    assert_int_equal(wait_parse(buf_str(&text), scratch_dir(), 1, &w, &err), 0);
    assert_false(w.text.over);
}

/* ---- As they are kept ---- */

static void check_same(const struct wait *a, const struct wait *b)
{
    assert_int_equal(a->on, b->on);
    assert_int_equal(a->pid, b->pid);
    assert_true(a->pid_start == b->pid_start);
    assert_string_equal(buf_cstr(&a->text), buf_cstr(&b->text));
    assert_true(a->file_mtime_ns == b->file_mtime_ns && a->file_size == b->file_size);
    assert_true(a->until_ms == b->until_ms && a->since_ms == b->since_ms);
    assert_true(a->check_in_ms == b->check_in_ms);
    assert_int_equal(a->check_ins, b->check_ins);
}

static void test_round(void **state)
{
    (void)state;
    for (int on = WAIT_PROCESS; on <= WAIT_RETRY; on++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        CLEANUP(wait_release) struct wait back = WAIT_INIT;
        CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
        struct err err = {0};

        wait_begin(&w, (enum wait_on)on, 1700000000123);
        if (on == WAIT_PROCESS) {
            w.pid = 4242;
            w.pid_start = 9876543210;
        } else {
            buf_adds(&w.text, "a \"quoted\" \xc3\xa9\n\x01 text");
        }
        if (on == WAIT_FILE) {
            w.file_mtime_ns = 1700000000123456789;
            w.file_size = 12;
        }
        w.until_ms = 1800000000000;
        w.check_ins = 3;
        wait_write(&w, &json);
        if (wait_read(buf_str(&json), &back, &err) < 0)
            fail_msg("%s: %s", buf_cstr(&json), err.text);
        check_same(&w, &back);
        assert_null(strchr(buf_cstr(&json), '\n'));
    }
}

static void test_read_bad(void **state)
{
    static const char *const rows[] = {
        "",
        "[]",
        "{}",
        "null",
        "{\"on\":\"moon\"}",
        "{\"on\":7}",
        "{\"on\":\"process\"}",
        "{\"on\":\"process\",\"pid\":0}",
        "{\"on\":\"process\",\"pid\":-1}",
        "{\"on\":\"process\",\"pid\":4294967296}",
        "{\"on\":\"process\",\"pid\":\"12\"}",
        "{\"on\":\"process\",\"pid\":12,\"pid_start\":-3}",
        "{\"on\":\"file\"}",
        "{\"on\":\"file\",\"text\":\"\"}",
        "{\"on\":\"file\",\"text\":\"a\\u0000b\"}",
        "{\"on\":\"file\",\"text\":\"a\\ud800b\"}",
        "{\"on\":\"file\",\"text\":\"x\",\"file_size\":-2}",
        "{\"on\":\"command\",\"text\":1}",
        "{\"on\":\"time\",\"until_ms\":-1}",
        "{\"on\":\"time\",\"until_ms\":1e300}",
        "{\"on\":\"time\",\"until_ms\":1.5}",
        "{\"on\":\"time\",\"check_ins\":-1}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        struct err err = {0};

        if (wait_read(str_of(rows[i]), &w, &err) == 0 || err.code != ERR_BAD_INPUT)
            fail_msg("%s: %s", rows[i], err.text);
    }
}

/* ---- As they are shown ---- */

static void test_describe(void **state)
{
    static const struct {
        enum wait_on on;
        const char *text;
        int64_t left_ms;
        const char *shown;
    } rows[] = {
        {WAIT_PROCESS, "", 0, "pid 4242"},
        {WAIT_FILE, "build/x", 0, "file build/x"},
        {WAIT_COMMAND, "a\nb\tc\x1b", 0, "command a b c "},
        {WAIT_TIME, "", 90 * MINUTE_MS, "timer, 1h 30m left"},
        {WAIT_TIME, "", -1, "timer, 0s left"},
        {WAIT_QUOTA, "", 2 * HOUR_MS, "quota reset, 2h left"},
        {WAIT_RETRY, "", 500, "next try, 1s left"},
        {WAIT_BACKGROUND, "", 0, "background commands"},
        {WAIT_BACKGROUND, "npm run dev", 0, "npm run dev"},
        {WAIT_FILE,
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678\xc3\xa9",
         0,
         "file 0123456789012345678901234567890123456789012345678901234567890123456789012345678…"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        CLEANUP(buf_release) struct buf out = BUF_INIT(4096);

        wait_begin(&w, rows[i].on, 1000);
        w.pid = 4242;
        w.until_ms = 1000 + rows[i].left_ms;
        buf_adds(&w.text, rows[i].text);
        wait_describe(&w, 1000, &out);
        if (strcmp(buf_cstr(&out), rows[i].shown) != 0)
            fail_msg("row %zu: [%s]", i, buf_cstr(&out));
    }
}

static void test_next(void **state)
{
    static const struct {
        int64_t until_ms, check_in_ms, next_ms;
    } rows[] = {{0, 0, 0}, {5, 0, 5}, {0, 7, 7}, {5, 7, 5}, {9, 7, 7}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct wait w = {.until_ms = rows[i].until_ms, .check_in_ms = rows[i].check_in_ms};

        assert_int_equal(wait_next_ms(&w), rows[i].next_ms);
    }
}

/* The first one is set where it makes sense; held ones are counted; then they grow apart. */
static void test_check_ins(void **state)
{
    (void)state;
    for (int on = WAIT_PROCESS; on <= WAIT_RETRY; on++) {
        static const int64_t minutes[] = {30, 60, 120, 120};
        bool has = on != WAIT_TIME && on != WAIT_QUOTA && on != WAIT_RETRY;
        struct wait w = {.on = (enum wait_on)on};

        for (int i = 0; i < 4; i++) {
            wait_checked_in(&w, 5000);
            assert_int_equal(w.check_in_ms, has ? 5000 + minutes[i] * MINUTE_MS : 0);
            assert_int_equal(w.check_ins, has ? i : 0);
        }
    }
}

/* ---- Watches ---- */

struct waker {
    struct gate gate;
    int count;
    struct wait_watch *watch;
};

static void waker_fn(void *arg)
{
    struct waker *k = arg;

    gate_take(&k->gate);
    k->count++;
    gate_wake(&k->gate);
    gate_give(&k->gate);
}

static void waker_start(struct waker *k, const struct wait *w)
{
    const struct wait_watch_spec spec = {
        .wait = w, .dir = scratch_dir(), .environ = plain_env, .fn = waker_fn, .arg = k};
    struct err err = {0};

    *k = (struct waker){0};
    gate_init(&k->gate);
    k->watch = wait_watch_start(&spec, &err);
    if (!k->watch)
        fail_msg("%s", err.text);
}

static void waker_wait(struct waker *k)
{
    gate_take(&k->gate);
    while (!k->count)
        gate_wait(&k->gate, /*deadline_ms=*/-1);
    gate_give(&k->gate);
}

/* It has woken once and for this reason (NULL: for a check-in), and does not again. */
static void waker_end(struct waker *k, const char *why)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(4096);
    bool is_over = wait_watch_is_over(k->watch, &said);

    wait_watch_stop(k->watch);
    assert_int_equal(k->count, 1);
    assert_int_equal(is_over, why != NULL);
    assert_string_equal(buf_cstr(&said), why ? why : "");
    gate_release(&k->gate);
}

static void wait_for_pid(struct wait *w, pid_t pid)
{
    char text[20];
    struct err err = {0};

    snprintf(text, sizeof(text), "%d", (int)pid);
    if (wait_parse(str_of(text), scratch_dir(), clock_wall_ms(), w, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_process(void **state)
{
    struct child c = child_start();
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct waker k;
    char why[80];

    (void)state;
    wait_for_pid(&w, c.pid);
    snprintf(why, sizeof(why), "process %d has ended", (int)c.pid);

    waker_start(&k, &w);
    assert_false(wait_watch_is_over(k.watch, NULL));
    child_end(&c);
    waker_wait(&k);
    waker_end(&k, why);

    waker_start(&k, &w); /* ended, but not yet taken note of */
    waker_wait(&k);
    waker_end(&k, why);

    child_reap(&c);
    waker_start(&k, &w); /* gone */
    waker_wait(&k);
    waker_end(&k, why);
}

/* Another process has the number now: the one that was meant is gone. */
static void test_process_number_again(void **state)
{
    struct child c = child_start();
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct waker k;
    char why[80];

    (void)state;
    wait_for_pid(&w, c.pid);
    w.pid_start--;
    snprintf(why, sizeof(why), "process %d has ended", (int)c.pid);
    waker_start(&k, &w);
    waker_wait(&k);
    waker_end(&k, why);
    child_end(&c);
    child_reap(&c);
}

static void wait_for(struct wait *w, const char *text)
{
    struct err err = {0};

    if (wait_parse(str_of(text), scratch_dir(), clock_wall_ms(), w, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    w->check_in_ms = 0;
}

static void test_file(void **state)
{
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct waker k;

    (void)state;
    wait_for(&w, "./flag");
    waker_start(&k, &w);
    put("flag", "one");
    waker_wait(&k);
    waker_end(&k, "file ./flag is there");

    wait_for(&w, "flag");
    waker_start(&k, &w);
    put("flag", "three");
    waker_wait(&k);
    waker_end(&k, "file flag has changed");

    wait_for(&w, "flag");
    waker_start(&k, &w);
    drop("flag");
    waker_wait(&k);
    waker_end(&k, "file flag is gone");
}

static void test_timer(void **state)
{
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct waker k;

    (void)state;
    wait_begin(&w, WAIT_TIME, clock_wall_ms());
    w.until_ms = w.since_ms + 50;
    waker_start(&k, &w);
    waker_wait(&k);
    assert_true(clock_wall_ms() >= w.until_ms);
    waker_end(&k, "the time is up");
}

/* A watch that is not wanted any more ends at once, whatever it was doing, and wakes no one. */
static void test_stop(void **state)
{
    static const char *const texts[] = {"nothing/there", "1d", "false", "sleep 1000", ":; sleep 9"};
    struct child c = child_start();

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(texts); i++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        struct waker k;

        if (i < ARRAY_LEN(texts))
            wait_for(&w, texts[i]);
        else
            wait_for_pid(&w, c.pid);
        for (int times = 0; times < 3; times++) {
            waker_start(&k, &w);
            wait_watch_stop(k.watch);
            assert_int_equal(k.count, 0);
            gate_release(&k.gate);
        }
    }
    wait_watch_stop(NULL);
    child_end(&c);
    child_reap(&c);
}

/* A command is stopped while it runs; nothing of it is left. */
static void test_stop_command(void **state)
{
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    CLEANUP(wait_release) struct wait begun = WAIT_INIT;
    CLEANUP(mem_freep) char *path = path_join(scratch_dir(), "pid");
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    struct waker k;
    struct waker file;
    struct err err = {0};
    int64_t pid;

    (void)state;
    wait_for(&begun, "./pid");
    wait_for(&w, "echo $$ >pid.new; mv pid.new pid; exec sleep 1000");
    waker_start(&k, &w);
    waker_start(&file, &begun);
    waker_wait(&file);
    waker_end(&file, "file ./pid is there");
    wait_watch_stop(k.watch);
    assert_int_equal(k.count, 0);
    gate_release(&k.gate);
    assert_int_equal(file_slurp(path, 100, &text, &err), 0);
    assert_int_equal(str_to_i64(str_trim(buf_str(&text)), &pid, &err), 0);
    proc_shutdown(); /* when it returns, all jobs are gone */
    assert_int_equal(kill((pid_t)pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    drop("pid");
}

/* ---- Under a virtual clock ---- */

static void test_virtual_timer(void **state)
{
    static const struct {
        enum wait_on on;
        const char *why;
    } rows[] = {
        {WAIT_TIME, "the time is up"},
        {WAIT_QUOTA, "the quota should have reset"},
        {WAIT_RETRY, "it is time for the next try"},
        {WAIT_BACKGROUND, "it has been waited for as long as it may be"},
    };

    (void)state;
    clock_make_virtual(1000000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(wait_release) struct wait w = WAIT_INIT;
        int64_t now = clock_wall_ms();
        struct waker k;

        wait_begin(&w, rows[i].on, now);
        w.check_in_ms = 0;
        w.until_ms = now + 5 * HOUR_MS;
        waker_start(&k, &w);
        waker_wait(&k);
        assert_int_equal(clock_wall_ms() - now, 5 * HOUR_MS);
        waker_end(&k, rows[i].why);
    }
}

/* After 30 min, 1 h, 2 h, 2 h: each wakes once, says that nothing is over, and sets the next. */
static void test_virtual_check_ins(void **state)
{
    static const int64_t minutes[] = {30, 60, 120, 120, 120};
    struct child c = child_start();
    CLEANUP(wait_release) struct wait w = WAIT_INIT;

    (void)state;
    wait_for_pid(&w, c.pid);
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        int64_t before = clock_wall_ms();
        struct waker k;

        waker_start(&k, &w);
        waker_wait(&k);
        assert_int_equal(clock_wall_ms() - before, minutes[i] * MINUTE_MS);
        waker_end(&k, NULL);
        wait_checked_in(&w, clock_wall_ms());
        assert_int_equal(w.check_ins, i + 1);
    }
    child_end(&c);
    child_reap(&c);
}

/* The command is run again and again, here without a pause, until it succeeds. */
static void test_virtual_command(void **state)
{
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    struct waker k;

    (void)state;
    wait_for(&w, "echo x >>tries; test $(wc -l <tries) -ge 3");
    waker_start(&k, &w);
    waker_wait(&k);
    waker_end(&k, "the command echo x >>tries; test $(wc -l <tries) -ge 3 succeeds");
    drop("tries");
}

static int setup(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove();
    proc_shutdown();
    return 0;
}

UNIT_TEST(wait)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_process),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_round),
        cmocka_unit_test(test_read_bad),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_check_ins),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_process_number_again),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_timer),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_command),
        cmocka_unit_test(test_virtual_timer),
        cmocka_unit_test(test_virtual_check_ins),
        cmocka_unit_test(test_virtual_command),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
