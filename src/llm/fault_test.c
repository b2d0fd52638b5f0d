/* Faults: what status, headers and words mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "llm/dialect/dialect.h"
#include "unit.h"

static const struct {
    int status;
    const char *body;
    enum err_code code;
    bool retry;
    bool overloaded;
    const char *text; /* NULL: not looked at */
} rows[] = {
    {400, "{\"error\":{\"message\":\"bad field\",\"type\":\"invalid_request_error\"}}",
     ERR_BAD_INPUT, false, false, "bad field"},
    {400, "", ERR_CONTEXT_FULL, false, false, NULL},
    {413, "", ERR_CONTEXT_FULL, false, false, "HTTP 413: the request is too large"},
    {413, "{\"error\":{\"message\":\"Request exceeds the maximum size\"}}", ERR_TOO_BIG, false,
     false, NULL},
    {401, "{\"error\":\"no key\"}", ERR_AUTH, false, false, "no key"},
    {402, "x", ERR_QUOTA, false, false, "HTTP 402: x"},
    {403, "{\"detail\":\"not you\"}", ERR_AUTH, false, false, "not you"},
    {404, "{\"message\":\"no such model\",\"object\":\"error\"}", ERR_NOT_FOUND, false, false,
     "no such model"},
    {405, "", ERR_UNSUPPORTED, false, false, "HTTP 405 without an explanation"},
    {408, "", ERR_NETWORK, true, false, NULL},
    {409, "", ERR_NETWORK, true, false, NULL},
    {422, "{\"detail\":[{\"msg\":\"field required\",\"input\":\"maximum context length\"}]}",
     ERR_BAD_INPUT, false, false, "field required"},
    {429, "{\"error\":{\"message\":\"slow down\"}}", ERR_RETRY_LATER, true, false, "slow down"},
    {429, "{\"error\":{\"message\":\"no\",\"code\":\"insufficient_quota\"}}", ERR_QUOTA, false,
     false, NULL},
    {429, "{\"error\":{\"message\":\"Too many tokens, please wait\"}}", ERR_RETRY_LATER, true,
     false, NULL},
    {429, "{\"error\":{\"message\":\"Request too large for model x\"}}", ERR_CONTEXT_FULL, false,
     false, NULL},
    {429,
     "{\"error\":{\"message\":\"You exceeded your current token quota: x\","
     "\"type\":\"exceeded_current_quota_error\"}}",
     ERR_QUOTA, false, false, NULL},
    {403,
     "{\"error\":{\"message\":\"Your account is not active, organization exceeded current quota\","
     "\"type\":\"exceeded_current_quota_error\"}}",
     ERR_QUOTA, false, false, NULL},
    {429,
     "{\"error\":{\"code\":\"1308\",\"message\":\"Usage limit reached for 5 hour. Your limit will "
     "reset at 2026-09-09 05:38:28\"}}",
     ERR_QUOTA, false, false, NULL},
    {429,
     "{\"error\":{\"code\":\"1310\",\"message\":\"Weekly/Monthly Limit Exhausted. Your limit will "
     "reset at 2026-09-09 05:38:28\"}}",
     ERR_QUOTA, false, false, NULL},
    {429, "{\"error\":\"you (me) have reached your session usage limit, please wait or upgrade\"}",
     ERR_QUOTA, false, false, NULL},
    {429,
     "{\"code\":\"x\",\"error\":\"Your team y has either used all available credits or reached its "
     "monthly spending limit.\"}",
     ERR_QUOTA, false, false, NULL},
    {429, "{\"error\":{\"message\":\"Rate limit exceeded: free-models-per-day.\",\"code\":429}}",
     ERR_QUOTA, false, false, NULL},
    {429, "{\"error\":{\"message\":\"Rate limit exceeded: free-models-per-min.\",\"code\":429}}",
     ERR_RETRY_LATER, true, false, NULL},
    {429,
     "{\"error\":{\"message\":\"The engine is currently overloaded, please try again later\","
     "\"type\":\"engine_overloaded_error\"}}",
     ERR_RETRY_LATER, true, true, NULL},
    {400, "{\"error\":{\"message\":\"Your credit balance is too low to access the API\"}}",
     ERR_QUOTA, false, false, NULL},
    {400, "{\"error\":{\"message\":\"gemma does not support tools\"}}", ERR_UNSUPPORTED, false,
     false, NULL},
    {400,
     "{\"error\":{\"message\":\"messages.4.content.0.image.source.base64: image exceeds 5 MB "
     "maximum: 6000000 bytes > 5242880 bytes\"}}",
     ERR_TOO_BIG, false, false, NULL},
    {500, "<!DOCTYPE html>\n<html><head><title> Bad\n gateway </title>", ERR_NETWORK, true, false,
     "HTTP 500 with an HTML page: Bad gateway"},
    {500, "{\"error\":{\"message\":\"x\",\"type\":\"exceed_context_size_error\"}}",
     ERR_CONTEXT_FULL, false, false, "x"},
    {501, "", ERR_UNSUPPORTED, false, false, NULL},
    {503, "[{\"error\":{\"message\":\"The model is overloaded.\"}}]", ERR_RETRY_LATER, true, true,
     "The model is overloaded."},
    {529, "{", ERR_RETRY_LATER, true, true, "HTTP 529: {"},
    {302, "", ERR_PROTOCOL, false, false, NULL},
    {400, "{\"error\":{\"message\":\" \"}}", ERR_BAD_INPUT, false, false,
     "HTTP 400: {\"error\":{\"message\":\" \"}}"}, /* an unreadable message */
    {418, "null", ERR_BAD_INPUT, false, false, "HTTP 418: null"},
};

