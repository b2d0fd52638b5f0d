/*
 * Files created and replaced whole, and everything that keeps a model from harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/wait.h>

#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

static bool write_file(struct tool_check *t, const char *file, const char *content)
{
    return tool_check_runf(t, &tool_write_entry, "{\"file_path\":\"%s\",\"content\":\"%s\"}", file,
                           content);
}

static void read_file(struct tool_check *t, const char *file)
{
    if (!tool_check_runf(t, &tool_read_entry, "{\"file_path\":\"%s\"}", file))
        fail_msg("%s", buf_cstr(&t->result.text));
}

static void a_new_file(void **state)
{
    struct tool_check t;
    const struct json *data;
    mode_t mask = umask(027);
    struct stat st;

    (void)state;
    tool_check_begin(&t);
    assert_true(write_file(&t, "a/b/c.txt", "one\\ntwo\\n"));
    ASSERT_SAYS(&t, "Created");
    ASSERT_SAYS(&t, "(2 lines)");
    data = tool_check_data(&t);
    assert_true(str_is(json_get_str(data, "type"), "create"));
    assert_true(str_is(json_get_str(data, "content"), "one\ntwo\n"));
    assert_true(str_is(json_get_str(data, "filePath"), tool_check_path(&t, "a/b/c.txt")));
    assert_true(json_is(json_get(data, "originalFile"), JSON_NULL));
    assert_int_equal(json_len(json_get(data, "structuredPatch")), 0);
    assert_int_equal(stat(tool_check_path(&t, "a/b/c.txt"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(stat(tool_check_path(&t, "a/b"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    /* It knows what it has written. */
    assert_true(write_file(&t, "a/b/c.txt", "one\\n2\\n"));
    data = tool_check_data(&t);
    assert_true(str_is(json_get_str(data, "type"), "update"));
    assert_true(str_is(json_get_str(data, "originalFile"), "one\ntwo\n"));
    assert_true(str_is(json_str(json_path(data, "structuredPatch.0.lines.2")), "+2"));
    umask(mask);
    tool_check_end(&t);
}

static size_t names_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void refusals_leave_the_old_content(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "old", STR("old\n"));
    assert_false(write_file(&t, "old", "new"));
    ASSERT_SAYS(&t, "has not been read yet");
    read_file(&t, "old");
    tool_check_put(&t, "old", STR("newer\n"));
    assert_false(write_file(&t, "old", "new"));
    ASSERT_SAYS(&t, "has changed since it was read");
    assert_true(str_is(tool_check_get(&t, "old"), "newer\n"));
    assert_false(write_file(&t, "old/x", "new"));
    ASSERT_SAYS(&t, "old");
    assert_false(write_file(&t, ".", "new"));
    ASSERT_SAYS(&t, "is a directory");
    assert_false(write_file(&t, "folder/", "new"));
    ASSERT_SAYS(&t, "must name a file");
    assert_int_equal(mkfifo(tool_check_path(&t, "fifo"), 0600), 0);
    assert_false(write_file(&t, "fifo", "new"));
    ASSERT_SAYS(&t, "not a file");
    assert_false(write_file(&t, "a\\u0000", "new"));
    assert_false(tool_check_run(&t, &tool_write_entry, "{\"path\":\"a\",\"content\":\"\"}"));
    ASSERT_SAYS(&t, "'file_path' is required");
    cancel_set(t.cancel);
    assert_false(write_file(&t, "never", "new"));
    assert_int_equal(t.failed, ERR_CANCELLED);
    assert_int_equal(names_in(t.dir), 2); /* no temporary files either */
    tool_check_end(&t);
}

