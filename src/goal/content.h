/*
 * What a file holds, in 128 bits, fast: for telling whether it is what it was, not against forgers.
 *
 * Of files above CONTENT_WHOLE bytes the size, both ends and some places between are looked at.
 * Only regular files are ever opened. Private to this folder. Any thread; waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;

#define CONTENT_WHOLE ((int64_t)1 << 20)

struct content {
    uint64_t a, b;
};

/* No file ever has one of these. */
#define CONTENT_GONE ((struct content){0, 0})
#define CONTENT_UNKNOWN ((struct content){0, 1})

static inline bool content_eq(struct content x, struct content y)
{
    return x.a == y.a && x.b == y.b;
}

/* How a file looks from outside; 0: gone. */
uint64_t content_look(const struct stat *st);
/* Whether the file may change again and look the same, because its clock has not moved on yet. */
bool content_is_young(const struct stat *st);
/* path: relative to dir_fd, or absolute; not followed when it is a link. *ret_st is of what was
 * read; zeroed when it is gone. */
struct content content_read(int dir_fd, const char *path, struct stat *ret_st);
