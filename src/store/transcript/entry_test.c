/*
 * Lines as they are begun, kinds by name, times there and back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "json/jw.h"
#include "store/transcript/entry.h"
#include "unit.h"

static void test_kinds(void **state)
{
    (void)state;
    for (int i = 0; i < ENTRY_OTHER; i++)
        assert_int_equal(entry_kind_of(str_of(entry_kind_name((enum entry_kind)i))), i);
    assert_int_equal(entry_kind_of(STR("cost-state")), ENTRY_OTHER);
    assert_int_equal(entry_kind_of(STR("")), ENTRY_OTHER);
    assert_true(entry_kind_is_link(ENTRY_SYSTEM));
    assert_false(entry_kind_is_link(ENTRY_PROGRESS));
    assert_false(entry_kind_is_link(ENTRY_OTHER));
}

static void test_begin(void **state)
{
    struct entry_head head = {
        .session = STR("S"), .cwd = STR("/w"), .version = STR("0.1.0"), .branch = STR("main")};
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 12);
    struct jw w;

    (void)state;
    jw_init(&w, &out, 0);
    entry_begin(&w, &head, ENTRY_USER, STR("U1"), STR(""), 1794650400000);
    jw_object_end(&w);
    assert_string_equal(buf_cstr(&out),
                        "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\","
                        "\"cwd\":\"/w\",\"sessionId\":\"S\",\"version\":\"0.1.0\","
                        "\"gitBranch\":\"main\",\"type\":\"user\",\"uuid\":\"U1\","
                        "\"timestamp\":\"2026-11-14T10:00:00.000Z\"}");
    buf_clear(&out);
    head.branch = STR("");
    head.agent_id = STR("a1");
    jw_init(&w, &out, 0);
    entry_begin(&w, &head, ENTRY_ASSISTANT, STR("U2"), STR("U1"), 0);
    jw_object_end(&w);
    assert_true(str_starts(buf_str(&out), STR("{\"parentUuid\":\"U1\",\"isSidechain\":true,"
                                              "\"agentId\":\"a1\",")));
    assert_false(str_has(buf_str(&out), STR("gitBranch")));
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"2026-11-14T10:00:00.000Z", 1794650400000},
        {"2026-11-14T10:00:00.123Z", 1794650400123},
        {"2026-11-14T10:00:00Z", 1794650400000},
        {"1970-01-01T00:00:00.000Z", 0},
        {"2026-11-14 10:00:00.000Z", -1},
        {"2026-11-14T10:00:00.000+01:00", -1},
        {"2026-1x-14T10:00:00.000Z", -1},
        {"", -1},
    };
    char out[25];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = entry_time_parse(str_of(rows[i].text));

        if (ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
        if (ms < 0 || strlen(rows[i].text) != 24)
            continue;
        entry_time(ms, out);
        assert_string_equal(out, rows[i].text);
    }
    entry_time(-5, out);
    assert_string_equal(out, "1970-01-01T00:00:00.000Z");
}

UNIT_TEST(entry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
