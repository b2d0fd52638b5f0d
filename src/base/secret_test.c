/* secret and log: registered values never show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"
#include "unit.h"

static void scrubs(void **state)
{
    struct buf text = BUF_INIT(1000);
    char fixed[40] = "key sk-test-123456 refused";

    (void)state;
    secret_add(STR("short"));
    secret_add(STR("sk-test-123456"));
    secret_add(STR("sk-test-123456\n"));
    buf_adds(&text, "sk-test-123456 and short, sk-test-123456sk-test-123456");
    secret_scrub(&text);
    assert_string_equal(buf_cstr(&text), "[hidden] and short, [hidden][hidden]");
    secret_scrub_text(fixed, sizeof(fixed));
    assert_string_equal(fixed, "key [hidden] refused");
    buf_release(&text);
}

static void scrubs_the_longest(void **state)
{
    struct buf text = BUF_INIT(1000);

    (void)state;
    secret_add(STR("prefix-key"));
    secret_add(STR("prefix-key-and-more"));
    buf_adds(&text, "prefix-key-and-more prefix-key-and-les");
    secret_scrub(&text);
    assert_string_equal(buf_cstr(&text), "[hidden] [hidden]-and-les");
    buf_release(&text);
}

/* As it stands in a line of JSON, too. */
static void scrubs_escaped(void **state)
{
    struct buf text = BUF_INIT(1000);

    (void)state;
    secret_add(STR("two\nlines \"quoted\" \\ slashed"));
    buf_adds(&text, "{\"a\":\"two\\nlines \\\"quoted\\\" \\\\ slashed!\"}");
    assert_true(secret_is_in(buf_str(&text)));
    secret_scrub(&text);
    assert_string_equal(buf_cstr(&text), "{\"a\":\"[hidden]!\"}");
    assert_false(secret_is_in(buf_str(&text)));
    buf_release(&text);
}

static const struct {
    const char *text;
    size_t tail;
} tail_rows[] = {
    {"", 0},
    {"nothing", 0},
    {"so", 0},
    {"the keys", 1},
    {"sk-te", 5},
    {"a sk-test-12345", 13},
    {"sk-test-123456", 0}, /* whole: it is scrubbed, not kept */
    {"sk-test-sk-te", 5},
    {"sk-test-123457", 0},
    {"a s3cret-abcs3", 0}, /* it ends as it begins, and is not to be cut in two */
    {"a s3cret-abcs3cret", 0},
    {"a s3cret-abcs3 s3", 2},
};

static void tails(void **state)
{
    (void)state;
    secret_add(STR("s3cret-abcs3"));
    for (size_t i = 0; i < sizeof(tail_rows) / sizeof(tail_rows[0]); i++) {
        if (secret_tail(str_of(tail_rows[i].text)) != tail_rows[i].tail)
            fail_msg("%s: %zu", tail_rows[i].text, secret_tail(str_of(tail_rows[i].text)));
    }
}

/* A short key is hidden when it is no word and no number. */
static void short_ones(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    (void)state;
    secret_add(STR("ollama"));
    secret_add(STR("123456"));
    secret_add(STR("a1b2c"));
    secret_add(STR("a1b2c3"));
    secret_add(STR("sk-12ab"));
    buf_adds(&text, "ollama 123456 a1b2c a1b2c3 sk-12ab");
    secret_scrub(&text);
    assert_string_equal(buf_cstr(&text), "ollama 123456 a1b2c hidden hidden");
}

static void masks(void **state)
{
    struct buf text = BUF_INIT(1000);

    (void)state;
    secret_mask(STR("sk-ant-api03-abcdefgh"), &text);
    assert_string_equal(buf_cstr(&text), "sk-a…efgh (21 characters)");
    buf_clear(&text);
    secret_mask(STR("hunter2hunter2"), &text);
    assert_string_equal(buf_cstr(&text), "… (14 characters)");
    buf_release(&text);
}

static void *log_lines(void *arg)
{
    for (int i = 0; i < 200; i++)
        log_debug("test", "thread %s line %d sk-test-123456\nstill the same line",
                  (const char *)arg, i);
    return NULL;
}

static void log_is_whole_lines_without_secrets(void **state)
{
    char path[] = "/tmp/tenax-log-XXXXXX";
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    pthread_t threads[2];
    struct err err = {0};
    struct str rest;
    struct str line;
    size_t lines = 0;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    log_debug("test", "nobody reads this: %s", "it is not open yet");
    assert_int_equal(log_open(path, &err), 0);
    pthread_create(&threads[0], NULL, log_lines, (void *)"a");
    pthread_create(&threads[1], NULL, log_lines, (void *)"b");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    log_close();
    assert_int_equal(file_slurp(path, 1 << 20, &text, &err), 0);
    unlink(path);
    assert_null(strstr(text.ptr, "sk-test"));
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        if (!line.len)
            continue;
        lines++;
        assert_true(str_has(line, STR(" test  thread ")));
        assert_true(str_ends(line, STR("[hidden] still the same line")));
    }
    assert_int_equal(lines, 400);
    assert_int_equal(log_open("/nonexistent/dir/log", &err), -1);
}

/* A helper makes a new key every few minutes, for days: the last ones are masked, and so are those
 * known at the start. */
static void keys_that_change(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    char key[40];

    (void)state;
    secret_add(STR("sk-first-of-all"));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "sk-rotating-%04d", i);
        secret_add(str_of(key));
        assert_true(secret_is_in(str_of(key)));
    }
    buf_adds(&text, "sk-first-of-all sk-rotating-0999 sk-rotating-0980 sk-rotating-0999");
    secret_scrub(&text);
    assert_string_equal(buf_cstr(&text), "[hidden] [hidden] [hidden] [hidden]");
}

UNIT_TEST(secret)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scrubs),
        cmocka_unit_test(tails),
        cmocka_unit_test(scrubs_the_longest),
        cmocka_unit_test(scrubs_escaped),
        cmocka_unit_test(short_ones),
        cmocka_unit_test(masks),
        cmocka_unit_test(log_is_whole_lines_without_secrets),
        cmocka_unit_test(keys_that_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
