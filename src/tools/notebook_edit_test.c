/*
 * Cells replaced, inserted and deleted; every other byte of the notebook stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

#define HEAD "{\n \"cells\": [\n"
#define CELL_A                                                                                     \
    "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"a\",\n   \"metadata\": {},\n"              \
    "   \"source\": [\n    \"# Title\\n\",\n    \"text\"\n   ]\n  }"
#define CELL_B                                                                                     \
    "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7,\n   \"id\": \"b\",\n"            \
    "   \"metadata\": {\n    \"tags\": [\"x\"]\n   },\n"                                           \
    "   \"outputs\": [\n    {\"output_type\": \"stream\"}\n   ],\n"                                \
    "   \"source\": [\n    \"1 + 1\"\n   ]\n  }"
#define TAIL "\n ],\n \"metadata\": {\"k\": 1.50},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
#define NEW_CODE                                                                                   \
    "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"@\",\n"         \
    "   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"x\"\n   ]\n  }"

static const struct {
    const char *before;
    const char *args;
    const char *after; /* '@' stands for a new id; NULL: fails */
    const char *says;
} cases[] = {
    {HEAD CELL_A ",\n" CELL_B TAIL, "\"cell_id\":\"b\",\"new_source\":\"2\\n3\\n\"",
     HEAD CELL_A ",\n"
                 "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": "
                 "\"b\",\n   \"metadata\": {\n    \"tags\": [\"x\"]\n   },\n   \"outputs\": [],\n"
                 "   \"source\": [\n    \"2\\n\",\n    \"3\\n\"\n   ]\n  }" TAIL,
     "Replaced cell 'b'"},
    {HEAD CELL_A ",\n" CELL_B TAIL, "\"cell_id\":\"cell-0\",\"new_source\":\"\"",
     HEAD "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"a\",\n   \"metadata\": {},\n"
          "   \"source\": []\n  },\n" CELL_B TAIL,
     "cell-0"},
    {HEAD CELL_B TAIL, "\"cell_id\":\"b\",\"new_source\":\"x\",\"cell_type\":\"markdown\"",
     HEAD "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"b\",\n   \"metadata\": {\n    "
          "\"tags\": [\"x\"]\n   },\n   \"source\": [\n    \"x\"\n   ]\n  }" TAIL,
     "Replaced"},
    {HEAD CELL_A ",\n" CELL_B TAIL,
     "\"cell_id\":\"a\",\"new_source\":\"x\",\"cell_type\":\"code\",\"edit_mode\":\"insert\"",
     HEAD CELL_A ",\n" NEW_CODE ",\n" CELL_B TAIL, "Inserted"},
    {HEAD CELL_A TAIL, "\"new_source\":\"x\",\"cell_type\":\"code\",\"edit_mode\":\"insert\"",
     HEAD NEW_CODE ",\n" CELL_A TAIL, "Inserted"},
    {HEAD CELL_A TAIL,
     "\"cell_id\":\"a\",\"new_source\":\"x\",\"cell_type\":\"code\",\"edit_mode\":\"insert\"",
     HEAD CELL_A ",\n" NEW_CODE TAIL, "Inserted"},
    {"{\n \"cells\": [],\n \"nbformat_minor\": 5\n}",
     "\"new_source\":\"x\",\"cell_type\":\"code\",\"edit_mode\":\"insert\"",
     "{\n \"cells\": [\n" NEW_CODE "\n ],\n \"nbformat_minor\": 5\n}", "Inserted"},
    {HEAD CELL_A ",\n" CELL_B TAIL,
     "\"cell_id\":\"a\",\"new_source\":\"\",\"edit_mode\":\"delete\"", HEAD CELL_B TAIL,
     "Deleted cell 'a'"},
    {HEAD CELL_A ",\n" CELL_B TAIL,
     "\"cell_id\":\"b\",\"new_source\":\"\",\"edit_mode\":\"delete\"", HEAD CELL_A TAIL, "Deleted"},
    {"{\"cells\": [{\"cell_type\": \"code\", \"source\": \"a\"}]}",
     "\"cell_id\":\"cell-0\",\"new_source\":\"b\\n\\u00e9\"",
     "{\"cells\": [{\"cell_type\": \"code\", \"source\": \"b\\n\xc3\xa9\"}]}", "Replaced"},
    {"{\"cells\": [{\"cell_type\": \"code\", \"source\": \"a\"}]}",
     "\"cell_id\":\"cell-0\",\"new_source\":\"b\",\"cell_type\":\"markdown\","
     "\"edit_mode\":\"insert\"",
     "{\"cells\": [{\"cell_type\": \"code\", \"source\": \"a\"}, {\"cell_type\": \"markdown\", "
     "\"metadata\": {}, \"source\": [\"b\"]}]}",
     "Inserted cell 'cell-1'"},
    {"{\"cells\": [{\"cell_type\": \"code\", \"source\": \"a\"}]}",
     "\"cell_id\":\"cell-0\",\"new_source\":\"\",\"edit_mode\":\"delete\"", "{\"cells\": []}",
     "Deleted"},

    {HEAD CELL_A TAIL, "\"cell_id\":\"zz\",\"new_source\":\"\"", NULL, "there is no cell 'zz'"},
    {HEAD CELL_A TAIL, "\"cell_id\":\"cell-1\",\"new_source\":\"\"", NULL, "cell-0 to cell-0"},
    {HEAD CELL_A TAIL, "\"new_source\":\"\"", NULL, "cell_id is required"},
    {HEAD CELL_A TAIL, "\"new_source\":\"\",\"edit_mode\":\"insert\"", NULL, "needs cell_type"},
    {HEAD CELL_A TAIL, "\"new_source\":\"\",\"edit_mode\":\"move\"", NULL, "edit_mode"},
    {HEAD CELL_A TAIL, "\"cell_id\":\"a\"", NULL, "'new_source' is required"},
    {"{\"cells\": [{\"cell_type\": \"code\"}]}", "\"cell_id\":\"cell-0\",\"new_source\":\"\"", NULL,
     "no source"},
};

