/*
 * The Landlock ruleset of a job, made by its warden. For this folder only.
 *
 * Most of it is the same for all jobs: what can be read, which devices exist. A waiting warden has
 * that part ready before it knows the job (confine_enter.h); what the job may write is added later.
 *
 * A rule applies to a file itself, wherever it is moved. Rules made ahead grant only reading and
 * harmless devices, so that outdated rules never open files that were closed; if they may miss
 * newer files, they are made again.
 *
 * Plain system calls only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct confine_image;

struct confine_rules {
    int fd;          /* the ruleset, or -1 */
    bool is_trial;   /* folders may be listed only where files can be read */
    int mounts;      /* reports changed mounts; -1 = not available */
    struct stat top; /* the root and /dev at that time */
    struct stat dev;
};

#define CONFINE_RULES_INIT                                                                         \
    {                                                                                              \
        .fd = -1, .mounts = -1                                                                     \
    }

/* The common part. False: see errno. */
bool confine_rules_make(struct confine_rules *r);
/* Only scopes: signals and abstract sockets stay inside. */
bool confine_rules_make_scopes(struct confine_rules *r);
/* For a trial run: only what its image lists can be read. */
bool confine_rules_make_trial(struct confine_rules *r, const struct confine_image *image);
/* Whether the prepared rules are still complete. */
bool confine_rules_hold(const struct confine_rules *r);

/* Adds a rule for one job; at: opened with O_PATH. */
bool confine_rules_add(const struct confine_rules *r, int at, bool is_dir, bool is_writable);
/* Where the job's own shared memory and terminals are. */
bool confine_rules_add_shm(const struct confine_rules *r, int at);
bool confine_rules_add_terminal(const struct confine_rules *r, int at);

/* The ruleset itself stays open. */
void confine_rules_close_watch(struct confine_rules *r);
void confine_rules_release(struct confine_rules *r);
