/*
 * A transcript's lines, found as they are asked for: nothing is read but what lies around them, so
 * a file of any length opens at once, and one that grows has more lines the next time. A line is
 * known by where it begins. One that is being written and has no end yet is none. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

#define TRANSCRIPT_MAX_LINE ((uint64_t)64 << 20) /* bytes that are read of one */

struct transcript_file {
    int fd;
    char *block; /* a piece of the file */
    uint64_t block_at;
    size_t block_len;
    uint64_t size, end; /* as they were last */
    struct buf line;
};

/* ERR_NOT_FOUND, ERR_IO. */
int transcript_file_open(struct transcript_file *f, const char *path, struct err *err);
void transcript_file_release(struct transcript_file *f);

/* The position after the last whole line. */
uint64_t transcript_file_end(struct transcript_file *f);
/* Where the next line begins; where the last one before this place does. */
bool transcript_file_next(struct transcript_file *f, uint64_t at, uint64_t *ret);
bool transcript_file_prev(struct transcript_file *f, uint64_t at, uint64_t *ret);
/* Its bytes, followed by a NUL, good until the next call; false: it is too long, or gone. */
bool transcript_file_line(struct transcript_file *f, uint64_t at, struct str *ret);
/* The last line that has these bytes in it. */
bool transcript_file_find_last(struct transcript_file *f, struct str bytes, uint64_t *ret);
