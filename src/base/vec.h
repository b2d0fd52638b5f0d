/*
 * Typed growing arrays: VEC(struct row) rows = VEC_INIT;
 *
 * len and ptr are read directly. Elements are moved on growth, so keep indices, not pointers.
 */
#pragma once

#include <stddef.h>

#include "base/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *ptr;                                                                                 \
        size_t len;                                                                                \
        size_t cap;                                                                                \
    }
#define VEC_INIT                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

/* Appends one uninitialised element and returns its address. */
#define vec_add(v)                                                                                 \
    ((v)->len == (v)->cap ? (void)((v)->ptr = vec_grow((v)->ptr, &(v)->cap, sizeof(*(v)->ptr)))    \
                          : (void)0,                                                               \
     &(v)->ptr[(v)->len++])
#define vec_push(v, x) (*vec_add(v) = (x))
#define vec_release(v)                                                                             \
    do {                                                                                           \
        mem_freep(&(v)->ptr);                                                                      \
        (v)->len = (v)->cap = 0;                                                                   \
    } while (0)
/* &*: a vector reached through a const pointer still has an iterator that moves. An empty one may
 * have no memory, and C does not allow NULL + 0. */
#define VEC_EACH(v, it)                                                                            \
    for (__typeof__(&*(v)->ptr) it = (v)->ptr; (v)->len && it < (v)->ptr + (v)->len; it++)

__attribute__((returns_nonnull)) void *vec_grow(void *ptr, size_t *cap, size_t size);
