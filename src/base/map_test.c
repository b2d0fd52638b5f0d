/* map: against a plain array, in insertion order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"
#include "unit.h"

static void keeps_order_and_values(void **state)
{
    struct map m = MAP_INIT;
    char key[32];
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        assert_null(map_set(&m, str_of(key), (void *)(intptr_t)(i + 1)));
    }
    for (int i = 0; i < 500; i += 3) {
        snprintf(key, sizeof(key), "key%d", i);
        assert_ptr_equal(map_remove(&m, str_of(key)), (void *)(intptr_t)(i + 1));
        assert_null(map_remove(&m, str_of(key)));
    }
    MAP_EACH(&m, it) {
        while (n % 3 == 0)
            n++;
        snprintf(key, sizeof(key), "key%zu", n);
        assert_true(str_is(it->key, key));
        assert_ptr_equal(it->value, (void *)(intptr_t)(n + 1));
        assert_ptr_equal(map_get(&m, it->key), it->value);
        n++;
    }
    assert_int_equal(m.len, 333);
    map_release(&m);
}

static void replaces(void **state)
{
    struct map m = MAP_INIT;
    int a, b;

    (void)state;
    assert_null(map_get(&m, STR("x")));
    assert_null(map_set(&m, STR("x\0y"), &a));
    assert_ptr_equal(map_set(&m, STR("x\0y"), &b), &a);
    assert_ptr_equal(map_get(&m, STR("x\0y")), &b);
    assert_false(map_has(&m, STR("x"))); /* keys are bytes, NUL included */
    map_release(&m);
}

UNIT_TEST(map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_and_values),
        cmocka_unit_test(replaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
