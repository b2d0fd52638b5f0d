/*
 * The inside of a clean room; for the files of origin/ alone.
 */
#pragma once

#include "base/map.h"
#include "goal/origin/room.h"
#include "proc/private_dir.h"

#define ROOM_LAYERS 3 /* the workspace, and the folders of git that lie elsewhere */

/* A folder that is seen through an overlay. */
struct room_layer {
    char *at;
    char *upper;                    /* for us */
    char *given_upper, *given_work; /* for checks */
    const char *lower[3];
};

struct room {
    const struct origin *origin;
    const struct origin_now *now; /* NULL: the goal is being set */
    bool can_be_changed;          /* by others, while a check runs */
    struct private_dir memory;    /* holds it where only checks get; dir -1: it is on the disk */
    char *base;                   /* everything below is in it, by the path that we have */
    char *given_base;             /* the same for checks */
    char *dir;                    /* where checks run */
    char *files;                  /* of a copy: the same, for us */
    char *home, *given_home, *given_temp, *user_home;
    char *whiteout; /* NULL: none was needed yet */
    bool is_copy;
    int64_t copied_ns; /* of a copy: when it was ready */
    struct room_layer layers[ROOM_LAYERS];
    size_t layer_count;
    struct strv hidden;
    struct map placed; /* files of the upper layer that are ours */
    int observe;       /* -1: nothing is observed */
    /* What room_confine() lends. */
    struct strv write, read_only, hides;
    struct confine_overlay overlays[ROOM_LAYERS];
    char *above; /* a folder that holds the workspace, observed like it */
    /* When it was opened, and when the check that runs in it began: the time of files, in which a
     * file of before may have the second, but not more than the first. */
    int64_t opened_ns, began_ns;
    const char *observed[12];
    struct confinement confine;
};

/* room.c */
bool room_is_below(const char *path, const char *dir);
/* Opens the way to a path's place in the upper layer; "" when no layer shows it. */
int room_make_place(struct room *r, const char *path, struct buf *ret, struct err *err);
int room_hide(struct room *r, const char *path, struct err *err);
int room_place(struct room *r, const char *path, struct str text, unsigned mode, struct err *err);
/* The entries of a list below a folder: [*ret_from, the result). */
size_t room_files_below(const struct inventory *files, struct str folder, size_t *ret_from);
/* Whether a clean room leaves the changed file out. */
bool room_must_hide(const struct room_spec *spec, const struct inventory_change *c);

/* Of a recorded state: which present files of the workspace are part of it. Yours to free. */
bool *room_find_seen(const struct room_spec *spec);

/* room_git.c: git behaves as it did when the goal was set. */
int room_restore_git(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                     struct err *err);

/* room_copy.c: the room is a copy. */
/* Protected files that were changed in it since. */
void room_copy_touched(const struct room *r, struct strv *ret);
int room_copy(struct room *r, const struct room_spec *spec, struct cancel *cancel, struct err *err);
