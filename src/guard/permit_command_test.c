/*
 * permit, asked about commands: two long tables. One holds attempts to smuggle something past the
 * rules, none of which may get through; the other what developers' agents run all day, none of
 * which may be refused, and nothing asked for that the rules allow. In real folders with real
 * links.
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

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "guard/setting_check.h"
#include "guard/workspace.h"
#include "unit.h"

#define SMUGGLE_RULES                                                                              \
    "{'permissions':{'allow':['Bash(npm test:*)','Bash(git log *)','Bash(git commit:*)',"          \
    "'Bash(find:*)','Bash(make all)','Bash(watch:*)'],'deny':['Bash(rm:*)','Bash(curl *)',"        \
    "'Bash(git push:*)','Read(.env)','Read(secrets/**)','Edit(locked/**)']}}"

#define ORDINARY_RULES                                                                             \
    "{'permissions':{'allow':['Bash(npm test:*)','Bash(npm run:*)','Bash(npm ci)','Bash(npm "      \
    "install:*)','Bash(npm ls:*)','Bash(npm rm *)','Bash(npx tsc:*)','Bash(npx "                   \
    "jest:*)','Bash(npx "                                                                          \
    "eslint *)','Bash(npx prettier:*)','Bash(yarn test:*)','Bash(pnpm run *)','Bash(make:*)',"     \
    "'Bash(cmake:*)','Bash(meson setup:*)','Bash(ninja:*)','Bash(build/tests/*)','Bash(ctest:*)'," \
    "'Bash(cargo:*)','Bash(go build:*)','Bash(go test:*)','Bash(go vet:*)','Bash(python3 -m "      \
    "pytest:*)','Bash(pytest:*)','Bash(ruff:*)','Bash(mypy:*)','Bash(pip install:*)','Bash(pip "   \
    "list)','Bash(docker ps:*)','Bash(docker rm:*)','Bash(docker compose logs:*)','Bash(kubectl "  \
    "get:*)','Bash(gh pr:*)','Bash(./gradlew test:*)','Bash(mvn:*)','Bash(bundle exec rspec:*)',"  \
    "'Bash(./scripts/check.sh:*)','Bash(git add:*)','Bash(git commit:*)','Bash(git checkout:*)',"  \
    "'Bash(git switch:*)','Bash(git stash:*)','Bash(git fetch:*)','Bash(git rm:*)','Bash(tee:*)'," \
    "'Bash(xxd_missing:*)','Edit(out/**)'],'deny':['Bash(rm:*)','Bash(curl:*)',"                   \
    "'Bash(git push --force:*)','Bash(dd:*)'],'ask':['Bash(git push:*)']}}"

static char root[64];
static char *work;

static char *below(const char *name)
{
    return path_join(root, name);
}

static const char *const folders[] = {"w",        "w/src", "w/.git", "w/secrets",
                                      "w/locked", "w/out", "w/a",    "h"};
static const char *const files[] = {"w/.env", "w/secrets/key", "w/locked/f", "w/a/x", "o"};
static const char *const links[][2] = {{".env", "w/link-to-env"}, {"../o", "w/link-out"}};

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/permit-command-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = below(folders[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = below(files[i]);

        assert_int_equal(file_replace(path, STR("x"), 0600, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = below(links[i][1]);

        assert_int_equal(symlink(links[i][0], path), 0);
    }
    work = below("w");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = below(links[i][1]);

        unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = below(files[i]);

        unlink(path);
    }
    for (size_t i = ARRAY_LEN(folders); i-- > 0;) {
        CLEANUP(mem_freep) char *path = below(folders[i]);

        rmdir(path);
    }
    rmdir(root);
    free(work);
    return 0;
}

static void setting_make(struct setting *s, const char *settings)
{
    static const char *const options[] = {"--allow-dangerously-skip-permissions", NULL};

    setting_load(s, root, work, settings, options);
    assert_non_null(s->permit);
    assert_int_equal(s->warnings.len, 0);
}

/* '+' runs, '~' is asked for, '-' is refused. '@' in a command is the test's folder. */
static char verdict(struct setting *s, const char *command, enum permit_mode mode, char *ret_reason,
                    size_t size)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(100000);
    struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND};
    struct permit_answer answer;

    for (; *command; command++) {
        if (*command == '@' && command[1] == '/')
            buf_adds(&text, root);
        else
            buf_addc(&text, *command);
    }
    subject.text = buf_str(&text);
    assert_int_equal(permit_set_mode(s->permit, mode, NULL), 0);
    permit_check(s->permit, &subject, 0, &answer);
    snprintf(ret_reason, size, "%s", answer.reason);
    return "+~-"[answer.verdict];
}

