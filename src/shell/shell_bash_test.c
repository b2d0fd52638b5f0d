/*
 * shell against bash itself. A text parsed with certainty is run by a real bash in which no program
 * can be found: whatever it tries to run is reported by command_not_found_handle, words and all,
 * and must be one of the parts. The texts are a table of hard ones and some thousand put together
 * at random from pieces of the language. Needs /bin/bash.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "shell/shell.h"
#include "unit.h"

#define MAX_REPORT ((size_t)64 << 20)

/* Runs each NUL-terminated text in ./texts in a separate subshell. A report is a line with the
 * number of the text and its words, each between < and >, with \1 for a newline. Background
 * commands may report late. */
static const char runner[] =
    "exec 7>>reports 2>/dev/null </dev/null\n"
    "command_not_found_handle() { local said; printf -v said '<%s>' \"$@\";"
    " said=${said//$'\\n'/$'\\1'}; printf '%s\\n' \"$number$said\" >&7; return $((RANDOM % 2)); }\n"
    "PATH=/nonexistent number=0\n"
    "while IFS= read -r -d '' text <&8; do\n"
    "  ( ulimit -t 2; eval \"$text\" >/dev/null 8<&- )\n"
    "  wait\n"
    "  number=$((number + 1))\n"
    "done 8<texts\n";

static char dir[64];
static struct buf texts = BUF_INIT(MAX_REPORT);
static struct buf reports = BUF_INIT(MAX_REPORT);

static void run_texts(void)
{
    CLEANUP(mem_freep) char *texts_path = path_join(dir, "texts");
    CLEANUP(mem_freep) char *reports_path = path_join(dir, "reports");
    char *argv[] = {(char *)"/bin/bash", (char *)"--norc", (char *)"-c", NULL, NULL};
    CLEANUP(buf_release) struct buf script = BUF_INIT(10000);
    char *env[] = {(char *)"LC_ALL=C", NULL};
    int status = -1;
    pid_t pid;

    buf_addf(&script, "cd %s || exit 9\n%s", dir, runner);
    argv[3] = (char *)buf_cstr(&script);
    assert_int_equal(file_replace(texts_path, buf_str(&texts), 0600, NULL), 0);
    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, env), 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 9);
    buf_clear(&reports);
    assert_int_equal(file_slurp(reports_path, MAX_REPORT, &reports, NULL), 0);
    unlink(texts_path);
    unlink(reports_path);
}

static bool word_fits(const struct shell_word *w, struct str said)
{
    if (str_starts(w->text, STR("/dev/fd/")))
        return str_starts(said, STR("/dev/fd/"));
    if (str_has(w->raw, STR("~")) || w->text.len != said.len)
        return str_has(w->raw, STR("~"));
    for (size_t i = 0; i < said.len; i++) {
        if (w->text.ptr[i] != said.ptr[i] && !(w->text.ptr[i] == '\n' && said.ptr[i] == '\1'))
            return false;
    }
    return true;
}

/* said: "<c1><a b>". */
static bool part_fits_from(const struct shell_part *p, size_t from, struct str said)
{
    struct str rest = str_from(said, 1);
    struct str one;

    if (p->words.len == p->first + from)
        return false;
    for (size_t i = from; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (w->expands || w->globs)
            return i > 0; /* one word may have become several, or none */
        if (!rest.len)
            return false;
        one = str_first(rest, str_find(rest, STR("><")));
        if (one.len == rest.len)
            one.len--;
        if (!word_fits(w, one))
            return false;
        rest = str_from(rest, one.len + 2);
    }
    return !rest.len;
}

/* Where "time" is a keyword it is none of the words. */
static bool part_fits(const struct shell_part *p, struct str said)
{
    size_t from = 0;

    for (;; from++) {
        if (part_fits_from(p, from, said))
            return true;
        if (!str_is(shell_word_at(p, from)->raw, "time") &&
            !str_is(shell_word_at(p, from)->raw, "-p"))
            return false;
    }
}

