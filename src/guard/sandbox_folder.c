/*
 * sandbox_folder: the folders that keep settings from being made, .claude and .tenax wherever they
 * would count, and homes and folders of startup files that are missing where jobs may write; shared
 * by all sessions there. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/sandbox_state.h"
#include "sync/cancel.h"

#define HOLD_TRIES 100
#define HOLD_WAIT_MS 10

const char *const sandbox_folder_names[SANDBOX_FOLDERS] = {".claude", ".tenax"};

/* Missing, or left by a session that could not remove it, or of one that runs. */
static bool is_made(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 || (S_ISDIR(st.st_mode) && st.st_mtime == CONFINE_MADE_TIME);
}

/* Whether the descriptor still is what has the name. */
static bool is_there(int fd, const char *path)
{
    struct stat held;
    struct stat there;

    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

static void let_go(struct sandbox_folder *f)
{
    if (!f->path)
        return;
    close(f->fd);
    mem_freep(&f->path);
}

/* 1: held, or there is nothing to hold; 0: try again. Where locks do not work it is not held, and
 * never removed (sandbox_folders_release()). */
static int try_to_hold(struct sandbox_folder *f, const char *path)
{
    bool made = is_made(path);
    struct stat st;
    int fd;

    if (!confine_make_folder(path))
        return 1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) /* just removed, or no folder at all */
        return errno != ENOENT || lstat(path, &st) == 0;
    if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        bool is_held = errno == EWOULDBLOCK; /* by one who is about to remove it */

        close(fd);
        return !is_held;
    }
    if (!is_there(fd, path)) {
        close(fd);
        return 0;
    }
    *f = (struct sandbox_folder){
        .path = mem_dup(path, strlen(path)),
        .fd = fd,
        .is_made = made,
    };
    return 1;
}

static int hold(struct sandbox_folder *f, const char *path, struct err *err)
{
    if (f->path && strcmp(f->path, path) == 0 && is_there(f->fd, path))
        return 0;
    let_go(f);
    for (int i = 0; i < HOLD_TRIES; i++) {
        if (i)
            (void)cancel_wait(/*c=*/NULL, HOLD_WAIT_MS, /*err=*/NULL);
        if (try_to_hold(f, path))
            return 0;
    }
    return err_set(err, ERR_BUSY, "'%s' cannot be protected: another process has locked it", path);
}

/* The entry of a path, or one that holds nothing. */
static struct sandbox_folder *find_folder(struct sandbox *s, const char *path)
{
    struct sandbox_folder *f = NULL;

    VEC_EACH(&s->folders, known) {
        if (known->path && strcmp(known->path, path) == 0)
            return known;
        if (!known->path)
            f = known;
    }
    if (!f) {
        f = vec_add(&s->folders);
        *f = (struct sandbox_folder){0};
    }
    return f;
}

/* One that is there holds itself. */
static void add_missing(struct strv *to, const struct strv *write, const char *path)
{
    if (is_made(path) && sandbox_is_written(write, path))
        strv_adds(to, path);
}

/* With the folder above, which is no more than there. */
static void add_startup(struct strv *to, const struct strv *write, const char *home)
{
    for (size_t i = 0; sandbox_startup_folders[i]; i++) {
        CLEANUP(mem_freep) char *path = path_join(home, sandbox_startup_folders[i]);
        CLEANUP(mem_freep) char *above = path_dirname(path);

        if (is_made(path))
            add_missing(to, write, above);
        add_missing(to, write, path);
    }
}

int sandbox_folders_hold(struct sandbox *s, struct err *err)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv write = STRV_INIT;
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    int rc = 0;

    sandbox_settings_dirs(s, &dirs, &write);
    for (size_t i = 0; i < dirs.len; i++) {
        for (size_t k = 0; k < SANDBOX_FOLDERS; k++) {
            CLEANUP(mem_freep) char *path = path_join(dirs.ptr[i], sandbox_folder_names[k]);

            strv_adds(&paths, path);
        }
    }
    add_missing(&paths, &write, s->claude_home);
    add_missing(&paths, &write, s->tenax_home);
    add_startup(&paths, &write, s->home);
    lock_take(&s->lock);
    for (size_t i = 0; rc == 0 && i < paths.len; i++)
        rc = hold(find_folder(s, paths.ptr[i]), paths.ptr[i], err);
    lock_give(&s->lock);
    return rc;
}

void sandbox_folders_release(struct sandbox *s)
{
    for (size_t i = s->folders.len; i > 0; i--) { /* those in others before these */
        struct sandbox_folder *f = &s->folders.ptr[i - 1];

        if (f->path && f->is_made && flock(f->fd, LOCK_EX | LOCK_NB) == 0)
            rmdir(f->path); /* only while it is empty */
        let_go(f);
    }
    vec_release(&s->folders);
}
