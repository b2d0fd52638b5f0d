/*
 * Which files are commands, their frontmatter, precedence, refused files, and that changes are
 * noticed.
 */
#include "slash/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "store/test_home.h"
#include "unit.h"

static char *environment[] = {NULL, NULL, NULL};
static char home_variable[200];
static char tenax_variable[200];

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(test_home, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(dir, 0700, &err) < 0 || file_replace(path, str_of(text), 0600, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static struct conf *load(void)
{
    CLEANUP(mem_freep) char *dir = path_join(test_home, "w");
    CLEANUP(mem_freep) char *etc = path_join(test_home, "etc");
    struct conf_sources from = {.dir = dir, .environ = environment, .etc = etc, .trusted = true};
    struct conf *conf = NULL;
    struct err err = {0};

    if (file_mkdirs(dir, 0700, &err) < 0 || conf_load(&from, &conf, &err) < 0)
        fail_msg("%s", err.text);
    return conf;
}

static int setup(void **state)
{
    if (home_setup(state) < 0)
        return -1;
    snprintf(home_variable, sizeof(home_variable), "HOME=%s/h", test_home);
    snprintf(tenax_variable, sizeof(tenax_variable), "TENAX_HOME=%s/h/.tenax", test_home);
    environment[0] = home_variable;
    environment[1] = tenax_variable;
    return 0;
}

static void check(const struct own_list *l, const char *name, const char *summary, const char *path)
{
    const struct own_command *c = own_find(l, str_of(name));

    if (!c)
        fail_msg("/%s is not there", name);
    else if (!str_is(c->summary, summary) || !str_ends(str_of(c->path), str_of(path)))
        fail_msg("/%s: '%.*s', %s", name, STR_ARG(c->summary), c->path);
}

static bool is_noted(const struct own_list *l, const char *path, const char *why)
{
    for (size_t i = 0; i < l->notes.len; i++) {
        if (strstr(l->notes.ptr[i], path) && strstr(l->notes.ptr[i], why))
            return true;
    }
    return false;
}

/* Managed before the user's before the project's; ours before Claude's; a skill before a command.
 */
static void test_who_wins(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *l = NULL;

    (void)state;
    home_clear();
    put("w/.claude/commands/a.md", "project");
    put("h/.claude/commands/a.md", "user");
    put("etc/claude-code/commands/a.md", "managed");
    put("w/.claude/commands/b.md", "project");
    put("h/.claude/commands/b.md", "user");
    put("w/.claude/commands/c.md", "Claude's");
    put("w/.tenax/commands/c.md", "ours");
    put("w/.claude/skills/d/SKILL.md", "skill");
    put("w/.claude/commands/d.md", "command");
    put("w/.claude/skills/e/SKILL.md", "project's skill");
    put("h/.claude/commands/e.md", "user's command");
    put("w/.claude/commands/x/y/deep.md", "# Deep\n\ntext");
    put("w/.claude/commands/goal.md", "no");
    put("w/.claude/commands/quit.md", "no");
    put("w/.claude/commands/two words.md", "no");
    put("w/.claude/commands/notes.txt", "no");
    put("w/.claude/commands/.hidden.md", "no");
    put("w/.claude/skills/empty/other.md", "no");
    put("w/.claude/commands/f.md", "---\nhooks:\n  Stop: []\npaths: src\nversion: 1\n---\nF");
    conf = load();
    l = own_read(conf, NULL, /*keeps_texts=*/false);
    check(l, "a", "managed", "etc/claude-code/commands/a.md");
    check(l, "b", "user", "h/.claude/commands/b.md");
    check(l, "c", "ours", "w/.tenax/commands/c.md");
    check(l, "d", "skill", "w/.claude/skills/d/SKILL.md");
    check(l, "e", "user's command", "h/.claude/commands/e.md");
    check(l, "x:y:deep", "Deep", "w/.claude/commands/x/y/deep.md");
    assert_int_equal(l->commands.len, 7);
    assert_true(is_noted(l, "w/.claude/commands/a.md", "is not used: /a is"));
    assert_true(is_noted(l, "w/.claude/commands/c.md", "is not used: /c is"));
    assert_true(is_noted(l, "w/.claude/commands/goal.md", "/goal is built in"));
    assert_true(is_noted(l, "w/.claude/commands/quit.md", "/quit is built in"));
    assert_true(is_noted(l, "two words.md", "its name may only have"));
}

/* A project's file that is a link to something elsewhere is not read; one within it is. */
static void test_links(void **state)
{
    static const struct {
        const char *to, *from;
    } links[] = {
        {"h/secret", "w/.claude/commands/leak.md"},
        {"w/inside.md", "w/.claude/commands/fine.md"},
        {"h/folder", "w/.claude/commands/out"},
        {"h/folder", "w/.claude/skills/skill"},
        {"other/mine.md", "h/.claude/commands/mine.md"},
    };
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *l = NULL;

    (void)state;
    home_clear();
    put("h/secret", "the key");
    put("h/folder/deep.md", "the key");
    put("h/folder/SKILL.md", "the key");
    put("w/inside.md", "inside");
    put("other/mine.md", "mine");
    put("w/.claude/commands/a.md", "a");
    put("w/.claude/skills/b/SKILL.md", "b");
    put("h/.claude/commands/c.md", "c");
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *to = path_join(test_home, links[i].to);
        CLEANUP(mem_freep) char *from = path_join(test_home, links[i].from);

        assert_int_equal(symlink(to, from), 0);
    }
    conf = load();
    l = own_read(conf, NULL, /*keeps_texts=*/false);
    check(l, "fine", "inside", "w/.claude/commands/fine.md");
    check(l, "mine", "mine", "h/.claude/commands/mine.md");
    assert_int_equal(l->commands.len, 5);
    assert_true(is_noted(l, "w/.claude/commands/leak.md", "a link that leads out of the project"));
    assert_true(
        is_noted(l, "w/.claude/commands/out/deep.md", "a link that leads out of the project"));
    assert_true(
        is_noted(l, "w/.claude/skills/skill/SKILL.md", "a link that leads out of the project"));
}

static void test_frontmatter(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *l = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct own_command *c;
    struct str body;

    (void)state;
    home_clear();
    put("w/.claude/commands/full.md",
        "---\ndescription: Do it\nwhen_to_use: When\nargument-hint: [file] [line]\n"
        "allowed-tools: Bash(git add *), Bash(git commit -m *) Read\n"
        "disallowed-tools:\n  - WebFetch\n  - Edit\nmodel: opus\neffort: high\n"
        "arguments: file, line\n---\nThe body.\n");
    put("w/.claude/commands/hidden.md",
        "---\nuser-invocable: false\nmodel: inherit\nargument-hint: [one]\narguments: a  b\n"
        "---\nx");
    put("w/.claude/commands/bad.md", "---\na:\n  - [\n---\n");
    conf = load();
    l = own_read(conf, NULL, /*keeps_texts=*/false);
    c = own_find(l, STR("full"));
    assert_non_null(c);
    assert_true(str_is(c->summary, "Do it When"));
    assert_true(str_is(c->hint, "[file] [line]"));
    assert_int_equal(c->allow.len, 3);
    assert_string_equal(c->allow.ptr[0], "Bash(git add *)");
    assert_string_equal(c->allow.ptr[1], "Bash(git commit -m *)");
    assert_string_equal(c->allow.ptr[2], "Read");
    assert_int_equal(c->deny.len, 2);
    assert_int_equal(c->names.len, 2);
    assert_string_equal(c->names.ptr[0], "file");
    assert_string_equal(c->names.ptr[1], "line");
    assert_true(str_is(c->model, "opus"));
    assert_int_equal(c->effort, EFFORT_HIGH);
    assert_false(c->is_hidden);
    assert_int_equal(own_body(c, &arena, &body, NULL), 0);
    assert_true(str_is(body, "The body.\n"));
    c = own_find(l, STR("hidden"));
    assert_true(c && c->is_hidden && !c->model.len && str_is(c->hint, "[one]"));
    assert_int_equal(c->names.len, 2);
    c = own_find(l, STR("bad")); /* it might have forbidden the model to call it */
    assert_true(c && c->is_users && !c->is_hidden && !own_grants(c));
    assert_true(is_noted(l, "bad.md:4", "only you can run it"));
}

static void test_changes(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *none = NULL;
    CLEANUP(own_list_unrefp) struct own_list *one = NULL;

    (void)state;
    home_clear();
    conf = load();
    none = own_read(conf, NULL, /*keeps_texts=*/false);
    assert_int_equal(none->commands.len, 0);
    assert_true(own_is_fresh(none, conf, NULL));
    put("w/.claude/commands/late.md", "late");
    assert_false(own_is_fresh(none, conf, NULL));
    one = own_read(conf, NULL, /*keeps_texts=*/false);
    assert_int_equal(one->commands.len, 1);
    assert_true(own_is_fresh(one, conf, NULL));
    put("w/.claude/commands/late.md", "another, longer text");
    assert_false(own_is_fresh(one, conf, NULL));
    home_clear();
    assert_false(own_is_fresh(one, conf, NULL));
}

/* Texts already read stay as they were, and differences are listed. */
static void test_texts_kept(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *from = NULL;
    CLEANUP(own_list_unrefp) struct own_list *to = NULL;
    struct str body;

    (void)state;
    home_clear();
    put("w/.claude/commands/a.md", "same");
    put("w/.claude/commands/b.md", "---\nmodel: x\n---\nold");
    put("w/.claude/commands/c.md", "gone");
    put("w/.claude/commands/e.md", "");
    conf = load();
    from = own_read(conf, NULL, /*keeps_texts=*/true);
    home_clear();
    put("w/.claude/commands/a.md", "same");
    put("w/.claude/commands/b.md", "---\nmodel: x\n---\nnew");
    put("w/.claude/commands/d.md", "come");
    put("w/.claude/commands/e.md", "filled");
    to = own_read(conf, NULL, /*keeps_texts=*/true);
    own_changed(from, to, &paths);
    assert_int_equal(paths.len, 4);
    for (size_t i = 0; i < paths.len; i++)
        assert_true(str_ends(str_of(paths.ptr[i]),
                             str_of(((const char *[]){"b.md", "d.md", "e.md", "c.md"})[i])));
    assert_int_equal(own_body(own_find(from, STR("b")), &arena, &body, NULL), 0);
    assert_true(str_is(str_trim(body), "old"));
    assert_int_equal(own_body(own_find(from, STR("e")), &arena, &body, NULL), 0);
    assert_int_equal(body.len, 0);
}

static void test_too_large(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(own_list_unrefp) struct own_list *l = NULL;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    home_clear();
    for (size_t i = 0; i <= OWN_MAX_FILE; i++)
        buf_addc(&text, 'x');
    put("w/.claude/commands/large.md", buf_cstr(&text));
    conf = load();
    l = own_read(conf, NULL, /*keeps_texts=*/false);
    assert_int_equal(l->commands.len, 0);
    assert_true(is_noted(l, "large.md", "is not used"));
}

UNIT_TEST(own)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_wins),    cmocka_unit_test(test_links),
        cmocka_unit_test(test_frontmatter), cmocka_unit_test(test_changes),
        cmocka_unit_test(test_texts_kept),  cmocka_unit_test(test_too_large),
    };

    return cmocka_run_group_tests(tests, setup, home_teardown);
}