struct command_row {
    char expect;
    const char *command;
};

#define DENIED(text) {'-', text},
#define STOPPED(text) {'~', text},
#define FREE(text) {'+', text},
#define ASKED(text) {'~', text},

static const struct command_row smuggle_rows[] = {
#include "guard/permit_smuggle.def"
};

static const struct command_row ordinary_rows[] = {
#include "guard/permit_ordinary.def"
};

#define EVERYDAY_DENIES "{'permissions':{'deny':['Bash(rm:*)','Bash(curl:*)','Read(.env)']}}"

/* What a command is among everyday ones. */
enum everyday {
    EVERYDAY_READS,
    EVERYDAY_TRIED,
    EVERYDAY_EDITS,
    EVERYDAY_EDITED,
    EVERYDAY_HARMLESS,
};

static const struct everyday_row {
    enum everyday kind;
    const char *command;
} everyday_rows[] = {
#define READS(text) {EVERYDAY_READS, text},
#define TRIED(text) {EVERYDAY_TRIED, text},
#define EDITS(text) {EVERYDAY_EDITS, text},
#define EDITED(text) {EVERYDAY_EDITED, text},
#define HARMLESS(text) {EVERYDAY_HARMLESS, text},
#include "guard/permit_everyday.def"
};

/* No needless question and no wrong refusal. A command that only a trial run can tell about must
 * not be one that reaches out, because then no trial would be made. */
static void everyday(void **state)
{
    CLEANUP(setting_release) struct setting plain;
    CLEANUP(setting_release) struct setting denies;
    size_t counts[EVERYDAY_HARMLESS + 1] = {0};
    size_t wrong = 0;

    (void)state;
    setting_make(&plain, "{}");
    setting_make(&denies, EVERYDAY_DENIES);
    for (size_t i = 0; i < ARRAY_LEN(everyday_rows); i++) {
        const struct everyday_row *row = &everyday_rows[i];
        CLEANUP(rule_command_freep)
        struct rule_command *command = rule_command_new(str_of(row->command));
        bool edits = row->kind == EVERYDAY_EDITS || row->kind == EVERYDAY_EDITED;
        char reason[300];
        char got = verdict(row->kind == EVERYDAY_HARMLESS ? &denies : &plain, row->command,
                           edits ? MODE_ACCEPT_EDITS : MODE_DEFAULT, reason, sizeof(reason));
        bool tried = row->kind == EVERYDAY_TRIED || row->kind == EVERYDAY_EDITED;
        bool right = row->kind == EVERYDAY_HARMLESS ? got != '-' : got == (tried ? '~' : '+');

        counts[row->kind]++;
        if (right && (row->kind == EVERYDAY_HARMLESS || !rule_command_reaches_out(command)))
            continue;
        print_error("row %zu: %c (%s): %s\n", i, got, reason, row->command);
        wrong++;
    }
    assert_true(counts[EVERYDAY_READS] + counts[EVERYDAY_TRIED] >= 300);
    assert_true(counts[EVERYDAY_EDITS] + counts[EVERYDAY_EDITED] >= 100);
    assert_true(counts[EVERYDAY_HARMLESS] >= 90);
    print_message("%zu everyday commands, %zu wrong\n", ARRAY_LEN(everyday_rows), wrong);
    assert_int_equal(wrong, 0);
}

