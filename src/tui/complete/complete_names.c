/*
 * Names in blocks: a fixed table of them, each filled once. Whatever is below the count has been
 * written before the count was, under the lock. The walk's threads write, the matcher reads.
 */
#include "tui/complete/complete_names.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "sync/thread.h"
#include "tui/complete/fuzzy.h"

#define BLOCK_NAMES 1024
#define BLOCKS (NAMES_MAX / BLOCK_NAMES + 1)

struct names {
    atomic_int refs;
    struct lock lock; /* guards what follows */
    size_t count;
    struct arena texts;
    struct map folders; /* those in the list */
    struct name *blocks[BLOCKS];
};

struct names *names_new(void)
{
    struct names *n = mem_zalloc(sizeof(*n));

    n->refs = 1;
    lock_init(&n->lock);
    return n;
}

struct names *names_ref(struct names *n)
{
    n->refs++;
    return n;
}

void names_unref(struct names *n)
{
    if (!n || --n->refs)
        return;
    for (size_t i = 0; i < BLOCKS && n->blocks[i]; i++)
        free(n->blocks[i]);
    map_release(&n->folders);
    arena_release(&n->texts);
    lock_release(&n->lock);
    free(n);
}

/* Lock held. */
static void names_push(struct names *n, struct str text)
{
    size_t block = n->count / BLOCK_NAMES;

    if (n->count == NAMES_MAX)
        return;
    if (!n->blocks[block])
        n->blocks[block] = mem_alloc(BLOCK_NAMES * sizeof(struct name));
    n->blocks[block][n->count % BLOCK_NAMES] =
        (struct name){arena_str(&n->texts, text).ptr, (uint32_t)text.len, fuzzy_letters(text)};
    n->count++;
}

/* Lock held. The innermost folder that is known ends it: those above are, too. */
static void names_push_folders(struct names *n, struct str path)
{
    for (size_t i = path.len; i-- > 0;) {
        struct str folder = str_first(path, i + 1);

        if (path.ptr[i] != '/')
            continue;
        if (map_has(&n->folders, folder))
            return;
        map_set(&n->folders, folder, n);
        names_push(n, folder);
    }
}

bool names_add_path(struct names *n, struct str path)
{
    bool has_room;

    if (path.len > NAMES_MAX_BYTES)
        return true;
    lock_take(&n->lock);
    names_push_folders(n, path);
    names_push(n, path);
    has_room = n->count < NAMES_MAX;
    lock_give(&n->lock);
    return has_room;
}

size_t names_count(struct names *n)
{
    size_t count;

    lock_take(&n->lock);
    count = n->count;
    lock_give(&n->lock);
    return count;
}

const struct name *names_at(const struct names *n, size_t i)
{
    return &n->blocks[i / BLOCK_NAMES][i % BLOCK_NAMES];
}
