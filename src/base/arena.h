/*
 * Memory that dies together: one arena per turn, per request, per parsed document.
 *
 * Blocks double up to 256 KB; a larger request gets a separate block, which does not change the
 * doubling. Alignment is 16. Not shared between threads while it grows. arena_reset() keeps the
 * largest block, so a loop settles down to no allocation at all.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *head;
    char *at;
    char *end;
    size_t next;  /* size of the next block; 0: there was none */
    size_t total; /* bytes handed out since the last reset, for limits and benches */
};

#define ARENA_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

void arena_release(struct arena *a);
void arena_reset(struct arena *a);
void *arena_alloc(struct arena *a, size_t n);        /* uninitialised */
void *arena_zalloc(struct arena *a, size_t n);       /* zeroed */
struct str arena_str(struct arena *a, struct str s); /* a copy, followed by a NUL */
char *arena_cstr(struct arena *a, struct str s);

#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
