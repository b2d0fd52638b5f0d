/*
 * snapshot_table: open addressing over numbers of entries, half full at most. One thread.
 */
#include "goal/snapshot_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sha256.h"

void snapshot_table_release(struct snapshot_table *t)
{
    arena_release(&t->arena);
    vec_release(&t->entries);
    vec_release(&t->changes);
    vec_release(&t->written);
    mem_freep(&t->slots);
    t->slot_count = 0;
}

/* Where this path is, or would be. */
static uint32_t *find_slot(const struct snapshot_table *t, struct str path)
{
    size_t at = (size_t)str_table_hash(path) & (t->slot_count - 1);

    while (t->slots[at] && !str_eq(t->entries.ptr[t->slots[at] - 1].path, path))
        at = (at + 1) & (t->slot_count - 1);
    return &t->slots[at];
}

static void grow(struct snapshot_table *t)
{
    mem_freep(&t->slots);
    t->slot_count = t->slot_count ? t->slot_count * 2 : 1024;
    t->slots = mem_zalloc(t->slot_count * sizeof(*t->slots));
    for (size_t i = 0; i < t->entries.len; i++)
        *find_slot(t, t->entries.ptr[i].path) = (uint32_t)i + 1;
}

struct snapshot_entry *snapshot_table_find(struct snapshot_table *t, struct str path)
{
    uint32_t number = t->slot_count ? *find_slot(t, path) : 0;

    return number ? &t->entries.ptr[number - 1] : NULL;
}

struct snapshot_entry *snapshot_table_add(struct snapshot_table *t, struct str path)
{
    struct snapshot_entry *e;

    if ((t->entries.len + 1) * 2 > t->slot_count)
        grow(t);
    *find_slot(t, path) = (uint32_t)t->entries.len + 1;
    e = vec_add(&t->entries);
    *e = (struct snapshot_entry){.path = arena_str(&t->arena, path), .base = CONTENT_GONE};
    return e;
}

size_t snapshot_table_index(const struct snapshot_table *t, const struct snapshot_entry *e)
{
    return (size_t)(e - t->entries.ptr);
}

char *snapshot_entry_path(const char *dir, const struct snapshot_entry *e)
{
    return path_join(dir, e->path.ptr);
}

/* ---- changes ---- */

static struct content counts_as(const struct snapshot_change *c)
{
    return content_eq(c->now, c->from) ? c->to : c->now;
}

void snapshot_table_set(struct snapshot_table *t, struct snapshot_entry *e, struct content now)
{
    if (!e->change) {
        if (content_eq(now, e->base))
            return;
        vec_push(&t->changes, ((struct snapshot_change){
                                  .entry = snapshot_table_index(t, e),
                                  .told = e->base,
                                  .from = CONTENT_UNKNOWN,
                              }));
        e->change = (uint32_t)t->changes.len;
    }
    t->changes.ptr[e->change - 1].now = now;
}

struct told {
    struct str path;
    struct content content;
};

static int by_path(const void *a, const void *b)
{
    return str_cmp(((const struct told *)a)->path, ((const struct told *)b)->path);
}

void snapshot_table_tell(struct snapshot_table *t, struct sha256 *hash)
{
    VEC(struct told) list = VEC_INIT;

    VEC_EACH(&t->changes, c) {
        const struct snapshot_entry *e = &t->entries.ptr[c->entry];

        c->told = counts_as(c);
        if (!content_eq(c->told, e->base) && (e->written || e->ignored != SNAPSHOT_IGNORED))
            vec_push(&list, ((struct told){e->path, c->told}));
    }
    if (list.len)
        qsort(list.ptr, list.len, sizeof(*list.ptr), by_path);
    VEC_EACH(&list, it) {
        sha256_add(hash, STR("\0"));
        sha256_add(hash, it->path);
        sha256_add(hash, STR("\0"));
        sha256_add(hash, str_make((const char *)&it->content, sizeof(it->content)));
    }
    vec_release(&list);
}

void snapshot_table_forgive(struct snapshot_table *t)
{
    VEC_EACH(&t->changes, c) {
        if (content_eq(counts_as(c), c->told))
            continue;
        c->from = c->now;
        c->to = c->told;
    }
}
