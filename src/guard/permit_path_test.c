/*
 * permit, asked about files: one table of rules and paths, in real folders with real links. An
 * allow must hold for the path and for what it leads to, a deny for either, also where nothing is
 * yet; and what each kind of specifier takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/protected.h"
#include "guard/setting_check.h"
#include "guard/workspace.h"
#include "unit.h"

/* @ is root: w is worked in, o is elsewhere, h is the home. */
static char root[64];
static char *work;

static const char *const folders[] = {"w",         "w/src", "w/src/deep", "w/.git",
                                      "w/secrets", "o",     "o/sub",      "h"};
static const char *const files[] = {"w/src/a.c", "w/secrets/key", "w/.env", "o/secret"};
static const char *const links[][2] = {
    {"src", "w/in"},           /* inside, to inside */
    {"../o", "w/out"},         /* a folder outside */
    {"../o/secret", "w/file"}, /* a file outside */
    {"../o/none", "w/dangling"} /* would be made outside */,
    {"loop", "w/loop"},
    {"in", "w/twice"}, /* a link to a link */
    {"secrets", "w/public"},
    {".git", "w/harmless"},
    {"../w", "o/back"}, /* from outside back in */
    {"/", "w/everything"},
};

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/permit-path-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, folders[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, files[i]);

        assert_int_equal(file_replace(path, STR("x"), 0600, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, links[i][1]);

        assert_int_equal(symlink(links[i][0], path), 0);
    }
    work = path_join(root, "w");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, links[i][1]);

        unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, files[i]);

        unlink(path);
    }
    for (size_t i = ARRAY_LEN(folders); i-- > 0;) {
        CLEANUP(mem_freep) char *path = path_join(root, folders[i]);

        rmdir(path);
    }
    rmdir(root);
    free(work);
    return 0;
}

