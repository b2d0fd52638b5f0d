/*
 * What a job may touch, enforced by the kernel.
 *
 * A confinement says what is wanted; a backend of the table says what can be had. So far there is
 * one backend, "none", which confines nothing: a job that asks for more does not start
 * (ERR_UNSUPPORTED), rather than start unconfined. Landlock with seccomp comes as a further row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

struct confinement {
    const char *const *write_dirs; /* nothing else can be written; NULL: everything can */
    bool no_network;
};

struct confine_backend {
    const char *name;
    bool folders; /* it can keep a job to folders, */
    bool network; /* and off the network */
};

extern const struct confine_backend confine_backends[];
extern const size_t confine_backend_count;

/* The one that jobs run under here. */
const struct confine_backend *confine_backend(void);
/* ERR_UNSUPPORTED when that one cannot do what is asked for. NULL asks for nothing. */
int confine_check(const struct confinement *c, struct err *err);
