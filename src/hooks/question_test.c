/*
 * The text of a question, and parsing of the answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "hooks/question.h"
#include "llm/message.h"
#include "unit.h"

static const struct {
    const char *prompt;
    const char *words;
} fill_rows[] = {
    {"Done? $ARGUMENTS", "Done? {\"a\":1}"},
    {"$ARGUMENTS and $ARGUMENTS", "{\"a\":1} and {\"a\":1}"},
    {"Done?", "Done?\n\nThe event:\n{\"a\":1}"},
    {"costs \\$5", "costs $5\n\nThe event:\n{\"a\":1}"},
    {"\\$ARGUMENTS is $ARGUMENTS", "$ARGUMENTS is {\"a\":1}"},
    {"$ARGUMENT \\n $", "$ARGUMENT \\n $\n\nThe event:\n{\"a\":1}"},
    {"", "\n\nThe event:\n{\"a\":1}"},
};

static void filled(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fill_rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

        question_fill(str_of(fill_rows[i].prompt), STR("{\"a\":1}"), &got);
        if (strcmp(buf_cstr(&got), fill_rows[i].words) != 0)
            fail_msg("'%s': '%s'", fill_rows[i].prompt, buf_cstr(&got));
    }
}

/* However much a tool has said, a model is shown a bounded part of it. */
static void long_events_are_cut(void **state)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    for (int i = 0; i < 1000 * 1000; i++)
        buf_addc(&json, 'x');
    question_fill(STR("$ARGUMENTS"), buf_str(&json), &got);
    assert_true(got.len < 101 * 1000);
    assert_true(str_ends(buf_str(&got), STR("\n[900000 more bytes are left out]")));
}

static const struct {
    const char *answer;
    int rc;
    enum verdict verdict;
    const char *reason;
} read_rows[] = {
    {"{\"ok\":true,\"reason\":\"all there\"}", 0, VERDICT_FINE, "all there"},
    {"{\"ok\":true}", 0, VERDICT_FINE, ""},
    {" \n{\"ok\":false,\"reason\":\" x \"} ", 0, VERDICT_OBJECTS, "x"},
    {"```json\n{\"ok\":false,\"reason\":\"x\"}\n```", 0, VERDICT_OBJECTS, "x"},
    {"{\"ok\":false,\"reason\":\"x\",\"impossible\":true}", 0, VERDICT_IMPOSSIBLE, "x"},
    {"{\"ok\":false,\"reason\":\"x\",\"impossible\":\"yes\"}", 0, VERDICT_OBJECTS, "x"},
    {"{\"ok\":true,\"impossible\":true}", 0, VERDICT_FINE, ""},
    {"{\"ok\":false}", -1, 0, ""},
    {"{\"ok\":false,\"reason\":\"  \"}", -1, 0, ""},
    {"{\"ok\":\"true\",\"reason\":\"x\"}", -1, 0, ""},
    {"{\"reason\":\"x\"}", -1, 0, ""},
    {"ok", -1, 0, ""},
    {"", -1, 0, ""},
    {"}{", -1, 0, ""},
    {"{", -1, 0, ""},
    {"[true]", -1, 0, ""},
    {"{\"ok\":true} and {\"ok\":false}", -1, 0, ""}, /* two answers are none */
    {"No: it only prints {\"ok\":true,\"reason\":\"x\"}", -1, 0, ""},
    {"{\"ok\":true,\"reason\":\"x\"} is what the log says.", -1, 0, ""},
};

static void understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(read_rows); i++) {
        CLEANUP(buf_release) struct buf reason = BUF_INIT(1000);
        enum verdict verdict = VERDICT_FINE;
        struct err err = {0};
        int rc = question_read(str_of(read_rows[i].answer), &verdict, &reason, &err);

        if (rc != read_rows[i].rc || verdict != read_rows[i].verdict ||
            strcmp(buf_cstr(&reason), read_rows[i].reason) != 0)
            fail_msg("'%s': %d %d '%s' %s", read_rows[i].answer, rc, verdict, buf_cstr(&reason),
                     err.text);
        if (rc < 0)
            assert_int_equal(err.code, ERR_PROTOCOL);
    }
}

