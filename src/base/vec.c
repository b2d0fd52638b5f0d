/*
 * vec: growth of the typed arrays. Any thread.
 */
#include "base/vec.h"

void *vec_grow(void *ptr, size_t *cap, size_t size)
{
    size_t want = *cap ? *cap * 2 : 8;

    *cap = want;
    return mem_realloc(ptr, want * size);
}
