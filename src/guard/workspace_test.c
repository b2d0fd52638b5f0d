/*
 * Paths as a model writes them, folders with links, files seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "guard/workspace.h"
#include "unit.h"

static const struct {
    const char *path;
    const char *want;
} resolve_cases[] = {
    {"a.c", "/w/p/a.c"},
    {"./a.c", "/w/p/a.c"},
    {"../a.c", "/w/a.c"},
    {"/x//y/./z", "/x/y/z"},
    {"/../..", "/"},
    {"", "/w/p"},
    {"../../../../e", "/e"},
    {"/", "/"},
    {"a/b/../../c", "/w/p/c"},
    {"/w/p/../q/", "/w/q"},
    {".", "/w/p"},
    {"~x", "/w/p/~x"},
};

static void resolve(void **state)
{
    struct workspace *w = workspace_new("/w/p", "/nowhere", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(resolve_cases) / sizeof(resolve_cases[0]); i++) {
        char *got = workspace_resolve(w, str_of(resolve_cases[i].path));

        if (strcmp(got, resolve_cases[i].want) != 0)
            fail_msg("'%s': got '%s', want '%s'", resolve_cases[i].path, got,
                     resolve_cases[i].want);
        mem_freep(&got);
    }
    workspace_unref(w);
}

static void shorten(void **state)
{
    static const struct {
        const char *path;
        const char *want;
    } cases[] = {{"/w/p/a.c", "a.c"}, {"/w/p", "."}, {"/w/pa", "/w/pa"}, {"/w", "/w"}};
    struct workspace *w = workspace_new("/w/p", "/nowhere", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = workspace_shorten(w, cases[i].path);

        assert_string_equal(got, cases[i].want);
        mem_freep(&got);
    }
    workspace_unref(w);
}

static void contains_follows_links(void **state)
{
    char root[] = "/tmp/tenax-workspace-XXXXXX";
    char path[200];
    char other[200];
    struct workspace *w;

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/in", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(other, sizeof(other), "%s/in/out", root);
    assert_int_equal(symlink("/", other), 0);
    w = workspace_new(path, root, NULL);
    assert_true(workspace_contains(w, path));
    snprintf(other, sizeof(other), "%s/in/new/file", root);
    assert_true(workspace_contains(w, other));
    snprintf(other, sizeof(other), "%s/in/out/etc/passwd", root);
    assert_false(workspace_contains(w, other));
    snprintf(other, sizeof(other), "%s/in/out/not-there/x", root);
    assert_false(workspace_contains(w, other));
    snprintf(other, sizeof(other), "%s/inside", root);
    assert_false(workspace_contains(w, other));
    workspace_add_dir(w, other);
    assert_true(workspace_contains(w, other));
    workspace_unref(w);
    snprintf(other, sizeof(other), "%s/in/out", root);
    unlink(other);
    rmdir(path);
    rmdir(root);
}

static void seen_files(void **state)
{
    struct workspace *w = workspace_new("/w", "/nowhere", NULL);
    struct stat st = {.st_size = 3, .st_mtim = {.tv_sec = 5, .tv_nsec = 7}};
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    struct seen_file file;

    (void)state;
    assert_false(workspace_seen(w, "/w/a", &file));
    workspace_saw(w, "/w/a", &st, STR("abc"), false);
    workspace_saw(w, "/w/b", &st, STR("abd"), true);
    workspace_saw(w, "/w/a", &st, STR("abc"), false);
    assert_true(workspace_seen(w, "/w/a", &file));
    assert_int_equal(file.mtime_ns, 5000000007);
    assert_true(file.hash == seen_hash(STR("abc")));
    assert_true(file.hash != seen_hash(STR("abd")));
    workspace_seen_paths(w, &paths);
    assert_int_equal(paths.len, 2);
    assert_string_equal(paths.ptr[0], "/w/a");
    workspace_forget(w, "/w/a");
    assert_false(workspace_seen(w, "/w/a", &file));
    workspace_forget_all(w);
    strv_clear(&paths);
    workspace_seen_paths(w, &paths);
    assert_int_equal(paths.len, 0);
    workspace_unref(w);
}

static void spills_never_overwrite(void **state)
{
    char root[] = "/tmp/tenax-workspace-XXXXXX";
    char path[300];
    struct workspace *w;
    CLEANUP(buf_release) struct buf one = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf two = BUF_INIT(4096);
    struct err err = {0};

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/state", root);
    w = workspace_new("/", path, NULL);
    assert_int_equal(workspace_spill(w, STR("toolu_1"), &one, &err), 0);
    assert_int_equal(workspace_spill(w, STR("toolu_1"), &two, &err), 0);
    assert_string_not_equal(buf_cstr(&one), buf_cstr(&two));
    unlink(buf_cstr(&one));
    unlink(buf_cstr(&two));
    snprintf(path, sizeof(path), "%s/state/tool-results", root);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/state", root);
    rmdir(path);
    rmdir(root);
    workspace_unref(w);
}

UNIT_TEST(workspace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolve),
        cmocka_unit_test(shorten),
        cmocka_unit_test(contains_follows_links),
        cmocka_unit_test(seen_files),
        cmocka_unit_test(spills_never_overwrite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
