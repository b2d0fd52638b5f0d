/*
 * Patterns of URLs in policies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mcp/url_rule.h"
#include "unit.h"

static const struct {
    const char *pattern, *url;
    bool matches;
} rows[] = {
    {"https://x.corp/mcp", "https://x.corp/mcp", true},
    {"https://x.corp/mcp", "https://x.corp/mcp2", false},
    {"https://x.corp/mcp", "https://x.corp/MCP", false}, /* paths differ by case */
    {"https://x.corp", "https://x.corp/", true},
    {"https://x.corp", "https://x.corp/mcp", false},
    {"https://x.corp/*", "https://x.corp", true},
    {"https://*.corp/*", "https://x.corp/mcp", true},
    {"https://*.corp/*", "https://a.b.corp/x.corp/y", true},
    {"https://*.corp/*", "https://evil.example/x.corp/y", false},
    {"https://*.corp/*", "https://evil.example/?a=x.corp/y", false},
    {"https://*.corp/*", "https://x.corp.evil.example/y", false},
    {"https://*.corp/*", "https://corp/y", false},
    {"https://*.corp/*", "http://x.corp/y", false},
    {"https://*.corp/mcp", "https://a.corp/mcp.corp/mcp", false},
    {"https://evil.example/*", "HTTPS://EVIL.example/x", true},
    {"HTTPS://Evil.Example/*", "https://evil.example/x", true},
    {"https://evil.example/*", "https://evil.example./x", true},
    {"https://evil.example/*", "https://evil.example:443/x", true},
    {"http://evil.example:80/*", "http://evil.example/x", true},
    {"https://evil.example/*", "https://evil.example:8443/x", false},
    {"http://localhost:*/*", "http://localhost:3000/mcp", true},
    {"http://localhost:*/*", "http://localhost/mcp", true},
    {"http://localhost:*/*", "http://localhost.evil.example:3000/mcp", false},
    {"http*://x.corp/*", "http://x.corp/a", true},
    {"https://*", "https://x.corp/a/b", true},
    {"*", "https://x.corp/a/b", true},
    {"*/mcp", "https://x.corp/a/mcp", true},
    {"https://x.corp/a/*/b*c", "https://x.corp/a/b/b/bc/c", true},
    {"", "https://x.corp/", false},
};

static void patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (url_rule_matches(str_of(rows[i].pattern), str_of(rows[i].url)) != rows[i].matches)
            fail_msg("row %zu: %s, %s", i, rows[i].pattern, rows[i].url);
    }
}

UNIT_TEST(url_rule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
