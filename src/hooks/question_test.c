/*
 * The words of a question, and what is understood of an answer.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled),
        cmocka_unit_test(long_events_are_cut),
        cmocka_unit_test(understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
