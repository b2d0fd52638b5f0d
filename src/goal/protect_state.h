/*
 * What struct protect holds, for the files that make, keep and compare it. Private to this folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/digest.h"

struct cancel;
struct err;

enum protect_kind {
    PROTECT_FILE,
    PROTECT_ORDERS, /* a package.json but for what it depends on */
    PROTECT_ABSENT,
};

struct protect_file {
    enum protect_kind kind;
    char *path; /* relative to dir, or absolute */
    char *why;
    struct digest digest;
};

struct protect_program {
    char *name;
    char *path; /* that PATH gives */
    char *real; /* that is run in the end */
    char *why;
    bool trusted; /* the system's own: its path is enough */
    struct digest digest;
};

/* A folder of PATH, as it looked. */
struct protect_place {
    char *path;
    struct digest digest;
};

struct protect {
    char *dir;
    char *search; /* PATH */
    VEC(struct protect_file) files;
    VEC(struct protect_program) programs;
    VEC(struct protect_place) places;
    struct strv shadows; /* programs that stood before others of their name already */
};

/* protect_path.c: programs and the folders they are found in. */

/* Reads it too, unless it is the system's. */
int protect_program_read(const struct protect *p, const char *name, struct cancel *cancel,
                         struct protect_program *ret, bool *ret_found, struct err *err);
void protect_program_release(struct protect_program *p);
/* The folders as they are now, and who stands before whom in them. */
void protect_places_take(struct protect *p);
/* Programs that stand before others of their name and did not then. */
void protect_places_verify(const struct protect *p, struct strv *ret);
