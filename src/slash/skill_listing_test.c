/*
 * The list of skills as the model hears it: once, then what changed, within its budget.
 */
#include "slash/skill_listing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "slash/own.h"
#include "unit.h"

/* Some skills that live on the stack. */
struct set {
    struct own_list list;
    struct own_command skills[100];
};

static void set_add(struct set *s, const char *name, const char *line)
{
    struct own_command *c = &s->skills[s->list.commands.len];

    *c = (struct own_command){.name = str_of(name), .line = str_of(line), .level = LEVEL_USER};
    s->list.commands.ptr = s->skills;
    s->list.commands.len++;
}

static void say(struct skill_listing *l, const struct set *s, size_t budget, struct buf *block,
                struct buf *attachment)
{
    struct skill_listing_spec spec = {.skills = &s->list, .budget = budget, .is_trusted = true};

    buf_clear(block);
    buf_clear(attachment);
    skill_listing_say(l, &spec, block, attachment);
}

static void test_deltas(void **state)
{
    CLEANUP(skill_listing_release) struct skill_listing l = SKILL_LISTING_INIT;
    CLEANUP(skill_listing_release) struct skill_listing resumed = SKILL_LISTING_INIT;
    CLEANUP(buf_release) struct buf block = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct set s = {0};

    (void)state;
    say(&l, &s, 8000, &block, &line);
    assert_int_equal(block.len, 0); /* no skills, no words */
    set_add(&s, "web:test", "Tests the web part");
    set_add(&s, "alpha", "Does alpha - for: alpha");
    say(&l, &s, 8000, &block, &line);
    assert_true(str_has(buf_str(&block), STR("\n- alpha: Does alpha - for: alpha\n- web:test: ")));
    assert_true(str_has(buf_str(&line), STR("\"isInitial\":true,\"skillCount\":2")));
    buf_add(&all, buf_str(&block));
    say(&l, &s, 8000, &block, &line);
    assert_int_equal(block.len + line.len, 0);

    s.skills[0].line = STR("Tests all");
    s.skills[1].name = STR("beta");
    say(&l, &s, 8000, &block, &line);
    assert_true(str_has(buf_str(&block), STR("changed.\n- beta: ")));
    assert_true(str_has(buf_str(&block), STR("\n- web:test: Tests all\nNo longer there: alpha\n")));
    assert_true(str_has(buf_str(&line), STR("\"isInitial\":false")));
    assert_true(str_has(buf_str(&line), STR("\"removedNames\":[\"alpha\"]")));
    buf_add(&all, buf_str(&block));

    skill_listing_recall(&resumed, buf_str(&all)); /* as a resumed session does */
    say(&resumed, &s, 8000, &block, &line);
    assert_int_equal(block.len, 0);
    s.list.commands.len = 1;
    say(&resumed, &s, 8000, &block, &line);
    assert_true(str_has(buf_str(&block), STR("changed.\nNo longer there: beta\n")));
}

/* Names are never dropped; descriptions are cut to one length, and then left out from the end. */
static void test_budget(void **state)
{
    static const struct {
        size_t budget, shortened, bare;
    } rows[] = {{100000, 0, 0}, {8000, 80, 0}, {5000, 71, 9}, {10, 0, 80}};
    char names[80][16];
    char *text = mem_alloc(801);
    struct set s = {0};

    (void)state;
    memset(text, 'x', 800);
    text[800] = '\0';
    for (int i = 0; i < 80; i++) {
        snprintf(names[i], sizeof(names[i]), "s%02d", i);
        set_add(&s, names[i], text);
    }
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        CLEANUP(skill_listing_release) struct skill_listing l = SKILL_LISTING_INIT;
        CLEANUP(skill_listing_release) struct skill_listing resumed = SKILL_LISTING_INIT;
        CLEANUP(buf_release) struct buf block = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf nothing = BUF_INIT(BUF_NO_LIMIT);

        say(&l, &s, rows[r].budget, &block, &line);
        for (int i = 0; i < 80; i++)
            assert_true(str_has(buf_str(&block), str_of(names[i])));
        assert_int_equal(l.shortened, rows[r].shortened);
        assert_int_equal(l.bare, rows[r].bare);
        if (rows[r].budget > 1000) /* "…" has three bytes and counts as one character */
            assert_true(block.len < rows[r].budget + 200 + 2 * 80);
        skill_listing_recall(&resumed, buf_str(&block));
        say(&resumed, &s, rows[r].budget, &nothing, &line);
        assert_int_equal(nothing.len, 0); /* cut text counts as announced */
    }
    mem_freep(&text);
}

static void test_who_is_listed(void **state)
{
    CLEANUP(strv_release) struct strv files = STRV_INIT;
    struct own_command c = {.name = STR("a"), .line = STR("b"), .level = LEVEL_PROJECT};

    (void)state;
    assert_true(skill_is_listed(&c, NULL, true));
    assert_false(skill_is_listed(&c, NULL, false));
    c.level = LEVEL_USER;
    assert_true(skill_is_listed(&c, NULL, false));
    strv_adds(&files, "/w/src/a.rs");
    strv_adds(&c.paths, "*.rs");
    assert_false(skill_is_listed(&c, NULL, true));
    assert_true(skill_is_listed(&c, &files, true));
    c.is_users = true;
    assert_false(skill_is_listed(&c, &files, true));
    strv_release(&c.paths);
}

UNIT_TEST(skill_listing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deltas),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_who_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
