/*
 * What the running kernel offers to confine and watch children: asked, not guessed from its
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
