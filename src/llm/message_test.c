/* Messages: JSON and back for every kind of block, inputs for requests, remembered request JSON. */
#include "llm/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/model.h"
#include "unit.h"

#define DATA "\"provider_data\":{\"provider\":\"p\",\"model\":\"m\"}"

static struct message *parse(const char *text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;
    struct message *m = NULL;

    if (json_parse_copy(&arena, str_of(text), &v, NULL, err) < 0)
        fail_msg("%s: %s", text, err->text);
    return message_parse(v, &m, err) < 0 ? NULL : m;
}

/* Rows that read and write to the very same bytes, and the kind of their first block. */
static const struct {
    enum block_kind kind;
    const char *json;
} same_rows[] = {
    {BLOCK_TEXT, "{\"role\":\"user\",\"content\":\"fix the \\\"bug\\\"\\n\"}"},
    {BLOCK_TEXT, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}]}"},
    {BLOCK_TEXT, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
                 "\"text\",\"text\":\"b\"}]}"},
    {BLOCK_TEXT, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"," DATA "}]}"},
    {BLOCK_TEXT,
     "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\","
     "\"content\":[{\"type\":\"text\",\"text\":\"a\",\"citations\":[{\"n\":1}]}]}"},
    {BLOCK_THINKING,
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\""
     ":\"hm\",\"signature\":\"c2ln\"," DATA "}]}"},
    {BLOCK_THINKING, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
                     "\"thinking\",\"thinking\":\"\",\"signature\":\"c2ln\"}]}"},
    {BLOCK_REDACTED_THINKING, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
                              "\"redacted_thinking\",\"data\":\"AAAA\"}]}"},
    {BLOCK_TOOL_USE,
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
     "\"toolu_1\",\"name\":\"Bash\",\"input\":{ \"n\": 12345678901234567890, "
     "\"s\":\"\\u00e9\\ud83d\"}," DATA "}]}"},
    {BLOCK_TOOL_USE,
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
     "\"toolu_1\",\"name\":\"Bash\",\"input\":{},\"input_text\":\"{\\\"a\\\":\"}]}"},
    {BLOCK_TOOL_USE,
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
     "\"toolu_1\",\"name\":\"Bash\",\"input\":{ \"a\":1 "
     "},\"input_text\":\"{\\n\\\"a\\\":1\\r}\"}]}"},
    {BLOCK_TOOL_RESULT, "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
                        "\"toolu_1\",\"content\":\"done\"}]}"},
    {BLOCK_TOOL_RESULT,
     "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\","
     "\"name\":\"Read\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\","
     "\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBO\"}},{\"type\":"
     "\"search_result\",\"title\":\"t\"}],\"is_error\":true},{\"type\":\"text\",\"text\":\"b\"}]}"},
    {BLOCK_TOOL_RESULT, "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
                        "\"toolu_1\",\"content\":[]}]}"},
    {BLOCK_IMAGE, "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
                  "\"url\",\"url\":\"https://x/y.png\"}}]}"},
    {BLOCK_DOCUMENT,
     "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"base64\","
     "\"media_type\":\"application/pdf\",\"data\":\"JVBE\"},\"title\":\"Manual\"}]}"},
    {BLOCK_DOCUMENT, "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":"
                     "\"text\",\"media_type\":\"text/plain\",\"data\":\"words\"}}]}"},
    /* No place for a context or a file id: kept whole. */
    {BLOCK_OTHER, "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":"
                  "\"url\",\"url\":\"u\"},\"context\":\"c\"}]}"},
    {BLOCK_OTHER, "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
                  "\"file\",\"file_id\":\"f\"}}]}"},
    {BLOCK_OTHER, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{ \"z\":1.50, "
                  "\"type\":\"server_tool_use\",\"input\":{\"q\":\"\\/\"}}]}"},
    {BLOCK_OTHER, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
                  "\"web_search_tool_result\",\"content\":[1,2]," DATA "}]}"},
    {BLOCK_OTHER, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
                  "\"text\":null}]}"},
};

static void test_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same_rows); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct err err = {0};
        CLEANUP(message_unrefp) struct message *m = parse(same_rows[i].json, &err);

        if (!m)
            fail_msg("row %zu: %s", i, err.text);
        message_write(m, &out);
        if (!str_is(buf_str(&out), same_rows[i].json) || m->blocks[0].kind != same_rows[i].kind)
            fail_msg("row %zu, kind %d:\n%s\nbecame\n%s", i, m->blocks[0].kind, same_rows[i].json,
                     buf_cstr(&out));
    }
}

/* Raw JSON that spans lines is written on one: a transcript is read by lines. */
static void test_one_line(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct message *m = message_new(ROLE_ASSISTANT, 1);

    (void)state;
    message_add(m, &(struct block){.kind = BLOCK_OTHER,
                                   .raw = STR("{\n\"type\":\"x\"\r\n}"),
                                   .provider_data = STR("{\n\"provider\":\"p\"}")});
    message_add(m, &(struct block){.kind = BLOCK_TOOL_USE, .input = STR("{\n\"a\":1}")});
    message_write(m, &out);
    assert_int_equal(str_chr(buf_str(&out), '\n'), out.len);
    assert_int_equal(str_chr(buf_str(&out), '\r'), out.len);
    message_unref(m);
}

static void test_refused(void **state)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        "{\"role\":\"system\",\"content\":\"x\"}",
        "{\"role\":\"user\"}",
        "{\"role\":\"user\",\"content\":{}}",
        "{\"role\":\"user\",\"content\":[1]}",
        "{\"role\":\"user\",\"content\":[{}]}",
        ("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\","
         "\"content\":[7]}]}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};

        if (parse(rows[i], &err) || err.code != ERR_BAD_INPUT || !err.text[0])
            fail_msg("%s was taken", rows[i]);
    }
}

