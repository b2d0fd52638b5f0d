/*
 * Globs and ignore rules: tables, then whole trees with generated ignore files, where a walk must
 * hand out exactly the files that `rg --files` and `git ls-files --others` name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strv.h"
#include "proc/proc.h"
#include "sync/thread.h"
#include "tools/search/glob_match.h"
#include "tools/search/grep_types.h"
#include "tools/search/ignore.h"
#include "tools/search/walk.h"
#include "tools/tool_check.h"
#include "unit.h"

static void globs(void **state)
{
    static const struct {
        const char *glob;
        const char *path;
        bool fits;
    } cases[] = {
        {"foo", "foo", true},
        {"foo", "a/b/foo", true},
        {"foo", "foo/a", false},
        {"/foo", "foo", true},
        {"/foo", "a/foo", false},
        {"a/b", "a/b", true},
        {"a/b", "x/a/b", false},
        {"*.c", "x.c", true},
        {"*.c", "a/b/x.c", true},
        {"*.c", "x.cc", false},
        {"*.c", ".c", true},
        {"/*.c", "a/x.c", false},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/b/b/c", false},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/b/b/c", true},
        {"a/**/c", "ab/c", false},
        {"**/c", "c", true},
        {"**/c", "a/c", true},
        {"a/**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**", "b/a/c", false},
        {"**", "a/b", true},
        {"a**c", "abbc", true},
        {"a**c", "a/c", false}, /* only whole parts are folders */
        {"/a**c", "a/c", false},
        {"?", "a", true},
        {"?", "\xc3\xa9", true},
        {"?", "ab", false},
        {"/a?b", "a/b", false},
        {"[ab]c", "bc", true},
        {"[!ab]c", "bc", false},
        {"[^ab]c", "xc", true},
        {"[]x]", "]", true},
        {"[a-c]1", "b1", true},
        {"[a-]1", "-1", true},
        {"/a[^x]b", "a/b", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"{a,b}.c", "b.c", true},
        {"{a,b{c,d}}.x", "bd.x", true},
        {"{a,b{c,d}}.x", "b.x", false},
        {"x{,y}", "x", true},
        {"{a/b,c}", "a/b", true},
        {"{[,],x}", ",", true},
        {"*a*b*c*", "xxaxxbxxcxx", true},
        {"*a*b*c*", "xxaxxcxxbxx", false},
        {"/*/*/*", "a/b/c", true},
        {"**/a*/**/b", "x/ay/z/b", true},
        {"**/a*/**/b", "a/xa/b/c/b", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob_match *g = NULL;
        struct err err = {0};

        if (glob_match_parse(str_of(cases[i].glob), &g, &err) < 0)
            fail_msg("%s: %s", cases[i].glob, err.text);
        if (glob_match_fits(g, str_of(cases[i].path)) != cases[i].fits)
            fail_msg("%s and %s: expected %d", cases[i].glob, cases[i].path, cases[i].fits);
        glob_match_free(g);
    }
}

