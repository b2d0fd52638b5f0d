/* The remaining quota of a subscription, read from headers and written for status lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/strv.h"
#include "json/jw.h"
#include "llm/rate.h"
#include "unit.h"

static const struct {
    const char *headers; /* lines */
    const char *written;
    const char *status, *claim;
} rows[] = {
    {"content-type: text/event-stream\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: 0.235\n"
     "anthropic-ratelimit-unified-5h-reset: 1738425600\n"
     "anthropic-ratelimit-unified-7d-utilization: 0.412\n"
     "anthropic-ratelimit-unified-7d-reset: 1738857600\n"
     "anthropic-ratelimit-unified-status: allowed_warning\n"
     "anthropic-ratelimit-unified-representative-claim: five_hour\n",
     "{\"five_hour\":{\"used_percentage\":24,\"resets_at\":1738425600},"
     "\"seven_day\":{\"used_percentage\":41,\"resets_at\":1738857600}}",
     "allowed_warning", "five_hour"},
    {"anthropic-ratelimit-unified-5h-utilization: 1.02\n",
     "{\"five_hour\":{\"used_percentage\":102}}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: much\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: nan\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: -1\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: 1e300\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-5h-utilization: 0.5\n"
     "anthropic-ratelimit-unified-5h-reset: 1e300\n",
     "{\"five_hour\":{\"used_percentage\":50}}", "", ""},
    {"anthropic-ratelimit-unified-status: \x1b[31mred\n", "{}", "", ""},
    {"anthropic-ratelimit-unified-status: a_word_that_is_much_too_long_for_it\n", "{}", "", ""},
};

static void headers_become_figures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(strv_release) struct strv headers = STRV_INIT;
        CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
        struct str rest = str_of(rows[i].headers);
        struct str line;
        struct llm_rate rate;
        struct jw w;

        while (rest.len && str_cut(&rest, '\n', &line))
            strv_add(&headers, line);
        llm_rate_read(&headers, &rate);
        jw_init(&w, &out, 0);
        jw_object(&w);
        llm_rate_write(&w, &rate);
        jw_object_end(&w);
        assert_string_equal(buf_cstr(&out), rows[i].written);
        assert_string_equal(rate.status, rows[i].status);
        assert_string_equal(rate.claim, rows[i].claim);
        assert_int_equal(rate.known, out.len > 2);
    }
}

UNIT_TEST(rate)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers_become_figures)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
