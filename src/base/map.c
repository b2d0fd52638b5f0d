/*
 * map: entries in insertion order, with an open-addressed index of slots over them. One owner, one
 * thread. A slot holds entry number + 1, 0 is free.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void map_release(struct map *m)
{
    MAP_EACH(m, it)
        free((char *)it->key.ptr);
    free(m->entries);
    free(m->slots);
    *m = (struct map)MAP_INIT;
}

/* The slot that holds key, or the free one where it belongs. Only with slots. */
static size_t map_slot(const struct map *m, struct str key)
{
    size_t mask = m->slot_count - 1;
    size_t at = (size_t)str_table_hash(key) & mask;

    while (m->slots[at] && !str_eq(m->entries[m->slots[at] - 1].key, key))
        at = (at + 1) & mask;
    return at;
}

static struct map_entry *map_find(const struct map *m, struct str key)
{
    size_t at;

    if (!m->slot_count)
        return NULL;
    at = map_slot(m, key);
    return m->slots[at] ? &m->entries[m->slots[at] - 1] : NULL;
}

static void map_index(struct map *m, size_t slot_count)
{
    free(m->slots);
    m->slots = mem_zalloc(slot_count * sizeof(*m->slots));
    m->slot_count = slot_count;
    for (size_t i = 0; i < m->len; i++)
        m->slots[map_slot(m, m->entries[i].key)] = (unsigned)i + 1;
}

void *map_get(const struct map *m, struct str key)
{
    struct map_entry *e = map_find(m, key);

    return e ? e->value : NULL;
}

bool map_has(const struct map *m, struct str key)
{
    return map_find(m, key) != NULL;
}

void *map_set(struct map *m, struct str key, void *value)
{
    struct map_entry *e = map_find(m, key);

    if (e) {
        void *old = e->value;

        e->value = value;
        return old;
    }
    if (m->len == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 8;
        m->entries = mem_realloc(m->entries, m->cap * sizeof(*m->entries));
    }
    m->entries[m->len++] = (struct map_entry){{mem_dup(key.ptr, key.len), key.len}, value};
    if (m->len * 2 > m->slot_count)
        map_index(m, m->slot_count ? m->slot_count * 2 : 16);
    else
        m->slots[map_slot(m, key)] = (unsigned)m->len;
    return NULL;
}

void *map_remove(struct map *m, struct str key)
{
    struct map_entry *e = map_find(m, key);
    void *value;

    if (!e)
        return NULL;
    value = e->value;
    free((char *)e->key.ptr);
    memmove(e, e + 1, (size_t)(m->entries + m->len - (e + 1)) * sizeof(*e));
    m->len--;
    map_index(m, m->slot_count);
    return value;
}
