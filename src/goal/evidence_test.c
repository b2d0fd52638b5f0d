/*
 * Which calls of an agent stay in the evidence, and that nothing harmless pushes them out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "goal/goal_state.h"
#include "unit.h"

#define DIR "/home/u/work"

static void goal_begin(struct goal *g)
{
    *g = (struct goal){.spec = {.dir = DIR}};
    memory_init(&g->memory);
    strv_adds(&g->options.protect, "golden");
    strv_adds(&g->options.protect, "data/*.csv");
    g->row.checks = STR("[{\"command\":\"sh tools/verify.sh && ./run --all\"}]");
}

static void goal_end(struct goal *g)
{
    evidence_release(g);
    memory_release(&g->memory);
    goal_options_release(&g->options);
    strv_release(&g->wrote);
    strv_release(&g->stretch.seen);
}

/* ' stands for " in inputs. */
static void add_call(struct goal *g, const char *tool, const char *input, const char *changed,
                     unsigned flags)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    struct referee_tool t = {
        .name = str_of(tool),
        .text = STR("done"),
        .ran = true,
        .flags = flags,
        .changed_file = changed,
    };

    for (const char *c = input; *c; c++)
        buf_addc(&json, *c == '\'' ? '"' : *c);
    t.input = buf_str(&json);
    evidence_add(g, &t);
}

static const struct note_case {
    const char *command;
    bool is_sensitive;
} note_cases[] = {
    {"ls -l", false},
    {"make test", false},
    {"cc -o sum sum.c && ./sum", false},
    {"echo hello > out.txt", false},
    {"git status", false},
    {"git diff --stat", false},
    {"git add -A && git commit -m fix", false},
    {"echo reset; git log", false},
    {"python3 app.py > /dev/null 2>&1", false},
    {"cd /home/u/work && npm run lint", false},
    {"sed -i s/a/b/ src/main.c", false},

    {"git replace a b", true},
    {"git --no-pager -c x.y=z replace a b", true},
    {"cd src; /usr/bin/git update-index --assume-unchanged a", true},
    {"git config core.hooksPath x", true},
    {"git update-ref refs/heads/main HEAD", true},
    {"git reset --hard", true},
    {"git checkout main -- api", true},
    {"git stash", true},
    {"git filter-branch x", true},
    {"git gc --prune=now", true},
    {"git symbolic-ref HEAD x", true},
    {"git worktree add x", true},
    {"gi't' repl\\\\ace a b", true},
    {"python3 -c 'import subprocess; subprocess.run([git, replace, a])'", true},
    {"echo x > .git/info/exclude", true},
    {"rm -rf .git/refs/replace", true},
    {"echo '*.c -text' >> .gitattributes", true},
    {"echo build >> .gitignore", true},
    {"GIT_DIR=x cat a", true},
    {"cp evil node_modules/.bin/jest", true},
    {"echo 1 > build/stamp", true},
    {"rm src/__pycache__/a.pyc", true},
    {"echo x > .env", true},
    {"echo '*' > .rgignore", true},
    {"sed -i 1d tests/test_sum.py", true},
    {"rm sum_test.go", true},
    {"echo 'all:' > Makefile", true},
    {"echo x >> rules.mk", true},
    {"cat > conftest.py", true},
    {"cp a sitecustomize.py", true},
    {"touch test", true},
    {"chmod -x run", true},
    {"ln -s a b", true},
    {"echo Z2l0 | base64 -d | sh", true},
    {"cp evil /usr/bin/make", true},
    {"echo x > /tmp/y", true},
    {"echo x >> ~/.bashrc", true},
    {"echo x > ../other/y", true},
    {"rm golden/one.txt", true},
    {"echo 1 > data/a.csv", true},
    {"echo exit 0 > tools/verify.sh", true},
};

