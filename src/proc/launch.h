/*
 * Everything a child needs, made ready before the fork: descriptors, the files to try, the mask.
 *
 * Made by the thread that calls proc_start(), used by the proc thread and, as an image that the
 * zygote passes on, by the warden and the child, where nothing can be allocated any more. argv,
 * envp and dir are the caller's and stay valid until proc_start() returns.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/strv.h"

struct err;
struct proc_spec;

struct launch {
    const char *const *argv;
    const char *const *envp;
    const char *dir;   /* NULL: ours */
    struct strv paths; /* argv[0], looked up: tried in this order */
    sigset_t mask;
    bool pty;
    bool tell_dir;
    int stdio[3]; /* the child's ends; the same one three times for a pty */
};

/* Our ends. err is -1 for a pty and with merge_stderr, in is -1 when there is nothing to feed. */
struct launch_ends {
    int in;
    int out;
    int err;
};

int launch_init(struct launch *l, const struct proc_spec *spec, struct launch_ends *ret,
                struct err *err);

/* The image of a launch, for a process that does not share our memory: a file in memory with all of
 * it but the descriptors. -1: errno says why. */
int launch_pack(const struct launch *l);
/* Plain system calls only; what it fills is never released. */
int launch_unpack(struct launch *ret, int image, const int stdio[static 3]);

void launch_close(struct launch *l);   /* the child's ends, once it has them */
void launch_release(struct launch *l); /* the rest, too */
