/*
 * denied_files: a flat list of folders, each with its time of change and its denied files. A search
 * goes through the list; a changed folder is read again, and its subfolders are appended. The
 * kernel reports changed folders; unwatched ones are checked each time. Whether a path now leads to
 * another folder is detected from above: the start of a search is always checked, subfolders when
 * their parent is read again. Any thread; the lock is held during a search, which only reads
 * folders.
 */
#include "guard/denied_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/denied.h"
#include "guard/folder_watch.h"
#include "guard/rule.h"
#include "sync/thread.h"

#define MAX_FOLDERS 4000
#define MAX_ENTRIES 100000 /* read per search */
#define MAX_FOUND 200      /* each is a mount in a job (CONFINE_MAX_PATHS) */

#define FRESH_NS ((int64_t)50 * 1000 * 1000) /* resolution of file times */

struct folder {
    char *path;
    size_t depth; /* number of levels to search */
    bool is_read;
    bool is_fresh; /* read so soon after a change that a further change might not be visible */
    bool is_due;   /* may have changed or been replaced */
    int watch;     /* -1 = changes are not reported */
    unsigned look; /* number of the last search that examined it */
    struct stat st;
    struct strv found;
};

struct denied_files {
    enum denied_what what;
    struct lock lock; /* guards all fields below */
    struct denied *denied;
    struct strv dirs;
    VEC(struct folder *) folders;
    struct map by_path;
    struct folder_watch *watch; /* NULL before the first folder */
    unsigned look;              /* counts, from 1 */
    size_t entries;             /* read in this search */
    bool goes_on;               /* something must be examined that was skipped earlier */
    bool is_in_doubt;           /* everything must be examined */
    bool is_partial;
};

struct denied_files *denied_files_new(enum denied_what what)
{
    struct denied_files *f = mem_zalloc(sizeof(*f));

    lock_init(&f->lock);
    f->what = what;
    return f;
}

static void folder_free(struct folder *d)
{
    strv_release(&d->found);
    mem_freep(&d->path);
    free(d);
}

static void forget(struct denied_files *f)
{
    VEC_EACH(&f->folders, d) {
        folder_free(*d);
    }
    vec_release(&f->folders);
    map_release(&f->by_path);
    folder_watch_free(f->watch);
    f->watch = NULL;
    strv_clear(&f->dirs);
    denied_freep(&f->denied);
}

void denied_files_free(struct denied_files *f)
{
    if (!f)
        return;
    forget(f);
    strv_release(&f->dirs);
    lock_release(&f->lock);
    free(f);
}

/* ---- places to search ---- */

static void add_again(struct denied_files *f, struct folder *d, size_t depth)
{
    if (d->depth < depth) {
        d->depth = depth;
        d->is_read = false;
        d->look = 0;
    }
    if (d->look == f->look)
        return;
    d->is_due = true;
    f->goes_on = true; /* it may be above the folder that refers to it */
}

static void add_folder(struct denied_files *f, const char *path, size_t depth)
{
    struct folder *d = map_get(&f->by_path, str_of(path));

    if (d) {
        add_again(f, d, depth);
        return;
    }
    if (f->folders.len >= MAX_FOLDERS) {
        f->is_partial = true;
        return;
    }
    if (!f->watch)
        f->watch = folder_watch_new();
    d = mem_zalloc(sizeof(*d));
    d->path = mem_dup(path, strlen(path));
    d->depth = depth;
    d->watch = -1;
    vec_push(&f->folders, d);
    map_set(&f->by_path, str_of(path), d);
}

static bool is_in(const char *path, const char *dir)
{
    size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

    return strncmp(path, dir, len) == 0 && (!path[len] || path[len] == '/');
}

/* Patterns that span the home directory or the whole disk are searched only where commands work. */
static void add_deep(struct denied_files *f, const char *from)
{
    for (size_t i = 0; i < f->dirs.len; i++) {
        if (is_in(from, f->dirs.ptr[i])) {
            add_folder(f, from, RULE_ANY_DEPTH);
            return;
        }
    }
    for (size_t i = 0; i < f->dirs.len; i++) {
        if (is_in(f->dirs.ptr[i], from))
            add_folder(f, f->dirs.ptr[i], RULE_ANY_DEPTH);
    }
}

/* The working directory itself is left to the tools: no command could run in it. */
static void add_plain(struct denied_files *f, const char *path, struct strv *ret)
{
    if (!strv_has(&f->dirs, str_of(path)) && !strv_has(ret, str_of(path)))
        strv_adds(ret, path);
}

static void add_rules(struct denied_files *f, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < denied_count(f->denied); i++) {
        size_t depth;
        const char *from = rule_reach(denied_rule(f->denied, i), &arena, &depth);

        if (!depth)
            add_plain(f, from, ret);
        else if (depth == RULE_ANY_DEPTH)
            add_deep(f, from);
        else
            add_folder(f, from, depth);
    }
}

/* ---- the search ---- */

static int64_t to_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* By the clock used for file times. */
static bool has_just_changed(const struct stat *st)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return to_ns(&st->st_ctim) > to_ns(&now) - FRESH_NS;
}

