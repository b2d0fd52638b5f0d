/*
 * Which tools each kind of agent gets, by name.
 */
#include "tasks/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/tool.h"
#include "base/str.h"
#include "unit.h"

static const char tools[] = "Agent AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode ListAgents "
                            "Read SendMessage Skill StructuredOutput TaskList TaskOutput TaskStop "
                            "TeamCreate Write mcp__a__b update_goal";

static const struct pool_case {
    const char *what;
    struct pool pool;
    const char *has; /* of the tools above */
} pool_cases[] = {
    {"foreground",
     {.kind = POOL_FOREGROUND, .may_start = true},
     "Agent Bash Edit ListAgents Read SendMessage Skill StructuredOutput TaskList TaskOutput "
     "TaskStop Write mcp__a__b"},
    {"background",
     {.kind = POOL_BACKGROUND, .may_start = true},
     "Agent Bash Edit Read SendMessage Skill TaskOutput TaskStop Write mcp__a__b"},
    {"at the depth limit",
     {.kind = POOL_BACKGROUND},
     "Bash Edit Read SendMessage Skill TaskOutput TaskStop Write mcp__a__b"},
    {"fork",
     {.kind = POOL_FORK},
     "Agent AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode ListAgents Read SendMessage Skill "
     "StructuredOutput TaskList TaskOutput TaskStop "
     "TeamCreate Write mcp__a__b update_goal"},
    {"coordinator",
     {.kind = POOL_COORDINATOR, .may_start = true},
     "Agent ListAgents SendMessage StructuredOutput TaskOutput TaskStop update_goal"},
    {"team member",
     {.kind = POOL_TEAMMATE, .may_start = true},
     "Agent Bash Edit ListAgents Read SendMessage Skill TaskList TaskOutput TaskStop Write "
     "mcp__a__b"},
    {"team member who plans",
     {.kind = POOL_TEAMMATE, .plans = true},
     "Bash Edit ExitPlanMode ListAgents Read SendMessage Skill TaskList TaskOutput TaskStop Write "
     "mcp__a__b"},
    {"worker",
     {.kind = POOL_WORKER, .may_start = true},
     "Bash Edit Read Skill TaskOutput TaskStop Write mcp__a__b"},
    {"bare worker", {.kind = POOL_BARE_WORKER, .may_start = true}, "Bash Edit Read"},
};

static void pools(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pool_cases); i++) {
        const struct pool_case *c = &pool_cases[i];
        struct str rest = str_of(tools);
        struct str name;

        while (rest.len && str_cut(&rest, ' ', &name)) {
            char text[40];
            struct tool_entry e = {.name = text};
            bool has;

            snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
            e.flags = str_is(name, "update_goal") ? TOOL_REFEREE : 0;
            has = pool_has(&c->pool, &e);
            if (has != str_is_word_of(name, c->has))
                fail_msg("%s: %s %s", c->what, has ? "has" : "lacks", text);
        }
    }
}

UNIT_TEST(pool)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
