/*
 * Turns the paths of a sandbox into mount operations, in order.
 *
 * Each rule becomes a step for one existing path without symbolic links; steps without effect are
 * omitted. A folder's step comes before those of everything below it. For this folder only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct confine_overlay;
struct confinement;

/* For the same path the later one wins. */
enum confine_step_what {
    STEP_PIN, /* unchanged, but it cannot be renamed: on the way to a read-only path */
    STEP_WRITE,
    STEP_SHOW,
    STEP_READ_ONLY,
    STEP_HIDE,
};

struct confine_step {
    enum confine_step_what what;
    char *path;
    bool is_dir;
    bool is_link;   /* PIN: the symbolic link itself */
    bool has_inner; /* HIDE: something below it is shown or written */
};

struct confine_map {
    VEC(struct confine_step) steps;
    bool all_writable;                      /* otherwise everything without a step is read-only */
    struct buf walked;                      /* the last path that was resolved: it has no links */
    const struct confine_overlay *overlays; /* the confinement's: files are looked for in these */
    size_t overlay_count;
};

/* Creates folders that a rule requires (confine.h). */
void confine_map_init(struct confine_map *m, const struct confinement *c);
/* Resolves a path's links as far as it exists. NULL if a link is where the job may write, since the
 * job could change it, or if the job may write to anything above the path, since it could put
 * another socket there. The caller frees it. */
char *confine_map_socket(struct confine_map *m, const char *path);
void confine_map_release(struct confine_map *m);
