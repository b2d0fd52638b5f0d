/*
 * Finds a session by a user's name for it.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct cancel;
struct err;

struct find_scope {
    const char *home;   /* $TENAX_HOME */
    const char *dir;    /* what relative paths begin at */
    struct str project; /* this folder's key: sessions of others count only when none of this one
                           matches */
};

/*
 * The transcript that `want` means: the path of a .jsonl file, an id, the beginning of one (4
 * characters), a title (index_name()) or a part of one. Exact matches go before others, and this
 * folder before others. Only titles need the store.
 *
 * ERR_NOT_FOUND with what to do, ERR_BAD_INPUT when several fit: it names them.
 */
int find_session(const struct find_scope *scope, struct str want, struct cancel *cancel,
                 struct buf *ret_path, struct err *err);

/* The transcript of this folder that was written last; is_free: and that no process holds. What
 * only has the name of one (a folder, a pipe, a file without a line of ours) is
 * passed over. ERR_NOT_FOUND. */
int find_newest(const struct find_scope *scope, bool is_free, struct buf *ret_path,
                struct err *err);
