/*
 * The walk: a stack of work that a few threads take from and put to.
 *
 * An item is a folder to list, or a handful of files from a large folder, so that one full of files
 * keeps every thread busy. Items hold paths, not descriptors: however wide the tree is, a thread
 * has one folder and one file open. The stack is last in, first out, which keeps it as short as the
 * tree is deep.
 */
#include "tools/search/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/denied.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tools/search/ignore.h"

#define FILES_PER_ITEM 16

struct walk_item {
    struct walk_item *next;
    bool is_folder;
    unsigned depth;
    const struct ignore_level *above; /* of a folder */
    struct strv paths;                /* one for a folder */
};

struct walker {
    const struct walk *walk;
    int root_fd;
    struct ignore *ignore;
    int64_t deadline_ms; /* -1: none */

    struct gate gate; /* guards what follows */
    struct walk_item *items;
    unsigned busy;    /* threads that may still add items */
    unsigned waiting; /* threads that want one */
    bool ended;
    size_t entries;
    struct walk_report report;
};

struct worker {
    struct walker *walker;
    unsigned number;
    struct thread *thread;
};

/* What a folder held, before it is decided what becomes of it. */
struct listing {
    struct strv names;
    VEC(unsigned char) types; /* DT_… */
    unsigned files;           /* enum ignore_files */
    size_t special;           /* neither file nor folder, nor a link that is wanted */
};

void walk_report_release(struct walk_report *r)
{
    buf_release(&r->unreadable1);
}

/* As many as may run at once. */
static unsigned walk_threads(void)
{
    cpu_set_t cpus;
    int n = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

    return n < 1 ? 1 : n > WALK_MAX_THREADS ? WALK_MAX_THREADS : (unsigned)n;
}

static struct walk_item *item_new(bool is_folder, unsigned depth, const struct ignore_level *above)
{
    struct walk_item *item = mem_zalloc(sizeof(*item));

    item->is_folder = is_folder;
    item->depth = depth;
    item->above = above;
    return item;
}

static void item_free(struct walk_item *item)
{
    strv_release(&item->paths);
    free(item);
}

/* --- the stack ------------------------------------------------------------------------------- */

static void walker_push(struct walker *w, struct walk_item *item)
{
    gate_take(&w->gate);
    item->next = w->items;
    w->items = item;
    if (w->waiting)
        gate_wake(&w->gate);
    gate_give(&w->gate);
}

/* The next item, or NULL when the walk is over: nothing is left and no thread can add anything. */
static struct walk_item *walker_pop(struct walker *w)
{
    struct walk_item *item = NULL;

    gate_take(&w->gate);
    w->busy--;
    while (!w->items && w->busy && !w->ended) {
        w->waiting++;
        (void)gate_wait(&w->gate, -1);
        w->waiting--;
    }
    if (!w->ended && w->items) {
        item = w->items;
        w->items = item->next;
        w->busy++;
    } else if (w->waiting) {
        gate_wake(&w->gate);
    }
    gate_give(&w->gate);
    return item;
}

static void walker_end(struct walker *w, bool *flag)
{
    gate_take(&w->gate);
    w->ended = true;
    if (flag)
        *flag = true;
    gate_wake(&w->gate);
    gate_give(&w->gate);
}

/* Also looks at the clock and the token: called for every folder and every file. */
static bool walker_goes_on(struct walker *w)
{
    if (cancel_is_set(w->walk->cancel)) {
        walker_end(w, NULL);
        return false;
    }
    if (w->deadline_ms >= 0 && clock_mono_ms() >= w->deadline_ms) {
        walker_end(w, &w->report.cut_time);
        return false;
    }
    return true;
}

static void walker_count(struct walker *w, size_t entries)
{
    bool full;

    gate_take(&w->gate);
    w->entries += entries;
    full = w->entries > WALK_MAX_ENTRIES;
    gate_give(&w->gate);
    if (full)
        walker_end(w, &w->report.cut_entries);
}

static void walker_unreadable(struct walker *w, const char *path)
{
    gate_take(&w->gate);
    if (!w->report.unreadable++)
        buf_adds(&w->report.unreadable1, path);
    gate_give(&w->gate);
}

