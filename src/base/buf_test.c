/* buf: growth, the limit, reading descriptors, base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit.h"

static void limit_is_kept(void **state)
{
    struct buf b = BUF_INIT(8);
    struct err err = {0};

    (void)state;
    buf_adds(&b, "12345678");
    assert_int_equal(buf_check(&b, &err), 0);
    buf_addc(&b, '9');
    assert_int_equal(b.len, 8);
    assert_int_equal(buf_check(&b, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    buf_cut(&b, 0, 4);
    buf_addc(&b, 'x'); /* once something is missing, nothing more is added */
    assert_string_equal(buf_cstr(&b), "5678");
    buf_clear(&b);
    buf_adds(&b, "again");
    assert_string_equal(buf_cstr(&b), "again");
    assert_int_equal(buf_check(&b, &err), 0);
    buf_release(&b);
}

static const struct {
    int64_t n;
    const char *text;
} integers[] = {
    {0, "0"},
    {7, "7"},
    {-10, "-10"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

static void adds_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
        struct buf b = BUF_INIT(BUF_NO_LIMIT);

        buf_addi(&b, integers[i].n);
        assert_string_equal(buf_cstr(&b), integers[i].text);
        buf_release(&b);
    }
}

/* One at a time, up to the limit and not past it. */
static void adds_characters(void **state)
{
    struct buf b = BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        buf_addc(&b, (char)('a' + i % 26));
        assert_int_equal(b.len, i + 1);
        assert_int_equal(strlen(buf_cstr(&b)), b.len);
        assert_false(b.over);
    }
    buf_addc(&b, 'x');
    assert_int_equal(b.len, 1000);
    assert_true(b.over);
    assert_int_equal(b.ptr[999], 'a' + 999 % 26);
    buf_release(&b);
}

static void formats_long_texts(void **state)
{
    struct buf b = BUF_INIT(BUF_NO_LIMIT);
    char long_text[1000];

    (void)state;
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    buf_addf(&b, "%s-%d", long_text, 7);
    assert_int_equal(b.len, 1001);
    assert_string_equal(buf_cstr(&b) + 999, "-7");
    buf_release(&b);
}

static void edits(void **state)
{
    struct buf b = BUF_INIT(100);

    (void)state;
    buf_adds(&b, "hello world");
    buf_insert(&b, 5, STR(", big"));
    assert_string_equal(buf_cstr(&b), "hello, big world");
    buf_cut(&b, 5, 5);
    assert_string_equal(buf_cstr(&b), "hello world");
    buf_cut(&b, 5, 500);
    assert_string_equal(buf_cstr(&b), "hello");
    buf_cut(&b, 99, 1);
    buf_insert(&b, 99, STR("!"));
    assert_string_equal(buf_cstr(&b), "hello!");
    buf_release(&b);
}

static void reads_a_pipe_up_to_the_limit(void **state)
{
    const struct {
        size_t max;
        int rc;
    } rows[] = {{9, -1}, {10, 0}, {11, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b = BUF_INIT(rows[i].max);
        struct err err = {0};
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "0123456789", 10), 10);
        close(ends[1]);
        if (buf_add_fd(&b, ends[0], &err) != rows[i].rc)
            fail_msg("row %zu: %s", i, err.text);
        if (rows[i].rc < 0)
            assert_int_equal(err.code, ERR_TOO_BIG);
        else
            assert_string_equal(buf_cstr(&b), "0123456789");
        close(ends[0]);
        buf_release(&b);
    }
}

static void base64(void **state)
{
    const struct {
        const char *in, *out;
    } rows[] = {{"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
                {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe", "//4="}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b = BUF_INIT(100);

        buf_add_base64(&b, str_of(rows[i].in));
        assert_string_equal(buf_cstr(&b), rows[i].out);
        buf_release(&b);
    }
}

static void moves(void **state)
{
    struct buf a = BUF_INIT(100);
    struct buf b = BUF_INIT(50);
    char *taken;

    (void)state;
    buf_adds(&a, "old");
    buf_adds(&b, "new");
    buf_move(&a, &b);
    assert_string_equal(buf_cstr(&a), "new");
    assert_string_equal(buf_cstr(&b), "");
    taken = buf_take(&a);
    assert_string_equal(taken, "new");
    assert_int_equal(a.len, 0);
    mem_freep(&taken);
    taken = buf_take(&a); /* an empty one gives an empty text, not NULL */
    assert_string_equal(taken, "");
    mem_freep(&taken);
    buf_release(&a);
    buf_release(&b);
}

UNIT_TEST(buf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_is_kept),   cmocka_unit_test(adds_integers),
        cmocka_unit_test(adds_characters), cmocka_unit_test(formats_long_texts),
        cmocka_unit_test(edits),           cmocka_unit_test(reads_a_pipe_up_to_the_limit),
        cmocka_unit_test(base64),          cmocka_unit_test(moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
