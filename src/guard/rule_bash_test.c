/*
 * What counts as "only reads", against bash and the programs themselves. Texts of pieces that have
 * smuggled commands before (arithmetic, tests, scripts of sed and awk, redirections, continued
 * lines) are put together at random; those that rule says only read are run in a folder where HIT
 * is a program. None may run it, and none may change the folder. Needs /bin/bash.
 */
#include <errno.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/rule.h"
#include "unit.h"

#define MAX_TEXTS ((size_t)64 << 20)

/* In ../bin HIT leaves a file; whatever is new or changed in the folder is reported with the number
 * of the text and removed. What does not end within some seconds is killed. */
static const char runner[] =
    "mkdir -p bin w/d && cd w && echo 'one two' > a && echo '3 4' > b && echo x > d/a || exit 9\n"
    "printf '#!/bin/sh\\n: > '\\''%s'\\''\\n' \"$PWD/hit\" > ../bin/HIT && chmod +x ../bin/HIT\n"
    "shopt -s dotglob nullglob\n"
    "PATH=$PWD/../bin:/usr/bin:/bin HOME=$PWD number=0 was='a b d d/a'\n"
    "exec 9<../texts; touch -d '1 hour ago' a b d d/a; : > ../stamp\n"
    "( while sleep 3; do read -r now < ../runs; [ \"$now\" != \"$last\" ] || kill -9 -- -$now\n"
    "  last=$now; done 9<&- ) > /dev/null 2>&1 & dog=$!\n"
    "set -m\n"
    "while IFS= read -r -d '' text <&9; do\n"
    "  ( ulimit -t 2 -f 1000; eval \"$text\" ) 9<&- < /dev/null > /dev/null 2>&1 &\n"
    "  echo $! > ../runs; wait $! 2> /dev/null\n"
    "  now=(* d/*)\n"
    "  if [ \"${now[*]}\" != \"$was\" ] || [ a -nt ../stamp ] || [ b -nt ../stamp ]; then\n"
    "    echo \"$number\"; for f in \"${now[@]}\"; do\n"
    "      case $f in a|b|d|d/a) ;; *) rm -rf -- \"$f\" ;; esac; done\n"
    "    touch -d '1 hour ago' a b\n"
    "  fi\n"
    "  number=$((number + 1))\n"
    "done > ../reports 2> /dev/null\n"
    "exec 2> /dev/null; kill $dog; wait\n:";

/* Commands; @ is a command again, % a word, & a script of sed, ^ one of awk. */
static const char *const shapes[] = {
    "cat a",
    "echo %",
    "echo % %",
    "grep % a",
    "(( % ))",
    "(( % < % ))",
    "echo $(( % ))",
    "echo $[ % ]",
    "[[ % -eq % ]]",
    "[[ % -lt 1 && % == % ]]",
    "[[ -n % || % =~ % ]]",
    "[[ -v % ]]",
    "[[ ! -t % ]]",
    "[ % -eq % ]",
    "[ -v % ]",
    "test % -gt %",
    "test -n % -a % = %",
    "printf % %",
    "printf -v % %",
    "printf %d %",
    "read % <<< %",
    "read -r x; @",
    "let %",
    "declare -i x=%",
    "export x=%; @",
    "x=%; @",
    "x=% @",
    "a[%]=1; @",
    "x+=%; @",
    "unset %; @",
    "for x in % %; do @; done",
    "for ((%; 1 < 0; %)); do @; done",
    "while read -r x; do @; done < b",
    "until true; do @; done",
    "if @; then @; else @; fi",
    "case % in %) @;; *) @;; esac",
    "echo ${x:%}",
    "echo ${x:-%} ${x/%/%}",
    "echo ${x[%]} ${!x}",
    "echo ${x@P} ${#x[%]}",
    "echo \"$x\" $((x + 1)) $_",
    "[[ $x -eq 1 ]]",
    "[[ $x'' -eq 1 || $_ -eq 2 ]]",
    "(( x )); echo $((_))",
    "echo ${BASH_REMATCH[%]}",
    "sed & a",
    "sed -n & a",
    "sed -e & -e & a",
    "sed -E & a b",
    "awk ^ a",
    "awk -v x=% ^ a",
    "find . -name % -exec grep % {} +",
    "find . % %",
    "sort -k1 % a",
    "uniq % a",
    "cut -d % -f 1 a",
    "tr % %",
    "head -n 1 % a",
    "tail -n % a",
    "xargs % < a",
    "ls a | xargs -I{} %",
    "cat <<E\n%\nE\n@",
    "cat <<'E'\n%\nE\n@",
    "cat <<< %",
    "cat < %",
    "@ >&%",
    "@ 2>&1 >&2",
    "@ 2> %",
    "@ > /dev/null",
    "@ | @",
    "@ && @",
    "@ || @",
    "@; @",
    "@\n@",
    "@ & @",
    "! @",
    "time @",
    "echo $(@)",
    "echo \"`@`\"",
    "cat <(@)",
    "cat a > >(@)",
    "{ @; }",
    "( @ )",
    "f() { @; }; f",
    "env x=% cat a",
    "env %",
    "command % a",
    "command -v %",
    "builtin echo %",
    "type %",
    "hash %",
    "which %",
    "alias x=%; @",
    "set -- %; @",
    "set % %",
    "shopt -s %",
    "getopts % x",
    "mapfile x < a",
    "mapfile -C % -c 1 < a",
    "wait %",
    "trap % EXIT",
    "PS4=%; set -x; @",
    "git log --format=% %",
    "git grep % %",
    "git diff % %",
    "tar tf %",
    "date %",
    "diff a b %",
    "basename % %",
    "dirname %",
    "realpath %",
    "stat -c % a",
    "nl % a",
    "od -c % a",
    "xxd a %",
    "jq % a",
    "seq % 3",
    "expr % + %",
    "rev a %",
    "comm a b %",
    "join a b %",
    "paste a b %",
    "column -t % a",
    "file % a",
    "tree %",
    "du % a",
    "yes | head -1",
};