static void smuggled(void **state)
{
    CLEANUP(setting_release) struct setting s;
    size_t wrong = 0;

    (void)state;
    assert_true(ARRAY_LEN(smuggle_rows) >= 150);
    setting_make(&s, SMUGGLE_RULES);
    for (size_t i = 0; i < ARRAY_LEN(smuggle_rows); i++) {
        const struct command_row *row = &smuggle_rows[i];
        bool denied = row->expect == '-';
        char reason[300];
        char got = verdict(&s, row->command, MODE_DEFAULT, reason, sizeof(reason));
        char bypass = verdict(&s, row->command, MODE_BYPASS, reason, sizeof(reason));
        char edits = verdict(&s, row->command, MODE_ACCEPT_EDITS, reason, sizeof(reason));

        if (got == '+' || (denied && (got != '-' || bypass != '-' || edits != '-'))) {
            print_error("row %zu: %c%c%c (%s): %s\n", i, got, bypass, edits, reason, row->command);
            wrong++;
        }
    }
    print_message("%zu attempts, %zu smuggled\n", ARRAY_LEN(smuggle_rows), wrong);
    assert_int_equal(wrong, 0);
}

static void ordinary(void **state)
{
    CLEANUP(setting_release) struct setting s;
    size_t wrong = 0;

    (void)state;
    assert_true(ARRAY_LEN(ordinary_rows) >= 250);
    assert_true(ARRAY_LEN(ordinary_rows) + ARRAY_LEN(smuggle_rows) >= 400);
    setting_make(&s, ORDINARY_RULES);
    for (size_t i = 0; i < ARRAY_LEN(ordinary_rows); i++) {
        const struct command_row *row = &ordinary_rows[i];
        char reason[300];
        char got = verdict(&s, row->command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != row->expect) {
            print_error("row %zu: %c (%s) instead of %c: %s\n", i, got, reason, row->expect,
                        row->command);
            wrong++;
        }
    }
    print_message("%zu ordinary commands, %zu wrong\n", ARRAY_LEN(ordinary_rows), wrong);
    assert_int_equal(wrong, 0);
}

/* A text with a NUL in it cannot reach a shell as it is; one too long is not looked through. */
static void odd_texts(void **state)
{
    CLEANUP(setting_release) struct setting s;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND};
    struct permit_answer answer;

    (void)state;
    setting_make(&s, SMUGGLE_RULES);
    subject.text = STR("npm test\0; rm x");
    permit_check(s.permit, &subject, 0, &answer);
    assert_int_not_equal(answer.verdict, PERMIT_ALLOW);
    buf_adds(&text, "npm test ");
    while (text.len < 11000)
        buf_adds(&text, "x ");
    subject.text = buf_str(&text);
    permit_check(s.permit, &subject, 0, &answer);
    assert_int_equal(answer.verdict, PERMIT_ASK);
    buf_adds(&text, "; rm x");
    subject.text = buf_str(&text);
    permit_check(s.permit, &subject, 0, &answer);
    assert_int_equal(answer.verdict, PERMIT_DENY);
    while (text.len < 300000)
        buf_adds(&text, "x ");
    subject.text = buf_str(&text);
    permit_check(s.permit, &subject, 0, &answer);
    assert_int_equal(answer.verdict, PERMIT_DENY);
    buf_clear(&text);
    for (int i = 0; i < 200; i++)
        buf_adds(&text, "$(");
    subject.text = buf_str(&text);
    permit_check(s.permit, &subject, 0, &answer);
    assert_int_not_equal(answer.verdict, PERMIT_ALLOW);
}

/* A word that is written and read counts for both kinds of rules, whichever it was first; a name
 * ends at a NUL; below the root one slash is enough. */