static bool is_folder(int dir, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_looked_through(const char *name)
{
    return strcmp(name, ".git") != 0 && strcmp(name, "node_modules") != 0;
}

static void take_entry(struct denied_files *f, struct folder *d, int dir, const struct dirent *e)
{
    CLEANUP(mem_freep) char *path = NULL;

    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return;
    f->entries++;
    path = path_join(d->path, e->d_name);
    if (denied_has(f->denied, path))
        strv_adds(&d->found, path);
    else if (d->depth > 1 && is_looked_through(e->d_name) && is_folder(dir, e))
        add_folder(f, path, d->depth == RULE_ANY_DEPTH ? RULE_ANY_DEPTH : d->depth - 1);
}

static DIR *open_folder(struct denied_files *f, struct folder *d)
{
    int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir;

    if (fd < 0)
        return NULL;
    folder_watch_remove(f->watch, d->watch);
    d->watch = folder_watch_add(f->watch, fd, d);
    dir = fstat(fd, &d->st) == 0 ? fdopendir(fd) : NULL;
    if (!dir)
        close(fd);
    return dir;
}

static void read_folder(struct denied_files *f, struct folder *d)
{
    DIR *dir = open_folder(f, d);
    const struct dirent *e;

    strv_clear(&d->found);
    d->is_read = false;
    if (!dir)
        return;
    d->is_fresh = has_just_changed(&d->st);
    for (e = readdir(dir); e && f->entries < MAX_ENTRIES; e = readdir(dir))
        take_entry(f, d, dirfd(dir), e);
    d->is_read = !e;
    f->is_partial = f->is_partial || e;
    closedir(dir);
}

static bool is_same_folder(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* False if it is gone. */
static bool look_at(struct denied_files *f, struct folder *d)
{
    struct stat st;

    d->is_due = false;
    d->look = f->look;
    if (lstat(d->path, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    if (d->st.st_ino && !is_same_folder(&st, &d->st))
        f->is_in_doubt = true;
    if (d->is_read && (d->watch >= 0 || !d->is_fresh) && is_same_folder(&st, &d->st) &&
        to_ns(&st.st_ctim) == to_ns(&d->st.st_ctim))
        return true;
    if (f->entries < MAX_ENTRIES)
        read_folder(f, d);
    else
        f->is_partial = true;
    return true;
}

/* A watched folder that was read is unchanged. */
static bool is_to_look_at(const struct denied_files *f, const struct folder *d)
{
    return d->look != f->look && (d->is_due || d->watch < 0 || !d->is_read);
}

/* Folders below a removed or replaced one are affected, too, but not reported. */
static void settle_doubt(struct denied_files *f)
{
    if (!f->is_in_doubt)
        return;
    VEC_EACH(&f->folders, d) {
        (*d)->is_due = true;
    }
    f->is_in_doubt = false;
    f->goes_on = true;
}

static void look_at_all(struct denied_files *f)
{
    size_t kept = 0;

    f->goes_on = false;
    for (size_t i = 0; i < f->folders.len; i++) { /* the list grows during the loop */
        struct folder *d = f->folders.ptr[i];

        if (is_to_look_at(f, d) && !look_at(f, d)) {
            folder_watch_remove(f->watch, d->watch);
            map_remove(&f->by_path, str_of(d->path));
            folder_free(d);
            f->is_in_doubt = true;
            continue;
        }
        f->folders.ptr[kept++] = d;
    }
    f->folders.len = kept;
    settle_doubt(f);
}

static void has_changed(void *folder)
{
    struct folder *d = folder;

    d->watch = -1;
    d->is_read = false;
}

static void begin_look(struct denied_files *f)
{
    f->look++;
    f->entries = 0;
    f->is_partial = false;
    if (f->watch)
        f->is_in_doubt = !folder_watch_take(f->watch, has_changed);
    settle_doubt(f);
}

static void look(struct denied_files *f, struct strv *ret)
{
    do
        look_at_all(f);
    while (f->goes_on);
    VEC_EACH(&f->folders, d) {
        for (size_t i = 0; i < (*d)->found.len && ret->len < MAX_FOUND; i++) {
            if (!strv_has(ret, str_of((*d)->found.ptr[i]))) /* also written out */
                strv_adds(ret, (*d)->found.ptr[i]);
        }
    }
    f->is_partial = f->is_partial || ret->len >= MAX_FOUND;
}

static bool is_same_list(const struct strv *a, const struct strv *b)
{
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        if (strcmp(a->ptr[i], b->ptr[i]) != 0)
            return false;
    }
    return a->len == b->len;
}

bool denied_files_find(struct denied_files *f, struct permit *p, const struct strv *dirs,
                       struct strv *ret)
{
    CLEANUP(denied_freep) struct denied *denied = denied_new(p, f->what);
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    bool is_whole;

    if (!denied)
        return true;
    lock_take(&f->lock);
    if (!denied_is_same(f->denied, denied) || !is_same_list(&f->dirs, dirs)) {
        forget(f);
        strv_add_all(&f->dirs, dirs);
        f->denied = TAKE_PTR(denied);
    }
    begin_look(f);
    add_rules(f, &found);
    look(f, &found);
    is_whole = !f->is_partial;
    lock_give(&f->lock);
    strv_add_all(ret, &found);
    return is_whole;
}
