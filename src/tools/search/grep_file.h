/*
 * Searches one file: reads, decodes, and selects lines.
 *
 * Like ripgrep: a file with a NUL byte is binary and not searched (nor its rest if the NUL comes
 * late), a byte order mark determines the encoding, invalid UTF-8 is replaced. Files are read,
 * never mapped, so that one that shrinks does no harm; a large one is searched in windows and never
 * held as a whole, except for `multiline`.
 *
 * A struct grep_searcher belongs to one thread and keeps its buffers between files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;
struct grep_pattern;
struct grep_searcher;

#define GREP_MAX_WHOLE ((size_t)64 << 20) /* bytes of a file, or of a line, held at once */

enum grep_mode {
    GREP_FILES,   /* which files match */
    GREP_COUNT,   /* how many lines match (matches, if they may span lines) */
    GREP_CONTENT, /* the lines */
};

struct grep_job {
    const struct grep_pattern *pattern;
    enum grep_mode mode;
    bool multiline;
    bool numbers;         /* CONTENT: with line numbers */
    size_t before, after; /* CONTENT: lines of context */
    size_t max_lines;     /* CONTENT: per file; the rest is not searched */
    size_t max_columns;   /* CONTENT: bytes of a line; 0 = all */
    bool binary;          /* also files with NUL bytes; their lines are marked */
};

/* The matches in a file. CONTENT: each line in text is GREP_LINE_MATCH, _CONTEXT or _GAP, then
 * (with numbers) "12:" or "12-", then the line. */
#define GREP_LINE_MATCH ':'
#define GREP_LINE_CONTEXT '-'
#define GREP_LINE_GAP '='
struct grep_found {
    char *path; /* as given */
    int64_t mtime_ns;
    size_t count; /* of matching lines (or matches) */
    size_t lines; /* in text */
    bool cut;     /* there are more, not searched for */
    struct buf text;
};
void grep_found_release(struct grep_found *f);

/* Appends a line; if it is longer than max bytes, the part around the match, and how much is
 * missing. 0 = no limit. */
void grep_line_clip(struct str line, size_t match, size_t max, struct buf *ret);

struct grep_searcher *grep_searcher_new(const struct grep_job *job);
void grep_searcher_free(struct grep_searcher *s);

/* 1: found, 0: not found, -1: ERR_IO (cannot be read), ERR_TOO_BIG (a line or a multiline file
 * above GREP_MAX_WHOLE, or the pattern takes too long: `is_pattern`). */
int grep_searcher_file(struct grep_searcher *s, int dir_fd, const char *path,
                       struct grep_found *ret, bool *ret_is_pattern, struct err *err);
