/*
 * room_copy: a clean room where no overlay can be mounted: the workspace copied without what the
 * room hides, and its repository, whose objects are shared. A protected file whose copy has another
 * ctime afterwards was changed while the check ran. Any thread, one at a time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/origin/room_layer.h"
#include "goal/origin/survey.h"
#include "sync/cancel.h"

#define STEP_MAX_NS ((int64_t)100 * 1000 * 1000) /* in case the clock is set back */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int copy_file(const char *from, const char *to, const struct inventory_entry *e,
                     struct err *err)
{
    CLEANUP(fd_closep) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    CLEANUP(fd_closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, e->mode & 0777);
    const struct timespec times[2] = {
        {.tv_sec = e->mtime_ns / 1000000000, .tv_nsec = e->mtime_ns % 1000000000},
        {.tv_sec = e->mtime_ns / 1000000000, .tv_nsec = e->mtime_ns % 1000000000},
    };
    ssize_t n = 1;

    if (in < 0 && errno == EACCES)
        return 0;
    if (in < 0 || out < 0)
        return err_sys(err, ERR_IO, "cannot copy '%s'", from);
    while (n > 0)
        n = copy_file_range(in, NULL, out, NULL, (size_t)1 << 30, 0);
    if (n < 0 && errno != ENOSPC) /* such as from one kind of file system to another */
        n = 1;
    while (n > 0)
        n = sendfile(out, in, NULL, (size_t)1 << 30);
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot copy '%s'", from);
    (void)fchmod(out, e->mode);
    futimens(out, times);
    return 0;
}

static int copy_entry(struct room *r, const char *dir, const struct inventory_entry *e,
                      struct err *err)
{
    CLEANUP(mem_freep) char *from = path_join(dir, e->path.ptr);
    CLEANUP(mem_freep) char *to = path_join(r->files, e->path.ptr);
    CLEANUP(mem_freep) char *folder = path_dirname(to);
    char target[4096];
    ssize_t len;

    if (file_mkdirs(folder, 0755, err) < 0)
        return -1;
    if (e->type == INVENTORY_FILE)
        return copy_file(from, to, e, err);
    if (e->type != INVENTORY_LINK)
        return 0;
    len = readlink(from, target, sizeof(target) - 1);
    if (len < 0)
        return 0;
    target[len] = '\0';
    return symlink(target, to) < 0 ? err_sys(err, ERR_IO, "cannot copy '%s'", from) : 0;
}

static int copy_files(struct room *r, const char *dir, const struct inventory *files,
                      const bool *is_hidden, int64_t *left, struct cancel *cancel, struct err *err)
{
    for (size_t i = 0; i < files->entries.len; i++) {
        const struct inventory_entry *e = &files->entries.ptr[i];

        if (is_hidden && is_hidden[i]) {
            CLEANUP(mem_freep) char *place = path_join(r->files, e->path.ptr);

            map_set(&r->placed, str_of(place), r);
            continue;
        }
        *left -= e->size;
        if (*left < 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "the workspace is too large to be copied (%d GB at most)",
                           (int)(ROOM_MAX_COPY >> 30));
        if (cancel_check(cancel, err) < 0 || copy_entry(r, dir, e, err) < 0)
            return -1;
    }
    return 0;
}

/* Folders of a repository that are not changed by what a check decides on. */
static bool is_shared(const char *name)
{
    return str_is_word_of(str_of(name), "objects lfs logs");
}

static int copy_git_folder(const char *from, const char *to, int depth, struct cancel *cancel,
                           struct err *err)
{
    DIR *dir = depth < SURVEY_MAX_DEPTH ? opendir(from) : NULL;
    const struct dirent *e;
    int rc = 0;

    if (!dir)
        return 0;
    if (mkdir(to, 0755) < 0 && errno != EEXIST)
        rc = err_sys(err, ERR_IO, "cannot make '%s'", to);
    while (rc == 0 && (e = readdir(dir))) {
        CLEANUP(mem_freep) char *source = path_join(from, e->d_name);
        CLEANUP(mem_freep) char *target = path_join(to, e->d_name);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(source, &st) < 0)
            continue;
        rc = cancel_check(cancel, err);
        if (rc == 0 && S_ISDIR(st.st_mode) && !is_shared(e->d_name)) {
            rc = copy_git_folder(source, target, depth + 1, cancel, err);
        } else if (rc == 0 && S_ISREG(st.st_mode)) {
            struct inventory_entry look = {.mode = st.st_mode & 0777,
                                           .mtime_ns = ns_of(st.st_mtim)};

            rc = copy_file(source, target, &look, err);
        } else if (rc == 0) {
            (void)!symlink(source, target);
        }
    }
    closedir(dir);
    return rc;
}