static void mode_links_and_empty_files(void **state)
{
    struct tool_check t;
    struct stat st;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "run.sh", STR("#!/bin/sh\n"));
    chmod(tool_check_path(&t, "run.sh"), 0711);
    if (geteuid() == 0)
        assert_int_equal(chown(tool_check_path(&t, "run.sh"), 12, 34), 0);
    assert_int_equal(symlink("run.sh", tool_check_path(&t, "link")), 0);
    read_file(&t, "link");
    assert_true(write_file(&t, "link", "new\\n"));
    assert_int_equal(lstat(tool_check_path(&t, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(tool_check_path(&t, "run.sh"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    if (geteuid() == 0) {
        assert_int_equal(st.st_uid, 12);
        assert_int_equal(st.st_gid, 34);
    }
    assert_true(str_is(tool_check_get(&t, "run.sh"), "new\n"));
    /* A link to a missing target creates the target. */
    assert_int_equal(symlink("there/later", tool_check_path(&t, "ahead")), 0);
    assert_true(write_file(&t, "ahead", "x"));
    assert_true(str_is(tool_check_get(&t, "there/later"), "x"));
    /* Nothing can be lost in an empty file. */
    tool_check_put(&t, "empty", STR(""));
    assert_true(write_file(&t, "empty", "x"));
    tool_check_end(&t);
}

/* In a child that is not root: root may write everything. */
static void what_may_not_be_written(void **state)
{
    struct tool_check t;
    int status = -1;
    pid_t pid;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "locked", STR("x"));
    tool_check_put(&t, "dir/in", STR("x"));
    if (geteuid() == 0) {
        assert_int_equal(chown(t.dir, 12, 34), 0);
        assert_int_equal(chown(tool_check_path(&t, "locked"), 12, 34), 0);
    }
    chmod(tool_check_path(&t, "locked"), 0444);
    chmod(tool_check_path(&t, "dir"), 0555);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        bool good = geteuid() != 0 || (setgid(34) == 0 && setuid(12) == 0);

        read_file(&t, "locked");
        good &= !write_file(&t, "locked", "y");
        good &= str_has(tool_check_text(&t), STR("Permission denied"));
        good &= !write_file(&t, "dir/new", "y");
        good &= str_has(tool_check_text(&t), STR("Permission denied"));
        good &= str_is(tool_check_get(&t, "locked"), "x");
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    chmod(tool_check_path(&t, "dir"), 0755);
    tool_check_end(&t);
}

static const struct {
    struct str before;
    const char *content;
    struct str after;
} outside_cases[] = {
    {STR_INIT("a\r\nb\r\n"), "1\\n2\\n", STR_INIT("1\r\n2\r\n")},
    {STR_INIT("a\r\nb\r\n"), "1\\r\\n2\\n", STR_INIT("1\r\n2\n")}, /* it knows what it does */
    {STR_INIT("a\r\nb\n"), "1\\n2\\n", STR_INIT("1\n2\n")},        /* mixed: no rule to keep */
    {STR_INIT("\xff\xfe"
              "a\0"),
     "\\u00e9", STR_INIT("\xff\xfe\xe9\0")},
    {STR_INIT("\xef\xbb\xbfx"), "y", STR_INIT("\xef\xbb\xbfy")},
    {STR_INIT("\xef\xbb\xbfx"), "\\ufeffy", STR_INIT("\xef\xbb\xbfy")},
};

static void the_outside_is_kept(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(outside_cases); i++) {
        tool_check_put(&t, "a", outside_cases[i].before);
        read_file(&t, "a");
        assert_true(write_file(&t, "a", outside_cases[i].content));
        if (!str_eq(tool_check_get(&t, "a"), outside_cases[i].after))
            fail_msg("row %zu", i);
    }
    tool_check_end(&t);
}

static void limits(void **state)
{
    struct tool_check t;
    struct buf args = BUF_INIT(BUF_NO_LIMIT);
    char name[300];

    (void)state;
    tool_check_begin(&t);
    buf_adds(&args, "{\"file_path\":\"big\",\"content\":\"");
    memset(buf_room(&args, (size_t)11 << 20), 'x', (size_t)11 << 20);
    buf_grown(&args, (size_t)11 << 20);
    buf_adds(&args, "\"}");
    assert_false(tool_check_run(&t, &tool_write_entry, buf_cstr(&args)));
    ASSERT_SAYS(&t, "larger than 10 MB");
    assert_false(file_exists(tool_check_path(&t, "big")));
    buf_release(&args);
    /* The longest name there can be still has room for a temporary one beside it. */
    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    assert_true(write_file(&t, name, "x"));
    name[255] = 'n';
    name[256] = '\0';
    assert_false(write_file(&t, name, "x"));
    tool_check_end(&t);
}

UNIT_TEST(write)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file),
        cmocka_unit_test(refusals_leave_the_old_content),
        cmocka_unit_test(mode_links_and_empty_files),
        cmocka_unit_test(the_outside_is_kept),
        cmocka_unit_test(what_may_not_be_written),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
