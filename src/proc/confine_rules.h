/*
 * The Landlock ruleset of a job, made by its warden. Private to this folder.
 *
 * Most of it is the same for every job: what can be read, which devices there are. A warden that
 * waits for a job has that part ready before it knows which (confine_enter.h); what a job may write
 * is added when it comes.
 *
 * A rule applies to a file itself and follows it wherever it goes. Rules made ahead grant only
 * reading and the harmless devices, so that old ones never open closed files; they may miss later
 * files, and are then made again.
 *
 * Plain system calls only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct confine_image;

struct confine_rules {
    int fd;          /* the ruleset; -1: none */
    bool is_trial;   /* folders are listed only where files can be read */
    int mounts;      /* says when something is mounted elsewhere than it was; -1: nothing does */
    struct stat top; /* the root, and /dev: as they were then */
    struct stat dev;
};

#define CONFINE_RULES_INIT                                                                         \
    {                                                                                              \
        .fd = -1, .mounts = -1                                                                     \
    }

/* What every job gets. False: errno says why. */
bool confine_rules_make(struct confine_rules *r);
/* About no files: signals and abstract sockets stay within. */
bool confine_rules_make_scopes(struct confine_rules *r);
/* Of a job on trial: nothing can be read but what its image lists. */
bool confine_rules_make_trial(struct confine_rules *r, const struct confine_image *image);
/* Whether the prepared rules are still complete. */
bool confine_rules_hold(const struct confine_rules *r);

/* More for one job; at: opened with O_PATH. */
bool confine_rules_add(const struct confine_rules *r, int at, bool is_dir, bool is_writable);
/* Where the job's own shared memory and terminals are. */
bool confine_rules_add_shm(const struct confine_rules *r, int at);
bool confine_rules_add_terminal(const struct confine_rules *r, int at);

/* The ruleset itself stays open. */
void confine_rules_close_watch(struct confine_rules *r);
void confine_rules_release(struct confine_rules *r);
