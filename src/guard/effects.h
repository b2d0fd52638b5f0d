/*
 * The changes made by a command, found in the upper layers of the overlays that it ran in.
 *
 * A trial run (trial.h) directs all writes of a command to private layers. effects_find() compares
 * these with the lower layers and lists each difference; effects_write() describes them, with the
 * diff of text files, for questions, hooks and reports; effects_apply() applies exactly these
 * changes, and only while everything is as it was when they were found.
 *
 * Changes are applied file by file. A new or changed file is renamed into place, so that at every
 * moment it is either the old or the new one; deletions come last. Folders on the way are opened
 * without following links. Before the first step the list is written to a journal
 * (effects_settle()), so that after a kill the next start can report which changes were made.
 *
 * Any thread, one at a time; reads and writes the disk.
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
#define EFFECTS_SHOWN ((size_t)200) /* described individually */

/* A folder that the job saw through an overlay, and the folder with its changes. */
struct effects_layer {
    char *at, *upper;
};

enum effect_change {
    EFFECT_CREATED,
    EFFECT_MODIFIED, /* content, possibly also mode and owner */
    EFFECT_MODE,     /* only mode or owner */
    EFFECT_TOUCHED,  /* only its time */
    EFFECT_DELETED,
};

/* A fingerprint of a folder's contents, to detect changes. */
struct effect_inside {
    size_t files;
    uint64_t sum;
};

struct effect {
    enum effect_change change;
    char *path;             /* absolute */
    char *upper;            /* the new file; NULL = deleted */
    char *from;             /* for a created file: a deleted one with the same content; or NULL */
    bool is_told_elsewhere; /* covered by the effect whose `from` it is, or by its folder */
    bool is_protected;      /* it, or a file below a deleted folder, determines what programs run */
    struct stat was;        /* st_mode 0 = did not exist */
    struct stat now;        /* of upper */
    struct effect_inside inside; /* of an existing folder that is deleted */
};

struct effects {
    VEC(struct effect) list; /* folders before their contents */
    VEC(struct effects_layer) layers;
    struct timespec since; /* later changes below are not as the command found them */
    size_t optional;       /* changes that are omitted: caches that programs write implicitly */
};

#define EFFECTS_INIT                                                                               \
    {                                                                                              \
        .optional = 0                                                                              \
    }
void effects_release(struct effects *e);

/* The layers are copied. ERR_TOO_BIG, ERR_CANCELLED, ERR_IO, ERR_UNSUPPORTED for what cannot be
 * applied (devices). */
int effects_find(const struct effects_layer *layers, size_t count, struct cancel *cancel,
                 struct effects *ret, struct err *err);

/* A JSON object: {"summary","created","modified","renamed","deleted","mode","touched","protected",
 * "changes":[{"change","type","path","from","protected","oldMode","mode","oldSize","size","binary",
 * "files","target","structuredPatch"}],"omitted"}. */
void effects_write(const struct effects *e, struct buf *ret);
/* "create 2 files, change 1 file, delete 3 files" */
void effects_summary(const struct effects *e, struct buf *ret);

/* Calls fn with the absolute path of everything below a deleted folder, until it returns false.
 * Does nothing for other effects. */
typedef bool (*effects_gone_fn)(void *arg, const char *path);
void effects_each_gone(const struct effect *e, effects_gone_fn fn, void *arg);

/* For effects_apply.c. */
void effects_look_inside(const char *folder, struct effect_inside *ret);
bool effects_is_same_file(const char *one, const char *other, const struct stat *a,
                          const struct stat *b);

/* id: unique, part of temporary names. journal: a file written before the first step and removed
 * after the last. ERR_BUSY: something is not as it was when the command ran: nothing, or not
 * everything, was applied. On other errors the rest was not applied, and the text says how many
 * were. */
int effects_apply(struct effects *e, const char *journal, const char *id, struct err *err);
/* Reads a leftover journal to see which changes were made, and removes it with its temporary files.
 * Appends a line for each to ret. */
void effects_settle(const char *journal, struct strv *ret);
