/*
 * Turns the paths of a confinement into mount operations, in order.
 *
 * Each rule becomes a step for one existing path without symbolic links on the way to it; those
 * that would change nothing are left out. A step's folder comes before everything below it. Private
 * to this folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct confine_overlay;
struct confinement;

/* For one and the same path the later one wins. */
enum confine_step_what {
    STEP_PIN, /* as it is, but it can no longer be renamed: on the way to one that is read-only */
    STEP_WRITE,
    STEP_SHOW,
    STEP_READ_ONLY,
    STEP_HIDE,
};

struct confine_step {
    enum confine_step_what what;
    char *path;
    bool is_dir;
    bool is_link;   /* PIN: of the symbolic link itself */
    bool has_inner; /* HIDE: something below it is shown or written */
};

struct confine_map {
    VEC(struct confine_step) steps;
    bool all_writable;                      /* else what no step is about is read-only */
    struct buf walked;                      /* the last path that was followed: no links in it */
    const struct confine_overlay *overlays; /* the confinement's: files are looked for in these */
    size_t overlay_count;
};

/* Folders that a rule wants to be there are made (confine.h). */
void confine_map_init(struct confine_map *m, const struct confinement *c);
/* A path with its links followed as far as it exists; NULL when one of them lies where the job may
 * write, who could have it lead anywhere, or when it has anything above it that the job may write,
 * who could put another socket there. Yours to free. */
char *confine_map_socket(struct confine_map *m, const char *path);
void confine_map_release(struct confine_map *m);
