/*
 * Rows of files as people write them: what the model is shown of them, and what they import.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "context/instruction_text.h"
#include "unit.h"

struct text_case {
    const char *raw;
    const char *text;
    const char *imports; /* joined with '|' */
    bool is_rule;
    bool has_paths;
    size_t bad_bytes;
    const char *paths; /* joined with '|' */
};

static const struct text_case cases[] = {
    {"", "", ""},
    {"plain", "plain\n", ""},
    {"a\nb\n", "a\nb\n", ""},
    {"a\r\nb\rc\r\n", "a\nb\nc\n", ""},
    {"\xef\xbb\xbfmark", "mark\n", ""},
    {"caf\xe9 \xff", "caf\xef\xbf\xbd \xef\xbf\xbd\n", "", .bad_bytes = 2},

    /* Imports. */
    {"@a.md", "@a.md\n", "a.md"},
    {"see @docs/a.md, and (@b.md) @~/c.md.\n@/d/e", "see @docs/a.md, and (@b.md) @~/c.md.\n@/d/e\n",
     "docs/a.md|~/c.md|/d/e"},
    {"mail me@home.org", "mail me@home.org\n", ""},
    {"@ @@x @!", "@ @@x @!\n", ""},
    {"@a.md @a.md", "@a.md @a.md\n", "a.md"},
    {"@my\\ notes.md x", "@my\\ notes.md x\n", "my notes.md"},
    {"@a.md#part", "@a.md#part\n", "a.md"},
    {"**@a.md**", "**@a.md**\n", ""},
    {"- @a.md", "- @a.md\n", "a.md"},

    /* Code. */
    {"`@a.md` @b.md", "`@a.md` @b.md\n", "b.md"},
    {"``x ` @a.md`` @b.md", "``x ` @a.md`` @b.md\n", "b.md"},
    {"`open @a.md\nnext` @b.md", "`open @a.md\nnext` @b.md\n", "b.md"},
    {"`never closed @a.md\n\n` @b.md", "`never closed @a.md\n\n` @b.md\n", "a.md|b.md"},
    {"```\n@a.md\n```\n@b.md", "```\n@a.md\n```\n@b.md\n", "b.md"},
    {"~~~ sh\n@a.md\n```\n@c.md\n~~~~\n@b.md", "~~~ sh\n@a.md\n```\n@c.md\n~~~~\n@b.md\n", "b.md"},
    {"````\n```\n@a.md\n````\n@b.md", "````\n```\n@a.md\n````\n@b.md\n", "b.md"},
    {"  ```\n  @a.md\n  ```\n@b.md", "  ```\n  @a.md\n  ```\n@b.md\n", "b.md"},
    {"```\n@never closed.md", "```\n@never closed.md\n", ""},
    {"```inline``` @a.md", "```inline``` @a.md\n", "a.md"},
    {"@before.md\n```\n@in.md\n```", "@before.md\n```\n@in.md\n```\n", "before.md"},

    /* Comments. */
    {"a\n<!-- note -->\nb", "a\nb\n", ""},
    {"<!-- @a.md\n\nmore\n-->\nb", "b\n", ""},
    {"  <!-- x --> rest\nb", " rest\nb\n", ""},
    {"<!--x--><!--y-->\nb", "b\n", ""},
    {"a <!-- inline --> b", "a <!-- inline --> b\n", ""},
    {"    <!-- code -->", "    <!-- code -->\n", ""},
    {"```\n<!-- kept -->\n```", "```\n<!-- kept -->\n```\n", ""},
    {"<!-- never closed\n@a.md", "<!-- never closed\n@a.md\n", "a.md"},
    {"<!-- a -->", "", ""},
    {"<!-- a -->\n<!-- b", "<!-- b\n", ""},
    {"<!-->", "<!-->\n", ""},

    /* Frontmatter. */
    {"---\npaths: [\"*.c\", 'd/**']\n---\nx", "x\n", "", .is_rule = true, .has_paths = true,
     .paths = "*.c|d/**"},
    {"---\npaths:\n  - a\n  - \"b/*\"\nname: - c\n---\nx", "x\n", "", .is_rule = true,
     .has_paths = true, .paths = "a|b/*"},
    {"---\npaths: a, src/*.{c,h}, {x,y}/{1,2}\n---\n", "", "", .is_rule = true, .has_paths = true,
     .paths = "a|src/*.c|src/*.h|x/1|x/2|y/1|y/2"},
    {"---\npaths: }{\n---\n", "", "", .is_rule = true, .has_paths = true, .paths = "}{"},
    {"---\npaths:\n---\n", "", "", .is_rule = true, .has_paths = true},
    {"---\nname: x\n---\ny", "y\n", "", .is_rule = true},
    {"---\nname: x\n---\ny", "---\nname: x\n---\ny\n", ""},
    {"---\nnever closed", "---\nnever closed\n", "", .is_rule = true},
    {"x\n---\npaths: y\n---\n", "x\n---\npaths: y\n---\n", "", .is_rule = true},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct text_case *c = &cases[i];
        CLEANUP(instruction_text_release) struct instruction_text t;
        CLEANUP(buf_release) struct buf imports = BUF_INIT(BUF_NO_LIMIT); /* then the paths */

        instruction_text_read(&t, str_of(c->raw), c->is_rule);
        for (size_t k = 0; k < t.imports.len; k++)
            buf_addf(&imports, "%s%s", k ? "|" : "", t.imports.ptr[k]);
        if (!str_is(buf_str(&t.text), c->text))
            fail_msg("row %zu: '%s'\ngives '%s'\nnot   '%s'", i, c->raw, buf_cstr(&t.text),
                     c->text);
        if (!str_is(buf_str(&imports), c->imports))
            fail_msg("row %zu: '%s' imports '%s', not '%s'", i, c->raw, buf_cstr(&imports),
                     c->imports);
        buf_clear(&imports);
        for (size_t k = 0; k < t.paths.len; k++)
            buf_addf(&imports, "%s%s", k ? "|" : "", t.paths.ptr[k]);
        if (!str_eq(buf_str(&imports), str_of(c->paths)))
            fail_msg("row %zu: '%s' is for '%s', not '%s'", i, c->raw, buf_cstr(&imports),
                     c->paths);
        if (t.has_paths != c->has_paths || t.bad_bytes != c->bad_bytes)
            fail_msg("row %zu: paths %d, bad bytes %zu", i, t.has_paths, t.bad_bytes);
    }
}

