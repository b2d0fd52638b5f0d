/*
 * Confinement by bubblewrap, the program: for kernels that cannot do all of it themselves, and a
 * second opinion for those that can. Private to this folder.
 *
 * bwrap stands between the warden and the command, and passes on its exit code; a command that a
 * signal ended shows as 128 + signal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct confine_map;
struct err;
struct proc_spec;
struct strv;

/* Where it is installed; NULL: it is not. Not looked for in PATH, which a project could set. */
const char *bubblewrap_path(void);

/* Whether it has to be told to make a user namespace. */
bool bubblewrap_needs_user(void);

/* What to run instead of spec's argv. With own_pids the job gets a process namespace, which keeps
 * signals in; what it leaves in the background then ends with it. */
int bubblewrap_argv(const struct confine_map *m, const struct proc_spec *spec, bool own_pids,
                    struct strv *ret, struct err *err);
