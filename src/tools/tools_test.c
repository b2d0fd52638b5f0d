/*
 * The table of tools: every row complete, every schema usable, and all of it small enough to be
 * sent with every request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/schema.h"
#include "llm/dialect/dialect.h"
#include "llm/provider.h"
#include "tools/tools.h"
#include "unit.h"

#define MAX_BYTES ((size_t)12 << 10)

static struct provider with_search = {.name = (char *)"anthropic", .dialect = &dialect_anthropic};

static struct toolbox *make(const struct strv *only, const char *schema, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct tool_entry structured;
    struct toolbox_spec spec = {
        .table = tools_table(),
        .only = only,
        .provider = &with_search,
        .more = &structured,
        .more_count = schema && *schema ? 1 : 0,
    };
    struct toolbox *box = NULL;

    if (spec.more_count && tool_structured(str_of(schema), &arena, &structured, err) < 0)
        return NULL;

    return toolbox_new(&spec, &box, err) < 0 ? NULL : box;
}

static void every_row_is_complete(void **state)
{
    (void)state;
    for (const struct tool_entry *const *e = tools_table(); *e; e++) {
        struct arena arena = ARENA_INIT;
        struct buf unknown = BUF_INIT(4096);
        const struct json *schema;
        struct err err = {0};

        if (!*(*e)->text || strlen((*e)->text) > 1500 || !(*e)->run)
            fail_msg("%s: its text or its run() is missing, or the text is too long", (*e)->name);
        if (json_parse(&arena, str_of((*e)->schema), &schema, NULL, &err) < 0)
            fail_msg("%s: %s", (*e)->name, err.text);
        assert_true(str_is(json_get_str(schema, "type"), "object"));
        schema_unknown(schema, &unknown);
        if (unknown.len)
            fail_msg("%s: %s", (*e)->name, buf_cstr(&unknown));
        for (const struct tool_entry *const *other = tools_table(); other != e; other++)
            assert_string_not_equal((*other)->name, (*e)->name);
        buf_release(&unknown);
        arena_release(&arena);
    }
}

static void all_of_it_is_small(void **state)
{
    struct err err = {0};
    struct toolbox *box = make(NULL, "", &err);
    size_t count;

    (void)state;
    assert_non_null(box);
    (void)toolbox_llm(box, &count);
    print_message("%zu tools, %zu bytes of names, texts and schemas\n", count, toolbox_bytes(box));
    assert_true(count >= 14);
    assert_true(toolbox_bytes(box) <= MAX_BYTES);
    toolbox_unref(box);
}

static void some_of_it(void **state)
{
    static const struct {
        const char *only; /* separated by blanks */
        const char *schema;
        const char *names; /* NULL: an error */
        const char *error;
    } cases[] = {
        {"Read Bash", "", "[\"Bash\",\"Read\"]", NULL},
        {"", "", "[]", NULL},
        {"Raed", "", NULL, "there is no tool 'Raed'; did you mean Read?"},
        {"mcp__x__y", "", "[]", NULL},
        {"Read LS SlashCommand TaskList", "", "[\"Read\"]", NULL}, /* Claude Code's */
        {"Bash", "{\"type\":\"object\"}", "[\"Bash\",\"StructuredOutput\"]", NULL},
        {"Bash", "{\"type\":\"array\"}", NULL, "JSON schema: its \"type\" must be \"object\""},
        {"Bash", "{", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strv_release) struct strv only = STRV_INIT;
        struct str rest = str_of(cases[i].only);
        struct str word;
        struct err err = {0};
        struct toolbox *box;

        while (str_cut(&rest, ' ', &word)) {
            if (word.len)
                strv_add(&only, word);
        }
        box = make(&only, cases[i].schema, &err);
        if (!box != !cases[i].names)
            fail_msg("row %zu: %s", i, err.text);
        if (box && !str_is(toolbox_names(box), cases[i].names))
            fail_msg("row %zu: %.*s", i, STR_ARG(toolbox_names(box)));
        if (cases[i].error && strcmp(err.text, cases[i].error) != 0)
            fail_msg("row %zu: %s", i, err.text);
        toolbox_unref(box);
    }
}

UNIT_TEST(tools)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(all_of_it_is_small),
        cmocka_unit_test(some_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
