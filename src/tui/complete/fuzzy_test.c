#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/complete/fuzzy.h"
#include "unit.h"

/* Better matches come before worse ones. */
struct rank_case {
    const char *query;
    const char *names[4];
};

static const struct rank_case rank_cases[] = {
    {"main", {"src/main.c", "src/maintain/other.c", "docs/domain.md"}},
    {"main", {"main.c", "src/main.c", "src/tui/very/deep/main.c"}},
    {"edt", {"src/edit_draw_text.c", "src/edited.c", "src/credit/x.c"}},
    {"ed", {"src/editor.c", "src/tui/need.c"}},
    {"editor", {"src/tui/editor.c", "src/tui/editor_vim.c", "src/tui/the_big_editor_of_all.c"}},
    {"tuied", {"src/tui/editor.c", "src/status/untied.c"}},
    {"mk", {"Makefile", "src/smoke.c"}},
    {"fb", {"fooBar.js", "fogb.js", "foggyb.js"}},
    {"readme", {"README.md", "docs/readme-old.md"}},
    {"src", {"src/", "src/a.c", "scripts/run.c"}},
    {"", {"a", "longer", ".hidden", "a/b"}},
};

static void ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rank_cases); i++) {
        const struct rank_case *c = &rank_cases[i];

        for (size_t j = 0; j + 1 < ARRAY_LEN(c->names) && c->names[j + 1]; j++) {
            int better = 0, worse = 0;

            if (!fuzzy_match(str_of(c->query), str_of(c->names[j]), &better) ||
                !fuzzy_match(str_of(c->query), str_of(c->names[j + 1]), &worse))
                fail_msg("%s does not match %s and %s", c->query, c->names[j], c->names[j + 1]);
            /* Of the same score, the list takes the shorter one first. */
            if (better < worse ||
                (better == worse && str_of(c->names[j]).len > str_of(c->names[j + 1]).len))
                fail_msg("%s: %s (%d) is worse than %s (%d)", c->query, c->names[j], better,
                         c->names[j + 1], worse);
        }
    }
}

/* Matched letters in brackets; none: no match. */
static const struct {
    const char *query, *text, *shown;
} place_cases[] = {
    {"main", "src/main.c", "src/[m][a][i][n].c"},
    {"mc", "src/main.c", "src/[m]ain.[c]"},
    {"SRC", "src/x", "[s][r][c]/x"},
    {"fb", "foo_bar", "[f]oo_[b]ar"},
    {"oo", "foo_o", "f[o][o]_o"},
    {"x", "abc", NULL},
    {"ba", "ab", NULL},
    {"abcd", "abc", NULL},
    {"\xc3\xa9", "caf\xc3\xa9", "caf[\xc3][\xa9]"},
    {"\xc3\xa9", "\xc3\xa4\xc2\xa9", NULL}, /* bytes of two characters */
    {"a b", "a b", "[a][ ][b]"},
    {"", "abc", "abc"},
};

static void places(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(place_cases); i++) {
        CLEANUP(buf_release) struct buf shown = BUF_INIT(1000);
        struct str text = str_of(place_cases[i].text);
        unsigned short at[FUZZY_MAX_QUERY];
        size_t count = fuzzy_places(str_of(place_cases[i].query), text, at);
        size_t next = 0;
        int score;
        bool fits = fuzzy_match(str_of(place_cases[i].query), text, &score);

        assert_int_equal(fits, place_cases[i].shown != NULL);
        if (!fits)
            continue;
        for (size_t j = 0; j < text.len; j++) {
            bool hit = next < count && at[next] == j;

            next += hit;
            buf_addf(&shown, hit ? "[%c]" : "%c", text.ptr[j]);
        }
        if (!str_is(buf_str(&shown), place_cases[i].shown))
            fail_msg("row %zu: %s", i, buf_cstr(&shown));
    }
}

/* Missing letters can be detected without a search, and never wrongly. */
static void letters(void **state)
{
    static const char *const names[] = {"src/main.c", "README.md", "a b-c_d.e", "caf\xc3\xa9", "0"};
    static const char *const queries[] = {"m", "rd", "z", "\xc3\xa9", "-", "A", "0", "9"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (size_t j = 0; j < ARRAY_LEN(queries); j++) {
            int score;
            bool may = !(fuzzy_letters(str_of(queries[j])) & ~fuzzy_letters(str_of(names[i])));

            assert_true(may || !fuzzy_match(str_of(queries[j]), str_of(names[i]), &score));
        }
    }
    assert_false(fuzzy_letters(STR("z")) == fuzzy_letters(STR("a")));
}

/* Long names and questions have limits, and no more. */
static void limits(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf query = BUF_INIT(BUF_NO_LIMIT);
    unsigned short at[FUZZY_MAX_QUERY];
    int score;

    (void)state;
    while (text.len < 5000)
        buf_adds(&text, "folder/");
    buf_adds(&text, "end.c");
    assert_true(fuzzy_match(STR("end.c"), buf_str(&text), &score));
    assert_int_equal(fuzzy_places(STR("end.c"), buf_str(&text), at), 5);
    assert_int_equal(at[4], text.len - 1);
    while (query.len <= FUZZY_MAX_QUERY)
        buf_addc(&query, 'f');
    assert_false(fuzzy_match(buf_str(&query), buf_str(&text), &score));
    assert_int_equal(fuzzy_places(buf_str(&query), buf_str(&text), at), 0);
}

UNIT_TEST(fuzzy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(places),
        cmocka_unit_test(letters),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
