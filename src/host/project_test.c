/*
 * Keys of projects, compared with what node's own arithmetic gives.
 */
#include "host/project.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "unit.h"

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const struct key_case {
    const char *dir;
    const char *key;
} key_cases[] = {
    {"/", "-"},
    {"/home/u/my.app", "-home-u-my-app"},
    {"/w/caf\xc3\xa9", "-w-caf-"},
    {"/w/\xf0\x9f\x98\x80z", "-w---z"}, /* two UTF-16 units */
    {"/" X50 X50 X50 X50,
     "-" X50 X50 X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-d0i18x"},
};

static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(key_cases) / sizeof(key_cases[0]); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

        project_key(str_of(key_cases[i].dir), &got);
        if (!str_is(buf_str(&got), key_cases[i].key))
            fail_msg("'%s': '%s' instead of '%s'", key_cases[i].dir, buf_cstr(&got),
                     key_cases[i].key);
    }
}

static void test_session_dir(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    project_session_dir(STR("/h/.tenax"), STR("/w/a"), STR("id"), &got);
    assert_string_equal(buf_cstr(&got), "/h/.tenax/projects/-w-a/id");
}

UNIT_TEST(project)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_session_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