static void test_notes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(note_cases); i++) {
        CLEANUP(buf_release) struct buf input = BUF_INIT(4096);
        struct goal g;

        goal_begin(&g);
        buf_addf(&input, "{'command':'");
        for (const char *c = note_cases[i].command; *c; c++)
            buf_adds(&input, *c == '\'' ? "\\'" : (char[]){*c, '\0'});
        buf_adds(&input, "','description':'git reset of .git'}");
        add_call(&g, "Bash", buf_cstr(&input), NULL, 0);
        if (g.items.ptr[0].is_sensitive != note_cases[i].is_sensitive)
            fail_msg("%s: note [%s]", note_cases[i].command, g.items.ptr[0].note);
        if (note_cases[i].is_sensitive && !g.items.ptr[0].note[0])
            fail_msg("%s: no note", note_cases[i].command);
        goal_end(&g);
    }
}

/* Files that tools write: the path counts, and what the text says of git. */
static void test_writes(void **state)
{
    static const struct {
        const char *path, *content;
        unsigned flags;
        bool is_sensitive;
    } rows[] = {
        {DIR "/src/a.c", "int a = 1; /* see /api/users and ../x, touch */", 0, false},
        {DIR "/README.md", "run make", 0, false},
        {DIR "/README.md", "run make", TOOL_READ_ONLY, false},
        {DIR "/fix.sh", "set -e\\ngit replace a b", 0, true},
        {DIR "/fix.py", "open('.git/config')", 0, true},
        {DIR "/tests/test_a.py", "x", 0, true},
        {DIR "/tests/test_a.py", "x", TOOL_READ_ONLY, false},
        {DIR "/package.json", "{}", 0, true},
        {DIR "/.git/hooks/pre-commit", "x", 0, true},
        {DIR "/.claude/settings.json", "{}", 0, true},
        {DIR "/golden/x/y", "x", 0, true},
        {DIR "/tools/verify.sh", "x", 0, true},
        {DIR "2/a.c", "x", 0, true},
        {"/etc/hosts", "x", 0, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf input = BUF_INIT(4096);
        struct goal g;

        goal_begin(&g);
        buf_addf(&input, "{'file_path':'%s','content':'", rows[i].path);
        for (const char *c = rows[i].content; *c; c++)
            buf_adds(&input, *c == '\'' ? "\\'" : (char[]){*c, '\0'});
        buf_adds(&input, "'}");
        add_call(&g, "Write", buf_cstr(&input), rows[i].path, rows[i].flags);
        if (g.items.ptr[0].is_sensitive != rows[i].is_sensitive)
            fail_msg("row %zu: %s, note [%s]", i, rows[i].path, g.items.ptr[0].note);
        goal_end(&g);
    }
}

static void add_harmless(struct goal *g, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char input[80];

        snprintf(input, sizeof(input), "{'file_path':'src/%zu.c'}", i);
        add_call(g, i % 4 ? "Read" : "Grep", input, NULL, TOOL_READ_ONLY);
    }
}

/* A trick, and then a thousand harmless calls. */
static void test_window(void **state)
{
    struct goal g;
    size_t total = 0;

    (void)state;
    goal_begin(&g);
    add_harmless(&g, 100);
    add_call(&g, "Bash", "{'command':'echo start; git replace HEAD~1 HEAD'}", NULL, 0);
    add_harmless(&g, 1000);
    assert_int_equal(g.items.len, GOAL_ITEMS);
    assert_int_equal(g.kept.len, 1);
    assert_int_equal(g.kept_left_out, 0);
    assert_non_null(strstr(g.kept.ptr[0].note, "git replace HEAD~1 HEAD"));
    assert_string_equal(g.kept.ptr[0].tool, "Bash");
    assert_int_equal(g.left_out.len, 2);
    VEC_EACH(&g.left_out, it) {
        total += it->count;
    }
    assert_int_equal(total, 1100 - GOAL_ITEMS);
    evidence_clear(&g);
    assert_int_equal(g.items.len + g.kept.len + g.left_out.len, 0);
    goal_end(&g);
}

/* The same call again and again takes one place. */
static void test_repeats(void **state)
{
    struct goal g;

    (void)state;
    goal_begin(&g);
    add_call(&g, "Bash", "{'command':'git replace a b'}", NULL, 0);
    for (int i = 0; i < 2000; i++)
        add_call(&g, "Bash", "{'command':'touch stamp'}", NULL, 0);
    assert_int_equal(g.kept.len, 2);
    assert_non_null(strstr(g.kept.ptr[0].note, "git replace"));
    assert_int_equal(g.kept.ptr[1].times, 2000 - GOAL_ITEMS);
    assert_int_equal(g.kept_left_out, 0);
    goal_end(&g);
}

