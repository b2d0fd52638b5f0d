/*
 * sandbox_absent: files that determine what programs run and do not exist when a job starts. The
 * kernel cannot forbid a new name in a writable folder, so such files are renamed after the job,
 * or, if tenax is killed, at its next start. Any thread.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "guard/sandbox_state.h"
#include "guard/workspace.h"

#define ABSENT_MAX_FILE ((size_t)1 << 20)
#define ABSENT_NAME ".blocked"

#define NOTE_PREFIX "absent-"
#define NOTE_MAX ((size_t)1 << 20)
#define NOTE_TRIES 3

/* ---- the note for the next start ---- */

/* Until it is locked, another session may take it for a leftover and remove it. */
static bool note_try(struct sandbox_note *n, const char *folder)
{
    CLEANUP(mem_freep) char *path = path_join(folder, NOTE_PREFIX "XXXXXX");
    struct stat st;
    int fd = mkostemp(path, O_CLOEXEC | O_APPEND);

    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || !st.st_nlink) {
        close(fd);
        return false;
    }
    n->fd = fd;
    n->path = TAKE_PTR(path);
    return true;
}

static void note_make(struct sandbox *s)
{
    CLEANUP(mem_freep) char *folder = path_join(s->tenax_home, SANDBOX_RUN);
    bool is_made = false;

    (void)file_mkdirs(folder, 0700, /*err=*/NULL);
    for (int i = 0; !is_made && i < NOTE_TRIES; i++)
        is_made = note_try(&s->note, folder);
}

/* Paths end with a NUL. If they cannot be stored, jobs still run. */
static void note_add(struct sandbox *s, const struct strv *absent)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(NOTE_MAX);

    if (!absent->len)
        return;
    lock_take(&s->lock);
    s->note.jobs++;
    if (!s->note.path)
        note_make(s);
    for (size_t i = 0; s->note.path && i < absent->len; i++) {
        if (strv_has(&s->note.absent, str_of(absent->ptr[i])))
            continue;
        strv_adds(&s->note.absent, absent->ptr[i]);
        buf_adds(&text, absent->ptr[i]);
        buf_addc(&text, '\0');
    }
    if (text.len)
        (void)fd_write_all(s->note.fd, buf_str(&text), /*err=*/NULL);
    lock_give(&s->lock);
}

void sandbox_absent_forget(struct sandbox_job *j)
{
    struct sandbox_note *n = &j->sandbox->note;

    if (!j->absent.len)
        return;
    lock_take(&j->sandbox->lock);
    n->jobs--;
    if (!n->jobs && n->path && ftruncate(n->fd, 0) == 0)
        strv_clear(&n->absent);
    lock_give(&j->sandbox->lock);
}

void sandbox_note_release(struct sandbox *s)
{
    struct sandbox_note *n = &s->note;

    lock_take(&s->lock);
    if (n->path) {
        unlink(n->path);
        close(n->fd);
    }
    mem_freep(&n->path);
    strv_release(&n->absent);
    lock_give(&s->lock);
}

/* ---- a job ---- */

static void add_path(struct sandbox_job *j, const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0 && sandbox_path_is(&j->paths, path) == PATH_WRITABLE)
        strv_adds(&j->absent, path);
}

static void add_absent(struct sandbox_job *j, const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    add_path(j, path);
}

void sandbox_absent_find(struct sandbox_job *j)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    const char *home = j->sandbox->home;

    workspace_dirs(j->sandbox->workspace, &dirs);
    for (size_t i = 0; i < dirs.len; i++)
        add_absent(j, dirs.ptr[i], ".mcp.json");
    for (size_t i = 0; sandbox_startup_files[i]; i++)
        add_absent(j, home, sandbox_startup_files[i]);
    for (size_t i = 0; i < j->paths.absent.len; i++)
        add_path(j, j->paths.absent.ptr[i]);
    note_add(j->sandbox, &j->absent);
}

/* A file that one of our tools has written since, with permission, is not the job's. */
static bool is_ours(const struct sandbox *s, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ABSENT_MAX_FILE);
    struct seen_file seen;

    return workspace_seen(s->workspace, path, &seen) &&
           file_slurp(path, ABSENT_MAX_FILE, &text, /*err=*/NULL) == 0 &&
           seen.hash == seen_hash(buf_str(&text));
}

/* False: there is none, or it stays. */
static bool move_aside(const char *path)
{
    CLEANUP(buf_release) struct buf to = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    buf_addf(&to, "%s" ABSENT_NAME, path);
    return rename(path, buf_cstr(&to)) == 0;
}

void sandbox_absent_move(struct sandbox_job *j, struct strv *ret)
{
    for (size_t i = 0; i < j->absent.len; i++) {
        const char *path = j->absent.ptr[i];

        if (!is_ours(j->sandbox, path) && move_aside(path) && ret)
            strv_addf(ret, "write to %s (the new file is now %s" ABSENT_NAME ")", path, path);
    }
}

void sandbox_absent_move_denied(struct sandbox_job *j, struct strv *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv now = STRV_INIT;

    if (!j->sandbox->permit || j->is_trial) /* of a trial the effects are judged */
        return;
    workspace_dirs(j->sandbox->workspace, &dirs);
    (void)sandbox_unedited_find(j->sandbox, &dirs, &now);
    for (size_t i = 0; i < now.len; i++) {
        const char *path = now.ptr[i];

        if (!strv_has(&j->paths.denied, str_of(path)) &&
            sandbox_path_is(&j->paths, path) == PATH_WRITABLE && !is_ours(j->sandbox, path) &&
            move_aside(path))
            strv_addf(ret, "write to %s (the new file is now %s" ABSENT_NAME ")", path, path);
    }
}

/* ---- sessions that were killed ---- */

static void settle_note(int fd, const char *note, struct strv *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(NOTE_MAX);
    struct str rest;
    struct str path;

    if (file_slurp_fd(fd, note, NOTE_MAX, &text, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        if (path.len && move_aside(path.ptr))
            strv_addf(ret,
                      "%s has come since tenax was killed while a command ran in the sandbox, and "
                      "may be the command's: it is %s" ABSENT_NAME " now",
                      path.ptr, path.ptr);
    }
}

void sandbox_absent_settle(const struct sandbox *s, struct strv *ret)
{
    CLEANUP(mem_freep) char *folder = path_join(s->tenax_home, SANDBOX_RUN);
    DIR *dir = opendir(folder);

    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        CLEANUP(fd_closep) int fd = -1;

        if (!str_starts(str_of(e->d_name), STR(NOTE_PREFIX)))
            continue;
        fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) /* of a session that lives */
            continue;
        settle_note(fd, e->d_name, ret);
        unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
}
