/*
 * session_folder: mkdtemp(3), a note, and a lock that the kernel frees when the process ends. Any
 * thread.
 */
#include "guard/session_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/sandbox_state.h"

#define NOTE_MAX 4096

/* The file that names the folder; without it the folder cannot be found after a kill. */
static void write_note(struct session_folder *f, const char *home, const char *kind)
{
    CLEANUP(mem_freep) char *run = path_join(home, SANDBOX_RUN);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&path, "%s/%sXXXXXX", run, kind);
    (void)file_mkdirs(run, 0700, /*err=*/NULL);
    f->note = buf_take(&path);
    f->fd = mkostemp(f->note, O_CLOEXEC);
    if (f->fd < 0) {
        mem_freep(&f->note);
        return;
    }
    (void)flock(f->fd, LOCK_EX | LOCK_NB);
    (void)fd_write_all(f->fd, str_make(f->path, strlen(f->path) + 1), /*err=*/NULL);
}

bool session_folder_make(struct session_folder *f, const char *home, const char *kind,
                         const char *parent, const char *name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&path, "%s/%sXXXXXX", parent, name);
    if (!mkdtemp((char *)(uintptr_t)buf_cstr(&path)))
        return false;
    *f = (struct session_folder){.path = path_real(buf_cstr(&path)), .fd = -1};
    write_note(f, home, kind);
    return true;
}

static int open_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if ((type == FTW_D || type == FTW_DNR) && (st->st_mode & 0700) != 0700)
        chmod(path, 0700); /* as a job, or overlayfs, has left it */
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void session_folder_remove(const char *path)
{
    nftw(path, open_entry, 16, FTW_PHYS);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void session_folder_release(struct session_folder *f)
{
    if (f->path)
        session_folder_remove(f->path);
    if (f->note) {
        unlink(f->note);
        close(f->fd);
    }
    mem_freep(&f->path);
    mem_freep(&f->note);
}

/* What a note names must be a folder of ours. */
static bool is_ours(const char *path, const char *name)
{
    struct stat st;

    return path[0] == '/' && str_starts(str_of(path_base(path)), str_of(name)) &&
           lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

void session_folder_settle(const char *home, const char *kind, const char *name,
                           void (*fn)(void *arg, const char *path), void *arg)
{
    CLEANUP(mem_freep) char *run = path_join(home, SANDBOX_RUN);
    DIR *list = opendir(run);

    for (const struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(NOTE_MAX);
        CLEANUP(fd_closep) int fd = -1;

        if (!str_starts(str_of(e->d_name), str_of(kind)))
            continue;
        fd = openat(dirfd(list), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) /* of a session that lives */
            continue;
        if (file_slurp_fd(fd, e->d_name, NOTE_MAX, &text, /*err=*/NULL) == 0 &&
            is_ours(buf_cstr(&text), name)) {
            if (fn)
                fn(arg, buf_cstr(&text));
            session_folder_remove(buf_cstr(&text));
        }
        unlinkat(dirfd(list), e->d_name, 0);
    }
    if (list)
        closedir(list);
}
