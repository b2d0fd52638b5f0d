/* Stored keys: the file's modes, its errors, and that nothing else in it is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "llm/auth.h"
#include "unit.h"

static char *home; /* of one test; not made yet */

static int set_up(void **state)
{
    char template[] = "/tmp/tenax-auth-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(template));
    home = path_join(template, "home");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"home/auth.json", "home", ""};
    CLEANUP(mem_freep) char *dir = path_dirname(home);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, names[i]);

        remove(path);
    }
    mem_freep(&home);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void expect_key(const char *provider, const char *want)
{
    CLEANUP(buf_release) struct buf key = {0};
    struct err err = {0};
    int r = auth_get(home, str_of(provider), &key, NULL, &err);

    print_message("key of %s: %s\n", provider, r < 0 ? err.text : "found");
    if (!want) {
        assert_int_equal(r, -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
        return;
    }
    assert_int_equal(r, 0);
    assert_string_equal(buf_cstr(&key), want);
}

static void test_round_trip(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct err err = {0};

    (void)state;
    expect_key("anthropic", NULL);
    assert_int_equal(auth_list(home, &names, &err), 0);
    assert_int_equal(names.len, 0);
    assert_int_equal(auth_remove(home, STR("anthropic"), &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(file_exists(home)); /* asking made nothing */

    assert_int_equal(auth_set(home, STR("anthropic"), STR("sk-ant-0123456789"), &err), 0);
    assert_int_equal(auth_set(home, STR("openai"), STR("sk-oai-0123456789"), &err), 0);
    assert_int_equal(auth_set(home, STR("anthropic"), STR("sk-ant-changed-it"), &err), 0);
    assert_int_equal(mode_of(home), 0700);
    assert_int_equal(mode_of(path), 0600);
    expect_key("anthropic", "sk-ant-changed-it");
    expect_key("openai", "sk-oai-0123456789");
    expect_key("gemini", NULL);
    assert_int_equal(auth_list(home, &names, &err), 0);
    assert_int_equal(names.len, 2);

    assert_int_equal(auth_remove(home, STR("anthropic"), &err), 0);
    expect_key("anthropic", NULL);
    expect_key("openai", "sk-oai-0123456789");
    assert_int_equal(auth_remove(home, STR("anthropic"), &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_foreign_members_stay(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    CLEANUP(buf_release) struct buf text = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(file_mkdirs(home, 0700, &err), 0);
    assert_int_equal(file_replace(path,
                                  STR("{\"later\":[1,2.50],\"keys\":{\"x\":{\"key\":\"abcdefgh\","
                                      "\"org\":\"o\"}}}"),
                                  0600, &err),
                     0);
    assert_int_equal(auth_set(home, STR("y"), STR("ijklmnop"), &err), 0);
    expect_key("x", "abcdefgh");
    assert_int_equal(file_slurp(path, 1 << 20, &text, &err), 0);
    assert_non_null(strstr(buf_cstr(&text), "2.50"));
    assert_non_null(strstr(buf_cstr(&text), "\"org\": \"o\""));
}

static void test_open_file_is_closed(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf key = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(auth_set(home, STR("x"), STR("abcdefgh"), &err), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(auth_get(home, STR("x"), &key, &notes, &err), 0);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(notes.len, 1);
    assert_non_null(strstr(notes.ptr[0], "mode 644"));
    strv_clear(&notes);
    assert_int_equal(auth_get(home, STR("x"), &key, &notes, &err), 0);
    assert_int_equal(notes.len, 0);
}

static const struct {
    const char *text;
    const char *error;
} bad_files[] = {
    {"", "line 1"},
    {"{\"keys\":", "line 1"},
    {"[]", "expected an object"},
    {"{\"keys\":{\"x\":{\"key\":\"two\\nlines\"}}}", "line break"},
};

static void test_bad_files(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    struct err err = {0};

    (void)state;
    assert_int_equal(file_mkdirs(home, 0700, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad_files); i++) {
        CLEANUP(buf_release) struct buf key = {0};

        print_message("row %zu: %s\n", i, bad_files[i].text);
        assert_int_equal(file_replace(path, str_of(bad_files[i].text), 0600, &err), 0);
        assert_int_equal(auth_get(home, STR("x"), &key, NULL, &err), -1);
        assert_int_not_equal(err.code, ERR_NOT_FOUND);
        assert_non_null(strstr(err.text, bad_files[i].error));
        assert_int_equal(key.len, 0);
        /* A file that cannot be read is not written over. */
        if (i < 3)
            assert_int_equal(auth_set(home, STR("y"), STR("abcdefgh"), &err), -1);
    }
    remove(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(auth_set(home, STR("y"), STR("abcdefgh"), &err), -1);
    remove(path);
}

static const struct {
    const char *key;
    const char *error; /* NULL: fine */
} keys[] = {
    {"sk-ant-api03-AAAA_bbbb-cccc", NULL},
    {"", "empty"},
    {"a b", "position 2"},
    {"a\r\nx-evil: 1", "position 2"},
    {"caf\xc3\xa9", "position 4"},
    {"tab\t", "position 4"},
};

static void test_check_key(void **state)
{
    CLEANUP(buf_release) struct buf huge = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        int r = auth_check_key(str_of(keys[i].key), "MY_KEY", &err);

        print_message("row %zu\n", i);
        assert_int_equal(r, keys[i].error ? -1 : 0);
        if (keys[i].error) {
            assert_non_null(strstr(err.text, keys[i].error));
            assert_non_null(strstr(err.text, "MY_KEY"));
            assert_int_equal(auth_set(home, STR("x"), str_of(keys[i].key), &err), -1);
        }
    }
    for (size_t i = 0; i <= AUTH_MAX_KEY; i++)
        buf_addc(&huge, 'k');
    assert_int_equal(auth_check_key(buf_str(&huge), "MY_KEY", &err), -1);
    assert_false(file_exists(home));
}

/* Two logins at the same time: both keys are there afterwards. */
static void test_two_writers(void **state)
{
    enum {
        WRITERS = 8
    };
    struct err err = {0};
    pid_t pids[WRITERS];

    (void)state;
    assert_int_equal(file_mkdirs(home, 0700, &err), 0);
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            char name[16];

            snprintf(name, sizeof(name), "p%d", i);
            _exit(auth_set(home, str_of(name), STR("abcdefgh"), &err) < 0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        char name[16];
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
        snprintf(name, sizeof(name), "p%d", i);
        expect_key(name, "abcdefgh");
    }
}

UNIT_TEST(auth)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_members_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_file_is_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_writers, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