/* call: "Edit: path" as a model gives it. Expected of default and of acceptEdits. */
static const struct {
    const char *rules; /* "allow Edit(src)", joined by ", " */
    const char *call;
    const char *expect;
} rows[] = {
    /* without rules */
    {"", "Read: src/a.c", "++"},
    {"", "Read: ./src/../src/a.c", "++"},
    {"", "Read: src//a.c", "++"},
    {"", "Read: src/", "++"},
    {"", "Read: new/file", "++"},
    {"", "Read: ..", "~~"},
    {"", "Read: ../o/secret", "~~"},
    {"", "Read: src/../../o/secret", "~~"},
    {"", "Read: in/a.c", "++"},
    {"", "Read: twice/a.c", "++"},
    {"", "Read: file", "~~"},
    {"", "Read: out/secret", "~~"},
    {"", "Read: out/none", "~~"},
    {"", "Read: out/sub/none/more", "~~"},
    {"", "Read: out/back/src/a.c", "++"}, /* out and in again */
    {"", "Read: everything/etc/passwd", "~~"},
    {"", "Read: /etc/passwd", "~~"},
    {"", "Edit: src/a.c", "~+"},
    {"", "Edit: src/new.c", "~+"},
    {"", "Edit: in/new.c", "~+"},
    {"", "Edit: out/new", "~~"},
    {"", "Edit: dangling", "~~"},
    {"", "Edit: file", "~~"},
    {"", "Edit: everything/tmp/x", "~~"},
    {"", "Edit: harmless/config", "~~"},
    {"", "Edit: .git/config", "~~"},
    {"", "Edit: .GIT/config", "~~"},
    {"", "Edit: src/../.git/hooks/x", "~~"},

    /* an allow: the path and what it leads to */
    {"allow Edit(src/**)", "Edit: src/a.c", "++"},
    {"allow Edit(src/**)", "Edit: src/deep/new", "++"},
    {"allow Edit(src/**)", "Edit: in/a.c", "~+"},
    {"allow Edit(in/**)", "Edit: in/a.c", "~+"},
    {"allow Edit(in/**), allow Edit(src/**)", "Edit: in/a.c", "++"},
    {"allow Edit(src/**)", "Edit: src/../x", "~+"},
    {"allow Edit(src/**)", "Edit: srcx", "~+"},
    {"allow Edit(out/**)", "Edit: out/new", "~~"},
    {"allow Edit(out/**)", "Edit: out/secret", "~~"},
    {"allow Edit(out/**), allow Edit(//**/o/**)", "Edit: out/new", "++"},
    {"allow Edit(dangling)", "Edit: dangling", "~~"},
    {"allow Edit(file)", "Edit: file", "~~"},
    {"allow Read(file)", "Read: file", "~~"},
    {"allow Read(//**)", "Read: /etc/passwd", "++"},
    {"allow Read(//etc/**)", "Read: everything/etc/passwd", "~~"},
    {"allow Read(//etc/**), allow Read(everything/**)", "Read: everything/etc/passwd", "++"},
    {"allow Edit", "Edit: src/a.c", "++"},
    {"allow Edit", "Edit: .git/config", "~~"},
    {"allow Edit(//**)", "Edit: harmless/config", "~~"},
    {"allow Edit(.git/**)", "Edit: .git/config", "~~"},
    {"allow Read(src/**)", "Edit: src/a.c", "~+"},

    /* a deny: either */
    {"deny Edit(src/**)", "Edit: src/a.c", "--"},
    {"deny Edit(src/**)", "Edit: in/a.c", "--"},
    {"deny Edit(src/**)", "Edit: twice/new", "--"},
    {"deny Edit(src/**)", "Edit: out/back/src/a.c", "--"},
    {"deny Edit(in/**)", "Edit: in/a.c", "--"},
    {"deny Edit(in/**)", "Edit: src/a.c", "~+"},
    {"deny Edit(src/**)", "Read: src/a.c", "++"},
    {"deny Edit(src/**)", "Edit: x/../src/a.c", "--"},
    {"deny Edit(src/**)", "Edit: src//a.c", "--"},
    {"deny Read(secrets/**)", "Read: secrets/key", "--"},
    {"deny Read(secrets/**)", "Read: public/key", "--"},
    {"deny Read(secrets/**)", "Read: public/none", "--"},
    {"deny Read(secrets/**)", "Read: secrets", "--"},
    {"deny Read(secrets/**)", "Grep: secrets", "--"},
    {"deny Read(secrets/**)", "Edit: public/key", "--"},
    {"deny Read(secrets/**)", "Read: a/secrets/key", "--"},
    {"deny Read(./secrets/**)", "Read: a/secrets/key", "++"},
    {"deny Read(.env)", "Read: .env", "--"},
    {"deny Read(.env)", "Read: a/b/.env", "--"},
    {"deny Read(.env)", "Read: .environment", "++"},
    {"deny Read(.env*)", "Read: .env.local", "--"},
    {"deny Edit(//**/o/**)", "Edit: dangling", "--"},
    {"deny Edit(//**/o/**)", "Edit: out/new", "--"},
    {"deny Read(//etc/**)", "Read: everything/etc/passwd", "--"},
    {"deny Read(~/**)", "Read: @/h/x", "--"},
    {"deny Read(//**), allow Read(src/**)", "Read: src/a.c", "--"},
    {"deny Edit", "Edit: src/a.c", "--"},
    {"deny Read", "Read: src/a.c", "--"},

    /* an ask: either, and no mode helps */
    {"ask Edit(src/**)", "Edit: in/a.c", "~~"},
    {"ask Edit(src/**), allow Edit(src/**)", "Edit: src/a.c", "~~"},
    {"ask Read(secrets/**)", "Read: public/key", "~~"},

    /* not about files: what else speaks of a tool */
    {"allow WebFetch(domain:example.com)", "WebFetch: example.com", "++"},
    {"allow WebFetch(domain:example.com)", "WebFetch: EXAMPLE.COM", "++"},
    {"allow WebFetch(domain:example.com)", "WebFetch: example.com.", "++"},
    {"allow WebFetch(domain:example.com)", "WebFetch: a.example.com", "~~"},
    {"allow WebFetch(domain:example.com)", "WebFetch: example.com.evil.net", "~~"},
    {"allow WebFetch(domain:example.com)", "WebFetch: notexample.com", "~~"},
    {"allow WebFetch(domain:*.example.com)", "WebFetch: a.b.example.com", "++"},
    {"allow WebFetch(domain:*.example.com)", "WebFetch: example.com", "~~"},
    {"deny WebFetch(domain:*.evil.net)", "WebFetch: a.EVIL.net", "--"},
    {"allow WebFetch, deny WebFetch(domain:evil.net)", "WebFetch: evil.net.", "--"},
    {"allow mcp__db", "mcp__db__query", "++"},
    {"allow mcp__db", "mcp__db2__query", "~~"},
    {"allow mcp__db__query", "mcp__db__query", "++"},
    {"allow mcp__db__query", "mcp__db__query_all", "~~"},
    {"allow mcp__db__*", "mcp__db__drop", "++"},
    {"allow mcp__db, deny mcp__db__drop", "mcp__db__drop", "--"},
    {"deny mcp__*", "mcp__db__query", "--"},
    {"deny *", "mcp__db__query", "--"},
    {"ask mcp__db__*, allow mcp__db", "mcp__db__query", "~~"},
    {"allow Agent(Explore)", "Agent: Explore", "++"},
    {"allow Agent(Explore)", "Agent: Build", "~~"},
    {"deny Agent(Build), allow Agent", "Agent: Build", "--"},
    {"deny Task(Build), allow Agent", "Agent: Build", "--"},
    {"allow Skill(deploy)", "Skill: deploy", "++"},
    {"allow Skill(deploy)", "Skill: deploy prod", "~~"},
    {"allow Skill(deploy *)", "Skill: deploy prod", "++"},
    {"allow Skill(deploy:*)", "Skill: deployer", "~~"},
    {"allow Cd(src/**)", "Cd: src/deep", "++"},
    {"allow Cd(src/**)", "Cd: out", "~~"},
    {"deny Cd(//etc/**)", "Cd: everything/etc", "--"},
    {"allow Cd(src/**)", "Edit: src/a.c", "~+"},
};

