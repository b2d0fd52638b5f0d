/*
 * A text file in memory as UTF-8, written back in its original form.
 *
 * UTF-16 (with its byte order mark) and the East Asian encodings that decode_guess() recognizes are
 * decoded; a UTF-8 mark is removed. Everything else is kept byte for byte, including invalid UTF-8,
 * so that saving changes only the edited part. Line endings are part of the text. Saving replaces
 * the file that a link points to, never the link, completely or not at all, and keeps mode and
 * owner.
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
    char *path; /* links resolved */
    bool exists;
    struct stat st; /* valid if it exists */
    enum encoding
        encoding;       /* UTF-8 stands for any encoding whose lines end with \n: bytes are kept */
    bool has_mark;      /* a byte order mark, which is written back */
    struct buf raw;     /* as on disk, or in the editor */
    struct buf decoded; /* unless the encoding is UTF-8 */
    struct str text;    /* a slice of one of the two */
    bool is_lossy;      /* the original bytes could not be restored from the text */
};

/* path: absolute, with links resolved (path_real()) when it was permitted: fails if there is a link
 * now, and so does textfile_save(). A missing file is not an error (exists is false), unless it
 * cannot be created. ERR_TOO_BIG above TEXTFILE_MAX; ERR_BAD_INPUT for folders, devices and pipes,
 * which are never opened. */
int textfile_load(const char *path, struct textfile *ret, struct err *err);
void textfile_release(struct textfile *f);
/* Replaces the loaded text by the editor's, if that is authoritative (guard/buffers.h); only for
 * UTF-8 without a mark. */
enum buffer_truth textfile_take_buffer(struct textfile *f, struct workspace *w,
                                       struct cancel *cancel);

/* Writes text in the file's encoding, creating folders as needed, and updates st and raw. On
 * failure the file on disk is unchanged. */
int textfile_save(struct textfile *f, struct str text, struct err *err);

/* Sets the error for a path from errno: "cannot open '/w/x': ..."; for ELOOP see above. Returns -1.
 */
int textfile_fail(const char *path, const char *what, struct err *err);

/* The encoding for messages, "UTF-16 LE"; NULL for plain UTF-8. */
const char *textfile_encoding(const struct textfile *f);

/* Whether the start has NUL bytes or other control characters that are not text. */
bool text_is_binary(struct str text);
size_t text_count_lines(struct str text); /* a last line without an ending counts */