/* --- folders --------------------------------------------------------------------------------- */

static unsigned char entry_type(int dir_fd, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type;
    if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return S_ISDIR(st.st_mode)   ? DT_DIR
           : S_ISREG(st.st_mode) ? DT_REG
           : S_ISLNK(st.st_mode) ? DT_LNK
                                 : DT_UNKNOWN;
}

static int listing_read(struct listing *l, DIR *dir, bool with_links)
{
    for (;;) {
        const struct dirent *e;
        struct str name;
        unsigned char type;

        errno = 0;
        e = readdir(dir);
        if (!e)
            return errno ? -1 : 0;
        name = str_of(e->d_name);
        if (str_is(name, ".") || str_is(name, ".."))
            continue;
        type = entry_type(dirfd(dir), e);
        l->files |= ignore_file_flag(name);
        if (type != DT_DIR && type != DT_REG && !(with_links && type == DT_LNK)) {
            l->special++;
            continue;
        }
        strv_add(&l->names, name);
        vec_push(&l->types, type);
    }
}

/* Whether ripgrep would take it: globs first, then ignore files and types, then hidden or not. */
static bool walker_takes(const struct walker *w, const struct ignore_level *level, struct str path,
                         struct str name, bool is_dir)
{
    const struct walk *walk = w->walk;
    enum ignore_verdict verdict = ignore_rules_check(walk->globs, path, is_dir);
    bool kept;

    if ((walk->hidden || walk->all) && str_is(name, ".git"))
        return false;
    if (verdict != IGNORE_SILENT)
        return verdict == IGNORE_DROP; /* a glob without ! names wanted files */
    if (walk->globs && ignore_rules_drops(walk->globs) && !is_dir)
        return false;
    verdict = walk->all ? IGNORE_KEEP : ignore_check(w->ignore, level, path, is_dir);
    if (verdict == IGNORE_DROP)
        return false;
    kept = verdict == IGNORE_KEEP;
    if (walk->types && !is_dir) {
        if (ignore_rules_check(walk->types, name, false) != IGNORE_DROP)
            return false;
        kept = true;
    }
    return kept || walk->hidden || name.ptr[0] != '.';
}

static bool walker_denies(const struct walker *w, const char *path)
{
    CLEANUP(mem_freep) char *full = w->walk->denied ? path_join(w->walk->root, path) : NULL;

    return full && denied_has(w->walk->denied, full);
}

/* Counts omissions where they are to be reported. */
static void walker_skip(struct walker *w, size_t *counter, size_t count)
{
    if (!w->walk->all || !count)
        return;
    gate_take(&w->gate);
    *counter += count;
    gate_give(&w->gate);
}

static void worker_files(struct worker *me, const struct walk_item *item)
{
    struct walker *w = me->walker;

    for (size_t i = 0; i < item->paths.len && walker_goes_on(w); i++) {
        if (!w->walk->fn(w->root_fd, item->paths.ptr[i], me->number, w->walk->arg))
            walker_end(w, NULL);
    }
}

/* Hands on what a folder holds: folders to the stack, files too when there are many. */
static void worker_listing(struct worker *me, const struct walk_item *folder, int dir_fd,
                           const struct listing *l)
{
    struct walker *w = me->walker;
    struct str dir = str_of(folder->paths.ptr[0]);
    const struct ignore_level *level =
        ignore_enter(w->ignore, folder->above, dir_fd, dir, l->files);
    CLEANUP(buf_release) struct buf path = BUF_INIT(PATH_MAX);
    struct walk_item *files = item_new(/*is_folder=*/false, 0, NULL);

    for (size_t i = 0; i < l->names.len; i++) {
        struct str name = str_of(l->names.ptr[i]);
        bool is_dir = l->types.ptr[i] == DT_DIR;

        buf_clear(&path);
        buf_addf(&path, "%.*s%s%.*s", STR_ARG(dir), dir.len ? "/" : "", STR_ARG(name));
        if (path.over) {
            walker_unreadable(w, folder->paths.ptr[0]); /* a part of it, to be exact */
            continue;
        }
        if (!walker_takes(w, level, buf_str(&path), name, is_dir)) {
            walker_skip(w, &w->report.git, str_is(name, ".git"));
            continue;
        }
        if (walker_denies(w, buf_cstr(&path))) {
            walker_skip(w, &w->report.denied, 1);
            continue;
        }
        if (is_dir) {
            struct walk_item *below = item_new(/*is_folder=*/true, folder->depth + 1, level);

            strv_add(&below->paths, buf_str(&path));
            walker_push(w, below);
        } else {
            if (files->paths.len == FILES_PER_ITEM) {
                walker_push(w, files);
                files = item_new(/*is_folder=*/false, 0, NULL);
            }
            strv_add(&files->paths, buf_str(&path));
        }
    }
    worker_files(me, files);
    item_free(files);
}