/* "allow A, deny B" as settings. */
static void settings_of(struct buf *out, const char *rules)
{
    static const char *const lists[] = {"allow", "ask", "deny"};

    buf_adds(out, "{\"permissions\":{");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct str rest = str_of(rules);
        size_t count = 0;

        buf_addf(out, "%s\"%s\":[", i ? "," : "", lists[i]);
        while (rest.len) {
            struct str one = str_first(rest, str_find(rest, STR(", ")));
            size_t blank = str_chr(one, ' ');

            if (str_is(str_first(one, blank), lists[i]))
                buf_addf(out, "%s\"%.*s\"", count++ ? "," : "", STR_ARG(str_from(one, blank + 1)));
            rest = str_from(rest, one.len + 2);
        }
        buf_addc(out, ']');
    }
    buf_adds(out, "}}");
}

static void setting_make(struct setting *s, const char *rules)
{
    CLEANUP(buf_release) struct buf settings = BUF_INIT(10000);

    settings_of(&settings, rules);
    setting_load(s, root, work, buf_cstr(&settings), /*options=*/NULL);
    assert_non_null(s->permit);
    if (s->warnings.len)
        fail_msg("%s: %s", rules, s->warnings.ptr[0]);
}

static unsigned call_of(struct setting *s, const char *call, struct arena *arena,
                        struct rule_subject *ret)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(4096);
    struct str text;
    size_t colon;

    for (; *call; call++) {
        if (*call == '@')
            buf_adds(&full, root);
        else
            buf_addc(&full, *call);
    }
    text = arena_str(arena, buf_str(&full));
    colon = str_find(text, STR(": "));
    *ret = (struct rule_subject){.tool = str_first(text, colon), .text = str_from(text, colon + 2)};
    if (str_is(ret->tool, "WebFetch")) {
        ret->about = ABOUT_HOST;
        return TOOL_READ_ONLY;
    }
    if (str_is_word_of(ret->tool, "Agent Skill"))
        ret->about = ABOUT_NAME;
    if (str_is_word_of(ret->tool, "Read Grep Edit Cd")) {
        CLEANUP(mem_freep) char *path = workspace_resolve(s->workspace, ret->text);

        ret->about = ABOUT_PATH;
        ret->writes = str_is(ret->tool, "Edit");
        ret->text = arena_str(arena, str_of(path));
        return ret->writes ? TOOL_EDITS : str_is(ret->tool, "Cd") ? 0 : TOOL_READ_ONLY;
    }
    return 0;
}

