#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/prompt.h"
#include "context/style.h"
#include "unit.h"

static char root[] = "/tmp/tenax-style-XXXXXX";

static const struct {
    const char *path;
    const char *text;
} files[] = {
    {"h/.claude/output-styles/poet.md", "---\nname: Poet\n---\nRhyme.\n"},
    {"h/.claude/output-styles/plain.md", "Be plain.\n"},
    {"h/.claude/output-styles/both.md", "of the user"},
    {"h/.tenax/output-styles/teacher.md",
     "---\nname: Teacher\nkeep-coding-instructions: true\n---\nTeach.\n"},
    {"h/.tenax/output-styles/broken.md", "no text: \xff"},
    {"h/.tenax/output-styles/notes.txt", "no style"},
    {"w/.claude/output-styles/both.md", "of the project"},
    {"w/.claude/output-styles/loud.md", "Shout."},
};

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, files[i].path);
        CLEANUP(mem_freep) char *dir = path_dirname(path);

        if (file_mkdirs(dir, 0700, NULL) < 0 ||
            file_replace(path, str_of(files[i].text), 0600, NULL) < 0)
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct conf *load(const char *style, bool trusted)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(buf_release) struct buf settings = BUF_INIT(1000);
    CLEANUP(mem_freep) char *dir = path_join(root, "w");
    CLEANUP(mem_freep) char *etc = path_join(root, "etc");
    const char *argv[] = {"tenax", "--settings", NULL};
    struct args args;
    struct conf_sources from = {.dir = dir, .args = &args, .etc = etc, .trusted = trusted};
    struct conf *conf = NULL;
    struct err err = {0};

    buf_addf(&settings, "{\"outputStyle\":\"%s\"}", style);
    argv[2] = buf_cstr(&settings);
    strv_addf(&env, "HOME=%s/h", root);
    strv_addf(&env, "TENAX_HOME=%s/h/.tenax", root);
    from.environ = strv_get(&env);
    assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &args, &err), 0);
    if (conf_load(&from, &conf, &err) < 0)
        fail_msg("%s", err.text);
    args_release(&args);
    return conf;
}

static const struct find_case {
    const char *wanted;
    const char *name; /* NULL: there is none */
    const char *text; /* its beginning, or of the error */
    bool keeps_coding;
    bool untrusted;
} find_cases[] = {
    {.wanted = "", .name = "", .text = "", .keeps_coding = true},
    {.wanted = "default", .name = "", .text = "", .keeps_coding = true},
    {.wanted = "concise", .name = "Concise", .text = "Say as little", .keeps_coding = true},
    {.wanted = "Learning", .name = "Learning", .text = "Work so that", .keeps_coding = true},
    {.wanted = "Poet", .name = "Poet", .text = "Rhyme."},
    {.wanted = "plain", .name = "plain", .text = "Be plain."},
    {.wanted = "teacher", .name = "Teacher", .text = "Teach.", .keeps_coding = true},
    {.wanted = "both", .name = "both", .text = "of the project"},
    {.wanted = "both", .name = "both", .text = "of the user", .untrusted = true},
    {.wanted = "loud", .name = "loud", .text = "Shout."},
    {.wanted = "loud", .text = "there is no output style 'loud'", .untrusted = true},
    {.wanted = "nothing", .text = "there is no output style 'nothing'; there are: Default, "},
    {.wanted = "../plain", .text = "there is no output style"},
    {.wanted = "notes", .text = "there is no output style"},
    {.wanted = "broken", .text = ""},
};

static void finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(find_cases); i++) {
        const struct find_case *c = &find_cases[i];
        CLEANUP(conf_unrefp) struct conf *conf = load(c->wanted, !c->untrusted);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct output_style style = {0};
        struct err err = {0};

        if (style_find(conf, (struct path_veto){0}, &arena, &style, &err) < 0) {
            if (c->name || !str_has(str_of(err.text), str_of(c->text)))
                fail_msg("row %zu: %s", i, err.text);
            continue;
        }
        if (!c->name || !str_is(style.name, c->name) || !str_starts(style.text, str_of(c->text)) ||
            style.keeps_coding != c->keeps_coding)
            fail_msg("row %zu: %.*s: %.*s", i, STR_ARG(style.name), STR_ARG(style.text));
    }
}

static const struct prompt_case {
    const char *wanted;
    const char *has;
    bool has_coding;
    bool has_note;
} prompt_cases[] = {
    {"", "You are tenax", true, false},
    {"concise", "\n\n# Output style: Concise\nSay as little", true, false},
    {"poet", "\n\n# Output style: Poet\nRhyme.", false, false},
    {"teacher", "\n\n# Output style: Teacher\nTeach.", true, false},
    {"nothing", "You are tenax", true, true},
};

static void prompts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(prompt_cases); i++) {
        const struct prompt_case *c = &prompt_cases[i];
        CLEANUP(conf_unrefp) struct conf *conf = load(c->wanted, true);
        CLEANUP(prompt_spec_release) struct prompt_spec spec = PROMPT_SPEC_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(strv_release) struct strv notes = STRV_INIT;

        prompt_spec_style(&spec, conf, (struct path_veto){0}, &notes);
        prompt_system(&spec, conf, &got);
        if (!str_has(buf_str(&got), str_of(c->has)) ||
            str_has(buf_str(&got), STR("# How to work")) != c->has_coding ||
            !str_has(buf_str(&got), STR("# Care\n")) || (notes.len > 0) != c->has_note)
            fail_msg("row %zu: %s", i, buf_cstr(&got));
        /* A user's own text is not changed. */
        prompt_spec_replace(&spec, STR("Only this."));
        prompt_system(&spec, conf, &got);
        assert_string_equal(buf_cstr(&got), "Only this.");
    }
}

static bool denies_poets(void *arg, const char *path)
{
    (void)arg;
    return str_ends(str_of(path), STR("/poet.md"));
}

static void denied(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = load("Poet", true);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct output_style style = {0};
    struct err err = {0};

    (void)state;
    assert_true(style_find(conf, (struct path_veto){.denies = denies_poets}, &arena, &style, &err) <
                0);
    assert_true(str_has(str_of(err.text), STR("is denied by a rule")));
}

UNIT_TEST(style)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(prompts),
        cmocka_unit_test(denied),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
