/* file: reading with limits, replacing without loss, folders, paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "unit.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/tenax-file-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"text", "fifo", "a/b/c",      "a/b",  "a",     "d/f",
                                        "d",    "to-d", "deep/to-up", "deep", "chain", "nowhere",
                                        "loop", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = path_join(folder, names[i]);

        remove(path);
        mem_freep(&path);
    }
    return 0;
}

static void replaces_and_reads_back(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(folder, "text");
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    struct err err = {0};
    struct stat st;

    (void)state;
    assert_int_equal(file_slurp(path, 100, &text, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(file_replace(path, STR("one"), 0600, &err), 0);
    assert_int_equal(file_replace(path, STR("two\0three"), 0640, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(file_slurp(path, 9, &text, &err), 0);
    assert_int_equal(text.len, 9);
    assert_memory_equal(text.ptr, "two\0three", 9);
    assert_int_equal(file_slurp(path, 8, &text, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_int_equal(text.len, 9); /* untouched on failure */
}

static void overwrites_in_place(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(folder, "over");
    CLEANUP(mem_freep) char *link = path_join(folder, "over-link");
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    struct err err = {0};
    struct stat before;
    struct stat after;

    (void)state;
    assert_int_equal(file_overwrite(path, STR("a longer one"), 0600, &err), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0600);
    assert_int_equal(file_overwrite(path, STR("short"), 0600, &err), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(file_slurp(path, 100, &text, &err), 0);
    assert_string_equal(buf_cstr(&text), "short");
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(file_overwrite(link, STR("x"), 0600, &err), -1);
    unlink(link);
}

static void odd_files_are_refused(void **state)
{
    CLEANUP(mem_freep) char *fifo = path_join(folder, "fifo");
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    struct err err = {0};

    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_slurp(fifo, 100, &text, &err), -1); /* and does not hang */
    assert_non_null(strstr(err.text, "pipe"));
    assert_int_equal(file_slurp(folder, 100, &text, &err), -1);
    assert_non_null(strstr(err.text, "directory"));
}

static void a_full_disk_leaves_the_old_text(void **state)
{
    struct err err = {0};

    (void)state;
    /* The folder of /proc/self cannot take a new file: as full as a disk can be. */
    assert_int_equal(file_replace("/proc/self/comm2", STR("x"), 0600, &err), -1);
    assert_int_equal(err.code, ERR_IO);
}

static void makes_folders(void **state)
{
    CLEANUP(mem_freep) char *deep = path_join(folder, "a/b/c");
    CLEANUP(mem_freep) char *file = path_join(folder, "text");
    struct err err = {0};

    (void)state;
    assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
    assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
    assert_true(file_is_dir(deep));
    assert_int_equal(file_replace(file, STR("x"), 0600, &err), 0);
    assert_int_equal(file_mkdirs(file, 0700, &err), -1);
}

