/*
 * Protected files: which they are, what becomes of them, and what an agent may try with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "goal/protect.h"
#include "goal/protect_state.h"
#include "goal/work_check.h"
#include "sync/cancel.h"

static struct protect *take(const char *globs, const char *check, struct strv *notes)
{
    CLEANUP(strv_release) struct strv all_globs = STRV_INIT;
    CLEANUP(strv_release) struct strv checks = STRV_INIT;
    CLEANUP(strv_release) struct strv own_notes = STRV_INIT;
    struct protect_spec spec = {
        .dir = work_dir, .globs = &all_globs, .checks = &checks, .environ = work_env};
    struct protect *p = NULL;
    struct str rest = str_of(globs);
    struct str glob;
    struct err err = {0};

    while (rest.len && str_cut(&rest, ' ', &glob))
        strv_add(&all_globs, glob);
    if (*check)
        strv_adds(&checks, check);
    if (protect_take(&spec, NULL, &p, notes ? notes : &own_notes, &err) < 0)
        fail_msg("%s: %s", check, err.text);
    return p;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct protect_file *)a)->path, ((const struct protect_file *)b)->path);
}

/* "a b": protected files in order of their names; absent ones are left out. */
static void names_of(struct protect *p, struct buf *ret)
{
    if (p->files.len)
        qsort(p->files.ptr, p->files.len, sizeof(*p->files.ptr), by_name);
    VEC_EACH(&p->files, f) {
        if (f->kind != PROTECT_ABSENT)
            buf_addf(ret, "%s%s", ret->len ? " " : "", f->path);
    }
}

/* "a:changed b:gone" */
static void changes_of(const struct protect *p, struct buf *ret)
{
    protect_change_vec changes = VEC_INIT;
    struct err err = {0};

    buf_clear(ret);
    if (protect_verify(p, NULL, &changes, &err) < 0)
        fail_msg("%s", err.text);
    VEC_EACH(&changes, c) {
        buf_addf(ret, "%s%s:%s", ret->len ? " " : "", c->path, protect_what_name(c->what));
    }
    protect_changes_release(&changes);
}

/* Far enough in the past that later changes show. */
static void settle(void)
{
    usleep(60 * 1000);
}

/* ---- which ---- */

