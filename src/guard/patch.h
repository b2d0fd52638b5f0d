/*
 * The line-based difference of two texts: the structuredPatch of results, and the lines shown to a
 * model after an edit.
 *
 * A change of a few hundred lines is minimal (Myers). A larger one is first split at lines that
 * occur once on both sides; a piece that is still too different counts as replaced as a whole. So
 * the work is limited: two unrelated texts of 10,000 lines take some milliseconds.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

struct buf;
struct jw;

struct patch_hunk {
    size_t old_at, old_len; /* lines, from 0, including context */
    size_t new_at, new_len;
};

struct patch {
    VEC(struct str) olds, news; /* lines without their \n; lent from the texts */
    char *is_deleted;           /* one for each old line */
    char *is_added;             /* one for each new line */
    VEC(struct patch_hunk) hunks;
};

/* Both texts must outlive the patch. context: number of unchanged lines around a change. */
void patch_make(struct patch *p, struct str old, struct str new, size_t context);
void patch_release(struct patch *p);

/* [{"oldStart":1,"oldLines":3,"newStart":1,"newLines":4,"lines":[" a","-b","+c"]}] */
void patch_write(const struct patch *p, struct jw *out);
