/*
 * Have settings files changed since they were read? One stat() per file answers, or one for all
 * files of a folder that is not there.
 *
 * Stamps are taken before the files are read, so that a change in between is seen the next time. A
 * file that was written within the last moments before its stamp could be written again without
 * looking any different; it counts as changed until it has been looked at once more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/vec.h"

struct levels;

struct stamp {
    char *path;
    int level; /* enum source_level */
    bool is_there;
    bool is_fresh; /* too recent to be distinguished from the next change */
    struct stat st;
    char *folder; /* that is not there, either, so that nothing can be in it; NULL: it is */
    bool is_led;  /* a stamp before it looks for the folder */
};

struct stamps {
    VEC(struct stamp) list;
};

/* Of every file that settings may be in, and the folders whose list of files counts. */
void stamps_take(struct stamps *s, const struct levels *levels);
bool stamps_changed(struct stamps *s); /* remembers which folders have come */
/* Files of s that look different in `now`; fn is called for each until it says no: false. */
typedef bool (*stamp_fn)(void *arg, const struct stamp *it);
bool stamps_compare(const struct stamps *s, const struct stamps *now, stamp_fn fn, void *arg);
void stamps_copy(struct stamps *s, const struct stamps *from);
void stamps_release(struct stamps *s);
