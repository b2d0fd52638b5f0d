/*
 * The sessions there are, as a list of them shows: read from the transcripts, remembered in the
 * store.
 *
 * The files are the truth. index_refresh() checks each one's size and time; only files that differ
 * from their row are read again, and of a file that has grown only the new part. So a list costs a
 * stat() per session, and the rows may be lost at any time. The next refresh sees what other
 * processes have written.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/store.h"

struct buf;
struct cancel;
struct err;
struct session_survey;

#define INDEX_SUFFIX ".jsonl"

struct index {
    struct arena arena; /* of all texts */
    store_session_vec rows;
    struct session_survey *survey; /* of the files, between index_begin() and index_refresh() */
};

#define INDEX_INIT                                                                                 \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

void index_release(struct index *ix);

/* Starts checking the files on a separate thread, for a caller with other work before
 * index_refresh(), like opening the store. The arguments must live until then, and be passed there
 * again. */
void index_begin(struct index *ix, const char *home, struct str project, struct cancel *cancel);

/* Those of a project, or of all when it is empty, newest first; files without a message are left
 * out. Fails on cancel only: without a store (NULL), or with one that cannot be read, everything is
 * read from the files, and what cannot be written to it is written next time. */
int index_refresh(struct store *s, const char *home, struct str project, struct cancel *cancel,
                  struct index *ret, struct err *err);

/* One transcript, wherever it is; texts are in the arena. ERR_NOT_FOUND, ERR_IO. */
int index_read(const char *path, struct cancel *cancel, struct arena *arena,
               struct store_session *ret, struct err *err);

/* Its display name: the user's title, a model's, the first prompt. */
struct str index_name(const struct store_session *row);
/* <home>/projects/<project>/<id>.jsonl */
void index_path(const struct store_session *row, const char *home, struct buf *ret);
/* Whether a file is called as a session's is: <uuid>.jsonl. */
bool index_is_session(struct str name);
/* Whether a path is that of a transcript below home, where tenax may write. */
bool index_is_ours(const char *home, const char *path);