static const struct {
    const char *files;
    const char *globs, *check;
    const char *want;
} find_rows[] = {
    /* checks that name scripts */
    {"test.sh a.c", "", "./test.sh", "test.sh"},
    {"check.sh a.c", "", "./check.sh", "check.sh"},
    {"check.sh a.c", "", "sh check.sh", "check.sh"},
    {"check.sh a.c", "", "sh -eu check.sh a.c", "a.c check.sh"},
    {"ci/run.py a.c", "", "python3 ci/run.py --fast", "ci/run.py"},
    {"ci/run.py a.c", "", "cd ci && python3 run.py", "ci/run.py"},
    {"ci/run.py a.c", "", "(cd ci; python3 ./run.py) >/dev/null 2>&1", "ci/run.py"},
    {"ci/run.py a.c", "", "env A=b timeout 60 python3 ci/run.py", "ci/run.py"},
    {"ci/run.py a.c", "", "sudo -u bob nice -n 5 python3 ci/run.py", "ci/run.py"},
    {"ci/run.py a.c", "", "python3 -m ci.run", "ci/run.py"},
    {"check.sh a.c", "", "sh -c './check.sh && true'", "check.sh"},
    {"check.sh a.c", "", "bash -lc \"cd . && ./check.sh\"", "check.sh"},
    {"check.sh a.c", "", "eval ./check.sh", "check.sh"},
    {"check.sh a.c", "", "\"$PWD/check.sh\"", "check.sh"},
    {"check.sh a.c", "", "if ./check.sh; then true; else false; fi", "check.sh"},
    {"check.sh a.c", "", ". ./check.sh", "check.sh"},
    {"check.sh a.c", "", "! ./check.sh", "check.sh"},
    {"in.txt want.txt prog.c", "", "./prog < in.txt | diff - want.txt", "in.txt want.txt"},
    {"want.txt prog.c", "", "cmp want.txt out.txt", "want.txt"},
    {"a.bats b.bats", "", "bats *.bats", "a.bats b.bats"},
    {"one.chk two.chk", "", "runner *.chk", "one.chk two.chk"},
    {"sums a", "", "sha256sum -c sums", "sums"},
    {"prog.awk data", "", "awk -f prog.awk data", "prog.awk"},
    /* what is looked at or built is the work */
    {"README.md", "", "grep -q done README.md", ""},
    {"out.txt", "", "test -s out.txt && [ -f out.txt ]", ""},
    {"main.c", "", "gcc -Wall -o prog main.c && ./prog", ""},
    {"main.py", "", "ruff check main.py", ""},
    {"x.json", "", "jq -e .ok x.json >/dev/null", ""},
    {"a.sh", "", "shellcheck a.sh", ""},
    /* recipes */
    {"Makefile a.c", "", "make test", "Makefile"},
    {"Makefile a.c", "", "make -j4 -s test", "Makefile"},
    {"Makefile other.mk", "", "make -f other.mk test", "Makefile other.mk"},
    {"Makefile other.mk", "", "make -fother.mk", "Makefile other.mk"},
    {"sub/Makefile a.c", "", "make -C sub test", "sub/Makefile"},
    {"sub/Makefile a.c", "", "make --directory=sub test", "sub/Makefile"},
    {"sub/Makefile a.c", "", "cd sub && make", "sub/Makefile"},
    {"package.json src/a.js", "", "npm test", "package.json"},
    {"package.json sub/a.js", "", "cd sub && npm run check", "package.json"},
    {"Cargo.toml src/lib.rs", "", "cargo test --all", "Cargo.toml"},
    {"go.mod a.go", "", "go test ./...", "go.mod"},
    {"pyproject.toml setup.cfg a.py", "", "pytest -q", "pyproject.toml setup.cfg"},
    {"tox.ini a.py", "", "python3 -m pytest", "tox.ini"},
    {"CMakeLists.txt a.c", "", "cmake -B out && cmake --build out && ctest --test-dir out",
     "CMakeLists.txt"},
    {"meson.build a.c", "", "ninja -C . test", "meson.build"},
    {"build.gradle gradlew a.java", "", "./gradlew test", "build.gradle gradlew"},
    {"pom.xml a.java", "", "mvn -q test", "pom.xml"},
    {"a.csproj b.sln x.cs", "", "dotnet test", "a.csproj b.sln"},
    {"jest.config.ts package.json", "", "npx jest", "jest.config.ts package.json"},
    {"eslint.config.js a.js", "", "npx eslint .", "eslint.config.js"},
    {"tsconfig.json a.ts", "", "npx tsc --noEmit -p tsconfig.json", "tsconfig.json"},
    {"justfile a", "", "just test", "justfile"},
    {"phpunit.xml a.php", "", "vendor/bin/phpunit -c phpunit.xml", "phpunit.xml"},
    /* tests by their names */
    {"tests/a.c src/b.c a_test.go x.spec.ts", "", "true", "a_test.go tests/a.c x.spec.ts"},
    {"node_modules/x/test/a.js build/tests/b.c", "", "true", ""},
    /* --protect */
    {"a.c b/c.c b/d/e.c", "b", "", "b/c.c b/d/e.c"},
    {"a.c b/c.c b/d/e.c", "b/", "", "b/c.c b/d/e.c"},
    {"a.c b/c.c b/d/e.c", "./b/d", "", "b/d/e.c"},
    {"a.c b/c.c b/d/e.c", "b/**", "", "b/c.c b/d/e.c"},
    {"a.c b/c.c b/d/e.c", "*.c", "", "a.c b/c.c b/d/e.c"},
    {"a.c b/c.c b/d/e.c", "/*.c", "", "a.c"},
    {"a.c node_modules/x.js", "node_modules/x.js", "", "node_modules/x.js"},
    {"a.c", "nothing*", "", ""},
    {"a.c", "", "", ""},
    /* odd command lines */
    {"a.c", "", "((((", ""},
    {"a.c", "", "'unfinished", ""},
    {"a.c", "", "cd /nonexistent && make", ""},
    {"a.c Makefile", "", "cd .. && cd .. && cd .. && make", "Makefile"},
    {"a.c", "", "/bin/true /etc/passwd", ""},
};

