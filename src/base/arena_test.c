/* arena: alignment, large blocks, reset; vec and strv ride along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "unit.h"

static void gives_aligned_memory_that_lasts(void **state)
{
    struct arena a = ARENA_INIT;
    char *all[2000];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            size_t n = i % 7 == 0 ? 5000 + i * 100 : i % 100 + 1;

            all[i] = arena_alloc(&a, n);
            assert_int_equal((uintptr_t)all[i] % 16, 0);
            memset(all[i], (int)(i & 0xFF), n);
        }
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            assert_int_equal((unsigned char)all[i][0], i & 0xFF);
        arena_reset(&a);
        assert_int_equal(a.total, 0);
    }
    arena_release(&a);
    arena_release(&a);
}

static void copies_strings(void **state)
{
    struct arena a = ARENA_INIT;
    struct str s = arena_str(&a, STR("abc"));

    (void)state;
    assert_true(str_is(s, "abc"));
    assert_int_equal(s.ptr[3], 0);
    assert_string_equal(arena_cstr(&a, STR("")), "");
    arena_release(&a);
}

static void large_ones_do_not_count(void **state)
{
    static const size_t larges[] = {300, 5000, 1 << 20};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(larges); i++) {
        struct arena a = ARENA_INIT;
        struct arena fresh = ARENA_INIT;

        (void)arena_alloc(&a, larges[i]); /* has a separate block, */
        (void)arena_alloc(&a, 16);        /* and this one the first of the others */
        (void)arena_alloc(&fresh, 16);
        assert_int_equal(a.end - a.at, fresh.end - fresh.at);
        arena_release(&a);
        arena_release(&fresh);
    }
}

static void vec_grows(void **state)
{
    VEC(int) v = VEC_INIT;
    int sum = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        vec_push(&v, i);
    VEC_EACH(&v, it)
        sum += *it;
    assert_int_equal(sum, 499500);
    vec_release(&v);
    assert_int_equal(v.len, 0);
}

static void strv_is_terminated(void **state)
{
    struct strv v = STRV_INIT;
    struct strv w = STRV_INIT;

    (void)state;
    assert_null(strv_get(&v)[0]);
    for (int i = 0; i < 20; i++)
        strv_addf(&v, "n%d", i);
    assert_int_equal(v.len, 20);
    assert_null(strv_get(&v)[20]);
    assert_true(strv_has(&v, STR("n19")));
    assert_false(strv_has(&v, STR("n20")));
    strv_add_all(&w, &v);
    strv_clear(&v);
    assert_null(strv_get(&v)[0]);
    assert_string_equal(w.ptr[7], "n7");
    strv_release(&v);
    strv_release(&w);
}

UNIT_TEST(arena)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_aligned_memory_that_lasts),
        cmocka_unit_test(copies_strings),
        cmocka_unit_test(large_ones_do_not_count),
        cmocka_unit_test(vec_grows),
        cmocka_unit_test(strv_is_terminated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
