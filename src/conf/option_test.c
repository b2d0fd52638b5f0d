/* option: the table is sound, and command lines of every shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/nearest.h"
#include "conf/option.h"
#include "unit.h"

#define OPTION_MAX_HELP 56 /* what fits beside the names in 80 columns, and a bit */

#define MAX_ARGV 12

struct parse_case {
    const char *argv[MAX_ARGV]; /* after the program's name */
    const char *expect;         /* "name=value …| words", or the start of the error */
};

/* Expectations list the options in the order of the table; a switch shows as its bare name. */
static const struct parse_case parse_cases[] = {
    {{NULL}, "|"},
    {{"hello", "world"}, "| hello world"},
    {{"-p", "hello"}, "print | hello"},
    {{"hello", "--print"}, "print | hello"},
    {{"--model", "sonnet"}, "model=sonnet |"},
    {{"--model=sonnet"}, "model=sonnet |"},
    {{"--model="}, "model= |"},
    {{"--model", ""}, "model= |"},
    {{"--model=a=b"}, "model=a=b |"},
    {{"-m", "sonnet"}, "model=sonnet |"},
    {{"-msonnet"}, "model=sonnet |"},
    {{"-m=sonnet"}, "model=sonnet |"},
    {{"-pd"}, "print debug= |"},
    {{"-pdmsonnet"}, "print model=sonnet debug= |"},
    {{"-pm", "sonnet", "x"}, "print model=sonnet | x"},
    {{"--model", "a", "--model=b", "-m", "c"}, "model=c |"}, /* the last one wins */
    {{"--system-prompt", "--help"}, "system-prompt=--help |"},
    {{"--system-prompt", "--"}, "system-prompt=-- |"},
    {{"auth", "--json", "status", "-p"}, "print json | auth status"},
    {{"--settings", "a", "--settings={}"}, "settings=a settings={} |"},
    {{"--setting-sources=user,project"}, "setting-sources=user setting-sources=project |"},
    {{"--setting-sources", "user, local"}, "setting-sources=user setting-sources=local |"},
    {{"--setting-sources="}, "setting-sources |"},
    {{"--setting-sources", ""}, "setting-sources |"},
    {{"--setting-sources=user", "--setting-sources=local"}, "setting-sources=local |"},
    {{"-p", "--", "--model", "-x", "--"}, "print | --model -x --"},
    {{"--"}, "|"},
    {{"-"}, "| -"},
    {{""}, "| "},
    {{"caf\xc3\xa9", "\xff"}, "| caf\xc3\xa9 \xff"},
    {{"--effort", "xhigh"}, "effort=xhigh |"},

    {{"--allowedTools=Bash(git log:*),Edit"}, "allowedTools=Bash(git log:*) allowedTools=Edit |"},
    {{"--allowed-tools", "Bash(a, b) Edit"}, "allowedTools=Bash(a, b) allowedTools=Edit |"},
    {{"--allowedTools", "Bash(git *)", "Edit", "Read the file"},
     "allowedTools=Bash(git *) allowedTools=Edit | Read the file"},
    {{"--allowedTools=Edit", "Edit"}, "allowedTools=Edit | Edit"},
    {{"--allowedTools", "Edit", "--allowedTools=Read"}, "allowedTools=Edit allowedTools=Read |"},
    {{"--allowedTools", ""}, "allowedTools |"},
    {{"--disallowed-tools=mcp__a,Bash", "fix it"},
     "disallowedTools=mcp__a disallowedTools=Bash | fix it"},
    {{"--tools", "Bash,Read"}, "tools=Bash tools=Read |"},
    {{"--tools", "Bash", "Read", "read the file"}, "tools=Bash tools=Read | read the file"},
    {{"--tools", "Bash Edit", "--tools=Read"}, "tools=Bash tools=Edit tools=Read |"},
    {{"--tools="}, "tools |"},
    {{"--tools", ""}, "tools |"},
    {{"--tools", "default"}, "tools=default |"},
    {{"--permission-mode", "plan"}, "permission-mode=plan |"},
    {{"--add-dir=a", "--add-dir", "b,c"}, "add-dir=a add-dir=b,c |"},
    {{"--add-dir", "a", "/", "..", "fix it"}, "add-dir=a add-dir=/ add-dir=.. | fix it"},
    {{"--add-dir", "a", "/nosuch"}, "add-dir=a | /nosuch"},
    {{"--add-dir", "a", "--", "/"}, "add-dir=a | /"},
    {{"--add-dir", "a", "-p", "/"}, "print add-dir=a | /"},
    {{"--add-dir=a", "/"}, "add-dir=a | /"},
    {{"--permission-prompt-tool=stdio", "--dangerously-skip-permissions"},
     "permission-prompt-tool=stdio dangerously-skip-permissions |"},

    {{"--modle", "x"}, "! unknown option --modle; did you mean --model?"},
    {{"--modle=x"}, "! unknown option --modle; did you mean --model?"},
    {{"--maxBudgetUsd=1"}, "! unknown option --maxBudgetUsd; did you mean --max-budget-usd?"},
    {{"--fallback_model=x"}, "! unknown option --fallback_model; did you mean --fallback-model?"},
    {{"--setting"}, "! unknown option --setting; did you mean --settings?"},
    {{"--frobnicate"}, "! unknown option --frobnicate"},
    {{"--="}, "! unknown option --"},
    {{"-model", "x"}, "! unknown option -model; did you mean --model?"},
    {{"-px"}, "! unknown option -x"},
    {{"-V"}, "! unknown option -V; did you mean -v?"},
    {{"-M", "x"}, "! unknown option -M; did you mean -m?"},
    {{"-Vx"}, "! unknown option -Vx"},
    {{"-\xc3\xa9"}, "! unknown option -\xc3\xa9"},
    {{"--model"}, "! --model needs a value: --model MODEL"},
    {{"-pm"}, "! --model needs a value: --model MODEL"},
    {{"--print", "", "go"}, "print | go"},
    {{"--verbose="}, "verbose |"},
    {{"--debug", "", "go"}, "debug= | go"},
    {{"--debug=api,hooks"}, "debug=api,hooks |"},
    {{"--print=yes"}, "! --print takes no value"},
    {{"-p=yes"}, "! --print takes no value"},
    {{"--effort=hihg"},
     "! --effort: 'hihg' is not one of: low medium high xhigh max; did you mean high?"},
    {{"--effort="}, "! --effort: '' is not one of: low medium high xhigh max"},
    {{"--setting-sources=user,projetc"},
     "! --setting-sources: 'projetc' is not one of: user project local; did you mean project?"},
};

