/*
 * landlock: four system calls by their numbers. Any thread, any process.
 */
#include "proc/landlock.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Longer than that of older headers. */
struct landlock_attr {
    uint64_t handled_fs;
    uint64_t handled_net;
    uint64_t scoped;
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return abi > 0 ? (int)abi : 0;
}

static uint64_t landlock_known(uint64_t rights, int abi)
{
    if (abi < 3)
        rights &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
    if (abi < 5)
        rights &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
    return rights;
}

int landlock_new(uint64_t handled_fs, uint64_t scoped)
{
    int abi = landlock_abi();
    const struct landlock_attr attr = {
        .handled_fs = landlock_known(handled_fs, abi),
        .scoped = abi < LANDLOCK_ABI_SCOPES ? 0 : scoped,
    };

    return (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
}

int landlock_allow(int ruleset, int path_fd, uint64_t rights)
{
    const struct landlock_path_beneath_attr attr = {
        .allowed_access = landlock_known(rights, landlock_abi()),
        .parent_fd = path_fd,
    };

    return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
}

int landlock_enter(int ruleset)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
