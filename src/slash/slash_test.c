/*
 * Which texts are commands and their arguments; words; user input; and that the table is sound and
 * docs/commands.md prints it. front_test and whole-program cases (tests/data/commands-*, goal-*)
 * test the effects of commands.
 */
#include "slash/slash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "host/record/typed.h"
#include "slash/answer.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *name; /* NULL: no command */
    const char *args;
} find_cases[] = {
    {"/goal", "goal", ""},
    {"  /goal \n", "goal", ""},
    {"/goal all tests pass", "goal", "all tests pass"},
    {"/goal\tclear", "goal", "clear"},
    {"/goal\nfirst line\nsecond line\n", "goal", "first line\nsecond line"},
    {"/goal   -- status", "goal", "-- status"},
    {"/quit", "exit", ""},
    {"/reset", "clear", ""},
    {"/new now", "clear", "now"},
    {"/bashes", "tasks", ""},
    {"/catchup", "recap", ""},
    {"/add-dir ..", "add-dir", ".."},
    {"/debug-tool-call 3", "debug-tool-call", "3"},
    {"/compact keep it", "compact", "keep it"}, /* the agent's own */
    {"/goals", NULL, NULL},
    {"/goal-x", NULL, NULL},
    {"/goal/x", NULL, NULL},
    {"/Goal", NULL, NULL},
    {"/compactor", NULL, NULL},
    {"goal", NULL, NULL},
    {"say /goal", NULL, NULL},
    {"/", NULL, NULL},
    {"/ goal", NULL, NULL},
    {"", NULL, NULL},
};

static void test_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(find_cases); i++) {
        struct str args = STR("untouched");
        const struct slash_command *c = slash_find(str_of(find_cases[i].text), &args);

        if (!c != !find_cases[i].name || (c && strcmp(c->name, find_cases[i].name) != 0) ||
            !str_is(args, c ? find_cases[i].args : "untouched"))
            fail_msg("row %zu: '%s': %s, '%.*s'", i, find_cases[i].text, c ? c->name : "none",
                     STR_ARG(args));
    }
}

static bool has_name(const struct slash_command *c, struct str name)
{
    return str_is(name, c->name) || (c->aliases && str_is_word_of(name, c->aliases));
}

/* Lists, menus and help are printed from the rows; no name means two things. */
static void test_rows(void **state)
{
    (void)state;
    assert_true(slash_count() > 30);
    for (size_t i = 0; i < slash_count(); i++) {
        const struct slash_command *c = slash_at(i);
        struct str rest = str_of(c->aliases ? c->aliases : "");
        struct str alias;

        assert_true(c->name && *c->name && c->hint);
        assert_true(c->run || strcmp(c->name, "compact") == 0);
        assert_true(c->summary && *c->summary && c->summary[strlen(c->summary) - 1] != '.');
        for (size_t j = 0; j < i; j++) {
            if (has_name(slash_at(j), str_of(c->name)))
                fail_msg("/%s is there twice", c->name);
        }
        while (str_cut(&rest, ' ', &alias)) {
            for (size_t j = 0; j < slash_count(); j++) {
                if (j != i && has_name(slash_at(j), alias))
                    fail_msg("/%.*s is there twice", STR_ARG(alias));
            }
        }
    }
}

static void test_docs(void **state)
{
    static const char begin[] = "<!-- commands: made by scripts/commands-docs from src/slash -->\n";
    const char *root = getenv("TENAX_SOURCE");
    CLEANUP(buf_release) struct buf want = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf docs = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *page = NULL;
    struct str table;

    (void)state;
    if (!root) {
        print_message("TENAX_SOURCE is not set: docs are not compared\n");
        return;
    }
    page = path_join(root, "docs/commands.md");
    assert_int_equal(file_slurp(page, 1 << 20, &docs, NULL), 0);
    slash_write_docs(&want);
    table = buf_str(&docs);
    table = str_from(table, str_find(table, STR(begin)) + strlen(begin));
    table = str_first(table, str_find(table, STR("<!-- end of commands")));
    if (!str_eq(table, buf_str(&want)))
        fail_msg("docs/commands.md does not have the commands of today; run scripts/commands-docs");
}

static const struct {
    const char *text;
    const char *words; /* joined by "|" */
} word_cases[] = {
    {"", ""},
    {"  ", ""},
    {"one", "one"},
    {" one  two\tthree\n", "one|two|three"},
    {"\"a b\" c", "a b|c"},
    {"'a \"b' c", "a \"b|c"},
    {"a\"b c\"d", "ab cd"},
    {"\"\" x", "|x"},
    {"\"never closed", "never closed"},
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(word_cases); i++) {
        CLEANUP(strv_release) struct strv words = STRV_INIT;
        CLEANUP(buf_release) struct buf joined = BUF_INIT(1000);

        slash_words(str_of(word_cases[i].text), &words);
        for (size_t j = 0; j < words.len; j++)
            buf_addf(&joined, "%s%s", j ? "|" : "", words.ptr[j]);
        if (strcmp(buf_cstr(&joined), word_cases[i].words) != 0)
            fail_msg("row %zu: '%s'", i, buf_cstr(&joined));
    }
}

static const struct {
    const char *text;
    const char *typed; /* NULL: their own words */
} typed_cases[] = {
    {"<command-name>/review</command-name>\n<command-message>review</command-message>\n"
     "<command-args>a.c high</command-args>",
     "/review a.c high"},
    {"<command-message>x</command-message>\n<command-name>/x</command-name>", "/x"},
    {"<bash-input>ls -l</bash-input>\n<bash-stdout>a</bash-stdout>", "!ls -l"},
    {"<bash-input>never closed", NULL},
    {"<command-name>/never closed", NULL},
    {"see <command-name>/x</command-name>", NULL},
    {"hello", NULL},
    {"", NULL},
};

static void test_typed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(typed_cases); i++) {
        CLEANUP(buf_release) struct buf typed = BUF_INIT(1000);
        bool is_command = typed_find(str_of(typed_cases[i].text), &typed);

        if (is_command != (typed_cases[i].typed != NULL) ||
            (is_command && strcmp(buf_cstr(&typed), typed_cases[i].typed) != 0))
            fail_msg("row %zu: '%s'", i, buf_cstr(&typed));
    }
}

UNIT_TEST(slash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),  cmocka_unit_test(test_rows),  cmocka_unit_test(test_docs),
        cmocka_unit_test(test_words), cmocka_unit_test(test_typed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
