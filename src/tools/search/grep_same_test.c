/*
 * The built-in engine against ripgrep: generated patterns over real source trees, every output
 * compared byte by byte. 100 patterns over our own sources; with TENAX_HEAVY 200, in every mode,
 * one of them over /usr/include. Skipped where there is no `rg -P`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/proc.h"
#include "tools/search/grep_pattern.h"
#include "tools/search/grep_results.h"
#include "tools/search/grep_search.h"
#include "unit.h"

extern char **environ;

static uint64_t random_state = 2024;

static unsigned pick(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

/* --- patterns -------------------------------------------------------------------------------- */

static const char *const words[] = {
    "struct", "return",   "include", "static", "int",    "char", "size_t",   "NULL",
    "define", "if",       "else",    "for",    "while",  "void", "const",    "err",
    "buf",    "str",      "ptr",     "len",    "error",  "file", "test",     "ifdef",
    "endif",  "TODO",     "the",     "and",    "sizeof", "enum", "unsigned", "assert",
    "free",   "uint32_t", "GNU",     "class",  "extern", "a",    "0x",       "kernel",
};

static const char *const atoms[] = {
    "\\w",
    "\\w+",
    "\\s*",
    "\\s+",
    "\\d+",
    "\\D",
    "\\W",
    "\\S+",
    ".",
    ".*",
    ".+?",
    "[a-z]+",
    "[A-Z_]{3,}",
    "[^a-z]",
    "[^;]*",
    "[^\"]+",
    "[0-9a-f]{2,4}",
    "\\b",
    "\\B",
    "(?:ab|cd)?",
    "[[:upper:]]+",
    "[[:space:]]",
    "\\h*",
    "\\(",
    "\\)",
    ";",
    "=",
    "_",
    "\\*",
    "\\p{Lu}",
    "\\P{L}",
    "[\\s\\S]",
    "x?",
    "\\t",
    "->",
    "\\.",
    "[\\w.]+",
    "[^\\s,]+",
    "\\H",
    "\\x20",
};

static const char *const wholes[] = {
    "^$",
    "^\\s*$",
    "^\\s+\\S",
    "\\s$",
    "[^[:ascii:]]",
    "\\p{L}\\p{M}",
    "(\\w)\\1\\1",
    "(\\w+)\\s+\\1\\b",
    "\\b(\\w)\\w*\\1\\b",
    "^(?!\\s*(?:/?\\*|//|#)).*\\bint\\b",
    "(?<=struct )\\w+(?= \\*)",
    "(?<!\\w)err(?!\\w)",
    "(?<![^ ])x",
    "foo|bar|baz",
    "TODO|FIXME|XXX",
    "(?i)todo",
    "(?i)straße|kelvin|mask",
    "\\A#include",
    ";\\z",
    "\\}\\Z",
    "a{2,3}",
    "a{2}{2}",
    "(?>\\s+)return",
    "\\s++return",
    "\\w*+\\(",
    "[^\\n]x$",
    "(?:(?:a|e)(?:b|r)){2}",
    "(?<year>20\\d\\d)-\\d",
    "\\x{e9}|\\xe9",
    "[\\x00-\\x1f]",
    "[\\t-\\r]",
    "[-a]b",
    "[^-]-[^-]",
    "[]a]b",
    "[^]]\\]",
    "x{,3}",
    "{",
    "\\Qa.b\\E",
    "(?(?=a)ab|cd)",
    "(\\((?:[^()]|(?1))*\\))",
    "(?x) int \\s+ main",
    "(?s).",
    "\\R",
    "\\X{80}",
    "foo\\Kbar|err\\K_",
    "\\Gint",
    "(*COMMIT)zz|int",
    "k",
    "S",
    "é",
    "[é-ü]",
    "\\n",
    "a\\nb",
    "[\\s,]+$",
    "(?:)",
    "|",
    "\\//",
    "\\bclass\\b.*\\{",
    "#\\s*if(?:n?def)?\\b",
    "(?:static|extern)\\s+(?:const\\s+)?\\w+\\s+\\*?\\w+\\s*\\(",
};

static void make_pattern(unsigned number, struct buf *ret)
{
    unsigned parts = 1 + pick(4);

    buf_clear(ret);
    if (number < ARRAY_LEN(wholes)) {
        buf_adds(ret, wholes[number]);
        return;
    }
    if (!pick(8))
        buf_addc(ret, '^');
    for (unsigned i = 0; i < parts; i++) {
        unsigned kind = pick(6);

        if (kind < 3)
            buf_adds(ret, words[pick(ARRAY_LEN(words))]);
        else if (kind < 5)
            buf_adds(ret, atoms[pick(ARRAY_LEN(atoms))]);
        else
            buf_addf(ret, "(?:%s|%s%s)%s", words[pick(ARRAY_LEN(words))],
                     words[pick(ARRAY_LEN(words))], atoms[pick(ARRAY_LEN(atoms))],
                     (const char *[]){"", "?", "+", "*", "{1,2}"}[pick(5)]);
    }
    if (!pick(8))
        buf_addc(ret, '$');
    if (!pick(10))
        buf_addf(ret, "|%s", words[pick(ARRAY_LEN(words))]);
}

