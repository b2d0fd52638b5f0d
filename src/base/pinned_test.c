/*
 * Paths that have links in them since: nothing beyond a link is opened or made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/str.h"
#include "unit.h"

static char root[64];

static int set_up(void **state)
{
    static const char *const folders[] = {"/w", "/w/d", "/out"};
    static const char *const files[] = {"/w/d/f", "/out/f"};
    static const char *const links[][2] = {{"../out", "/w/l"}, {"../../out/f", "/w/d/l"}};

    (void)state;
    snprintf(root, sizeof(root), "/tmp/pinned-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, folders[i] + 1);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, files[i] + 1);

        assert_int_equal(file_replace(path, STR("x"), 0600, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, links[i][1] + 1);

        assert_int_equal(symlink(links[i][0], path), 0);
    }
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* What errno is; 0: it is opened. */
static const struct {
    const char *path;
    int file;
    int folder;
} cases[] = {
    {"w/d/f", 0, 0},
    {"w/d", 0, 0},
    {"w/d/new", ENOENT, 0},
    {"w/new/f", ENOENT, ENOENT},
    {"w/l/f", ELOOP, ELOOP},
    {"w/l/new/f", ELOOP, ELOOP},
    {"w/l", ELOOP, 0},
    {"w/d/l", ELOOP, 0},
    {"w/d/f/x", ENOTDIR, ENOTDIR},
};

static void opened(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, cases[i].path);
        CLEANUP(fd_closep) int file = -1;
        CLEANUP(fd_closep) int folder = -1;
        int file_errno;
        int folder_errno;

        file = pinned_open(path, O_RDONLY);
        file_errno = file < 0 ? errno : 0;
        folder = pinned_folder(path, /*makes=*/false);
        folder_errno = folder < 0 ? errno : 0;
        if (file_errno != cases[i].file || folder_errno != cases[i].folder)
            fail_msg("%s: %d, %d", cases[i].path, file_errno, folder_errno);
    }
}

static void made(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(root, "w/a/b/f");
    CLEANUP(mem_freep) char *behind = path_join(root, "w/l/a/f");
    CLEANUP(mem_freep) char *outside = path_join(root, "out/a");
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    CLEANUP(fd_closep) int fd = pinned_folder(path, /*makes=*/true);

    (void)state;
    assert_true(fd >= 0);
    assert_true(file_is_dir(folder));
    assert_int_equal(file_replace_at(fd, "f", STR("y"), /*like=*/NULL, NULL), 0);
    assert_true(file_exists(path));
    assert_int_equal(pinned_folder(behind, /*makes=*/true), -1);
    assert_int_equal(errno, ELOOP);
    assert_false(file_exists(outside));
}

static void the_root(void **state)
{
    CLEANUP(fd_closep) int fd = pinned_open("/", O_PATH);

    (void)state;
    assert_true(fd >= 0);
}

UNIT_TEST(pinned)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened),
        cmocka_unit_test(made),
        cmocka_unit_test(the_root),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
