/*
 * Which variables say where a key goes, and which files git tracks.
 */
#include "conf/checkout.h"
#include "conf/credential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "store/scratch_check.h"
#include "unit.h"

static void test_variables(void **state)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = {
        {"ANTHROPIC_BASE_URL", true},
        {"ANTHROPIC_API_KEY", true},
        {"ANTHROPIC_AUTH_TOKEN", true},
        {"ANTHROPIC_CUSTOM_HEADERS", true},
        {"OPENAI_ORG", true},
        {"openai_base_url", true},
        {"GEMINI_API_KEY", true},
        {"MISTRAL_API_KEY", true},
        {"HTTPS_PROXY", true},
        {"https_proxy", true},
        {"ALL_PROXY", true},
        {"NODE_EXTRA_CA_CERTS", true},
        {"SSL_CERT_FILE", true},
        {"AWS_PROFILE", true},
        {"NODE_TLS_REJECT_UNAUTHORIZED", true},
        {"PATH", false},
        {"EDITOR", false},
        {"RUST_LOG", false},
        {"ANTHROPIC_MODEL", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (credential_is_variable(str_of(rows[i].name)) != rows[i].is)
            fail_msg("%s", rows[i].name);
    }
}

static void add32(struct buf *to, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(to, (char)(n >> shift & 255));
}

/* An index of this version with these names, as git writes it. */
static void make_index(uint32_t version, const char *const *names, size_t count, struct buf *ret)
{
    const char *before = "";

    buf_clear(ret);
    buf_adds(ret, "DIRC");
    add32(ret, version);
    add32(ret, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        size_t start = ret->len;
        size_t same = 0;

        for (int j = 0; j < 24; j++)
            buf_addc(ret, '\1');
        add32(ret, 0100644);
        for (int j = 0; j < 32; j++)
            buf_addc(ret, '\1');
        buf_addc(ret, version > 2 ? '\x40' : '\0'); /* extended */
        buf_addc(ret, (char)strlen(names[i]));
        if (version > 2)
            buf_add(ret, str_make("\0\0", 2));
        if (version == 4) {
            while (before[same] && before[same] == names[i][same])
                same++;
            buf_addc(ret, (char)(strlen(before) - same));
        }
        buf_adds(ret, names[i] + same);
        do {
            buf_addc(ret, '\0');
        } while (version < 4 && (ret->len - start) % 8);
        before = names[i];
    }
    for (int i = 0; i < 20; i++)
        buf_addc(ret, '\2');
}

static void test_tracked(void **state)
{
    /* "linked" is a link, a submodule or a folder of a sparse index. */
    static const char *const names[] = {".claude/settings.json", ".claude/settings.local.json",
                                        ".tenax/settings.json", "README", "linked"};
    static const struct {
        const char *name;
        bool is;
    } rows[] = {{".claude/settings.json", true},         {".claude/settings.local.json", true},
                {".tenax/settings.json", true},          {"README", true},
                {".tenax/settings.local.json", false},   {".claude/settings.loca", false},
                {".claude/settings.local.json2", false}, {"linked/settings.local.json", true},
                {"linked2/settings.local.json", false}};
    CLEANUP(buf_release) struct buf index = BUF_INIT(1 << 16);
    struct err err = {0};

    (void)state;
    assert_false(checkout_tracks(scratch("r/.claude/settings.local.json")));
    assert_int_equal(file_mkdirs(scratch("r/.git"), 0700, &err), 0);
    assert_int_equal(file_replace(scratch("r/.git/HEAD"), STR("ref: refs/heads/a\n"), 0600, &err),
                     0);
    assert_int_equal(file_mkdirs(scratch("r/.claude"), 0700, &err), 0);
    assert_int_equal(file_mkdirs(scratch("r/.tenax"), 0700, &err), 0);
    assert_false(checkout_tracks(scratch("r/.claude/settings.json"))); /* no index */
    for (uint32_t version = 2; version <= 4; version++) {
        make_index(version, names, ARRAY_LEN(names), &index);
        assert_int_equal(file_replace(scratch("r/.git/index"), buf_str(&index), 0600, &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            char path[300];

            snprintf(path, sizeof(path), "%s/%s", scratch("r"), rows[i].name);
            if (checkout_tracks(path) != rows[i].is)
                fail_msg("version %u: %s", version, rows[i].name);
        }
        /* One that is cut off says nothing, so everything may be in it. */
        index.len -= 40;
        assert_int_equal(file_replace(scratch("r/.git/index"), buf_str(&index), 0600, &err), 0);
        assert_true(checkout_tracks(scratch("r/.tenax/settings.local.json")));
    }
}

static int setup(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

UNIT_TEST(credential)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_tracked),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
