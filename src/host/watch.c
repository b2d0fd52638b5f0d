/*
 * watch: a list of paths with their last known state. Rebuilt at every check, because hooks change
 * with the settings; paths that stay on it keep their state. Any thread.
 */
#include "host/watch.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/workspace.h"
#include "hooks/registry.h"
#include "sync/thread.h"

struct watched {
    char *path;
    bool is_there;
    struct timespec mtime;
    off_t size;
    ino_t inode;
};

typedef VEC(struct watched) watched_vec;

struct watch {
    struct hook_registry *hooks;
    struct workspace *workspace;
    struct lock lock;
    struct strv asked; /* by watchPaths */
    watched_vec files;
};

struct watch *watch_new(struct hook_registry *hooks, struct workspace *workspace)
{
    struct watch *w = mem_zalloc(sizeof(*w));

    w->hooks = hooks;
    w->workspace = workspace;
    lock_init(&w->lock);
    return w;
}

static void watched_release(watched_vec *files)
{
    VEC_EACH(files, f) {
        mem_freep(&f->path);
    }
    vec_release(files);
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    watched_release(&w->files);
    strv_release(&w->asked);
    lock_release(&w->lock);
    mem_freep(&w);
}

void watch_ask(struct watch *w, const struct strv *paths)
{
    lock_take(&w->lock);
    strv_clear(&w->asked);
    strv_add_all(&w->asked, paths);
    lock_give(&w->lock);
}

/* A name, not a regular expression. */
static bool is_name(struct str s)
{
    return s.len && !memchr(s.ptr, '\0', s.len) && strcspn(s.ptr, "*?()[]{}^$+\\|") >= s.len;
}

/* The names in matchers. False if no hook watches files. */
static bool watch_names(const struct watch *w, struct strv *ret)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(w->hooks);
    bool any = false;

    VEC_EACH(&set->entries, e) {
        struct str rest = str_of(e->matcher);
        struct str name;

        if (e->event != HOOK_FILE_CHANGED)
            continue;
        any = true;
        while (rest.len && str_cut(&rest, '|', &name)) {
            if (is_name(str_trim(name)))
                strv_add(ret, str_trim(name));
        }
    }
    return any;
}

static void watched_find(const char *path, struct watched *ret)
{
    struct stat st;

    *ret = (struct watched){.path = mem_dup(path, strlen(path))};
    if (stat(path, &st) < 0)
        return;
    ret->is_there = true;
    ret->mtime = st.st_mtim;
    ret->size = st.st_size;
    ret->inode = st.st_ino;
}

/* NULL if it has not changed. */
static const char *watched_event(const struct watched *was, const struct watched *is)
{
    if (was->is_there != is->is_there)
        return is->is_there ? "add" : "unlink";
    if (!is->is_there ||
        (was->mtime.tv_sec == is->mtime.tv_sec && was->mtime.tv_nsec == is->mtime.tv_nsec &&
         was->size == is->size && was->inode == is->inode))
        return NULL;
    return "change";
}

static const struct watched *watched_in(const watched_vec *files, const char *path)
{
    VEC_EACH(files, f) {
        if (strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

/* The lock must be held. Adds pairs of path and event to ret_news. */
static void watch_compare(struct watch *w, const struct strv *names, struct strv *ret_news)
{
    watched_vec now = VEC_INIT;

    for (size_t i = 0; i < names->len && now.len < WATCH_MAX_FILES; i++) {
        CLEANUP(mem_freep) char *path = path_join(workspace_dir(w->workspace), names->ptr[i]);
        const struct watched *was = watched_in(&w->files, path);
        const char *event;

        if (watched_in(&now, path))
            continue;
        watched_find(path, vec_add(&now));
        event = was ? watched_event(was, &now.ptr[now.len - 1]) : NULL;
        if (event) {
            strv_adds(ret_news, path);
            strv_adds(ret_news, event);
        }
    }
    watched_release(&w->files);
    w->files = now;
}

void watch_look(struct watch *w, watch_fn fn, void *arg)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    CLEANUP(strv_release) struct strv news = STRV_INIT;

    if (!watch_names(w, &names))
        return;
    lock_take(&w->lock);
    strv_add_all(&names, &w->asked);
    watch_compare(w, &names, &news);
    lock_give(&w->lock);
    for (size_t i = 0; i + 1 < news.len; i += 2)
        fn(arg, news.ptr[i], news.ptr[i + 1]);
}
