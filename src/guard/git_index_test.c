/* An index that git has only refreshed, and ones that say something else; of each version and hash
 * that git writes. Needs git. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/git_index.h"
#include "proc/proc.h"
#include "unit.h"

#define MAX_INDEX ((size_t)1 << 20)

static char dir[] = "/tmp/git-index-XXXXXX";

static void shell(const char *command)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = dir};
    struct proc_result r = {0};
    struct err err = {0};

    assert_int_equal(proc_run(&spec, NULL, &r, &err), 0);
    if (r.code)
        fail_msg("%s: %s", command, buf_cstr(&r.err));
    proc_result_release(&r);
}

static void read_index(struct buf *ret)
{
    CLEANUP(mem_freep) char *path = path_join(dir, "r/.git/index");

    buf_clear(ret);
    assert_int_equal(file_slurp(path, MAX_INDEX, ret, NULL), 0);
}

static const char *const kinds[] = {
    "git init -q r && cd r && git config index.version 2",
    "git init -q r && cd r && git config index.version 4",
    "git init -q --object-format=sha256 r && cd r && git config index.version 2",
    "git init -q --object-format=sha256 r && cd r && git config index.version 4",
};

static const struct {
    const char *command;
    bool is_same;
} rows[] = {
    {"true", true},
    {"touch -d 2001-01-01 a long-name && git update-index -q --refresh", true},
    {"cp -p a x && mv x a && git update-index -q --refresh", true}, /* another inode */
    {"echo more >> a && git add a", false},
    {"echo n > b && git add b", false},
    {"git rm -q --cached a", false},
    {"git update-index --chmod=+x a", false},
    {"git update-index --assume-unchanged a", false},
    {"git mv a c", false},
    {"touch later && git add -N later", false}, /* version 3 */
};

static void refreshed(void **state)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(MAX_INDEX);
    CLEANUP(buf_release) struct buf new = BUF_INIT(MAX_INDEX);

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            CLEANUP(buf_release) struct buf command = BUF_INIT(10000);

            shell("rm -rf r");
            shell(kinds[k]);
            shell("cd r && echo 1 > a && mkdir s && echo 2 > s/b && echo 3 > long-name && touch "
                  "empty && git add . && git -c user.name=a -c user.email=a@b commit -qm x && "
                  "git status > /dev/null");
            read_index(&old);
            buf_addf(&command, "cd r && %s", rows[i].command);
            shell(buf_cstr(&command));
            read_index(&new);
            if (git_index_is_same(buf_str(&old), buf_str(&new)) != rows[i].is_same)
                fail_msg("%s: %s", kinds[k], rows[i].command);
        }
    }
    shell("cd r && git add . && git add -N later && touch -d 2001-01-01 a");
    read_index(&old);
    shell("cd r && git update-index -q --refresh; git ls-files -t");
    read_index(&new);
    assert_true(git_index_is_same(buf_str(&old), buf_str(&new)));
}

/* Cut and changed ones are no others, and nothing is read behind their ends. */
static void broken(void **state)
{
    CLEANUP(buf_release) struct buf whole = BUF_INIT(MAX_INDEX);

    (void)state;
    read_index(&whole);
    for (size_t len = 0; len < whole.len; len++) {
        CLEANUP(mem_freep) char *cut = mem_dup(whole.ptr, len);

        (void)git_index_is_same(str_make(cut, len), str_make(cut, len));
        assert_false(git_index_is_same(buf_str(&whole), str_make(cut, len)));
    }
    for (size_t at = 0; at < whole.len; at++) {
        CLEANUP(mem_freep) char *changed = mem_dup(whole.ptr, whole.len);

        changed[at] ^= 0x41;
        (void)git_index_is_same(str_make(changed, whole.len), str_make(changed, whole.len));
        if (at < 12 || (at > 51 && at < 72)) /* the head, the id of the first entry */
            assert_false(git_index_is_same(buf_str(&whole), str_make(changed, whole.len)));
    }
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    shell("rm -rf r");
    proc_shutdown();
    return rmdir(dir);
}

UNIT_TEST(git_index)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refreshed),
        cmocka_unit_test(broken),
    };

    if (access("/usr/bin/git", X_OK) < 0)
        return 77;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