static void finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(find_rows); i++) {
        struct buf got = BUF_INIT(BUF_NO_LIMIT);
        struct protect *p;

        work_make();
        work_put_all(find_rows[i].files);
        p = take(find_rows[i].globs, find_rows[i].check, NULL);
        names_of(p, &got);
        if (!str_is(buf_str(&got), find_rows[i].want))
            fail_msg("'%s' with '%s': got '%s', want '%s'", find_rows[i].check, find_rows[i].globs,
                     buf_cstr(&got), find_rows[i].want);
        assert_true(protect_count(p) <= p->files.len);
        protect_free(p);
        buf_release(&got);
        work_remove();
    }
}

static void expect_names(const char *check, const char *want)
{
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p = take("", check, NULL);

    names_of(p, &got);
    if (!str_is(buf_str(&got), want))
        fail_msg("'%s': got '%s', want '%s'", check, buf_cstr(&got), want);
    buf_release(&got);
    protect_free(p);
}

/* One level deeper: what a makefile's target and a package's script run. */
static void follows_recipes(void **state)
{
    (void)state;
    work_put_all("ci.sh lint.sh deploy.sh extra.mk ci/all.py scripts/t.js jest.config.js");
    work_put("Makefile", "include extra.mk $(X).mk\n"
                         "test: lint\n\t@./ci.sh --all\n\t$(PYTHON) ci/all.py\n"
                         "lint:\n\tsh lint.sh src\n"
                         "deploy:\n\t./deploy.sh\n");
    work_put("package.json", "{\"scripts\":{\"test\":\"jest && node scripts/t.js\"}}");
    expect_names("make test", "Makefile ci.sh ci/all.py extra.mk lint.sh");
    expect_names("npm test", "jest.config.js package.json scripts/t.js");
    work_put("Makefile", "test:\n\t$(MAKE) -C sub test\n");
    work_put("sub/Makefile", "test:\n\t$(MAKE) -C .. test\n\t./t.sh\n");
    work_put("sub/t.sh", "#!/bin/sh\n");
    expect_names("make test", "Makefile sub/Makefile sub/t.sh");
}

/* In git: what it ignores does not count, unless it is run. */
static void knows_git(void **state)
{
    (void)state;
    work_put_all("tests/a.py tests/out/b.py gen.txt want.txt local.sh");
    work_put(".gitignore", "tests/out\ngen.txt\nlocal.sh\n");
    work_run("git init -q && "
             "git add want.txt",
             NULL);
    expect_names("diff gen.txt want.txt", "tests/a.py want.txt");
    expect_names("./local.sh", "local.sh tests/a.py");
}

/* What tests were built to is built again. */
static void not_what_is_built(void **state)
{
    (void)state;
    work_put_all("tests/a.c tests/a.o tests/a.log tests/run.trs");
    work_run("cp /bin/true tests/prog; cp /bin/true prog; ar rc tests/lib.x tests/a.c", NULL);
    expect_names("make -s && ./prog && tests/prog", "tests/a.c");
}

