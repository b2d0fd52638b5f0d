/*
 * The contents of the file after each call, also when the disk is full; and several threads and
 * processes at one file.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/transcript/transcript.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static char *dir; /* of all tests */

static char *in_dir(const char *name)
{
    return path_join(dir, name);
}

static void assert_file(const char *path, const char *want)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct err err = {0};

    if (file_slurp(path, 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(buf_cstr(&text), want);
}

/* With SYNC_ALWAYS a power cut loses neither lines nor the file they are in. */
static void test_names_are_synced(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("home/projects/key/a.jsonl");
    struct transcript *t = transcript_new(path, SYNC_ALWAYS);
    struct err err = {0};
    int64_t before;

    (void)state;
    disk_test_mode("eio:1000");
    before = disk_syncs();
    assert_int_equal(transcript_message(t, STR("hello\n"), true, &err), 0);
    assert_int_equal(disk_syncs() - before, 1 + 3);
    assert_int_equal(transcript_message(t, STR("more\n"), true, &err), 0);
    assert_int_equal(disk_syncs() - before, 1 + 3 + 1);
    disk_test_mode(NULL);
    transcript_free(t);
}

static void test_file_appears_with_the_first_message(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("deep/er/a.jsonl");
    struct transcript *t = transcript_new(path, SYNC_NEVER);
    struct err err = {0};

    (void)state;
    assert_int_equal(transcript_fact(t, STR("title\n"), &err), 0);
    transcript_hold(t, STR("reminder\n"));
    assert_false(file_exists(path));
    assert_false(transcript_exists(t));
    assert_int_equal(transcript_message(t, STR("hello\n"), true, &err), 0);
    assert_true(transcript_exists(t));
    assert_file(path, "title\nreminder\nhello\n");
    /* From here on facts go in at once, and held lines stay held. */
    transcript_hold(t, STR("held\n"));
    assert_int_equal(transcript_fact(t, STR("fact\n"), &err), 0);
    assert_file(path, "title\nreminder\nhello\nfact\n");
    assert_int_equal(transcript_message(t, STR("more\n"), false, &err), 0);
    assert_file(path, "title\nreminder\nhello\nfact\nheld\nmore\n");
    transcript_free(t);
    /* An older file is there already. */
    t = transcript_new(path, SYNC_ALWAYS);
    assert_true(transcript_exists(t));
    assert_int_equal(transcript_fact(t, STR("again\n"), &err), 0);
    transcript_free(t);
    assert_file(path, "title\nreminder\nhello\nfact\nheld\nmore\nagain\n");
}

static void append(const char *path, const char *text)
{
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_torn_tail_is_completed(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("torn.jsonl");
    struct transcript *t;
    struct err err = {0};

    (void)state;
    assert_int_equal(file_replace(path, STR("whole\nto"), 0600, &err), 0);
    t = transcript_new(path, SYNC_TURN);
    assert_int_equal(transcript_message(t, STR("next\n"), true, &err), 0);
    assert_file(path, "whole\nto\nnext\n");
    append(path, "of others, to"); /* another process dies, after a line of ours */
    assert_int_equal(transcript_message(t, STR("again\n"), false, &err), 0);
    assert_int_equal(transcript_message(t, STR("last\n"), false, &err), 0);
    transcript_free(t);
    assert_file(path, "whole\nto\nnext\nof others, to\nagain\nlast\n");
}

static void test_disk_that_fails(void **state)
{
    static const struct {
        const char *fault, *file;
        int ok; /* bits of the three messages that went in */
    } rows[] = {
        {"eio:2", "one1\nheld\ntwotwo\nthree\n", 5}, /* what failed goes before the next */
        {"full:2", "one1\nheld\n", 1},               /* held is half of the text to write */
        {"full:1", "on", 0},
        {"eio:1", "one1\nheld\ntwotwo\nthree\n", 6},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = in_dir("fails.jsonl");
        struct transcript *t = transcript_new(path, SYNC_NEVER);
        struct err err = {0};
        int ok = 0;

        disk_test_mode(rows[i].fault);
        ok |= transcript_message(t, STR("one1\n"), false, &err) == 0;
        transcript_hold(t, STR("held\n"));
        ok |= (transcript_message(t, STR("twotwo\n"), false, &err) == 0) << 1;
        ok |= (transcript_message(t, STR("three\n"), false, &err) == 0) << 2;
        disk_test_mode(NULL);
        transcript_free(t);
        if (ok != rows[i].ok)
            fail_msg("%s: %d", rows[i].fault, ok);
        if (ok != 7)
            assert_true(strstr(err.text, "fails.jsonl") != NULL);
        if (strcmp(rows[i].fault, "full:2") == 0) {
            CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

            assert_int_equal(file_slurp(path, 1 << 20, &text, &err), 0);
            assert_true(str_starts(buf_str(&text), STR("one1\nheld")));
        } else {
            assert_file(path, rows[i].file);
        }
        unlink(path);
    }
}

static void test_attempt(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("attempt.jsonl");
    struct transcript *t = transcript_new(path, SYNC_NEVER);
    struct err err = {0};

    (void)state;
    disk_test_mode("eio:2");
    assert_int_equal(transcript_message(t, STR("one\n"), false, &err), 0);
    assert_int_equal(transcript_attempt(t, STR("not this\n"), &err), -1);
    disk_test_mode("eio:1");
    assert_int_equal(transcript_message(t, STR("two\n"), false, &err), -1);
    disk_test_mode("eio:1");
    assert_int_equal(transcript_attempt(t, STR("nor this\n"), &err), -1);
    disk_test_mode(NULL);
    assert_int_equal(transcript_attempt(t, STR("three\n"), &err), 0);
    transcript_free(t);
    assert_file(path, "one\ntwo\nthree\n");
}

/* Before there is a file a fact waits; after a message that could not be written it would never be
 * written, and that must be reported. */
static void test_fact_behind_failure(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("fact.jsonl");
    struct transcript *t = transcript_new(path, SYNC_NEVER);
    struct err err = {0};

    (void)state;
    assert_int_equal(transcript_fact(t, STR("title\n"), &err), 0);
    disk_test_mode("eio:1");
    assert_int_equal(transcript_message(t, STR("one\n"), false, &err), -1);
    disk_test_mode("eio:1");
    assert_int_equal(transcript_fact(t, STR("never\n"), &err), -1);
    disk_test_mode(NULL);
    assert_int_equal(transcript_fact(t, STR("mode\n"), &err), 0);
    transcript_free(t);
    assert_file(path, "title\none\nmode\n");
}

/* Half a copy is none: nothing stays of it, and the next try makes it. */
static void test_copy(void **state)
{
    static const char *const faults[] = {"full:1", "eio:1"};
    CLEANUP(mem_freep) char *path = in_dir("copy.jsonl");
    CLEANUP(mem_freep) char *made = in_dir("copy.jsonl.new");
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct transcript *t = transcript_new(path, SYNC_ALWAYS);

        assert_int_equal(file_replace(made, STR("of one that was killed"), 0600, &err), 0);
        transcript_copy(t, STR("copied\nalso\n"));
        assert_false(file_exists(path));
        disk_test_mode(faults[i]);
        assert_int_equal(transcript_message(t, STR("one\n"), false, &err), -1);
        assert_non_null(strstr(err.text, "copy.jsonl"));
        disk_test_mode(NULL);
        assert_false(file_exists(path));
        assert_false(file_exists(made));
        assert_int_equal(transcript_message(t, STR("two\n"), false, &err), 0);
        assert_false(file_exists(made));
        assert_int_equal(transcript_message(t, STR("three\n"), true, &err), 0);
        transcript_free(t);
        assert_file(path, "copied\nalso\none\ntwo\nthree\n");
        unlink(path);
    }
}

struct writer {
    struct transcript *t;
    char name;
};

static void write_many(void *arg)
{
    struct writer *w = arg;
    char line[2000];

    memset(line, w->name, sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 200; i++)
        assert_int_equal(
            transcript_message(w->t, str_make(line, sizeof(line)), i % 50 == 0, /*err=*/NULL), 0);
}

/* Two processes with two threads each: every line is whole. */
static void test_nobody_interleaves(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("many.jsonl");
    CLEANUP(buf_release) struct buf text = BUF_INIT(4 << 20);
    struct err err = {0};
    struct str rest, line;
    size_t count[256] = {0};
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    {
        struct transcript *t = transcript_new(path, SYNC_TURN);
        struct writer w[2] = {{t, child ? 'a' : 'c'}, {t, child ? 'b' : 'd'}};
        struct thread *threads[2];
        int status;

        for (int i = 0; i < 2; i++)
            threads[i] = thread_start("writer", write_many, &w[i], /*err=*/NULL);
        for (int i = 0; i < 2; i++)
            thread_join(threads[i]);
        transcript_free(t);
        if (!child)
            _exit(0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(file_slurp(path, 4 << 20, &text, &err), 0);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        assert_int_equal(line.len, 1999);
        for (size_t i = 1; i < line.len; i++)
            assert_int_equal(line.ptr[i], line.ptr[0]);
        count[(unsigned char)line.ptr[0]]++;
    }
    for (int c = 'a'; c <= 'd'; c++)
        assert_int_equal(count[c], 200);
}

static void mirror_into(void *arg, struct str lines)
{
    buf_add(arg, lines);
}

static void test_mirror_sees_what_is_written(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("mirrored.jsonl");
    CLEANUP(buf_release) struct buf seen = BUF_INIT(1 << 12);
    struct transcript *t = transcript_new(path, SYNC_NEVER);

    (void)state;
    transcript_mirror(t, mirror_into, &seen);
    transcript_hold(t, STR("a\n"));
    assert_int_equal(transcript_message(t, STR("b\n"), false, NULL), 0);
    assert_int_equal(transcript_fact(t, STR("c\n"), NULL), 0);
    assert_string_equal(buf_cstr(&seen), "a\nb\nc\n");
    transcript_free(t);
}

static void test_says_why(void **state)
{
    struct transcript *t = transcript_new("/proc/none/a.jsonl", SYNC_NEVER);
    struct err err = {0};

    (void)state;
    assert_int_equal(transcript_message(t, STR("b\n"), false, &err), -1);
    assert_true(strstr(err.text, "/proc/none") != NULL);
    assert_false(transcript_exists(t));
    transcript_free(t);
}

/* Another descriptor is another holder, also in one process. */
static int lock_as_another(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

/* A process that never releases the lock: it is named, nothing hangs, and nothing is lost. */
static void test_locked_for_ever(void **state)
{
    CLEANUP(mem_freep) char *path = in_dir("locked.jsonl");
    struct transcript *t = transcript_new(path, SYNC_NEVER);
    struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct err err = {0};
    char pid[40];
    int fd;

    (void)state;
    assert_int_equal(transcript_message(t, STR("a\n"), false, &err), 0);
    fd = lock_as_another(path);
    transcript_patience(t, /*max_wait_ms=*/20, /*cancel=*/NULL);
    assert_int_equal(transcript_message(t, STR("b\n"), false, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    snprintf(pid, sizeof(pid), "(pid %d, ", (int)getpid());
    if (!strstr(err.text, pid) || !strstr(err.text, path))
        fail_msg("%s", err.text);
    transcript_patience(t, /*max_wait_ms=*/INT64_MAX, cancel);
    cancel_set(cancel);
    assert_int_equal(transcript_message(t, STR("c\n"), false, &err), -1);
    close(fd);
    assert_int_equal(transcript_message(t, STR("d\n"), false, &err), 0);
    assert_file(path, "a\nb\nc\nd\n");
    cancel_unref(cancel);
    transcript_free(t);
}

static int make_dir(void **state)
{
    char name[] = "/tmp/transcript_test_XXXXXX";

    (void)state;
    if (!mkdtemp(name))
        return -1;
    dir = mem_dup(name, strlen(name));
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"deep/er/a.jsonl", "deep/er",    "deep",
                                        "torn.jsonl",      "many.jsonl", "mirrored.jsonl",
                                        "locked.jsonl"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = in_dir(names[i]);

        (void)remove(path);
    }
    (void)rmdir(dir);
    mem_freep(&dir);
    return 0;
}

UNIT_TEST(transcript)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_synced),
        cmocka_unit_test(test_file_appears_with_the_first_message),
        cmocka_unit_test(test_torn_tail_is_completed),
        cmocka_unit_test(test_disk_that_fails),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_attempt),
        cmocka_unit_test(test_fact_behind_failure),
        cmocka_unit_test(test_nobody_interleaves),
        cmocka_unit_test(test_locked_for_ever),
        cmocka_unit_test(test_mirror_sees_what_is_written),
        cmocka_unit_test(test_says_why),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