static void test_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct llm_fault f = {0};

        fault_from_status(&f, rows[i].status, str_of(rows[i].body), STR(""), STR(""));
        if (f.code != rows[i].code || f.retry != rows[i].retry ||
            f.overloaded != rows[i].overloaded || !f.text[0] ||
            (rows[i].text && strcmp(f.text, rows[i].text) != 0))
            fail_msg("%d %s: %s%s%s \"%s\"", rows[i].status, rows[i].body, err_code_name(f.code),
                     f.retry ? " retry" : "", f.overloaded ? " overloaded" : "", f.text);
    }
}

/* Whether an image or a file may be to blame. */
static void test_media(void **state)
{
    static const struct {
        int status;
        const char *message;
        bool media;
    } cases[] = {
        {400, "image exceeds 5 MB maximum", true},
        {400, "At least one of the image dimensions exceed max allowed size: 8000 pixels", true},
        {400, "A maximum of 100 PDF pages may be provided.", true},
        {400, "Unable to process input image.", true},
        {413, "Request exceeds the maximum size", true},
        {400, "this model does not support image input", true},
        {404, "No endpoints found that support image input", true},
        {400, "max_tokens exceeds the maximum", false},
        {500, "could not process image", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[300];
        struct llm_fault f = {0};

        snprintf(body, sizeof(body), "{\"error\":{\"message\":\"%s\"}}", cases[i].message);
        fault_from_status(&f, cases[i].status, str_of(body), STR(""), STR(""));
        if (f.media != cases[i].media)
            fail_msg("%d %s", cases[i].status, cases[i].message);
    }
}

static void test_wait(void **state)
{
    static const struct {
        int status;
        const char *body, *seconds, *ms;
        int64_t wait;
    } waits[] = {
        {429, "{}", "2", "", 2000},
        {429, "{}", "2", "1500", 1500},
        {429, "{}", "", "", -1},
        {429, "{}", "soon", "", -1},
        {503, "{}", "7", "", 7000},
        {429, "{\"error\":{\"message\":\"Please try again in 11.054s\"}}", "", "", 11054},
        {400, "{\"error\":{\"message\":\"Please try again in 11.054s\"}}", "", "", -1},
        {429,
         "{\"error\":{\"message\":\"free-models-per-min\",\"metadata\":{\"headers\":{"
         "\"X-RateLimit-Reset\":\"7\"}}}}",
         "", "", 7000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        struct llm_fault f = {0};

        fault_from_status(&f, waits[i].status, str_of(waits[i].body), str_of(waits[i].seconds),
                          str_of(waits[i].ms));
        if (f.wait_ms != waits[i].wait)
            fail_msg("row %zu: %lld ms", i, (long long)f.wait_ms);
    }
}

/* The texts of the reference sheets, as the servers write them. */
static void test_context_texts(void **state)
{
    static const char *const full[] = {
        "context_length_exceeded",
        "Prompt exceeds max length",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        "Input length 203743 exceeds the maximum length 202752",
        "Invalid request: Input token length too long",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens",
        "Your input exceeds the context window of this model",
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
        "(60000 in the messages, 10000 in the completion)",
        "This model's maximum context length is 10 tokens. However, you requested 5 output tokens "
        "and your prompt contains at least 6 input tokens",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "Requested token count exceeds the model's maximum context length",
        "exceed_context_size_error",
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "This endpoint's maximum context length is 9 tokens. However, you requested about 10 "
        "tokens",
        "This model's maximum prompt length is 9 but the request contains 10 tokens",
        "Please reduce the length of the messages or completion",
        "prompt token count of 10 exceeds the limit of 9",
        "context window exceeds limit",
        "exceeded model token limit: 9 (requested: 10)",
        "Input is too long for requested model",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
        "The input token count (10) exceeds the maximum number of tokens allowed (9).",
        "CONTEXT LENGTH EXCEEDED",
        "too many tokens",
        "token limit exceeded",
    };
    static const char *const fine[] = {
        "", "invalid model", "prompt token count of 10", "the context is a file", "rate limit",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(full); i++) {
        if (!fault_is_context_text(str_of(full[i])))
            fail_msg("not seen: %s", full[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        if (fault_is_context_text(str_of(fine[i])))
            fail_msg("wrongly seen: %s", fine[i]);
    }
}

static void test_text(void **state)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"", ""},
        {"  a \n\t b\r\n", "a b"},
        {"a\x01\x1b[31mb", "a [31mb"},
        {"a\xc2\x9bmz\xc2\x85", "a mz"}, /* C1: an escape and its bracket in one */
        {"caf\xc3\xa9 \xff!", "caf\xc3\xa9 ?!"},
        {"cut \xc3", "cut ?"},
    };
    char big[2000];
    struct llm_fault f;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        fault_text(&f, str_of(texts[i].in));
        assert_string_equal(f.text, texts[i].out);
    }
    for (size_t lead = 0; lead < 3; lead++) { /* clipped between characters, whatever the offset */
        memset(big, 'a', lead);
        for (size_t i = lead; i + 3 < sizeof(big); i += 3)
            memcpy(big + i, "\xe2\x82\xac", 3);
        fault_text(&f, str_make(big, lead + 1800));
        assert_true(utf8_is_valid(str_of(f.text)));
        assert_in_range(strlen(f.text), sizeof(f.text) - 4, sizeof(f.text) - 1);
    }
}

