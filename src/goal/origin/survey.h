/*
 * All files below a folder, by name: a walk that follows no link, opens nothing but folders, and
 * has limits. Private to this folder. Any thread; waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct cancel;
struct err;

#define SURVEY_MAX_DEPTH 128

struct survey {
    const char *dir;
    size_t max_files;
    int64_t deadline_ms; /* git_now_ms() time; 0: none */
    /* Whether to go into a folder (path relative to dir); NULL: into all but .git. */
    bool (*enter)(void *arg, struct str path, struct str name);
    /* A file: everything that is no folder. folder_fd holds it by its last name. -1 ends the
     * walk. */
    int (*file)(void *arg, int folder_fd, const char *name, struct str path, struct err *err);
    /* A folder that lies too deep or cannot be read; NULL: it is taken for empty. */
    void (*closed)(void *arg, struct str path);
    void *arg;
};

/* *ret_whole false: time or number ran out. ERR_CANCELLED, ERR_IO (dir itself cannot be read), or
 * what `file` failed with. */
int survey_run(const struct survey *s, struct cancel *cancel, bool *ret_whole, struct err *err);
