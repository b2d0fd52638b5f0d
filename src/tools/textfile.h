/*
 * A text file in memory as UTF-8, and back to disk as it was.
 *
 * UTF-16 (with its byte order mark) is decoded; the mark of UTF-8 is taken off. Everything else is
 * kept byte for byte, including invalid UTF-8, so that saving changes only the edited part. Line
 * endings are part of the text. Saving replaces the file a link points to, never the link, whole or
 * not at all, with the old mode and owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/str.h"
#include "guard/buffers.h"
#include "tools/decode.h"

struct cancel;
struct err;
struct workspace;

#define TEXTFILE_MAX ((size_t)10 << 20) /* bytes, on disk and decoded */

struct textfile {
    char *path; /* links followed */
    bool exists;
    struct stat st;         /* when it exists */
    enum encoding encoding; /* UTF-8 stands for anything whose lines end in \n: bytes are kept */
    bool has_mark;          /* a byte order mark, written back too */
    struct buf raw;         /* as on disk, or in the editor */
    struct buf decoded;     /* of UTF-16 only */
    struct str text;        /* lent from one of the two */
    bool is_lossy;          /* bad UTF-16: text written back would not give the same bytes */
};

/* path: absolute, its links followed (path_real()) when it was permitted: it fails if there is a
 * link by then, and so does textfile_save(). A missing file is no error (exists is false), unless
 * its name or folder cannot be one. ERR_TOO_BIG above TEXTFILE_MAX; ERR_BAD_INPUT for folders,
 * devices and pipes, which are never opened. */
int textfile_load(const char *path, struct textfile *ret, struct err *err);
void textfile_release(struct textfile *f);
/* Takes the editor's text in place of the one that was loaded, where that counts (guard/buffers.h);
 * only of UTF-8 without a mark. */
enum buffer_truth textfile_take_buffer(struct textfile *f, struct workspace *w,
                                       struct cancel *cancel);

/* Writes text in the file's encoding, making folders as needed, and takes a new look at st and raw.
 * On failure the file on disk is as it was. */
int textfile_save(struct textfile *f, struct str text, struct err *err);

/* What became of a path by errno: "cannot open '/w/x': ..."; ELOOP: see above. Returns -1. */
int textfile_fail(const char *path, const char *what, struct err *err);

/* What there is to say of the encoding, "UTF-16 LE"; NULL for plain UTF-8. */
const char *textfile_encoding(const struct textfile *f);
/* Appends, in the encoding; invalid characters become U+FFFD in UTF-16. */
void textfile_encode(enum encoding e, struct str text, struct buf *ret);

/* Has NUL bytes or other controls that no text has. The start is enough to tell. */
bool text_is_binary(struct str text);
size_t text_count_lines(struct str text); /* a last line without an ending counts */
