/*
 * rule: the language of rules as a table of rule x call, half of it attempts to get past one; what
 * counts as reading, as work on files and as a removal that must be asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/rule_list.h"
#include "guard/rule.h"
#include "json/json.h"
#include "unit.h"

static const struct rule_place place = {"/p", "/w", "/h/u"};

struct match_row {
    enum rule_list list;
    const char *rule;
    const char *call; /* "Tool: what it is about", or a tool's name */
    bool expect;
    const char *args; /* JSON, for parameter rules */
};

#define A RULE_ALLOW
#define K RULE_ASK
#define D RULE_DENY

static const struct match_row plain_rows[] = {
    /* Tools by name. */
    {A, "Bash", "Bash: anything $(at all)", true, NULL},
    {A, "Bash(*)", "Bash: anything $(at all)", true, NULL},
    {A, "Bash", "Read: /w/a", false, NULL},
    {A, "TodoWrite", "TodoWrite", true, NULL},
    {D, "*", "Bash: ls", true, NULL},
    {D, "mcp__*", "mcp__db__query", true, NULL},
    {D, "mcp__*", "Bash: ls", false, NULL},
    {A, "mcp__db", "mcp__db__query", true, NULL},
    {A, "mcp__db", "mcp__dbx__query", false, NULL},
    {A, "mcp__db", "mcp__db", true, NULL},
    {A, "mcp__db__*", "mcp__db__query", true, NULL},
    {A, "mcp__db__que*", "mcp__db__query", true, NULL},
    {A, "mcp__db__query", "mcp__db__query", true, NULL},
    {A, "mcp__db__query", "mcp__db__query_all", false, NULL},
    {A, "Task", "Agent: Explore", true, NULL},
    {A, "Agent", "Task: Explore", true, NULL},
    {A, "  Bash  ", "Bash: x", true, NULL},

    /* Commands: the very text. */
    {A, "Bash(npm test)", "Bash: npm test", true, NULL},
    {A, "Bash(npm test)", "Bash:   npm test  ", true, NULL},
    {A, "Bash(npm test)", "Bash: npm test x", false, NULL},
    {A, "Bash(npm test)", "Bash: npm", false, NULL},
    {A, "Bash(npm test)", "Bash: npm  test", true, NULL},
    {A, "Bash(npm test && npm run build)", "Bash: npm test && npm run build", true, NULL},
    {A, "Bash(echo \"$(date)\" > /tmp/x)", "Bash: echo \"$(date)\" > /tmp/x", true, NULL},
    {A, "Bash(git commit -m \"x y\")", "Bash: git commit -m \"x y\"", true, NULL},

    /* A prefix with a boundary, in both spellings. */
    {A, "Bash(npm run:*)", "Bash: npm run", true, NULL},
    {A, "Bash(npm run:*)", "Bash: npm run build --x", true, NULL},
    {A, "Bash(npm run:*)", "Bash: npm runner", false, NULL},
    {A, "Bash(npm run *)", "Bash: npm run", true, NULL},
    {A, "Bash(npm run *)", "Bash: npm run build", true, NULL},
    {A, "Bash(npm run *)", "Bash: npm running", false, NULL},
    {A, "Bash(make:*)", "Bash: make -j2 all", true, NULL},
    {A, "Bash(ls*)", "Bash: lsof -i", true, NULL},
    {A, "Bash(mk*)", "Bash: mkfoo", true, NULL},
    {A, "Bash(git * main)", "Bash: git push origin main", true, NULL},
    {A, "Bash(git * main)", "Bash: git push origin dev", false, NULL},
    {A, "Bash(* --help)", "Bash: foo --help", true, NULL},
    {A, "Bash(* --help)", "Bash: foo --helpless", false, NULL},
    {A, "Bash(\\*x a)", "Bash: \\*x a", false, NULL},
    {D, "Bash(\\*x:*)", "Bash: '*x' a", true, NULL},
    {D, "Bash(\\(x:*)", "Bash: '(x' a", true, NULL},
    {D, "Bash(*m x)", "Bash: rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: ls; /bin/r? x", true, NULL},
    {D, "Bash(rm:*)", "Bash: ls; {rm,x}", true, NULL},
    {D, "Bash(rm:*)", "Bash: ls; q{a,b} x", false, NULL},
    {D, "Bash(rm:*)", "Bash: for i in ls rm; do $i x; done", true, NULL},
    {A, "Bash(a * b * c)", "Bash: a 1 b 2 b 3 c", true, NULL},
    {A, "Bash(a * b *)", "Bash: a x b y z", true, NULL},
    {A, "Bash(echo \\*)", "Bash: echo *", true, NULL},
    {A, "Bash(foo \\*)", "Bash: foo x", false, NULL},

    /* Parts: each one needs a rule or only reads. */
    {A, "Bash(npm test:*)", "Bash: npm test && npm test x", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test | head -5", true, NULL},
    {A, "Bash(npm test:*)", "Bash: cd sub && npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test 2>&1 | tail -n 20", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test >/dev/null 2>&1", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test &> /dev/null", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test < in.txt", true, NULL},
    {A, "Bash(npm test:*)", "Bash: # first the tests\nnpm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test -- \\\n  --watch", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test 'a; b' \"c && d\"", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test $HOME", true, NULL},
    {A, "Bash(npm test:*)", "Bash: (npm test)", true, NULL},
    {A, "Bash(npm test:*)", "Bash: { npm test; }", true, NULL},
    {A, "Bash(npm test:*)", "Bash: if npm test; then npm test; fi", true, NULL},
    {A, "Bash(npm test:*)", "Bash: ! npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test $(cat x)", true, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test <<'X'\n$(rm x)\nX", true, NULL},

    /* Wrappers and assignments that change nothing of it. */
    {A, "Bash(npm test:*)", "Bash: timeout 30 npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: timeout -k 5 -s KILL 1.5m npm test x", true, NULL},
    {A, "Bash(npm test:*)", "Bash: timeout --signal=INT 5 npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: time npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: nice -n 10 npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: nice -5 npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: nohup npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: stdbuf -oL npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: command npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: echo x | xargs npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: NODE_ENV=test CI=1 npm test", true, NULL},
    {A, "Bash(npm test:*)", "Bash: nohup nice timeout 5 npm test", true, NULL},
    {A, "Bash(timeout 5 npm test)", "Bash: timeout 5 npm test", true, NULL},

    /* Deny and ask. */
    {D, "Bash(rm:*)", "Bash: rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: rmdir x", false, NULL},
    {D, "Bash(rm:*)", "Bash: git rm x", false, NULL},
    {D, "Bash(rm:*)", "Bash: echo rm x", false, NULL},
    {D, "Bash(rm:*)", "Bash: git commit -m 'rm x'", false, NULL},
    {D, "Bash(rm:*)", "Bash: npm rm x; docker rm y", false, NULL},
    {K, "Bash(git push *)", "Bash: git push", true, NULL},
    {K, "Bash(git push *)", "Bash: git pull && git push -f", true, NULL},
    {K, "Bash(git push *)", "Bash: git pull", false, NULL},
    {D, "Bash(curl * | sh)", "Bash: curl http://x | sh", true, NULL},

    /* Paths. */
    {A, "Edit(src/**)", "Edit: /w/src/a.c", true, NULL},
    {A, "Edit(src/**)", "Write: /w/src/deep/a.c", true, NULL},
    {A, "Edit(src/**)", "Edit: /w/lib/src/a.c", false, NULL},
    {A, "Edit(src/**)", "Edit: /other/src/a.c", false, NULL},
    {A, "Edit(src/**)", "Edit: /w/srcs/a.c", false, NULL},
    {D, "Edit(src/**)", "Edit: /w/lib/src/a.c", true, NULL},
    {A, "Edit(src/**)", "Read: /w/src/a.c", false, NULL},
    {A, "Edit", "Write: /anywhere", true, NULL},
    {A, "Read(src/**)", "Grep: /w/src", true, NULL},
    {A, "Read(src/**)", "Edit: /w/src/a", false, NULL},
    {A, "Read", "Glob: /w", true, NULL},
    {D, "Read(.env)", "Read: /w/.env", true, NULL},
    {D, "Read(.env)", "Read: /w/a/b/.env", true, NULL},
    {D, "Read(.env)", "Write: /w/.env", true, NULL},
    {K, "Read(.env)", "Write: /w/.env", false, NULL},
    {D, "Read(.env)", "Read: /w/.env.example", false, NULL},
    {D, "Read(.env.*)", "Read: /w/x/.env.local", true, NULL},
    {D, "Read(secrets)", "Read: /w/secrets/deep/key", true, NULL},
    {D, "Read(secrets/)", "Read: /w/a/secrets/key", true, NULL},
    {D, "Read(./secrets/**)", "Read: /w/secrets/key", true, NULL},
    {D, "Read(./secrets/**)", "Read: /w/a/secrets/key", false, NULL},
    {D, "Read(secrets/**)", "Grep: /w/secrets", true, NULL},
    {A, "Read(//etc/hosts)", "Read: /etc/hosts", true, NULL},
    {A, "Read(//etc/**)", "Read: /etc/ssl/x", true, NULL},
    {A, "Read(//**)", "Read: /any/thing", true, NULL},
    {A, "Read(~/docs/*.md)", "Read: /h/u/docs/a.md", true, NULL},
    {A, "Read(~/docs/*.md)", "Read: /h/u/docs/deep/a.md", false, NULL},
    {A, "Read(/lib/**)", "Read: /p/lib/x", true, NULL},
    {A, "Read(/lib/**)", "Read: /w/lib/x", false, NULL},
    {A, "Edit(*.ts)", "Edit: /w/a/b.ts", true, NULL},
    {A, "Edit(*.ts)", "Edit: /w/a/b.tsx", false, NULL},
    {A, "Edit(src/*.c)", "Edit: /w/src/a.c", true, NULL},
    {A, "Edit(src/*.c)", "Edit: /w/src/x/a.c", false, NULL},
    {A, "Edit(src/*)", "Edit: /w/src/x/a.c", true, NULL},
    {A, "Edit(**/test/**)", "Edit: /w/a/b/test/c", true, NULL},
    {A, "Edit(**/test/**)", "Edit: /w/test/c", true, NULL},
    {A, "Edit(a/**/z)", "Edit: /w/a/z", true, NULL},
    {A, "Edit(a/**/z)", "Edit: /w/a/b/c/z", true, NULL},
    {A, "Edit(a?c)", "Edit: /w/abc", true, NULL},
    {A, "Edit(a?c)", "Edit: /w/a/c", false, NULL},
    {A, "Edit([ab].c)", "Edit: /w/b.c", true, NULL},
    {A, "Edit([!ab].c)", "Edit: /w/b.c", false, NULL},
    {A, "Edit([a-c]x)", "Edit: /w/bx", true, NULL},
    {A, "Edit(a\\*b)", "Edit: /w/a*b", true, NULL},
    {A, "Edit(a\\*b)", "Edit: /w/axb", false, NULL},
    {A, "Edit(.)", "Edit: /w/x", false, NULL},
    /* How a pattern begins and ends tells most paths from it; these it must not. */
    {D, "Edit(*.lock)", "Edit: /w/a.lock/b.c", true, NULL},
    {D, "Edit(*.lock)", "Edit: /w/a/.lock", true, NULL},
    {D, "Edit(?.c)", "Edit: /w/x.c", true, NULL},
    {D, "Edit(a?)", "Edit: /w/b/ax/c", true, NULL},
    {D, "Edit(a*)", "Edit: /w/b/a", true, NULL},
    {D, "Edit(x[ab])", "Edit: /w/xb", true, NULL},
    {D, "Edit([ab)", "Edit: /w/[ab", true, NULL},
    {D, "Edit(a])", "Edit: /w/a]", true, NULL},
    {D, "Edit(\\*b)", "Edit: /w/*b", true, NULL},
    {D, "Edit(b\\*)", "Edit: /w/b*", true, NULL},
    {D, "Edit(b\\)", "Edit: /w/b\\", true, NULL},
    {D, "Edit(./**)", "Edit: /w/x", true, NULL},
    {D, "Edit(./**)", "Edit: /w", true, NULL},

    /* Hosts. */
    {A, "WebFetch(domain:example.com)", "WebFetch: example.com", true, NULL},
    {A, "WebFetch(domain:example.com)", "WebFetch: EXAMPLE.com.", true, NULL},
    {A, "WebFetch(domain:example.com)", "WebFetch: a.example.com", false, NULL},
    {A, "WebFetch(domain:example.com)", "WebFetch: example.com.evil.net", false, NULL},
    {A, "WebFetch(domain:*.example.com)", "WebFetch: a.b.example.com", true, NULL},
    {A, "WebFetch(domain:*.example.com)", "WebFetch: example.com", false, NULL},
    {A, "WebFetch(domain:*.example.com)", "WebFetch: evilexample.com", false, NULL},
    {A, "WebFetch(domain:*.example.com)", "WebFetch: .example.com", false, NULL},
    {A, "WebFetch(domain:api-*.example.com)", "WebFetch: api-eu.example.com", true, NULL},
    {A, "WebFetch(domain:api-*.example.com)", "WebFetch: api-eu.x.example.com", false, NULL},
    {A, "WebFetch", "WebFetch: any.where", true, NULL},

    /* Names and parameters. */
    {A, "Agent(Explore)", "Agent: Explore", true, NULL},
    {A, "Task(Explore)", "Agent: Explore", true, NULL},
    {A, "Agent(Explore)", "Agent: Explorer", false, NULL},
    {A, "Skill(deploy)", "Skill: deploy prod", false, NULL},
    {A, "Skill(deploy *)", "Skill: deploy prod", true, NULL},
    {A, "Skill(deploy *)", "Skill: deploy", true, NULL},
    {A, "Skill(deploy *)", "Skill: deployer", false, NULL},
    {D, "Agent(model:opus)", "Agent: Explore", true, "{\"model\":\"opus\"}"},
    {D, "Agent(model:opus*)", "Agent: Explore", true, "{\"model\":\"opus-5\"}"},
    {D, "Agent(model:opus)", "Agent: Explore", false, "{\"model\":\"haiku\"}"},
    {D, "Agent(model:opus)", "Agent: Explore", false, "{}"},
    {D, "Bash(run_in_background:true)", "Bash: ls", true, "{\"run_in_background\":true}"},
    {K, "Bash(timeout:6*)", "Bash: ls", true, "{\"timeout\":60000}"},
    {D, "Bash(run_in_background:true)", "Bash: ls", false, "{\"run_in_background\":false}"},
    {D, "Bash(command:ls)", "Bash: ls", false, "{\"command\":\"ls\"}"},
    {D, "mcp__db__query(table:users)", "mcp__db__query", true, "{\"table\":\"users\"}"},
    {D, "mcp__db__query(table:users)", "mcp__db__query", false, "{\"table\":[\"users\"]}"},
};

/* Attempts to get past a rule. */
static const struct match_row smuggle_rows[] = {
    {A, "Bash(npm test:*)", "Bash: npm test; rm -rf x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test && rm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test || rm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test | sh", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test |& sh", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test & rm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test\nrm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test # \nrm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test $(rm x)", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test `rm x`", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \"$(rm x)\"", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \"`rm x`\"", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test <(rm x)", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test >(rm x)", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test ${x:-$(rm x)}", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test > ~/.bashrc", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test >> f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test >| f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test >& f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test 2> f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test <> f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test &>> f", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test > /dev/null/../../etc/x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test <<X\n$(rm x)\nX", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test 'unclosed", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \"unclosed", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \\", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \x01", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \rrm x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \xc2\xa0x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \xe2\x80\xae x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test \xff", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test\v", false, NULL},
    {A, "Bash(npm test)", "Bash: npm test\v", false, NULL},
    {A, "Bash(npm test)", "Bash: \fnpm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm() { rm x; }; npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: alias npm=rm; npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: PATH=/tmp/evil npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: LD_PRELOAD=./x.so npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: NODE_OPTIONS=--require=./x npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: CI=$(rm x) npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: NODE_ENV+=x npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: X=1", false, NULL},
    {A, "Bash(npm test:*)", "Bash: timeout 5 sh -c 'npm test'", false, NULL},
    {A, "Bash(npm test:*)", "Bash: timeout --weird=1 5 npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: xargs -I{} npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: xargs -0 npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: sudo npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: env npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: \"npm test\"", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm\\ test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: 'npm' test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: $X test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm* test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: ./npm test", false, NULL},
    {A, "Bash(npm test:*)", "Bash: npm test $'\\n' ; x", false, NULL},
    {A, "Bash(npm test:*)", "Bash: cd / && npm test > out", false, NULL},
    {A, "Bash(find:*)", "Bash: find . -exec rm {} +", false, NULL},
    {A, "Bash(find:*)", "Bash: find . -delete", false, NULL},
    {A, "Bash(find *)", "Bash: timeout 5 find . -ok rm {} \\;", false, NULL},
    {A, "Bash(find:*)", "Bash: find . $X", false, NULL},
    {A, "Bash(watch:*)", "Bash: watch rm x", false, NULL},
    {A, "Bash(setsid:*)", "Bash: setsid rm x", false, NULL},
    {A, "Bash(flock:*)", "Bash: flock f rm x", false, NULL},
    {A, "Bash(git log:*)", "Bash: git -c core.pager=x log", false, NULL},
    {A, "Edit(src/**)", "Edit: /w/src", true, NULL},
    {A, "Edit(/src/**)", "Edit: /p/srcx", false, NULL},

    {D, "Bash(rm:*)", "Bash: ls; rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: ls&&rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo $(rm x)", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo \"a $(rm x) b\"", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo `rm x`", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo \"`rm x`\"", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo $(echo $(rm x))", true, NULL},
    {D, "Bash(rm:*)", "Bash: cat <(rm x)", true, NULL},
    {D, "Bash(rm:*)", "Bash: (rm x)", true, NULL},
    {D, "Bash(rm:*)", "Bash: { rm x; }", true, NULL},
    {D, "Bash(rm:*)", "Bash: if true; then rm x; fi", true, NULL},
    {D, "Bash(rm:*)", "Bash: for i in 1 2; do rm $i; done", true, NULL},
    {D, "Bash(rm:*)", "Bash: while rm x; do :; done", true, NULL},
    {D, "Bash(rm:*)", "Bash: case x in x) rm x;; esac", true, NULL},
    {D, "Bash(rm:*)", "Bash: f() { rm x; }; f", true, NULL},
    {D, "Bash(rm:*)", "Bash: ! rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: 'rm' x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r\"m\" x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r\\m x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r\\\nm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: $'rm' x", true, NULL},
    {D, "Bash(rm:*)", "Bash: $'\\x72\\155' x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r${z}m x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r$z'm' x", true, NULL},
    {D, "Bash(rm:*)", "Bash: ${z:-rm} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: rm${IFS}x", true, NULL},
    {D, "Bash(rm:*)", "Bash: {rm,-rf,x}", true, NULL},
    {D, "Bash(rm:*)", "Bash: /bin/rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: /bin/r? x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r[m] x", true, NULL},
    {D, "Bash(rm:*)", "Bash: FOO=1 BAR=2 rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: sudo rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: sudo -u root rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: env A=1 rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: timeout 5 nice rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: xargs -n1 rm", true, NULL},
    {D, "Bash(rm:*)", "Bash: xargs -0 rm", true, NULL},
    {D, "Bash(rm:*)", "Bash: sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: cat x | sed 's/rm -rf//' | head", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed -n '/rm -rf/p;e rm x' y", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/e' z", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z | sh", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z | python3", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z > s; . ./s", false, NULL},
    {D, "Bash(rm:*)", "Bash: $(sed 's/x/rm -rf y/' z)", false, NULL},
    {D, "Bash(rm:*)", "Bash: bash -c \"sed 's/x/rm -rf y/' z\" | sh", false, NULL},
    {D, "Bash(rm:*)", "Bash: bash -c \"$(sed 's/x/rm -rf y/' z)\"", false, NULL},
    {D, "Bash(rm:*)", "Bash: echo `$(sed 's/x/rm -rf y/' z)`", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z | while read -r l; do $l; done", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z | xargs", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed 's/x/rm -rf y/' z | xargs -I{} sh -c {}", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed -i 's/x/rm -rf y/' z", false, NULL},
    {D, "Bash(rm:*)", "Bash: sed() { $2; }; sed -n '/rm -rf/p'", false, NULL},
    {D, "Bash(rm:*)", "Bash: PATH=. sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: PATH=.; sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: alias sed=sh; sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: hash -p /bin/sh sed; sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: ./sed -n '/rm -rf/p' x", false, NULL},
    {D, "Bash(rm:*)", "Bash: xargs sed -n '/rm -rf/p'", false, NULL},
    {D, "Bash(rm:*)", "Bash: x=$(sed -n '/rm -rf/p' y); $x", false, NULL},
    {D, "Bash(rm:*)", "Bash: xargs -0 sh -c 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: find . -exec rm {} \\;", true, NULL},
    {D, "Bash(rm:*)", "Bash: bash -c 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: sh -c \"ls; rm x\"", true, NULL},
    {D, "Bash(rm:*)", "Bash: eval 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo 'rm x' | sh", true, NULL},
    {D, "Bash(rm:*)", "Bash: bash <<< 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: bash <<X\nrm x\nX", true, NULL},
    {D, "Bash(rm:*)", "Bash: cat <<X\nit's\nX\nrm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: sudo bash -c \"env sh -c 'rm x'\"", true, NULL},
    {D, "Bash(rm:*)", "Bash: ls > f; rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: >f rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: 2>/dev/null rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: trap 'rm x' EXIT", true, NULL},
    {D, "Bash(rm:*)", "Bash: nohup setsid rm x &", true, NULL},
    {D, "Bash(rm -rf *)", "Bash: rm  -rf\t/", true, NULL},
    {D, "Bash(rm:*)", "Bash: a='x' ; rm \"$a", true, NULL},
    {D, "Bash(rm:*)", "Bash: env -S'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: env '-Srm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: env -vS 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: env --split-string='rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: r{m,} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: {r,}m x", true, NULL},
    {D, "Bash(rm:*)", "Bash: /bin/r{m,mdir} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: {/bin/,}rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: r{l..n} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: sudo r{m,} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: {r{m,x},y} x", true, NULL},
    {D, "Bash(rm:*)", "Bash: git bisect run rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: git -C d bisect run rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: git submodule foreach 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: git submodule foreach --recursive rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: git filter-branch --tree-filter 'rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: npm exec -- rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: npm --prefix d exec rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: pnpm dlx rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: yarn exec rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: uv run rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: poetry run rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: bundle exec rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: docker exec c rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: docker exec -it c sh -c 'ls; rm x'", true, NULL},
    {D, "Bash(rm:*)", "Bash: docker compose run web rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: podman run i /bin/rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: kubectl exec p -- rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: nix develop -c rm x", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo rm x | sh", true, NULL},
    {D, "Bash(rm:*)", "Bash: echo ls; echo /bin/rm x | bash", true, NULL},
    {D, "Bash(rm:*)", "Bash: l{s,} x", false, NULL},
    {D, "Bash(rm:*)", "Bash: sudo mkdir d{1..1000}", false, NULL},
    {D, "Bash(rm:*)", "Bash: r{1..1000} x", false, NULL},
    {D, "Bash(rm:*)", "Bash: {a,b}{c,d} x", false, NULL},
    {D, "Bash(rm:*)", "Bash: git bisect start rm x", false, NULL},
    {D, "Bash(rm:*)", "Bash: git submodule update rm", false, NULL},
    {D, "Bash(rm:*)", "Bash: npm install rm", false, NULL},
    {D, "Bash(rm:*)", "Bash: docker rm c", false, NULL},
    {D, "Bash(rm:*)", "Bash: docker run --rm i ls", false, NULL},
    {D, "Bash(rm:*)", "Bash: kubectl get pods rm", false, NULL},
    {D, "Bash(rm:*)", "Bash: echo rm x | cat", false, NULL},
    {D, "Bash(rm:*)", "Bash: env -i ls rm.c", false, NULL},
    {D, "Bash(rm:*)", "Bash: git commit -m 'rm x'", false, NULL},
};

static void subject_of(const struct match_row *row, struct arena *arena, struct rule_subject *ret)
{
    struct str call = str_of(row->call);
    size_t colon = str_find(call, STR(": "));
    struct rule_subject s = {.tool = str_first(call, colon), .text = str_from(call, colon + 2)};

    if (str_is(s.tool, "Bash"))
        s.about = ABOUT_COMMAND;
    else if (str_is(s.tool, "Read") || str_is(s.tool, "Grep") || str_is(s.tool, "Glob"))
        s.about = ABOUT_PATH;
    else if (str_is(s.tool, "Edit") || str_is(s.tool, "Write"))
        s.about = ABOUT_PATH;
    else if (str_is(s.tool, "WebFetch"))
        s.about = ABOUT_HOST;
    else if (colon < call.len)
        s.about = ABOUT_NAME;
    s.writes = str_is(s.tool, "Edit") || str_is(s.tool, "Write");
    if (row->args)
        assert_int_equal(json_parse(arena, str_of(row->args), &s.args, NULL, NULL), 0);
    *ret = s;
}

static size_t check_rows(const struct match_row *rows, size_t count)
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const struct match_row *row = &rows[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct rule_subject subject;
        struct rule *rule = NULL;
        struct err err = {0};
        bool got;

        subject_of(row, &arena, &subject);
        if (rule_parse(str_of(row->rule), row->list, &place, &rule, &err) < 0) {
            got = false;
            if (row->expect)
                print_error("row %zu: %s\n", i, err.text);
        } else {
            got = rule_matches(rule, &subject);
        }
        if (got != row->expect) {
            print_error("row %zu: %s x '%s': %s\n", i, row->rule, row->call,
                        got ? "matches" : "does not match");
            wrong++;
        }
        rule_free(rule);
    }
    return wrong;
}

static void plain(void **state)
{
    (void)state;
    assert_int_equal(check_rows(plain_rows, ARRAY_LEN(plain_rows)), 0);
}

static void smuggled(void **state)
{
    (void)state;
    assert_true(ARRAY_LEN(smuggle_rows) >= 60);
    assert_true(ARRAY_LEN(smuggle_rows) + ARRAY_LEN(plain_rows) >= 200);
    assert_int_equal(check_rows(smuggle_rows, ARRAY_LEN(smuggle_rows)), 0);
}

struct bad_row {
    enum rule_list list;
    const char *rule;
    const char *error; /* its start */
};

static const struct bad_row bad_rows[] = {
    {A, "", ": the tool's name is missing"},
    {A, "Bash(npm", "Bash(npm: a ')' is missing"},
    {A, "Bash()", "Bash(): nothing is between the parentheses"},
    {A, "Bash( )", "Bash( ): nothing is between the parentheses"},
    {A, "(x)", "(x): the tool's name is missing"},
    {A, "Ba sh", "Ba sh: 'Ba sh' cannot be the name of a tool"},
    {A, "Bash(:*)", "Bash(:*): the command is missing"},
    {A, "Bash(git:* push)", "Bash(git:* push): ':*' stands at the end of a command"},
    {A, "Bash(a:*b:*)", "Bash(a:*b:*): ':*' stands at the end of a command"},
    {A, "*", "*: an allow rule may have a '*' only after mcp__<server>__"},
    {A, "mcp__*", "mcp__*: an allow rule may have a '*' only after mcp__<server>__"},
    {A, "mcp____*", "mcp____*: an allow rule may have a '*' only after mcp__<server>__"},
    {A, "B*", "B*: an allow rule may have a '*' only after mcp__<server>__"},
    {D, "B*(x)", "B*(x): a tool's name with '*' takes no '(…)'"},
    {A, "Write(src/**)", "Write(src/**): rules for paths are written Edit(…)"},
    {A, "Glob(src/**)", "Glob(src/**): rules for paths are written Read(…)"},
    {A, "mcp__a__b(x)", "mcp__a__b(x): tools of MCP servers take no '(…)'"},
    {A, "WebFetch(https://x)", "WebFetch(https://x): write domain:HOST between the parentheses"},
    {A, "WebFetch(domain:)", "WebFetch(domain:): the host is missing"},
    {D, "Read(!x)", "Read(!x): '!' does not turn a rule around"},
    {D, "Read(../x)", "Read(../x): '../x' has a '.' or '..' in it"},
    {A, "Edit(a/../b)", "Edit(a/../b): 'a/../b' has a '.' or '..' in it"},
};

static void bad(void **state)
{
    CLEANUP(buf_release) struct buf longer = BUF_INIT(10000);
    struct rule *rule = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_rows); i++) {
        const struct bad_row *row = &bad_rows[i];
        struct err err = {0};

        if (rule_parse(str_of(row->rule), row->list, &place, &rule, &err) == 0)
            fail_msg("row %zu: '%s' is taken", i, row->rule);
        if (err.code != ERR_BAD_INPUT || !str_starts(str_of(err.text), str_of(row->error)))
            fail_msg("row %zu: '%s' instead of '%s'", i, err.text, row->error);
    }
    for (size_t i = 0; i < 5000; i++)
        buf_addc(&longer, 'a');
    assert_int_equal(rule_parse(buf_str(&longer), A, &place, &rule, NULL), -1);
    assert_int_equal(rule_parse(STR("Bash(a\0b)"), A, &place, &rule, NULL), -1);
    assert_null(rule);
}

static void covers(void **state)
{
    static const struct {
        const char *rule;
        const char *tool;
        bool expect;
    } rows[] = {
        {"Bash", "Bash", true},         {"Bash(*)", "Bash", true},
        {"Bash(ls)", "Bash", false},    {"*", "Read", true},
        {"mcp__*", "mcp__a__b", true},  {"mcp__a", "mcp__a__b", true},
        {"mcp__a", "mcp__b__b", false}, {"Task", "Agent", true},
        {"Edit", "Write", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule *rule;

        assert_int_equal(rule_parse(str_of(rows[i].rule), D, &place, &rule, NULL), 0);
        if (rule_covers_tool(rule, str_of(rows[i].tool)) != rows[i].expect)
            fail_msg("row %zu: %s and %s", i, rows[i].rule, rows[i].tool);
        assert_string_equal(rule_text(rule).ptr, rows[i].rule);
        rule_free(rule);
    }
}

/* '+' only reads, '-' does not. */
static const char *const read_rows[] = {
    "+ls",
    "+ls -la /tmp",
    "+cat a b | head -3",
    "+echo $HOME",
    "+pwd && ls; wc -l x",
    "+grep -rn 'a b' src | sort | uniq -c",
    "+find . -name '*.c' -type f",
    "+find src/*.c",
    "+git status",
    "+git log --oneline -5",
    "+git diff HEAD~1 -- src",
    "+git --no-pager show HEAD",
    "+git branch",
    "+git branch -a",
    "+git branch --show-current",
    "+git branch --contains HEAD",
    "+git branch --sort=-committerdate",
    "+git branch -a --sort=-committerdate -v",
    "+git branch --list --sort=refname 'a*'",
    "+git tag --sort=-v:refname",
    "+git tag -l --sort=-v:refname 'v*'",
    "+git tag",
    "+git tag -l 'v*'",
    "+git remote -v",
    "+git stash list",
    "+git config --get user.name",
    "+git rev-parse HEAD",
    "+git worktree list",
    "+git --version",
    "+node --version",
    "+date +%s",
    "+date -u -d '2 days ago' +%F",
    "+date -r x",
    "+uniq x",
    "+sed -n '/[0-9]{3}/p' x*",
    "+sed -n '1,20p' a.c",
    "+sed 's/a/b/g' x",
    "+sed -n -e '/re/p' x",
    "+command -v gcc",
    "+ls 2>/dev/null",
    "+ls 2>&1",
    "+cat < in",
    "+test -f x && echo yes",
    "+[ -d x ]",
    "+timeout 5 ls",
    "+LANG=C ls",
    "+cd src && ls",
    "+true",
    "+rg -n x src",
    "+printf '%s\\n' a",
    "+find . | xargs cat",
    "+find . -print0 | xargs -0 grep -l x",
    "+find . -print0 | xargs -0 -r cat",
    "+find . | xargs --null --no-run-if-empty wc -l",
    "+git diff | cat",
    "-",
    " -",
    "-rm x",
    "-ls > f",
    "-ls >> f",
    "-ls | tee f",
    "-ls; rm x",
    "-ls $(rm x)",
    "-ls `x`",
    "+ls ${X}",
    "-sort -o f x",
    "-sort --output=f x",
    "-sort --outp f x",
    "-sort -uo f x",
    "-sort --compress-program=x y",
    "-sort $X",
    "-sort *",
    "-uniq a b",
    "-find . -delete",
    "-find . -exec rm {} ;",
    "-find . -fprint f",
    "-find . -okdir x",
    "-find $X",
    "-find * -name x",
    "-find {.,-delete}",
    "-echo -delete | xargs find .",
    "-echo -delete | xargs -0 find .",
    "-xargs -0 rm",
    "-xargs -0",
    "-xargs -0 -I{} cat",
    "-xargs -0r cat",
    "-xargs -0 -P4 cat",
    "-xargs -0 $X cat",
    "-xargs -0 sort",
    "-xargs -0 git status",
    "-xargs -0 sh -c 'cat x'",
    "-xargs -0 xargs -I{} cat",
    "-xargs -a x cat",
    "-sed -i s/a/b/ f",
    "-sed -n 'w f' x",
    "-sed 's/a/b/w f' x",
    "-sed 's/a/b/e' x",
    "-sed '1e rm' x",
    "-sed -f s x",
    "-sed --in-place s/a/b/ f",
    "-sed -n '1p;w f' x",
    "-sed -irc s/a/b/ .bash",
    "-git commit",
    "-git push",
    "-git -c core.pager=x log",
    "-git -C /x status",
    "-git log --output=f",
    "-git log --outp=f",
    "-git diff --ext-diff",
    "-git diff --textconv",
    "-git grep -Ovi x",
    "-git grep --open-files-in-pager=x y",
    "-git branch new",
    "-git branch -D x",
    "-git branch --sort=refname new",
    "-git branch --sort refname",
    "-git branch --sort=refname -D x",
    "-git branch --sort=signature",
    "-git branch --sort=$X",
    "-git branch --sort=\"$X\" --list",
    "-git tag --sort=refname v1",
    "-git tag --sort=refname -d v1",
    "-git tag v1",
    "-git remote add a b",
    "-git stash",
    "-git config user.name x",
    "-git reflog expire",
    "-git cat-file --filters HEAD:x",
    "-git $X",
    "-cd /x && git status",
    "-git checkout x",
    "-rg --pre x y",
    "-fd -x rm",
    "-date -s x",
    /* a word that is no format sets the clock */
    "-date 010203042020",
    "-date -u -- 010203042020",
    /* braces and patterns become options, scripts and more words */
    "-find . -{delete,print}",
    "-find . ''{-delete,-print}",
    "-find . \\\n{-delete,-print}",
    "-find . -d?lete",
    "-git diff -{p,-output=f}",
    "-rg x -{n,-pre=./f}",
    "-test -[v] 'a[$(x)]'",
    "-uniq a{,b}",
    "-uniq a*",
    "-sed s{:a:x:e\\;#,}{x{g",
    "-sed -e s/*/x/ f",
    "-date --set=x",
    "-file -C",
    "-tree -o f",
    "-printf -v 'a[$(x)]' y",
    "-test -v x",
    "+awk 'x'",
    "+awk -F: '{print $1}' f",
    "-awk '{print > \"f\"}' x",
    "-awk 'BEGIN { system(\"x\") }'",
    "-awk '{ print | \"sh\" }' f",
    "-awk -f x y",
    "-awk \"$X\" y",
    "-awk '@load \"x\"' f",
    "-find . -exec grep -l x {} +",
    "-find . -name '*.c' -exec wc -l {} \\;",
    "-find . -exec sort {} +",
    "-find . -exec grep x {} + -delete",
    "-find . -exec grep x",
    "+xxd f",
    "+xxd -l 64 f",
    "-xxd f g",
    "-xxd f -c",
    "-xxd -c -l f g",
    "+xxd -c 8 -l 64 f",
    "+uniq -f 1 -c f",
    "-uniq -f -s f g",
    "-xxd -r f",
    "+uniq -f 1 f",
    "-uniq -f 1 f g",
    "-tar tf x.tar",
    "-tar -tvzf x.tgz",
    "-tar xf x.tar",
    "-tar tf h:x.tar",
    "-tar tf x.tar --to-command=x",
    "+git -C . log",
    "+git config user.name",
    "+git config get user.name",
    "-git config --unset user.name",
    "-npm ls --depth=0",
    "-pip list",
    "-npm install",
    "-python x",
    "-PATH=x ls",
    "-GIT_DIR=x git log",
    "-X=1",
    "-export X=1",
    "-ls\x01",
    "+(ls)",
    "+! ls",
    "+for i in x; do ls; done",
    "+for f in *.c; do wc -l \"$f\"; done",
    "+if [ -f x ]; then cat x; else echo no; fi",
    "+[[ -f x && $y == z* ]] && echo yes",
    "+while read -r l; do echo \"$l\"; done < f",
    "+cat <<'X'\n$(rm x)\nX",
    "+diff <(ls a) <(ls b)",
    "+x=$(git rev-parse HEAD); echo $x",
    "+f() { ls \"$1\"; }; f x",
    "+case $x in a|b) ls ;; *) pwd;; esac",
    "-for PATH in x; do ls; done",
    "-if true; then npm() { ls; }; fi; npm publish",
    "-(npm() { ls; }); npm publish",
    "-npm() { ls; } & npm publish",
    "-npm() { ls; } | cat; npm publish",
    "-false && npm() { ls; }; npm publish",
    "-x='a[$(rm f)]'; echo $((x))",
    "-read x; echo $((x))",
    "-[[ 'a[$(rm f)]' -eq 1 ]]",
    "-[[ -v a[$(rm f)] ]]",
    "-echo ${x@P}",
    "-echo ${!x}",
    "-cat <<X\n$(rm x)\nX",
    "-for d in a b; do git status; cd $d; done",
    "-IFS=x",
    "-PATH=x",
    "-coproc ls",
    "-'unclosed",
    "-./ls",
    "-/tmp/ls",
    "-ls <(x)",
    "+cat <<X\nX",
    "-ls <<X",
    "-cat < /dev/tcp/h/1",
    "-env ls",
    "-sudo ls",
    "-node --version x",
    "-node x --version",
    "-xargs rm",
    "-command -p x",
    "-l?",
    "-$X",
    "-ls &> f",
    /* a continued line inside an operator makes another one */
    "-[[ -n a ]\\\n]; touch f; [[ b ]]",
    "-(\\\n(_ ))",
    "-(( 1 )\\\n)",
    "-echo $(\\\n(x))",
    "-echo $\\\n(touch f)",
    "-echo \"$\\\n(touch f)\"",
    "-ls &\\\n& ls",
    "-ls >\\\n&1",
    "-cat <\\\n<(touch f)",
    "-ec\\\nho a",
    "+ls \\\n  -la \\\n  src",
    "+ls &&\n  pwd",
    /* arithmetic runs the commands in what a name holds */
    "-: 'a[$(touch f)]'; echo $((_))",
    "-[[ 'a[$(touch f)]' =~ .* ]]; echo $((BASH_REMATCH))",
    "-for x in 'a[$(touch f)]'; do [[ $x'' -eq 1 ]]; done",
    "-for x in 'a[$(touch f)]'; do [[ \"$x\" -eq 1 ]]; done",
    "-for x in 'a[$(touch f)]'; do (( x )); done",
    "-[[ $(cat x) -lt 1 ]]",
    "-[[ 1 -gt x ]]",
    "-[[ 1 -'gt' $x ]]",
    "-echo $((n + 1))",
    "-echo $(($n + 1))",
    "-echo $(($(cat x) + 1))",
    "-n=1; echo $((n + 1))",
    "-for ((i = 0; i < 3; i++)); do ls; done",
    "-echo ${x:y}",
    "-echo ${x:$y}",
    "-echo ${a[x]}",
    "-let x",
    "+echo $((1 + 2 * (3 - 4)))",
    "+[[ $? -eq 0 && 1 -lt 2 ]]",
    "+[ \"$x\" -eq 1 ]",
    /* sed has its own mind about where a regular expression ends */
    "-sed '/[/s]/e touch f #]x]g' x",
    "-sed 's]/e touch f]x]g' x",
    "-sed 's/[/]/e touch f #]/x/' x",
    "-sed 's/[[./]/e touch f #/x/' x",
    "-sed '/[^]/]/w f\n#]p' x",
    "-sed -n '=' x",
    "+sed 's/[^\\/]*$//; s|[[:space:]]|_|g' x",
    "+sed -n '/a/p;/b/,/c/p' x",
    "-sed 's/a/b/;e touch f' x",
    "-sed 's/a/b/gw f' x",
    /* what >& names is expanded twice */
    "-ls >&'$(touch f)'",
    "-ls <&'$(touch f)'",
    "-echo $(ls >&'$(touch f)')",
    "-ls >&\"x\"",
    "-cat <(time [[ a == b &&  <>o c ]]; grep a f)",
    "-[[ a && >o b ]]",
    "+[[ a < b ]]",
    "+ls >&2",
    "+ls 2>&-",
    /* files of the folder say what runs */
    "-cargo --version",
    "-rustc -V",
    "-yarn --version",
    "-pnpm -v",
    "-go version",
    "-bundle --version",
};

static void reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(read_rows); i++) {
        const char *row = read_rows[i];

        CLEANUP(rule_command_freep)
        struct rule_command *command = rule_command_new(str_of(row + 1));

        if (rule_command_is_read_only(command) != (row[0] == '+'))
            fail_msg("row %zu: '%s'", i, row);
    }
}

struct work_row {
    const char *command;
    const char *paths; /* NULL: no file work */
};

static const struct work_row work_rows[] = {
    {"mkdir -p a/b", "a/b"},
    {"touch a b", "a b"},
    {"rm -rf build", "build"},
    {"rm *.o", "*.o"},
    {"rm -f build/*.o", "build/*.o"},
    {"rm -- -x", "-x"},
    {"mv a b", "a b b/a"},
    {"cp x/y d", "x/y d d/y"},
    {"mkdir -p a/{b,c}", NULL},
    {"cp -r payload/. .", NULL},
    {"cp -a payload .", NULL},
    {"cp a b d/", "a b d/ d//a d//b"},
    {"rmdir x", "x"},
    {"sed -i 's/a/b/g' f g", "f g"},
    {"sed -i.bak -e 's/a/b/' f", "f"},
    {"mkdir a && touch a/b", "a a/b"},
    {"mkdir a; ls", "a"},
    {"ls", NULL},
    {"mkdir", NULL},
    {"rm -rf", NULL},
    {"rm .*", NULL},
    {"rm .g*", NULL},
    {"rm */x", NULL},
    {"rm {a,b}", NULL},
    {"rm [.]git", NULL},
    {"rm $X", NULL},
    {"rm \"$X\"/a", NULL},
    {"rm $(x)", NULL},
    {"cd / && rm x", NULL},
    {"mv -t /etc a", NULL},
    {"cp --target-directory=/etc a", NULL},
    {"cp a", NULL},
    {"cp * d", NULL},
    {"sed -i 's/a/b/w /etc/x' f", NULL},
    {"sed -i -f s f", NULL},
    {"sed -i/etc/* 's/a/b/' f", NULL},
    {"sed -irc 's/a/b/' .bash", NULL},
    {"sed -E -i 's/a/b/; s/c/d/' f", "f"},
    {"sed 's/a/b/' f", NULL},
    {"touch -r a b", NULL},
    {"mkdir a > f", NULL},
    {"mkdir a; curl x", NULL},
    {"ls | xargs rm", NULL},
    {"ln -s a b", NULL},
    {"X=1 rm a", NULL},
};

static void file_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(work_rows); i++) {
        const struct work_row *row = &work_rows[i];
        CLEANUP(strv_release) struct strv paths = STRV_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        CLEANUP(rule_command_freep)
        struct rule_command *command = rule_command_new(str_of(row->command));
        bool works = rule_command_is_file_work(command, &paths);

        for (size_t j = 0; j < paths.len; j++)
            buf_addf(&got, "%s%s", j ? " " : "", paths.ptr[j]);
        if (works != !!row->paths || (works && strcmp(buf_cstr(&got), row->paths) != 0) ||
            (!works && paths.len))
            fail_msg("row %zu: '%s' gives '%s'", i, row->command, works ? buf_cstr(&got) : "none");
    }
}

/* '!' must be asked for, ' ' need not. cwd is /w/a, the home /h/u. */
static const char *const critical_rows[] = {
    "!rm -rf /",
    "!d=/; false && d=tmp; rm -rf $d",
    "!d=/; (d=tmp); rm -rf \"$d\"",
    "!d=/; (d=tmp); rm -rf \"${d}\"usr",
    "!d=tmp; while true; do rm -rf $d/; d=..; done",
    "!d=tmp; rm -rf $d; d=out; rm -rf \"$d/x\"",
    "!rm -rf /*",
    "!rm -rf /usr",
    "!rm -rf ~",
    "!rm -rf ~/",
    "!rm -rf ~/*",
    "!rm -rf .",
    "!rm -rf ..",
    "!rm -rf *",
    "!rm -rf ./*",
    "!rm -rf ../..",
    "!rm -rf /w",
    "!rm -rf /w/a",
    "!rm -rf /w/a/",
    "!rm -rf /h",
    "!rm -rf /h/u/../u",
    "!rm -rf \"$X\"/*",
    "!rm -rf $X/*",
    "!rm -rf $X",
    "!rm -rf \"$X/\"",
    "!sudo rm -rf /",
    "!/bin/rm -rf /",
    "!ls && rm -rf /",
    "!echo $(rm -rf /)",
    "!bash -c 'ls' ; rm -r /etc",
    "!rmdir /",
    "!'rm' -rf /",
    "!rm -rf //",
    "!rm -rf x /",
    "!xargs rm -rf /",
    "!rm -rf /w/a/../../w",
    "!rm -rf ${X}/*",
    " rm -rf build",
    " rm x",
    " rm -rf /w/a/b",
    " rm -rf ~/x/y",
    " rm -rf ./build/*",
    " ls /",
    " echo x",
    " rm -rf /tmp/x",
    "!rm -rf \"./$X\"",
    " find / -name rm",
    " grep -rn rm .",
    " git rm -r .",
    "!find / -exec rm -rf / ;",
    "!env X=1 rm -rf ~",
    "!bash -c 'rm -rf ./*'",
    "!bash -c 'rm -rf /'",
    "!sh -c \"rm -rf ~\"",
    "!sudo sh -c 'cd /; rm -rf usr'",
    "!sh -c \"sh -c 'rm -rf /'\"",
    "!bash <<'E'\nrm -rf /\nE\n",
    "!cd .. && rm -rf a",
    "!cd / && rm -rf ./usr",
    "!cd && rm -rf *",
    "!cd ~ ; rm -rf .",
    "!rm -rf {/,x}",
    "!rm -rf {x,/}{y,etc}",
    "!rm -rf ~root",
    "!rm -rf ~root/",
    "!echo / | xargs rm -rf",
    "!printf '%s' ~ | xargs rm -r",
    "!echo / | xargs -r rm -rf",
    "!find ~ -delete",
    "!find / -name core -delete",
    "!find . -delete",
    " bash -c 'rm -rf build'",
    " sh -c 'echo rm -rf x'",
    " cd build && rm -rf out",
    " cd .. && rm -rf other/x",
    " rm -rf {build,dist}",
    " rm -rf ~root/x/y",
    " find . -name '*.o' | xargs rm -f",
    " find . -name '*.pyc' -delete",
    " find build -delete",
    " git commit -m 'rm -rf / is bad'",
    " echo 'rm -rf /' > notes",
};

static void critical(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(critical_rows); i++) {
        const char *row = critical_rows[i];

        CLEANUP(rule_command_freep)
        struct rule_command *command = rule_command_new(str_of(row + 1));

        if (rule_command_is_critical(command, "/w/a", "/h/u") != (row[0] == '!'))
            fail_msg("row %zu: '%s'", i, row);
    }
}

struct suggest_row {
    const char *command;
    const char *rules; /* joined by " + "; NULL: none */
};

static const struct suggest_row suggest_rows[] = {
    {"npm test --watch", "npm test *"},
    {"npm run build -- x", "npm run build *"},
    {"git push origin main", "git push *"},
    {"make -j2", NULL},
    {"tee $OUT", "tee *"},
    {"tee out", "tee *"},
    {"./run-tests.sh -v", "./run-tests.sh *"},
    {"timeout 5 npm test", "npm test *"},
    {"ls && npm test && git commit -m x", "npm test * + git commit *"},
    {"npm test && npm test x", "npm test *"},
    {"sudo ls", NULL},
    {"bash -c x", NULL},
    {"rm -rf x", NULL},
    {"npm test && rm x", NULL},
    {"python3 x.py", NULL},
    {"echo $(x)", "x *"},
    {"echo $((x[1]))", NULL},
    {"ls", NULL},
    {"a; b; c; d; e; f", NULL},
    {"npm 'te st'", NULL},
    {"python3.11 x.py", NULL},
    {"nodejs x.js", NULL},
    {"gawk '{print}' x", NULL},
    {"tclsh x", NULL},
    {"ed x", NULL},
    {"sqlite3 x.db", NULL},
    {"sed -i s/a/b/ x", NULL},
    {"tsx x.ts", NULL},
    {"docker run --rm x", NULL},
    {"docker run x y", "docker run x *"},
    {"deno run -A x.ts", NULL},
    {"deno run x.ts", "deno run x.ts *"},
    {"bun test x", "bun test *"},
    {"FOO=1 make all", NULL},
    {"LANG=C make all", "make all *"},
};

static void suggest(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(suggest_rows); i++) {
        const struct suggest_row *row = &suggest_rows[i];
        struct rule_subject s = {
            .tool = STR("Bash"), .about = ABOUT_COMMAND, .text = str_of(row->command)};
        CLEANUP(strv_release) struct strv rules = STRV_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        bool any = rule_suggest(&s, &rules);

        for (size_t j = 0; j < rules.len; j++)
            buf_addf(&got, "%s%s", j ? " + " : "", rules.ptr[j]);
        if (any != !!row->rules || strcmp(buf_cstr(&got), row->rules ? row->rules : "") != 0)
            fail_msg("row %zu: '%s' suggests '%s'", i, row->command, buf_cstr(&got));
    }
}

/* Files that redirections write are handed to the caller. */
static void writes(void **state)
{
    CLEANUP(strv_release) struct strv files = STRV_INIT;
    struct rule_subject s = {.tool = STR("Bash"),
                             .about = ABOUT_COMMAND,
                             .text = STR("npm test > 'out put' 2>> b; echo x >c")};
    const struct rule *used;
    struct rule *rule;

    (void)state;
    assert_int_equal(rule_parse(STR("Bash(npm test *)"), A, &place, &rule, NULL), 0);
    assert_true(rules_allow_command(&rule, 1, &s, &files, &used));
    assert_int_equal(files.len, 3);
    assert_string_equal(files.ptr[0], "out put");
    assert_string_equal(files.ptr[1], "b");
    assert_string_equal(files.ptr[2], "c");
    s.text = STR("npm test > $X");
    assert_false(rules_allow_command(&rule, 1, &s, &files, &used));
    rule_free(rule);
}

/* Too long to be certain, and too long to be looked at. */
static void long_texts(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct rule_subject s = {.tool = STR("Bash"), .about = ABOUT_COMMAND};
    struct rule *allow;
    struct rule *deny;

    (void)state;
    assert_int_equal(rule_parse(STR("Bash(ls *)"), A, &place, &allow, NULL), 0);
    assert_int_equal(rule_parse(STR("Bash(rm *)"), D, &place, &deny, NULL), 0);
    for (int i = 0; i < 5100; i++)
        buf_adds(&text, i ? " x" : "ls");
    s.text = buf_str(&text);
    assert_false(rule_matches(allow, &s));
    assert_false(rule_matches(deny, &s));
    buf_adds(&text, ";rm x");
    s.text = buf_str(&text);
    assert_true(rule_matches(deny, &s));
    buf_cut(&text, text.len - 5, 5);
    while (text.len < 300 << 10)
        buf_adds(&text, " x");
    s.text = buf_str(&text);
    assert_true(rule_matches(deny, &s));
    rule_free(allow);
    rule_free(deny);
}

static void lists(void **state)
{
    static const char *const rows[][2] = {
        {"Bash(git log:*),Edit", "Bash(git log:*)|Edit"},
        {"Bash(git log:*) Edit  Read", "Bash(git log:*)|Edit|Read"},
        {"Bash(a, b),Bash(c d)", "Bash(a, b)|Bash(c d)"},
        {" , ,Edit, ", "Edit"},
        {"", ""},
        {"Bash(a (b) c),X", "Bash(a (b) c)|X"},
        {"Bash(a,b", "Bash(a,b"},
        {"Bash(a\\)b),X", "Bash(a\\)b)|X"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(strv_release) struct strv got = STRV_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

        rule_list_split(str_of(rows[i][0]), &got);
        for (size_t j = 0; j < got.len; j++)
            buf_addf(&text, "%s%s", j ? "|" : "", got.ptr[j]);
        if (strcmp(buf_cstr(&text), rows[i][1]) != 0)
            fail_msg("row %zu: '%s'", i, buf_cstr(&text));
    }
    assert_true(rule_list_is(STR("Edit")));
    assert_true(rule_list_is(STR("Bash(git *),mcp__a__b")));
    assert_false(rule_list_is(STR("fix the test")));
    assert_false(rule_list_is(STR("Fix")));
    assert_false(rule_list_is(STR("Read the file")));
    assert_false(rule_list_is(STR("")));
}

UNIT_TEST(rule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),      cmocka_unit_test(smuggled), cmocka_unit_test(bad),
        cmocka_unit_test(covers),     cmocka_unit_test(reads),    cmocka_unit_test(file_work),
        cmocka_unit_test(critical),   cmocka_unit_test(suggest),  cmocka_unit_test(writes),
        cmocka_unit_test(long_texts), cmocka_unit_test(lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
