#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/confine_image.h"
#include "proc/confine_rules.h"
#include "proc/landlock.h"
#include "unit.h"

#define CANNOT 77 /* no mounts, or no Landlock, here */

static bool put(const char *path, const char *text)
{
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Private mounts, as any user. */
static bool leave(void)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();
    char map[64];

    if (confine_is_privileged())
        return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !put("/proc/self/setgroups", "deny"))
        return false;
    snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
    if (!put("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
    return put("/proc/self/gid_map", map) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool can_read(const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0;
}

/* In a child: rules, then a file system that they do not know. 0, or the number of the error. */
static int try_mounted(bool again)
{
    struct confine_rules rules = CONFINE_RULES_INIT;

    if (landlock_abi() < LANDLOCK_ABI_SCOPES || !leave())
        return CANNOT;
    if (!confine_rules_make(&rules))
        return 1;
    if (!confine_rules_hold(&rules) || !confine_rules_hold(&rules))
        return 2;
    if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=0777") < 0 || !put("/tmp/new", "new"))
        return CANNOT;
    if (confine_rules_hold(&rules))
        return 3;
    if (again && (!confine_rules_make(&rules) || !confine_rules_hold(&rules)))
        return 4;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enter(rules.fd) < 0)
        return 5;
    if (can_read("/tmp/new") != again)
        return 6;
    return can_read("/dev/null") && !put("/tmp/other", "") ? 0 : 7;
}

static int in_child(int (*run)(bool), bool arg)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(run(arg));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* A warden may have waited for long: later mounts must still be readable. */
static void rules_that_do_not_know_a_mount_do_not_hold(void **state)
{
    int old = in_child(try_mounted, /*again=*/false);
    int made_again = in_child(try_mounted, /*again=*/true);

    (void)state;
    if (old == CANNOT)
        skip();
    assert_int_equal(old, 0);
    assert_int_equal(made_again, 0);
}

/* 0 to 2 are the job's, whose descriptors come later and must get these numbers. */
static int try_low(bool scopes)
{
    struct confine_rules rules = CONFINE_RULES_INIT;

    if (landlock_abi() < LANDLOCK_ABI_SCOPES)
        return CANNOT;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    if (!(scopes ? confine_rules_make_scopes(&rules) : confine_rules_make(&rules)))
        return 1;
    if (rules.fd < 3 || (!scopes && rules.mounts < 3))
        return 2;
    confine_rules_release(&rules);
    return rules.fd == -1 && open("/", O_PATH | O_CLOEXEC) == 0 ? 0 : 3;
}

static void low_numbers_stay_free(void **state)
{
    int files = in_child(try_low, /*scopes=*/false);

    (void)state;
    if (files == CANNOT)
        skip();
    assert_int_equal(files, 0);
    assert_int_equal(in_child(try_low, /*scopes=*/true), 0);
}

UNIT_TEST(confine_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_that_do_not_know_a_mount_do_not_hold),
        cmocka_unit_test(low_numbers_stay_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