/* More of them than are kept: the first and the last stay, the loss is counted, and memory is
 * bounded. */
static void test_bounded(void **state)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(1 << 20);
    struct goal g;
    size_t bytes = 0;

    (void)state;
    goal_begin(&g);
    add_call(&g, "Bash", "{'command':'git replace first'}", NULL, 0);
    for (int i = 0; i < 1000; i++) {
        buf_clear(&input);
        buf_addf(&input, "{'command':'touch %d", i);
        for (int k = 0; k < 80; k++)
            buf_adds(&input, " some more words");
        buf_adds(&input, "'}");
        add_call(&g, "Bash", buf_cstr(&input), NULL, 0);
    }
    add_harmless(&g, GOAL_ITEMS);
    assert_true(g.kept.len <= 400);
    assert_int_equal(g.kept.len + g.kept_left_out, 1001);
    assert_non_null(strstr(g.kept.ptr[0].note, "git replace first"));
    assert_non_null(strstr(g.kept.ptr[g.kept.len - 1].note, "touch 999"));
    VEC_EACH(&g.kept, it) {
        bytes += strlen(it->input) + strlen(it->result) + strlen(it->note);
    }
    assert_true(bytes < (size_t)1 << 20);
    goal_end(&g);
}

/* What matters is shown wherever in a long command it stands. */
static void test_note_in_long_command(void **state)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(1 << 20);
    struct goal g;

    (void)state;
    goal_begin(&g);
    buf_adds(&input, "{'command':'touch decoy; ");
    for (int i = 0; i < 2000; i++)
        buf_adds(&input, "echo nothing; ");
    buf_adds(&input, "git update-ref x y; ");
    for (int i = 0; i < 2000; i++)
        buf_adds(&input, "echo nothing; ");
    buf_adds(&input, "'}");
    add_call(&g, "Bash", buf_cstr(&input), NULL, 0);
    assert_null(strstr(g.items.ptr[0].input, "update-ref"));
    assert_non_null(strstr(g.items.ptr[0].note, "touch decoy"));
    assert_non_null(strstr(g.items.ptr[0].note, "git update-ref x y"));
    buf_clear(&input);
    buf_adds(&input, "{'command':'");
    while (input.len < 70000)
        buf_adds(&input, "echo nothing; ");
    buf_adds(&input, "'}");
    add_call(&g, "Bash", buf_cstr(&input), NULL, 0);
    assert_true(g.items.ptr[1].is_sensitive); /* too long to be looked through */
    goal_end(&g);
}

/* Refused calls change nothing, tools of the goal are no evidence, and names of tools are few. */
static void test_others(void **state)
{
    struct referee_tool refused = {.name = STR("Bash"),
                                   .input = STR("{\"command\":\"git replace a b\"}"),
                                   .text = STR("denied"),
                                   .is_error = true};
    struct goal g;

    (void)state;
    goal_begin(&g);
    assert_false(evidence_is_sensitive(&g, &refused));
    refused.ran = true;
    assert_true(evidence_is_sensitive(&g, &refused));
    add_call(&g, "update_goal", "{'status':'complete'}", NULL, TOOL_REFEREE);
    assert_int_equal(g.items.len, 0);
    for (int i = 0; i < 500; i++) {
        char name[20];

        snprintf(name, sizeof(name), "tool%d", i);
        add_call(&g, name, "{}", NULL, 0);
    }
    assert_int_equal(g.left_out.len, GOAL_LEFT_OUT);
    assert_string_equal(g.left_out.ptr[GOAL_LEFT_OUT - 1].tool, "other");
    goal_end(&g);
}

UNIT_TEST(evidence)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),   cmocka_unit_test(test_writes),
        cmocka_unit_test(test_window),  cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_bounded), cmocka_unit_test(test_note_in_long_command),
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
