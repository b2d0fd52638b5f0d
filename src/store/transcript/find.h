/*
 * Finds a session by the name that a user gives.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct cancel;
struct err;

struct find_scope {
    const char *home;   /* $TENAX_HOME */
    const char *dir;    /* base of relative paths */
    struct str project; /* this folder's key: sessions of other projects are used only if none of
                           this one matches */
};

/*
 * Finds the transcript for `want`: the path of a .jsonl file, an id, the beginning of one (4
 * characters), a title (index_name()) or a part of one. Exact matches come before others, and this
 * folder before others. Only titles need the store.
 *
 * ERR_NOT_FOUND with advice; ERR_BAD_INPUT if several match, with their names.
 */
int find_session(const struct find_scope *scope, struct str want, struct cancel *cancel,
                 struct buf *ret_path, struct err *err);

/* The transcript of this folder that was written last; is_free: and that no process holds. Files
 * that only have the name of a transcript (a folder, a pipe, a file without one of our lines) are
 * skipped. ERR_NOT_FOUND. */
int find_newest(const struct find_scope *scope, bool is_free, struct buf *ret_path,
                struct err *err);