static void words_as_files(void **state)
{
    static const struct {
        const char *cwd; /* from the work folder on; NULL: this itself */
        struct str command;
        char expect;
    } rows[] = {
        {NULL, STR_INIT("cat x; touch x"), '-'},
        {NULL, STR_INIT("touch x; cat x"), '-'},
        {NULL, STR_INIT("cat x; cat x; cat y; touch y"), '+'},
        {NULL, STR_INIT("cat ./x; touch ././x"), '-'},
        {NULL, STR_INIT("grep --include='*x' a b; touch '*x'"), '+'},
        {NULL, STR_INIT("cd q && touch x"), '-'},
        {NULL, STR_INIT("cat x"), '+'},
        {NULL, STR_INIT("touch x\0y"), '-'},
        {NULL, STR_INIT("touch link"), '-'}, /* to x */
        {NULL, STR_INIT("> link"), '-'},     /* here nothing else is looked at before */
        {NULL, STR_INIT("> ./link"), '-'},
        {NULL, STR_INIT("touch y"), '+'},
        {"to-only", STR_INIT("touch z"), '-'}, /* a link to the folder "only" */
        {"to-only", STR_INIT("touch ./z"), '-'},
        {"to-only", STR_INIT("touch y"), '+'},
        {"only", STR_INIT("touch z"), '-'},
        {"only/../only", STR_INIT("touch z"), '-'},
        {"only/gone", STR_INIT("touch ../z"), '-'},
        {"to-only/gone", STR_INIT("touch ../z"), '-'},
        {"/", STR_INIT("ls etc"), '-'},
        {"/", STR_INIT("ls ./etc"), '-'},
        {"/", STR_INIT("ls usr"), '+'},
    };
    CLEANUP(mem_freep) char *only = path_join(work, "only");
    CLEANUP(mem_freep) char *to_only = path_join(work, "to-only");
    CLEANUP(mem_freep) char *link_x = path_join(work, "link");

    (void)state;
    assert_int_equal(mkdir(only, 0700) + symlink("only", to_only) + symlink("x", link_x), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(setting_release) struct setting s;
        struct rule_subject subject = {
            .tool = STR("Bash"), .about = ABOUT_COMMAND, .text = rows[i].command};
        struct permit_answer answer;

        setting_make(&s, "{'permissions':{'deny':['Edit(x)','Edit(./only/z)','Read(//etc)'],"
                         "'allow':['Bash(touch:*)']}}");
        if (rows[i].cwd) {
            CLEANUP(mem_freep) char *cwd = path_join(work, rows[i].cwd);

            workspace_set_cwd(s.workspace, cwd);
        }
        permit_check(s.permit, &subject, 0, &answer);
        if ((answer.verdict == PERMIT_DENY) != (rows[i].expect == '-'))
            fail_msg("row %zu: %s: %s", i, rows[i].command.ptr, answer.reason);
    }
    assert_int_equal(unlink(link_x) + unlink(to_only) + rmdir(only), 0);
}

/* "cd sub" in one call and "git status" in the next: a repository that came with the project says
 * what git runs. */
static void repository_below(void **state)
{
    CLEANUP(setting_release) struct setting s;
    CLEANUP(mem_freep) char *sub = path_join(work, "sub");
    CLEANUP(mem_freep) char *git = path_join(work, "sub/.git");
    CLEANUP(mem_freep) char *src = path_join(work, "src");
    char reason[300];

    (void)state;
    assert_int_equal(mkdir(sub, 0700) + mkdir(git, 0700), 0);
    setting_make(&s, "{}");
    assert_int_equal(verdict(&s, "git status", MODE_DEFAULT, reason, sizeof(reason)), '+');
    assert_int_equal(verdict(&s, "cd sub && git status", MODE_DEFAULT, reason, sizeof(reason)),
                     '~');
    assert_int_equal(verdict(&s, "cd src && git status", MODE_DEFAULT, reason, sizeof(reason)),
                     '+');
    workspace_set_cwd(s.workspace, src);
    assert_int_equal(verdict(&s, "git status", MODE_DEFAULT, reason, sizeof(reason)), '+');
    workspace_set_cwd(s.workspace, sub);
    assert_int_equal(verdict(&s, "git status", MODE_DEFAULT, reason, sizeof(reason)), '~');
    assert_int_equal(verdict(&s, "ls", MODE_DEFAULT, reason, sizeof(reason)), '+');
    assert_int_equal(rmdir(git) + rmdir(sub), 0);
}

/* Options that write or work elsewhere are not what a rule for the beginning of a command means,
 * and some settings of git are programs. */