/* --- the two engines ------------------------------------------------------------------------- */

struct question {
    const char *root;
    struct str pattern;
    enum grep_mode mode;
    bool caseless;
    bool multiline;
    size_t before, after;
    const char *glob;
};

/* False when the pattern cannot be searched with, which is fine when ripgrep cannot either. */
static bool ask(const struct question *q, bool ripgrep, struct buf *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(walk_report_release) struct walk_report report = {0};
    CLEANUP(grep_pattern_freep) struct grep_pattern *pattern = NULL;
    struct grep_results *results = grep_results_new(q->mode, (size_t)1 << 40, (size_t)1 << 40);
    struct grep_page page = {
        .limit = (size_t)1 << 40,
        .max_bytes = (size_t)1 << 40,
        .prefix = STR("./"),
        .gaps = q->before || q->after,
    };
    struct grep_search s = {
        .root = q->root,
        .globs = &globs,
        .git = true,
        .pattern = q->pattern,
        .caseless = q->caseless,
        .environ = environ,
        .job =
            {
                .mode = q->mode,
                .multiline = q->multiline,
                .numbers = true,
                .before = q->before,
                .after = q->after,
                .max_lines = (size_t)1 << 40,
            },
    };
    struct grep_summary sum;
    bool ok = false;

    if (q->glob)
        strv_adds(&globs, q->glob);
    if (grep_pattern_new(q->pattern, q->caseless, q->multiline, &pattern, err) == 0) {
        s.job.pattern = pattern;
        ok = (ripgrep ? grep_search_ripgrep(&s, results, err)
                      : grep_search_built_in(&s, results, &report, err)) == 0;
    }
    if (ok) {
        grep_results_write(results, &page, ret, &sum);
        if (sum.more)
            fail_msg("'%.*s' finds too much to compare", STR_ARG(q->pattern));
    }
    grep_results_free(results);
    return ok;
}

static bool ask_ripgrep(const struct question *q, struct buf *ret, struct buf *ret_err)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    struct proc_result r = {0};
    struct proc_spec spec = {.dir = q->root, .max_output = (size_t)512 << 20};
    struct err err = {0};
    bool ok;

    for (const char *const *arg =
             (const char *const[]){"rg", "-P", "--no-config", "--sort", "path", "--color", "never",
                                   "--no-heading", "-H", NULL};
         *arg; arg++)
        strv_adds(&argv, *arg);
    strv_adds(&argv, q->mode == GREP_FILES ? "-l" : q->mode == GREP_COUNT ? "-c" : "-n");
    if (q->caseless)
        strv_adds(&argv, "-i");
    if (q->multiline) {
        strv_adds(&argv, "-U");
        strv_adds(&argv, "--multiline-dotall");
    }
    if (q->glob) {
        strv_adds(&argv, "-g");
        strv_adds(&argv, q->glob);
    }
    if (q->mode == GREP_CONTENT) {
        strv_addf(&argv, "-B%zu", q->before);
        strv_addf(&argv, "-A%zu", q->after);
    }
    strv_adds(&argv, "-e");
    strv_add(&argv, q->pattern);
    strv_adds(&argv, "./");
    spec.argv = (const char *const *)strv_get(&argv);
    if (proc_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.dropped, 0);
    for (struct str rest = buf_str(&r.out); rest.len;) {
        size_t len = str_chr(rest, '\n') + 1;
        struct str line = str_first(rest, len);

        if (!str_starts(str_from(line, str_chr(line, ':')), STR(": WARNING: stopped searching")))
            buf_add(ret, line);
        rest = str_from(rest, len);
    }
    buf_add(ret_err, buf_str(&r.err));
    ok = r.how == PROC_EXITED && (r.code == 0 || r.code == 1);
    proc_result_release(&r);
    return ok;
}

