/*
 * What the running kernel offers for sandboxing and watching children; probed, not derived from its
 * version.
 */
#pragma once

#include <stdbool.h>

struct kernel {
    char release[65];
    int landlock_abi; /* 0: none */
    bool seccomp;
    bool pidfd;
    bool close_range;
    bool user_namespaces;
};

void kernel_probe(struct kernel *ret);