static void paths(void **state)
{
    static const enum permit_mode modes[] = {MODE_DEFAULT, MODE_ACCEPT_EDITS};
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(setting_release) struct setting s;
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct rule_subject subject;
        char got[3] = {0};
        unsigned flags;

        setting_make(&s, rows[i].rules);
        flags = call_of(&s, rows[i].call, &arena, &subject);
        for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
            struct permit_answer answer;

            assert_int_equal(permit_set_mode(s.permit, modes[m], NULL), 0);
            permit_check(s.permit, &subject, flags, &answer);
            got[m] = "+~-"[answer.verdict];
        }
        if (strcmp(got, rows[i].expect) != 0) {
            print_error("row %zu: %s: %s: %s instead of %s\n", i, rows[i].rules, rows[i].call, got,
                        rows[i].expect);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void protected_paths(void **state)
{
    static const struct {
        const char *path;
        bool expect;
    } list[] = {
        {"/w/.git/config", true},
        {"/w/.git", true},
        {"/w/sub/.git/hooks/x", true},
        {"/w/.GiT/x", true},
        {"/w/.gitignore", false},
        {"/w/git/x", false},
        {"/h/.config/git/config", true},
        {"/h/.config/other", false},
        {"/w/.vscode/tasks.json", true},
        {"/w/.idea/x", true},
        {"/w/.husky/pre-commit", true},
        {"/w/.cargo/config.toml", true},
        {"/w/.devcontainer/devcontainer.json", true},
        {"/w/.yarn/x", true},
        {"/w/.mvn/x", true},
        {"/w/.claude/settings.json", true},
        {"/w/.claude/worktrees/a/src/x.c", false},
        {"/w/.claude/worktrees/a/.git/x", true},
        {"/w/.claude/worktrees", true},
        {"/w/.tenax/settings.json", true},
        {"/h/.gitconfig", true},
        {"/w/.gitmodules", true},
        {"/h/.bashrc", true},
        {"/h/.zshrc", true},
        {"/h/.profile", true},
        {"/w/.envrc", true},
        {"/w/.npmrc", true},
        {"/w/.mcp.json", true},
        {"/h/.claude.json", true},
        {"/h/.ripgreprc", true},
        {"/w/.pre-commit-config.yaml", true},
        {"/w/.bashrc/x", false}, /* a folder of that name is none */
        {"/w/src/bashrc", false},
        {"/w/package.json", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        if (protected_path(str_of(list[i].path)) != list[i].expect)
            fail_msg("row %zu: %s", i, list[i].path);
    }
}

static void git_data(void **state)
{
    static const struct {
        const char *path;
        bool changed, deleted; /* what it may be unasked */
    } list[] = {
        {"/w/.git/objects/ab/cd", true, false},
        {"/w/.git/objects", true, false},
        {"/w/.git/objects/info/alternates", false, false},
        {"/w/.git/refs/heads/topic", true, true},
        {"/w/.git/refs", true, false},
        {"/w/.git/logs/HEAD", true, true},
        {"/w/.git/HEAD", true, false},
        {"/w/.git/HEAD/x", false, false},
        {"/w/.git/index", true, false},
        {"/w/.git/packed-refs", true, false},
        {"/w/.git/MERGE_HEAD", true, true},
        {"/w/.git/COMMIT_EDITMSG", true, true},
        {"/w/sub/.git/index", true, false},
        {"/w/.git", false, false},
        {"/w/.git/config", false, false},
        {"/w/.git/config.worktree", false, false},
        {"/w/.git/hooks/pre-commit", false, false},
        {"/w/.git/info/attributes", false, false},
        {"/w/.git/modules/x/config", false, false},
        {"/w/.git/modules/x/HEAD", false, false},
        {"/w/.git/worktrees/x/gitdir", false, false},
        {"/w/.git/rebase-merge/git-rebase-todo", false, false},
        {"/w/.git/commondir", false, false},
        {"/w/.Git/index", false, false},
        {"/w/.claude/.git/index", false, false},
        {"/w/index", false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        struct str path = str_of(list[i].path);

        if (protected_is_git_data(path, /*goes=*/false) != list[i].changed ||
            protected_is_git_data(path, /*goes=*/true) != list[i].deleted)
            fail_msg("row %zu: %s", i, list[i].path);
    }
}

UNIT_TEST(permit_path)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(protected_paths),
        cmocka_unit_test(git_data),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