static void check_report(struct str text, struct str said)
{
    CLEANUP(shell_release) struct shell s;

    shell_split(&s, text);
    VEC_EACH(&s.parts, p) {
        if (part_fits(p, said))
            return;
    }
    fail_msg("bash ran %.*s, which is no part of:\n%.*s", STR_ARG(said), STR_ARG(text));
}

/* Each report with its text. Returns how many there were. */
static size_t check_reports(void)
{
    VEC(struct str) list = VEC_INIT;
    struct str rest = buf_str(&texts);
    struct str lines = buf_str(&reports);
    struct str line;
    size_t ran = 0;

    while (rest.len && str_cut(&rest, '\0', &line))
        vec_push(&list, line);
    for (; lines.len && str_cut(&lines, '\n', &line); ran++) {
        size_t digits = str_chr(line, '<');
        int64_t number = -1;

        if (str_to_i64(str_first(line, digits), &number, NULL) < 0 || (size_t)number >= list.len)
            fail_msg("not a report: %.*s", STR_ARG(line));
        check_report(list.ptr[number], str_from(line, digits));
    }
    vec_release(&list);
    return ran;
}

static void add_text(struct str text)
{
    buf_add(&texts, text);
    buf_addc(&texts, '\0');
}

/* --- words ---------------------------------------------------------------------------------- */

/* Certain, every one, and the words are as bash makes them. */
static const char *const sure_rows[] = {
    "c1 a b",
    "c1 'a b' \"c d\" e\\ f",
    "c1 a'b'\"c\"d",
    "c1 '' \"\" x",
    "c1 \"a\\\"b\" 'a\\b' \"a\\b\" \"\\$x\"",
    "c1 \\\n a \\\nb",
    "c1 $'a\\tb' $'it\\'s'",
    "c1 a#b # c2",
    "c1 # it's\nc2",
    "c1 a=b --x='y z'",
    "c1 > o 2>&1 < /dev/null a",
    "> o c1 a",
    "c1 a>o b",
    "c1 2 > o",
    "c1 x2>o",
    "c1 a; c2 b & c3 c",
    "c1 || c2 || c3",
    "c1 && c2 || c3 | c4",
    "c1 |& c2",
    "! c1",
    "(c1 a; c2)",
    "((1+2)) ; c1",
    "{ c1; c2 a; }",
    "( (c1) )",
    "if c1; then c2; elif c3; then c4; else c5; fi",
    "for v in a b; do c1 $v; done",
    "for v in a 'b c'\ndo c1 \"$v\"; done",
    "while c1; do c2; done",
    "until c1; do c2; done > o",
    "case x in x) c1 ;; y|z) c2 ;; esac",
    "case x in (x) c1;& (y) c2;; (*) c3; esac",
    "case x in x) ;; esac; c1",
    "c1 $(c2 a) \"$(c3 'b c')\"",
    "c1 `c2 a` \"`c3 \\\"b c\\\"`\"",
    "c1 $(c2 $(c3) `c4`)",
    "c1 \"a $(c2 \"b $(c3 'd)e')\")\"",
    "c1 $(case x in x) c2;; esac)",
    "c1 $(c2 # )\n)",
    "c1 ${v:-a} ${v:-$(c2)} \"${v-b c}\"",
    "c1 ${#v} $((1 + (2 * 3))) $?",
    "c1 <<E\na $(c2 x) `c3`\nE\nc4",
    "c1 <<'E'\na $(c2 x) it's\nE\nc4",
    "c1 <<-E a\n\tb\n\tE\nc4",
    "c1 <<A <<'B'\n$(c2)\nA\n$(c3)\nB\nc4",
    "c1 \"$(cat <<'E'\nit's $(c2) \" )\nE\n)\" a",
    "c1 <<< 'a b' c",
    "c1 <(c2 a) >(c3 b)",
    "f() { c1 a; }; f x",
    "function f { c1; }\nf",
    "f() ( c1 \"$@\" )\nf x",
    "v=1 w='a b'; c1 $v \"$w\"",
    "v=a c1 b",
    "v=$(c1 x); c2 y",
    "v=(a $(c1) 'b c'); c2",
    "[[ -n a && ( b == c* || $v =~ ^(x|y)$ ) ]] || c1",
    "[[ a < b ]] && c1",
    "[ a = b ] || c1",
    "time c1 a",
    "time { c1; }",
    "c1 {a,b} *.nothing",
    "c1 ~ a~b",
    "c1 a\\;b 'x;c2' \"y|c3\"",
    "c1 $ a$ \"$\"",
    "c1 a \\# b",
    "echo a | while read -r l; do c1 \"$l\"; done",
    "x=3; c1 $((3 * (2 - 1)))",
    "set -e; c1; c2",
    "v=c1; c2 \"$v\" ${v}",
    "c1 a;c2 b;(c3);c4",
    "c1\n\n\nc2",
    "if [[ x ]]; then\n  # note\n  c1\nfi\n",
    "c1 'multi word' && { c2 || (c3 | c4); }",
    "",
};

