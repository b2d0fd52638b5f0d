/*
 * Any bytes where a server says how long to wait, and as a URL: a delay is -1 or a sane number, and
 * the parts of a URL lie inside it.
 */
#include "net/retry.h"

#include "fuzz.h"
#include "net/url.h"

#define NOW_MS INT64_C(784111777000)
#define YEAR_MS (INT64_C(366) * 24 * 3600 * 1000)

static void check_delay(int64_t ms)
{
    FUZZ_CHECK(ms >= -1 && ms <= YEAR_MS);
    FUZZ_CHECK(retry_delay_ms(&retry_default, 2, ms, (uint64_t)ms) <= 600000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    struct url url;

    check_delay(retry_text_ms(text));
    check_delay(retry_after_ms(text, STR(""), NOW_MS));
    check_delay(retry_after_ms(STR(""), text, NOW_MS));
    if (url_parse(text, &url, NULL) == 0) {
        FUZZ_CHECK(url.port >= 1 && url.port <= 65535);
        FUZZ_CHECK(url.host.len > 0);
        FUZZ_CHECK(url.host.ptr > text.ptr && url.host.ptr + url.host.len <= text.ptr + text.len);
        FUZZ_CHECK(str_chr(url.host, '@') == url.host.len);
    }
    return 0;
}
