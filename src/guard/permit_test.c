/*
 * permit: modes x calls as one table, in real folders with real links; leave to bypass; updates and
 * suggestions; and questions from several threads while the state changes.
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
#include "guard/setting_check.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "sync/thread.h"
#include "unit.h"

/* root/w is worked in, root/o is elsewhere, root/h is the home. */
static char root[64];
static char *work;

static char *below(const char *name)
{
    return path_join(root, name);
}

static void make_file(const char *name)
{
    CLEANUP(mem_freep) char *path = below(name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fclose(f);
}

static void make_link(const char *to, const char *name)
{
    CLEANUP(mem_freep) char *target = below(to);
    CLEANUP(mem_freep) char *path = below(name);

    assert_int_equal(symlink(target, path), 0);
}

/* Our folder in the project, and what saved settings make there beside themselves. */
static void remove_folder(const char *folder)
{
    CLEANUP(mem_freep) char *ignore = path_join(folder, ".gitignore");

    unlink(ignore);
    assert_int_equal(rmdir(folder), 0);
}

static int set_up(void **state)
{
    static const char *const dirs[] = {"w", "w/src", "w/.git", "o", "h", "h/.tenax", "x"};
    char real[4096];

    (void)state;
    snprintf(root, sizeof(root), "/tmp/permit-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_non_null(realpath(root, real));
    assert_string_equal(real, root);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        CLEANUP(mem_freep) char *path = below(dirs[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    work = below("w");
    make_file("w/src/a.c");
    make_file("o/secret");
    make_link("o/secret", "w/out");         /* leads out */
    make_link("o/not-there", "w/dangling"); /* would be made outside */
    make_link("w/.git", "w/g");             /* another name for something protected */
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"w/src/a.c", "o/secret", "w/out", "w/dangling", "w/g"};
    static const char *const dirs[] = {"w/src", "w/.git", "w", "o", "h/.tenax", "h", "x", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = below(files[i]);

        unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        CLEANUP(mem_freep) char *path = below(dirs[i]);

        rmdir(path);
    }
    free(work);
    return 0;
}

static void setting_make(struct setting *s, const char *settings, const char *const *options)
{
    setting_load(s, root, work, settings, options);
}

/* "Tool: what", with @ for the test's folder; the flags a tool of that name has. */
static unsigned call_of(const char *call, struct arena *arena, struct rule_subject *ret)
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
    if (str_is(ret->tool, "Bash")) {
        CLEANUP(rule_command_freep) struct rule_command *command = rule_command_new(ret->text);

        ret->about = ABOUT_COMMAND;
        return rule_command_is_read_only(command) ? TOOL_READ_ONLY : 0;
    }
    if (str_is(ret->tool, "Read") || str_is(ret->tool, "Grep")) {
        ret->about = ABOUT_PATH;
        return TOOL_READ_ONLY | TOOL_CONCURRENT;
    }
    if (str_is(ret->tool, "Edit") || str_is(ret->tool, "Write")) {
        ret->about = ABOUT_PATH;
        ret->writes = true;
        return TOOL_EDITS;
    }
    if (str_is(ret->tool, "WebFetch")) {
        ret->about = ABOUT_HOST;
        return TOOL_READ_ONLY;
    }
    if (str_is(ret->tool, "TodoWrite"))
        return TOOL_FREE;
    return str_is(ret->tool, "AskUserQuestion") || str_is(ret->tool, "ExitPlanMode") ? TOOL_PERSON
                                                                                     : 0;
}

#define RULES                                                                                      \
    "{'permissions':{'allow':['Bash(npm test *)','Edit(lib/**)','WebFetch(domain:ok.net)',"        \
    "'Bash(tee *)','Read(//**/o/**)','mcp__ok'],'ask':['Bash(git push *)','Edit(ask/**)'],"        \
    "'deny':['Bash(curl *)','Read(.env)','Edit(no/**)','Bash(sh:*)','KillShell']}}"

/* One letter per mode, in the order of enum permit_mode: + allowed, ~ asked, - denied. */
static const struct {
    const char *call;
    const char *expect;
} mode_rows[] = {
    {"Read: @/w/src/a.c", "++++++"},
    {"Grep: @/w", "++++++"},
    {"Read: /etc/passwd", "~~~~-+"},
    {"Read: @/x/other", "~~~~-+"},
    {"Read: @/w/out", "~~~~-+"},    /* the link is inside, what it leads to only partly allowed */
    {"Read: @/o/secret", "++++++"}, /* by rule */
    {"Read: @/w/.env", "------"},
    {"Edit: @/w/.env", "------"},
    {"Edit: @/w/src/a.c", "~+-+-+"},
    {"Write: @/w/new/file", "~+-+-+"},
    {"Edit: @/w/lib/x", "++-+++"}, /* by rule */
    {"Edit: @/w/no/x", "------"},
    {"Edit: @/w/ask/x", "~~-~-~"},
    {"Edit: @/x/a", "~~-~-+"},
    {"Write: @/w/dangling", "~~-~-+"},
    {"Edit: @/w/out", "~~-~-+"},
    {"Edit: @/w/.git/config", "~~-~-+"},
    {"Edit: @/w/.GIT/config", "~~-~-+"},
    {"Edit: @/w/g/config", "~~-~-+"},
    {"Edit: @/w/lib/.git/x", "~~-~-+"}, /* no rule helps */
    {"Edit: @/w/.bashrc", "~~-~-+"},
    {"Write: @/w/sub/.mcp.json", "~~-~-+"},
    {"Write: @/w/.vscode/tasks.json", "~~-~-+"},
    {"Write: @/w/.claude/settings.json", "~~-~-+"},
    {"Write: @/w/.claude/worktrees/a/x.c", "~+-+-+"},
    {"Write: @/w/.claude/worktrees/a/.git/x", "~~-~-+"},
    {"Read: @/w/.git/config", "++++++"},

    {"Bash: ls -la", "++++++"},
    {"Bash: git status && ls | head", "++++++"},
    {"Bash: cat .env", "------"},
    {"Bash: grep x ./a/.env", "------"},
    {"Bash: wc < .env", "------"},
    {"Bash: head --x=.env", "------"},
    {"Bash: cat @/w/.env", "------"},
    {"Bash: npm test", "++-+++"},
    {"Bash: npm test && ls", "++-+++"},
    {"Bash: npm test && make", "~~-~-+"},
    {"Bash: make", "~~-~-+"},
    {"Bash: curl x", "------"},
    {"Bash: ls; curl x", "------"},
    {"Bash: echo $(curl x)", "------"},
    {"Bash: git push", "~~-~-~"},
    {"Bash: ls && git push -f", "~~-~-~"},
    {"Bash: mkdir d", "~+-~-+"},
    {"Bash: rm -rf build", "~+-~-+"},
    {"Bash: rm @/x/a", "~~-~-+"},
    {"Bash: cp src/a.c @/x/b", "~~-~-+"},
    {"Bash: touch dangling", "~~-~-+"},
    {"Bash: rm -rf .git", "~~-~-+"},
    {"Bash: rm -rf g/x", "~~-~-+"},
    {"Bash: sed -i s/a/b/ src/a.c", "~+-~-+"},
    {"Bash: sed -i s/a/b/ .npmrc", "~~-~-+"},
    {"Bash: touch no/x", "------"},
    {"Bash: rm -rf /", "~~-~-~"},
    {"Bash: rm -rf ~", "~~-~-~"},
    {"Bash: rm -rf .", "~~-~-~"},
    {"Bash: rm -rf \"$X\"/*", "~~-~-~"},
    {"Bash: sudo rm -rf /usr", "~~-~-~"},
    {"Bash: npm test; rm -rf /", "~~-~-~"},
    {"Bash: echo x > src/a.c", "~+-~-+"},
    {"Bash: echo x > lib/y", "++-+++"}, /* the file by rule */
    {"Bash: npm test > lib/y", "++-+++"},
    {"Bash: npm test > src/y", "~+-~-+"},
    {"Bash: echo x > @/x/y", "~~-~-+"},
    {"Bash: echo x > .git/hooks/pre-commit", "~~-~-+"},
    {"Bash: echo x > no/y", "------"},
    {"Bash: echo x >> ask/y", "~~-~-~"},
    {"Bash: cd /etc && echo x > hosts", "~~-~-+"},
    {"Bash: ls | tee out", "++-+++"},
    {"Bash: ls | tee .git/hooks/x", "~~-~-+"},
    {"Bash: cat .git/config", "++++++"},
    {"Bash: sh -c 'ls'", "------"},

    {"WebFetch: ok.net", "++++++"},
    {"WebFetch: other.net", "~~~~-+"},
    {"mcp__ok__get", "++-+++"},
    {"mcp__other__get", "~~-~-+"},
    {"TodoWrite", "++++++"},
    {"KillShell", "------"},
    {"AskUserQuestion", "~~~~-~"},
    {"ExitPlanMode", "~~~~-~"},
};

static void modes(void **state)
{
    static const char *const allow_bypass[] = {"--allow-dangerously-skip-permissions", NULL};
    CLEANUP(setting_release) struct setting s;
    size_t wrong = 0;

    (void)state;
    setting_make(&s, RULES, allow_bypass);
    assert_non_null(s.permit);
    assert_int_equal(s.warnings.len, 0);
    for (size_t i = 0; i < ARRAY_LEN(mode_rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct rule_subject subject;
        unsigned flags = call_of(mode_rows[i].call, &arena, &subject);
        char got[7] = {0};

        for (int m = MODE_DEFAULT; m <= MODE_BYPASS; m++) {
            struct permit_answer answer;

            assert_int_equal(permit_set_mode(s.permit, (enum permit_mode)m, NULL), 0);
            permit_check(s.permit, &subject, flags, &answer);
            got[m] = "+~-"[answer.verdict];
            assert_true(answer.reason[0] && answer.reason_type);
        }
        if (strcmp(got, mode_rows[i].expect) != 0) {
            print_error("row %zu: %s: %s instead of %s\n", i, mode_rows[i].call, got,
                        mode_rows[i].expect);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void reasons(void **state)
{
    CLEANUP(setting_release) struct setting s;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    static const struct {
        const char *call;
        const char *type;
        const char *reason;
        bool by_rule;
        bool path;
    } rows[] = {
        {"Bash: curl x", "rule", "denied by the rule Bash(curl *)", false, false},
        {"Bash: git push", "rule", "the rule Bash(git push *) wants it to be asked", true, false},
        {"Read: /etc/passwd", "workingDir", "it is outside the working folders", false, true},
        {"Edit: @/w/.git/x", "safetyCheck", "it writes a file that decides what programs run",
         false, false},
        {"Bash: rm -rf /", "safetyCheck",
         "it removes a folder that should not go without a question", false, false},
        {"Bash: make", "other", "no rule allows it", false, false},
        {"Bash: ls", "mode", "allowed by the mode default", false, false},
        {"Bash: npm test", "rule", "allowed by the rule Bash(npm test *)", false, false},
        {"Bash: make 'x", "other",
         "no rule allows it, and it is not certain what it does: a quote is not closed", false,
         false},
    };

    (void)state;
    setting_make(&s, RULES, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_subject subject;
        struct permit_answer answer;
        unsigned flags = call_of(rows[i].call, &arena, &subject);

        permit_check(s.permit, &subject, flags, &answer);
        if (strcmp(answer.reason, rows[i].reason) != 0 ||
            strcmp(answer.reason_type, rows[i].type) != 0 || answer.by_rule != rows[i].by_rule ||
            !!answer.path.len != rows[i].path)
            fail_msg("row %zu: %s: %s", i, answer.reason_type, answer.reason);
    }
}

/* echo x > f: what only reads needs no rule, and the write is the mode's or a rule's. */
static void reasons_of_writes(void **state)
{
    static const struct {
        const char *allow;
        const char *mode;
        const char *type;
        const char *reason;
    } rows[] = {
        {"", "acceptEdits", "mode", "allowed by the mode acceptEdits"},
        {"\"Edit(made/**)\"", "default", "rule", "allowed by the rule Edit(made/**)"},
        {"\"Bash(echo *)\"", "acceptEdits", "mode", "allowed by the mode acceptEdits"},
        {"", "default", "other", "no rule allows it"},
    };
    struct rule_subject subject = {
        .tool = STR("Bash"), .about = ABOUT_COMMAND, .text = STR("echo x > made/f")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(setting_release) struct setting s;
        CLEANUP(buf_release) struct buf settings = BUF_INIT(1000);
        struct permit_answer answer;

        buf_addf(&settings, "{\"permissions\":{\"allow\":[%s],\"defaultMode\":\"%s\"}}",
                 rows[i].allow, rows[i].mode);
        setting_make(&s, buf_cstr(&settings), NULL);
        permit_check(s.permit, &subject, 0, &answer);
        if (strcmp(answer.reason, rows[i].reason) != 0 ||
            strcmp(answer.reason_type, rows[i].type) != 0)
            fail_msg("row %zu: %s: %s", i, answer.reason_type, answer.reason);
    }
}

/* Files that make a folder a bare repository: its config would decide what "git status" runs. */
static void bare_repository(void **state)
{
    static const struct {
        const char *folder; /* the shell is in */
        const char *call;
        const char *expect;
    } rows[] = {
        {"w", "Bash: git status", "++++++"},
        {"w/src", "Bash: git status", "++++++"},
        {"w/bare", "Bash: git status", "~~-~-+"},
        {"w/bare", "Bash: cat x | git log", "~~-~-+"},
        {"w/bare", "Bash: timeout 5 g''it log", "~~-~-+"},
        {"w/bare", "Bash: ls", "++++++"},
        {"w/bare/in", "Bash: git diff", "~~-~-+"},
    };
    static const char *const made[] = {"w/bare",      "w/bare/objects", "w/bare/in",
                                       "w/bare/HEAD", "w/bare/in/HEAD", "w/bare/in/objects"};
    static const char *const allow_bypass[] = {"--allow-dangerously-skip-permissions", NULL};
    CLEANUP(setting_release) struct setting s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        CLEANUP(mem_freep) char *path = below(made[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    setting_make(&s, "{}", allow_bypass);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(mem_freep) char *folder = below(rows[i].folder);
        struct rule_subject subject;
        unsigned flags = call_of(rows[i].call, &arena, &subject);
        char got[7] = {0};

        workspace_set_cwd(s.workspace, folder);
        for (int m = MODE_DEFAULT; m <= MODE_BYPASS; m++) {
            struct permit_answer answer;

            assert_int_equal(permit_set_mode(s.permit, (enum permit_mode)m, NULL), 0);
            permit_check(s.permit, &subject, flags, &answer);
            got[m] = "+~-"[answer.verdict];
        }
        if (strcmp(got, rows[i].expect) != 0)
            fail_msg("row %zu: %s: %s instead of %s", i, rows[i].call, got, rows[i].expect);
    }
    for (size_t i = ARRAY_LEN(made); i-- > 0;) {
        CLEANUP(mem_freep) char *path = below(made[i]);

        rmdir(path);
    }
}

/* How a run starts, and whether it may go to bypassPermissions. */
static void starts(void **state)
{
    static const struct {
        const char *settings;
        const char *options[3];
        const char *mode;   /* NULL: refused */
        const char *bypass; /* "yes", or the start of the refusal */
    } rows[] = {
        {"{}", {NULL}, "default", "this run may not"},
        {"{'permissions':{'defaultMode':'manual'}}", {NULL}, "default", "this run may not"},
        {"{'permissions':{'defaultMode':'plan'}}", {NULL}, "plan", "this run may not"},
        {"{'permissions':{'defaultMode':'plan'}}",
         {"--permission-mode=acceptEdits"},
         "acceptEdits",
         "this run may not"},
        {"{'permissions':{'defaultMode':'bypassPermissions'}}", {NULL}, "bypassPermissions", "yes"},
        {"{}", {"--permission-mode", "bypassPermissions"}, "bypassPermissions", "yes"},
        {"{}", {"--dangerously-skip-permissions"}, "bypassPermissions", "yes"},
        {"{}", {"--allow-dangerously-skip-permissions"}, "default", "yes"},
        {"{'permissions':{'disableBypassPermissionsMode':'disable'}}",
         {"--allow-dangerously-skip-permissions"},
         "default",
         "bypassPermissions is forbidden"},
        {"{'permissions':{'disableBypassPermissionsMode':'disable'}}",
         {"--dangerously-skip-permissions"},
         NULL,
         "bypassPermissions is forbidden"},
        {"{}", {"--permission-mode=auto"}, "auto", "this run may not"},
        {"{'disableAutoMode':'disable'}", {"--permission-mode=auto"}, NULL, ""},
        {"{'disableAutoMode':true}", {"--permission-mode=auto"}, NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(setting_release) struct setting s;
        struct err err = {0};

        setting_make(&s, rows[i].settings, rows[i].options);
        if (!s.permit) {
            if (rows[i].mode || s.err.code != ERR_DENIED)
                fail_msg("row %zu: %s", i, s.err.text);
            continue;
        }
        if (strcmp(permit_mode_name(permit_mode(s.permit)), rows[i].mode) != 0)
            fail_msg("row %zu: starts in %s", i, permit_mode_name(permit_mode(s.permit)));
        assert_int_equal(permit_set_mode(s.permit, MODE_DEFAULT, NULL), 0);
        if (permit_set_mode(s.permit, MODE_BYPASS, &err) == 0)
            snprintf(err.text, sizeof(err.text), "yes");
        if (!str_starts(str_of(err.text), str_of(rows[i].bypass)))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static int told;

static void on_mode(enum permit_mode mode, void *arg)
{
    *(enum permit_mode *)arg = mode;
    told++;
}

static void plan(void **state)
{
    CLEANUP(setting_release) struct setting s;
    enum permit_mode last = MODE_DEFAULT;

    (void)state;
    setting_make(&s, "{}", NULL);
    permit_on_mode(s.permit, on_mode, &last);
    assert_int_equal(permit_set_mode(s.permit, MODE_ACCEPT_EDITS, NULL), 0);
    assert_int_equal(permit_set_mode(s.permit, MODE_PLAN, NULL), 0);
    assert_int_equal(permit_set_mode(s.permit, MODE_PLAN, NULL), 0);
    assert_int_equal(permit_mode_before_plan(s.permit), MODE_ACCEPT_EDITS);
    assert_int_equal(last, MODE_PLAN);
    assert_int_equal(told, 2);
    for (int m = MODE_DEFAULT; m <= MODE_BYPASS; m++) {
        enum permit_mode got;

        assert_true(permit_mode_parse(str_of(permit_mode_name((enum permit_mode)m)), &got));
        assert_int_equal(got, m);
    }
    assert_false(permit_mode_parse(STR("Plan"), &last));
}

/* Updates one after the other, then what a call gets. */
static const struct {
    const char *updates[3];
    const char *call;
    char expect;
    const char *error; /* of the last update; NULL: none */
} update_rows[] = {
    {{"[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
      "'destination':'session'}]"},
     "Bash: make all",
     '+',
     NULL},
    {{"[{'type':'addRules','behavior':'deny','rules':[{'toolName':'Bash'}]}]"},
     "Bash: ls",
     '-',
     NULL},
    {{"[{'type':'addRules','behavior':'ask','rules':[{'toolName':'Bash'}]}]"},
     "Bash: ls",
     '~',
     NULL},
    {{"[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make "
      "*'}]}]",
      "[{'type':'removeRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make "
      "*'}]}]"},
     "Bash: make all",
     '~',
     NULL},
    {{"[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make "
      "*'}]}]",
      "[{'type':'replaceRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'x'}]}"
      "]"},
     "Bash: make all",
     '~',
     NULL},
    /* What the settings say stays. */
    {{"[{'type':'removeRules','behavior':'deny','rules':[{'toolName':'Bash','ruleContent':'curl "
      "*'}]}]"},
     "Bash: curl x",
     '-',
     NULL},
    {{"[{'type':'replaceRules','behavior':'deny','rules':[]}]"}, "Bash: curl x", '-', NULL},
    {{"[{'type':'setMode','mode':'acceptEdits','destination':'session'}]"},
     "Edit: @/w/a",
     '+',
     NULL},
    {{"[{'type':'addDirectories','directories':['@/x'],'destination':'session'}]"},
     "Read: @/x/y",
     '+',
     NULL},
    {{"[{'type':'addDirectories','directories':['@/x']}]",
      "[{'type':'removeDirectories','directories':['@/x']}]"},
     "Read: @/x/y",
     '~',
     NULL},
    {{"[{'type':'removeDirectories','directories':['@/w']}]"}, "Read: @/w/y", '+', NULL},
    {{"[{'type':'setMode','mode':'bypassPermissions'}]"}, "Bash: make", '~', "this run may not"},
    {{"[{'type':'setMode','mode':'x'}]"}, "Bash: make", '~', "there is no permission mode 'x'"},
    {{"[{'type':'addRules','behavior':'allow','rules':[],'destination':'x'}]"},
     "Bash: make",
     '~',
     "there is no destination 'x'"},
    {{"{}"}, "Bash: make", '~', "permission updates are not a list"},
    {{"[{'type':'x'}]"}, "Bash: make", '~', "there is no permission update 'x'"},
    {{"[{'type':'addRules','behavior':'x','rules':[]}]"}, "Bash: make", '~', "behavior is not"},
    {{"[{'type':'addRules','behavior':'allow'}]"}, "Bash: make", '~', "rules is not a list"},
    {{"[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash'},{}]}]"},
     "Bash: make",
     '~',
     "a rule has no toolName"},
    {{"[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'a:* "
      "b'}]}]"},
     "Bash: make",
     '~',
     "Bash(a:* b): ':*'"},
    {{"[{'type':'addDirectories','directories':['@/nowhere']}]"}, "Read: @/nowhere/x", '~', "/"},
    {{"[{'type':'addDirectories','directories':[1]}]"}, "Bash: make", '~', "directories has"},
};

static const struct json *json_of(const char *text, struct arena *arena)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(4096);
    const struct json *v;

    for (; *text; text++) {
        if (*text == '@')
            buf_adds(&full, root);
        else
            buf_addc(&full, *text == '\'' ? '"' : *text);
    }
    assert_int_equal(json_parse_copy(arena, buf_str(&full), &v, NULL, NULL), 0);
    return v;
}

static void updates(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(update_rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(setting_release) struct setting s;
        struct rule_subject subject;
        struct permit_answer answer;
        struct err err = {0};
        unsigned flags;

        setting_make(&s, "{'permissions':{'deny':['Bash(curl *)']}}", NULL);
        for (size_t j = 0; j < 3 && update_rows[i].updates[j]; j++)
            permit_update(s.permit, json_of(update_rows[i].updates[j], &arena), &s.warnings, &err);
        if (!!err.code != !!update_rows[i].error ||
            (err.code && !str_starts(str_of(err.text), str_of(update_rows[i].error))))
            fail_msg("row %zu: error '%s'", i, err.text);
        flags = call_of(update_rows[i].call, &arena, &subject);
        permit_check(s.permit, &subject, flags, &answer);
        if ("+~-"[answer.verdict] != update_rows[i].expect)
            fail_msg("row %zu: %c: %s", i, "+~-"[answer.verdict], answer.reason);
        assert_int_equal(s.warnings.len, 0);
    }
}

/* Saved updates: the file afterwards, and its effect on a session started then. */
static const struct {
    const char *name;   /* of the file */
    const char *before; /* NULL: it is not there */
    const char *update;
    const char *after; /* NULL: as before */
    const char *call;
    char expect;
    char expect_later; /* of a new session */
    bool warns;
} saved_rows[] = {
    {"w/.tenax/settings.local.json", NULL,
     "[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
     "'destination':'localSettings'}]",
     "{\n  'permissions': {\n    'allow': [\n      'Bash(make *)'\n    ]\n  }\n}\n",
     "Bash: make all", '+', '+', false},
    /* Existing entries stay, in their order; no duplicates. */
    {"w/.tenax/settings.local.json",
     "{'model':'x','permissions':{'deny':['Bash(x)'],'allow':['Bash(a)',  'Bash(b)']}, 'env':{}}",
     "[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'b'},"
     "{'toolName':'Bash','ruleContent':'make *'}],'destination':'localSettings'}]",
     "{'model':'x','permissions':{'deny':['Bash(x)'],'allow':[\n      'Bash(a)',\n      'Bash(b)',"
     "\n      'Bash(make *)'\n    ]}, 'env':{}}",
     "Bash: make all", '+', '+', false},
    {"w/.tenax/settings.local.json", "{'permissions':{'allow':['Bash(make *)']}}",
     "[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
     "'destination':'localSettings'}]",
     NULL, "Bash: make all", '+', '+', false},
    {"w/.tenax/settings.json", NULL,
     "[{'type':'addRules','behavior':'deny','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
     "'destination':'projectSettings'}]",
     "{\n  'permissions': {\n    'deny': [\n      'Bash(make *)'\n    ]\n  }\n}\n",
     "Bash: make all", '-', '-', false},
    {"h/.tenax/settings.json", "{'permissions':{'allow':['Bash(make *)','Bash(b)']}}",
     "[{'type':'removeRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make "
     "*'}]"
     ",'destination':'userSettings'}]",
     "{'permissions':{'allow':[\n      'Bash(b)'\n    ]}}", "Bash: make all", '~', '~', false},
    {"h/.tenax/settings.json", "{'permissions':{'allow':['Bash(make *)','Bash(b)']}}",
     "[{'type':'replaceRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'c'}],"
     "'destination':'userSettings'}]",
     "{'permissions':{'allow':[\n      'Bash(c)'\n    ]}}", "Bash: make all", '~', '~', false},
    /* Another place keeps what it has. */
    {"h/.tenax/settings.json", "{'permissions':{'allow':['Bash(make *)']}}",
     "[{'type':'removeRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make "
     "*'}]"
     ",'destination':'localSettings'}]",
     NULL, "Bash: make all", '+', '+', false},
    {"w/.tenax/settings.local.json", NULL,
     "[{'type':'setMode','mode':'acceptEdits','destination':'localSettings'}]",
     "{\n  'permissions': {\n    'defaultMode': 'acceptEdits'\n  }\n}\n", "Edit: @/w/a", '+', '+',
     false},
    {"w/.tenax/settings.local.json", NULL,
     "[{'type':'addDirectories','directories':['@/x'],'destination':'localSettings'}]",
     "{\n  'permissions': {\n    'additionalDirectories': [\n      '@/x'\n    ]\n  }\n}\n",
     "Read: @/x/y", '+', '+', false},
    {"w/.tenax/settings.local.json", "{'permissions':{'additionalDirectories':['@/x']}}",
     "[{'type':'removeDirectories','directories':['@/x'],'destination':'localSettings'}]",
     "{'permissions':{'additionalDirectories':[]}}", "Read: @/x/y", '~', '~', false},
    {"w/.tenax/settings.local.json", "{'permissions':{'allow':[]}}",
     "[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
     "'destination':'session'}]",
     NULL, "Bash: make all", '+', '~', false},
    /* Nothing to write to: it counts for the session. */
    {"w/.tenax/settings.local.json", "{'permissions':{'allow':'x'}}",
     "[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash','ruleContent':'make *'}],"
     "'destination':'localSettings'}]",
     NULL, "Bash: make all", '+', '~', true},
};

/* With @ and ' as elsewhere. */
static void fill_in(struct buf *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '@')
            buf_adds(to, root);
        else
            buf_addc(to, *text == '\'' ? '"' : *text);
    }
}

static char verdict_of(struct setting *s, const char *call)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct rule_subject subject;
    struct permit_answer answer;
    unsigned flags = call_of(call, &arena, &subject);

    permit_check(s->permit, &subject, flags, &answer);
    return "+~-"[answer.verdict];
}

static void saved(void **state)
{
    CLEANUP(mem_freep) char *folder = below("w/.tenax");

    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(saved_rows); i++) {
        const char *expected = saved_rows[i].after ? saved_rows[i].after : saved_rows[i].before;
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(setting_release) struct setting now;
        CLEANUP(setting_release) struct setting later;
        CLEANUP(mem_freep) char *path = below(saved_rows[i].name);
        CLEANUP(buf_release) struct buf before = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf after = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        struct strv warnings = STRV_INIT;
        struct err err = {0};

        if (saved_rows[i].before) {
            fill_in(&before, saved_rows[i].before);
            assert_int_equal(file_replace(path, buf_str(&before), 0600, NULL), 0);
        }
        setting_make(&now, "{}", NULL);
        if (permit_update(now.permit, json_of(saved_rows[i].update, &arena), &warnings, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        if ((warnings.len > 0) != saved_rows[i].warns)
            fail_msg("row %zu: %s", i, warnings.len ? warnings.ptr[0] : "no warning");
        if (verdict_of(&now, saved_rows[i].call) != saved_rows[i].expect)
            fail_msg("row %zu: the session says %c", i, verdict_of(&now, saved_rows[i].call));
        fill_in(&after, expected);
        assert_int_equal(file_slurp(path, 10000, &got, NULL), 0);
        if (strcmp(buf_cstr(&got), buf_cstr(&after)) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&got));
        setting_make(&later, "{}", NULL);
        if (verdict_of(&later, saved_rows[i].call) != saved_rows[i].expect_later)
            fail_msg("row %zu: a new session says %c", i, verdict_of(&later, saved_rows[i].call));
        strv_release(&warnings);
        unlink(path);
    }
    remove_folder(folder);
}

/* A repository with a link in place of our folder must not choose the file that is written. */
static void saved_through_link(void **state)
{
    CLEANUP(setting_release) struct setting s;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *folder = below("w/.tenax");
    CLEANUP(mem_freep) char *stolen = below("x/settings.local.json");

    (void)state;
    make_link("x", "w/.tenax");
    setting_make(&s, "{}", NULL);
    assert_int_equal(
        permit_update(s.permit,
                      json_of("[{'type':'addRules','behavior':'allow','rules':[{'toolName':'Bash',"
                              "'ruleContent':'make *'}],'destination':'localSettings'}]",
                              &arena),
                      &s.warnings, NULL),
        0);
    assert_int_equal(s.warnings.len, 1);
    assert_false(file_exists(stolen));
    assert_int_equal(verdict_of(&s, "Bash: make"), '+');
    unlink(folder);
}

/* In an untrusted folder a saved rule would not be read. */
static void suggestion_untrusted(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(setting_release) struct setting s;
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
    struct conf_sources from = {.dir = work, .etc = "/nonexistent"};
    struct conf *untrusted = NULL;
    struct rule_subject subject;
    unsigned flags;

    (void)state;
    setting_make(&s, "{}", NULL);
    from.environ = conf_environ(s.conf);
    assert_int_equal(conf_load(&from, &untrusted, NULL), 0);
    permit_reload(s.permit, untrusted, &s.warnings);
    conf_unref(untrusted);
    flags = call_of("Bash: npm test -x", &arena, &subject);
    permit_suggest(s.permit, &subject, flags, &got);
    assert_non_null(strstr(buf_cstr(&got), "\"session\""));
    assert_null(strstr(buf_cstr(&got), "localSettings"));
}

static const struct {
    const char *call;
    const char *expect; /* "": nothing */
} suggest_rows[] = {
    {"Bash: npm test -x",
     "[{'type':'addRules','rules':[{'toolName':'Bash','ruleContent':'npm test *'}],'behavior':"
     "'allow','destination':'localSettings'}]"},
    {"Bash: rm x", ""},
    {"WebFetch: a.net", "[{'type':'addRules','rules':[{'toolName':'WebFetch','ruleContent':'domain:"
                        "a.net'}],'behavior':"
                        "'allow','destination':'localSettings'}]"},
    {"mcp__a__b",
     "[{'type':'addRules','rules':[{'toolName':'mcp__a__b'}],'behavior':'allow','destination':"
     "'localSettings'}]"},
    {"Edit: @/w/a", "[{'type':'setMode','mode':'acceptEdits','destination':'session'}]"},
    {"Edit: @/x/a",
     "[{'type':'addDirectories','directories':['@/x'],'destination':'session'},{'type':'setMode',"
     "'mode':'acceptEdits','destination':'session'}]"},
    {"Read: @/x/a",
     "[{'type':'addRules','rules':[{'toolName':'Read','ruleContent':'/@/x/**'}],'behavior':'allow',"
     "'destination':'session'}]"},
    {"Edit: @/w/.git/a", ""},
    {"AskUserQuestion", ""},
};

/* Suggestions have the form of the SDK, and an accepted one lets the call through. */
static void suggestions(void **state)
{
    CLEANUP(mem_freep) char *folder = below("w/.tenax");
    CLEANUP(mem_freep) char *local = below("w/.tenax/settings.local.json");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(suggest_rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(setting_release) struct setting s;
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
        struct rule_subject subject;
        struct permit_answer answer;
        const struct json *v;
        unsigned flags;

        setting_make(&s, "{}", NULL);
        flags = call_of(suggest_rows[i].call, &arena, &subject);
        permit_suggest(s.permit, &subject, flags, &got);
        if (!suggest_rows[i].expect[0]) {
            if (got.len)
                fail_msg("row %zu: %s", i, buf_cstr(&got));
            continue;
        }
        assert_int_equal(json_parse(&arena, buf_str(&got), &v, NULL, NULL), 0);
        if (!json_equal(v, json_of(suggest_rows[i].expect, &arena)))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
        assert_int_equal(permit_update(s.permit, v, &s.warnings, NULL), 0);
        permit_check(s.permit, &subject, flags, &answer);
        if (answer.verdict != PERMIT_ALLOW)
            fail_msg("row %zu: %s", i, answer.reason);
        unlink(local);
    }
    remove_folder(folder);
}

static void offers_and_lists(void **state)
{
    static const char *const options[] = {"--disallowedTools=WebFetch,Bash(rm *),mcp__bad",
                                          "--allowedTools", "Bash(a, b)", NULL};
    CLEANUP(setting_release) struct setting s;
    CLEANUP(buf_release) struct buf list = BUF_INIT(1 << 20);

    (void)state;
    setting_make(&s, "{'permissions':{'allow':['Write(x)','Edit(/src/**)']}}", options);
    assert_false(permit_offers(s.permit, STR("WebFetch")));
    assert_false(permit_offers(s.permit, STR("mcp__bad__x")));
    assert_true(permit_offers(s.permit, STR("Bash")));
    assert_int_equal(s.warnings.len, 1);
    assert_true(
        str_has(str_of(s.warnings.ptr[0]), STR("this permission rule is left out: Write(x)")));
    permit_write(s.permit, &list);
    assert_true(
        str_has(buf_str(&list),
                STR("{\"behavior\":\"allow\",\"rule\":\"Bash(a, b)\",\"source\":\"cliArg\"}")));
    assert_true(
        str_has(buf_str(&list),
                STR("{\"behavior\":\"deny\",\"rule\":\"Bash(rm *)\",\"source\":\"cliArg\"}")));
}

#define ROUNDS 300

static void ask_often(void *arg)
{
    struct setting *s = arg;

    for (int i = 0; i < ROUNDS; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct rule_subject subject;
        struct permit_answer answer;
        unsigned flags = call_of("Edit: @/w/a", &arena, &subject);

        permit_check(s->permit, &subject, flags, &answer);
        assert_true(answer.verdict == PERMIT_ALLOW || answer.verdict == PERMIT_ASK);
        permit_offers(s->permit, STR("Bash"));
    }
}

static void change_often(void *arg)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct setting *s = arg;
    const struct json *add = json_of("[{'type':'addRules','behavior':'allow','rules':[{'toolName':"
                                     "'Bash','ruleContent':'x *'}]}]",
                                     &arena);
    const struct json *clear =
        json_of("[{'type':'replaceRules','behavior':'allow','rules':[]}]", &arena);

    for (int i = 0; i < ROUNDS; i++) {
        permit_set_mode(s->permit, i % 2 ? MODE_ACCEPT_EDITS : MODE_DEFAULT, NULL);
        permit_update(s->permit, i % 2 ? add : clear, &warnings, NULL);
    }
}

static void threads(void **state)
{
    CLEANUP(setting_release) struct setting s;
    struct thread *list[4];

    (void)state;
    setting_make(&s, "{}", NULL);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        list[i] = thread_start("permit", i % 2 ? ask_often : change_often, &s, NULL);
        assert_non_null(list[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        thread_join(list[i]);
    assert_int_equal(permit_mode(s.permit), MODE_ACCEPT_EDITS);
}

static void expect_rules(struct permit *p, const char *has, const char *has_not)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);

    permit_write(p, &json);
    if (!str_has(buf_str(&json), str_of(has)) || str_has(buf_str(&json), str_of(has_not)))
        fail_msg("%s: not '%s' without '%s'", buf_cstr(&json), has, has_not);
}

/* Settings that have changed: their rules go and come, rules of the session stay. */
static void reloaded(void **state)
{
    static const char answer[] =
        "[{\"type\":\"addRules\",\"behavior\":\"allow\",\"destination\":\"session\",\"rules\":"
        "[{\"toolName\":\"Bash\",\"ruleContent\":\"said\"}]}]";
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(setting_release) struct setting s;
    CLEANUP(setting_release) struct setting next;
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    const struct json *updates;

    (void)state;
    setting_make(&s, "{'permissions':{'deny':['Bash(old)'],'additionalDirectories':['/tmp']}}",
                 (const char *const[]){"--dangerously-skip-permissions", NULL});
    setting_make(&next,
                 "{'permissions':{'deny':['Bash(new)'],'disableBypassPermissionsMode':'disable',"
                 "'additionalDirectories':['/usr']}}",
                 NULL);
    assert_int_equal(json_parse(&arena, STR(answer), &updates, NULL, NULL), 0);
    assert_int_equal(permit_update(s.permit, updates, &s.warnings, NULL), 0);
    permit_reload(s.permit, next.conf, &s.warnings);
    expect_rules(s.permit, "Bash(new)", "Bash(old)");
    expect_rules(s.permit, "Bash(said)", "Bash(old)");
    assert_int_equal(permit_mode(s.permit), MODE_DEFAULT); /* it is forbidden now */
    workspace_dirs(s.workspace, &dirs);
    assert_true(strv_has(&dirs, STR("/usr")));
    assert_false(strv_has(&dirs, STR("/tmp")));
}

/* Temporary rules: those that deny count in full or not at all, those that allow one by one. */
static void lent(void **state)
{
    static const struct {
        const char *allow[3];
        const char *deny[3];
        const char *only[3];
        char make, curl; /* verdicts */
        size_t warnings;
        bool fails;
    } rows[] = {
        {{"Bash(make *)"}, {"Bash(curl *)"}, {0}, '+', '-', 0, false},
        {{"Bash(a:* b)", "Bash(make *)"}, {"Bash(curl *)"}, {0}, '+', '-', 1, false},
        {{"Bash(make *)", "Bash(curl *)"}, {"Bash(curl *)", "Bash(a:* b)"}, {0}, '~', '~', 0, true},
        {{0}, {0}, {"Bash(make *)"}, '~', '-', 0, false},
        {{"Bash"}, {0}, {"Bash(make *)"}, '+', '-', 0, false},
        {{"Bash(make *)"}, {0}, {"Bash(make *)"}, '+', '-', 0, false},
        {{"Bash"}, {0}, {"Read(/x)"}, '-', '-', 0, false},
        {{"Bash"}, {0}, {"Bash(a:* b)"}, '~', '~', 0, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(setting_release) struct setting s;
        CLEANUP(strv_release) struct strv allow = STRV_INIT;
        CLEANUP(strv_release) struct strv deny = STRV_INIT;
        CLEANUP(strv_release) struct strv only = STRV_INIT;
        CLEANUP(strv_release) struct strv warnings = STRV_INIT;
        struct rule_subject subject;
        struct permit_answer make, curl;
        unsigned flags;
        int rc;

        setting_make(&s, "{}", NULL);
        for (size_t j = 0; j < 3 && rows[i].allow[j]; j++)
            strv_adds(&allow, rows[i].allow[j]);
        for (size_t j = 0; j < 3 && rows[i].deny[j]; j++)
            strv_adds(&deny, rows[i].deny[j]);
        for (size_t j = 0; j < 3 && rows[i].only[j]; j++)
            strv_adds(&only, rows[i].only[j]);
        rc = permit_lend(s.permit, &allow, &deny, &only, &warnings, NULL);
        flags = call_of("Bash: curl a", &arena, &subject);
        permit_check(s.permit, &subject, flags, &curl);
        flags = call_of("Bash: make a", &arena, &subject);
        permit_check(s.permit, &subject, flags, &make);
        if ((rc < 0) != rows[i].fails || warnings.len != rows[i].warnings ||
            "+~-"[make.verdict] != rows[i].make || "+~-"[curl.verdict] != rows[i].curl)
            fail_msg("row %zu: %d, %zu warnings, %s, %s", i, rc, warnings.len, make.reason,
                     curl.reason);
        permit_return(s.permit);
        flags = call_of("Bash: curl a", &arena, &subject);
        permit_check(s.permit, &subject, flags, &curl);
        assert_int_equal(curl.verdict, PERMIT_ASK);
    }
}

/* Agents that an agent starts inherit its denials, but not its grants. */
static void lent_to_one(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(setting_release) struct setting s;
    CLEANUP(strv_release) struct strv allow = STRV_INIT;
    CLEANUP(strv_release) struct strv deny = STRV_INIT;
    CLEANUP(strv_release) struct strv only = STRV_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct rule_subject subject;
    struct permit_answer answer;
    struct permit *branch;
    unsigned flags;

    (void)state;
    setting_make(&s, "{}", NULL);
    branch = permit_branch(s.permit, s.workspace, /*s=*/NULL);
    strv_adds(&allow, "Bash(make *)");
    strv_adds(&deny, "Bash(curl *)");
    assert_int_equal(permit_lend(s.permit, &allow, &deny, &only, &warnings, NULL), 0);
    flags = call_of("Bash: make a", &arena, &subject);
    permit_check(s.permit, &subject, flags, &answer);
    assert_int_equal(answer.verdict, PERMIT_ALLOW);
    permit_check(branch, &subject, flags, &answer);
    assert_int_equal(answer.verdict, PERMIT_ASK);
    flags = call_of("Bash: curl a", &arena, &subject);
    permit_check(branch, &subject, flags, &answer);
    assert_int_equal(answer.verdict, PERMIT_DENY);
    strv_clear(&deny);
    assert_int_equal(permit_lend(branch, &allow, &deny, &only, &warnings, NULL), 0);
    flags = call_of("Bash: make a", &arena, &subject);
    permit_check(branch, &subject, flags, &answer);
    assert_int_equal(answer.verdict, PERMIT_ALLOW);
    permit_free(branch);
}

UNIT_TEST(permit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(reasons),
        cmocka_unit_test(reasons_of_writes),
        cmocka_unit_test(starts),
        cmocka_unit_test(reloaded),
        cmocka_unit_test(plan),
        cmocka_unit_test(updates),
        cmocka_unit_test(lent),
        cmocka_unit_test(lent_to_one),
        cmocka_unit_test(threads),
        cmocka_unit_test(suggestions),
        cmocka_unit_test(suggestion_untrusted),
        cmocka_unit_test(offers_and_lists),
        cmocka_unit_test(bare_repository),
        cmocka_unit_test(saved),
        cmocka_unit_test(saved_through_link),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