static void show(const struct args *a, struct buf *out)
{
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];

        if (a->given[i] && (!o->arg || !a->values[i].len))
            buf_addf(out, "%s ", o->name);
        for (size_t v = 0; o->arg && v < a->values[i].len; v++)
            buf_addf(out, "%s=%s ", o->name, a->values[i].ptr[v]);
    }
    buf_addc(out, '|');
    for (size_t i = 0; i < a->words.len; i++)
        buf_addf(out, " %s", a->words.ptr[i]);
}

static void parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parse_cases); i++) {
        const struct parse_case *c = &parse_cases[i];
        CLEANUP(buf_release) struct buf got = BUF_INIT(4096);
        CLEANUP(args_release) struct args args = {0};
        char *argv[MAX_ARGV + 2] = {(char *)"tenax"};
        struct err err = {0};
        int argc = 1;

        for (; argc <= MAX_ARGV && c->argv[argc - 1]; argc++)
            argv[argc] = (char *)c->argv[argc - 1];
        if (args_parse(argc, argv, &args, &err) < 0) {
            buf_addf(&got, "! %s", err.text);
            if (err.code != ERR_BAD_INPUT)
                fail_msg("row %zu: code %s", i, err_code_name(err.code));
        } else {
            show(&args, &got);
        }
        if (strcmp(buf_cstr(&got), c->expect) != 0)
            fail_msg("row %zu (%s): '%s' instead of '%s'", i, c->argv[0], buf_cstr(&got),
                     c->expect);
    }
}

