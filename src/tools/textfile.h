/*
 * A text file in memory as UTF-8, and back to disk as it was.
 *
 * UTF-16 (with its byte order mark) is decoded; the mark of UTF-8 is taken off. Everything else is
 * kept byte for byte, also what is not valid UTF-8, so that saving changes nothing but what was
 * edited. Line endings are part of the text. Saving replaces the file a link points to, never the
 * link, whole or not at all, with the old mode and owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

#define TEXTFILE_MAX ((size_t)10 << 20) /* bytes, on disk and decoded */

enum encoding {
    ENCODING_UTF8, /* or anything else whose lines end in \n: bytes are kept */
    ENCODING_UTF8_BOM,
    ENCODING_UTF16_LE,
    ENCODING_UTF16_BE,
};

/* By the mark at the start; *ret_mark is its length. */
enum encoding encoding_of(struct str bytes, size_t *ret_mark);
const char *encoding_name(enum encoding e); /* "UTF-16 LE" */
/* Both append; what is no character becomes U+FFFD. */
void encoding_decode(enum encoding e, struct str bytes, struct buf *ret);
void encoding_encode(enum encoding e, struct str text, struct buf *ret);

struct textfile {
    char *path; /* links followed */
    bool exists;
    struct stat st;         /* when it exists */
    enum encoding encoding; /* of an existing one, else UTF-8 */
    struct buf raw;         /* as on disk */
    struct buf decoded;     /* of UTF-16 only */
    struct str text;        /* lent from one of the two */
    bool is_lossy;          /* bad UTF-16: text written back would not give the same bytes */
};

/* Where a path leads when links are followed, also when nothing is there yet. Yours to free. */
int textfile_real(const char *path, char **ret, struct err *err);

/* A file that is not there is no error (exists is false), unless its name or folder cannot be one.
 * ERR_TOO_BIG above TEXTFILE_MAX; ERR_BAD_INPUT for folders, devices and pipes, which are never
 * opened. */
int textfile_load(const char *path, struct textfile *ret, struct err *err);
void textfile_release(struct textfile *f);

/* Writes text in the file's encoding, making folders as needed, and takes a new look at st and raw.
 * On failure the file on disk is as it was. */
int textfile_save(struct textfile *f, struct str text, struct err *err);

/* Has NUL bytes or other controls that no text has. The start is enough to tell. */
bool text_is_binary(struct str text);
size_t text_count_lines(struct str text); /* a last line without an ending counts */
