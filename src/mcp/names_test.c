/*
 * Names of tools: each reaches its own tool, whatever servers call them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "mcp/names.h"
#include "unit.h"

#define LONG "a_tool_with_a_name_that_is_far_too_long_for_any_provider_to_take"

static const struct {
    const char *server, *tool, *name;
} rows[] = {
    {"fs", "read", "mcp__fs__read"},
    {"s", "a.b", "mcp__s__a_b_407e8e"},
    {"s", "a_b", "mcp__s__a_b"}, /* needed no change: keeps the name */
    {"s", "a b", "mcp__s__a_b_eae83b"},
    {"my server.x", "t", "mcp__my_server_x__t_767f16"},
    {"my_server_x", "t", "mcp__my_server_x__t"},
    {"s", "\xe6\x97\xa5", "mcp__s__t_85217f"},
    {"s", LONG, "mcp__s__a_tool_with_a_name_that_is_far_too_long_for_any_46e8c9f5"},
};

static void names(void **state)
{
    struct mcp_named list[ARRAY_LEN(rows)];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        list[i] =
            (struct mcp_named){.server = str_of(rows[i].server), .tool = str_of(rows[i].tool)};
    mcp_names_make(list, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(list[i].name, rows[i].name) != 0)
            fail_msg("row %zu: %s", i, list[i].name);
        assert_true(strlen(list[i].name) <= MCP_MAX_NAME);
    }
}

/* Whatever servers call their tools, no two have the same name: a tool with the name that another
 * one would be given, and the same tool twice. */
static void no_two_alike(void **state)
{
    static const char *const tools[] = {"a.b", "a_b_407e8e", "a b", "a_b", "a.b",
                                        "a.b", LONG "1",     LONG,  LONG};
    struct mcp_named list[ARRAY_LEN(tools)];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        list[i] = (struct mcp_named){.server = STR("s"), .tool = str_of(tools[i])};
    mcp_names_make(list, ARRAY_LEN(tools));
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        assert_true(strlen(list[i].name) <= MCP_MAX_NAME);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list[i].name, list[k].name) == 0)
                fail_msg("%s and %s: %s", tools[k], tools[i], list[i].name);
        }
    }
    assert_string_equal(list[1].name, "mcp__s__a_b_407e8e");
}

UNIT_TEST(names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(no_two_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