static void no_program_name(void **state)
{
    char *const argv[] = {NULL};
    struct args args;

    (void)state;
    assert_int_equal(args_parse(0, argv, &args, NULL), 0);
    assert_int_equal(args.words.len, 0);
    args_release(&args);
}

static void get(void **state)
{
    const char *argv[] = {"tenax", "-p", "--settings=a", "--settings=b", "--setting-sources="};
    struct args args;

    (void)state;
    assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &args, NULL), 0);
    assert_string_equal(args_get(&args, OPT_PRINT), "");
    assert_string_equal(args_get(&args, OPT_SETTINGS), "b");
    assert_string_equal(args_get(&args, OPT_SETTING_SOURCES), "");
    assert_null(args_get(&args, OPT_MODEL));
    args_release(&args);
}

static void table(void **state)
{
    const struct option *rows = option_table();

    (void)state;
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &rows[i];
        struct str help = str_of(o->help);

        if (o->id != i)
            fail_msg("row %zu has another id", i);
        if (option_find(str_of(o->name)) != o || strlen(o->name) < 2)
            fail_msg("--%s is used twice, or too short", o->name);
        if (o->letter && option_find_letter(o->letter) != o)
            fail_msg("-%c is used twice", o->letter);
        if (help.len < 10 || str_ends(help, STR(".")) || help.ptr[0] < 'A' || help.ptr[0] > 'Z')
            fail_msg("--%s: help is one sentence, capital letter, no full stop", o->name);
        if (!o->arg && (o->values || (o->flags & (OPTION_LIST | OPTION_MAYBE_ARG))))
            fail_msg("--%s is a switch and takes no values", o->name);
        if (strlen(o->help) > OPTION_MAX_HELP || o->help[0] < 'A' || o->help[0] > 'Z')
            fail_msg("the help of --%s is not a line that begins with a verb", o->name);
    }
}

static void group_order(void **state)
{
    size_t count;
    const struct option_group *groups = option_groups(&count);

    (void)state;
    assert_int_equal(groups[0].first, 0);
    for (size_t i = 1; i < count; i++)
        if (groups[i].first <= groups[i - 1].first)
            fail_msg("group '%s' is out of order", groups[i].title);
}

struct nearest_case {
    const char *word;
    const char *candidates;
    const char *expect;
};

static const struct nearest_case nearest_cases[] = {
    {"modle", "mode model models", "model"},
    {"Model", "mode model models", "model"},
    {"models", "mode models model", "models"},
    {"prompt_caching", "promptCaching", "promptCaching"},
    {"perm", "permissions", "permissions"},
    {"pe", "permissions", ""}, /* too short to mean anything */
    {"x", "y z", ""},
    {"frobnicate", "permissions", ""},
    {"", "a", ""},
    {"0123456789012345678901234567890123456789012345678901234567890123456789", "a", ""},
};

static void nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nearest_cases); i++) {
        const struct nearest_case *c = &nearest_cases[i];
        struct nearest near;

        nearest_init(&near, str_of(c->word));
        nearest_offer_words(&near, c->candidates);
        if (!str_is(near.best, c->expect))
            fail_msg("'%s': '%.*s' instead of '%s'", c->word, STR_ARG(near.best), c->expect);
    }
}

UNIT_TEST(option)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse), cmocka_unit_test(no_program_name), cmocka_unit_test(get),
        cmocka_unit_test(table), cmocka_unit_test(group_order),     cmocka_unit_test(nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