static void says_why(void **state)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct protect *p;

    (void)state;
    work_put_all("check.py");
    p = take("none-such/**", "python3 check.py", &notes);
    assert_string_equal(p->files.ptr[0].why, "run by the check 'python3 check.py'");
    assert_int_equal(notes.len, 2);
    assert_non_null(strstr(notes.ptr[0], "no file fits 'none-such/**'"));
    assert_non_null(strstr(notes.ptr[1], "'check.py' is protected because a check names it"));
    protect_free(p);
}

/* ---- changes ---- */

static void changes(void **state)
{
    static const struct {
        const char *command;
        const char *want;
    } rows[] = {
        {"true", ""},
        {"touch tests/a.py Makefile", ""},
        {"cp tests/a.py x && cp x tests/a.py", ""}, /* the same bytes */
        {"cp tests/a.py x && mv x tests/a.py", ""}, /* another file with them */
        {"chmod 600 tests/a.py", ""},
        {"echo more >> tests/a.py", "tests/a.py:changed"},
        {"printf TESTS/a.py > tests/a.py; touch -r Makefile tests/a.py", "tests/a.py:changed"},
        {": > Makefile", "Makefile:changed"},
        {"rm tests/a.py", "tests/a.py:gone"},
        {"mv tests moved", "tests/a.py:gone tests/b.py:gone"},
        {"rm tests/a.py; ln -s /dev/null tests/a.py", "tests/a.py:replaced"},
        {"rm tests/a.py; mkdir tests/a.py", "tests/a.py:replaced"},
        {"rm tests/a.py; mkfifo tests/a.py", "tests/a.py:replaced"}, /* and nobody waits for it */
        {"rm -r tests; ln -s tests tests", "tests/a.py:changed tests/b.py:changed"}, /* a loop */
        {"cp -r tests t2; rm -r tests; ln -s t2 tests", ""}, /* the same bytes behind a link */
        {"echo new > tests/new.py", ""},                     /* new files are free, */
        {"echo x > GNUmakefile", "GNUmakefile:shadowed"},    /* unless they are read first */
        {"echo x > makefile", "makefile:shadowed"},
        {"printf '#!/bin/sh\\n' > $HOME/../bin/make; chmod +x $HOME/../bin/make", "make:shadowed"},
        {"printf '#!/bin/sh\\n' > $HOME/../bin/cat; chmod +x $HOME/../bin/cat", "cat:shadowed"},
        {"printf '#!/bin/sh\\n' > $HOME/../bin/own; chmod +x $HOME/../bin/own", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf got = BUF_INIT(BUF_NO_LIMIT);
        struct protect *p;

        work_make();
        work_put_all("Makefile tests/a.py tests/b.py src.py");
        settle();
        p = take("", "make test", NULL);
        settle();
        work_run(rows[i].command, NULL);
        changes_of(p, &got);
        if (!str_is(buf_str(&got), rows[i].want))
            fail_msg("%s: got '%s', want '%s'", rows[i].command, buf_cstr(&got), rows[i].want);
        protect_free(p);
        buf_release(&got);
        work_remove();
    }
}

/* A change in the same instant and of the same length shows nothing in the file's times. */
static void too_fast_for_the_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct buf got = BUF_INIT(BUF_NO_LIMIT);
        struct protect *p;
        int fd;

        work_put("tests/a.py", "assert add(1, 1) == 2");
        p = take("", "true", NULL);
        fd = open(work_at("tests/a.py"), O_WRONLY);
        assert_int_equal(pwrite(fd, "3", 1, 20), 1);
        close(fd);
        changes_of(p, &got);
        assert_string_equal(buf_cstr(&got), "tests/a.py:changed");
        protect_free(p);
        buf_release(&got);
    }
}

