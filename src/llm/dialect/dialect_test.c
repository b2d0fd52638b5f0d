/* What holds for every dialect, and what must not be forgotten when one is added. */
#include "llm/dialect/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "unit.h"

#define EACH_DIALECT(d)                                                                            \
    for (const struct dialect *const *it = dialect_table(), *d = *it; d; d = *++it)

static const struct model model = {
    .provider = STR_INIT("p"),
    .name = STR_INIT("m-1"),
    .family = STR_INIT("m"),
    .max_output = 1000,
    .tools = true,
};

static void test_table(void **state)
{
    size_t n = 0;

    (void)state;
    EACH_DIALECT(d)
    {
        n++;
        assert_ptr_equal(dialect_find(str_of(d->name)), d);
        assert_true(d->path && d->headers && d->body && d->decoder_new && d->event && d->end &&
                    d->whole && d->decoder_free && d->fault);
    }
    assert_int_equal(n, 4);
    assert_null(dialect_find(STR("")));
    assert_null(dialect_find(STR("morse")));
}

static void must_exist(const char *dialect, const char *root, const char *format, const char *name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    char file[100];

    snprintf(file, sizeof(file), "%s", name);
    for (char *c = file; *c; c++) {
        if (*c == '-')
            *c = '_';
    }
    buf_addf(&path, "%s/tests/", root);
    for (; *format; format++) {
        if (*format == '*')
            buf_adds(&path, file);
        else
            buf_addc(&path, *format);
    }
    if (!file_exists(buf_cstr(&path)))
        fail_msg("%s: there is no %s", dialect, buf_cstr(&path));
}

/* Each dialect is fuzzed, and spoken by the pretend server. */
static void test_nothing_forgotten(void **state)
{
    const char *root = getenv("TENAX_SOURCE");

    (void)state;
    if (!root)
        skip();
    EACH_DIALECT(d)
    {
        const char *dash = strrchr(d->name, '-');

        must_exist(d->name, root, "fuzz/provider_*_fuzz.c", d->name);
        must_exist(d->name, root, "fuzz/corpus/provider_*", d->name);
        must_exist(d->name, root, "fake/speak_*.c", dash ? dash + 1 : d->name);
    }
}

static void test_request(void **state)
{
    static const struct llm_tool tool = {STR_INIT("Bash"), STR_INIT("runs"), STR_INIT("")};
    CLEANUP(message_unrefp)
    struct message *hello = message_user_text(STR("hello \xed\xa0\xbd\xff"));
    struct message *const messages[] = {hello};
    struct llm_request req = {.model = &model,
                              .system = STR("be brief"),
                              .tools = &tool,
                              .tool_count = 1,
                              .messages = messages,
                              .message_count = 1,
                              .tail = STR("the goal")};

    (void)state;
    EACH_DIALECT(d)
    {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
        CLEANUP(strv_release) struct strv headers = STRV_INIT;
        const struct json *v = NULL;
        struct json_info info = {0};
        size_t with_key = 0;

        /* The same request twice is the same bytes, clean and without the key. */
        assert_int_equal(d->body(&req, &first, NULL), 0);
        assert_int_equal(d->body(&req, &second, NULL), 0);
        assert_string_equal(buf_cstr(&first), buf_cstr(&second));
        assert_int_equal(json_parse(&arena, buf_str(&first), &v, &info, NULL), 0);
        assert_int_equal(info.bad_utf8 + info.lone_surrogates, 0);

        d->path(&req, &path);
        assert_int_equal(path.ptr[0], '/');
        d->headers(&req, STR("sk-key"), false, &headers);
        for (size_t i = 0; i < headers.len; i++)
            with_key += str_has(str_of(headers.ptr[i]), STR("sk-key"));
        assert_int_equal(with_key, 1);
        assert_false(str_has(buf_str(&path), STR("sk-key")));
        strv_clear(&headers);
        d->headers(&req, STR(""), false, &headers);
        for (size_t i = 0; i < headers.len; i++)
            assert_false(str_ends(str_of(headers.ptr[i]), STR(": ")));
    }
}

/* Cached text is sent unchanged, and it is the same request. */
static void test_made_texts(void **state)
{
    static const struct llm_tool plain = {STR_INIT("Bash"), STR_INIT("runs \"it\"\n"),
                                          STR_INIT("")};
    struct llm_tool made = plain;
    CLEANUP(message_unrefp) struct message *hello = message_user_text(STR("hello"));
    struct message *const messages[] = {hello};
    struct llm_request before = {.model = &model,
                                 .system = STR("be\tbrief"),
                                 .tools = &plain,
                                 .tool_count = 1,
                                 .messages = messages,
                                 .message_count = 1};
    struct llm_request after = before;

    (void)state;
    made.description = STR("not this one");
    made.description_json = STR("\"runs \\\"it\\\"\\n\"");
    after.tools = &made;
    after.system = STR("nor this");
    after.system_json = STR("\"be\\tbrief\"");
    EACH_DIALECT(d)
    {
        CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);

        assert_int_equal(d->body(&before, &first, NULL), 0);
        assert_int_equal(d->body(&after, &second, NULL), 0);
        assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    }
}

