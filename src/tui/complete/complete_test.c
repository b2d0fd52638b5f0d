#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/mailbox.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "unit.h"

struct fixture {
    char dir[64];
    struct mailbox *mb;
    struct completer *completer;
};

static const struct completer_command commands[] = {
    {STR_INIT("help"), STR_INIT("commands"), STR_INIT(""), STR_INIT("what there is")},
    {STR_INIT("goal"), STR_INIT(""), STR_INIT("[condition]"), STR_INIT("work until it holds")},
    {STR_INIT("model"), STR_INIT(""), STR_INIT("[name]"), STR_INIT("another model"),
     .runs_bare = true},
    {STR_INIT("memory"), STR_INIT("notes keeps"), STR_INIT(""), STR_INIT("what is remembered")},
    {STR_INIT("theme"), STR_INIT(""), STR_INIT(""), STR_INIT("colors")},
};

static void make_file(const struct fixture *f, const char *path)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(4096);
    int fd;

    buf_addf(&full, "%s/%s", f->dir, path);
    for (size_t i = strlen(f->dir) + 1; i < full.len; i++) {
        if (full.ptr[i] == '/') {
            full.ptr[i] = '\0';
            mkdir(full.ptr, 0700);
            full.ptr[i] = '/';
        }
    }
    fd = open(full.ptr, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (strcmp(path, ".gitignore") == 0)
        assert_int_equal(write(fd, "*.o\n", 4), 4);
    close(fd);
}