/* Prints the first line that differs. */
static void show_difference(const struct question *q, struct str ours, struct str theirs)
{
    struct str a = {0}, b = {0};
    size_t number = 0;

    do {
        number++;
        a = b = str_of("(end)");
        (void)str_cut(&ours, '\n', &a);
        (void)str_cut(&theirs, '\n', &b);
    } while (str_eq(a, b) && (ours.len || theirs.len));
    fail_msg("mode %d%s%s -B%zu -A%zu in %s: '%.*s', line %zu\n  built in: %.*s\n  ripgrep:  %.*s",
             q->mode, q->caseless ? " -i" : "", q->multiline ? " -U" : "", q->before, q->after,
             q->root, STR_ARG(q->pattern), number, STR_ARG(str_first(a, 300)),
             STR_ARG(str_first(b, 300)));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* File lists are ours newest first, theirs by path: compare them as sets. */
static void sort_lines(struct buf *b)
{
    CLEANUP(strv_release) struct strv lines = STRV_INIT;
    struct str rest = buf_str(b), line;

    while (str_cut(&rest, '\n', &line))
        strv_add(&lines, line);
    if (lines.len)
        qsort(lines.ptr, lines.len, sizeof(*lines.ptr), by_text);
    buf_clear(b);
    for (size_t i = 0; i < lines.len; i++) {
        if (lines.ptr[i][0])
            buf_addf(b, "%s\n", lines.ptr[i]);
    }
}

static void compare(const struct question *q)
{
    CLEANUP(buf_release) struct buf ours = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf theirs = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf again = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf complaint = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    bool we_can = ask(q, /*ripgrep=*/false, &ours, &err);
    bool they_can = ask_ripgrep(q, &theirs, &complaint);

    if (!we_can || !they_can) {
        if (we_can == they_can)
            return;
        /* It continues with other files when a pattern takes too long for one; we report it and
         * end. */
        if (!we_can && str_has(str_of(err.text), STR("too many steps")))
            return;
        fail_msg("'%.*s': built in: %s; ripgrep: %s", STR_ARG(q->pattern), we_can ? "ok" : err.text,
                 they_can ? "ok" : buf_cstr(&complaint));
    }
    /* Our reading of ripgrep's output gives the same text once more. */
    if (!str_starts(str_of(q->root), STR("/usr")) && ask(q, /*ripgrep=*/true, &again, &err) &&
        !str_eq(buf_str(&ours), buf_str(&again)))
        show_difference(q, buf_str(&ours), buf_str(&again));
    if (q->mode == GREP_FILES) {
        sort_lines(&ours);
        sort_lines(&theirs);
    }
    if (!str_eq(buf_str(&ours), buf_str(&theirs)))
        show_difference(q, buf_str(&ours), buf_str(&theirs));
}

static bool has_ripgrep(void)
{
    struct proc_spec spec = {.argv = (const char *const[]){"rg", "--pcre2-version", NULL}};
    struct proc_result r = {0};
    bool ok = proc_run(&spec, NULL, &r, NULL) == 0 && r.how == PROC_EXITED && r.code == 0;

    proc_result_release(&r);
    return ok;
}

static void patterns_find_the_same(void **state)
{
    bool heavy = getenv("TENAX_HEAVY") != NULL;
    const char *source = getenv("TENAX_SOURCE");
    CLEANUP(mem_freep) char *src = path_join(source ? source : ".", "src");
    const char *const roots[] = {src, "/usr/include"};
    CLEANUP(buf_release) struct buf pattern = BUF_INIT(BUF_NO_LIMIT);
    unsigned count = heavy ? 200 : ARRAY_LEN(wholes) + 40;

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        struct question q = {.caseless = i >= ARRAY_LEN(wholes) && pick(4) == 0};

        make_pattern(i, &pattern);
        q.pattern = buf_str(&pattern);
        if (pick(3) == 0) {
            q.before = pick(4);
            q.after = pick(4);
        }
        for (unsigned mode = 0; mode < 3; mode++) {
            if (!heavy && mode != i % 3)
                continue;
            q.mode = (enum grep_mode)mode;
            q.root = roots[heavy && mode == i % 3];
            q.glob = pick(4) ? NULL : (const char *[]){"*.h", "!*.h", "*_test.c"}[pick(3)];
            compare(&q);
        }
    }
}

static void patterns_over_lines_find_the_same(void **state)
{
    static const char *const patterns[] = {
        "\\{\\n\\s+return", "foo\\n",    "struct \\w+ \\{.*?\\n\\};", "^\\}$\\n^$",
        "int\\s+\\w+",      "\\n\\n\\n", "#if.{0,60}?#endif",         "\\breturn\\b[^;]*;",
    };
    const char *source = getenv("TENAX_SOURCE");
    CLEANUP(mem_freep) char *src = path_join(source ? source : ".", "src");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        for (unsigned mode = 0; mode < 3; mode++) {
            struct question q = {
                .root = src,
                .pattern = str_of(patterns[i]),
                .mode = (enum grep_mode)mode,
                .multiline = true,
                .before = i % 2,
                .after = i % 3,
            };

            compare(&q);
        }
    }
}

UNIT_TEST(grep_same)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_find_the_same),
        cmocka_unit_test(patterns_over_lines_find_the_same),
    };
    int rc;

    if (!has_ripgrep())
        return 77;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    proc_shutdown();
    return rc;
}