/* Input built to make a scanner rescan again and again still ends: the test's time limit is the
 * assertion. */
static void hostile(void **state)
{
    static const char *const pieces[] = {"<!--\n", "`",   "` ",      "@",
                                         "\xff",   "@a`", "<!---->", "~~~\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(instruction_text_release) struct instruction_text t;

        while (raw.len < (1 << 20))
            buf_adds(&raw, pieces[i]);
        instruction_text_read(&t, buf_str(&raw), true);
        assert_true(t.imports.len <= INSTRUCTION_MAX_IMPORTS);
    }
    {
        CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(instruction_text_release) struct instruction_text t;

        buf_adds(&raw, "---\npaths: ");
        for (int n = 0; n < 100; n++)
            buf_adds(&raw, "{a,b}");
        buf_adds(&raw, "\n---\n");
        instruction_text_read(&t, buf_str(&raw), true);
        assert_int_equal(t.paths.len, INSTRUCTION_MAX_PATHS);
    }
    {
        CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(instruction_text_release) struct instruction_text t;

        for (size_t n = 1; raw.len < (1 << 20); n++) { /* no two runs of one length */
            for (size_t k = 0; k < n; k++)
                buf_addc(&raw, '`');
            buf_addc(&raw, ' ');
        }
        instruction_text_read(&t, buf_str(&raw), false);
        assert_int_equal(t.text.len, raw.len + 1);
    }
}

UNIT_TEST(instruction_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