/* From now on every ctime is later than this: the clock that they are taken from moves in steps. */
static int64_t wait_for_step(void)
{
    struct timespec from, now;

    clock_gettime(CLOCK_REALTIME, &from);
    do {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 500000}, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (ns_of(now) <= ns_of(from) && ns_of(from) - ns_of(now) < STEP_MAX_NS);
    return ns_of(from);
}

/* A folder that was moved has another ctime; if something was made in it, another mtime, too. */
static bool is_moved(const struct room *r, const char *path)
{
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    struct stat st;

    while (strlen(folder) > strlen(r->files)) {
        char *above = path_dirname(folder);

        if (lstat(folder, &st) < 0 ||
            (ns_of(st.st_ctim) > r->copied_ns && ns_of(st.st_ctim) != ns_of(st.st_mtim))) {
            mem_freep(&above);
            return true;
        }
        mem_freep(&folder);
        folder = above;
    }
    return false;
}

void room_copy_touched(const struct room *r, struct strv *ret)
{
    VEC_EACH(&r->origin->files.entries, e) {
        CLEANUP(mem_freep) char *path = NULL;
        struct stat st;

        if (!(e->flags & INVENTORY_PROTECTED) || e->type == INVENTORY_OTHER)
            continue;
        path = path_join(r->files, e->path.ptr);
        if (map_has(&r->placed, str_of(path)))
            continue; /* it was left out, or is ours */
        if (lstat(path, &st) < 0 || ns_of(st.st_ctim) > r->copied_ns || is_moved(r, path))
            strv_add(ret, e->path);
    }
}

/* CMake refuses an ignored build folder that was moved, and makes one that is missing. */
static void leave_out_builds(const struct inventory *files, bool *is_hidden)
{
    for (size_t i = 0; i < files->entries.len; i++) {
        const struct inventory_entry *e = &files->entries.ptr[i];
        struct str folder;
        size_t from, to;

        if (e->flags & INVENTORY_TREE || !str_ends(e->path, STR("/CMakeCache.txt")))
            continue;
        folder = str_first(e->path, e->path.len - (sizeof("/CMakeCache.txt") - 1));
        to = room_files_below(files, folder, &from);
        for (; from < to; from++)
            is_hidden[from] |= !(files->entries.ptr[from].flags & INVENTORY_TREE);
    }
}

int room_copy(struct room *r, const struct room_spec *spec, struct cancel *cancel, struct err *err)
{
    const struct inventory *files = spec->now ? &spec->now->files : &spec->origin->files;
    CLEANUP(inventory_release) struct inventory recorded = INVENTORY_INIT;
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) bool *is_seen = spec->final ? room_find_seen(spec) : NULL;
    CLEANUP(mem_freep) char *git_dir = path_join(spec->origin->dir, ".git");
    CLEANUP(mem_freep) char *own_git = path_join(r->files, ".git");
    int64_t left = ROOM_MAX_COPY;

    for (size_t i = 0; is_seen && i < files->entries.len; i++)
        is_hidden[i] = !is_seen[i];
    for (size_t i = 0; spec->now && !spec->final && i < spec->now->changes.len; i++) {
        const struct inventory_change *c = &spec->now->changes.ptr[i];

        if (!room_must_hide(spec, c))
            continue;
        is_hidden[c->is - files->entries.ptr] = true;
        strv_add(&r->hidden, c->is->path);
    }
    leave_out_builds(files, is_hidden);
    if (file_mkdirs(r->files, 0755, err) < 0)
        return -1;
    if (spec->final && (inventory_walk(&recorded, spec->final->dir, cancel, err) < 0 ||
                        copy_files(r, spec->final->dir, &recorded, NULL, &left, cancel, err) < 0))
        return -1;
    if (copy_files(r, spec->origin->dir, files, is_hidden, &left, cancel, err) < 0)
        return -1;
    if (file_is_dir(git_dir)) {
        if (copy_git_folder(git_dir, own_git, 0, cancel, err) < 0)
            return -1;
        r->layer_count = 1; /* where room_place() and room_hide() work */
        r->layers[0] =
            (struct room_layer){.at = mem_dup(spec->origin->dir, strlen(spec->origin->dir)),
                                .upper = mem_dup(r->files, strlen(r->files))};
        if (spec->now && room_restore_git(r, spec, cancel, err) < 0)
            return -1;
    }
    r->copied_ns = wait_for_step();
    return 0;
}