static const char *const words[] = {
    "x",
    "1",
    "a",
    "b",
    "-n",
    "--",
    "_",
    "new",
    "'x y'",
    "\"$x\"",
    "$x",
    "$_",
    "'$(HIT)'",
    "\\$(HIT)",
    "'`HIT`'",
    "'a[$(HIT)]'",
    "\"a[\\$(HIT)]\"",
    "'x[`HIT`]'",
    "a\\[\\$\\(HIT\\)\\]",
    "x['$(HIT)']",
    "$'a[$(HIT)]'",
    "$'\\x24(HIT)'",
    "'a[`HIT`0]=1'",
    "_",
    "BASH_REMATCH",
    "x[0]",
    "HIT",
    "'HIT'",
    "./HIT",
    "-o",
    "-onew",
    "--output=new",
    "-w",
    "-exec",
    "-fprint",
    "-delete",
    "-i",
    "-e",
    "-f",
    "--compress-program=HIT",
    "--pre=HIT",
    "--open-files-in-pager=HIT",
    "-OHIT",
    "--ext-diff",
    "--checkpoint-action=exec=HIT",
    "--use-compress-program=HIT",
    "-IHIT",
    "--to-command=HIT",
    "'%s'",
    "'%d'",
    "'%n'",
    "*",
    "{a,b}",
    "{a,HIT}",
    "~",
    "?",
    "[a]",
    "$((x))",
    "${x}",
    "${x:-1}",
    "0x1",
    "RANDOM",
    "''",
    "extglob",
    "expand_aliases",
    "DEBUG",
    "EXIT",
    "/dev/null",
    "/dev/stdout",
    "-C",
    "-c",
    "-s",
};

static const char *const sed_pieces[] = {
    "s",          "/",
    "/",          "/",
    "e",          "e HIT",
    "w new",      "[",
    "]",          ";",
    "}",          "{",
    "a\\",        "\\n",
    "\n",         "y/",
    "#",          "p",
    "1",          "$",
    ",",          "!",
    "HIT",        "one",
    "s/o/x/",     "g",
    "s/o*/HIT/e", "\\",
    "|",          "i x",
    "c",          "d",
    "q",          "r a",
    "W new",      "b",
    ":x",         "t",
    "I",          "M",
    "m",          " ",
    "[/s]",       "[^]",
    "[]x]",       "[[:alpha:]/]",
    "x]x]",       "\\]",
    "n",          "D",
    "0~2",        "+1",
    "R a",        "F",
    "z",          "l",
};

static const char *const awk_pieces[] = {
    "BEGIN",
    "{",
    "}",
    "print",
    "system(\"HIT\")",
    "| \"HIT\"",
    "> \"new\"",
    ">> \"new\"",
    "getline < \"a\"",
    "\"HIT\" | getline",
    "/",
    "#",
    "\"",
    "\\",
    "$1",
    "(",
    ")",
    "@load \"x\"",
    ";",
    "~",
    "printf",
    "x",
    "\n",
    "1",
    ",",
    "/o/",
    "/a\"/",
    "\"a/\"",
    "NR==1",
    "{print $1}",
    "{print}",
    "&&",
    "|&",
    "\"HIT\"",
    "f=\"system\";@f(\"HIT\")",
    "-f",
    "close(\"HIT\")",
    "/[/]/",
    "gsub(/a/,\"b\")",
    "$NF",
    "ENVIRON[\"x\"]",
};

static const char *const spoils[] = {
    "'", "\"", "$", "`", "(",   ")",   "[",  "]",  "{",  "}",   "\\", "\\\n", "\n", ";",  "|",
    "&", "<",  ">", "#", "!",   " ",   "((", "))", "$(", "$((", "${", "[[",   "]]", "=",  "_",
    "~", "*",  "?", "@", "'' ", "<<E", "&&", ">&", "<(", "<>",  "&>", "+",    "-",  "\t", "\\\\",
};