static int setup(void **state)
{
    static const char *const files[] = {
        "src/main.c",   "src/main.o",     "src/tui/editor.c", "src/tui/editor.h",
        "README.md",    "a b/c d.txt",    ".gitignore",       ".git/config",
        "docs/keys.md", ".github/ci.yml", "caf\xc3\xa9.txt",
    };
    struct fixture *f = mem_zalloc(sizeof(*f));

    snprintf(f->dir, sizeof(f->dir), "/tmp/tenax-complete-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make_file(f, files[i]);
    f->mb = mailbox_new();
    f->completer = completer_new(&(struct completer_spec){
        .dir = f->dir, .to = f->mb, .commands = commands, .command_count = ARRAY_LEN(commands)});
    *state = f;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    completer_free(f->completer);
    mailbox_close(f->mb);
    mailbox_unref(f->mb);
    assert_int_equal(nftw(f->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(f);
    return 0;
}

/* Until nothing more is to come. */
static void settle(struct fixture *f)
{
    completer_news(f->completer);
    while (completer_is_looking(f->completer)) {
        struct mail *m;
        struct err err = {0};

        assert_int_equal(mailbox_take(f->mb, NULL, -1, &m, &err), 0);
        assert_ptr_equal(m->kind, &completer_mail_kind);
        mail_free(m);
        completer_news(f->completer);
    }
}

static void names(struct fixture *f, struct buf *ret)
{
    for (size_t i = 0; i < completer_count(f->completer); i++) {
        struct completion c = completer_at(f->completer, i);

        buf_addf(ret, "%s%.*s", i ? " " : "", STR_ARG(c.text));
    }
}

static void files(void **state)
{
    static const struct {
        const char *typed, *found;
    } rows[] = {
        {"main", "src/main.c"},
        {"editor", "src/tui/editor.c src/tui/editor.h"},
        {"tui/", "src/tui/ src/tui/editor.c src/tui/editor.h"},
        {"c d", "a b/c d.txt"},
        {"\xc3\xa9", "caf\xc3\xa9.txt"},
        {"zzz", ""},
        {"keysmd", "docs/keys.md"},
        {"config", ""}, /* git's own */
        {"ci.y", ".github/ci.yml"},
        {"",
         "README.md a b/ caf\xc3\xa9.txt docs/ src/ .github/ .gitignore a b/c d.txt docs/keys.md "
         "src/main.c src/tui/ .github/ci.yml src/tui/editor.c src/tui/editor.h"},
        {"./", "./a b/ ./src/ ./docs/ ./README.md ./caf\xc3\xa9.txt"},
        {"./src/m", "./src/main.c ./src/main.o"},
        {"../nothing/x", ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf found = BUF_INIT(BUF_NO_LIMIT);

        completer_ask(f->completer, '@', str_of(rows[i].typed));
        settle(f);
        names(f, &found);
        if (!str_is(buf_str(&found), rows[i].found))
            fail_msg("%s: %s", rows[i].typed, buf_cstr(&found));
    }
}

static void slashes(void **state)
{
    static const struct {
        const char *typed, *found;
    } rows[] = {
        {"", "help goal model memory theme"},
        {"m", "model memory theme"},
        {"me", "memory model theme"},
        {"he", "help theme"},
        {"goal", "goal"},
        {"notes", "memory"}, /* also called so */
        {"keep", "memory"},  /* the other of its names */
        {"commands", "help"},
        {"o", "goal model memory"},
        {"mm", "memory"},
        {"xyz", ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf found = BUF_INIT(BUF_NO_LIMIT);

        completer_ask(f->completer, '/', str_of(rows[i].typed));
        assert_false(completer_is_looking(f->completer));
        names(f, &found);
        if (!str_is(buf_str(&found), rows[i].found))
            fail_msg("%s: %s", rows[i].typed, buf_cstr(&found));
    }
    completer_ask(f->completer, '/', STR("go"));
    assert_true(completer_at(f->completer, 0).goes_on);
    assert_true(str_is(completer_at(f->completer, 0).detail, "[condition]  work until it holds"));
    assert_int_equal(completer_at(f->completer, 0).at_count, 2);
    completer_ask(f->completer, '/', STR("mo"));
    assert_false(completer_at(f->completer, 0).goes_on); /* its argument may be left out */
    completer_ask(f->completer, '/', STR("no"));
    assert_true(str_is(completer_at(f->completer, 0).alias, "notes"));
    assert_true(str_is(completer_at(f->completer, 0).detail, "(notes)  what is remembered"));
}

/* Whatever is asked while others are being answered: the last question's answer is shown. */
static void newest_wins(void **state)
{
    static const char *const typed[] = {"m", "ma", "mai", "e", "ed", "", "main", "x", "README"};
    struct fixture *f = *state;
    CLEANUP(buf_release) struct buf found = BUF_INIT(BUF_NO_LIMIT);

    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < ARRAY_LEN(typed); i++) {
            completer_ask(f->completer, '@', str_of(typed[i]));
            if (round % 3 == 0)
                completer_news(f->completer);
        }
    }
    settle(f);
    names(f, &found);
    assert_string_equal(buf_cstr(&found), "README.md");
}

static void left_in_the_middle(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < 20; i++) {
        struct completer *c = completer_new(&(struct completer_spec){.dir = f->dir, .to = f->mb});

        completer_ask(c, '@', STR("e"));
        completer_ask(c, '@', STR("ed"));
        completer_free(c);
    }
}

static void press(struct editor *e, const char *name)
{
    struct keypress k;

    assert_true(keypress_parse(str_of(name), &k));
    editor_key(e, &k, 0);
}

/* In the editor: quoted when there is a space, a folder goes on, a file does not. */
static void put_in(void **state)
{
    static const struct {
        const char *typed, *key, *text;
    } rows[] = {
        {"see @edit", "enter", "see @src/tui/editor.c "},
        {"@cd", "tab", "@\"a b/c d.txt\" "},
        {"@\"a b/c", "tab", "@\"a b/c d.txt\" "},
        {"@docs", "tab", "@docs/"},
        {"@src/", "tab", "@src/tui/"}, /* on into it */
        {"@src/", "down", "@src/"},
        {"@a b/", "tab", "@a b/"}, /* not a name any more */
        {"mail me@main", "tab", "mail me@main"},
        {"(@main", "tab", "(@src/main.c "},
        {"@main", "esc", "@main"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct editor *e = editor_new(&(struct editor_spec){.completer = f->completer});
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct keypress k = {.code = KEY_TEXT, .text = str_of(rows[i].typed)};

        editor_key(e, &k, 0);
        settle(f);
        editor_news(e);
        press(e, rows[i].key);
        editor_text(e, &text);
        if (!str_is(buf_str(&text), rows[i].text))
            fail_msg("row %zu: %s", i, buf_cstr(&text));
        editor_free(e);
    }
}

/* Resources stand among the files, and stay when the list of files comes. */
static void resources(void **state)
{
    static const struct completer_resource all[] = {
        {.name = STR_INIT("docs:test://manual"), .summary = STR_INIT("The manual")},
        {.name = STR_INIT("docs:test://page/"), .goes_on = true},
    };
    static const struct {
        const char *typed, *found;
    } rows[] = {
        {"docs:", "docs:test://page/ docs:test://manual"},
        {"manual", "docs:test://manual"},
        {"docs:test://p", "docs:test://page/"},
        {"main.c", "src/main.c"},
        {"docs:none", ""},
    };
    struct fixture *f = *state;

    completer_resources(f->completer, all, ARRAY_LEN(all));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf found = BUF_INIT(BUF_NO_LIMIT);

        completer_ask(f->completer, '@', str_of(rows[i].typed));
        settle(f);
        names(f, &found);
        if (!str_is(buf_str(&found), rows[i].found))
            fail_msg("%s: %s", rows[i].typed, buf_cstr(&found));
    }
    completer_ask(f->completer, '@', STR("manual"));
    assert_true(str_is(completer_at(f->completer, 0).detail, "The manual"));
    completer_resources(f->completer, NULL, 0);
    completer_ask(f->completer, '@', STR("manual"));
    settle(f);
    assert_int_equal(completer_count(f->completer), 0);
}

UNIT_TEST(complete)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files, setup, teardown),
        cmocka_unit_test_setup_teardown(slashes, setup, teardown),
        cmocka_unit_test_setup_teardown(resources, setup, teardown),
        cmocka_unit_test_setup_teardown(newest_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(left_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(put_in, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
