/* sha256: the vectors of FIPS 180-4, and every length around a block's end against an independent
 * implementation's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "unit.h"

static void known(void **state)
{
    static const struct {
        const char *text, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char hex[SHA256_HEX + 1];

        sha256_hex(str_of(rows[i].text), hex);
        if (strcmp(hex, rows[i].hex) != 0)
            fail_msg("\"%s\": %s", rows[i].text, hex);
    }
}

/* The digests of 0, 1, … 200 times 'a', each appended to a text, have this digest together. */
static void every_length(void **state)
{
    char text[201 * SHA256_HEX + 1];
    char bytes[201];
    char hex[SHA256_HEX + 1];

    (void)state;
    memset(bytes, 'a', sizeof(bytes));
    for (size_t i = 0; i <= 200; i++)
        sha256_hex(str_make(bytes, i), text + i * SHA256_HEX);
    sha256_hex(str_make(text, sizeof(text) - 1), hex);
    assert_string_equal(hex, "eb555248bd20c7831e511d4461b42c9b084e3a64b44d57b00051172f8afe03ff");
}

/* However the bytes are cut up, the digest is that of the whole. */
static void in_portions(void **state)
{
    char bytes[300];
    char whole[SHA256_HEX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    sha256_hex(str_make(bytes, sizeof(bytes)), whole);
    for (size_t step = 1; step <= sizeof(bytes); step++) {
        char hex[SHA256_HEX + 1];
        struct sha256 s;

        sha256_init(&s);
        for (size_t at = 0; at < sizeof(bytes); at += step)
            sha256_add(&s, str_first(str_from(str_make(bytes, sizeof(bytes)), at), step));
        sha256_add(&s, STR(""));
        sha256_end(&s, hex);
        if (strcmp(hex, whole) != 0)
            fail_msg("in portions of %zu: %s", step, hex);
    }
}

UNIT_TEST(sha256)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),
        cmocka_unit_test(every_length),
        cmocka_unit_test(in_portions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
