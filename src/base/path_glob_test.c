/*
 * Rows of globs and paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path_glob.h"
#include "unit.h"

static void globs(void **state)
{
    static const struct {
        const char *glob;
        const char *path;
        bool match;
    } rows[] = {
        {"/a/b", "/a/b", true},
        {"/a/b", "/a/b/c", false},
        {"/a/*", "/a/b", true},
        {"/a/*", "/a/b/c", false},
        {"/a/**", "/a/b/c", true},
        {"/a/**/c", "/a/c", true},
        {"/a/**/c", "/a/x/y/c", true},
        {"/a/**/c", "/a/x/y/d", false},
        {"**/b/*.md", "/x/b/c.md", true},
        {"b/*.md", "/x/y/b/c.md", true},
        {"*.md", "/x/y/c.md", true},
        {"*.md", "/x/y/c.txt", false},
        {"/a/?.md", "/a/b.md", true},
        {"/a/?.md", "/a/bc.md", false},
        {"/*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
        {"**/**/x", "/a/b/x", true},
        {"", "/a", false},
        {"/**", "/a", true},
        {"**", "/a/b", true},
        {"/a", "/", false},
        {"a/**/b/**/c", "/a/b/x/b/y/c", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (path_glob_match(str_of(rows[i].glob), str_of(rows[i].path)) != rows[i].match)
            fail_msg("'%s' and '%s'", rows[i].glob, rows[i].path);
}

UNIT_TEST(path_glob)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
