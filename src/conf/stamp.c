/*
 * stamp: what stat() says of each file, kept to be compared. Whatever thread loads the settings.
 */
#include "conf/stamp.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "conf/levels.h"

#define STAMP_FRESH_NS ((int64_t)50 * 1000 * 1000) /* file systems count time in ticks */

static int64_t stamp_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* By the clock that files are stamped with: not ours, which tests may hold. */
static int64_t stamp_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return stamp_ns(&now);
}

/* Looked up after the file: one that comes in between is seen the next time. */
static void stamp_find_folder(const struct stamps *s, struct stamp *it)
{
    CLEANUP(mem_freep) char *folder = path_dirname(it->path);

    VEC_EACH(&s->list, other) {
        it->is_led = it->is_led || (other->folder && strcmp(other->folder, folder) == 0);
    }
    if (it->is_led || !file_exists(folder))
        it->folder = TAKE_PTR(folder);
}

static void stamp_add(struct stamps *s, const char *path, int level)
{
    struct stamp *it = vec_add(&s->list);

    *it = (struct stamp){.path = mem_dup(path, strlen(path)), .level = level};
    it->is_there = stat(path, &it->st) == 0;
    it->is_fresh = it->is_there && stamp_ns(&it->st.st_mtim) > stamp_now_ns() - STAMP_FRESH_NS;
    if (!it->is_there)
        stamp_find_folder(s, it);
}

void stamps_take(struct stamps *s, const struct levels *levels)
{
    stamps_release(s);
    VEC_EACH(&levels->list, source) {
        if (source->path)
            stamp_add(s, source->path, (int)source->level);
    }
    for (size_t i = 0; i < ARRAY_LEN(levels->drop_ins); i++)
        stamp_add(s, levels->drop_ins[i], LEVEL_MANAGED);
}

static bool stat_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mode == b->st_mode && stamp_ns(&a->st_mtim) == stamp_ns(&b->st_mtim) &&
           stamp_ns(&a->st_ctim) == stamp_ns(&b->st_ctim);
}

/* The folder has come: from now on each of its files is looked for. */
static void stamps_know_folder(struct stamps *s, const char *name)
{
    CLEANUP(mem_freep) char *folder = mem_dup(name, strlen(name));

    VEC_EACH(&s->list, it) {
        if (it->folder && strcmp(it->folder, folder) == 0)
            mem_freep(&it->folder);
    }
}

bool stamps_changed(struct stamps *s)
{
    VEC_EACH(&s->list, it) {
        struct stat now;
        bool is_there;

        if (it->folder && !it->is_led && file_exists(it->folder))
            stamps_know_folder(s, it->folder);
        if (it->folder)
            continue;
        is_there = stat(it->path, &now) == 0;
        if (is_there != it->is_there || it->is_fresh || (is_there && !stat_same(&now, &it->st)))
            return true;
    }
    return false;
}

static const struct stamp *stamps_find(const struct stamps *s, const char *path)
{
    VEC_EACH(&s->list, it) {
        if (strcmp(it->path, path) == 0)
            return it;
    }
    return NULL;
}

bool stamps_compare(const struct stamps *s, const struct stamps *now, stamp_fn fn, void *arg)
{
    VEC_EACH(&now->list, it) {
        const struct stamp *old = stamps_find(s, it->path);

        if (old && old->is_there == it->is_there && (!it->is_there || stat_same(&old->st, &it->st)))
            continue;
        if ((old || it->is_there) && !fn(arg, it))
            return false;
    }
    return true;
}

void stamps_copy(struct stamps *s, const struct stamps *from)
{
    stamps_release(s);
    VEC_EACH(&from->list, it) {
        struct stamp *copy = vec_add(&s->list);

        *copy = *it;
        copy->path = mem_dup(it->path, strlen(it->path));
        copy->folder = it->folder ? mem_dup(it->folder, strlen(it->folder)) : NULL;
    }
}

void stamps_release(struct stamps *s)
{
    VEC_EACH(&s->list, it) {
        free(it->path);
        free(it->folder);
    }
    vec_release(&s->list);
}
