/*
 * room_copy: a clean room where no overlay can be mounted: the workspace copied without what the
 * room hides. Any thread, one at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/origin/room_inside.h"
#include "sync/cancel.h"

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
    CLEANUP(mem_freep) char *to = path_join(r->dir, e->path.ptr);
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

        if (is_hidden && is_hidden[i])
            continue;
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

int room_copy(struct room *r, const struct room_spec *spec, struct cancel *cancel, struct err *err)
{
    const struct inventory *files = spec->now ? &spec->now->files : &spec->origin->files;
    CLEANUP(inventory_release) struct inventory recorded = INVENTORY_INIT;
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) bool *is_seen = spec->final ? room_find_seen(spec) : NULL;
    CLEANUP(mem_freep) char *git_dir = path_join(spec->origin->dir, ".git");
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
    if (file_mkdirs(r->dir, 0755, err) < 0)
        return -1;
    if (spec->final && (inventory_walk(&recorded, spec->final->dir, cancel, err) < 0 ||
                        copy_files(r, spec->final->dir, &recorded, NULL, &left, cancel, err) < 0))
        return -1;
    if (copy_files(r, spec->origin->dir, files, is_hidden, &left, cancel, err) < 0)
        return -1;
    if (file_is_dir(git_dir)) { /* read there, not written: it may be large */
        CLEANUP(mem_freep) char *link = path_join(r->dir, ".git");

        (void)!symlink(git_dir, link);
    }
    return 0;
}