static void paths_walk_by_name(void **state)
{
    static const struct {
        const char *from, *path, *want;
    } rows[] = {
        {"/a", "b/c", "/a/b/c"},    {"/a", "../b/.", "/b"}, {"/a//b/", "./c//d/", "/a/b/c/d"},
        {"/a", "../../..", ""},     {"", "/", ""},          {"/a", "/b/c", "/a/b/c"},
        {"/a", "/b/.c", "/a/b/.c"}, {"/a", "/b/..", "/a"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        path_walk(&path, str_of(rows[i].from));
        path_walk(&path, str_of(rows[i].path));
        assert_string_equal(buf_cstr(&path), rows[i].want);
    }
}

/* What does not fit is cut at a name. */
static void walks_stop_at_the_limit(void **state)
{
    static const char *const paths[] = {"/abc/def", "abc/def", "/abc/def/", "/abc/./def"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(7);

        path_walk(&path, str_of(paths[i]));
        assert_string_equal(buf_cstr(&path), "/abc/");
        assert_true(path.over);
    }
}

/* Links are followed where they are, also to missing targets; the rest goes by name. */
static void paths_are_made_real(void **state)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"d/f", "/d/f"},
        {"d//./f/", "/d/f"},
        {"to-d/f", "/d/f"},
        {"to-d/../new", "/new"}, /* from where the link leads */
        {"deep/to-up/new", "/d/new"},
        {"chain/f", "/d/f"},
        {"nowhere", "/none/at/all"},
        {"nowhere/x", "/none/at/all/x"},
        {"none/x/y", "/none/x/y"},
        {"none/../to-d/f", "/d/f"},
        {"d/f/x", "/d/f/x"}, /* below a file */
        {"loop", "/loop"},
    };
    static const char *const links[][2] = {
        {"to-d", "d"},
        {"deep/to-up", "../d"},
        {"chain", "deep/../to-d"},
        {"nowhere", "none/at/all"},
        {"loop", "loop"},
    };
    CLEANUP(mem_freep) char *root = path_real(folder);
    CLEANUP(mem_freep) char *slash = path_real("/");
    CLEANUP(mem_freep) char *here = path_real("no-such-file");
    CLEANUP(mem_freep) char *file = path_join(root, "d/f");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(mem_freep) char *made = path_join(root, i ? "deep" : "d");

        assert_int_equal(mkdir(made, 0700), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *link = path_join(root, links[i][0]);

        assert_int_equal(symlink(links[i][1], link), 0);
    }
    assert_int_equal(file_replace(file, STR("x"), 0600, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, rows[i].path);
        CLEANUP(mem_freep) char *real = path_real(path);

        if (strncmp(real, root, strlen(root)) != 0 ||
            strcmp(real + strlen(root), rows[i].want) != 0)
            fail_msg("%s is %s", rows[i].path, real);
    }
    assert_string_equal(slash, "/");
    assert_int_equal(here[0], '/');
    assert_string_equal(path_base(here), "no-such-file");
}

static void paths(void **state)
{
    const struct {
        const char *dir, *name, *want, *dirname, *base;
    } rows[] = {
        {"/a", "b", "/a/b", "/a", "b"},
        {"/a/", "b", "/a/b", "/a", "b"},
        {"/a", "/b", "/b", "/", "b"},
        {"", "b", "b", ".", "b"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = path_join(rows[i].dir, rows[i].name);
        CLEANUP(mem_freep) char *dir = path_dirname(path);

        assert_string_equal(path, rows[i].want);
        assert_string_equal(dir, rows[i].dirname);
        assert_string_equal(path_base(path), rows[i].base);
    }
    for (int i = 0; i < 2; i++) {
        CLEANUP(mem_freep) char *home = path_expand_home(i ? "~" : "~/x");
        CLEANUP(mem_freep) char *plain = path_expand_home("~user/x");

        assert_int_equal(home[0], '/');
        assert_string_equal(plain, "~user/x");
    }
}

/* A parent that runs an event loop hands us its pipe non-blocking; full is not broken. */
static void a_full_pipe_is_waited_for(void **state)
{
    size_t len = (size_t)1 << 20; /* more than a pipe holds */
    char *bytes = calloc(1, len);
    int fds[2];
    int status;
    pid_t reader;

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        size_t got = 0;
        char part[4096];
        ssize_t n;

        close(fds[1]);
        fcntl(fds[0], F_SETFL, 0);
        for (n = 1; n > 0; got += (size_t)(n > 0 ? n : 0))
            n = read(fds[0], part, sizeof(part));
        _exit(got == len ? 0 : 1);
    }
    close(fds[0]);
    assert_int_equal(fd_write_all(fds[1], str_make(bytes, len), NULL), 0);
    close(fds[1]);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    free(bytes);
}

UNIT_TEST(file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_and_reads_back),
        cmocka_unit_test(overwrites_in_place),
        cmocka_unit_test(odd_files_are_refused),
        cmocka_unit_test(a_full_disk_leaves_the_old_text),
        cmocka_unit_test(makes_folders),
        cmocka_unit_test(paths),
        cmocka_unit_test(paths_walk_by_name),
        cmocka_unit_test(walks_stop_at_the_limit),
        cmocka_unit_test(paths_are_made_real),
        cmocka_unit_test(a_full_pipe_is_waited_for),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