static void beyond_rules(void **state)
{
    static const struct command_row rows[] = {
        {'+', "git log --oneline"},
        {'~', "git log --output=x"},
        {'~', "git log --output x"},
        {'~', "sort -o out in"},
        {'~', "sort --output=out in"},
        {'+', "sort in"},
        {'+', "npm test"},
        {'+', "npm test -- --prefix x"},
        {'~', "npm test --prefix /tmp/x"},
        {'~', "npm test --prefix=/tmp/x"},
        {'~', "npm test --script-shell=./x"},
        {'~', "npm --prefix /tmp/x test"},
        {'~', "cargo test --config x"},
        {'~', "go test -exec ./x ./..."},
        {'+', "git config user.name me"},
        {'~', "git config core.hooksPath x"},
        {'~', "git config core.HOOKSPATH x"},
        {'~', "git config --local --add Core.HooksPath x"},
        {'~', "git config set core.hooksPath x"},
        {'~', "git -C . config core.hooksPath x"},
        {'~', "git config --file .git/config core.hooksPath x"},
        {'~', "git config alias.st '!x'"},
        {'~', "git config include.path ../x"},
        {'~', "git config \"$K\" x"},
        {'~', "git config -e"},
        {'~', "git config filter.x.clean y"},
    };
    CLEANUP(setting_release) struct setting s;

    (void)state;
    setting_make(&s, "{'permissions':{'allow':['Bash(git log:*)','Bash(sort:*)','Bash(npm test:*)',"
                     "'Bash(cargo test:*)','Bash(go test:*)','Bash(git config:*)',"
                     "'Bash(git -C . config:*)']}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char reason[300];
        char got = verdict(&s, rows[i].command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != rows[i].expect)
            fail_msg("%c (%s): %s", got, reason, rows[i].command);
    }
}

/* A filter only narrows what a search reads: with it no more is asked for than without. */
static void filters(void **state)
{
    static const struct command_row rows[] = {
        {'+', "grep -rn x src"},
        {'+', "grep -rn x src --include='*-env'"},
        {'+', "grep -rn --exclude='*v' --exclude-dir=\"*t\" x src"},
        {'+', "rg --glob='*-env' x src"},
        {'-', "grep -rn x *-env"},            /* the shell fills this one in */
        {'-', "grep -rn x src --file=*-env"}, /* this is read */
        {'-', "grep -rn x src --include='*/secrets'/x"},
    };
    CLEANUP(setting_release) struct setting s;

    (void)state;
    setting_make(&s, SMUGGLE_RULES);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char reason[300];
        char got = verdict(&s, rows[i].command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != rows[i].expect)
            fail_msg("%c (%s): %s", got, reason, rows[i].command);
    }
}

/* A path that is part of a word is still a path. */
static void values_inside_words(void **state)
{
    static const struct command_row rows[] = {
        {'+', "git log -1 --format=%s"},
        {'~', "git log -1 --format=%s --output=.bashrc"},
        {'~', "git log -1 --output .git/config"},
        {'~', "git log -1 --outp=.git/config"},
        {'~', "git log -1 --ou .git/config"},
        {'~', "git format-patch --output-dir .git/hooks HEAD~1"},
        {'+', "git log --output=report.txt"},
        {'~', "git archive -o.bashrc HEAD"},
        {'+', "git archive -o out.tar HEAD"},
        {'~', "dd if=x of=.bashrc"},
        {'+', "dd if=x of=y"},
        {'~', "cp -t.git x"},
        {'~', "sort x -o.bashrc"},
        {'~', "wget -O.bashrc x"},
        {'~', "unzip x -d.git"},
        {'+', "unzip x -dout"},
        {'-', "grep -f.env x"},
        {'-', "git log -L1,1:.env"},
        {'+', "ls -la"},
    };
    CLEANUP(setting_release) struct setting s;

    (void)state;
    setting_make(&s, "{'permissions':{'allow':['Bash(git:*)','Bash(dd:*)','Bash(cp:*)',"
                     "'Bash(sort:*)','Bash(wget:*)','Bash(unzip:*)'],'deny':['Read(.env)']}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char reason[300];
        char got = verdict(&s, rows[i].command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != rows[i].expect)
            fail_msg("%c (%s): %s", got, reason, rows[i].command);
    }
}

/* Where files are forbidden, no more is asked for than it takes. */
static void beside_forbidden_files(void **state)
{
    static const struct command_row rows[] = {
        {'+', "echo '{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":1}}}}}' | jq ."},
        {'+', "jq '{a, b, c: {d: {e: {f: {g: 1}}}}}' x.json"},
        {'+', "ls {src,out}/{a,b}.c"},
        {'~', "x=a; cat src/$x; x=a; cat src/$x"},
        {'~', "x=a; cat $x; x=b; cat $x"},
        {'~', "i=0; while true; do echo \"n$i\"; i=$((i + 1)); done"},
        {'~', "x=3; echo $((x <= 4)); cat a$x"},
        {'~', "cat {1..100}"},
        {'~', "bash x.sh 'not .env'"},
        {'~', "bash -c 'cat a'"},
        {'~', "bash x.sh <<< 'not .env'"},
        {'~', "git commit -c x; python3 -c 'not .env'"},
    };
    CLEANUP(setting_release) struct setting s;

    (void)state;
    setting_make(&s, SMUGGLE_RULES);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char reason[300];
        char got = verdict(&s, rows[i].command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != rows[i].expect)
            fail_msg("%c (%s): %s", got, reason, rows[i].command);
    }
}

