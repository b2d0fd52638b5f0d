/*
 * Holds, with real processes where it matters: killed ones, ones with children, ones that race.
 */
#include "store/hold.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "unit.h"

#define SESSION "0b6c1d8e-0000-4000-8000-000000000001"

static char home[] = "/tmp/tenax-hold-XXXXXX";

static void lock_path(char out[static 200])
{
    snprintf(out, 200, "%s/run/%s.lock", home, SESSION);
}

static struct hold *take(void)
{
    struct hold *h = NULL;
    struct err err = {0};

    if (hold_take(home, SESSION, "/s.sock", &h, &err) < 0)
        fail_msg("%s", err.text);
    return h;
}

static void test_one_at_a_time(void **state)
{
    struct hold *h = take();
    struct hold *second = NULL;
    struct holder who = {0};
    struct err err = {0};
    char pid[40];
    char path[200];
    struct stat st;

    (void)state;
    assert_int_equal(hold_take(home, SESSION, "", &second, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    assert_null(second);
    snprintf(pid, sizeof(pid), "pid %d on ", (int)getpid());
    if (!strstr(err.text, pid) || !strstr(err.text, "--fork-session") ||
        !strstr(err.text, SESSION) || !strstr(err.text, ", since 2"))
        fail_msg("%s", err.text);

    assert_int_equal(hold_look(home, SESSION, /*ret=*/NULL, &err), 1);
    assert_int_equal(hold_look(home, SESSION, &who, &err), 1);
    assert_int_equal(who.pid, getpid());
    assert_string_equal(buf_cstr(&who.socket), "/s.sock");
    assert_true(who.host.len > 0);
    assert_true(clock_wall_ms() - who.since_ms < 3600 * 1000);
    holder_release(&who);

    lock_path(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    hold_give(h);
    assert_false(file_exists(path));
    assert_int_equal(hold_look(home, SESSION, &who, &err), 0);
    hold_give(take());
    hold_give(NULL);
}

/* One byte through a pipe, or its end. */
static bool hear(int fd)
{
    char byte;

    return read(fd, &byte, 1) == 1;
}

/* A process that holds the session, starts an ordinary `cat`, and waits for its end. */
static pid_t start_holder(int *ret_cat_input)
{
    int ready[2];
    int input[2];
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        struct hold *h = NULL;

        if (hold_take(home, SESSION, "", &h, NULL) < 0)
            _exit(1);
        if (fork() == 0) {
            dup2(input[0], STDIN_FILENO);
            dup2(ready[1], STDOUT_FILENO);
            execlp("cat", "cat", (char *)NULL);
            _exit(1);
        }
        for (;;)
            pause();
    }
    close(input[0]);
    close(ready[1]);
    assert_int_equal(write(input[1], "x", 1), 1);
    assert_true(hear(ready[0])); /* cat runs: the lock was taken before, and exec has closed it */
    close(ready[0]);
    *ret_cat_input = input[1];
    return pid;
}

static void test_killed(void **state)
{
    struct holder who = {0};
    struct err err = {0};
    char path[200];
    int cat_input;
    pid_t pid = start_holder(&cat_input);

    (void)state;
    assert_int_equal(hold_look(home, SESSION, &who, &err), 1);
    assert_int_equal(who.pid, pid);
    holder_release(&who);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);

    lock_path(path);
    assert_true(file_exists(path)); /* stale, and its child lives on */
    assert_int_equal(hold_look(home, SESSION, &who, &err), 0);
    hold_give(take());
    close(cat_input);
}

/* A copy of the descriptor in a fork that has not come to its exec. */
static void test_given_back_with_a_copy_alive(void **state)
{
    struct hold *h = take();
    int end[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(end[1]);
        _exit(hear(end[0]));
    }
    hold_give(h);
    hold_give(take());
    close(end[1]);
    waitpid(pid, NULL, 0);
}

/* A lock file that was overwritten or removed does not hide its holder. */
static void test_holder_by_the_kernel(void **state)
{
    static const char forged[] = "{\"pid\":1,\"host\":\"x\",\"socket\":\"/x\",\"since\":5}\n";
    char path[200];
    int cat_input;
    pid_t pid = start_holder(&cat_input);

    (void)state;
    lock_path(path);
    for (int i = 0; i < 3; i++) {
        struct holder who = {0};

        if (i == 1) {
            int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

            assert_int_equal(write(fd, forged, sizeof(forged) - 1), sizeof(forged) - 1);
            close(fd);
        }
        if (i == 2) {
            assert_int_equal(unlink(path), 0);
            assert_int_equal(hold_look(home, SESSION, NULL, NULL), 0);
        }
        assert_int_equal(hold_seek(home, SESSION, &who, NULL), 1);
        assert_int_equal(who.pid, pid);
        assert_true(str_ends(buf_str(&who.socket), STR(".sock")));
        holder_release(&who);
    }
    close(cat_input);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(hold_seek(home, SESSION, NULL, NULL), 0);
}

/* The name of a dead process must never be shown for a live one. */
static void test_stale_text(void **state)
{
    struct hold *h;
    struct holder who = {0};
    char path[200];

    (void)state;
    lock_path(path);
    assert_int_equal(file_replace(path,
                                  STR("{\"pid\":1,\"host\":\"elsewhere-and-very-long-name\","
                                      "\"socket\":\"/gone/gone/gone/gone/gone\",\"since\":5}\n"),
                                  0600, NULL),
                     0);
    assert_int_equal(hold_look(home, SESSION, &who, NULL), 0);
    h = take();
    assert_int_equal(hold_look(home, SESSION, &who, NULL), 1);
    assert_int_equal(who.pid, getpid());
    holder_release(&who);
    hold_give(h);
}

/* Garbage in a file that is held: known to be held, not by whom. */
static void test_unnamed_holder(void **state)
{
    struct hold *h = take();
    struct hold *second = NULL;
    struct holder who = {0};
    struct err err = {0};
    char path[200];
    int fd;

    (void)state;
    lock_path(path);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "{\"pid\":", 7), 7);
    close(fd);
    assert_int_equal(hold_look(home, SESSION, &who, &err), 1);
    assert_int_equal(who.pid, 0);
    holder_release(&who);
    assert_int_equal(hold_take(home, SESSION, "", &second, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    hold_give(h);
}

static void test_list(void **state)
{
    CLEANUP(strv_release) struct strv held = STRV_INIT;
    struct hold *h = take();
    char path[200];

    (void)state;
    snprintf(path, sizeof(path), "%s/run/stale.lock", home);
    assert_int_equal(file_replace(path, STR("{}"), 0600, NULL), 0);
    hold_list(home, &held);
    assert_int_equal(held.len, 1);
    assert_string_equal(held.ptr[0], SESSION);
    hold_give(h);
    unlink(path);
    strv_clear(&held);
    hold_list(home, &held);
    assert_int_equal(held.len, 0);
    hold_list("/proc/nowhere", &held);
}

static const char *const bad_names[] = {"", ".", "../x", "a/b", ".hidden"};

static void test_bad_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
        struct hold *h = NULL;
        struct holder who = {0};
        struct err err = {0};

        if (hold_take(home, bad_names[i], "", &h, &err) == 0 || err.code != ERR_BAD_INPUT ||
            hold_look(home, bad_names[i], &who, NULL) != -1)
            fail_msg("'%s' was taken", bad_names[i]);
    }
}

