/*
 * The index of sessions for lists: read from the transcripts, cached in the store.
 *
 * Only the files are authoritative. index_refresh() checks each file's size and time; files that
 * differ from their row are read again, and of a file that has grown only the new part. So a list
 * costs one stat() per session, and the rows may be lost at any time. A refresh also sees what
 * other processes have written.
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

/* Starts to check the files on a separate thread, while the caller does other work such as opening
 * the store. The arguments must stay valid until index_refresh() and be passed to it again. */
void index_begin(struct index *ix, const char *home, struct str project, struct cancel *cancel);

/* Gets the sessions of a project (empty = all), newest first, without files that have no message.
 * Fails only on cancel: without a store (NULL), or if it cannot be read, everything is read from
 * the files, and what cannot be written is written next time. */
int index_refresh(struct store *s, const char *home, struct str project, struct cancel *cancel,
                  struct index *ret, struct err *err);

/* Reads one transcript at any path; texts are in the arena. ERR_NOT_FOUND, ERR_IO. */
int index_read(const char *path, struct cancel *cancel, struct arena *arena,
               struct store_session *ret, struct err *err);

/* Its display name: the user's title, else a model's, else the first prompt. */
struct str index_name(const struct store_session *row);
/* <home>/projects/<project>/<id>.jsonl */
void index_path(const struct store_session *row, const char *home, struct buf *ret);
/* Whether a file name is that of a session: <uuid>.jsonl. */
bool index_is_session(struct str name);
/* Whether the path is a transcript below home, where tenax may write. */
bool index_is_ours(const char *home, const char *path);