static void sure(void **state)
{
    (void)state;
    buf_clear(&texts);
    for (size_t i = 0; sure_rows[i][0]; i++) {
        CLEANUP(shell_release) struct shell s;

        shell_split(&s, str_of(sure_rows[i]));
        if (!s.certain)
            fail_msg("row %zu: '%s': %s", i, sure_rows[i], s.why);
        add_text(str_of(sure_rows[i]));
    }
    run_texts();
    assert_true(check_reports() >= ARRAY_LEN(sure_rows));
}

/* --- at random ------------------------------------------------------------------------------ */

static const char *const pieces[] = {
    "c1",
    "c2",
    "c3 a",
    "'c4 b'",
    "\"x $(c5) y\"",
    "$(c6)",
    "`c7`",
    "${v:-$(c8)}",
    "$((1+2))",
    "(",
    ")",
    "{ ",
    "; }",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "\n",
    "if ",
    "; then ",
    "; fi",
    " else ",
    "for v in a b",
    "; do ",
    "; done",
    "while ",
    "case x in ",
    " esac",
    "x)",
    ";;",
    "! ",
    "<<E ",
    "\nE\n",
    "<<'E' ",
    "#",
    "\\\n",
    "\\",
    "'",
    "\"",
    "$",
    "`",
    "f()",
    "f",
    "v=1 ",
    "v=$(c9) ",
    "[[ ",
    " ]]",
    "-n",
    "==",
    "=~",
    "((",
    "))",
    "<(",
    ">(",
    "> o",
    "< i",
    "2>&1",
    "time ",
    "function g ",
    "$'a'",
    "coproc ",
    "select ",
    " in ",
    "elif ",
    "until ",
    ";&",
    "|&",
    "&>o",
    "<<<",
    "$[",
    "*",
    "?",
    "{a,b}",
    "c1; ",
    "c2 && ",
    "$v",
    "\"$v\"",
    "c3\n",
    "a",
    "b",
    "-",
    "=",
    "+=",
    "[",
    "]",
    "}",
    "$(",
    "${v",
    "${",
    "@",
    ",",
    "/",
    "~",
    "v=(",
    "x=c1 ",
    "$x",
    "<<-E ",
    "\t",
    "export ",
    "local ",
    "alias c1=c2 ",
    "in",
    "do",
    "done",
    "fi",
    "then",
    "esac",
};

static uint64_t seed = 0x9e3779b97f4a7c15u;

static size_t chance(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 11) % below;
}