static void test_home_that_cannot_be_written(void **state)
{
    struct hold *h = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(hold_take("/proc/nowhere", SESSION, "", &h, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(hold_look("/proc/nowhere", SESSION, &(struct holder){0}, &err), 0);
}

#define RACERS 8
#define RACES 300

/* Takes and gives as fast as it can. The holder makes a file that must not exist yet. */
static int race(void)
{
    char mark[200];
    struct holder who = {0};

    snprintf(mark, sizeof(mark), "%s/inside", home);
    for (int won = 0; won < RACES;) {
        struct hold *h = NULL;
        struct err err = {0};
        int fd;

        if (hold_look(home, SESSION, &who, NULL) < 0)
            return 4;
        holder_release(&who);
        if (hold_take(home, SESSION, "", &h, &err) < 0) {
            if (err.code != ERR_BUSY)
                return 1;
            continue;
        }
        fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
            return 2;
        close(fd);
        if (unlink(mark) < 0)
            return 3;
        hold_give(h);
        won++;
    }
    return 0;
}

static void test_race(void **state)
{
    pid_t racers[RACERS];

    (void)state;
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        if (racers[i] == 0)
            _exit(race());
    }
    for (int i = 0; i < RACERS; i++) {
        int status;

        assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
        if (status)
            fail_msg("racer %d ended with %#x", i, status);
    }
}

static int setup(void **state)
{
    char run[200];

    (void)state;
    if (!mkdtemp(home))
        return -1;
    snprintf(run, sizeof(run), "%s/run", home);
    return file_mkdirs(run, 0700, NULL);
}

static int teardown(void **state)
{
    char path[200];

    (void)state;
    lock_path(path);
    unlink(path);
    snprintf(path, sizeof(path), "%s/run", home);
    rmdir(path);
    return rmdir(home);
}

UNIT_TEST(hold)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_given_back_with_a_copy_alive),
        cmocka_unit_test(test_holder_by_the_kernel),
        cmocka_unit_test(test_stale_text),
        cmocka_unit_test(test_unnamed_holder),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_home_that_cannot_be_written),
        cmocka_unit_test(test_race),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
