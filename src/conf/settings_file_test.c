/*
 * settings_file: texts that keep all but one value; files that are made, kept, refused, and changed
 * by several processes at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/settings_file.h"
#include "json/json.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *key;
    const char *value;
    const char *expect; /* NULL: refused */
} text_rows[] = {
    {"", "a", "1", "{\n  \"a\": 1\n}\n"},
    {"{}", "a.b", "1", "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
    {"{\"a\":1}", "a", "2", "{\"a\":2}"},
    {"{\"a\": 1, \"z\": [1,  2]}", "a", "{}", "{\"a\": {}, \"z\": [1,  2]}"},
    {"{\n  \"z\": 1\n}\n", "a", "2", "{\n  \"z\": 1,\n  \"a\": 2\n}\n"},
    {"{\"p\":{\"deny\":[\"x\"]},\"z\":0}", "p.allow", "[]",
     "{\"p\":{\"deny\":[\"x\"],\n    \"allow\": []},\"z\":0}"},
    {"{ \"p\" : { } }", "p.allow", "[]", "{ \"p\" : {\n    \"allow\": []\n  } }"},
    {"{\"p\":{\"allow\":[\"a\"]}}", "p.allow", "[\"a\",\"b\"]",
     "{\"p\":{\"allow\":[\"a\",\"b\"]}}"},
    {"\n\t{\"a\":\"}\"}\n", "b", "1", "\n\t{\"a\":\"}\",\n  \"b\": 1}\n"},
    {"{\"p\":1}", "p.allow", "[]", NULL},
    {"[]", "a", "1", NULL},
    {"{", "a", "1", NULL},
    {"{\"a\":1,}", "a", "1", NULL},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(text_rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *root;
        struct err err = {0};
        int rc = settings_text_set(str_of(text_rows[i].text), text_rows[i].key,
                                   str_of(text_rows[i].value), &got, &err);

        if (!text_rows[i].expect) {
            if (rc == 0)
                fail_msg("row %zu: taken: %s", i, buf_cstr(&got));
            continue;
        }
        if (rc < 0 || strcmp(buf_cstr(&got), text_rows[i].expect) != 0)
            fail_msg("row %zu: %s\n%s", i, err.text, buf_cstr(&got));
        assert_int_equal(json_parse(&arena, buf_str(&got), &root, NULL, NULL), 0);
        assert_non_null(json_path(root, text_rows[i].key));
    }
}

static char dir[64];

static char *below(const char *name)
{
    return path_join(dir, name);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/settings-file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"new/a/s.json", "bad.json",  "link.json",
                                        "to.json",      "many.json", "odd.json"};
    static const char *const folders[] = {"new/a", "new", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = below(names[i]);

        unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = below(folders[i]);

        rmdir(path);
    }
    return 0;
}

/* Increments the present value. */
static int count_up(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    int64_t n = 0;

    (void)arg;
    (void)err;
    if (old)
        json_i64(old, &n);
    buf_addf(ret, "%lld", (long long)n + 1);
    return 0;
}

static int leave(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    (void)old;
    (void)ret;
    (void)arg;
    (void)err;
    return 0;
}

static void assert_text(const char *path, const char *expect)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(10000);

    assert_int_equal(file_slurp(path, 10000, &text, NULL), 0);
    assert_string_equal(buf_cstr(&text), expect);
}

static void changes(void **state)
{
    CLEANUP(mem_freep) char *fresh = below("new/a/s.json");
    CLEANUP(mem_freep) char *bad = below("bad.json");
    CLEANUP(mem_freep) char *link = below("link.json");
    CLEANUP(mem_freep) char *to = below("to.json");
    CLEANUP(mem_freep) char *odd = below("odd.json");
    struct err err = {0};
    struct stat st;

    (void)state;
    assert_int_equal(settings_file_change(fresh, "a.b", leave, NULL, &err), 0);
    assert_false(file_exists(fresh));
    assert_int_equal(settings_file_change(fresh, "a.b", count_up, NULL, &err), 0);
    assert_text(fresh, "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");

    assert_int_equal(file_replace(bad, STR("{\"a\":"), 0600, NULL), 0);
    assert_int_equal(settings_file_change(bad, "a", count_up, NULL, &err), -1);
    assert_true(str_has(str_of(err.text), STR("bad.json")));
    assert_text(bad, "{\"a\":");

    /* A link stays one, and the mode of what it leads to stays too. */
    assert_int_equal(file_replace(to, STR("{\"a\":1}"), 0640, NULL), 0);
    assert_int_equal(symlink("to.json", link), 0);
    assert_int_equal(settings_file_change(link, "a", count_up, NULL, &err), 0);
    assert_text(to, "{\"a\":2}");
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);

    assert_int_equal(file_replace(odd, STR("[1]"), 0600, NULL), 0);
    assert_int_equal(settings_file_change(odd, "a", count_up, NULL, &err), -1);
}

static const struct {
    const char *text;
    const char *key;
    int found;
    const char *expect;
} remove_rows[] = {
    {"{\"a\":1}", "a", 1, "{}"},
    {"{\"a\":1,\"b\":2}", "a", 1, "{\"b\":2}"},
    {"{\"a\":1,\"b\":2}", "b", 1, "{\"a\":1}"},
    {"{\"a\":1,\"b\":{\"c\":2}}", "b.c", 1, "{\"a\":1,\"b\":{}}"},
    {"{\"a\":1}", "b", 0, "{\"a\":1}"},
    {"", "a", 0, ""},
    {"{\"a\":1,\"a\":2}", "a", 1, "{}"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "a", 1, "{\"b\":2}"},
    {"{\"b\":1,\"a\":1,\"c\":2,\"a\":3}", "a", 1, "{\"b\":1,\"c\":2}"},
    {"{\"a\":{\"x\":1},\"b\":2,\"a\":{\"y\":3}}", "a.x", 0,
     "{\"a\":{\"x\":1},\"b\":2,\"a\":{\"y\":3}}"},
};

static void removals(void **state)
{
    CLEANUP(mem_freep) char *path = below("to.json");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(remove_rows); i++) {
        assert_int_equal(file_replace(path, str_of(remove_rows[i].text), 0600, NULL), 0);
        assert_int_equal(settings_file_remove(path, remove_rows[i].key, NULL),
                         remove_rows[i].found);
        assert_text(path, remove_rows[i].expect);
    }
}

#define PROCESSES 6
#define ROUNDS 15

/* None of the changes of several processes is lost. */
static void at_once(void **state)
{
    CLEANUP(mem_freep) char *path = below("many.json");
    CLEANUP(buf_release) struct buf expect = BUF_INIT(1000);
    pid_t pids[PROCESSES];

    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (!pids[i]) {
            for (int k = 0; k < ROUNDS; k++) {
                if (settings_file_change(path, "n", count_up, NULL, NULL) < 0)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    buf_addf(&expect, "{\n  \"n\": %d\n}\n", PROCESSES * ROUNDS);
    assert_text(path, buf_cstr(&expect));
}

UNIT_TEST(settings_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(changes),
        cmocka_unit_test(removals),
        cmocka_unit_test(at_once),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