/* What a package depends on is the agent's; what its scripts are is not. */
static void package_orders(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"scripts\":{\"test\":\"jest\"},\"dependencies\":{\"a\":\"1\"}}", ""},
        {"{\"scripts\":{\"test\":\"jest\"},\"devDependencies\":{\"b\":\"2\"},\"version\":\"2\"}",
         ""},
        {"{ \"scripts\":{\"test\":\"jest\"}\n}", ""},
        {"{\"scripts\":{\"test\":\"true\"},\"dependencies\":{\"a\":\"1\"}}",
         "package.json:changed"},
        {"{\"scripts\":{\"test\":\"jest\"},\"jest\":{\"testMatch\":[]}}", "package.json:changed"},
        {"{\"scripts\":{\"test\":\"jest\"},\"scripts\":{\"test\":\"true\"}}",
         "package.json:changed"},
        {"not json", "package.json:changed"},
        {"[]", "package.json:changed"},
    };
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p;

    (void)state;
    work_put("package.json", rows[0].text);
    p = take("", "npm test", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        work_put("package.json", rows[i].text);
        changes_of(p, &got);
        if (!str_is(buf_str(&got), rows[i].want))
            fail_msg("%s: got '%s'", rows[i].text, buf_cstr(&got));
    }
    protect_free(p);
    buf_release(&got);
}

/* conftest.py decides about every test below it; where there is none, none may come. */
static void new_conftest(void **state)
{
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p;

    (void)state;
    work_put_all("pyproject.toml tests/unit/test_a.py");
    p = take("", "pytest -q", NULL);
    work_put_all("tests/unit/test_new.py tests/unit/helpers.py");
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "");
    work_put_all("tests/unit/conftest.py pytest.ini");
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "pytest.ini:shadowed tests/unit/conftest.py:shadowed");
    protect_free(p);
    buf_release(&got);
}

/* ---- accepting, keeping ---- */

static void accepts(void **state)
{
    static const struct {
        const char *path;
        size_t count;
        const char *left;
        enum err_code code;
    } rows[] = {
        {"tests/a.py", 1, "tests/b.py:gone tests/c.py:replaced GNUmakefile:shadowed make:shadowed",
         ERR_NONE},
        {"./tests/../tests/b.py", 1, "tests/c.py:replaced GNUmakefile:shadowed make:shadowed",
         ERR_NONE},
        {"tests/b.py", 0, "tests/c.py:replaced GNUmakefile:shadowed make:shadowed", ERR_NONE},
        {"src.py", 0, "tests/c.py:replaced GNUmakefile:shadowed make:shadowed", ERR_NOT_FOUND},
        {"tests", 1, "GNUmakefile:shadowed make:shadowed", ERR_NONE},
        {"make", 1, "GNUmakefile:shadowed", ERR_NONE},
        {"", 1, "", ERR_NONE},
        {"", 0, "", ERR_NONE},
    };
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p;

    (void)state;
    work_put_all("tests/a.py tests/b.py tests/c.py Makefile src.py");
    settle();
    p = take("", "make", NULL);
    settle();
    work_run(
        "echo x >> tests/a.py; rm tests/b.py tests/c.py; mkdir tests/c.py; echo x > GNUmakefile"
        "; printf '#!/bin/sh\\n' > ../bin/make; chmod +x ../bin/make",
        NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        size_t count = 0;

        protect_accept(p, str_of(rows[i].path), NULL, &count, &err);
        changes_of(p, &got);
        if (err.code != rows[i].code || count != rows[i].count)
            fail_msg("row %zu '%s': %zu, %s, left '%s'", i, rows[i].path, count,
                     err_code_name(err.code), buf_cstr(&got));
        if (got.len != strlen(rows[i].left))
            fail_msg("row %zu '%s': left '%s', want '%s'", i, rows[i].path, buf_cstr(&got),
                     rows[i].left);
    }
    work_run("echo y >> GNUmakefile", NULL); /* accepted is not free */
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "GNUmakefile:changed");
    protect_free(p);
    buf_release(&got);
}