static void test_effort(void **state)
{
    enum effort e = EFFORT_UNSET;
    unsigned set = 1u << EFFORT_LOW | 1u << EFFORT_HIGH;

    (void)state;
    assert_true(effort_parse(STR("xhigh"), &e));
    assert_int_equal(e, EFFORT_XHIGH);
    assert_false(effort_parse(STR(""), &e));
    assert_false(effort_parse(STR("huge"), &e));
    assert_string_equal(effort_name(EFFORT_MINIMAL), "minimal");
    assert_int_equal(effort_fit(set, EFFORT_MAX), EFFORT_HIGH);
    assert_int_equal(effort_fit(set, EFFORT_MEDIUM), EFFORT_LOW);
    assert_int_equal(effort_fit(set, EFFORT_NONE), EFFORT_LOW);
    assert_int_equal(effort_fit(set, EFFORT_UNSET), EFFORT_UNSET);
    assert_int_equal(effort_fit(0, EFFORT_HIGH), EFFORT_UNSET);
}

/* The time until a quota is reset, in all formats. */
static void test_resets(void **state)
{
    static const struct {
        const char *body, *retry_after;
        int64_t want_ms;
    } said[] = {
        {"{\"error\":{\"type\":\"usage_limit_reached\",\"resets_in_seconds\":7200}}", "", 7200000},
        {"{\"error\":{\"type\":\"usage_limit_reached\",\"resets_at\":32503680000}}", "", -1},
        {"{\"error\":{\"type\":\"usage_limit_reached\",\"resets_at\":1500000000}}", "", 0},
        {"{\"error\":{\"message\":\"quota exceeded; resets in 2 hours\"}}", "", 7200000},
        {"{\"error\":{\"message\":\"quota exceeded\",\"resets_in_seconds\":7200}}", "60", 60000},
        {"{\"error\":{\"message\":\"quota exceeded\",\"resets_in_seconds\":\"soon\"}}", "", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        struct llm_fault f = {0};

        fault_from_status(&f, 429, str_of(said[i].body), str_of(said[i].retry_after), STR(""));
        if (f.wait_ms != said[i].want_ms)
            fail_msg("%s: %lld ms", said[i].body, (long long)f.wait_ms);
    }
}

UNIT_TEST(fault)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status), cmocka_unit_test(test_media),
        cmocka_unit_test(test_wait),   cmocka_unit_test(test_context_texts),
        cmocka_unit_test(test_text),   cmocka_unit_test(test_effort),
        cmocka_unit_test(test_resets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
