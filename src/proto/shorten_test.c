/*
 * What does not fit is named or cut; what fits is left as it is.
 */
#include "proto/shorten.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

#define PICTURE                                                                                    \
    "{\"type\":\"image\",\"source\":{\"media_type\":\"image/png\",\"data\":\"AAAAAAAAAAAAAAAA\"}}"

static const struct {
    const char *content;
    size_t max;
    const char *want;
} contents[] = {
    {"\"short\"", 1000, "\"short\""},
    {"\"longer than that\"", 36, "\"longer… (16 bytes in all)\""},
    {"\"caf\xc3\xa9s\"", 24, "\"caf… (6 bytes in all)\""}, /* never inside a character */
    {"[{\"type\":\"text\",\"text\":\"a\"}," PICTURE "]", 1000,
     "[{\"type\":\"text\",\"text\":\"a\"}," PICTURE "]"},
    {"[{\"type\":\"text\",\"text\":\"a\"}," PICTURE "]", 60,
     "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"[image image/png, 78 "
     "bytes: not repeated "
     "here]\"}]"},
    /* Each block has what those before it have left. */
    {"[" PICTURE "," PICTURE "]", 100,
     "[" PICTURE
     ",{\"type\":\"text\",\"text\":\"[image image/png, 78 bytes: not repeated here]\"}]"},
    {"[{\"type\":\"text\",\"text\":\"abcdefghijklmnopqrstuvwxyz\"}]", 48,
     "[{\"type\":\"text\",\"text\":\"abcdefgh… (26 bytes in all)\"}]"},
    {"[{\"type\":\"odd\",\"x\":\"abcdefghijklmnopqrstuvwxyz\"}]", 20,
     "[{\"type\":\"text\",\"text\":\"[odd, 47 bytes: not repeated here]\"}]"},
};

static void test_contents(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct arena arena = ARENA_INIT;
        const struct json *v = NULL;
        struct jw w;

        assert_int_equal(json_parse(&arena, str_of(contents[i].content), &v, NULL, NULL), 0);
        jw_init(&w, &out, JW_CLEAN);
        shorten_content(&w, v, contents[i].max);
        if (strcmp(buf_cstr(&out), contents[i].want) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&out));
        arena_release(&arena);
    }
}

/* {"tool_input":{"content":"xx…"},"tool_response":{"file":["yy…"],"n":1}} */
static void make_input(struct buf *json, size_t asked, size_t answered)
{
    buf_adds(json, "{\"tool_input\":{\"content\":\"");
    memset(buf_room(json, asked), 'x', asked);
    buf_grown(json, asked);
    buf_adds(json, "\"},\"tool_response\":{\"file\":[\"");
    memset(buf_room(json, answered), 'y', answered);
    buf_grown(json, answered);
    buf_adds(json, "\"],\"n\":1}}");
}

static void test_hook_inputs(void **state)
{
    static const struct {
        size_t asked, answered, cut;
    } rows[] = {
        {10, 10, 10},         {10, 900000, 900000},
        {10, 2000000, 16384}, {1500000, 2000000, 16384}, /* questions stay whole */
        {1500000, 10, 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct arena arena = ARENA_INIT;
        const struct json *v = NULL;
        struct str left;
        struct jw w;

        make_input(&json, rows[i].asked, rows[i].answered);
        jw_init(&w, &out, JW_CLEAN);
        shorten_hook_input(&w, buf_str(&json));
        assert_int_equal(json_parse(&arena, buf_str(&out), &v, NULL, NULL), 0);
        assert_int_equal(json_str(json_path(v, "tool_input.content")).len, rows[i].asked);
        assert_int_equal(json_get_i64(json_get(v, "tool_response"), "n", 0), 1);
        left = json_str(json_path(v, "tool_response.file.0"));
        assert_true(left.len >= rows[i].cut && left.len < rows[i].cut + 50);
        arena_release(&arena);
    }
}

UNIT_TEST(shorten)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_hook_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
