/*
 * The list is kept whole, and the answer counts it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

static void the_list_is_replaced(void **state)
{
    struct tool_check t;
    struct buf todos = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    tool_check_begin(&t);
    assert_true(tool_check_run(&t, &tool_todo_write_entry,
                               "{\"todos\":[{\"content\":\"a\",\"status\":\"completed\","
                               "\"activeForm\":\"b\"},{\"content\":\"c\",\"status\":\"pending\","
                               "\"activeForm\":\"d\"}]}"));
    ASSERT_SAYS(&t, "1 done, 0 in progress, 1 to do");
    assert_true(tool_check_run(&t, &tool_todo_write_entry, "{\"todos\":[]}"));
    assert_int_equal(json_len(json_get(tool_check_data(&t), "oldTodos")), 2);
    workspace_todos(t.workspace, &todos);
    assert_string_equal(buf_cstr(&todos), "[]");
    buf_release(&todos);
    tool_check_end(&t);
}

static void bad_lists_are_refused(void **state)
{
    static const struct {
        const char *args;
        const char *says;
    } cases[] = {
        {"{}", "'todos' is required"},
        {"{\"todos\":[{\"content\":\"a\",\"status\":\"done\",\"activeForm\":\"b\"}]}", "status"},
        {"{\"todos\":[{\"content\":\"\",\"status\":\"pending\",\"activeForm\":\"b\"}]}", "content"},
    };
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_false(tool_check_run(&t, &tool_todo_write_entry, cases[i].args));
        assert_int_equal(t.failed, ERR_BAD_INPUT);
        ASSERT_SAYS(&t, cases[i].says);
    }
    tool_check_end(&t);
}

UNIT_TEST(todo_write)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_replaced),
        cmocka_unit_test(bad_lists_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