static void globs_that_make_no_sense(void **state)
{
    static const struct {
        const char *glob;
        const char *says;
    } cases[] = {
        {"a[b", "a '[' is not closed"},
        {"a{b", "a '{' is not closed"},
        {"a{b,{c}", "a '{' is not closed"},
        {"[b-a]", "ends before it begins"},
        {"a\\", "stands at the end"},
        {"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "too many patterns"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob_match *g = NULL;
        struct err err = {0};

        assert_int_equal(glob_match_parse(str_of(cases[i].glob), &g, &err), -1);
        if (!str_has(str_of(err.text), str_of(cases[i].says)))
            fail_msg("%s: %s", cases[i].glob, err.text);
    }
}

static void the_last_rule_decides(void **state)
{
    static const struct {
        const char *rules;
        const char *path;
        bool is_dir;
        enum ignore_verdict verdict;
    } cases[] = {
        {"*.o\n!x.o\n", "x.o", false, IGNORE_KEEP},
        {"!x.o\n*.o\n", "x.o", false, IGNORE_DROP},
        {"build/\n", "build", false, IGNORE_SILENT},
        {"build/\n", "a/build", true, IGNORE_DROP},
        {"# build\n", "# build", false, IGNORE_SILENT},
        {"\\#x\n", "#x", false, IGNORE_DROP},
        {"\\!x\n", "!x", false, IGNORE_DROP},
        {"x  \n", "x", false, IGNORE_DROP},
        {"x\\ \n", "x ", false, IGNORE_DROP},
        {"x\r\n", "x", false, IGNORE_DROP},
        {"[\nx\n", "x", false, IGNORE_DROP}, /* what makes no sense is passed over */
        {"\xef\xbb\xbfx\n", "x", false, IGNORE_DROP},
        {"", "x", false, IGNORE_SILENT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ignore_rules *r = ignore_rules_new();

        ignore_rules_add(r, str_of(cases[i].rules));
        if (ignore_rules_check(r, str_of(cases[i].path), cases[i].is_dir) != cases[i].verdict)
            fail_msg("row %zu: %s", i, cases[i].path);
        ignore_rules_free(r);
    }
}

/* --- whole trees ----------------------------------------------------------------------------- */

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static const char *const names[] = {"a",     "b",    "ab",  "foo",   "build", "x.c", "y.o",
                                    "z.txt", ".hid", "b.o", "foo.c", "A",     "c-d", ".env"};

static const char *const rules[] = {
    "foo",  "/foo",   "foo/",   "*.o",  "!y.o",  "a/b",   "a/**",     "**/b",  "a/**/b", "*",
    "!*/",  "!*.c",   "[ab]",   "[!a]", "?",     "a*",    "#x",       "foo  ", "/a/",    "b/*.c",
    "/*",   "!/a",    "!a/",    "x.*",  "*/foo", "**/",   "/**",      "a/*",   "!a/x.c", "\\a",
    "*b*o", "build/", "!build", ".*",   "!.env", "**/a/", "b/**/*.o",
};

static void put_rules(struct tool_check *t, const char *folder, const char *file)
{
    struct buf path = BUF_INIT(BUF_NO_LIMIT), text = BUF_INIT(BUF_NO_LIMIT);

    for (unsigned n = 1 + pick(4); n > 0; n--)
        buf_addf(&text, "%s\n", rules[pick(ARRAY_LEN(rules))]);
    buf_addf(&path, "%s%s", folder, file);
    tool_check_put(t, buf_cstr(&path), buf_str(&text));
    buf_release(&path);
    buf_release(&text);
}

static void grow(struct tool_check *t, const char *folder, unsigned depth, bool only_git)
{
    static const char *const files[] = {".gitignore", ".ignore", ".rgignore"};

    for (unsigned i = 0; i < 5; i++) {
        struct buf path = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&path, "%s%s", folder, names[pick(ARRAY_LEN(names))]);
        if (file_exists(tool_check_path(t, buf_cstr(&path)))) {
            /* that name is taken */
        } else if (depth < 3 && pick(2)) {
            buf_addc(&path, '/');
            grow(t, buf_cstr(&path), depth + 1, only_git);
        } else {
            tool_check_put(t, buf_cstr(&path), STR("x\n"));
        }
        buf_release(&path);
    }
    if (!pick(2))
        put_rules(t, folder, files[only_git ? 0 : pick(3)]);
    if (!only_git && depth && !pick(12)) { /* a repository inside */
        struct buf path = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&path, "%s.git/HEAD", folder);
        tool_check_put(t, buf_cstr(&path), STR("x\n"));
        buf_release(&path);
    }
}

struct gathered {
    struct lock lock;
    struct strv paths;
};

