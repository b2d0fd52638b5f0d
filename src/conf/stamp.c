/*
 * stamp: what stat() says of each file, kept to be compared. Whatever thread loads the settings.
 */
#include "conf/stamp.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void stamp_add(struct stamps *s, const char *path)
{
    struct stamp *it = vec_add(&s->list);

    *it = (struct stamp){.path = mem_dup(path, strlen(path))};
    it->is_there = stat(path, &it->st) == 0;
    it->is_fresh = it->is_there && stamp_ns(&it->st.st_mtim) > stamp_now_ns() - STAMP_FRESH_NS;
}

void stamps_take(struct stamps *s, const struct levels *levels)
{
    stamps_release(s);
    VEC_EACH(&levels->list, source) {
        if (source->path)
            stamp_add(s, source->path);
    }
    for (size_t i = 0; i < ARRAY_LEN(levels->drop_ins); i++)
        stamp_add(s, levels->drop_ins[i]);
}

bool stamps_changed(const struct stamps *s)
{
    VEC_EACH(&s->list, it) {
        struct stat now;
        bool is_there = stat(it->path, &now) == 0;

        if (is_there != it->is_there || it->is_fresh)
            return true;
        if (is_there && (now.st_dev != it->st.st_dev || now.st_ino != it->st.st_ino ||
                         now.st_size != it->st.st_size || now.st_mode != it->st.st_mode ||
                         stamp_ns(&now.st_mtim) != stamp_ns(&it->st.st_mtim) ||
                         stamp_ns(&now.st_ctim) != stamp_ns(&it->st.st_ctim)))
            return true;
    }
    return false;
}

void stamps_release(struct stamps *s)
{
    VEC_EACH(&s->list, it) {
        free(it->path);
    }
    vec_release(&s->list);
}
