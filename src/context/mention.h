/*
 * Files mentioned in a prompt: "@path" or "@"path with blanks"" at the start of a word, or
 * "@path#L10-20" for some lines.
 *
 * The text of each is sent as a reminder before the prompt; for a folder its listing, for an image
 * the image. A mention of a missing file, or of one that must not be read without asking, is left
 * as text. Everything is limited, and notes name files that were truncated or omitted. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct arena;
struct stat;

#define MENTION_MAX_FILES 20
#define MENTION_MAX_FILE ((size_t)100 << 10)  /* as much as Read shows of one file */
#define MENTION_MAX_SCAN ((size_t)16 << 20)   /* requested lines must be within this */
#define MENTION_MAX_BUFFER ((size_t)10 << 20) /* of a text requested from an editor */
#define MENTION_MAX_NAMES 500                 /* in a folder */

/* Where a path leads. */
struct mention_found {
    const char *path;    /* absolute, for the model */
    const char *real;    /* links followed */
    const char *refused; /* why the model must not read it; NULL = it may */
    bool is_pasted;      /* an image from the clipboard */
};

/* What the caller knows about files. */
struct mention_spec {
    /* Finds a path as it was written; the result is in the arena. False: there is no such file. */
    bool (*find)(void *arg, struct str path, struct arena *arena, struct mention_found *ret);
    /* Whether an editor may have an unsaved text of the file, and that text: false if the one on
     * disk is newer. */
    bool (*is_lent)(void *arg, const char *real);
    bool (*unsaved)(void *arg, const char *real, const struct stat *st, struct str disk,
                    struct buf *ret);
    /* The model was shown this content. */
    void (*saw)(void *arg, const char *real, const struct stat *st, struct str content,
                bool is_partial);
    void *arg;
    bool takes_images; /* the model accepts images */
};

struct mention_image {
    const char *media_type; /* "image/png" */
    struct buf data;        /* base64 */
};

struct mentions {
    struct buf reminders; /* for the model */
    struct buf told;      /* for the user: a line for each file that was or was not sent */
    VEC(struct mention_image) images;
};
#define MENTIONS_INIT                                                                              \
    {                                                                                              \
        .reminders = BUF_INIT((size_t)16 << 20), .told = BUF_INIT(1 << 16)                         \
    }
void mentions_release(struct mentions *m);

/* Appends to *ret. A file that is sent as a whole counts as read. */
void mention_files(const struct mention_spec *spec, struct str words, struct mentions *ret);

/* Length of the path at the start of s, after its "@" and without quotes: up to a blank or a
 * delimiter; a final full stop, colon, "!" or "?" belongs to the sentence. */
size_t mention_path_len(struct str s);