/* walk_fn */
static bool gather(int root_fd, const char *path, unsigned worker, void *arg)
{
    struct gathered *g = arg;

    (void)root_fd;
    (void)worker;
    lock_take(&g->lock);
    strv_adds(&g->paths, path);
    lock_give(&g->lock);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void join(struct strv *v, struct buf *ret)
{
    if (v->len)
        qsort(v->ptr, v->len, sizeof(*v->ptr), by_text);
    for (size_t i = 0; i < v->len; i++)
        buf_addf(ret, "%s\n", v->ptr[i]);
}

static void ask_walk(const char *root, bool hidden, struct buf *ret)
{
    struct gathered g = {.lock = LOCK_INIT};
    struct walk walk = {.root = root, .hidden = hidden, .git = true, .fn = gather, .arg = &g};
    struct walk_report report = {0};
    struct err err = {0};

    if (walk_run(&walk, &report, &err) < 0)
        fail_msg("%s", err.text);
    join(&g.paths, ret);
    walk_report_release(&report);
    strv_release(&g.paths);
}

static bool ask_program(const char *root, const char *const *argv, struct buf *ret)
{
    struct strv paths = STRV_INIT;
    struct proc_spec spec = {.argv = argv, .dir = root};
    struct proc_result r = {0};
    struct str rest, line;

    if (proc_run(&spec, NULL, &r, NULL) < 0)
        return false;
    rest = buf_str(&r.out);
    while (rest.len && str_cut(&rest, '\n', &line))
        strv_add(&paths, line);
    join(&paths, ret);
    strv_release(&paths);
    proc_result_release(&r);
    return true;
}

static void compare(struct tool_check *t, const char *folder, bool hidden, const char *const *argv,
                    unsigned seed)
{
    struct buf ours = BUF_INIT(BUF_NO_LIMIT), theirs = BUF_INIT(BUF_NO_LIMIT);
    char root[PATH_MAX];

    snprintf(root, sizeof(root), "%s", tool_check_path(t, folder));
    if (ask_program(root, argv, &theirs)) {
        ask_walk(root, hidden, &ours);
        if (!str_eq(buf_str(&ours), buf_str(&theirs)))
            fail_msg("%s, seed %u, in '%s':\nours:\n%stheirs:\n%s", argv[0], seed, folder,
                     buf_cstr(&ours), buf_cstr(&theirs));
    }
    buf_release(&ours);
    buf_release(&theirs);
}

static void trees_are_walked_as_ripgrep_does(void **state)
{
    static const char *const rg[] = {"rg", "--files", "--no-config", NULL};
    unsigned count = getenv("TENAX_HEAVY") ? 400 : 25;

    (void)state;
    for (unsigned seed = 1; seed <= count; seed++) {
        struct tool_check t;

        random_state = seed;
        tool_check_begin(&t);
        if (pick(4)) { /* a repository, or git's files must not count */
            tool_check_put(&t, ".git/HEAD", STR("x\n"));
            put_rules(&t, ".git/", "info/exclude");
        }
        grow(&t, "", 0, false);
        tool_check_put(&t, "sub/dir/a/x.c", STR("x\n"));
        tool_check_put(&t, "sub/dir/b.o", STR("x\n"));
        compare(&t, "", false, rg, seed);
        compare(&t, "sub/dir", false, rg, seed); /* rules above the root hold too */
        tool_check_end(&t);
    }
}

static void trees_are_walked_as_git_does(void **state)
{
    static const char *const init[] = {"git", "init", "-q", ".", NULL};
    static const char *const git[] = {
        "git", "-c", "core.quotePath=off", "ls-files", "--others", "--exclude-standard", NULL};
    unsigned count = getenv("TENAX_HEAVY") ? 200 : 12;

    (void)state;
    for (unsigned seed = 1; seed <= count; seed++) {
        struct buf nothing = BUF_INIT(BUF_NO_LIMIT);
        struct tool_check t;

        random_state = 1000 + seed;
        tool_check_begin(&t);
        assert_true(ask_program(t.dir, init, &nothing));
        grow(&t, "", 0, true);
        compare(&t, "", true, git, seed);
        buf_release(&nothing);
        tool_check_end(&t);
    }
}

static void types_are_those_of_ripgrep(void **state)
{
    static const char *const argv[] = {"rg", "--type-list", NULL};
    struct buf list = BUF_INIT(BUF_NO_LIMIT);
    const char *globs_here;

    (void)state;
    if (!ask_program("/", argv, &list))
        return;
    for (size_t i = 0; grep_type_at(i, &globs_here); i++) {
        struct str all = str_of(grep_type_at(i, &globs_here));
        struct str rest = buf_str(&list), line, glob;
        struct buf start = BUF_INIT(BUF_NO_LIMIT);
        bool known = false;

        buf_addf(&start, "%.*s: ", (int)str_chr(all, ' '), all.ptr);
        while (rest.len && str_cut(&rest, '\n', &line)) {
            struct str ours = str_of(globs_here);
            struct str theirs = str_from(line, start.len);
            size_t count = 0;

            if (!str_starts(line, buf_str(&start)))
                continue;
            known = true;
            /* The same number of globs, and each of ours is there; an older or newer ripgrep may
             * know more. */
            while (str_cut(&ours, ' ', &glob)) {
                struct str those = theirs, one;
                bool found = false;

                while (str_cut(&those, ',', &one))
                    found = found || str_eq(str_trim(one), glob);
                if (!found)
                    fail_msg("type %s%.*s is not in: %.*s", buf_cstr(&start), STR_ARG(glob),
                             STR_ARG(theirs));
                count++;
            }
            assert_true(count > 0);
        }
        if (!known)
            fail_msg("ripgrep has no type %s", buf_cstr(&start));
        buf_release(&start);
    }
    buf_release(&list);
}

/* Rows: a file, and whether git ignores it by what the folders say. */
static void single_files(void **state)
{
    static const struct {
        const char *path;
        bool is_ignored;
    } rows[] = {
        {"build", true},       {"build/deep/x.o", true}, {"src/a.o", true}, {"src/a.c", false},
        {"src/keep.o", false}, {"src/made", true},       {"made", false},   {"src/sub/made", false},
        {"notes", false},      {".git/a.o", false},
    };
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, ".git/HEAD", STR("ref: refs/heads/main\n"));
    tool_check_put(&t, ".gitignore", STR("/build/\n*.o\n"));
    tool_check_put(&t, ".ignore", STR("notes\n"));
    tool_check_put(&t, "src/.gitignore", STR("!keep.o\n/made\n"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = path_real(tool_check_path(&t, "."));
        CLEANUP(buf_release) struct buf file = BUF_INIT(4096);

        buf_addf(&file, "%s/%s", path, rows[i].path);
        if (ignore_drops_file(buf_cstr(&file)) != rows[i].is_ignored)
            fail_msg("%s", rows[i].path);
    }
    tool_check_end(&t);
}

UNIT_TEST(ignore)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs),
        cmocka_unit_test(globs_that_make_no_sense),
        cmocka_unit_test(the_last_rule_decides),
        cmocka_unit_test(trees_are_walked_as_ripgrep_does),
        cmocka_unit_test(trees_are_walked_as_git_does),
        cmocka_unit_test(types_are_those_of_ripgrep),
        cmocka_unit_test(single_files),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    proc_shutdown();
    return rc;
}
