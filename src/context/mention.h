/*
 * Files named in a prompt: "@path", "@"path with blanks"", at the start of a word, or
 * "@path#L10-20" for some lines of one.
 *
 * The text of each is sent as a reminder before the prompt, of a folder its listing, a picture as
 * itself. A missing one, or one that a rule keeps from being read without asking, stays a word.
 * Everything is bounded, and notes name cut or omitted files. Any thread.
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
#define MENTION_MAX_FILE ((size_t)100 << 10)  /* as much as Read shows of one */
#define MENTION_MAX_SCAN ((size_t)16 << 20)   /* lines that are asked for stand before that */
#define MENTION_MAX_BUFFER ((size_t)10 << 20) /* of a text that an editor is asked for */
#define MENTION_MAX_NAMES 500                 /* of a folder */

struct mention_spec {
    struct workspace *workspace;
    struct permit *permit;
    bool takes_images;     /* the model does */
    struct cancel *cancel; /* while an editor is asked for its text */
};

struct mention_image {
    const char *media_type; /* "image/png" */
    struct buf data;        /* base64 */
};

struct mentions {
    struct buf reminders; /* for the model */
    struct buf told;      /* for the user: a line for each file that was sent, or not */
    VEC(struct mention_image) images;
};
#define MENTIONS_INIT                                                                              \
    {                                                                                              \
        .reminders = BUF_INIT((size_t)16 << 20), .told = BUF_INIT(1 << 16)                         \
    }
void mentions_release(struct mentions *m);

/* Adds to *ret. A file that goes along whole counts as read. */
void mention_files(const struct mention_spec *spec, struct str words, struct mentions *ret);

/* The length of the path at the start of s, after its "@" and without quotes: up to a blank or a
 * sign that ends it; a full stop, a colon, "!" and "?" at its end belong to the sentence. */
size_t mention_path_len(struct str s);