/* No answer comes from nothing, and none from invalid input. */
static void test_no_answer(void **state)
{
    static const char *const bodies[] = {"", "<html>", "{}", "[]", "null", "{", "\"text\""};

    (void)state;
    EACH_DIALECT(d)
    {
        for (size_t i = 0; i < 2 * ARRAY_LEN(bodies); i++) {
            CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
            bool streamed = i % 2;
            const char *body = bodies[i / 2];
            struct llm_request req = {.model = &model, .no_stream = !streamed};
            struct reply *reply = reply_new(event_check_fn, &c);
            struct decoder *decoder = d->decoder_new(&req, reply);
            struct llm_fault fault = {0};
            struct err err = {0};
            int rc;

            if (streamed) {
                rc = body[0] ? d->event(decoder, STR(""), str_of(body), &fault, &err) : 0;
                rc = rc ? rc : d->end(decoder, &fault, &err);
            } else {
                rc = d->whole(decoder, str_of(body), &fault, &err);
            }
            if (rc == 0 || err.code == ERR_NONE || !err.text[0] || reply_is_finished(reply))
                fail_msg("%s takes '%s' for an answer (%s)", d->name, body,
                         streamed ? "streamed" : "whole");
            d->decoder_free(decoder);
            reply_free(reply);
        }
    }
}

static void test_faults(void **state)
{
    static const struct {
        int status;
        enum err_code code;
        bool retry;
    } rows[] = {
        {401, ERR_AUTH, false},       {404, ERR_NOT_FOUND, false}, {408, ERR_NETWORK, true},
        {429, ERR_RETRY_LATER, true}, {500, ERR_NETWORK, true},    {502, ERR_NETWORK, true},
    };

    (void)state;
    EACH_DIALECT(d)
    {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct llm_fault f;

            memset(&f, 0xaa, sizeof(f));
            d->fault(rows[i].status, STR("<html>gateway</html>"), STR("2"), STR(""), STR(""), &f);
            if (f.code != rows[i].code || f.retry != rows[i].retry || !f.text[0] ||
                (f.retry && f.wait_ms != 2000))
                fail_msg("%s, HTTP %d: %s, retry %d, wait %lld, '%s'", d->name, rows[i].status,
                         err_code_name(f.code), f.retry, (long long)f.wait_ms, f.text);
        }
    }
}

/* Some servers call all their answers the same, or nothing; a transcript must tell them apart. */
static void test_ids_are_unique(void **state)
{
    static const struct {
        const struct dialect *dialect;
        const char *body;
    } rows[] = {
        {&dialect_openai_chat, "{\"id\":\"chatcmpl-1\",\"model\":\"m\",\"choices\":[{\"index\":0,"
                               "\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}"},
        {&dialect_openai_responses, "{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"completed\","
                                    "\"output\":[{\"id\":\"msg_1\","
                                    "\"type\":\"message\",\"role\":\"assistant\",\"content\":[{"
                                    "\"type\":\"output_text\",\"text\":"
                                    "\"Hi\"}]}]}"},
        {&dialect_gemini,
         "{\"responseId\":\"r\",\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\","
         "\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}"},
    };
    struct llm_request req = {.model = &model};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf before = BUF_INIT(100);

        for (int n = 0; n < 2; n++) {
            struct reply *reply = reply_new(/*fn=*/NULL, /*arg=*/NULL);
            struct decoder *d = rows[i].dialect->decoder_new(&req, reply);
            struct llm_fault fault = {0};
            struct err err = {0};
            struct message *m;

            if (rows[i].dialect->whole(d, str_of(rows[i].body), &fault, &err) < 0)
                fail_msg("%s: %s", rows[i].dialect->name, err.text);
            m = reply_take(reply);
            assert_true(str_starts(m->id, STR("msg_")) && !str_eq(m->id, buf_str(&before)));
            buf_add(&before, m->id);
            message_unref(m);
            rows[i].dialect->decoder_free(d);
            reply_free(reply);
        }
    }
}

UNIT_TEST(dialect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_nothing_forgotten),
        cmocka_unit_test(test_request),        cmocka_unit_test(test_made_texts),
        cmocka_unit_test(test_no_answer),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_ids_are_unique),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