/* What a command changes under a name that only the shell knows may be denied or protected. */
static void names_not_written_out(void **state)
{
    static const struct command_row rows[] = {
        {'~', "echo x | tee \"$X\""},
        {'~', "tee ~root/x"},
        {'~', "cp a \"$X\""},
        {'~', "cp a $X"},
        {'~', "cp a \"$(echo b)\""},
        {'~', "cp a \"out/$X\""},
        {'~', "cp \"$X\" out"}, /* perhaps --target-directory=.git */
        {'~', "cp -t \"$X\" a"},
        {'~', "cp --target-directory=\"$X\" a"},
        {'+', "cp \"./$X\" out"},
        {'+', "cp -t out \"./$X\" b"},
        {'~', "mv \"./$X\" out"}, /* it is gone from there */
        {'~', "ln -s a \"$X\""},
        {'~', "install -m 644 a \"$X\""},
        {'~', "touch \"$X\""},
        {'~', "mkdir -p \"$X\""},
        {'~', "chmod +x \"$X\""},
        {'~', "truncate -s 0 \"$X\""},
        {'~', "dd if=a of=\"$X\""},
        {'~', "dd \"$X\""},
        {'+', "dd if=\"$X\" of=a"},
        {'~', "sort a -o \"$X\""},
        {'+', "sort \"$X\""},
        {'~', "sed -i s/a/b/ \"$X\""},
        {'~', "sed -Ei s/a/b/ \"$X\""},
        {'~', "sed -i -e s/a/b/ \"$X\""},
        {'~', "sed -i \"s/a/$X/\" a"},
        {'~', "timeout 5 cp a \"$X\""},
        {'~', "X=$(cat f); touch \"$X\""},
        {'~', "while read -r f; do touch \"$f\"; done < list"},
        {'-', "for f in v; do touch \".en$f\"; done"},
        {'~', "for f in v w; do touch \".en$f\"; done"},
        {'~', "for f in a b; do touch \"$f\"; done"},
        {'~', "for f in *.c; do cp \"$f\" out; done"},
        {'~', "x=a; cp b $x"},
        {'-', "x=.env; cp b $x"},
        {'~', "x=.git/config; cp b $x"},
        {'-', "for f in a .env; do touch \"$f\"; done"},
        {'-', "cp a .e?v"},
        {'+', "touch \"$EXACTLY\""}, /* a rule has this very text */
    };
    CLEANUP(setting_release) struct setting s;

    (void)state;
    setting_make(&s,
                 "{'permissions':{'allow':['Bash(tee:*)','Bash(cp:*)','Bash(mv:*)','Bash(ln *)',"
                 "'Bash(install:*)','Bash(touch:*)','Bash(mkdir:*)','Bash(chmod:*)',"
                 "'Bash(truncate:*)','Bash(dd:*)','Bash(sort:*)','Bash(sed:*)','Bash(echo:*)',"
                 "'Bash(cat:*)','Bash(read:*)','Bash(touch \\\"$EXACTLY\\\")'],"
                 "'deny':['Edit(.env)']}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char reason[300];
        char got = verdict(&s, rows[i].command, MODE_DEFAULT, reason, sizeof(reason));

        if (got != rows[i].expect)
            fail_msg("%c (%s): %s", got, reason, rows[i].command);
    }
}

UNIT_TEST(permit_command)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_inside_words),
        cmocka_unit_test(names_not_written_out),
        cmocka_unit_test(smuggled),
        cmocka_unit_test(ordinary),
        cmocka_unit_test(everyday),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(filters),
        cmocka_unit_test(repository_below),
        cmocka_unit_test(beyond_rules),
        cmocka_unit_test(beside_forbidden_files),
        cmocka_unit_test(words_as_files),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
