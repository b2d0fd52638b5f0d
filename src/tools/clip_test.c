#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "tools/clip.h"
#include "unit.h"

struct clip_case {
    int lines; /* of ten bytes: "line 0001\n" */
    const char *starts;
    const char *says;
    const char *ends;
};

static const struct clip_case clip_cases[] = {
    {1, "line 0001\n", NULL, "line 0001\n"},
    {15, "line 0001\nline 0002\n", NULL, "line 0015\n"}, /* 50 + 100 bytes are kept whole */
    {16, "line 0001\n", "lines) left out here; the whole output is in /x", "line 0016\n"},
    {9999, "line 0001\nline 0002\n", "(9985 lines)", "line 9998\nline 9999\n"},
};

static void clips(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clip_cases); i++) {
        const struct clip_case *c = &clip_cases[i];

        for (int per_add = 1; per_add <= 30; per_add += 7) {
            CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
            CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
            struct clip clip;

            clip_init(&clip, 50, 100);
            for (int line = 1; line <= c->lines; line++) {
                buf_addf(&text, "line %04d\n", line);
                if (line % per_add == 0 || line == c->lines) {
                    clip_add(&clip, buf_str(&text));
                    buf_clear(&text);
                }
            }
            clip_write(&clip, "/x", &out);
            if (!str_starts(buf_str(&out), str_of(c->starts)) ||
                !str_ends(buf_str(&out), str_of(c->ends)) ||
                (c->says ? !str_has(buf_str(&out), str_of(c->says))
                         : str_has(buf_str(&out), STR("left out"))))
                fail_msg("row %zu, %d lines at once:\n%s", i, per_add, buf_cstr(&out));
            assert_int_equal(clip.total, (size_t)c->lines * 10);
            clip_release(&clip);
        }
    }
}

/* Without lines it is cut between characters. */
static void clip_characters(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct clip clip;

    (void)state;
    clip_init(&clip, 10, 10);
    for (int i = 0; i < 100; i++)
        clip_add(&clip, STR("\xe2\x82\xac"));
    clip_write(&clip, NULL, &out);
    assert_true(utf8_is_valid(buf_str(&out)));
    assert_true(str_has(buf_str(&out), STR("[... 282 bytes (0 lines) left out here ...]")));
    clip_release(&clip);
}

static void clip_last_lines(void **state)
{
    struct clip clip;

    (void)state;
    clip_init(&clip, 100, 100);
    clip_add(&clip, STR("one\ntwo\nthree\n"));
    assert_true(str_is(clip_last(&clip, 100, 2), "two\nthree"));
    assert_true(str_is(clip_last(&clip, 100, 9), "one\ntwo\nthree"));
    assert_true(str_is(clip_last(&clip, 4, 9), "hree"));
    clip_release(&clip);
}

UNIT_TEST(clip)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips),
        cmocka_unit_test(clip_characters),
        cmocka_unit_test(clip_last_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
