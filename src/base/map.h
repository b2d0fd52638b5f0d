/*
 * A hash table from byte strings to pointers.
 *
 * Keys are copied, values are the caller's. Order of iteration is the order of insertion, so that
 * output made from a map is stable; removing keeps the order of the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct map_entry {
    struct str key; /* owned by the map, NUL-terminated */
    void *value;
};

struct map {
    struct map_entry *entries;
    size_t len;
    size_t cap;
    unsigned *slots;
    size_t slot_count;
};

#define MAP_INIT                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }
#define MAP_EACH(m, it)                                                                            \
    for (struct map_entry *it = (m)->entries; it && it < (m)->entries + (m)->len; it++)

void map_release(struct map *m);
void *map_get(const struct map *m, struct str key); /* NULL when absent */
bool map_has(const struct map *m, struct str key);
void *map_set(struct map *m, struct str key, void *value); /* the value it replaced, or NULL */
void *map_remove(struct map *m, struct str key);           /* the value it had, or NULL */
