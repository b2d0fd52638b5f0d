/* What the model reads of the structured results that hooks answer with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "llm/tool_output.h"
#include "unit.h"

static const struct {
    const char *output, *text;
} rows[] = {
    {"{\"stdout\":\"a\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false}", "a"},
    {"{\"stdout\":\"a\\n\",\"stderr\":\"b\"}", "a\nb"},
    {"{\"stdout\":\"a\",\"stderr\":\"b\"}", "a\nb"},
    {"{\"stdout\":\"\",\"stderr\":\"\"}", ""},
    {"{\"stderr\":\"b\"}", "b"},
    {"{\"type\":\"text\",\"file\":{\"filePath\":\"/x\",\"content\":\"c\",\"numLines\":1}}", "c"},
    {"{\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"}]}",
     "one\ntwo"},
    {"[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"image\"}]", "one"},
    {"{\"type\":\"text\",\"text\":\"t\"}", "t"},
    {"{\"bytes\":3,\"code\":200,\"result\":\"page\"}", "page"},
    {"{\"filenames\":[\"a\",\"b\"],\"numFiles\":2}",
     "{\"filenames\":[\"a\",\"b\"],\"numFiles\":2}"},
    {"[1,2]", "[1,2]"},
    {"{\"stdout\":1}", "{\"stdout\":1}"},
    {"7", "7"},
    {"{}", "{}"},
};

static void each_shape_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);
        const struct json *v;

        assert_int_equal(json_parse(&arena, str_of(rows[i].output), &v, NULL, NULL), 0);
        tool_output_text(v, &text);
        if (!str_is(buf_str(&text), rows[i].text))
            fail_msg("%s: \"%s\", and not \"%s\"", rows[i].output, buf_cstr(&text), rows[i].text);
    }
}

UNIT_TEST(tool_output)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_shape_has_its_text)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