/* Puts the new id of the result where '@' stands. */
static void fill_id(struct tool_check *t, const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '@')
            buf_add(out, json_get_str(tool_check_data(t), "cell_id"));
        else
            buf_addc(out, *text);
    }
}

static void rows(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf want = BUF_INIT(BUF_NO_LIMIT);
        bool ok;

        tool_check_put(&t, "n.ipynb", str_of(cases[i].before));
        assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"n.ipynb\"}"));
        ok = tool_check_runf(&t, &tool_notebook_edit_entry, "{\"notebook_path\":\"n.ipynb\",%s}",
                             cases[i].args);
        if (ok != !!cases[i].after || !str_has(tool_check_text(&t), str_of(cases[i].says)))
            fail_msg("row %zu: '%s'", i, buf_cstr(&t.result.text));
        fill_id(&t, cases[i].after ? cases[i].after : cases[i].before, &want);
        if (!str_eq(tool_check_get(&t, "n.ipynb"), buf_str(&want)))
            fail_msg("row %zu: got\n%s\nwant\n%s", i, tool_check_get(&t, "n.ipynb").ptr,
                     buf_cstr(&want));
        buf_release(&want);
    }
    tool_check_end(&t);
}

static void refusals(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "n.ipynb", STR(HEAD CELL_A TAIL));
    assert_false(tool_check_run(&t, &tool_notebook_edit_entry,
                                "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"a\",\"new_source\":"
                                "\"x\"}"));
    ASSERT_SAYS(&t, "has not been read yet");
    tool_check_put(&t, "n.txt", STR("x"));
    assert_false(tool_check_run(&t, &tool_notebook_edit_entry,
                                "{\"notebook_path\":\"n.txt\",\"new_source\":\"x\"}"));
    ASSERT_SAYS(&t, "use Edit");
    assert_false(tool_check_run(&t, &tool_notebook_edit_entry,
                                "{\"notebook_path\":\"m.ipynb\",\"new_source\":\"x\"}"));
    ASSERT_SAYS(&t, "does not exist");
    tool_check_end(&t);
}

UNIT_TEST(notebook_edit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