static void worker_folder(struct worker *me, const struct walk_item *folder)
{
    struct walker *w = me->walker;
    const char *path = folder->paths.ptr[0];
    struct listing l = {.names = STRV_INIT};
    int fd;
    DIR *dir;

    if (folder->depth > WALK_MAX_DEPTH) {
        gate_take(&w->gate);
        w->report.cut_depth = true;
        gate_give(&w->gate);
        return;
    }
    fd = pinned_open_at(w->root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        walker_unreadable(w, path);
        return;
    }
    if (listing_read(&l, dir, w->walk->all) < 0)
        walker_unreadable(w, path);
    walker_skip(w, &w->report.special, l.special);
    walker_count(w, l.names.len);
    worker_listing(me, folder, fd, &l);
    closedir(dir);
    strv_release(&l.names);
    vec_release(&l.types);
}

static void worker_main(void *arg)
{
    struct worker *me = arg;

    for (;;) {
        struct walk_item *item = walker_pop(me->walker);

        if (!item)
            return;
        if (!item->is_folder)
            worker_files(me, item);
        else if (walker_goes_on(me->walker))
            worker_folder(me, item);
        item_free(item);
    }
}

/* --- the walk -------------------------------------------------------------------------------- */

/* Worker 0 is the caller's thread. A thread that cannot be started is done without. */
static void walker_work(struct walker *w)
{
    struct worker workers[WALK_MAX_THREADS] = {0};
    unsigned count = walk_threads();

    w->busy = count;
    for (unsigned i = 0; i < count; i++)
        workers[i] = (struct worker){.walker = w, .number = i};
    for (unsigned i = 1; i < count; i++) {
        workers[i].thread = thread_start("walk", worker_main, &workers[i], NULL);
        if (!workers[i].thread) {
            gate_take(&w->gate);
            w->busy--;
            gate_wake(&w->gate);
            gate_give(&w->gate);
        }
    }
    worker_main(&workers[0]);
    for (unsigned i = 1; i < count; i++)
        thread_join(workers[i].thread);
}

int walk_run(const struct walk *walk, struct walk_report *ret, struct err *err)
{
    CLEANUP(fd_closep) int root_fd = pinned_open(walk->root, O_RDONLY | O_DIRECTORY);
    struct walker w = {
        .walk = walk,
        .root_fd = root_fd,
        .deadline_ms = walk->timeout_ms ? clock_mono_ms() + walk->timeout_ms : -1,
        .report = {.unreadable1 = BUF_INIT(PATH_MAX)},
    };

    if (root_fd < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open '%s'",
                       walk->root);
    if (cancel_check(walk->cancel, err) < 0)
        return -1;
    w.ignore = ignore_new(walk->root, walk->git);
    gate_init(&w.gate);
    w.items = item_new(/*is_folder=*/true, 0, NULL);
    strv_adds(&w.items->paths, "");

    walker_work(&w);

    while (w.items) {
        struct walk_item *item = w.items;

        w.items = item->next;
        item_free(item);
    }
    gate_release(&w.gate);
    ignore_free(w.ignore);
    if (cancel_check(walk->cancel, err) < 0) {
        walk_report_release(&w.report);
        return -1;
    }
    *ret = w.report;
    return 0;
}
