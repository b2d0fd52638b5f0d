/* words: the short way gives the answers of the long one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/words.h"
#include "unit.h"

#define MANY                                                                                       \
    "sh bash zsh dash ksh . : [ [[ sudo doas su env exec -exec --exec nice ionice \xc3\xa4 "       \
    "find fd fdfind  systemd-run run0 xargs parallel watch a b c d e f g h i j k l m n o p"

static const char *const asked[] = {
    "",   "sh",  "hs",   "bash", "bas",         "ash",  ".",     "..",       ":",    "[",
    "[[", "[[[", "su",   "sud",  "sudo",        "env",  "ven",   "-exec",    "exec", "--exec",
    "fd", "df",  "find", "a",    "aa",          "p",    "q",     "sh bash",  " sh",  "sh ",
    " ",  "  ",  "run0", "run1", "systemd-run", "nice", "niece", "\xc3\xa4", "\xc3", "\xa4",
};

static void answers(void **state)
{
    static struct words none = WORDS_INIT("");
    static struct words blanks = WORDS_INIT("   ");

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
            struct str s = str_of(asked[i]);

            if (words_have(s, MANY) != str_is_word_of(s, MANY))
                fail_msg("\"%s\"", asked[i]);
            assert_false(words_ask(&none, s));
            assert_false(words_ask(&blanks, s));
        }
    }
    assert_true(words_have(STR("cd"), "cd pushd"));
    assert_false(words_have(STR("popd"), "cd pushd"));
    assert_false(words_have(str_make("c\0", 2), "cd c"));
}

UNIT_TEST(words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