/* Constructs; % is a text again. */
static const char *const shapes[] = {
    "if %; then %; fi",
    "if %; then %; elif %; then %; else %; fi",
    "for v in a b; do %; done",
    "(%)",
    "( % )",
    "{ %; }",
    "% && %",
    "% || %",
    "% | %",
    "% |& %",
    "% & %",
    "%; %",
    "%\n%",
    "c1 $(%)",
    "c2 \"a $(%) b\" x",
    "c3 `%`",
    "c4 <<E\nq $(%) it's\nE\n%",
    "c5 <<'E'\n$(%) it's\nE\n%",
    "c6 <<-E | %\n\tq\n\tE\n%",
    "case x in x) %;; (y|z) %;; esac",
    "! %",
    "f() { %; }; f",
    "g() ( % ); %",
    "function h { %; }\nh a",
    "while ((2 < 1)); do %; done",
    "until ((1 < 2)) || false; do %; done",
    "[[ a == b || x =~ (a|b) ]] && %",
    "v=$(%)",
    "v=(a $(%) b); %",
    "c7 <(%) >(%)",
    "% > o",
    "% 2>&1 < i",
    "% # note ' \" (\n%",
    "c8 'a b' \"c\" \\d $'e\\tf' g \\\nh",
    "c9 ${v:-$(%)} ${#v} $((1 + (2)))",
    "c1 \"${v:-x $(%)}\"",
    "((1 < 2)) && %",
    "time %",
    "c2 \"$(c3 \"$(%)\")\"",
    "c4 a b c",
    "c5",
    "c6 'x; c7'",
};

static void make_shape(struct buf *ret, unsigned depth)
{
    const char *shape = depth > 4 ? "c9 x" : shapes[chance(ARRAY_LEN(shapes))];

    for (; *shape; shape++) {
        if (*shape == '%')
            make_shape(ret, depth + 1);
        else
            buf_addc(ret, *shape);
    }
}

/* Pieces in a row, or constructs in one another, of which half lose or gain something. */
static void make_text(struct buf *ret)
{
    size_t n = 1 + chance(12);

    buf_clear(ret);
    if (chance(2)) {
        make_shape(ret, 0);
        for (size_t i = chance(4); i > 1 && ret->len > 1; i--) {
            if (chance(2))
                buf_cut(ret, chance(ret->len), 1);
            else
                buf_insert(ret, chance(ret->len), str_of(pieces[chance(ARRAY_LEN(pieces))]));
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        buf_adds(ret, pieces[chance(ARRAY_LEN(pieces))]);
        if (chance(3))
            buf_addc(ret, ' ');
    }
}

static void random_texts(void **state)
{
    const char *wanted = getenv("SHELL_BASH_ROUNDS");
    size_t rounds = wanted                  ? (size_t)strtoul(wanted, NULL, 10)
                    : getenv("TENAX_HEAVY") ? 20000
                                            : 1000;
    CLEANUP(buf_release) struct buf text = BUF_INIT(10000);
    size_t kept = 0;

    (void)state;
    if (getenv("SHELL_BASH_SEED"))
        seed = strtoull(getenv("SHELL_BASH_SEED"), NULL, 10);
    buf_clear(&texts);
    for (size_t i = 0; i < rounds; i++) {
        CLEANUP(shell_release) struct shell s;

        make_text(&text);
        shell_split(&s, buf_str(&text));
        if (s.certain && s.parts.len) {
            add_text(buf_str(&text));
            kept++;
        }
    }
    run_texts();
    print_message("%zu certain texts of %zu, %zu commands run\n", kept, rounds, check_reports());
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/shell-bash-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

/* Redirections of random texts make files of random names. */
static int tear_down(void **state)
{
    DIR *d = opendir(dir);

    (void)state;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        CLEANUP(mem_freep) char *path = path_join(dir, e->d_name);

        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
    buf_release(&texts);
    buf_release(&reports);
    return 0;
}

UNIT_TEST(shell_bash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sure),
        cmocka_unit_test(random_texts),
    };

    if (access("/bin/bash", X_OK) < 0)
        return 77;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
