/*
 * Patches applied give the new text; they are minimal where that is promised, and quick on large
 * and on hostile texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "guard/patch.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

static const struct {
    const char *old;
    const char *new;
    const char *want;
} patch_cases[] = {
    {"a\nb\nc\n", "a\nb\nc\n", "[]"},
    {"", "a\n",
     "[{\"oldStart\":0,\"oldLines\":0,\"newStart\":1,\"newLines\":1,\"lines\":[\"+a\"]}]"},
    {"a\n", "",
     "[{\"oldStart\":1,\"oldLines\":1,\"newStart\":0,\"newLines\":0,\"lines\":[\"-a\"]}]"},
    {"a\nb\nc\n", "a\nx\nc\n",
     "[{\"oldStart\":1,\"oldLines\":3,\"newStart\":1,\"newLines\":3,"
     "\"lines\":[\" a\",\"-b\",\"+x\",\" c\"]}]"},
    {"a\r\nb\r\n", "a\r\nc\r\n",
     "[{\"oldStart\":1,\"oldLines\":2,\"newStart\":1,\"newLines\":2,"
     "\"lines\":[\" a\",\"-b\",\"+c\"]}]"},
    {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n9\n",
     "[{\"oldStart\":6,\"oldLines\":4,\"newStart\":6,\"newLines\":5,"
     "\"lines\":[\" 6\",\" 7\",\" 8\",\"+x\",\" 9\"]}]"},
    /* Contexts that touch are one hunk; those that do not are two. */
    {"a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
     "[{\"oldStart\":1,\"oldLines\":8,\"newStart\":1,\"newLines\":8,\"lines\":[\"-a\",\"+A\","
     "\" 1\",\" 2\",\" 3\",\" 4\",\" 5\",\" 6\",\"-b\",\"+B\"]}]"},
    {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
     "[{\"oldStart\":1,\"oldLines\":4,\"newStart\":1,\"newLines\":4,"
     "\"lines\":[\"-a\",\"+A\",\" 1\",\" 2\",\" 3\"]},"
     "{\"oldStart\":6,\"oldLines\":4,\"newStart\":6,\"newLines\":4,"
     "\"lines\":[\" 5\",\" 6\",\" 7\",\"-b\",\"+B\"]}]"},
};

static void rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patch_cases); i++) {
        struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct patch p;
        struct jw out;

        patch_make(&p, str_of(patch_cases[i].old), str_of(patch_cases[i].new), 3);
        jw_init(&out, &text, 0);
        patch_write(&p, &out);
        if (strcmp(buf_cstr(&text), patch_cases[i].want) != 0)
            fail_msg("row %zu: got %s", i, buf_cstr(&text));
        patch_release(&p);
        buf_release(&text);
    }
}

/* Old lines and hunks give the new lines; how many lines the patch adds and deletes. */
static size_t check_patch(struct str old, struct str new, const char *what)
{
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct buf made = BUF_INIT(BUF_NO_LIMIT);
    const struct json *hunks = NULL;
    struct patch p;
    struct jw out;
    struct err err = {0};
    size_t i = 0;
    size_t changes = 0;

    patch_make(&p, old, new, 3);
    jw_init(&out, &text, 0);
    patch_write(&p, &out);
    if (json_parse(&arena, buf_str(&text), &hunks, NULL, &err) < 0)
        fail_msg("%s: %s", what, err.text);
    JSON_EACH(hunks, hunk) {
        size_t at = (size_t)json_get_i64(hunk, "oldStart", 0);

        at -= json_get_i64(hunk, "oldLines", 0) > 0;
        for (; i < at; i++) {
            buf_add(&made, p.olds.ptr[i]);
            buf_addc(&made, '\n');
        }
        JSON_EACH(json_get(hunk, "lines"), line) {
            char kind = json_str(line).ptr[0];
            struct str rest = str_from(json_str(line), 1);

            changes += kind != ' ';
            if (kind != '+' && !str_eq(rest, p.olds.ptr[i++]))
                fail_msg("%s: the patch has another old line %zu", what, i);
            if (kind != '-') {
                buf_add(&made, rest);
                buf_addc(&made, '\n');
            }
        }
    }
    for (; i < p.olds.len; i++) {
        buf_add(&made, p.olds.ptr[i]);
        buf_addc(&made, '\n');
    }
    if (!str_eq(buf_str(&made), new))
        fail_msg("%s: the patch gives another text", what);
    patch_release(&p);
    arena_release(&arena);
    buf_release(&text);
    buf_release(&made);
    return changes;
}

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* The length of a longest common subsequence, the slow and certain way. */
static size_t common_lines(struct str a, struct str b)
{
    size_t table[41][41] = {{0}};

    for (size_t i = 1; i <= a.len / 2; i++) {
        for (size_t j = 1; j <= b.len / 2; j++) {
            size_t up = table[i - 1][j];
            size_t left = table[i][j - 1];

            table[i][j] = up > left ? up : left;
            if (a.ptr[2 * i - 2] == b.ptr[2 * j - 2])
                table[i][j] = table[i - 1][j - 1] + 1;
        }
    }
    return table[a.len / 2][b.len / 2];
}