static void test_build(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct message *m = message_new(ROLE_USER, 0);
    struct message *text = message_user_text(STR("hi"));
    char word[8] = "abc";
    struct block part = {.kind = BLOCK_TEXT, .text = str_of(word)};

    (void)state;
    for (int i = 0; i < 100; i++)
        message_add(m, &(struct block){.kind = i % 2 ? BLOCK_TEXT : BLOCK_TOOL_RESULT,
                                       .id = STR("t"),
                                       .text = str_of(word),
                                       .content = &part,
                                       .content_len = 1});
    memset(word, 'x', 3); /* everything was copied */
    assert_int_equal(m->len, 100);
    assert_string_equal(m->blocks[0].content[0].text.ptr, "abc");
    assert_int_equal(message_count(m, BLOCK_TEXT), 50);
    message_text(m, &out);
    assert_int_equal(out.len, 150);

    assert_ptr_equal(message_ref(text), text);
    message_unref(text);
    assert_string_equal(text->blocks[0].text.ptr, "hi");
    message_unref(text);
    message_unref(m);
    message_unref(NULL);
}

static void test_input(void **state)
{
    static const struct {
        struct str input;
        bool bad;
        const char *expect;
    } rows[] = {
        {STR_INIT(""), false, "{}"},
        {STR_INIT(" \n"), false, "{}"},
        {STR_INIT("{ \"a\" : 1.50 }"), false, "{ \"a\" : 1.50 }"}, /* byte for byte */
        {STR_INIT("{\"a\":\"\\ud83d\\ude00\"}"), false, "{\"a\":\"\xf0\x9f\x98\x80\"}"},
        {STR_INIT("{\"a\":\"\\ud83d\"}"), false, "{\"a\":\"\xef\xbf\xbd\"}"},
        {STR_INIT("{\"a\":\"\xff\"}"), false, "{\"a\":\"\xef\xbf\xbd\"}"},
        {STR_INIT("{\"a\":"), true, "{\"invalid_json\":\"{\\\"a\\\":\"}"},
        {STR_INIT("[1]"), true, "{\"invalid_json\":\"[1]\"}"},
        {STR_INIT("\xef\xbb\xbf{}"), true, "{\"invalid_json\":\"\xef\xbb\xbf{}\"}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        block_input(&(struct block){.kind = BLOCK_TOOL_USE,
                                    .input = rows[i].input,
                                    .input_bad = rows[i].bad},
                    &out);
        assert_string_equal(buf_cstr(&out), rows[i].expect);
        assert_int_equal(block_input_is_bad(rows[i].input), rows[i].bad);
    }
}

static void test_data(void **state)
{
    static const struct {
        const char *data;
        bool fits;
    } rows[] = {
        {"{\"provider\":\"anthropic\",\"model\":\"claude-opus-5\",\"x\":1}", true},
        {"{\"provider\":\"anthropic\",\"model\":\"claude-opus-5-5\"}", true}, /* the family */
        {"{\"provider\":\"anthropic\",\"model\":\"claude-sonnet-5\"}", false},
        {"{\"provider\":\"anthropic\",\"model\":\"gpt-5\"}", false},
        {"{\"provider\":\"openai\",\"model\":\"claude-opus-5\"}", false},
        {"{\"provider\":\"anthropic\"}", false},
        {"[]", false},
        {"{", false},
    };
    struct model model;

    (void)state;
    model_find(STR("anthropic"), STR("claude-opus-5"), &model);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct block b = {.kind = BLOCK_THINKING, .provider_data = str_of(rows[i].data)};

        if (!!block_data(&b, &model, &arena) != rows[i].fits ||
            block_is_foreign(&b, &model) == rows[i].fits)
            fail_msg("%s", rows[i].data);
    }
    assert_false(block_is_foreign(&(struct block){.kind = BLOCK_TEXT}, &model));
}

static void test_wire(void **state)
{
    struct message *m = message_user_text(STR("x"));

    (void)state;
    assert_int_equal(message_wire_get(m, STR("a")).len, 0);
    message_wire_set(m, STR("a"), STR("1"));
    message_wire_set(m, STR("b"), STR("2"));
    message_wire_set(m, STR("a"), STR("3"));
    assert_true(str_is(message_wire_get(m, STR("a")), "3"));
    assert_true(str_is(message_wire_get(m, STR("b")), "2"));
    for (int i = 0; i < 100; i++) { /* only the last few keys are kept */
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        message_wire_set(m, str_of(key), STR("v"));
    }
    assert_int_equal(message_wire_get(m, STR("a")).len, 0);
    assert_true(str_is(message_wire_get(m, STR("k99")), "v"));
    message_unref(m);
}

/* What covers a conversation moves on with it, however often, and stays with one message only. */
static void test_wire_move(void **state)
{
    struct message *from = message_new(ROLE_USER, 1);
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct message *to = message_new(ROLE_USER, 1);
        char more[16];

        snprintf(more, sizeof(more), "<%d>", i);
        buf_adds(&all, more);
        message_wire_set(to, STR("run"), STR("of an earlier way"));
        message_wire_set(to, STR("other"), STR("stays"));
        message_wire_move(from, to, STR("run"), str_of(more));
        assert_int_equal(message_wire_get(from, STR("run")).len, 0);
        assert_true(str_eq(message_wire_get(to, STR("run")), buf_str(&all)));
        assert_true(str_is(message_wire_get(to, STR("other")), "stays"));
        message_unref(from);
        from = to;
    }
    message_unref(from);
}

UNIT_TEST(message)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),    cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_build),
        cmocka_unit_test(test_input),   cmocka_unit_test(test_data),
        cmocka_unit_test(test_wire),    cmocka_unit_test(test_wire_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
