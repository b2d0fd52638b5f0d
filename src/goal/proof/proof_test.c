/*
 * A proof is untrusted input: errors in one are found when it is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/proof/proof.h"
#include "unit.h"

#define TREE "\"aba251f25e86236d2e6949fe9c709dbaf3f49bc3\""
#define HEAD "{\"type\":\"goal_proof\",\"format\":1,\"goal_id\":\"1234\",\"prefix\":"
#define TREES ",\"baseline\":{\"commit\":\"\",\"tree\":" TREE "},\"final\":{\"tree\":" TREE "}"
#define CHECK(command) ",\"checks\":[{\"result\":{\"command\":\"" command "\"}}]}"

static const struct read_case {
    const char *json;
    enum err_code code; /* 0: it is read */
} cases[] = {
    {HEAD "\"\"" TREES CHECK("true"), 0},
    {HEAD "\"lib/core\"" TREES CHECK("true"), 0},
    {HEAD "\"\"" TREES "}", 0},
    {"", ERR_PROTOCOL},
    {"[]", ERR_PROTOCOL},
    {"{\"type\":\"goal_proof\",\"format\":2}", ERR_PROTOCOL},
    {HEAD "\"..\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"a/../..\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"/etc\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"a/\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"a//b\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\".git/hooks\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"a\\u0000b\"" TREES CHECK("true"), ERR_PROTOCOL},
    {HEAD "\"\"" TREES CHECK(""), ERR_PROTOCOL},
    {HEAD "\"\",\"baseline\":{\"tree\":" TREE "},\"final\":{\"tree\":\"HEAD\"}" CHECK("true"),
     ERR_PROTOCOL},
    {HEAD "\"\",\"baseline\":{\"tree\":" TREE ",\"commit\":\"--all\"},\"final\":{\"tree\":" TREE
          "}" CHECK("true"),
     ERR_PROTOCOL},
};

static char folder[] = "/tmp/tenax-proof-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(folder, PROOF_FILE);

    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void proofs_are_checked_when_read(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(folder, PROOF_FILE);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(proof_release) struct proof p = PROOF_INIT;
        struct err err = {0};
        int r;

        assert_int_equal(file_replace(path, str_of(cases[i].json), 0600, &err), 0);
        r = proof_read(&p, folder, &err);
        if (r != (cases[i].code ? -1 : 0) || (r < 0 && err.code != cases[i].code))
            fail_msg("row %zu: %d, code %d: %s", i, r, (int)err.code, err.text);
    }
}

static void missing_proof_is_not_found(void **state)
{
    CLEANUP(proof_release) struct proof p = PROOF_INIT;
    struct err err = {0};

    (void)state;
    assert_int_equal(proof_read(&p, "/nonexistent", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* Nothing that was not run counts as reproduced. */
static void proof_holds_only_when_all_was_run(void **state)
{
    CLEANUP(proof_release) struct proof p = PROOF_INIT;
    CLEANUP(proof_result_release) struct proof_result r = {0};
    struct check_result passed = {.passed = true};

    (void)state;
    assert_false(proof_holds(&p, &r)); /* no checks */
    strv_adds(&p.checks, "true");
    assert_false(proof_holds(&p, &r));
    vec_push(&r.checks, passed);
    assert_true(proof_holds(&p, &r));
    strv_adds(&r.wrong, "a protected file changed");
    assert_false(proof_holds(&p, &r));
    strv_clear(&r.wrong);
    r.checks.ptr[0].passed = false;
    assert_false(proof_holds(&p, &r));
}

UNIT_TEST(proof)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_checked_when_read),
        cmocka_unit_test(missing_proof_is_not_found),
        cmocka_unit_test(proof_holds_only_when_all_was_run),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