static void add_block(struct message *m, enum block_kind kind, const char *text)
{
    struct block content = {.kind = BLOCK_TEXT, .text = str_of(text)};
    struct block b = {.kind = kind, .id = STR("t1"), .name = STR("Bash")};

    if (kind == BLOCK_TOOL_USE) {
        b.input = str_of(text);
    } else if (kind == BLOCK_TOOL_RESULT) {
        b.content = &content;
        b.content_len = 1;
    } else {
        b.text = str_of(text);
    }
    message_add(m, &b);
}

/* The conversation as the model is given it: text on both sides, and nothing that needs tools. */
static void conversation(void **state)
{
    CLEANUP(question_messages_release) question_messages got = VEC_INIT;
    struct message *talk[4];
    struct hook_input in = {.event = HOOK_STOP, .talk = talk, .talk_len = 4};
    static const char *const texts[] = {
        "make the tests pass",
        "I run them.\n[Call of Bash] {\"command\":\"make\"}",
        "[Result of Bash] all fine",
        "They pass.",
    };

    (void)state;
    for (size_t i = 0; i < 4; i++)
        talk[i] = message_new(i % 2 ? ROLE_ASSISTANT : ROLE_USER, 1);
    add_block(talk[0], BLOCK_TEXT, texts[0]);
    add_block(talk[1], BLOCK_THINKING, "a secret thought");
    add_block(talk[1], BLOCK_TEXT, "I run them.");
    add_block(talk[1], BLOCK_TOOL_USE, "{\"command\":\"make\"}");
    add_block(talk[2], BLOCK_TOOL_RESULT, "all fine");
    add_block(talk[3], BLOCK_TEXT, texts[3]);
    question_talk(&in, 200000, &got);
    assert_int_equal(got.len, 4);
    for (size_t i = 0; i < 4; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

        message_text(got.ptr[i], &text);
        assert_string_equal(buf_cstr(&text), texts[i]);
        assert_int_equal(got.ptr[i]->role, talk[i]->role);
        assert_int_equal(got.ptr[i]->len, 1);
        assert_ptr_not_equal(got.ptr[i], talk[i]);
    }
    for (size_t i = 0; i < 4; i++)
        message_unref(talk[i]);
}

/* A conversation that is too long loses its beginning, with a note. */
static void long_conversations_are_cut(void **state)
{
    CLEANUP(question_messages_release) question_messages got = VEC_INIT;
    CLEANUP(buf_release) struct buf big = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct message *talk[100];
    struct hook_input in = {.event = HOOK_STOP, .talk = talk, .talk_len = 100};
    size_t bytes = 0;

    (void)state;
    while (big.len < 20000)
        buf_adds(&big, "text ");
    for (size_t i = 0; i < 100; i++) {
        talk[i] = message_new(i % 2 ? ROLE_ASSISTANT : ROLE_USER, 1);
        add_block(talk[i], i % 3 ? BLOCK_TEXT : BLOCK_TOOL_RESULT,
                  i < 99 ? buf_cstr(&big) : "the last word");
    }
    question_talk(&in, 50000, &got);
    VEC_EACH(&got, m) {
        bytes += (*m)->blocks[0].text.len;
    }
    assert_true(got.len > 3 && got.len < 20);
    assert_true(bytes <= 100000 + 100);
    message_text(got.ptr[0], &text);
    assert_string_equal(buf_cstr(&text), "[Earlier messages are left out.]");
    assert_true(str_has(got.ptr[got.len - 1]->blocks[0].text, STR("the last word")));
    for (size_t i = 0; i < 100; i++)
        message_unref(talk[i]);
}

UNIT_TEST(question)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled),
        cmocka_unit_test(long_events_are_cut),
        cmocka_unit_test(understood),
        cmocka_unit_test(conversation),
        cmocka_unit_test(long_conversations_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