static void random_patches_are_minimal(void **state)
{
    (void)state;
    for (size_t round = 0; round < 5000; round++) {
        char old[80];
        char new[80];
        uint32_t letters = 1 + random_below(6);
        size_t n = random_below(40);
        size_t m = random_below(40);
        size_t changes;
        char what[40];

        for (size_t i = 0; i < n; i++) {
            old[2 * i] = (char)('a' + random_below(letters));
            old[2 * i + 1] = '\n';
        }
        for (size_t i = 0; i < m; i++) {
            new[2 * i] = (char)('a' + random_below(letters));
            new[2 * i + 1] = '\n';
        }
        snprintf(what, sizeof(what), "round %zu", round);
        changes = check_patch(str_make(old, 2 * n), str_make(new, 2 * m), what);
        if (changes != n + m - 2 * common_lines(str_make(old, 2 * n), str_make(new, 2 * m)))
            fail_msg("round %zu: %zu changes are not the least", round, changes);
    }
}

static void add_lines(struct buf *b, size_t count, uint32_t kinds)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(b, "line %u\n", kinds ? random_below(kinds) : (unsigned)i);
}

static void large_texts_are_quick(void **state)
{
    struct buf a = BUF_INIT(BUF_NO_LIMIT);
    struct buf b = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    /* One line in the midst of 100,000. */
    add_lines(&a, 100000, 0);
    add_lines(&b, 50000, 0);
    buf_adds(&b, "new\n");
    buf_add(&b, str_from(buf_str(&a), b.len - 4));
    assert_int_equal(check_patch(buf_str(&a), buf_str(&b), "one of many"), 1);

    /* Nothing in common; few kinds of lines in a wild order, the worst there is. */
    buf_clear(&b);
    for (size_t i = 0; i < 100000; i++)
        buf_addf(&b, "other %zu\n", i);
    assert_int_equal(check_patch(buf_str(&a), buf_str(&b), "nothing in common"), 200000);
    buf_clear(&a);
    buf_clear(&b);
    add_lines(&a, 20000, 3);
    add_lines(&b, 20000, 3);
    check_patch(buf_str(&a), buf_str(&b), "few kinds");

    /* Every third line of 30,000 changed: more than Myers takes on, cut at the others. */
    buf_clear(&a);
    buf_clear(&b);
    add_lines(&a, 30000, 0);
    for (unsigned i = 0; i < 30000; i++)
        buf_addf(&b, i % 3 ? "line %u\n" : "changed %u\n", i);
    assert_int_equal(check_patch(buf_str(&a), buf_str(&b), "every third"), 20000);
    buf_release(&a);
    buf_release(&b);
}

UNIT_TEST(patch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(random_patches_are_minimal),
        cmocka_unit_test(large_texts_are_quick),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
