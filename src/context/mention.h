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

struct cancel;
struct permit;
struct workspace;

#define MENTION_MAX_FILES 20
#define MENTION_MAX_FILE ((size_t)100 << 10)  /* as much as Read shows of one file */
#define MENTION_MAX_SCAN ((size_t)16 << 20)   /* requested lines must be within this */
#define MENTION_MAX_BUFFER ((size_t)10 << 20) /* of a text requested from an editor */
#define MENTION_MAX_NAMES 500                 /* in a folder */

struct mention_spec {
    struct workspace *workspace;
    struct permit *permit;
    bool takes_images;     /* the model accepts images */
    struct cancel *cancel; /* for requests to an editor */
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
