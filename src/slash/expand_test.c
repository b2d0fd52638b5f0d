/*
 * What becomes of the names of arguments in a command file.
 */
#include "slash/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *filled;
    bool used;
} cases[] = {
    {"plain", "plain", false},
    {"", "", false},
    {"all: $ARGUMENTS.", "all: one \"two three\".", true},
    {"$0-$1-$2", "one-two three-", true},
    {"$ARGUMENTS[1] $ARGUMENTS[0] $ARGUMENTS[9]", "two three one ", true},
    {"$ARGUMENTS[x] $ARGUMENTS[", "one \"two three\"[x] one \"two three\"[", true},
    {"$ARGUMENTSX $OTHER $ $$", "$ARGUMENTSX $OTHER $ $$", false},
    {"$file and $level, $files", "one and two three, $files", true},
    {"${CLAUDE_SESSION_ID} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SKILL_DIR} ${CLAUDE_EFFORT} ${HOME}",
     "id /work /skill high ${HOME}", false},
    {"costs $5", "costs ", true}, /* as the reference has it: an untyped sixth word */
    {"costs $5k", "costs $5k", false},
    {"$99999.", ".", true},
};

static void test_values(void **state)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct expand_values v = {
        .arguments = STR_INIT("one \"two three\""),
        .words = &words,
        .names = &names,
        .session = "id",
        .effort = "high",
        .dir = "/skill",
        .project = "/work",
    };

    (void)state;
    strv_adds(&words, "one");
    strv_adds(&words, "two three");
    strv_adds(&names, "file");
    strv_adds(&names, "level");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf filled = BUF_INIT(1000);
        bool used = false;

        expand_values(str_of(cases[i].text), &v, &used, &filled);
        if (strcmp(buf_cstr(&filled), cases[i].filled) != 0 || used != cases[i].used)
            fail_msg("row %zu: '%s', %d", i, buf_cstr(&filled), used);
    }
}

UNIT_TEST(expand)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