/* What was changed before the list grew is still changed, and new tests are still free. */
static void grows(void **state)
{
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(strv_release) struct strv checks = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct protect_spec spec = {
        .dir = work_dir, .globs = &globs, .checks = &checks, .environ = work_env};
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p;
    struct err err = {0};

    (void)state;
    work_put_all("tests/a.py tests/b.py README verify.sh");
    settle();
    p = take("", "", NULL);
    work_run("echo x >> tests/a.py; echo x > tests/new.py", NULL);
    strv_adds(&globs, "README");
    strv_adds(&globs, "tests/a.py");
    strv_adds(&checks, "sh ./verify.sh");
    if (protect_extend(p, &spec, NULL, &notes, &err) < 0)
        fail_msg("%s", err.text);
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "tests/a.py:changed");
    names_of(p, &got);
    assert_string_equal(buf_cstr(&got),
                        "tests/a.py:changed README tests/a.py tests/b.py verify.sh");
    settle();
    work_run("echo x >> README; echo x >> verify.sh; echo x >> tests/new.py", NULL);
    changes_of(p, &got);
    assert_int_equal(got.len, strlen("tests/a.py:changed README:changed verify.sh:changed"));
    protect_free(p);
    buf_release(&got);
}

static void keeps(void **state)
{
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct buf again = BUF_INIT(BUF_NO_LIMIT);
    char path[300];
    char hex[SHA256_HEX + 1];
    char hex2[SHA256_HEX + 1];
    struct protect *p;
    struct protect *q = NULL;
    struct err err = {0};

    (void)state;
    snprintf(path, sizeof(path), "%s/session/protect", work_top);
    work_put_all("tests/a.py Makefile");
    work_put("tests/two words\n%.py", "odd");
    work_put("tests/\xff\xfe.py", "bytes");
    settle();
    p = take("", "make test", NULL);
    assert_int_equal(protect_write(p, path, hex, &err), 0);
    assert_int_equal(protect_read(path, str_of(hex), &q, &err), 0);
    names_of(p, &got);
    names_of(q, &again);
    assert_string_equal(buf_cstr(&got), buf_cstr(&again));
    assert_non_null(strstr(buf_cstr(&again), "tests/two words\n%.py"));
    assert_non_null(strstr(buf_cstr(&again), "tests/\xff\xfe.py"));
    assert_int_equal(protect_write(p, path, hex, &err), 0);
    assert_int_equal(protect_write(q, path, hex2, &err), 0);
    assert_string_equal(hex, hex2);
    changes_of(q, &got);
    assert_string_equal(buf_cstr(&got), "");
    work_run("echo x >> 'tests/a.py'; rm tests/two*", NULL);
    changes_of(q, &got);
    assert_string_equal(buf_cstr(&got), "tests/a.py:changed tests/two words\n%.py:gone");

    /* somebody edits the list */
    work_run("sed -i /a.py/d ../session/protect", NULL);
    assert_int_equal(protect_read(path, str_of(hex), &q, &err), -1);
    assert_int_equal(err.code, ERR_PROTOCOL);
    unlink(path);
    assert_int_equal(protect_read(path, str_of(hex), &q, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    protect_free(p);
    protect_free(q);
    buf_release(&got);
    buf_release(&again);
}

/* Lists with the right hash and wrong lines. */
static void keeps_nonsense(void **state)
{
    static const char *const rows[] = {
        "",
        "tenax-protect 2\n",
        "tenax-protect 1\n",
        "tenax-protect 1\ndir /x\n",
        "tenax-protect 1\ndir /x\npath /bin\nfile\n",
        "tenax-protect 1\ndir /x\npath /bin\nfile 9 1 - 0 0 0 0 0 a b\n",
        "tenax-protect 1\ndir /x\npath /bin\nfile 0 1 - 0 0 0 0 0 a\n",
        "tenax-protect 1\ndir /x\npath /bin\nfile 0 77 - 0 0 0 0 0 a b\n",
        "tenax-protect 1\ndir /x\npath /bin\nprogram 1 0 - 0 0\n",
        "tenax-protect 1\ndir /x\npath /bin\nplace x\n",
        "tenax-protect 1\ndir /x\npath /bin\nshadow\n",
        "tenax-protect 1\ndir /x\npath /bin\nnothing known\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct protect *p = NULL;
        struct err err = {0};
        char hex[SHA256_HEX + 1];

        work_put("list", rows[i]);
        sha256_hex(str_of(rows[i]), hex);
        if (protect_read(work_at("list"), str_of(hex), &p, &err) == 0 || err.code != ERR_PROTOCOL)
            fail_msg("row %zu was read", i);
    }
}

/* ---- hostile workspaces ---- */

static void hostile(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct protect *p;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    work_run("mkdir -p tests/deep && mkfifo tests/fifo test_fifo.py && ln -s loop tests/loop.py"
             " && ln -s . tests/self && ln -s /dev/zero tests/zero.py && echo x > tests/closed.py"
             " && truncate -s 1G tests/big.bin && chmod 000 tests/closed.py",
             NULL);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", work_at("tests/s"));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    settle();
    p = take("**", "./tests/fifo && cat < tests/fifo && diff tests/zero.py tests/loop.py", NULL);
    names_of(p, &got);
    assert_string_equal(buf_cstr(&got),
                        "tests/big.bin tests/closed.py tests/loop.py tests/self tests/zero.py");
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "");
    work_run("truncate -s 2G tests/big.bin; ln -sfn .. tests/self", NULL);
    changes_of(p, &got);
    assert_string_equal(buf_cstr(&got), "tests/big.bin:changed tests/self:changed");
    protect_free(p);
    close(fd);
    buf_release(&got);
}

static void cancelled_and_gone(void **state)
{
    struct cancel *cancel = cancel_new(NULL);
    struct strv none = STRV_INIT;
    struct strv notes = STRV_INIT;
    struct protect_spec spec = {
        .dir = work_dir, .globs = &none, .checks = &none, .environ = work_env};
    protect_change_vec changes_now = VEC_INIT;
    struct protect *p;
    struct protect *q = NULL;
    struct err err = {0};

    (void)state;
    work_put_all("tests/a.py");
    p = take("", "true", NULL);
    cancel_set(cancel);
    assert_int_equal(protect_take(&spec, cancel, &q, &notes, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_int_equal(protect_verify(p, cancel, &changes_now, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    work_run("rm -r ../work", NULL);
    assert_int_equal(protect_verify(p, NULL, &changes_now, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    spec.dir = "/nonexistent/none";
    assert_int_equal(protect_take(&spec, NULL, &q, &notes, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    protect_free(p);
    strv_release(&notes);
    cancel_unref(cancel);
}

static void in_words(void **state)
{
    struct buf words = BUF_INIT(BUF_NO_LIMIT);
    protect_change_vec list = VEC_INIT;
    struct protect *p;

    (void)state;
    work_put_all("tests/a.py");
    p = take("", "true", NULL);
    work_run("rm tests/a.py", NULL);
    assert_int_equal(protect_verify(p, NULL, &list, NULL), 0);
    protect_explain(&list, &words);
    assert_non_null(
        strstr(buf_cstr(&words), "tests/a.py, a test file, is gone since the goal was set."));
    assert_non_null(strstr(buf_cstr(&words), "only the user can accept it"));
    protect_changes_release(&list);
    protect_free(p);
    buf_release(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test_setup_teardown(follows_recipes, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(knows_git, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(not_what_is_built, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(says_why, work_setup, work_teardown),
        cmocka_unit_test(changes),
        cmocka_unit_test_setup_teardown(too_fast_for_the_clock, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(package_orders, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(new_conftest, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(accepts, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(grows, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(keeps, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(keeps_nonsense, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(hostile, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(cancelled_and_gone, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(in_words, work_setup, work_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
