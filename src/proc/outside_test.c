/*
 * PATH of programs that run outside: no folder that commands may write is left in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/outside.h"
#include "unit.h"

/* ROOT/w is worked in; ROOT/o is not; ROOT/o/in leads into the former, ROOT/w/out out of it. */
static char root[64];

static const struct {
    const char *path, *left;
} cases[] = {
    {"/usr/bin:/bin", "/usr/bin:/bin"},
    {"ROOT/w/venv/bin:/usr/bin", "/usr/bin"},
    {"/usr/bin:ROOT/w", "/usr/bin"},
    {"ROOT/w/:/usr/bin", "/usr/bin"},
    {"ROOT/wx:/usr/bin", "ROOT/wx:/usr/bin"},
    {"ROOT/o:/usr/bin", "ROOT/o:/usr/bin"},
    {"ROOT/o/../w/bin:/usr/bin", "/usr/bin"},
    {"ROOT/o/in:/usr/bin", "/usr/bin"},
    {"ROOT/w/out:/usr/bin", "/usr/bin"}, /* another link could be put there */
    {"node_modules/.bin:.::/usr/bin:", "/usr/bin"},
    {"ROOT/link/bin:/usr/bin", "/usr/bin"}, /* given by a link */
    {"ROOT/w/bin", "/usr/local/bin:/usr/bin:/bin"},
    {"", "/usr/local/bin:/usr/bin:/bin"},
};

static void with_root(const char *text, struct buf *ret)
{
    struct str rest = str_of(text);

    for (size_t at = str_find(rest, STR("ROOT")); at < rest.len; at = str_find(rest, STR("ROOT"))) {
        buf_addf(ret, "%.*s%s", STR_ARG(str_first(rest, at)), root);
        rest = str_from(rest, at + 4);
    }
    buf_add(ret, rest);
}

static void make(const char *name, const char *leads_to)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);

    assert_int_equal(leads_to ? symlink(leads_to, path) : mkdir(path, 0700), 0);
}

static void paths(void **state)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    (void)state;
    strv_addf(&dirs, "%s/w", root);
    strv_addf(&dirs, "%s/link", root);
    strv_adds(&dirs, "/");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf left = BUF_INIT(1000);
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        char before[] = "A=PATH=x";
        char behind[] = "Z=";
        char *given[] = {before, NULL, behind, NULL};

        buf_adds(&path, "PATH=");
        buf_adds(&left, "PATH=");
        with_root(cases[i].path, &path);
        with_root(cases[i].left, &left);
        given[1] = (char *)(uintptr_t)buf_cstr(&path);
        outside_environ(given, &dirs, &env);
        assert_int_equal(env.len, 3);
        assert_string_equal(env.ptr[0], given[0]);
        assert_string_equal(env.ptr[1], buf_cstr(&left));
        assert_string_equal(env.ptr[2], given[2]);
    }
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/outside-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    make("w", NULL);
    make("o", NULL);
    make("o/in", "../w");
    make("w/out", "../o");
    make("link", "w");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"link", "w/out", "o/in", "o", "w", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, names[i]);

        assert_int_equal(remove(path), 0);
    }
    return 0;
}

UNIT_TEST(outside)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
