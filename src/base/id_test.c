/* id and clock: shapes, seeds, a clock that stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "unit.h"

static void shapes(void **state)
{
    char uuid[ID_UUID_LEN + 1];
    char id[40];
    struct str made = id_make(id, sizeof(id), "toolu_", 24);

    (void)state;
    assert_int_equal(made.len, 30);
    assert_int_equal(
        strspn(id + 6, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 24);
    for (int i = 0; i < 100; i++) {
        id_uuid(uuid);
        assert_int_equal(strlen(uuid), 36);
        assert_int_equal(uuid[14], '4');
        assert_non_null(strchr("89ab", uuid[19]));
        assert_int_equal(strspn(uuid, "0123456789abcdef-"), 36);
    }
}

static void seeds_repeat(void **state)
{
    char a[37], b[37], c[37];

    (void)state;
    id_seed(1);
    id_uuid(a);
    id_seed(1);
    id_uuid(b);
    id_uuid(c);
    assert_string_equal(a, b);
    assert_string_not_equal(b, c);
}

static const struct uuid_case {
    const char *text;
    bool is_uuid;
} uuid_cases[] = {
    {"01234567-89ab-4def-8123-456789abcdef", true},
    {"01234567-89AB-1DEF-0123-456789ABCDEF", true},
    {"01234567-89ab-4def-8123-456789abcde", false},
    {"01234567-89ab-4def-8123-456789abcdefa", false},
    {"01234567089ab-4def-8123-456789abcdef", false},
    {"01234567-89ab-4def-8123-456789abcdeg", false},
    {"01234567-89ab-4def-8123-456789abc-ef", false},
    {"", false},
};

static void uuids(void **state)
{
    char made[ID_UUID_LEN + 1];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(uuid_cases); i++) {
        if (id_is_uuid(str_of(uuid_cases[i].text)) != uuid_cases[i].is_uuid)
            fail_msg("'%s'", uuid_cases[i].text);
    }
    id_uuid(made);
    assert_true(id_is_uuid(str_of(made)));
}

static void clocks(void **state)
{
    char text[25];
    int64_t before = clock_mono_ms();

    (void)state;
    assert_true(clock_mono_ms() >= before);
    assert_true(clock_wall_ms() > 1600000000000);
    clock_iso(1767225600123, text);
    assert_string_equal(text, "2026-01-01T00:00:00.123Z");
    clock_iso(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    clock_make_virtual(5000);
    assert_true(clock_is_virtual());
    assert_int_equal(clock_mono_ms(), 5000);
    clock_advance_ms(250);
    assert_int_equal(clock_mono_ms(), 5250);
    assert_int_equal(clock_mono_us(), 5250000);
}

UNIT_TEST(id)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(seeds_repeat),
        cmocka_unit_test(uuids),
        cmocka_unit_test(clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
