/*
 * arena: bump allocation in doubling blocks. One owner, one thread at a time.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ARENA_FIRST 512
#define ARENA_LARGEST ((size_t)256 << 10)

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    _Alignas(16) char data[];
};

static size_t arena_double(size_t size)
{
    return size < ARENA_LARGEST ? size * 2 : ARENA_LARGEST;
}

void arena_release(struct arena *a)
{
    struct arena_block *next;

    for (struct arena_block *b = a->head; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena)ARENA_INIT;
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = NULL;
    struct arena_block *next;

    for (struct arena_block *b = a->head; b; b = next) {
        next = b->next;
        if (b->size <= ARENA_LARGEST && (!keep || b->size > keep->size)) {
            free(keep);
            keep = b;
        } else {
            free(b);
        }
    }
    *a = (struct arena)ARENA_INIT;
    if (!keep)
        return;
    keep->next = NULL;
    a->head = keep;
    a->next = arena_double(keep->size);
    a->at = keep->data;
    a->end = keep->data + keep->size;
}

static struct arena_block *arena_block_new(size_t size)
{
    struct arena_block *b = mem_alloc(sizeof(*b) + size);

    b->size = size;
    return b;
}

static void *arena_slow(struct arena *a, size_t n)
{
    size_t size = a->next ? a->next : ARENA_FIRST;
    struct arena_block *b;

    if (n > size / 2) {
        /* A separate block, linked after the current one, whose rest stays in use. */
        b = arena_block_new(n);
        if (a->head) {
            b->next = a->head->next;
            a->head->next = b;
        } else {
            b->next = NULL;
            a->head = b;
            a->at = a->end = b->data + n;
        }
        return b->data;
    }
    b = arena_block_new(size);
    b->next = a->head;
    a->head = b;
    a->next = arena_double(size);
    a->at = b->data + n;
    a->end = b->data + size;
    return b->data;
}

void *arena_alloc(struct arena *a, size_t n)
{
    char *p = a->at;

    if (n > SIZE_MAX / 2)
        BUG("arena asked for %zu bytes", n);
    n = (n + 15) & ~(size_t)15;
    a->total += n;
    if ((size_t)(a->end - p) < n)
        return arena_slow(a, n);
    a->at = p + n;
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    void *p = arena_alloc(a, n);

    memset(p, 0, n);
    return p;
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);

    if (s.len)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    return (struct str){arena_cstr(a, s), s.len};
}
