/*
 * The changes made by a command, found in the upper layers of the overlays it ran in.
 *
 * A trial (trial.h) runs a command so that all it writes goes to private layers. effects_find()
 * compares these with the lower layers and lists each difference; effects_write() describes them,
 * with the diff of text files, for questions, hooks and reports; effects_apply() applies exactly
 * these changes, and only while everything is as it was when they were found.
 *
 * Applying goes file by file. A new or changed file is put in place by rename, so that at every
 * moment it is either the old or the new one; deletions come last. Folders on the way are opened
 * without following links. Before the first step the list is stored (effects_settle()), so that
 * after a kill the next start can report which changes were made.
 *
 * Any thread, one at a time; waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/vec.h"

struct buf;
struct cancel;
struct err;
struct strv;
struct workspace;

#define EFFECTS_MAX ((size_t)100000)
#define EFFECTS_MAX_DEPTH 200
#define EFFECTS_SHOWN ((size_t)200) /* described one by one */

/* A folder that was seen through an overlay, and where its changes are. */
struct effects_layer {
    char *at, *upper;
};

enum effect_change {
    EFFECT_CREATED,
    EFFECT_MODIFIED, /* its content; mode and owner perhaps, too */
    EFFECT_MODE,     /* mode or owner alone */
    EFFECT_TOUCHED,  /* its time alone */
    EFFECT_DELETED,
};

/* What a folder holds, so that it shows whether that has changed. */
struct effect_inside {
    size_t files;
    uint64_t sum;
};

struct effect {
    enum effect_change change;
    char *path;             /* absolute */
    char *upper;            /* the new file; NULL: deleted */
    char *from;             /* created: this one was deleted, and is the same; NULL: none was */
    bool is_told_elsewhere; /* by the effect whose `from` it is, or its folder */
    bool is_protected;      /* it decides what programs run, or one below a folder that goes does */
    struct stat was;        /* st_mode 0: there was nothing */
    struct stat now;        /* of upper */
    struct effect_inside inside; /* of a folder that was there and goes */
};

struct effects {
    VEC(struct effect) list; /* a folder stands before its contents */
    VEC(struct effects_layer) layers;
    struct timespec since; /* what has changed below after this is not as the command found it */
    size_t optional;       /* changes that are left out: caches that programs write unasked */
};

#define EFFECTS_INIT                                                                               \
    {                                                                                              \
        .optional = 0                                                                              \
    }
void effects_release(struct effects *e);

/* Below layers, which are copied. ERR_TOO_BIG, ERR_CANCELLED, ERR_IO, ERR_UNSUPPORTED for what
 * cannot be applied (devices). */
int effects_find(const struct effects_layer *layers, size_t count, struct cancel *cancel,
                 struct effects *ret, struct err *err);

/* A JSON object: {"summary","created","modified","renamed","deleted","mode","touched","protected",
 * "changes":[{"change","type","path","from","protected","oldMode","mode","oldSize","size","binary",
 * "files","target","structuredPatch"}],"omitted"}. */
void effects_write(const struct effects *e, struct buf *ret);
/* "create 2 files, change 1 file, delete 3 files" */
void effects_summary(const struct effects *e, struct buf *ret);

/* What lies below a folder that goes, each by its absolute path, until fn returns false. Nothing
 * for other effects. */
typedef bool (*effects_gone_fn)(void *arg, const char *path);
void effects_each_gone(const struct effect *e, effects_gone_fn fn, void *arg);

/* For effects_apply.c. */
void effects_look_inside(const char *folder, struct effect_inside *ret);
bool effects_is_same_file(const char *one, const char *other, const struct stat *a,
                          const struct stat *b);

/* id: a word that no other apply uses, part of temporary names. journal: a file that is written
 * before the first step and removed after the last. ERR_BUSY: something is not as it was when the
 * command ran: nothing was done, or not all. Other errors: the rest was not done, and the text says
 * how many were. */
int effects_apply(struct effects *e, const char *journal, const char *id, struct err *err);
/* Reads a leftover journal: which changes were made. Removes it, with temporary files. A line each
 * is added to ret. */
void effects_settle(const char *journal, struct strv *ret);