static char dir[64];
static uint64_t seed = 0x9e3779b97f4a7c15u;

static size_t chance(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 11) % below;
}

#define ANY_OF(list) ((list)[chance(ARRAY_LEN(list))])

static void make_script(struct buf *ret, const char *const *pieces, size_t count)
{
    buf_addc(ret, '\'');
    for (size_t n = 1 + chance(7); n; n--)
        buf_adds(ret, pieces[chance(count)]);
    buf_addc(ret, '\'');
}

static void make_command(struct buf *ret, unsigned depth)
{
    const char *shape = depth > 3 ? "echo %" : ANY_OF(shapes);

    for (; *shape; shape++) {
        if (*shape == '@')
            make_command(ret, depth + 1);
        else if (*shape == '%' && shape[1] != 'd')
            buf_adds(ret, ANY_OF(words));
        else if (*shape == '&' && shape[-1] == ' ' && shape[1] == ' ' && shape[-2] != '@')
            make_script(ret, sed_pieces, ARRAY_LEN(sed_pieces));
        else if (*shape == '^')
            make_script(ret, awk_pieces, ARRAY_LEN(awk_pieces));
        else
            buf_addc(ret, *shape);
    }
}

/* Half of them gain or lose something. */
static void make_text(struct buf *ret)
{
    buf_clear(ret);
    make_command(ret, 0);
    for (size_t i = chance(2) ? chance(4) : 0; i && ret->len > 1; i--) {
        if (chance(2))
            buf_cut(ret, chance(ret->len), 1);
        else
            buf_insert(ret, chance(ret->len), str_of(ANY_OF(spoils)));
    }
}

static int run_bash(const char *script)
{
    char *argv[] = {(char *)"/bin/bash", (char *)"--norc", (char *)"-c", (char *)script, NULL};
    char *env[] = {(char *)"LC_ALL=C", (char *)"PATH=/usr/bin:/bin", NULL};
    int status = -1;
    pid_t pid;

    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, env), 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void run_texts(const struct buf *texts, struct buf *ret)
{
    CLEANUP(mem_freep) char *texts_path = path_join(dir, "texts");
    CLEANUP(mem_freep) char *reports_path = path_join(dir, "reports");
    CLEANUP(buf_release) struct buf script = BUF_INIT(10000);

    buf_addf(&script, "cd %s || exit 9\n%s", dir, runner);
    assert_int_equal(file_replace(texts_path, buf_str(texts), 0600, NULL), 0);
    assert_int_equal(run_bash(buf_cstr(&script)), 0);
    assert_int_equal(file_slurp(reports_path, MAX_TEXTS, ret, NULL), 0);
}

static struct str text_at(const struct buf *texts, size_t number)
{
    struct str rest = buf_str(texts);
    struct str text = STR("");

    for (size_t i = 0; rest.len && i <= number && str_cut(&rest, '\0', &text); i++)
        continue;
    return text;
}

static void nothing_is_run(void **state)
{
    const char *wanted = getenv("RULE_BASH_ROUNDS");
    size_t rounds = wanted                  ? (size_t)strtoul(wanted, NULL, 10)
                    : getenv("TENAX_HEAVY") ? 50000
                                            : 1000;
    CLEANUP(buf_release) struct buf texts = BUF_INIT(MAX_TEXTS);
    CLEANUP(buf_release) struct buf reports = BUF_INIT(MAX_TEXTS);
    CLEANUP(buf_release) struct buf text = BUF_INIT(10000);
    struct str rest;
    struct str line;
    size_t kept = 0;
    size_t faults = 0;

    (void)state;
    if (getenv("RULE_BASH_SEED"))
        seed = strtoull(getenv("RULE_BASH_SEED"), NULL, 10);
    for (size_t i = 0; i < rounds; i++) {
        CLEANUP(rule_command_freep) struct rule_command *c = NULL;

        make_text(&text);
        c = rule_command_new(buf_str(&text));
        if (!rule_command_is_read_only(c))
            continue;
        buf_add(&texts, buf_str(&text));
        buf_addc(&texts, '\0');
        kept++;
    }
    assert_true(kept > rounds / 100);
    run_texts(&texts, &reports);
    rest = buf_str(&reports);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        int64_t number = 0;

        if (str_to_i64(line, &number, NULL) < 0)
            fail_msg("not a report: %.*s", STR_ARG(line));
        print_error("only reads, and does not: %.*s\n", STR_ARG(text_at(&texts, (size_t)number)));
        faults++;
    }
    print_message("%zu texts of %zu only read, %zu do not\n", kept, rounds, faults);
    assert_int_equal(faults, 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/rule-bash-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(1000);

    (void)state;
    buf_addf(&script, "rm -rf %s", dir);
    return run_bash(buf_cstr(&script));
}

UNIT_TEST(rule_bash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_run),
    };

    if (access("/bin/bash", X_OK) < 0)
        return 77;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
