/* err: codes, prefixes, cutting at characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/err.h"
#include "base/utf8.h"
#include "unit.h"

static void fills(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(err_set(&err, ERR_DENIED, "no %s", "way"), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_string_equal(err.text, "no way");
    assert_int_equal(err_prefix(&err, "file '%s'", "x"), -1);
    assert_string_equal(err.text, "file 'x': no way");
    errno = ENOENT;
    assert_int_equal(err_sys(&err, ERR_IO, "cannot open"), -1);
    assert_string_equal(err.text, "cannot open: No such file or directory");
    assert_int_equal(err.sys, ENOENT);
    assert_int_equal(err_set(NULL, ERR_IO, "nobody asks"), -1);
    assert_int_equal(err_prefix(NULL, "nobody asks"), -1);
    err_clear(&err);
    assert_int_equal(err.code, ERR_NONE);
    assert_string_equal(err_code_name(ERR_RETRY_LATER), "RETRY_LATER");
    assert_string_equal(err_code_text(ERR_CANCELLED), "somebody asked us to stop");
}

static void long_texts_end_at_a_character(void **state)
{
    struct err err = {0};
    char text[1200];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    err_set(&err, ERR_IO, "%s", text);
    assert_true(utf8_is_valid(str_of(err.text)));
    assert_true(strlen(err.text) > sizeof(err.text) - 4);
    err_prefix(&err, "x"); /* shifts by an odd number of bytes */
    assert_true(utf8_is_valid(str_of(err.text)));
}

UNIT_TEST(err)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(long_texts_end_at_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
