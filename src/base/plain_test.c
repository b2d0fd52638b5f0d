#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/plain.h"
#include "unit.h"

struct plain_case {
    struct str in;
    const char *out;
};

static const struct plain_case plain_cases[] = {
    {STR_INIT(""), ""},
    {STR_INIT("no end"), "no end"},
    {STR_INIT("a\nb\n"), "a\nb\n"},
    {STR_INIT("a\tb\n\n"), "a\tb\n\n"},
    {STR_INIT("dos\r\nline\r\n"), "dos\nline\n"},
    {STR_INIT("\033[1;31mred\033[0m\n"), "red\n"},
    {STR_INIT("\033]0;title\007text\033]8;;http://x\033\\link"), "textlink"},
    {STR_INIT("\033(Bcharset\033=\033>\0337keys\033M"), "charsetkeys"},
    {STR_INIT("\033Pdcs \033[m inside\033\\after"), " insideafter"},
    {STR_INIT("\033[12\nnot a sequence"), "\nnot a sequence"},
    {STR_INIT("\033]unfinished\nnext"), "\nnext"},
    {STR_INIT("cut \033["), "cut "},
    {STR_INIT("10%\r20%\r100%\ndone\n"), "100%\ndone\n"},
    {STR_INIT("kept\r"), "kept"},
    {STR_INIT("kept\r\033[K\nx"), "kept\nx"},
    {STR_INIT("long line\rx"), "x"},
    {STR_INIT("over\b\b\b\bunder"), "under"},
    {STR_INIT("_\bb_\bo_\bl_\bd"), "bold"},
    {STR_INIT("\xc3\xa9\bx\b\b\by\n\bz"), "y\nz"},
    {STR_INIT("nul\0s\0\n"), "nuls\n"},
    {STR_INIT("\001\002\007\013\014\177bell"), "bell"},
    {STR_INIT("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
     "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {STR_INIT("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd"},
    {STR_INIT("latin caf\xe9\n"), "latin caf\xef\xbf\xbd\n"},
    {STR_INIT("\xe2\x82"), "\xef\xbf\xbd"},
    {STR_INIT("\xe2\x82x"), "\xef\xbf\xbdx"},
    {STR_INIT("\xf0\x9f\x98\xf0\x9f\x98\x80"), "\xef\xbf\xbd\xf0\x9f\x98\x80"},
    {STR_INIT("\xed\xa0\x80"), "\xef\xbf\xbd"}, /* a surrogate */
    {STR_INIT("\xc2\x9b"
              "8-bit"),
     "8-bit"},
};

static void take(void *arg, struct str text)
{
    buf_add(arg, text);
}

/* However it is cut, the same comes out. */
static void cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plain_cases); i++) {
        const struct plain_case *c = &plain_cases[i];

        for (size_t step = 1; step <= c->in.len + 1; step++) {
            CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
            struct plain p;

            plain_init(&p, take, &out);
            for (size_t at = 0; at < c->in.len; at += step)
                plain_feed(&p, str_first(str_from(c->in, at), step));
            plain_end(&p);
            plain_release(&p);
            if (!str_is(buf_str(&out), c->out))
                fail_msg("row %zu in steps of %zu: '%s' instead of '%s'", i, step, buf_cstr(&out),
                         c->out);
        }
    }
}

static void line_is_kept_back(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct plain p;

    (void)state;
    plain_init(&p, take, &out);
    plain_feed(&p, STR("one\ntwo"));
    assert_string_equal(buf_cstr(&out), "one\n");
    assert_true(str_is(plain_line(&p), "two"));
    plain_feed(&p, STR("\rthree"));
    assert_true(str_is(plain_line(&p), "three"));
    plain_end(&p);
    assert_string_equal(buf_cstr(&out), "one\nthree");
    plain_release(&p);
}

/* A line of 1 MB is handed on in parts, and what comes after a return cannot reach them. */
static void long_line(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    char part[1000];
    struct plain p;

    (void)state;
    memset(part, 'x', sizeof(part));
    plain_init(&p, take, &out);
    for (int i = 0; i < 1000; i++) {
        plain_feed(&p, str_make(part, sizeof(part)));
        assert_true(p.text.cap < 300000);
    }
    plain_feed(&p, STR("\rnew\n"));
    plain_end(&p);
    plain_release(&p);
    assert_true(out.len > 900000);
    assert_true(str_ends(buf_str(&out), STR("\nnew\n")));
}

UNIT_TEST(plain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(line_is_kept_back),
        cmocka_unit_test(long_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
